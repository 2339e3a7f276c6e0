#include "sim/base/text.hpp"
#include "sim/report/table.hpp"
#include "sim/scenario/knee.hpp"
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace storlab {

namespace {
using Json = nlohmann::ordered_json;

std::string latency(const std::optional<double>& seconds) {
    return seconds ? format_duration(Duration::seconds(*seconds)) : "-";
}
std::string amount(const KneeReport& r, double load) {
    return r.open ? format_count(load) + " arrivals a second"
                  : fmt::format("{:.0f} I/Os in flight", load);
}

std::vector<std::string> row_of(const KneeReport& r, const KneePoint& p) {
    const LoadFigures& f = p.answer.loads.at(r.load);
    return {r.open ? format_count(p.load) : fmt::format("{:.0f}", p.load),
            format_count(f.iops) + (p.answer.partial ? " ?" : ""),
            fmt::format("{:.0f}", f.bytes_per_second * 1e-6),
            latency(f.mean_s),
            latency(f.p50_s),
            latency(f.p95_s),
            latency(f.p99_s),
            latency(f.p999_s),
            p.answer.binds};
}

std::string binds_at(const KneeReport& r, double load) {
    for (const KneePoint& p : r.points)
        if (p.load == load) return p.answer.binds.empty() ? "nothing" : p.answer.binds;
    return "nothing";
}

std::string about_target(const KneeReport& r, const std::vector<CurvePoint>& curve) {
    const std::string aim =
        fmt::format("{} up to {}", r.target->statistic, format_duration(r.target->at_most));
    const auto within = load_within(curve, r.target->at_most.in_seconds());
    if (!within) return fmt::format("target  {}: not met even by the least load here\n", aim);
    return fmt::format("target  {}: {}{}, {} IOPS; binds there: {}\n", aim,
                       within->beyond ? "met by all of these loads, up to " : "",
                       amount(r, within->load), format_count(within->throughput),
                       binds_at(r, curve[within->last].load));
}

Json figures(const KneeReport& r, const KneePoint& p) {
    if (!p.answer.failure.empty()) return {{"load", p.load}, {"failure", p.answer.failure}};
    const LoadFigures& f = p.answer.loads.at(r.load);
    const auto ns = [](const std::optional<double>& s) {
        return s ? Json(static_cast<int64_t>(*s * 1e9 + 0.5)) : Json();
    };
    return {{"load", p.load},
            {"iops", f.iops},
            {"iops_ci95", f.iops_ci95 ? Json(*f.iops_ci95) : Json()},
            {"bytes_per_s", f.bytes_per_second},
            {"mean_ns", ns(f.mean_s)},
            {"p50_ns", ns(f.p50_s)},
            {"p95_ns", ns(f.p95_s)},
            {"p99_ns", ns(f.p99_s)},
            {"p99_9_ns", ns(f.p999_s)},
            {"binds", p.answer.binds},
            {"partial", p.answer.partial},
            {"trace_hash", p.answer.trace_hash}};
}
} // namespace

std::string knee_text(const KneeReport& r) {
    std::string out = fmt::format("{}\n{}: {}, {}\n\n", r.title, r.load, r.what,
                                  r.open ? "open loop" : "closed loop");
    std::vector<std::vector<std::string>> rows{{r.open ? "arrivals/s" : "in flight", "IOPS", "MB/s",
                                                "mean", "p50", "p95", "p99", "p99.9", "binds"}};
    bool unsettled = false;
    for (const KneePoint& p : r.points) {
        if (!p.answer.failure.empty()) continue;
        rows.push_back(row_of(r, p));
        unsettled |= p.answer.partial;
    }
    if (rows.size() > 1) out += text_table(rows) + '\n';
    if (unsettled)
        out +=
            "? did not settle: the load is more than the system can do, or too little was seen\n";
    for (const KneePoint& p : r.points)
        if (!p.answer.failure.empty())
            out += fmt::format("{}: no answer: {}\n", amount(r, p.load), p.answer.failure);
    const std::vector<CurvePoint> curve = curve_of(r);
    if (!curve.empty()) {
        const CurvePoint& k = curve[knee_of(curve)];
        out += fmt::format("knee    {}: {} IOPS at a mean of {} (most IOPS per latency); binds "
                           "there: {}\n",
                           amount(r, k.load), format_count(k.throughput), latency(k.mean_s),
                           binds_at(r, k.load));
        // Up to the knee a curve only rises: where that is its last point, it may rise further.
        const std::string further = r.open ? "\n" : ": go further with --up-to\n";
        const auto full = full_from(curve);
        if (knee_of(curve) + 1 == curve.size())
            out += "note    the curve may not have bent yet" + further;
        else if (!full) out += "note    the curve still rises at its end" + further;
        else if (!r.open)
            out +=
                fmt::format("full    from about {:.0f} in flight on (95 % of the most IOPS): more "
                            "of them only wait longer\n",
                            *full);
        if (r.target) out += about_target(r, curve);
    }
    for (const std::string& n : r.notes) out += "note    " + n + '\n';
    return out;
}

std::string knee_json(const KneeReport& r) {
    Json j;
    j["title"] = r.title;
    j["scenario"] = r.scenario;
    j["hash"] = r.hash;
    j["seed"] = r.seed;
    j["load"] = r.load;
    j["arrivals"] = r.open ? "open" : "closed";
    j["points"] = Json::array();
    for (const KneePoint& p : r.points) j["points"].push_back(figures(r, p));
    const std::vector<CurvePoint> curve = curve_of(r);
    j["knee"] = j["saturation"] = j["full_from"] = j["target"] = Json();
    if (!curve.empty()) {
        const CurvePoint& k = curve[knee_of(curve)];
        j["knee"] = {{"load", k.load},
                     {"iops", k.throughput},
                     {"mean_ns", static_cast<int64_t>(k.mean_s * 1e9 + 0.5)}};
        if (!r.open) {
            j["saturation"] = saturation_of(curve);
            if (const auto full = full_from(curve)) j["full_from"] = *full;
        }
    }
    if (r.target) {
        const auto within = load_within(curve, r.target->at_most.in_seconds());
        j["target"] = {{"statistic", r.target->statistic},
                       {"at_most_ns", r.target->at_most.count_ps() / 1000},
                       {"load", within ? Json(within->load) : Json()},
                       {"iops", within ? Json(within->throughput) : Json()},
                       {"beyond", within && within->beyond}};
    }
    j["notes"] = r.notes;
    return j.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

} // namespace storlab
