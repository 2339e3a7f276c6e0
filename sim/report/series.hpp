// Time series on a fixed step, as columns of equal length, and the windows of one load that fill
// them. A window owns its own histogram; the load's total is the merge of its windows, so one
// record() an I/O serves both. A last window that is not whole is left out of the columns (a rate
// over a stub of a window is noise) but its I/Os are in the total. Left out: unequal steps, and
// resampling.
#pragma once
#include "sim/base/quantity.hpp"
#include "sim/base/time.hpp"
#include "sim/report/histogram.hpp"
#include <string>
#include <utility>
#include <vector>

namespace storlab {

struct Series {
    Duration step;
    Instant start;                                                    // of the first window
    std::vector<std::pair<std::string, std::vector<double>>> columns; // NaN is "no value"

    std::vector<double>& column(const std::string& name); // made when it is not there
    const std::vector<double>* find(const std::string& name) const;
};
// {"step_ns": 1000000, "start_ns": 0, "columns": {"reads/iops": [...]}}; NaN becomes null.
std::string to_json(const Series& series);

struct LoadWindow {
    uint64_t ios = 0;
    double iops = 0;
    double bandwidth_bytes = 0; // per second
    double mean_ns = 0;         // NaN when no I/O ended in the window
    double p99_ns = 0;          // NaN when the window holds too few samples
};

class LoadSeries {
public:
    LoadSeries(Duration step, Instant start);

    // An I/O that ended now. Time never runs backwards.
    void record(Instant now, Duration latency, Bytes size) {
        if (now >= end_of_window_) [[unlikely]]
            advance(now);
        bytes_ += size;
        current_.record(latency);
    }
    // Closes the windows that end at or before now, also empty ones.
    void advance(Instant now);
    // All I/Os so far, those of the open window included.
    Histogram total() const;
    Bytes bytes() const { return all_bytes_ + bytes_; }
    const std::vector<LoadWindow>& windows() const { return windows_; }
    // Forgets what was recorded and starts again at now: the end of a warm-up.
    void restart(Instant now);
    // Adds <prefix>/iops, /bandwidth_bytes, /mean_ns and /p99_ns.
    void append_to(Series& series, const std::string& prefix) const;

private:
    void close_window();

    Duration step_;
    Instant end_of_window_;
    Histogram current_;
    Histogram closed_;
    Bytes bytes_;
    Bytes all_bytes_;
    std::vector<LoadWindow> windows_;
};

} // namespace storlab
