#include "sim/scenario/schema.hpp"
#include "sim/scenario/validate_file.hpp"
#include <catch2/catch.hpp>
#include <set>

using namespace storlab;
using Catch::Contains;

namespace {
std::string error_of(const std::string& text) {
    try {
        read_testbed(text, "v.yaml");
    } catch (const InputError& error) { return error.what(); }
    return "";
}

const std::string head = R"y(storlab-validation: 1
testbed: small
title: A small testbed
sources: {s: "Review (2022)"}
settings:
  low: {assumed: not printed, influence: doubles it, set: [loads/l/fio/iodepth=1]}
  plain: {set: [loads/l/fio/bs=4k]}
runs:
  one: {scenario: a.yaml, with: [plain, low], set: [run/scale=4]}
  two: {scenario: a.yaml}
)y";
const std::string rows = R"(rows:
  - {id: r-a-1, workload: w, load: low, metric: iops, value: 10k IOPS, source: s, run: one}
  - {id: r-a-2, workload: w, load: low, metric: cpu, value: 7 %, source: s, run: one, of: host}
  - {id: r-b-1, workload: w, load: high, metric: latency, value: 2.6 ms, source: s, run: two}
  - {id: x-1, workload: w, load: high, metric: pause, value: 3 to 4 s, source: s}
)";
const std::string rest = R"(not-modelled:
  - {rows: x-*, why: no failover yet}
)";

std::string with_row(const std::string& fields) {
    return head + rows + "  - {" + fields + "}\n" + rest;
}
} // namespace

TEST_CASE("a testbed's file is read with every row's role, run and settings") {
    const TestbedFile t = read_testbed(head + rows + rest + R"(roles:
  calibration: [{rows: r-a-*, why: fitted}]
  floor: [{rows: r-b-1, why: printed as over}]
causes: {r-b-1: waits for a lock}
)",
                                       "v.yaml");
    CHECK(t.name == "small");
    REQUIRE(t.rows.size() == 4);
    CHECK(t.row("r-a-1")->role == Role::calibration);
    CHECK(t.row("r-a-2")->role == Role::calibration);
    CHECK(t.row("r-a-2")->of == "host");
    CHECK(t.row("r-b-1")->role == Role::floor);
    CHECK(t.row("x-1")->role == Role::prediction); // named nowhere
    CHECK(t.row("x-1")->run.empty());
    CHECK(t.row("r-a-1")->source == "Review (2022)");
    CHECK(t.run("one")->settings ==
          std::vector<std::string>{"loads/l/fio/bs=4k", "loads/l/fio/iodepth=1", "run/scale=4"});
    CHECK(t.not_modelled.at(0).rows == std::vector<size_t>{3});
    CHECK(t.causes.at("r-b-1") == "waits for a lock");
}

TEST_CASE("groups take their rows out of the single ones") {
    const std::string more =
        "  - {id: h-1, workload: w, load: l, metric: iops, value: 10k IOPS, source: s, run: two}\n"
        "  - {id: h-2, workload: w, load: l, metric: iops, value: 12k IOPS, source: s, run: two}\n";
    const std::string groups = "groups: {hosts: {rows: \"h-[12]\", by: sum, over: 2, why: mean}}\n";
    const TestbedFile t = read_testbed(head + rows + more + rest + groups, "v.yaml");
    REQUIRE(t.groups.size() == 1);
    CHECK(t.groups[0].members == std::vector<size_t>{4, 5});
    CHECK(t.groups[0].rule.by == Combine::sum);
    CHECK(t.groups[0].rule.over == 2);
    CHECK(t.row("h-1")->role == Role::group);
    CHECK(t.row("h-2")->group == "hosts");
    CHECK_THAT(error_of(head + rows + more + rest +
                        "groups: {hosts: {rows: [h-1, r-b-1], by: mean, why: w}}\n"),
               Contains("v.yaml:20:24: error: the rows of a group are of one metric"));
    CHECK_THAT(
        error_of(head + rows + more + rest + groups + "roles: {implied: [{rows: h-1, why: w}]}\n"),
        Contains("row 'h-1' already has a role"));
}

TEST_CASE("patterns match whole ids as in a shell") {
    CHECK(matches_id("d-*", "d-4k-rr"));
    CHECK_FALSE(matches_id("d-*", "l-d-4k"));
    CHECK(matches_id("l-md-4kr[rw]-cpu-hi", "l-md-4krw-cpu-hi"));
    CHECK_FALSE(matches_id("l-md-4kr[rw]-cpu-hi", "l-md-4krx-cpu-hi"));
    CHECK(matches_id("h?", "h1"));
    CHECK_FALSE(matches_id("h", "h1"));
}

TEST_CASE("whatever is wrong with a file is said with its line, all at once") {
    CHECK(error_of(head + rows + rest) == "");
    CHECK_THAT(error_of(with_row("id: r-a-1, workload: w, load: l, metric: iops, value: 1k IOPS, "
                                 "source: s, run: one")),
               Contains("v.yaml:16:10: error: a second row 'r-a-1'"));
    CHECK_THAT(
        error_of(with_row("id: n, workload: w, load: l, metric: iops, value: 1k IOPS, "
                          "source: s")),
        Contains("v.yaml:16:5: error: row 'n' has no run and is not listed under not-modelled"));
    CHECK_THAT(error_of(with_row("id: n, workload: w, load: l, metric: iop, value: 1k IOPS, "
                                 "source: s, run: one")),
               Contains("'iop' is no metric"));
    CHECK_THAT(error_of(with_row("id: n, workload: w, load: l, metric: cpu, value: 1k IOPS, "
                                 "source: s, run: one")),
               Contains("'1k IOPS' is no cpu; write 7 %"));
    CHECK_THAT(error_of(with_row("id: n, workload: w, load: l, metric: cpu, value: 1 %, source: t, "
                                 "run: onee")),
               Contains("no run 'onee'; did you mean 'one'?"));
    CHECK_THAT(error_of(with_row("id: n, workload: w, load: l, metric: cpu, value: 1 %, source: t, "
                                 "run: one")),
               Contains("no source 't'"));
    CHECK_THAT(error_of(with_row("id: n, workload: w, load: l, metric: pause, value: 1 s, "
                                 "source: s, run: one")),
               Contains("no run gives a pause yet"));
    CHECK_THAT(error_of(with_row("id: n, wrkload: w, load: l, metric: cpu, value: 1 %, source: s, "
                                 "run: one")),
               Contains("unknown key 'wrkload'"));
    CHECK_THAT(error_of(head + rows + "not-modelled: [{rows: [x-*, r-a-1], why: w}]\n"),
               Contains("v.yaml:16:23: error: row 'r-a-1' has a run"));
    CHECK_THAT(error_of(head + rows + "not-modelled: [{rows: x-*}]\n"), Contains("needs 'why'"));
    const std::string twice = error_of("storlab-validation: 2\ntestbed: t\n");
    CHECK_THAT(twice, Contains("v.yaml:1:21: error"));
    CHECK_THAT(twice, Contains("needs 'rows'"));
    CHECK_THAT(error_of("a: ["), Contains("v.yaml:"));
}

TEST_CASE("a role needs rows that exist, a reason, and no other role beside it") {
    const auto roles = [](const std::string& text) { return error_of(head + rows + rest + text); };
    CHECK_THAT(roles("roles: {calibration: [{rows: r-c-*, why: w}]}\n"),
               Contains("v.yaml:18:30: error: no row 'r-c-*'"));
    CHECK_THAT(roles("roles: {calibration: [{rows: r-a-*}]}\n"), Contains("needs 'why'"));
    CHECK_THAT(roles("roles: {calibration: [{rows: r-a-*, why: \"\"}]}\n"), Contains("say why"));
    CHECK_THAT(
        roles("roles: {calibration: [{rows: r-*, why: w}], context: [{rows: r-b-1, why: w}]}\n"),
        Contains("row 'r-b-1' already has the role calibration"));
    CHECK_THAT(roles("roles: {calibrated: [{rows: r-a-*, why: w}]}\n"),
               Contains("unknown key 'calibrated' in roles; did you mean 'calibration'?"));
}

TEST_CASE("what nothing uses is said: runs, settings, causes; and what does not exist") {
    std::string unused = head;
    unused.insert(unused.find("runs:"), "  spare: {set: [a=b]}\n");
    CHECK_THAT(error_of(unused + "  three: {scenario: a.yaml}\n" + rows + rest),
               Contains("v.yaml:12:3: error: no row needs the run 'three'"));
    CHECK_THAT(error_of(unused + rows + rest),
               Contains("v.yaml:8:3: error: no run uses the settings 'spare'"));
    CHECK_THAT(error_of(head + "  three: {scenario: a.yaml, with: lo}\n" + rows + rest),
               Contains("no settings 'lo'; did you mean 'low'?"));
    CHECK_THAT(error_of(head + rows + rest + "causes: {r-a-3: w}\n"), Contains("no row 'r-a-3'"));
    std::string mute = head;
    mute.replace(mute.find("influence: doubles it, "), 23, "");
    CHECK_THAT(error_of(mute + rows + rest), Contains("an assumption needs its influence"));
}

TEST_CASE(
    "the published rows of the StarWind testbed are complete and their scenarios can be read") {
    const TestbedFile t = load_testbed("validation/starwind-graid.yaml");
    std::set<std::string> absent;
    size_t drive = 0, local = 0;
    for (const PublishedRow& r : t.rows) {
        drive += r.id.rfind("d-", 0) == 0;
        local += r.id.rfind("l-", 0) == 0;
        if (r.run.empty()) absent.insert(r.id.substr(0, 2));
    }
    CHECK(drive == 6);
    CHECK(local == 38);
    CHECK(t.rows.size() == 6 + 38 + 20);
    CHECK(absent.empty());
    // An x8 link, 512 commands of 1 MiB and 2048 of 4 KiB: what the settings of the runs give; of
    // four clients 8 or 128 of 1 MiB, and 256 or 2048 of 4 KiB.
    for (const PlannedRun& run : t.runs) {
        INFO(run.name);
        const Scenario s =
            load_scenario("scenarios/testbeds/" + run.scenario, {run.settings, "scenarios/parts"});
        REQUIRE(s.loads.size() == 1);
        REQUIRE(s.loads[0].jobs.size() == 1);
        const int64_t depth = s.loads[0].in_flight();
        const bool remote = s.machines.size() > 1;
        const bool low = run.name.find("-lo") != std::string::npos;
        const bool large = run.name.find("1m") != std::string::npos;
        if (s.arrays.empty()) continue;
        if (remote) CHECK(depth == (large ? (low ? 8 : 128) : (low ? 256 : 2048)));
        else CHECK(depth == (large ? (low ? 16 : 512) : (low ? 128 : 2048)));
        CHECK(s.arrays[0].chunk == Bytes::kib(4));
        CHECK(s.arrays[0].drives.size() == 8);
        for (const CardSchema& c : s.machines[0].cards)
            if (c.kind == CardKind::raid)
                CHECK(c.slot.lanes == (run.name == "gr-4krw-x16" ? 16 : 8));
    }
}
