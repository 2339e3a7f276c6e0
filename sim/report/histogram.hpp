// A latency histogram with logarithmic octaves of 128 linear buckets: any value from 1 ns to 18000
// s is known to 1/128 of itself, while count, sum, sum of squares, minimum and maximum are exact.
// record() is a shift, an add and no allocation after the first. Percentiles over several windows,
// drives or jobs come from merged histograms; there is no way to average them.
// Left out: removal of samples (windows are kept apart and merged instead).
// Source of the bucket scheme: the HdrHistogram idea (G. Tene), as also used by fio's io_u_plat.
#pragma once
#include "sim/base/time.hpp"
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace storlab {

class Histogram {
public:
    void record(Duration value) {
        const auto ps = static_cast<uint64_t>(value.count_ps());
        size_t at = bucket_of(ps);
        if (at >= counts_.size()) [[unlikely]]
            at = make_room(value);
        ++counts_[at];
        ++count_;
        sum_ += ps;
        sum_of_squares_ += static_cast<unsigned __int128>(ps) * ps;
        if (ps < min_) min_ = ps;
        if (ps > max_) max_ = ps;
    }
    void merge(const Histogram& other);
    void clear(); // keeps the memory

    bool empty() const { return count_ == 0; }
    uint64_t count() const { return count_; }
    // Zero when empty.
    Duration min() const { return Duration::ps(empty() ? 0 : static_cast<int64_t>(min_)); }
    Duration max() const { return Duration::ps(static_cast<int64_t>(max_)); }
    double mean_ns() const;
    double stddev_ns() const; // of the samples themselves (divides by n)
    double sum_seconds() const { return static_cast<double>(sum_) * 1e-12; }

    // The smallest value that a fraction p of the samples do not exceed; p = 0.99 is the 99th
    // percentile. Blank when fewer than ten samples lie beyond it, that is below 10 / (1 - p)
    // samples (for p under one half, 10 / p): what is left would be noise.
    std::optional<Duration> percentile(double p) const;
    static uint64_t samples_needed(double p);

    struct Bucket {
        Duration low, high; // low <= value < high
        uint64_t count;
    };
    std::vector<Bucket> buckets() const; // those that hold samples, in order
    // Samples in buckets whose middle lies below the bound: exact to one bucket.
    uint64_t count_below(Duration bound) const;

private:
    static constexpr int grid_bits = 3; // 8 ps: below 1024 ps the buckets are one grid step
    static constexpr size_t per_octave = 128;
    static constexpr size_t bucket_count =
        45 * per_octave; // to 2^54 ps; longer ones share the last

    static constexpr size_t bucket_of(uint64_t ps) {
        const uint64_t u = ps >> grid_bits;
        const int shift = std::bit_width(u | per_octave) - 8;
        return static_cast<size_t>(shift) * per_octave + static_cast<size_t>(u >> shift);
    }
    static constexpr uint64_t low_of(size_t bucket) {
        if (bucket < 2 * per_octave) return static_cast<uint64_t>(bucket) << grid_bits;
        const auto shift = bucket / per_octave - 1;
        return (static_cast<uint64_t>(bucket % per_octave + per_octave) << shift) << grid_bits;
    }
    static constexpr uint64_t middle_of(size_t bucket) {
        return low_of(bucket) + (low_of(bucket + 1) - low_of(bucket)) / 2;
    }
    size_t
    make_room(Duration value); // the first sample, one past the range, or a negative one (a bug)
    size_t first_used() const;
    size_t last_used() const;

    std::vector<uint64_t> counts_;
    uint64_t count_ = 0;
    uint64_t min_ = UINT64_MAX;
    uint64_t max_ = 0;
    // 128 bits: 10^9 samples of 10 ms pass 2^63 ps. The squares would need 3.4 million samples of
    // 10000 s to overflow.
    unsigned __int128 sum_ = 0;
    unsigned __int128 sum_of_squares_ = 0;
};

} // namespace storlab
