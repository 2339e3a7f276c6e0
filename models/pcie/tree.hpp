// The PCIe of one machine above its devices' own links: switches, each with one uplink to a root
// port that all devices behind it share, and the links between the sockets the root ports are on
// (UPI on Xeons), one station for each direction of each pair of sockets.
//
// Two devices behind one switch reach each other (peer to peer) through the switch alone. Sockets
// are fully meshed: with more than two, each pair has its share of the links. Left out: what the
// processors say to each other for coherence beyond a share of the rate, memory channels.
#pragma once
#include "models/pcie/link.hpp"
#include "models/pcie/route.hpp"
#include <compare>
#include <deque>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace storlab {

struct SocketLinkOptions {
    uint32_t sockets = 1;
    Rate rate;        // of data, one direction, all links of a socket together
    Duration latency; // of memory on the other socket, beyond that on the own one
};

struct PcieSwitch {
    PcieSwitch(std::string called, const PcieOptions& link, uint32_t on)
        : name(std::move(called)), uplink(link), socket(on) {}
    std::string name;
    PcieLink uplink; // its hop: through the switch
    uint32_t socket;
};

struct PciePlace { // where a device is
    uint32_t socket = 0;
    PcieSwitch* behind = nullptr; // null: on a root port
    auto operator<=>(const PciePlace&) const = default;
};

class PcieTree {
public:
    explicit PcieTree(const SocketLinkOptions& options);
    PcieSwitch& add_switch(const std::string& name, const PcieOptions& uplink, uint32_t socket);

    // Routes live as long as the tree; the same question gets the same one.
    const PcieRoute& to_memory(const PciePlace& device, uint32_t socket);
    // Up to, not including, the peer's own link.
    const PcieRoute& to_peer(const PciePlace& device, const PciePlace& peer);
    uint32_t sockets() const { return o_.sockets; }
    void describe(const std::string& machine, Instant now,
                  std::vector<StationDescription>& out) const;

private:
    SocketLinkOptions o_;
    Rate pair_rate_;
    std::vector<FifoStation> between_; // [from * sockets + to]
    std::deque<PcieSwitch> switches_;
    std::map<std::pair<PciePlace, PciePlace>, PcieRoute> routes_;

    const PcieRoute& route(const PciePlace& device, const PciePlace& other);
    void cross(PcieWay& way, uint32_t from, uint32_t to);
};

} // namespace storlab
