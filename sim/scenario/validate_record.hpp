// validation/recorded.yaml: the prediction of every row when it was last accepted, and what it came
// from (values of the parts, scenario, trace), so that a row that got worse can say what changed.
#pragma once
#include "sim/base/error.hpp"
#include "sim/scenario/validate_report.hpp"
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace storlab {

// Of one run: the same three give the same answer.
struct RunOrigin {
    std::string scenario, parts, trace; // hashes
    bool operator==(const RunOrigin&) const = default;
};

using PartValues = std::map<std::string, std::string>; // "part/value" -> as written

struct RecordedRow {
    double predicted = 0; // in the row's unit
    std::string run;
};
struct RecordedTestbed {
    std::map<std::string, RecordedRow> rows;
    std::map<std::string, RunOrigin> runs;
};
struct Record {
    std::string version; // of the program
    PartValues parts;
    std::map<std::string, RecordedTestbed> testbeds;
};

Record read_record(std::string_view text, const std::string& file); // InputError
Record load_record(const std::string& file);                        // empty if there is no file
std::string to_yaml(const Record& record);

// What the predictions of a report came from.
struct Present {
    std::string version;
    PartValues parts;
    std::map<std::string, std::map<std::string, RunOrigin>> runs; // testbed, run
    bool every_row = true; // of the testbeds in it, not some picked ones
};
constexpr double tolerated_growth = 0.02; // of |error|
// Marks the rows whose error has grown by more than that, with what to look at first: values of
// parts that changed, the scenario, or the code. Context rows are left out; a row without a record
// is a note.
void compare(const Record& record, const Present& present, ValidationReport& report);
// The predictions become the record, and the report says what they changed. A row that failed
// keeps its old record; rows that are gone are forgotten if every row was run.
void accept(Record& record, const Present& present, ValidationReport& report);

void add_values(PartValues& all, const Part& part);
std::string hash_of(const PartValues& values);

} // namespace storlab
