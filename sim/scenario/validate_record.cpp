#include "sim/scenario/validate_record.hpp"
#include "sim/base/random.hpp"
#include "sim/base/text.hpp"
#include "sim/scenario/findings.hpp"
#include "sim/scenario/validate_file.hpp"
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fmt/format.h>

namespace storlab {

namespace {
// Double quotes hold any text of one line.
std::string quoted(const std::string& text) {
    std::string out = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\') out += '\\';
        out += c == '\n' ? ' ' : c;
    }
    return out + '"';
}

// Six digits, without an exponent.
std::string plain(double x) {
    const double size = x == 0 ? 1 : std::abs(x);
    const int decimals = std::clamp(5 - static_cast<int>(std::floor(std::log10(size))), 0, 9);
    return fmt::format("{:.{}f}", x, decimals);
}

Record read(const Node& root) {
    Record r;
    Fields top = root.map();
    top.required("storlab-record").as_count({1, 1});
    r.version = top.required("version").as_text();
    for (const Node::Entry& part : top.required("parts").named())
        for (const Node::Entry& value : part.value.named())
            r.parts[part.key + "/" + value.key] = value.value.as_text();
    for (const Node::Entry& testbed : top.required("testbeds").named()) {
        RecordedTestbed& t = r.testbeds[testbed.key];
        Fields f = testbed.value.map();
        for (const Node::Entry& run : f.required("runs").named()) {
            Fields o = run.value.map();
            RunOrigin& origin = t.runs[run.key];
            origin.scenario = o.required("scenario").as_text();
            origin.parts = o.required("parts").as_text();
            origin.trace = o.required("trace").as_text();
            o.finish();
        }
        for (const Node::Entry& row : f.required("rows").named()) {
            Fields o = row.value.map();
            RecordedRow& recorded = t.rows[row.key];
            recorded.predicted = o.required("predicted").as_factor();
            const Node run_name = o.required("run");
            recorded.run = run_name.as_text();
            if (run_name && !t.runs.count(recorded.run))
                run_name.complain("no run " + in_quotes(recorded.run) + " in this record");
            o.finish();
        }
        f.finish();
    }
    top.finish();
    root.complaints()->throw_if_any();
    return r;
}
} // namespace

Record read_record(std::string_view text, const std::string& file) {
    return read(load_text(text, file, new_complaints()));
}
Record load_record(const std::string& file) {
    std::error_code error;
    if (!std::filesystem::exists(file, error)) return {};
    return read(load_file(file, new_complaints()));
}

std::string to_yaml(const Record& r) {
    std::string out =
        "# Written by `storlab validate --record`: the prediction of every row when it "
        "was last accepted.\n";
    out += fmt::format("storlab-record: 1\nversion: {}\nparts:\n", quoted(r.version));
    std::string part;
    for (const auto& [path, value] : r.parts) {
        const size_t slash = path.find('/');
        if (path.substr(0, slash) != part) {
            part = path.substr(0, slash);
            out += fmt::format("  {}:\n", part);
        }
        out += fmt::format("    {}: {}\n", path.substr(slash + 1), quoted(value));
    }
    out += "testbeds:\n";
    for (const auto& [name, t] : r.testbeds) {
        out += fmt::format("  {}:\n    runs:\n", name);
        for (const auto& [run, o] : t.runs)
            out += fmt::format("      {}: {{scenario: \"{}\", parts: \"{}\", trace: \"{}\"}}\n",
                               run, o.scenario, o.parts, o.trace);
        out += "    rows:\n";
        for (const auto& [row, p] : t.rows)
            out += fmt::format("      {}: {{predicted: {}, run: {}}}\n", row, plain(p.predicted),
                               p.run);
    }
    return out;
}

namespace {
// Values of parts that are not what they were, a few of them.
std::vector<std::string> changed_values(const PartValues& then, const PartValues& now) {
    constexpr size_t shown = 4;
    std::vector<std::string> changes;
    for (const auto& [path, value] : now) {
        const auto old = then.find(path);
        if (old == then.end()) changes.push_back(path + " is new");
        else if (old->second != value)
            changes.push_back(fmt::format("{} was {}, is {}", path, old->second, value));
    }
    if (changes.empty()) changes.push_back("values of its parts");
    if (changes.size() > shown) {
        const size_t more = changes.size() - shown;
        changes.resize(shown);
        changes.push_back(fmt::format("{} more values", more));
    }
    return changes;
}

std::string what_changed(const Record& record, const Present& present, const RunOrigin& then,
                         const RunOrigin& now) {
    std::vector<std::string> changes;
    if (then.parts != now.parts) changes = changed_values(record.parts, present.parts);
    if (then.scenario != now.scenario) changes.push_back("the scenario or its settings");
    if (!changes.empty()) return joined(changes, "; ");
    if (then.trace == now.trace) return "the published figure or its role: the run is the same";
    return fmt::format("the code: parts and scenario are the same, the trace is not "
                       "(recorded by version {}, this is {})",
                       record.version, present.version);
}

double recorded_error(const ReportRow& row, const RecordedRow& then) {
    return error_of(row.metric, row.role, row.published, then.predicted * row.published.unit_size);
}
} // namespace

void compare(const Record& record, const Present& present, ValidationReport& report) {
    for (ReportRow& row : report.rows) {
        if (row.role == Role::context) continue;
        const auto t = record.testbeds.find(row.testbed);
        const RecordedRow* then = nullptr;
        if (t != record.testbeds.end())
            if (const auto found = t->second.rows.find(row.id); found != t->second.rows.end())
                then = &found->second;
        if (!then) {
            report.notes.push_back("no record of row " + row.id);
            continue;
        }
        const double was = recorded_error(row, *then);
        if (std::abs(row.error) - std::abs(was) <= tolerated_growth) continue;
        const std::string cause = row.predicted
                                      ? what_changed(record, present, t->second.runs.at(then->run),
                                                     present.runs.at(row.testbed).at(row.run))
                                      : row.note;
        row.got_worse = fmt::format("error was {:+.1f} %, is {:+.1f} %; look first at {}",
                                    was * 100, row.error * 100, cause);
    }
}

namespace {
// Rows, runs and parts that are in no file any more.
void forget_what_is_gone(Record& record, const Present& present, const ValidationReport& report) {
    for (const auto& [testbed, runs] : present.runs) {
        RecordedTestbed& recorded = record.testbeds[testbed];
        std::erase_if(recorded.rows, [&](const auto& row) {
            return std::none_of(report.rows.begin(), report.rows.end(), [&](const ReportRow& r) {
                return r.testbed == testbed && r.id == row.first;
            });
        });
        std::erase_if(recorded.runs, [&](const auto& run) {
            return std::none_of(recorded.rows.begin(), recorded.rows.end(),
                                [&](const auto& row) { return row.second.run == run.first; });
        });
    }
}
} // namespace

void accept(Record& record, const Present& present, ValidationReport& report) {
    for (const ReportRow& row : report.rows) {
        RecordedTestbed& t = record.testbeds[row.testbed];
        if (!row.predicted) {
            report.differences.push_back("not recorded: " + row.id + " failed");
            continue;
        }
        const std::string& unit = row.published.unit;
        const double now = row.published.in_unit(*row.predicted);
        const auto then = t.rows.find(row.id);
        if (then == t.rows.end())
            report.differences.push_back(
                fmt::format("recorded: {} {} {}", row.id, plain(now), unit));
        else if (plain(now) != plain(then->second.predicted))
            report.differences.push_back(
                fmt::format("recorded: {} {} -> {} {}, error {:+.1f} % -> {:+.1f} %", row.id,
                            plain(then->second.predicted), plain(now), unit,
                            recorded_error(row, then->second) * 100, row.error * 100));
        t.rows[row.id] = {now, row.run};
        t.runs[row.run] = present.runs.at(row.testbed).at(row.run);
    }
    if (report.differences.empty())
        report.differences.push_back("recorded: no prediction has changed");
    for (const auto& [path, value] : present.parts) record.parts[path] = value;
    record.version = present.version;
    if (present.every_row) forget_what_is_gone(record, present, report);
}

void add_values(PartValues& all, const Part& part) {
    for (const auto& [name, value] : part.values())
        all[part.name() + "/" + name] =
            value.value.is_scalar() ? value.value.as_text() : value.value.canonical();
}
std::string hash_of(const PartValues& values) {
    uint64_t h = 0;
    for (const auto& [path, value] : values) h = mix(h ^ hash_name(path + "=" + value));
    return hex_text(h);
}

} // namespace storlab
