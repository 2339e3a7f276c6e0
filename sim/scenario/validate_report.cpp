#include "sim/scenario/validate_report.hpp"
#include "sim/base/text.hpp"
#include "sim/scenario/validate_file.hpp"
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace storlab {

namespace {
using Json = nlohmann::ordered_json;
constexpr std::string_view no_cause = "cause not yet known";

NamedSummary summary_of(const std::string& name, const std::vector<ReportRow>& rows) {
    std::vector<RowError> errors;
    size_t checks = 0, failures = 0;
    for (const ReportRow& r : rows) {
        if (name != "all" && r.testbed != name) continue;
        if (scored(r.role)) errors.push_back({r.id, r.error, band(r.metric)});
        checks += r.role == Role::check;
        failures += r.check_failed();
    }
    NamedSummary s{name, summarise(errors)};
    s.summary.checks = checks;
    s.summary.checks_failed = failures;
    return s;
}

Json maybe(const std::optional<double>& x) { return x ? Json(*x) : Json(); }

// As it was published: a figure, or both ends of a range.
Json published_json(const Published& p) {
    if (p.low == p.high) return p.in_unit(p.low);
    return {p.in_unit(p.low), p.in_unit(p.high)};
}

std::string cause_of(const ValidationReport& report, const ReportRow& row) {
    for (const auto& [id, text] : report.causes)
        if (id == row.testbed + "/" + row.id) return text;
    return std::string(no_cause);
}

Json row_json(const ValidationReport& report, const ReportRow& r) {
    Json j{{"testbed", r.testbed},
           {"id", r.id},
           {"role", to_string(r.role)},
           {"metric", to_string(r.metric)},
           {"unit", r.published.unit},
           {"published", published_json(r.published)},
           {"rounding", r.published.in_unit(r.published.rounding)},
           {"predicted", r.predicted ? Json(r.published.in_unit(*r.predicted)) : Json()},
           {"error", r.error},
           {"ci95", maybe(r.ci95)},
           {"band", band(r.metric)},
           {"scored", scored(r.role)},
           {"run", r.run},
           {"binds", r.binds}};
    if (r.role == Role::check) j["passed"] = !r.check_failed();
    if (!r.members.empty()) j["members"] = r.members;
    if (!r.note.empty()) j["note"] = r.note;
    if (r.missed()) j["cause"] = cause_of(report, r);
    if (!r.got_worse.empty()) j["got_worse"] = r.got_worse;
    return j;
}

Json summary_json(const Summary& s) {
    Json worst = Json::array();
    for (const RowError& w : s.worst) worst.push_back({{"id", w.name}, {"error", w.error}});
    return {{"rows", s.rows},
            {"median", maybe(s.median)},
            {"p90", maybe(s.p90)},
            {"bias", maybe(s.bias)},
            {"in_band", s.in_band},
            {"checks", s.checks},
            {"checks_failed", s.checks_failed},
            {"worst", worst}};
}
} // namespace

std::vector<FittedValue> fitted_values(const Part& part) {
    std::vector<FittedValue> all;
    for (const auto& [name, v] : part.values()) {
        if (v.from != "fitted") continue;
        const std::string text = v.value.as_text();
        const size_t digits = std::min(text.find_first_not_of("0123456789."), text.size());
        const size_t unit = std::min(text.find_first_not_of(' ', digits), text.size());
        all.push_back({part.name(), name, text.substr(0, digits), text.substr(unit), v.range,
                       v.residual, v.rows});
    }
    return all;
}

void summarise(ValidationReport& report) {
    std::vector<std::string> names;
    for (const ReportRow& r : report.rows)
        if (std::find(names.begin(), names.end(), r.testbed) == names.end())
            names.push_back(r.testbed);
    names.push_back("all");
    report.summaries.clear();
    for (const std::string& n : names) report.summaries.push_back(summary_of(n, report.rows));
}

bool failed(const ValidationReport& report) {
    return std::any_of(report.rows.begin(), report.rows.end(), [](const ReportRow& r) {
        return !r.predicted || r.check_failed() || !r.got_worse.empty();
    });
}

std::string to_json(const ValidationReport& report) {
    Json rows = Json::array(), absent = Json::array(), fitted = Json::array(),
         assumed = Json::array(), summary = Json::object();
    for (const ReportRow& r : report.rows) rows.push_back(row_json(report, r));
    for (const AbsentRow& r : report.absent)
        absent.push_back({{"testbed", r.testbed},
                          {"id", r.id},
                          {"role", to_string(r.role)},
                          {"metric", to_string(r.metric)},
                          {"unit", r.published.unit},
                          {"published", published_json(r.published)},
                          {"why", r.why}});
    for (const NamedSummary& s : report.summaries) summary[s.name] = summary_json(s.summary);
    for (const FittedValue& f : report.fitted) {
        double number = 0;
        const bool plain = std::sscanf(f.value.c_str(), "%lf", &number) == 1;
        fitted.push_back({{"part", f.part},
                          {"parameter", f.parameter},
                          {"value", plain ? Json(number) : Json(f.value)},
                          {"unit", f.unit},
                          {"range", f.range},
                          {"rows", f.rows},
                          {"residual", f.residual}});
    }
    for (const Assumed& a : report.assumed)
        assumed.push_back({{"testbed", a.testbed},
                           {"name", a.name},
                           {"settings", a.settings},
                           {"why", a.why},
                           {"influence", a.influence}});
    const Json all{{"rows", rows},     {"not_modelled", absent}, {"summary", summary},
                   {"fitted", fitted}, {"assumed", assumed},     {"passed", !failed(report)}};
    return all.dump(2) + "\n";
}

namespace {
std::string signed_percent(double fraction) {
    const double percent = fraction * 100;
    if (std::abs(percent) < 0.05) return "0 %";
    return fmt::format("{:+.1f} %", percent);
}
std::string percent(const std::optional<double>& fraction) {
    return fraction ? fmt::format("{:.1f} %", *fraction * 100) : "-";
}

// As the published figure is printed: "2.97M IOPS", "11.8 GB/s", "6.2 %".
std::string predicted_text(const Published& p, double base) {
    const double v = p.in_unit(base);
    if (p.unit == "IOPS") return format_count(v) + " IOPS";
    const std::string number = v >= 100  ? fmt::format("{:.0f}", v)
                               : v >= 10 ? fmt::format("{:.1f}", v)
                                         : fmt::format("{:.2f}", v);
    return number + (p.unit == "percent" ? " %" : " " + p.unit);
}
std::string published_text(const Published& p) {
    if (!p.printed.empty()) return p.printed;
    return p.low == p.high ? predicted_text(p, p.low)
                           : predicted_text(p, p.low) + " to " + predicted_text(p, p.high);
}

size_t columns_of(std::string_view text) { // UTF-8
    return static_cast<size_t>(
        std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

using Cells = std::vector<std::string>;
std::string table(const std::vector<Cells>& rows) {
    std::vector<size_t> widths;
    for (const Cells& r : rows)
        for (size_t i = 0; i < r.size(); i++) {
            if (i == widths.size()) widths.push_back(0);
            widths[i] = std::max(widths[i], columns_of(r[i]));
        }
    std::string out;
    for (const Cells& r : rows) {
        std::string line;
        for (size_t i = 0; i < r.size(); i++) {
            line += r[i];
            line.append(widths[i] - columns_of(r[i]) + 2, ' ');
        }
        line.erase(line.find_last_not_of(' ') + 1);
        out += line + "\n";
    }
    return out;
}

std::string row_table(const ValidationReport& report, const std::string& testbed) {
    std::vector<Cells> rows{{"row", "role", "published", "predicted", "ci95", "error", "band", ""}};
    for (const ReportRow& r : report.rows) {
        if (r.testbed != testbed) continue;
        const bool judged = scored(r.role) || r.role == Role::calibration;
        std::string remark = r.note;
        if (!r.got_worse.empty()) remark = "GOT WORSE";
        else if (r.check_failed()) remark = "FAILED";
        else if (r.missed() && r.predicted) remark = "outside";
        else if (remark.empty() && r.role == Role::context) remark = "binds " + r.binds;
        rows.push_back({r.id, to_string(r.role), published_text(r.published),
                        r.predicted ? predicted_text(r.published, *r.predicted) : "FAILED",
                        r.ci95 ? fmt::format("±{:.1f}%", *r.ci95 * 100) : "",
                        signed_percent(r.error),
                        judged ? fmt::format("{:.0f} %", band(r.metric) * 100) : "", remark});
    }
    return table(rows);
}

// Absent rows with one reason on one line.
std::string absent_text(const ValidationReport& report) {
    std::vector<std::pair<std::string, std::vector<std::string>>> by_reason;
    for (const AbsentRow& r : report.absent) {
        const std::string key = r.testbed + ": " + r.why;
        if (by_reason.empty() || by_reason.back().first != key) by_reason.push_back({key, {}});
        by_reason.back().second.push_back(r.id);
    }
    std::string out;
    for (const auto& [reason, ids] : by_reason) {
        out += fmt::format("not modelled yet, not scored: {} rows of {}\n", ids.size(), reason);
        std::string line = " ";
        for (const std::string& id : ids) {
            if (line.size() + id.size() > 100) out += line + "\n", line = " ";
            line += " " + id;
        }
        out += line + "\n";
    }
    return out.empty() ? out : out + "\n";
}

std::string summary_text(const ValidationReport& report) {
    std::vector<Cells> rows{
        {"summary", "rows", "median", "p90", "bias", "in band", "checks failed", "worst"}};
    for (const NamedSummary& named : report.summaries) {
        const Summary& s = named.summary;
        std::vector<std::string> worst;
        for (const RowError& w : s.worst) worst.push_back(w.name + " " + signed_percent(w.error));
        rows.push_back({named.name, fmt::format("{}", s.rows), percent(s.median), percent(s.p90),
                        s.bias ? signed_percent(*s.bias) : "-", fmt::format("{}", s.in_band),
                        fmt::format("{} of {}", s.checks_failed, s.checks), joined(worst, ", ")});
    }
    return table(rows) +
           "scored are predictions, floors, ceilings and groups; calibration rows were fitted to. "
           "An "
           "error is relative,\nzero within the printed digits; of CPU relative to 20 points where "
           "less was published (validation/README.md)\n\n";
}

std::string misses_text(const ValidationReport& report) {
    std::string out;
    for (const ReportRow& r : report.rows)
        if (r.missed())
            out += fmt::format("  {} {}: {}\n", r.id, signed_percent(r.error),
                               r.predicted ? cause_of(report, r) : r.note);
    return out.empty() ? "every scored row is inside its band\n\n"
                       : "outside their band\n" + out + "\n";
}

std::string fitted_text(const ValidationReport& report) {
    if (report.fitted.empty()) return "nothing was fitted\n\n";
    size_t served = 0;
    for (const ReportRow& r : report.rows) served += scored(r.role);
    std::vector<Cells> rows{{"fitted", "value", "range", "rows", "residual"}};
    for (const FittedValue& f : report.fitted)
        rows.push_back({f.part + "/" + f.parameter, f.value + (f.unit.empty() ? "" : " " + f.unit),
                        f.range, joined(f.rows, " "), f.residual});
    return table(rows) +
           fmt::format("{} fitted values serve {} scored rows\n\n", report.fitted.size(), served);
}

std::string assumed_text(const ValidationReport& report) {
    std::string out;
    for (const Assumed& a : report.assumed)
        out += fmt::format("  {}: {}\n    otherwise: {}\n", a.name, a.why, a.influence);
    return out.empty() ? out : "assumed, once a sweep\n" + out + "\n";
}
} // namespace

std::string to_text(const ValidationReport& report) {
    std::string out;
    for (const NamedSummary& s : report.summaries) {
        if (s.name == "all") continue;
        out += fmt::format("{}\n\n{}\n", s.name, row_table(report, s.name));
    }
    out += absent_text(report);
    out += summary_text(report);
    out += misses_text(report);
    out += fitted_text(report);
    out += assumed_text(report);
    for (const ReportRow& r : report.rows)
        if (!r.got_worse.empty()) out += fmt::format("GOT WORSE: {}: {}\n", r.id, r.got_worse);
    for (const std::string& d : report.differences) out += d + "\n";
    for (const std::string& n : report.notes) out += "note: " + n + "\n";
    return out + report.again + "\n";
}

} // namespace storlab
