#include "sim/report/text.hpp"
#include "sim/base/text.hpp"
#include "sim/report/lines.hpp"
#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/format.h>
#include <numeric>
#include <sstream>

namespace storlab {

namespace {

std::string percent(double fraction) {
    const double value = fraction * 100;
    return fmt::format("{:.{}f} %", value, std::abs(value) < 10 || value > 90 ? 1 : 0);
}
std::string whole_percent(double fraction) { return fmt::format("{:.0f} %", fraction * 100); }

// Rebuilds take hours: "74900 s" is nothing a reader can picture.
std::string long_duration(Duration time) {
    const double seconds = time.in_seconds();
    if (seconds >= 2 * 86400.0) return fmt::format("{:.1f} d", seconds / 86400);
    if (seconds >= 2 * 3600.0) return fmt::format("{:.1f} h", seconds / 3600);
    if (seconds >= 2 * 60.0) return fmt::format("{:.1f} min", seconds / 60);
    return format_duration(time);
}

// 1 750 112: counts that people compare digit by digit.
std::string grouped(uint64_t count) {
    std::string text = std::to_string(count);
    for (size_t at = text.size(); at > 3;) text.insert(at -= 3, " ");
    return text;
}

void header(Lines& out, const RunRecord& run) {
    std::string right = fmt::format(
        "seed {} · {} {} in {}", run.seed, format_duration(run.simulated),
        run.world == "real" ? "of real input and output" : "simulated", format_duration(run.wall));
    if (run.scale != 1) right += fmt::format(" · sizes 1/{:g}", run.scale);
    out.left_and_right(run.title.empty() ? run.scenario : run.title, right);
    if (run.world == "real") out.plain("real world: the speeds are this machine's");
    if (run.partial)
        out.plain(fmt::format("PARTIAL: stopped early ({}); the figures are of what ran",
                              to_string(run.stop_reason)));
    if (!run.stop_detail.empty()) out.plain("         " + run.stop_detail);
}

// What makes the answer worthless comes before the answer.
void alarms(Lines& out, const RunResult& result) {
    const IntegrityResult& data = result.integrity;
    if (data.mismatches > 0)
        out.plain(fmt::format("*** DATA DIFFERS: {} of {} verified reads ***",
                              grouped(data.mismatches), grouped(data.verified)));
    if (data.scrub_mismatches > 0)
        out.plain(fmt::format("*** PARITY OR COPIES DIFFER: {} of {} scrubbed stripes ***",
                              grouped(data.scrub_mismatches), grouped(data.scrubbed)));
    for (const std::string& text : data.first) out.plain("    " + text);
    for (const CheckResult& check : result.checks)
        if (!check.ok) out.plain(fmt::format("*** CHECK FAILED: {} ***", check.text));
}

using Row = std::array<std::string, 10>;

Row load_row(const std::string& name, const FlowResult& flow, Duration measured,
             const std::optional<double>& ci) {
    const Histogram& latency = flow.latency;
    const double seconds = measured.in_seconds();
    const auto rate = [&](double amount) { return seconds > 0 ? amount / seconds : 0; };
    const auto shown = [&](double p) {
        const auto value = latency.percentile(p);
        return value ? format_duration(*value) : "-";
    };
    const auto if_any = [&](Duration time) {
        return latency.empty() ? "-" : format_duration(time);
    };
    const double megabytes = rate(static_cast<double>(flow.bytes)) * 1e-6;
    std::string iops = format_count(rate(static_cast<double>(latency.count())));
    if (ci && !latency.empty()) iops += fmt::format("  ±{:.1f}%", *ci * 100);
    return {name,
            iops,
            fmt::format("{:.{}f}", megabytes, megabytes < 100 ? 1 : 0),
            if_any(Duration::seconds(latency.mean_ns() * 1e-9)),
            shown(0.50),
            shown(0.95),
            shown(0.99),
            shown(0.999),
            if_any(latency.max()),
            format_count(static_cast<double>(latency.count()))};
}

void loads(Lines& out, const std::vector<LoadResult>& all) {
    std::vector<Row> rows{
        {"load", "IOPS", "MB/s", "mean", "p50", "p95", "p99", "p99.9", "max", "ios"}};
    std::vector<std::string> kinds, errors, waiting;
    for (const LoadResult& load : all) {
        rows.push_back(load_row(load.name, total(load), load.measured, load.iops_ci95));
        if (!load.read.latency.empty() && !load.write.latency.empty()) {
            rows.push_back(load_row("  read", load.read, load.measured, {}));
            rows.push_back(load_row("  write", load.write, load.measured, {}));
        }
        kinds.push_back(fmt::format(
            "{}: {}{}{} loop, {} in flight", load.name, load.what, load.what.empty() ? "" : ", ",
            load.loop == Loop::closed ? "closed" : "open", format_count(load.effective_depth)));
        // Older than every I/O that ended: the latencies above do not know of it.
        if (load.in_flight_at_end > 0 && load.oldest_at_end > total(load).latency.max())
            waiting.push_back(fmt::format("{}: {} I/Os had not ended, the oldest after {}",
                                          load.name, grouped(load.in_flight_at_end),
                                          format_duration(load.oldest_at_end)));
        if (const uint64_t failures = load.read.errors + load.write.errors; failures > 0)
            errors.push_back(fmt::format("{}: {} I/Os FAILED", load.name, grouped(failures)));
    }
    std::array<size_t, std::tuple_size_v<Row>> widths{label_width - 2};
    for (const Row& row : rows)
        for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], columns_of(row[i]));
    for (const Row& row : rows) {
        std::string line;
        for (size_t i = 0; i + 1 < row.size(); ++i) line += padded(row[i], widths[i] + 2);
        out.plain(line + row.back());
    }
    out.plain("");
    out.labelled("loads", kinds, " · ");
    out.labelled("errors", errors, " · ");
    out.labelled("waiting", waiting, " · ");
}

void binds(Lines& out, const RunResult& result) {
    constexpr double busy = 0.5; // below, more stations would only be noise
    const BottleneckResult& b = result.bottleneck;
    const bool closed = std::any_of(result.loads.begin(), result.loads.end(),
                                    [](const LoadResult& l) { return l.loop == Loop::closed; });
    std::vector<std::string> pieces;
    std::string then = "then  ";
    if (!b.name.empty()) {
        pieces.push_back(fmt::format("{}  {}  {}", b.name, percent(b.utilisation), b.why));
    } else if (b.why.empty() && !b.then.empty() && b.then[0].utilisation >= busy) {
        pieces.push_back(closed ? "no station is full: more I/Os in flight would raise the rate"
                                : "no station is full");
        then = "nearest  ";
    } else {
        out.labelled("binds", {b.why.empty() ? "nothing is near its limit" : b.why}, "");
        return;
    }
    for (size_t i = 0; i < b.then.size(); ++i)
        pieces.push_back(fmt::format("{}{}  {}", i == 0 ? then : "", b.then[i].name,
                                     whole_percent(b.then[i].utilisation)));
    out.labelled("binds", pieces, "   ");
}

// What could flow at most, beside what did.
void bounds(Lines& out, const std::vector<BoundResult>& all) {
    constexpr size_t most = 4; // one screen
    std::string label = "bound";
    for (size_t i = 0; i < std::min(all.size(), most); ++i)
        for (const std::string& sentence : in_words(all[i])) {
            std::vector<std::string> words;
            std::istringstream in(sentence);
            for (std::string word; in >> word;) words.push_back(word);
            out.labelled(label, words, " ");
            label.clear();
        }
    if (all.size() > most)
        out.labelled("", {fmt::format("and of {} more loads in the JSON", all.size() - most)}, "");
}

void spans(Lines& out, const std::vector<SpanResult>& all) {
    double sum = 0;
    for (const SpanResult& span : all) sum += span.mean_ns;
    if (!(sum > 0)) return;
    // Longest first; what rounds to nothing is not shown.
    const auto by_share = [&](std::vector<std::pair<double, std::string>> shares,
                              std::string first) {
        std::stable_sort(shares.begin(), shares.end(),
                         [](const auto& a, const auto& b) { return a.first > b.first; });
        std::vector<std::string> pieces{std::move(first)};
        for (const auto& [share, layer] : shares)
            if (share >= 0.005) pieces.push_back(layer + " " + whole_percent(share));
        return pieces;
    };
    std::vector<std::pair<double, std::string>> mean, slowest;
    for (const SpanResult& span : all) {
        mean.emplace_back(span.mean_ns / sum, span.layer);
        if (span.p99_share) slowest.emplace_back(*span.p99_share, span.layer);
    }
    const auto total = format_duration(Duration::seconds(sum * 1e-9));
    out.labelled("time", by_share(mean, fmt::format("per I/O, mean {}:", total)), "  ");
    if (!slowest.empty()) out.labelled("", by_share(slowest, "slowest 1 %:"), "  ");
}

void cpus(Lines& out, const std::vector<CpuResult>& all) {
    std::vector<std::string> pieces;
    for (const CpuResult& cpu : all) {
        auto operations = cpu.by_operation;
        std::stable_sort(operations.begin(), operations.end(),
                         [](const auto& a, const auto& b) { return a.second > b.second; });
        std::string most;
        for (size_t i = 0; i < std::min<size_t>(operations.size(), 3); ++i)
            if (operations[i].second >= 0.005)
                most += fmt::format("{}{} {}", most.empty() ? "" : ", ", operations[i].first,
                                    whole_percent(operations[i].second));
        pieces.push_back(fmt::format("{} {}{}", cpu.where, whole_percent(cpu.busy),
                                     most.empty() ? "" : " (" + most + ")"));
    }
    out.labelled("cpu", pieces, "   ");
}

void checks(Lines& out, const RunResult& result) {
    const IntegrityResult& data = result.integrity;
    std::vector<std::string> pieces;
    const bool writes_only = std::all_of(result.loads.begin(), result.loads.end(),
                                         [](const LoadResult& load) { return !load.reads; });
    if (data.verified == 0)
        pieces.push_back(writes_only ? "writes only: no reads to verify" : "NO READ WAS VERIFIED");
    else
        pieces.push_back(fmt::format("{} reads verified, {} differ", grouped(data.verified),
                                     grouped(data.mismatches)));
    if (data.scrubbed > 0)
        pieces.push_back(fmt::format("{} stripes scrubbed, {} differ", grouped(data.scrubbed),
                                     grouped(data.scrub_mismatches)));
    for (const CheckResult& check : result.checks)
        pieces.push_back(check.ok ? check.text : "FAILED: " + check.text);
    out.labelled("checks", pieces, " · ");
}

void assumptions(Lines& out, const std::vector<Assumption>& all) {
    constexpr size_t most = 8; // the rest is in the JSON
    std::vector<const Assumption*> assumed;
    size_t fitted = 0;
    for (const Assumption& a : all) {
        if (a.from == "assumed") assumed.push_back(&a);
        if (a.from == "fitted") ++fitted;
    }
    const auto weight = [](const Assumption* a) { return a->moves ? std::abs(*a->moves) : -1; };
    std::stable_sort(assumed.begin(), assumed.end(),
                     [&](const auto* a, const auto* b) { return weight(a) > weight(b); });
    std::vector<std::string> pieces;
    for (size_t i = 0; i < std::min(assumed.size(), most); ++i) {
        const Assumption& a = *assumed[i];
        std::string piece = a.path + " " + a.value;
        if (a.moves && std::abs(*a.moves) < 0.01) piece += " (moves IOPS by < 1 %)";
        else if (a.moves) piece += " (moves IOPS by " + whole_percent(std::abs(*a.moves)) + ")";
        pieces.push_back(std::move(piece));
    }
    if (assumed.size() > most) pieces.push_back(fmt::format("{} more", assumed.size() - most));
    if (fitted > 0) pieces.push_back(fmt::format("{} fitted", fitted));
    out.labelled("assumed", pieces, " · ");
}

} // namespace

std::string alarms_text(const RunResult& result) {
    Lines out(0);
    alarms(out, result);
    return out.take();
}

std::string to_text(const RunResult& result, int width) {
    Lines out(static_cast<size_t>(std::max(width, 40)));
    header(out, result.run);
    alarms(out, result);
    out.plain("");
    if (!result.loads.empty()) loads(out, result.loads);
    binds(out, result);
    bounds(out, result.bound);
    spans(out, result.spans);
    cpus(out, result.cpu);
    add_timeline(out, result);
    for (const FullSize& full : result.full_size)
        out.labelled("full",
                     {fmt::format("{}: {} at full size = {}", full.what, long_duration(full.value),
                                  full.arithmetic)},
                     "");
    checks(out, result);
    assumptions(out, result.assumptions);
    const std::string trace = result.run.trace_hash.empty() ? "" : "trace " + result.run.trace_hash;
    if (!result.run.command.empty() || !trace.empty())
        out.left_and_right(padded("again", label_width) + result.run.command, trace);
    return out.take();
}

} // namespace storlab
