// What one fio job did, direction by direction, in the terms of fio's own JSON output.
// fio_json.cpp turns it into fio's keys and units, so that scripts written for fio read it
// unchanged. Left out: what a simulated host has no counterpart of (latency targets, per-disk
// merges). Source: key list of fio 3.36, stat.c; bucket names of latency_* and iodepth_*: the same
// file.
#pragma once
#include "sim/base/time.hpp"
#include "sim/report/histogram.hpp"
#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace storlab {

// Mean and spread of samples taken once a window, as fio does for bandwidth and IOPS (every 500
// ms).
class RunningStat {
public:
    void add(double value); // Welford's update
    uint64_t count() const { return count_; }
    double min() const { return count_ == 0 ? 0 : min_; }
    double max() const { return count_ == 0 ? 0 : max_; }
    double mean() const { return mean_; }
    double stddev() const; // sample deviation (n - 1); 0 below two samples

private:
    uint64_t count_ = 0;
    double min_ = 0, max_ = 0, mean_ = 0, m2_ = 0;
};

struct DirectionResult {
    int64_t bytes = 0;
    uint64_t ios = 0; // those that ended, well or not
    uint64_t short_ios = 0;
    uint64_t dropped_ios = 0;
    Duration runtime; // from the job's start to its last I/O of this direction; 0 when it had none
    Histogram submission;          // slat: from creation to hand-over
    Histogram completion;          // clat: from hand-over to the end
    Histogram latency;             // lat: the whole of it
    RunningStat bandwidth_samples; // bytes per second in a window
    RunningStat iops_samples;
};

// Counts of I/Os by queue depth at submission, or of batches by size; the classes are fio's.
class DepthMap {
public:
    // depth 1, 2-3, 4-7, ... 64 and above: "iodepth_level".
    void at_depth(uint64_t depth);
    // 0, 1-4, 5-8, ... above 64 I/Os in one call: "iodepth_submit" and "iodepth_complete".
    void batch_of(uint64_t ios);
    const std::array<uint64_t, 7>& counts() const { return counts_; }

private:
    std::array<uint64_t, 7> counts_{};
};

struct JobResult {
    std::string name;
    int group = 0;
    int error = 0; // errno of the first failed I/O, 0 for none
    Duration elapsed;
    std::vector<std::pair<std::string, std::string>> options; // as written in the job file
    DirectionResult read, write, trim;
    Histogram sync; // latency of flushes
    Duration job_runtime;
    double user_cpu = 0; // fractions of one thread's time; percent in JSON
    double system_cpu = 0;
    uint64_t context_switches = 0, major_faults = 0, minor_faults = 0; // the real world counts them
    DepthMap depth_level, depth_submit, depth_complete;
};

} // namespace storlab
