// Where a throughput-latency curve bends. The load is what is offered: I/Os in flight of a closed
// load, arrivals a second of an open one.
//
// knee: most power, throughput over latency (Kleinrock, "Power and deterministic rules of thumb",
// ICC 1979). saturation: where the asymptotes of a closed system meet, N* = X_max x R_min (Denning
// and Buzen, ACM Computing Surveys 10, 1978). load_within: the largest load whose latency stays
// within a target, between points by the straight line between them.
#pragma once
#include <cstddef>
#include <optional>
#include <span>

namespace storlab {

struct CurvePoint {
    double load = 0;
    double throughput = 0;           // per second
    double mean_s = 0;               // latency
    std::optional<double> latency_s; // what a target is held against: the mean or a percentile
};

// Index of the point of most power. Points in order of load; at least one.
size_t knee_of(std::span<const CurvePoint> curve);
// Of a closed load.
double saturation_of(std::span<const CurvePoint> curve);
// The least load with 95 % of the most throughput, or none if only the last point has it: then the
// curve still rises.
std::optional<double> full_from(std::span<const CurvePoint> curve);

struct Within {
    double load = 0, throughput = 0, latency_s = 0;
    bool beyond = false; // the last point is still within: the curve does not go far enough
    size_t last = 0;     // point that is within; the next one is not
};
// None if already the first point exceeds the target. A point without a latency ends the search.
std::optional<Within> load_within(std::span<const CurvePoint> curve, double target_s);

} // namespace storlab
