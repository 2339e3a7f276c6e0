// What `storlab bench` measured, as plain data, and how it is shown. A figure is the median of the
// runs by I/Os (or events) per second of the process's CPU time. Floors are what the design
// promises on a machine like ours; they are shown, never enforced, because a busy machine proves
// nothing. Left out: names of machines and dates. The shape of the JSON:
// docs/schemas/bench.schema.json.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace storlab {

struct BenchFigures { // of one run
    double cpu_seconds = 0;
    uint64_t ios = 0, events = 0; // events alone where the case has no I/O
    uint64_t frame_bytes = 0;     // of coroutine frames, the most at one time
    uint64_t outstanding = 0;     // I/Os the loads keep in flight
    uint64_t peak_rss = 0;        // of the run's own process, building the testbed included

    double rate() const { return per_cpu_second(ios ? ios : events); }
    double per_cpu_second(uint64_t n) const {
        return cpu_seconds > 0 ? static_cast<double>(n) / cpu_seconds : 0;
    }
};

struct BenchCase {
    std::string name;
    std::vector<BenchFigures> runs;
    std::optional<BenchFigures> unverified; // contents of reads not checked
    std::optional<double> floor;            // of the rate
    std::string failure;                    // why there is no figure, if there is none

    const BenchFigures& median() const; // by rate; the lower of the middle two
};

struct BenchReport {
    std::vector<BenchCase> cases;
    std::vector<double> reference_loop; // steps a CPU second, run by run

    const BenchCase* find(const std::string& name) const; // null if not run, or failed
    // How much more CPU an I/O costs in case `large` than in `small`.
    std::optional<double> growth(const std::string& small, const std::string& large) const;
    bool failed() const;
};

std::string bench_text(const BenchReport& report);
std::string bench_json(const BenchReport& report);

} // namespace storlab
