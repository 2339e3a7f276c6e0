#include "sim/analysis/steady.hpp"
#include "sim/base/error.hpp"
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace storlab {

namespace {

constexpr size_t fewest = 40;     // below this neither correlation nor spread can be judged
constexpr double too_alike = 0.2; // lag-1 correlation of batches above which they are merged
constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

double mean_of(std::span<const double> values) {
    return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

std::vector<double> batch_means(std::span<const double> values, size_t size) {
    // The remainder is dropped at the front: what is oldest is most likely still warming up.
    const size_t count = values.size() / size;
    const auto rest = values.subspan(values.size() - count * size);
    std::vector<double> means(count);
    for (size_t i = 0; i < count; ++i) means[i] = mean_of(rest.subspan(i * size, size));
    return means;
}

double variance(std::span<const double> values) {
    const double mean = mean_of(values);
    double squares = 0;
    for (const double x : values) squares += (x - mean) * (x - mean);
    return squares / static_cast<double>(values.size() - 1);
}

// Of neighbours; zero when nothing varies.
double lag1_correlation(std::span<const double> values) {
    const double mean = mean_of(values);
    double together = 0, squares = 0;
    for (size_t i = 0; i < values.size(); ++i) {
        squares += (values[i] - mean) * (values[i] - mean);
        if (i > 0) together += (values[i] - mean) * (values[i - 1] - mean);
    }
    return squares > 0 ? together / squares : 0;
}

// Batch sizes: the correlation is judged on many batches (64 to 255, where its own noise is small)
// and the spread is taken from a quarter or half as many, in which what was left of it has shrunk
// again.
struct Batching {
    size_t size = 0; // 0: still correlated at the longest batches
    bool found() const { return size > 0; }
};
Batching choose_batches(std::span<const double> values) {
    size_t size = 1;
    while (values.size() / size >= 256) size *= 2;
    while (lag1_correlation(batch_means(values, size)) > too_alike) {
        size *= 2;
        if (values.size() / size < fewest) return {};
    }
    while (values.size() / size >= 64) size *= 2;
    return {size};
}

struct Spread {
    double half_width = 0, lag1 = 0;
    size_t batches = 0;
};
Spread spread_of(const std::vector<double>& means, double confidence) {
    const auto k = static_cast<double>(means.size());
    const double lag1 = lag1_correlation(means);
    const double left = std::clamp(lag1, 0.0, 0.9);
    const double error = std::sqrt(variance(means) / k * (1 + left) / (1 - left));
    return {student_t_quantile((1 + confidence) / 2, k - 1) * error, lag1, means.size()};
}

} // namespace

double Interval::relative() const {
    if (half_width == 0) return 0;
    return mean == 0 ? std::numeric_limits<double>::infinity() : half_width / std::abs(mean);
}

WarmUp mser5(std::span<const double> observations) {
    constexpr size_t per_batch = 5;
    const size_t count = observations.size() / per_batch;
    if (count < 4) return {.drop = 0, .settled = false};
    std::vector<double> means(count);
    for (size_t i = 0; i < count; ++i)
        means[i] = mean_of(observations.subspan(i * per_batch, per_batch));
    // From the back, so that each candidate cut costs O(1): Welford's update of mean and squares.
    double mean = 0, squares = 0, best = std::numeric_limits<double>::infinity();
    size_t cut = 0;
    for (size_t i = count; i-- > 0;) {
        const auto n = static_cast<double>(count - i);
        const double off = means[i] - mean;
        mean += off / n;
        squares += off * (means[i] - mean);
        // The last few batches can agree by accident, which would look like the best cut of all.
        if (n < 5 && count > 10) continue;
        const double score = squares / (n * n);
        if (score <= best) best = score, cut = i;
    }
    return {.drop = cut * per_batch, .settled = cut <= count / 2};
}

std::optional<Interval> mean_interval(std::span<const double> observations, double confidence) {
    if (observations.size() < fewest) return std::nullopt;
    const Batching batching = choose_batches(observations);
    if (!batching.found()) return std::nullopt;
    const auto means = batch_means(observations, batching.size);
    const Spread spread = spread_of(means, confidence);
    return Interval{.mean = mean_of(observations),
                    .half_width = spread.half_width,
                    .batches = spread.batches,
                    .batch_size = batching.size,
                    .lag1 = spread.lag1};
}

std::optional<Interval> ratio_interval(RatioSeries series, double confidence) {
    STORLAB_ENSURE(series.part.size() == series.whole.size());
    if (series.part.size() < fewest) return std::nullopt;
    const double whole = mean_of(series.whole);
    if (!(whole > 0)) return std::nullopt;
    const double ratio = mean_of(series.part) / whole;
    std::vector<double> residuals(series.part.size());
    for (size_t i = 0; i < residuals.size(); ++i)
        residuals[i] = (series.part[i] - ratio * series.whole[i]) / whole;
    auto interval = mean_interval(residuals, confidence);
    if (interval) interval->mean = ratio;
    return interval;
}

Drift linear_drift(std::span<const double> observations) {
    if (observations.size() < fewest) return {};
    // Means of 20 to 39 batches: neighbouring windows are correlated, which would make any slope
    // look significant.
    const auto means = batch_means(observations, observations.size() / 20);
    const auto k = static_cast<double>(means.size());
    const double mean = mean_of(means), middle = (k - 1) / 2;
    const double spread = k * (k * k - 1) / 12; // sum of squared distances from the middle
    double slope = 0;
    for (size_t i = 0; i < means.size(); ++i)
        slope += (static_cast<double>(i) - middle) * (means[i] - mean) / spread;
    double left = 0;
    for (size_t i = 0; i < means.size(); ++i) {
        const double off = means[i] - mean - slope * (static_cast<double>(i) - middle);
        left += off * off;
    }
    const double error = std::sqrt(left / (k - 2) / spread);
    if (mean == 0) return {};
    const double per_slope = k / std::abs(mean);
    return {.excursion = slope * per_slope,
            .bound = student_t_quantile(0.975, k - 2) * error * per_slope};
}

SniaVerdict snia_steady_state(std::span<const double> rounds) {
    constexpr size_t fewest_rounds = 5; // the measurement window of the specification
    SniaVerdict verdict;
    if (rounds.size() < fewest_rounds)
        return {.steady = false, .range = not_a_number, .slope = not_a_number};
    const auto k = static_cast<double>(rounds.size());
    const double mean = mean_of(rounds), middle = (k - 1) / 2;
    const auto [low, high] = std::minmax_element(rounds.begin(), rounds.end());
    double slope = 0;
    for (size_t i = 0; i < rounds.size(); ++i)
        slope += (static_cast<double>(i) - middle) * rounds[i] / (k * (k * k - 1) / 12);
    verdict.range = (*high - *low) / std::abs(mean);
    verdict.slope = std::abs(slope) * (k - 1) / std::abs(mean);
    verdict.steady = verdict.range <= 0.20 && verdict.slope <= 0.10;
    return verdict;
}

SteadyMonitor::SteadyMonitor() : SteadyMonitor(Options{}) {}
SteadyMonitor::SteadyMonitor(Options options)
    : options_(options), next_look_(std::max(options.min_windows, fewest)) {}

void SteadyMonitor::add(double throughput_in_window, double mean_latency_in_window) {
    const bool any = throughput_in_window > 0;
    const double before = latency_.empty() ? 0 : latency_.back();
    throughput_.push_back(throughput_in_window);
    latency_.push_back(any ? mean_latency_in_window : before);
    latency_sum_.push_back(any ? throughput_in_window * mean_latency_in_window : 0);
    last_.windows = throughput_.size();
    if (throughput_.size() < next_look_) return;
    last_ = judge();
    next_look_ = throughput_.size() + std::max<size_t>(1, throughput_.size() / 16);
}

SteadyMonitor::Verdict SteadyMonitor::judge() const {
    const size_t windows = throughput_.size(), enough = std::max(options_.min_windows, fewest);
    const WarmUp cuts[] = {mser5(throughput_), mser5(latency_)};
    size_t cut = std::max(cuts[0].drop, cuts[1].drop);
    if (!cuts[0].settled || !cuts[1].settled || windows - cut < enough)
        return {.state = State::warming_up,
                .windows = windows,
                .warm_up = cut,
                .throughput = {},
                .latency = {}};
    // MSER weighs bias against noise and may leave the tail of a slow warm-up in, which then looks
    // like drift or correlation: cut more before giving up, but never more than half.
    const Verdict first = judge_from(cut);
    Verdict verdict = first;
    while (!verdict.confident() && verdict.state != State::wide) {
        cut = std::max(cut + cut / 2, cut + windows / 16);
        if (cut > windows / 2 || windows - cut < enough) return first;
        verdict = judge_from(cut);
    }
    return verdict;
}

SteadyMonitor::Verdict SteadyMonitor::judge_from(size_t cut) const {
    Verdict verdict;
    verdict.windows = throughput_.size();
    verdict.warm_up = cut;
    const auto throughput = std::span(throughput_).subspan(cut);
    const auto sums = std::span(latency_sum_).subspan(cut);
    verdict.throughput = mean_interval(throughput, options_.confidence);
    verdict.latency = ratio_interval({.part = sums, .whole = throughput}, options_.confidence);
    const double target = options_.target;
    bool drifting = false, hidden = false;
    for (const Drift& drift :
         {linear_drift(throughput), linear_drift(std::span(latency_).subspan(cut))}) {
        drifting |= drift.significant() && std::abs(drift.excursion) > target;
        hidden |= drift.at_most() > 3 * target;
    }
    if (drifting) verdict.state = State::drifting;
    else if (!verdict.throughput || !verdict.latency) verdict.state = State::correlated;
    else if (verdict.throughput->relative() > target || verdict.latency->relative() > target)
        verdict.state = State::wide;
    else verdict.state = hidden ? State::wide : State::confident;
    return verdict;
}

SteadyMonitor::Verdict SteadyMonitor::verdict() const { return last_; }

std::string to_string(SteadyMonitor::State state) {
    switch (state) {
    case SteadyMonitor::State::too_short: return "too short";
    case SteadyMonitor::State::warming_up: return "warming up";
    case SteadyMonitor::State::drifting: return "drifting";
    case SteadyMonitor::State::correlated: return "correlated";
    case SteadyMonitor::State::wide: return "wide";
    case SteadyMonitor::State::confident: return "confident";
    }
    broken("a state of the monitor", __FILE__, __LINE__);
}

} // namespace storlab
