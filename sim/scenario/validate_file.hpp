// validation/<testbed>.yaml: what a review published, the role of each row, which run predicts it
// and what had to be assumed for that. Reading reports everything that is wrong with a file at
// once: a row that no run predicts and that is not listed as not modelled, a pattern that names no
// row, a row with two roles, a run nobody needs.
#pragma once
#include "sim/report/score.hpp"
#include "sim/scenario/node.hpp"
#include <map>
#include <string>
#include <vector>

namespace storlab {

struct SettingGroup { // settings of a scenario under one name
    std::string name;
    std::vector<std::string> settings; // "path=value"
    std::string assumed;               // why, where the review does not say; empty: it does
    std::string influence;             // what another choice would do
    SourcePlace place;
};

struct PlannedRun {
    std::string name, scenario; // a path below the folder of the testbeds
    std::vector<std::string> groups;
    std::vector<std::string> settings; // of its groups, then its own
    SourcePlace place;
};

struct PublishedRow {
    std::string id, where, system, workload, point;
    Metric metric = Metric::iops;
    Published published;
    std::string source, note;
    Role role = Role::prediction;
    std::string run; // empty: not modelled
    std::string of;  // load, half of one (l/reads, l/writes) or machine; empty: the only one
    std::string group;
    SourcePlace place;
};

struct PublishedGroup {
    std::string name;
    GroupRule rule;
    std::vector<size_t> members; // rows
};

struct NotModelled {
    std::string why;
    std::vector<size_t> rows;
};

struct TestbedFile {
    std::string file, name, title;
    std::vector<SettingGroup> settings;
    std::vector<PlannedRun> runs;
    std::vector<PublishedRow> rows;
    std::vector<PublishedGroup> groups;
    std::vector<NotModelled> not_modelled;
    std::map<std::string, std::string> causes; // of misses, by row or group

    const PublishedRow* row(std::string_view id) const;
    const PlannedRun* run(std::string_view name) const;
};

// '*' any text, '?' one character, [rw] one of these: whole ids.
bool matches_id(const std::string& pattern, const std::string& id);

TestbedFile read_testbed(std::string_view text, const std::string& file);
TestbedFile load_testbed(const std::string& file); // InputError

} // namespace storlab
