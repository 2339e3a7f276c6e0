#include "models/cpu/cpu_set.hpp"
#include <algorithm>
#include <map>
#include <numeric>
#include <set>

namespace storlab {

CpuShare share_of(const ProcessorOptions& p, const CpuSet& cpus) {
    std::set<uint32_t> cores;
    for (const uint32_t cpu : cpus) cores.insert(p.core_of(cpu));
    return {static_cast<uint32_t>(cores.size()), static_cast<uint32_t>(cpus.size()), p.smt_yield};
}

Partition partition(const std::vector<CpuSet>& sets) {
    Partition result;
    result.cpus.resize(sets.size());
    result.owner.resize(sets.size());
    std::vector<uint32_t> order(sets.size());
    std::iota(order.begin(), order.end(), 0u);
    std::stable_sort(order.begin(), order.end(),
                     [&](uint32_t a, uint32_t b) { return sets[a].size() < sets[b].size(); });
    std::map<uint32_t, uint32_t> taken; // CPU -> set
    for (const uint32_t s : order) {
        result.owner[s] = s;
        for (const uint32_t cpu : sets[s])
            if (taken.emplace(cpu, s).second) result.cpus[s].push_back(cpu);
        if (result.cpus[s].empty()) result.owner[s] = taken.at(sets[s].front());
    }
    return result;
}

} // namespace storlab
