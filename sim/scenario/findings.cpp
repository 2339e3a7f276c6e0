#include "sim/scenario/findings.hpp"
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <utility>

namespace storlab {

std::string group_of(const std::string& name) {
    std::string group;
    for (const std::string& step : path_steps(name)) {
        const bool number = step.find_first_not_of("0123456789") == std::string::npos;
        group = join_path(group, number ? "*" : step);
    }
    return group;
}

namespace {
std::string percent(double fraction) {
    char text[32];
    std::snprintf(text, sizeof text, "%.2g %%", fraction * 100);
    return text;
}
} // namespace

std::string hex_text(uint64_t x) {
    char text[17];
    std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(x));
    return text;
}

void add_stations(RunResult& r, const std::vector<StationDescription>& from,
                  const std::vector<StationDescription>& to, Duration measured) {
    const double seconds = measured.in_seconds();
    if (seconds <= 0) return;
    double highest = 0;
    for (size_t i = 0; i < to.size(); i++) {
        StationCount c = to[i].count;
        if (i < from.size()) c = c - from[i].count;
        StationResult s;
        s.name = to[i].name;
        s.kind = to[i].kind;
        // A count leaves out what lies ahead, and with it gaps before that: never below nothing.
        s.utilisation = std::max(0.0, c.busy.in_seconds() / (seconds * to[i].servers));
        s.throughput = static_cast<double>(c.served) / seconds;
        s.mean_queue = c.sojourn.in_seconds() / seconds;
        highest = std::max(highest, s.utilisation);
        r.stations.push_back(std::move(s));
    }
    std::stable_sort(r.stations.begin(), r.stations.end(),
                     [](const StationResult& a, const StationResult& b) {
                         return a.utilisation > b.utilisation;
                     });
    if (to.empty()) return;
    // A suspended program of a die counts a little more than it takes.
    constexpr double limit = 1.02;
    r.checks.push_back(
        {"utilisation", highest <= limit, highest, limit,
         highest <= limit ? "no station over 100 %" : "a station at " + percent(highest)});
}

void add_cpus(RunResult& r, const std::vector<CpuUse>& from, const std::vector<CpuUse>& to,
              Duration measured) {
    if (measured <= Duration{}) return;
    for (size_t i = 0; i < to.size(); i++) {
        const bool had = i < from.size();
        const double all = measured.in_seconds() * to[i].logical_cpus;
        CpuResult c;
        c.where = to[i].where;
        c.busy = (to[i].busy - (had ? from[i].busy : Duration{})).in_seconds() / all;
        for (size_t op = 0; op < operation_count; op++) {
            const Duration d =
                to[i].by_operation[op] - (had ? from[i].by_operation[op] : Duration{});
            if (d > Duration{})
                c.by_operation.emplace_back(std::string(operation_names[op]), d.in_seconds() / all);
        }
        std::stable_sort(c.by_operation.begin(), c.by_operation.end(),
                         [](auto& a, auto& b) { return a.second > b.second; });
        r.cpu.push_back(std::move(c));
    }
}

BottleneckResult find_bottleneck(const RunResult& r) {
    constexpr double nearly_full = 0.85; // beyond, waiting is most of the time
    struct Group {
        double sum = 0;
        int n = 0;
        const StationResult* fullest = nullptr;
        double mean() const { return sum / n; }
    };
    std::map<std::string, Group> groups;
    for (const StationResult& s : r.stations) {
        Group& g = groups[group_of(s.name)];
        g.sum += s.utilisation;
        g.n++;
        if (!g.fullest || s.utilisation > g.fullest->utilisation) g.fullest = &s;
    }
    std::vector<BottleneckResult::Next> ranked;
    std::map<std::string, std::string> kinds;
    for (const auto& [name, g] : groups) {
        // One full drive among idle ones binds although they are not full together.
        const bool alone = g.mean() < nearly_full && g.fullest->utilisation >= nearly_full;
        ranked.push_back(alone ? BottleneckResult::Next{g.fullest->name, g.fullest->utilisation}
                               : BottleneckResult::Next{name, g.mean()});
        kinds[ranked.back().name] = g.fullest->kind;
    }
    std::stable_sort(ranked.begin(), ranked.end(),
                     [](auto& x, auto& y) { return x.utilisation > y.utilisation; });
    BottleneckResult b;
    if (!ranked.empty() && ranked[0].utilisation >= nearly_full) {
        b.name = ranked[0].name;
        b.utilisation = ranked[0].utilisation;
        b.why = kinds[b.name];
        ranked.erase(ranked.begin());
    }
    for (size_t i = 0; i < ranked.size() && i < 3; i++) b.then.push_back(ranked[i]);
    return b;
}
void add_little(RunResult& r, const std::vector<std::unique_ptr<LoadObserver>>& loads) {
    constexpr double allowed = 0.001, rounding = 1e-6;
    double worst = 0;
    for (const auto& l : loads) worst = std::max(worst, l->littles_law_gap());
    r.checks.push_back({"little", worst <= allowed, worst, allowed,
                        worst < rounding ? "Little's law" : "Little " + percent(worst)});
}

// What code owed against what cores were busy, over the whole run. A debt that no core was kept
// busy for is work done for nothing. Threads that share a core may be busy for longer than they
// owe: hyperthreads.
void add_cpu_accounting(RunResult& r, const std::vector<CpuUse>& whole_run) {
    constexpr double allowed = 0.001;
    double worst = 0;
    std::string where;
    for (const CpuUse& c : whole_run) {
        Duration owed = c.chance;
        for (const Duration d : c.by_operation) owed += d;
        if (owed <= Duration()) continue;
        const double unpaid = 1 - c.busy.in_seconds() / owed.in_seconds();
        if (unpaid <= worst) continue;
        worst = unpaid;
        where = c.where;
    }
    r.checks.push_back(
        {"cpu", worst <= allowed, worst, allowed,
         worst <= allowed ? "CPU time accounted for"
                          : percent(worst) + " of what code owes " + where + " kept no core busy"});
}

void add_accounting(RunResult& r, const std::vector<std::unique_ptr<fio::Load>>& loads) {
    uint64_t issued = 0, completed = 0;
    for (const auto& l : loads) issued += l->issued(), completed += l->completed();
    const bool ok = issued == completed; // a job may still wait for its start or its rate
    const double lost = static_cast<double>(issued - completed);
    r.checks.push_back({"accounting", ok, lost, 0,
                        ok ? "all requests accounted for"
                           : std::to_string(issued - completed) + " requests never came back"});
}

void add_state_labels(RunResult& r, const Scenario& s,
                      const std::vector<std::unique_ptr<LoadObserver>>& loads, Testbed& bed) {
    constexpr int64_t enough = 2; // times the capacity: SNIA's preconditioning
    std::map<std::string, bool> seen;
    for (size_t i = 0; i < loads.size(); i++) {
        if (loads[i]->written_total() == Bytes(0)) continue;
        Bytes size;
        std::vector<std::string> drives;
        for (const std::string& name : s.loads[i].to) {
            const Geometry g = bed.target(name).geometry();
            size += g.block * static_cast<int64_t>(g.blocks);
            const ArraySchema* const a = s.array_of(name);
            for (const std::string& d : a ? a->drives : std::vector{name}) drives.push_back(d);
        }
        if (loads[i]->written_total() > size * enough) continue;
        for (const std::string& d : drives) {
            const DriveSchema& drive = *s.drive(d);
            const std::string group = group_of(d);
            if (drive.state == SsdState::steady || std::exchange(seen[group], true)) continue;
            r.assumptions.push_back({group + "/state",
                                     drive.state == SsdState::fresh ? "fresh" : "filled",
                                     "assumed",
                                     "written less than twice in this run: writes have not reached "
                                     "their steady state",
                                     {}});
        }
    }
}

void add_integrity(RunResult& r, const Scenario& s, Testbed& bed) {
    std::map<std::string, bool> seen;
    for (const LoadSchema& l : s.loads)
        for (const std::string& name : l.to) {
            ModelDisk* const m = bed.model(name);
            if (!m || std::exchange(seen[name], true)) continue;
            r.integrity.verified += m->verified();
            r.integrity.mismatches += m->mismatches();
            for (const std::string& text : m->first_mismatches())
                r.integrity.first.push_back(name + ": " + text);
        }
    for (const ArraySchema& a : s.arrays) {
        if (!bed.is_checked(a)) continue;
        const ScrubReport scrub = bed.scrub_now(a.name);
        r.integrity.scrubbed += scrub.lines;
        r.integrity.scrub_mismatches += scrub.mismatches;
    }
}

} // namespace storlab
