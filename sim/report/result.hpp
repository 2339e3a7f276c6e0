// The complete answer of a run as plain data, and its JSON. Whoever runs a scenario fills a
// RunResult; text, JSON and Python only read it. Shape of the JSON: docs/schemas/run.schema.json.
// Times are Durations here and integer nanoseconds (..._ns) in JSON; fractions are 0 to 1, except
// inside "jobs", which is fio's own shape with fio's units (percent, KiB/s, ms).
// Left out: dates and host names, so that the same run gives the same bytes (run.wall_ns aside).
#pragma once
#include "sim/base/time.hpp"
#include "sim/report/bound.hpp"
#include "sim/report/histogram.hpp"
#include "sim/report/job_result.hpp"
#include "sim/report/series.hpp"
#include "sim/report/spans.hpp"
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace storlab {

enum class StopReason {
    confident,   // the asked-for confidence was reached
    duration,    // the asked-for simulated time has passed
    timeline,    // the last event of the timeline has settled
    load_ended,  // every load ran out of work (size, number of I/Os, end of a trace)
    limit,       // a limit on simulated time, I/Os or wall time came before confidence
    interrupted, // the user stopped it
    failed,      // an integrity or accounting check failed while running
};
std::string to_string(StopReason reason);

struct RunRecord {
    std::string title;
    std::string scenario; // as named on the command line
    std::string hash;     // of the scenario after all settings, hex
    uint64_t seed = 0;
    double scale = 1; // sizes were divided by this
    std::string version;
    std::string world = "simulated"; // or "real"
    std::string trace_hash;          // hex; empty in the real world
    StopReason stop_reason = StopReason::duration;
    std::string stop_detail = {}; // what a limit was, in words
    bool partial = false;         // stopped before what was asked for: figures are of what ran
    Duration simulated;
    Duration wall;
    std::string command; // reproduces this run
};

enum class Loop { closed, open };

// One direction of one load, over the measured time. Latency is that of the I/Os that ended well.
struct FlowResult {
    uint64_t errors = 0;
    int64_t bytes = 0;
    Histogram latency;
};

struct LoadResult {
    std::string name;
    std::string what; // block size and mix, "randread 4 KiB": an IOPS figure is nothing without
    Loop loop = Loop::closed;
    bool reads = true;          // or it only writes
    double effective_depth = 0; // mean number of I/Os in flight: IOPS x mean latency (Little)
    Duration measured;          // the time over which the counts below were taken, warm-up excluded
    std::optional<double> iops_ci95; // half width relative to iops; empty when it cannot be given
    FlowResult read;
    FlowResult write; // and everything that is not a read
    // What the figures do not hold: I/Os that had not ended when the measured time was over.
    uint64_t in_flight_at_end = 0;
    Duration oldest_at_end = {}; // how long the oldest of them had been under way by then
};
// A load between two events of the timeline, reads and writes together.
struct PhaseResult {
    std::string load;
    std::string until; // the event that ended it; empty: the end of the run
    Instant from, to;
    FlowResult flow;
    Duration longest_gap; // between two I/Os that ended well
};
// The directions together: histograms merged, counts added.
FlowResult total(const LoadResult& load);
double iops(const LoadResult& load);
double bandwidth_bytes(const LoadResult& load); // per second

struct StationResult {
    std::string name; // a path: storage/ssd/3
    std::string kind; // of the station's own description
    double utilisation = 0;
    double throughput = 0; // completions a second
    double mean_queue = 0; // requests in it, those in service included
};

struct CpuResult {
    std::string where;
    double busy = 0;                                          // of all hardware threads
    std::vector<std::pair<std::string, double>> by_operation; // fractions of all hardware threads
};

struct SpanResult {
    std::string layer;
    double mean_ns = 0;
    std::optional<double> p99_share;
};
std::vector<SpanResult> span_results(const SpanTable& table);

struct BottleneckResult {
    std::string name; // empty when nothing binds: an open load below capacity, too few in flight
    double utilisation = 0;
    std::string why; // "SCSI target threads"
    struct Next {
        std::string name;
        double utilisation = 0;
    };
    std::vector<Next> then; // what binds after it
};

struct IntegrityResult {
    uint64_t verified = 0;
    uint64_t mismatches = 0;
    uint64_t scrubbed = 0; // stripes whose parity or copies were recomputed after the run
    uint64_t scrub_mismatches = 0;
    std::vector<std::string> first; // the first few mismatches in words
};

struct CheckResult {
    std::string name; // "little"
    bool ok = true;
    double value = 0;
    double limit = 0;
    std::string text; // "Little 0.1 %", as shown
};

struct TimelineMark {
    Instant at;
    std::string what;  // "pull", "takeover"
    std::string where; // "array/a"
    std::string phase; // "detect", "fence", "replay", "path switch"; empty for the event itself
};

struct Assumption {
    std::string path;
    std::string value; // with its unit
    std::string from;  // datasheet, measured, derived, fitted, assumed
    std::string source;
    std::optional<double> moves; // how far it moves the headline figure, as a fraction, when known
};

// A result proportional to size, at the scenario's real size.
struct FullSize {
    std::string what; // "rebuild of storage/ssd/3"
    Duration value;
    std::string arithmetic; // "12.8 TB / 410 MB/s"
};

struct RunResult {
    RunRecord run;
    std::vector<JobResult> jobs;
    std::vector<LoadResult> loads;
    std::vector<StationResult> stations;
    std::vector<CpuResult> cpu;
    std::vector<SpanResult> spans;
    BottleneckResult bottleneck;
    std::vector<BoundResult> bound; // of each load; not of the real world
    IntegrityResult integrity;
    std::vector<CheckResult> checks;
    std::vector<TimelineMark> timeline;
    std::vector<PhaseResult> phases;
    Series series;
    std::vector<Assumption> assumptions;
    std::vector<FullSize> full_size;
};

// A block that differed, a failed scrub or a failed check: the command line exits non-zero on it.
bool failed(const RunResult& result);

struct JsonOptions {
    bool bins = false; // add fio's json+ bins to each latency, so that others can merge percentiles
    int indent = 2;    // -1 for one line
};
std::string to_json(const RunResult& result, JsonOptions options = {});

} // namespace storlab
