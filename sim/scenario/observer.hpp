// Watches the loads of a run: counts, latencies, layers, time series, and whether it has settled.
#pragma once
#include "sim/analysis/steady.hpp"
#include "sim/report/result.hpp"
#include "sim/scenario/schema.hpp"
#include "sim/seam/probe.hpp"
#include <memory>
#include <optional>

namespace storlab {

// One load's I/Os.
class LoadObserver final : public Probe {
public:
    LoadObserver(const LoadSchema& load, Duration series_step);
    void issued(Instant now) override {
        integrate(now);
        in_flight_++;
        followed_ += is_followed(now);
    }
    void completed(const IoRecord& io) override;

    void restart(Instant now); // the measured part begins
    uint64_t completed_total() const { return completed_total_; }
    Duration latency_total() const { return latency_total_; }
    Bytes written_total() const { return Bytes(written_total_); } // warm-up included
    // Everything below is of the measured part, which ends now.
    void close(Instant now);
    LoadResult load_result(Duration measured) const;
    void job_results(Duration measured, std::vector<JobResult>& out) const;
    double mean_in_flight(Duration measured) const { return integral_ / measured.in_seconds(); }
    // Of the I/Os issued in the measured part, once all are back: the sum of their latencies
    // against the integral of how many of them were in flight. Exact, whatever is in flight at its
    // edges.
    uint64_t in_flight() const { return in_flight_; }
    double littles_law_gap() const;
    const SpanTable& spans() const { return spans_; }
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
    const LoadSchema& load_;
    std::vector<JobCount> jobs_;
    SpanTable spans_;
    std::optional<LoadSeries> series_;
    Instant since_, changed_;
    Instant until_ = Instant::never(); // the end of the measured part
    uint64_t in_flight_ = 0, completed_total_ = 0;
    Duration latency_total_;
    int64_t written_total_ = 0;
    double integral_ = 0;   // I/O seconds in flight
    uint64_t followed_ = 0; // in flight, issued in the measured part
    double followed_integral_ = 0, followed_latency_ = 0;

    bool is_followed(Instant issued) const { return issued > since_ && issued <= until_; }

    void integrate(Instant now) {
        const double seconds = (now - changed_).in_seconds();
        integral_ += static_cast<double>(in_flight_) * seconds;
        followed_integral_ += static_cast<double>(followed_) * seconds;
        changed_ = now;
    }
};

} // namespace storlab
