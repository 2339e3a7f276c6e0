// Watches the loads of a run: counts, latencies, layers, time series, the time between two events
// of the timeline.
#pragma once
#include "sim/analysis/steady.hpp"
#include "sim/report/result.hpp"
#include "sim/scenario/schema.hpp"
#include "sim/seam/probe.hpp"
#include <functional>
#include <memory>
#include <optional>
#include <vector>

namespace storlab {

// One load's I/Os.
class LoadObserver final : public Probe {
public:
    LoadObserver(const LoadSchema& load, Duration series_step);
    void issued(Instant now) override {
        integrate(now);
        followed_ += is_followed(now);
        if (++in_flight_ > most_in_flight_) [[unlikely]]
            overflow();
    }
    void completed(const IoRecord& io) override;

    // To be told, once, when more than so many are in flight.
    void limit_in_flight(uint64_t most, std::function<void()> overflow);
    void restart(Instant now); // the measured part begins
    // From now on figures are kept apart as well. Once the measured part has begun.
    void begin_phase(Instant now);
    uint64_t completed_total() const { return completed_total_; }
    Duration latency_total() const { return latency_total_; }
    Bytes written_total() const { return Bytes(written_total_); } // warm-up included
    // Everything below is of the measured part, which ends now; what is still in flight then is
    // told once it is back.
    void close(Instant now);
    LoadResult load_result(Duration measured) const;
    void job_results(Duration measured, std::vector<JobResult>& out) const;
    double mean_in_flight(Duration measured) const { return integral_ / measured.in_seconds(); }
    // Of the I/Os issued in the measured part, once all are back: the sum of their latencies
    // against the integral of how many of them were in flight. Exact, whatever is in flight at its
    // edges.
    double littles_law_gap() const;
    const SpanTable& spans() const { return spans_; }
    void add_unfinished(LoadResult& r) const;
    void phase_results(const std::vector<std::string>& ends, std::vector<PhaseResult>& out) const;
    void append_series(Series& series, const std::string& prefix) const;
    void use_step(Duration step, Instant now);

private:
    struct Direction {
        FlowResult flow;
        DirectionResult job;
        Instant last;
    };
    struct JobCount {
        Direction read, write;
        Histogram flushes;
        int error = 0;
    };
    struct PhaseCount {
        Instant from;
        FlowResult flow;
        Duration longest_gap;
    };
    const LoadSchema& load_;
    std::vector<JobCount> jobs_;
    SpanTable spans_;
    std::optional<LoadSeries> series_;
    Instant since_, changed_;
    Instant until_ = Instant::never(); // the end of the measured part
    uint64_t in_flight_ = 0, completed_total_ = 0;
    uint64_t most_in_flight_ = ~uint64_t{0}, in_flight_at_end_ = 0;
    std::function<void()> on_overflow_;
    Duration oldest_at_end_;
    std::vector<PhaseCount> phases_; // none without a timeline
    Instant last_end_;               // of an I/O that ended well
    Duration latency_total_;
    int64_t written_total_ = 0;
    double integral_ = 0;   // I/O seconds in flight
    uint64_t followed_ = 0; // in flight, issued in the measured part
    double followed_integral_ = 0, followed_latency_ = 0;

    void overflow();
    void count_in_phase(const IoRecord& io, Duration latency);
    void end_phase(Instant now);
    bool is_followed(Instant issued) const { return issued > since_ && issued <= until_; }

    void integrate(Instant now) {
        const double seconds = (now - changed_).in_seconds();
        integral_ += static_cast<double>(in_flight_) * seconds;
        followed_integral_ += static_cast<double>(followed_) * seconds;
        changed_ = now;
    }
};

} // namespace storlab
