#include "sim/scenario/validate_record.hpp"
#include <catch2/catch.hpp>

using namespace storlab;
using Catch::Contains;

namespace {
ReportRow row(const std::string& id, double predicted, Role role = Role::prediction) {
    ReportRow r;
    r.testbed = "t";
    r.id = id;
    r.role = role;
    r.metric = Metric::bandwidth;
    r.published = parse_published("10.0 GB/s", r.metric, {});
    r.predicted = predicted * 1e9;
    r.error = error_of(r.metric, role, r.published, *r.predicted);
    r.run = "run-" + id;
    return r;
}
ReportRow failed_row(const std::string& id) {
    ReportRow r = row(id, 10);
    r.predicted.reset();
    r.error = failed_error;
    r.note = "crashed";
    return r;
}
Present present_of(const ValidationReport& report) {
    Present p;
    p.version = "0.2";
    p.parts = {{"drive/read", "1us"}, {"drive/write", "2us"}};
    for (const ReportRow& r : report.rows) p.runs["t"][r.run] = {"s", "p", "trace"};
    return p;
}
Record record_of(const std::vector<ReportRow>& rows) {
    ValidationReport report;
    report.rows = rows;
    Record record;
    Present present = present_of(report);
    present.version = "0.1";
    accept(record, present, report);
    return record;
}
} // namespace

TEST_CASE("a record survives being written and read") {
    Record r = record_of({row("a", 10.5), row("b", 0.001234567)});
    r.parts["drive/odd"] = "say \"no\" \\ {a: 1}";
    const Record again = read_record(to_yaml(r), "recorded.yaml");
    CHECK(again.version == "0.1");
    CHECK(again.parts == r.parts);
    CHECK(again.testbeds.at("t").runs == r.testbeds.at("t").runs);
    CHECK(again.testbeds.at("t").rows.at("a").predicted == 10.5);
    CHECK(again.testbeds.at("t").rows.at("b").predicted == Approx(0.001234567).epsilon(1e-5));
    CHECK(again.testbeds.at("t").rows.at("a").run == "run-a");
    CHECK(to_yaml(again) == to_yaml(read_record(to_yaml(again), "x")));
}

TEST_CASE("a wrong record is said with its line; a missing file is an empty record") {
    CHECK(load_record("validation/there-is-no-such.yaml").testbeds.empty());
    const std::string text = to_yaml(record_of({row("a", 10)}));
    std::string dangling = text;
    dangling.replace(dangling.rfind("run-a"), 5, "run-x");
    CHECK_THROWS_WITH(read_record(dangling, "recorded.yaml"),
                      Contains("recorded.yaml:13:36: error: no run 'run-x' in this record"));
    std::string number = text;
    number.replace(number.find("predicted: "), 11, "predicted: fast");
    CHECK_THROWS_WITH(read_record(number, "recorded.yaml"),
                      Contains("recorded.yaml:13:22: error: 'fast10.0000'"));
}

TEST_CASE("a row gets worse when its absolute error grows by more than two points") {
    struct Case {
        double then, now; // GB/s against a published 10.0 with a rounding of 0.05
        bool worse;
    };
    const Case cases[] = {{10.0, 10.1, false},  {10.0, 10.19, false}, {10.0, 10.21, true},
                          {10.5, 10.69, false}, {10.5, 10.71, true},  {10.5, 9.5, false},
                          {10.5, 9.31, false},  {10.5, 9.29, true},   {12.0, 10.0, false}};
    for (const Case& c : cases) {
        INFO(c.then << " then, " << c.now << " now");
        const Record record = record_of({row("a", c.then)});
        ValidationReport report;
        report.rows = {row("a", c.now)};
        compare(record, present_of(report), report);
        CHECK(report.rows[0].got_worse.empty() != c.worse);
        CHECK(failed(report) == c.worse);
        CHECK(report.notes.empty());
    }
}

TEST_CASE("every role but context is held against the record") {
    for (size_t i = 0; i < role_names.size(); i++) {
        const auto role = static_cast<Role>(i);
        if (role == Role::check || role == Role::ceiling) continue; // below
        INFO(role_names[i]);
        const Record record = record_of({row("a", 10, role)});
        ValidationReport report;
        report.rows = {row("a", 5, role)};
        compare(record, present_of(report), report);
        CHECK(report.rows[0].got_worse.empty() == (role == Role::context));
    }
    const Record record = record_of({row("a", 9, Role::ceiling)});
    ValidationReport report;
    report.rows = {row("a", 5, Role::ceiling)}; // further below is no error
    compare(record, present_of(report), report);
    CHECK(report.rows[0].got_worse.empty());
}

TEST_CASE("a row that got worse says what to look at first") {
    const Record record = record_of({row("a", 10)});
    const auto look_at = [&](auto change) {
        ValidationReport report;
        report.rows = {row("a", 8)};
        Present present = present_of(report);
        change(present);
        compare(record, present, report);
        return report.rows[0].got_worse;
    };
    CHECK_THAT(look_at([](Present& p) {
                   p.parts["drive/read"] = "3us";
                   p.runs["t"]["run-a"].parts = "q";
               }),
               Contains("error was +0.0 %, is -20.0 %; look first at drive/read was 1us, is 3us"));
    CHECK_THAT(look_at([](Present& p) {
                   p.parts["drive/erase"] = "3ms";
                   p.runs["t"]["run-a"].parts = "q";
               }),
               Contains("drive/erase is new"));
    CHECK_THAT(look_at([](Present& p) {
                   for (int i = 0; i < 9; i++) p.parts["drive/v" + std::to_string(i)] = "1";
                   p.runs["t"]["run-a"] = {"other", "q", "other"};
               }),
               Contains("drive/v3 is new; 5 more values; the scenario or its settings"));
    // A part changed that this run does not use: its own hash is the same.
    CHECK_THAT(look_at([](Present& p) {
                   p.parts["drive/read"] = "3us";
                   p.runs["t"]["run-a"].trace = "other";
               }),
               Contains("the code: parts and scenario are the same, the trace is not (recorded by "
                        "version 0.1, this is 0.2)"));
    CHECK_THAT(look_at([](Present& p) { p.runs["t"]["run-a"].scenario = "other"; }),
               Contains("look first at the scenario or its settings"));
    CHECK_THAT(look_at([](Present&) {}), Contains("the published figure or its role"));
}

TEST_CASE("a run that fails where it did not fail before got worse, with the reason") {
    const Record record = record_of({row("a", 10), row("b", 25)});
    ValidationReport report;
    report.rows = {failed_row("a"), failed_row("b")};
    compare(record, present_of(report), report);
    CHECK_THAT(report.rows[0].got_worse, Contains("look first at crashed"));
    CHECK(report.rows[1].got_worse.empty()); // its error was more than 1
    CHECK(failed(report));                   // and still a failed run fails
}

TEST_CASE("a row without a record is a note, no failure") {
    const Record record = record_of({row("a", 10)});
    ValidationReport report;
    report.rows = {row("a", 10), row("new", 2)};
    compare(record, present_of(report), report);
    CHECK(report.notes == std::vector<std::string>{"no record of row new"});
    CHECK_FALSE(failed(report));
}

TEST_CASE("accepting records what is new, says what changed and keeps what failed") {
    Record record = record_of({row("a", 10), row("b", 10), row("gone", 10)});
    ValidationReport report;
    report.rows = {row("a", 12), failed_row("b"), row("new", 9), row("same", 10)};
    record.testbeds["t"].rows["same"] = {10, "run-a"};
    Present present = present_of(report);
    present.runs["t"]["run-a"].trace = "other";
    accept(record, present, report);
    CHECK(report.differences ==
          std::vector<std::string>{"recorded: a 10.0000 -> 12.0000 GB/s, error +0.0 % -> +20.0 %",
                                   "not recorded: b failed", "recorded: new 9.00000 GB/s"});
    const RecordedTestbed& t = record.testbeds.at("t");
    CHECK(t.rows.at("a").predicted == Approx(12));
    CHECK(t.runs.at("run-a").trace == "other");
    CHECK(t.rows.at("b").predicted == Approx(10));
    CHECK_FALSE(t.rows.count("gone"));
    CHECK_FALSE(t.runs.count("run-gone"));
    CHECK(record.version == "0.2");

    // Accepted, the same predictions are no regression; the failed run still fails.
    for (ReportRow& r : report.rows) r.got_worse.clear();
    compare(record, present, report);
    CHECK(report.rows[0].got_worse.empty());
}

TEST_CASE("recording picked rows leaves the others as they were") {
    Record record = record_of({row("a", 10), row("b", 10)});
    ValidationReport report;
    report.rows = {row("a", 12)};
    Present present = present_of(report);
    present.every_row = false;
    accept(record, present, report);
    CHECK(record.testbeds.at("t").rows.at("a").predicted == Approx(12));
    CHECK(record.testbeds.at("t").rows.at("b").predicted == Approx(10));
    CHECK(record.testbeds.at("t").runs.count("run-b"));
}

TEST_CASE("the hash of parts depends on every name and value") {
    const PartValues a{{"x/a", "1"}, {"x/b", "2"}};
    CHECK(hash_of(a) == hash_of(a));
    CHECK(hash_of(a) != hash_of({{"x/a", "2"}, {"x/b", "1"}}));
    CHECK(hash_of(a) != hash_of({{"x/a", "1"}}));
    CHECK(hash_of(a) != hash_of({{"x/a", "1"}, {"x/c", "2"}}));
    CHECK(hash_of({}).size() == 16);
}
