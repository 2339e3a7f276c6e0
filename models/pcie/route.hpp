// What lies between a device's own link and the place its data is in: uplinks of switches, the link
// between sockets. Each way of each is a FIFO station. Data goes through without being stored: a
// transfer reaches the next station early enough not to stall there, and no earlier.
//
// Commands and completions without data take the latency but not the stations (a command is 2 % of
// the smallest block, and goes the other way). Left out: credits that hold back the sender, packets
// of several transfers taking turns, switches behind switches.
#pragma once
#include "sim/base/error.hpp"
#include "sim/base/quantity.hpp"
#include "sim/kernel/station.hpp"
#include <algorithm>
#include <array>

namespace storlab {

struct PcieHop {
    FifoStation* station = nullptr;
    Rate rate;
    Duration each;    // of a transfer, beside its bytes
    Duration latency; // after the station
    Duration time(Bytes data) const { return each + data / rate; }
};

struct PcieWay { // one direction
    static constexpr uint8_t most_hops = 3;
    std::array<PcieHop, most_hops> hops;
    uint8_t count = 0;
    Duration latency; // of everything on it, stations or not

    void add(const PcieHop& hop) {
        STORLAB_ENSURE(count < most_hops);
        hops[count++] = hop;
        latency += hop.latency;
    }
    // A transfer that ends at `end` on a station it has for `before` reaches one that it will have
    // for `then`: the first byte's date if the next is the slower one, else just in time for the
    // last byte. So a FIFO station sees arrivals in order, and no wide station waits for bytes.
    static Instant reaches(Instant end, Duration latency, Duration before, Duration then) {
        return end + latency - std::min(before, then);
    }
};

struct PcieRoute {
    PcieWay up, down; // from the device, to the device
    bool is_direct() const {
        return up.count + down.count == 0 && up.latency + down.latency == Duration();
    }
    static const PcieRoute& direct() {
        static const PcieRoute nothing_between;
        return nothing_between;
    }
};

} // namespace storlab
