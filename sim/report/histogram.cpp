#include "sim/report/histogram.hpp"
#include "sim/base/error.hpp"
#include <algorithm>
#include <cmath>

namespace storlab {

size_t Histogram::make_room(Duration value) {
    STORLAB_ENSURE(value >= Duration());
    counts_.resize(bucket_count);
    return std::min(bucket_of(static_cast<uint64_t>(value.count_ps())), bucket_count - 1);
}

size_t Histogram::first_used() const { return std::min(bucket_of(min_), bucket_count - 1); }
size_t Histogram::last_used() const { return std::min(bucket_of(max_), bucket_count - 1); }

void Histogram::merge(const Histogram& other) {
    if (other.empty()) return;
    counts_.resize(bucket_count);
    for (size_t i = other.first_used(); i <= other.last_used(); ++i) counts_[i] += other.counts_[i];
    count_ += other.count_;
    min_ = std::min(min_, other.min_);
    max_ = std::max(max_, other.max_);
    sum_ += other.sum_;
    sum_of_squares_ += other.sum_of_squares_;
}

void Histogram::clear() {
    if (empty()) return;
    // Only the used stretch: windows are cleared often and touch a few octaves.
    std::fill(counts_.begin() + static_cast<std::ptrdiff_t>(first_used()),
              counts_.begin() + static_cast<std::ptrdiff_t>(last_used()) + 1, 0);
    count_ = 0;
    min_ = UINT64_MAX;
    max_ = 0;
    sum_ = 0;
    sum_of_squares_ = 0;
}

double Histogram::mean_ns() const {
    if (empty()) return 0;
    return static_cast<double>(sum_) / static_cast<double>(count_) * 1e-3;
}

double Histogram::stddev_ns() const {
    if (empty()) return 0;
    // n x sum of squares - (sum)^2 would need 192 bits. The mean is taken off in whole picoseconds
    // instead, so that nothing cancels: sum (x - m)^2 = sum x^2 - 2 m sum x + n m^2, exact in 128
    // bits.
    const unsigned __int128 m = sum_ / count_;
    const unsigned __int128 around = sum_of_squares_ - 2 * m * sum_ + m * m * count_;
    const double off = static_cast<double>(sum_ - m * count_) / static_cast<double>(count_);
    const double variance = static_cast<double>(around) / static_cast<double>(count_) - off * off;
    return std::sqrt(std::max(variance, 0.0)) * 1e-3;
}

uint64_t Histogram::samples_needed(double p) {
    STORLAB_ENSURE(p > 0 && p < 1);
    // 1 - 0.99 is not quite 0.01 in binary: without the margin the 1000th sample would not be
    // enough.
    return static_cast<uint64_t>(std::ceil(10 / std::min(p, 1 - p) * (1 - 1e-9)));
}

std::optional<Duration> Histogram::percentile(double p) const {
    if (count_ < samples_needed(p)) return std::nullopt;
    const double exact_rank = p * static_cast<double>(count_);
    const auto rank = static_cast<uint64_t>(std::max(1.0, std::ceil(exact_rank * (1 - 1e-12))));
    uint64_t seen = 0;
    for (size_t i = first_used(); i <= last_used(); ++i) {
        seen += counts_[i];
        if (seen < rank) continue;
        // The middle of the bucket, but never outside what was seen: equal samples give themselves.
        return Duration::ps(static_cast<int64_t>(std::clamp(middle_of(i), min_, max_)));
    }
    STORLAB_ENSURE(false && "every sample is in a bucket");
    return std::nullopt;
}

std::vector<Histogram::Bucket> Histogram::buckets() const {
    std::vector<Bucket> used;
    if (empty()) return used;
    for (size_t i = first_used(); i <= last_used(); ++i) {
        if (counts_[i] == 0) continue;
        used.push_back({Duration::ps(static_cast<int64_t>(low_of(i))),
                        Duration::ps(static_cast<int64_t>(low_of(i + 1))), counts_[i]});
    }
    return used;
}

uint64_t Histogram::count_below(Duration bound) const {
    uint64_t below = 0;
    if (empty() || bound <= Duration()) return below;
    const auto limit = static_cast<uint64_t>(bound.count_ps());
    for (size_t i = first_used(); i <= last_used() && middle_of(i) < limit; ++i)
        below += counts_[i];
    return below;
}

} // namespace storlab
