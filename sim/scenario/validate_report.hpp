// What `storlab validate` says: predictions against published figures row by row, the summary, the
// misses with their causes, what was fitted and what assumed. As text and as JSON
// (docs/schemas/validate.schema.json).
#pragma once
#include "sim/report/score.hpp"
#include "sim/scenario/part.hpp"
#include <cmath>
#include <optional>
#include <string>
#include <vector>

namespace storlab {

struct ReportRow {
    std::string testbed, id;
    Role role = Role::prediction;
    Metric metric = Metric::iops;
    Published published;
    std::optional<double> predicted; // base unit, as `published`; none: the run failed
    double error = 0;
    std::optional<double> ci95; // half width, relative
    std::string run, binds;
    std::string note;      // why it failed; that it is partial
    std::string members;   // of a group
    std::string got_worse; // against the record; empty: it did not
    bool check_failed() const { return role == Role::check && error != 0; }
    bool missed() const { return scored(role) && !(std::abs(error) <= band(metric)); }
};

struct AbsentRow { // published, not modelled yet
    std::string testbed, id, why;
    Role role = Role::prediction;
    Metric metric = Metric::iops;
    Published published;
};

struct Assumed {
    std::string testbed, name, settings, why, influence;
};

struct FittedValue {
    std::string part, parameter;
    std::string value, unit; // "0.667", "us"
    std::string range, residual;
    std::vector<std::string> rows;
};
// The fitted values of a part.
std::vector<FittedValue> fitted_values(const Part& part);

struct NamedSummary {
    std::string name;
    Summary summary;
};

struct ValidationReport {
    std::vector<ReportRow> rows; // in the order of the files
    std::vector<AbsentRow> absent;
    std::vector<NamedSummary> summaries; // a testbed each, then "all"
    std::vector<Assumed> assumed;
    std::vector<FittedValue> fitted;
    std::vector<std::pair<std::string, std::string>> causes; // of misses: "testbed/id", sentence
    std::vector<std::string> differences;                    // accepted by --record
    std::vector<std::string> notes;
    std::string again; // "26 runs in 31 s"
};
// Fills `summaries` from the rows.
void summarise(ValidationReport& report);
bool failed(const ValidationReport& report); // a run or a check failed, or a row got worse

std::string to_text(const ValidationReport& report);
std::string to_json(const ValidationReport& report);

} // namespace storlab
