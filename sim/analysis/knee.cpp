#include "sim/analysis/knee.hpp"
#include "sim/base/error.hpp"
#include <algorithm>

namespace storlab {

size_t knee_of(std::span<const CurvePoint> curve) {
    STORLAB_ENSURE(!curve.empty());
    const auto power = [](const CurvePoint& p) {
        return p.mean_s > 0 ? p.throughput / p.mean_s : 0;
    };
    const auto best =
        std::max_element(curve.begin(), curve.end(), [&](const CurvePoint& a, const CurvePoint& b) {
            return power(a) < power(b);
        });
    return static_cast<size_t>(best - curve.begin());
}

double saturation_of(std::span<const CurvePoint> curve) {
    STORLAB_ENSURE(!curve.empty());
    double most = 0, least = curve.front().mean_s;
    for (const CurvePoint& p : curve) {
        most = std::max(most, p.throughput);
        least = std::min(least, p.mean_s);
    }
    return most * least;
}

std::optional<double> full_from(std::span<const CurvePoint> curve) {
    constexpr double full = 0.95;
    double most = 0;
    for (const CurvePoint& p : curve) most = std::max(most, p.throughput);
    for (size_t i = 0; i + 1 < curve.size(); i++)
        if (curve[i].throughput >= full * most) return curve[i].load;
    return std::nullopt;
}

std::optional<Within> load_within(std::span<const CurvePoint> curve, double target_s) {
    std::optional<Within> best;
    for (size_t i = 0; i < curve.size(); i++) {
        const CurvePoint& p = curve[i];
        if (!p.latency_s) break;
        if (*p.latency_s <= target_s) {
            best = Within{p.load, p.throughput, *p.latency_s, i + 1 == curve.size(), i};
            continue;
        }
        if (best) {
            const CurvePoint& q = curve[i - 1];
            const double share = (target_s - *q.latency_s) / (*p.latency_s - *q.latency_s);
            *best = {q.load + share * (p.load - q.load),
                     q.throughput + share * (p.throughput - q.throughput), target_s, false, i - 1};
        }
        break;
    }
    return best;
}

} // namespace storlab
