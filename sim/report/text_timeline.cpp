#include "sim/base/text.hpp"
#include "sim/report/lines.hpp"
#include <fmt/format.h>

namespace storlab {

namespace {

void events(Lines& out, const std::vector<TimelineMark>& marks) {
    constexpr size_t most = 12; // one screen
    std::string label = "events";
    const TimelineMark* cause = nullptr;
    for (size_t i = 0; i < std::min(marks.size(), most); ++i) {
        const TimelineMark& mark = marks[i];
        const bool is_phase = !mark.phase.empty() && cause != nullptr;
        if (mark.phase.empty()) cause = &mark;
        const std::string when = is_phase ? "  +" + format_duration(mark.at - cause->at)
                                          : "at " + format_duration(mark.at.since_start());
        const std::string what = mark.phase.empty()
                                     ? mark.what + " " + mark.where
                                     : mark.phase + ": " + mark.what + " " + mark.where;
        out.labelled(label, {padded(when, 14) + what}, "");
        label.clear();
    }
    if (marks.size() > most)
        out.labelled("", {fmt::format("and {} more in the JSON", marks.size() - most)}, "");
}

// A gap that is more than chance between completions is worth a word.
std::string gap_text(const PhaseResult& p) {
    constexpr double chance = 100; // times the mean distance of two completions
    const double ios = static_cast<double>(p.flow.latency.count());
    const bool by_chance = p.longest_gap.in_seconds() * ios < chance * (p.to - p.from).in_seconds();
    return by_chance ? "" : "  nothing for " + format_duration(p.longest_gap);
}

// What the loads had before, between and after the events: what happened, and what it cost.
void phases(Lines& out, const std::vector<PhaseResult>& all) {
    const auto named = [](const PhaseResult& p) {
        return p.until.empty() ? "then" : "until " + p.until;
    };
    size_t width = 0;
    for (const PhaseResult& p : all) width = std::max(width, columns_of(named(p)));
    std::string label = "phases";
    for (const PhaseResult& p : all) {
        const Histogram& latency = p.flow.latency;
        const double seconds = (p.to - p.from).in_seconds();
        if (seconds <= 0) continue;
        std::string figures = "nothing ended";
        if (!latency.empty()) {
            const auto p99 = latency.percentile(0.99);
            figures =
                padded(format_count(static_cast<double>(latency.count()) / seconds) + " IOPS", 12) +
                "mean " + padded(format_duration(Duration::seconds(latency.mean_ns() * 1e-9)), 9) +
                "p99 " + padded(p99 ? format_duration(*p99) : "-", 9) + "max " +
                format_duration(latency.max()) + gap_text(p);
        }
        if (p.flow.errors) figures += fmt::format("  {} FAILED", p.flow.errors);
        out.labelled(label, {padded(named(p), width + 2) + padded(p.load, 10) + figures}, "");
        label.clear();
    }
}
} // namespace

void add_timeline(Lines& out, const RunResult& result) {
    events(out, result.timeline);
    phases(out, result.phases);
}

} // namespace storlab
