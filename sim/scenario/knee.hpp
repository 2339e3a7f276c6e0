// storlab knee: one load of a scenario at one level after the other, each a run of its own, from
// next to nothing to where throughput stops growing: where is the knee, and how much load meets a
// latency target? A closed load is varied by its I/Os in flight, an open one by its arrivals a
// second, up to what the same load reaches closed.
#pragma once
#include "sim/analysis/knee.hpp"
#include "sim/scenario/schema.hpp"
#include "sim/scenario/validate_runs.hpp"
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace storlab {

struct LatencyTarget {             // "p99=1ms"
    std::string statistic = "p99"; // mean, p50, p95, p99, p99.9
    Duration at_most;
};
LatencyTarget parse_target(const std::string& text); // InputError

struct KneeOptions {
    std::string load;  // empty: the only one
    bool open = false; // arrivals a second, whatever the scenario says
    std::optional<LatencyTarget> target;
    std::optional<int64_t> up_to; // I/Os in flight
    std::string json;             // file for the figures
    // Given: the runs are done in this process, one after the other, while it says so. Otherwise
    // several at once, each in a process of its own.
    std::function<bool()> go_on;
};

struct KneePoint {
    double load = 0; // I/Os in flight, or arrivals a second
    RunAnswer answer;
};
struct KneeReport {
    std::string title, scenario, hash, load, what; // what: "randread 4 KiB"
    uint64_t seed = 0;
    bool open = false;
    std::optional<LatencyTarget> target;
    std::vector<KneePoint> points; // by load; those that failed included
    std::vector<std::string> notes;
};
// Points that have an answer, with the latency the target is about (the mean without a target).
std::vector<CurvePoint> curve_of(const KneeReport& report);

// A copy of the scenario with so much load; clones of a job share it.
Scenario with_load(const Scenario& scenario, const std::string& load, bool open, double amount);

KneeReport find_knee(const Scenario& scenario, const KneeOptions& options); // InputError
int knee(const Scenario& scenario, const KneeOptions& options);             // prints; the exit code
std::string knee_text(const KneeReport& report);
std::string knee_json(const KneeReport& report);

} // namespace storlab
