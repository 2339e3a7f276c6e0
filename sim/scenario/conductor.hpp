// Decides when a run has warmed up and when it has measured enough. It looks at the loads once a
// window; the window is found first, long enough to hold many I/Os of every load.
#pragma once
#include "sim/scenario/observer.hpp"
#include "sim/scenario/run.hpp"
#include "sim/scenario/stage.hpp"
#include <memory>

namespace storlab {

class Conductor {
public:
    // begin_measuring is called at the moment the measured part starts.
    Conductor(const RunSchema& run, const RunControl& control, Clock& clock, Stage& stage,
              std::vector<std::unique_ptr<LoadObserver>>& loads,
              std::function<void()> begin_measuring);
    void start(Duration fixed_length); // zero: until confident
    void load_ended();
    // A load has more in flight than there is room for, or than ever goes with confidence.
    void overflow(const std::string& load, uint64_t in_flight);
    // An open load above what can be served never settles: its queue only grows.
    static constexpr uint64_t most_in_flight = 300'000; // more than 4096 jobs of any depth in use

    StopReason reason() const { return reason_; }
    bool partial() const { return partial_; }
    const std::string& detail() const { return detail_; }
    Instant measured_from() const { return from_; }
    Duration window() const { return window_; }
    Instant ended() const { return ended_; }
    std::optional<double> iops_ci95() const;

private:
    enum class Part { pilot, warming_up, measuring, over };
    struct Tick : Event {
        Conductor* conductor;
    };
    const RunSchema& run_;
    const RunControl& control_;
    Clock& clock_;
    Stage& stage_;
    std::vector<std::unique_ptr<LoadObserver>>& loads_;
    std::function<void()> begin_measuring_;
    Tick tick_;
    Part part_ = Part::pilot;
    Duration window_ = Duration::us(10), fixed_;
    SteadyMonitor monitor_;
    Instant from_, ended_, warm_at_;
    uint64_t ios_ = 0; // of all loads at the last window's end
    Duration latency_;
    int64_t told_ms_ = 0; // wall time of the last progress
    StopReason reason_ = StopReason::limit;
    std::string detail_;
    bool partial_ = false;

    uint64_t total_ios() const;
    Duration total_latency() const;
    void next_window();
    void window_over();
    void pilot();
    void measure();
    void finish(StopReason reason, bool partial);
    bool go_on();
};

} // namespace storlab
