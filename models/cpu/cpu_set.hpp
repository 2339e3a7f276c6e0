// Logical CPUs of a machine by number, as Linux numbers them on two-socket servers: neighbours are
// on different sockets (lscpu prints node0 0,2,4..., node1 1,3,5...), and the second threads of all
// cores follow after the first ones.
#pragma once
#include <algorithm>
#include <cstdint>
#include <vector>

namespace storlab {

struct ProcessorOptions {
    uint32_t sockets = 1, cores_per_socket = 1, threads_per_core = 1;
    double smt_yield = 1; // of two threads on one core, together

    uint32_t cores() const { return sockets * cores_per_socket; }
    uint32_t logical_cpus() const { return cores() * threads_per_core; }
    uint32_t socket_of(uint32_t cpu) const { return cpu % sockets; }
    uint32_t core_of(uint32_t cpu) const { return cpu % cores(); }
};

using CpuSet = std::vector<uint32_t>; // sorted; empty: all

// CPUs of one machine that some threads have to themselves: how much work per second n of these
// threads get done together, 1 being a thread alone on a core.
struct CpuShare {
    uint32_t cores = 0;   // with at least one CPU of the set
    uint32_t logical = 0; // CPUs
    double smt_yield = 1;
    double capacity(uint32_t n) const {
        const uint32_t at_work = std::min({n, logical, 2 * cores}); // the yield is that of two
        const uint32_t on_cores = std::min(n, cores);
        return on_cores + (at_work - on_cores) * (smt_yield - 1);
    }
};
CpuShare share_of(const ProcessorOptions& processor, const CpuSet& cpus);

// Which CPUs the threads of each set run on, given that all have work. A set takes the CPUs that no
// smaller set has claimed: the scheduler moves threads that may run anywhere away from where
// others must. A set that finds none left shares those of its smallest rival; `owner` says whose.
struct Partition {
    std::vector<CpuSet> cpus;    // of each set; empty if it shares another's
    std::vector<uint32_t> owner; // of each set: itself, or the one it shares with
};
Partition partition(const std::vector<CpuSet>& sets);

} // namespace storlab
