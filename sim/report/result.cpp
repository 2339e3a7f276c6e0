#include "sim/report/result.hpp"
#include "sim/base/error.hpp"
#include "sim/report/json_parts.hpp"
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

namespace storlab {

std::string to_string(StopReason reason) {
    switch (reason) {
    case StopReason::confident: return "confident";
    case StopReason::duration: return "duration";
    case StopReason::timeline: return "timeline";
    case StopReason::load_ended: return "load-ended";
    case StopReason::limit: return "limit";
    case StopReason::interrupted: return "interrupted";
    case StopReason::failed: return "failed";
    }
    broken("a reason to stop", __FILE__, __LINE__);
}

FlowResult total(const LoadResult& load) {
    FlowResult all = load.read;
    all.errors += load.write.errors;
    all.bytes += load.write.bytes;
    all.latency.merge(load.write.latency);
    return all;
}

namespace {
double per_second(double amount, Duration measured) {
    return measured > Duration() ? amount / measured.in_seconds() : 0;
}
} // namespace

double iops(const LoadResult& load) {
    const uint64_t ios = load.read.latency.count() + load.write.latency.count();
    return per_second(static_cast<double>(ios), load.measured);
}
double bandwidth_bytes(const LoadResult& load) {
    return per_second(static_cast<double>(load.read.bytes + load.write.bytes), load.measured);
}

std::vector<SpanResult> span_results(const SpanTable& table) {
    std::vector<SpanResult> rows;
    std::optional<double> left = table.count() > 0 ? std::optional(1.0) : std::nullopt;
    for (size_t i = 0; i < table.layers(); ++i) {
        rows.push_back({table.name(i), table.mean_ns(i), table.p99_share(i)});
        left = left && rows.back().p99_share ? std::optional(*left - *rows.back().p99_share)
                                             : std::nullopt;
    }
    // Time that no layer claimed is shown rather than spread over the others.
    const double rest = table.mean_unattributed_ns();
    if (std::abs(rest) > 0.0005 * table.mean_total_ns())
        rows.push_back({"unattributed", rest, left});
    return rows;
}

bool failed(const RunResult& result) {
    return result.integrity.mismatches > 0 || result.integrity.scrub_mismatches > 0 ||
           result.run.stop_reason == StopReason::failed ||
           std::any_of(result.checks.begin(), result.checks.end(),
                       [](const CheckResult& check) { return !check.ok; });
}

namespace {

using Json = nlohmann::ordered_json;

Json or_null(const std::optional<double>& value) { return value ? Json(*value) : Json(); }
Json or_null(const std::optional<Duration>& value) { return value ? Json(in_ns(*value)) : Json(); }

template <typename Items, typename ToJson> Json list(const Items& items, ToJson&& one) {
    Json out = Json::array();
    for (const auto& item : items) out.push_back(one(item));
    return out;
}

Json run_json(const RunRecord& run) {
    return {{"title", run.title},
            {"scenario", run.scenario},
            {"hash", run.hash},
            {"seed", run.seed},
            {"scale", run.scale},
            {"version", run.version},
            {"world", run.world},
            {"trace_hash", run.trace_hash},
            {"stop_reason", to_string(run.stop_reason)},
            {"stop_detail", run.stop_detail},
            {"partial", run.partial},
            {"simulated_ns", in_ns(run.simulated)},
            {"wall_ns", in_ns(run.wall)},
            {"command", run.command}};
}

// Added to a load as a whole and to each direction of it.
void add_flow(Json& out, const FlowResult& flow, Duration measured) {
    const Histogram& latency = flow.latency;
    const auto if_any = [&](int64_t ns) { return latency.empty() ? Json() : Json(ns); };
    out["iops"] = per_second(static_cast<double>(latency.count()), measured);
    out["bandwidth_bytes"] = per_second(static_cast<double>(flow.bytes), measured);
    out["mean_ns"] = if_any(std::llround(latency.mean_ns()));
    out["p50_ns"] = or_null(latency.percentile(0.50));
    out["p95_ns"] = or_null(latency.percentile(0.95));
    out["p99_ns"] = or_null(latency.percentile(0.99));
    out["p999_ns"] = or_null(latency.percentile(0.999));
    out["max_ns"] = if_any(in_ns(latency.max()));
    out["ios"] = latency.count();
    out["errors"] = flow.errors;
}

Json load_json(const LoadResult& load) {
    Json out{{"name", load.name},
             {"what", load.what},
             {"loop", load.loop == Loop::closed ? "closed" : "open"},
             {"effective_depth", load.effective_depth},
             {"measured_ns", in_ns(load.measured)},
             {"iops_ci95", or_null(load.iops_ci95)}};
    add_flow(out, total(load), load.measured);
    add_flow(out["read"], load.read, load.measured);
    add_flow(out["write"], load.write, load.measured);
    out["in_flight_at_end"] = load.in_flight_at_end;
    out["oldest_at_end_ns"] = in_ns(load.oldest_at_end);
    return out;
}

Json phase_json(const PhaseResult& phase) {
    Json out{{"load", phase.load},
             {"until", phase.until},
             {"from_ns", in_ns(phase.from.since_start())},
             {"to_ns", in_ns(phase.to.since_start())},
             {"longest_gap_ns", in_ns(phase.longest_gap)}};
    add_flow(out, phase.flow, phase.to - phase.from);
    return out;
}

Json station_json(const StationResult& station) {
    return {{"name", station.name},
            {"kind", station.kind},
            {"utilisation", station.utilisation},
            {"throughput", station.throughput},
            {"mean_queue", station.mean_queue}};
}

Json cpu_json(const CpuResult& cpu) {
    Json operations = Json::object();
    for (const auto& [name, fraction] : cpu.by_operation) operations[name] = fraction;
    return {{"where", cpu.where}, {"busy", cpu.busy}, {"by_operation", operations}};
}

Json bottleneck_json(const BottleneckResult& b) {
    const auto next = [](const BottleneckResult::Next& n) {
        return Json{{"name", n.name}, {"utilisation", n.utilisation}};
    };
    return {{"name", b.name},
            {"utilisation", b.utilisation},
            {"why", b.why},
            {"then", list(b.then, next)}};
}

Json bound_json(const BoundResult& b) {
    const auto rate = [](const std::optional<BoundFlow>& f) {
        return f ? Json(f->bytes_per_s) : Json();
    };
    Json cut = Json::array();
    const auto add = [&](const char* direction, const std::optional<BoundFlow>& flow) {
        if (!flow) return;
        for (const BoundLimit& l : flow->cut)
            cut.push_back({{"direction", direction},
                           {"name", l.name},
                           {"count", l.count},
                           {"bytes_per_s", l.bytes_per_s}});
    };
    add("read", b.read);
    add("write", b.write);
    return {{"load", b.load},
            {"read_bytes_per_s", rate(b.read)},
            {"write_bytes_per_s", rate(b.write)},
            {"cut", cut}};
}

Json integrity_json(const IntegrityResult& integrity) {
    return {{"verified", integrity.verified},
            {"mismatches", integrity.mismatches},
            {"scrubbed", integrity.scrubbed},
            {"scrub_mismatches", integrity.scrub_mismatches},
            {"first", integrity.first}};
}

Json check_json(const CheckResult& check) {
    return {{"name", check.name},
            {"ok", check.ok},
            {"value", check.value},
            {"limit", check.limit},
            {"text", check.text}};
}

Json mark_json(const TimelineMark& mark) {
    return {{"at_ns", in_ns(mark.at.since_start())},
            {"what", mark.what},
            {"where", mark.where},
            {"phase", mark.phase}};
}

Json assumption_json(const Assumption& a) {
    return {{"path", a.path},
            {"value", a.value},
            {"from", a.from},
            {"source", a.source},
            {"moves", or_null(a.moves)}};
}

Json full_size_json(const FullSize& f) {
    return {{"what", f.what}, {"value_ns", in_ns(f.value)}, {"arithmetic", f.arithmetic}};
}

Json span_json(const SpanResult& span) {
    return {
        {"layer", span.layer}, {"mean_ns", span.mean_ns}, {"p99_share", or_null(span.p99_share)}};
}

} // namespace

std::string to_json(const RunResult& result, JsonOptions options) {
    Json out{{"run", run_json(result.run)},
             // Readers of fio's output look for a version to tell nanoseconds from microseconds,
             // and for dates, which stay at zero.
             {"fio version", "fio-3.36 (its shape, written by storlab)"},
             {"timestamp", 0},
             {"timestamp_ms", 0},
             {"jobs", fio_jobs(result.jobs, options.bins)},
             {"loads", list(result.loads, load_json)},
             {"stations", list(result.stations, station_json)},
             {"cpu", list(result.cpu, cpu_json)},
             {"spans", list(result.spans, span_json)},
             {"bottleneck", bottleneck_json(result.bottleneck)},
             {"bound", list(result.bound, bound_json)},
             {"integrity", integrity_json(result.integrity)},
             {"checks", list(result.checks, check_json)},
             {"timeline", list(result.timeline, mark_json)},
             {"phases", list(result.phases, phase_json)},
             {"series", series_json(result.series)},
             {"assumptions", list(result.assumptions, assumption_json)},
             {"full_size", list(result.full_size, full_size_json)}};
    // A title that is not UTF-8 is the user's; it must not cost them the result.
    return out.dump(options.indent, ' ', false, Json::error_handler_t::replace) + "\n";
}

} // namespace storlab
