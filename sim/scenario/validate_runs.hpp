// Many runs at once, each in a process of its own: SimGrid has one engine a process, and a run that
// crashes or never ends is then one missing answer. Answers come back in the order of the jobs.
#pragma once
#include "sim/base/time.hpp"
#include "sim/report/result.hpp"
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace storlab {

struct LoadFigures {
    double iops = 0, bytes_per_second = 0, mean_s = 0;
    std::optional<double> p50_s, p95_s, p99_s, p999_s; // none: too few I/Os
    std::optional<double> iops_ci95;
};

// What is needed of a RunResult.
struct RunAnswer {
    std::string failure; // why there is no answer, or why it is worthless
    std::map<std::string, LoadFigures> loads;
    std::map<std::string, double> cpu; // percent of all hardware threads, by machine
    std::string binds;                 // "storage/raid/link/in 100 %"
    std::string trace_hash;
    bool partial = false; // a limit came before the confidence asked for
};
RunAnswer answer_of(const RunResult& result);
std::string to_json(const RunAnswer& answer);
RunAnswer answer_from_json(const std::string& text); // a failure if it is none

struct ProcessOptions {
    size_t at_once = 1;
    Duration limit = Duration::s(600);     // of wall time, a job
    std::function<void(size_t done)> told; // after each job
};
// An exception of a job is its failure; so are a crash, an early end and the limit.
std::vector<RunAnswer> run_in_processes(const std::vector<std::function<RunAnswer()>>& jobs,
                                        const ProcessOptions& options);
size_t processes_at_once(); // CPUs this process may use, up to a limit of memory

} // namespace storlab
