// When has a run settled, and how far off may its mean be?
// Warm-up: MSER-5 (White, "An effective truncation heuristic for bias reduction in simulation
// output", Simulation 69, 1997). Confidence: non-overlapping batch means, batches merged until
// their lag-1 correlation is small (Law and Carson 1979), what is left of it widening the interval
// as in Skart (Tafazzoli, Wilson, Lada, Steiger 2011). SNIA's steady-state rule: Solid State
// Storage PTS 2.0.1. Left out: knowledge of what has not happened yet. A full burst bucket or an
// erased drive looks steady until it runs out: the run must say how long that can take
// (SteadyMonitor::Options::min_windows).
#pragma once
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace storlab {

// Probability that Student's t with these degrees of freedom is at most t, and its inverse.
double student_t_cdf(double t, double degrees);
double student_t_quantile(double p, double degrees);

struct WarmUp {
    size_t drop = 0;     // observations to leave out at the start
    bool settled = true; // false: the best cut lies in the second half, its end was not seen
};
WarmUp mser5(std::span<const double> observations);

struct Interval {
    double mean = 0;
    double half_width = 0;
    size_t batches = 0;
    size_t batch_size = 0;
    double lag1 = 0;         // correlation of neighbouring batches that was left
    double relative() const; // half width over |mean|
    bool covers(double value) const {
        return value >= mean - half_width && value <= mean + half_width;
    }
};
// Blank below 40 observations, or when even the longest batches are still correlated.
std::optional<Interval> mean_interval(std::span<const double> observations,
                                      double confidence = 0.95);
// Of sum(part) / sum(whole), for figures whose windows weigh differently: time per I/O, I/Os per
// second over windows of unequal length. Delta method: the batch means of part - ratio x whole.
struct RatioSeries {
    std::span<const double> part;
    std::span<const double> whole;
};
std::optional<Interval> ratio_interval(RatioSeries series, double confidence = 0.95);

struct Drift {
    double excursion = 0; // change of the fitted line from end to end, over |mean|, signed
    double bound = 0;     // half width of its 95 % interval, from the noise of batch means
    bool significant() const { return excursion > bound || -excursion > bound; }
    // The largest change that the noise could still be hiding.
    double at_most() const { return (excursion < 0 ? -excursion : excursion) + bound; }
};
Drift linear_drift(std::span<const double> observations);

struct SniaVerdict {
    bool steady = false;
    double range = 0; // (max - min) / mean; at most 0.20
    double slope = 0; // |change of the fitted line over the window| / mean; at most 0.10
};
SniaVerdict snia_steady_state(std::span<const double> rounds); // SNIA: the last five rounds

// Fed once a window by a run that stops by itself: when throughput and latency are both known to
// the target and what drift the noise could still hide is below twice the target, over the windows
// kept.
class SteadyMonitor {
public:
    struct Options {
        double target = 0.01; // relative half width
        double confidence = 0.95;
        size_t min_windows =
            200; // after warm-up; longer than any bucket or cache takes to empty or fill
    };
    enum class State { too_short, warming_up, drifting, correlated, wide, confident };
    struct Verdict {
        State state = State::too_short;
        size_t windows = 0; // seen when this was judged
        size_t warm_up = 0; // windows dropped at the start
        std::optional<Interval> throughput;
        std::optional<Interval> latency; // per I/O, not per window
        bool confident() const { return state == State::confident; }
    };

    SteadyMonitor();
    explicit SteadyMonitor(Options options);
    // Windows of equal length. The latency of a window without I/Os is not looked at.
    void add(double throughput_in_window, double mean_latency_in_window);
    // Judged anew each time a sixteenth more windows have come: looking at every window would stop
    // at the first lucky one. In between, the last verdict.
    Verdict verdict() const;

private:
    Verdict judge() const;
    Verdict judge_from(size_t cut) const;

    Options options_;
    std::vector<double> throughput_;
    std::vector<double> latency_;     // a window without I/Os repeats its neighbour's
    std::vector<double> latency_sum_; // throughput x mean latency
    size_t next_look_;
    Verdict last_;
};
std::string to_string(SteadyMonitor::State state);

} // namespace storlab
