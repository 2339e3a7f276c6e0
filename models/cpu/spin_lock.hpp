// A ticket spin lock as a FIFO station. Its service is the hold time plus, when it was contended,
// the time the cache line takes to reach the next holder: short within a socket, long across
// sockets. Which is why spreading the same contenders over more sockets lowers its ceiling (md
// RAID10 with four NVMe drives: 0.84 M IOPS over four NUMA nodes, 1.81 M pinned to one; linux-raid,
// 2022-09).
#pragma once
#include "sim/kernel/station.hpp"

namespace storlab {

struct HandOver {
    Duration same_socket, other_socket;
};

struct SpinLock {
    explicit SpinLock(HandOver h) : hand_over(h) {}
    // Requested now by a context on this socket, which takes it `sections` times in a row: the date
    // at which it releases for the last time.
    Instant serve(Instant now, Duration hold, uint32_t sections, uint32_t socket) {
        const bool contended = station.free_at() > now;
        if (contended)
            hold +=
                (socket == last_socket ? hand_over.same_socket : hand_over.other_socket) * sections;
        last_socket = socket;
        return station.serve(now, hold);
    }
    FifoStation station;
    HandOver hand_over;
    uint32_t last_socket = 0;
};

} // namespace storlab
