#include "sim/report/job_result.hpp"
#include <algorithm>
#include <bit>
#include <cmath>

namespace storlab {

void RunningStat::add(double value) {
    min_ = count_ == 0 ? value : std::min(min_, value);
    max_ = count_ == 0 ? value : std::max(max_, value);
    ++count_;
    const double off = value - mean_;
    mean_ += off / static_cast<double>(count_);
    m2_ += off * (value - mean_);
}

double RunningStat::stddev() const {
    return count_ < 2 ? 0 : std::sqrt(m2_ / static_cast<double>(count_ - 1));
}

void DepthMap::at_depth(uint64_t depth) {
    if (depth == 0) return; // fio counts at submission, when at least this one is in flight
    ++counts_[std::min<size_t>(static_cast<size_t>(std::bit_width(depth)) - 1, 6)];
}

void DepthMap::batch_of(uint64_t ios) {
    // Classes end at 0, 4, 8, 16, 32, 64.
    if (ios == 0) ++counts_[0];
    else if (ios <= 4) ++counts_[1];
    else ++counts_[std::min<size_t>(static_cast<size_t>(std::bit_width(ios - 1)) - 1, 6)];
}

} // namespace storlab
