#include "sim/scenario/validate_report.hpp"
#include <catch2/catch.hpp>
#include <fstream>
#include <nlohmann/json.hpp>

using namespace storlab;
using Catch::Contains;
using Json = nlohmann::json;

namespace {
ReportRow row(const std::string& id, Role role, Metric metric, const std::string& published,
              double predicted) {
    ReportRow r;
    r.testbed = "t";
    r.id = id;
    r.role = role;
    r.metric = metric;
    r.published = parse_published(published, metric, {});
    r.predicted = predicted;
    r.error = error_of(metric, role, r.published, predicted);
    r.run = "run";
    r.binds = "host/lock 99 %";
    return r;
}

ValidationReport sample() {
    ValidationReport report;
    report.rows = {row("c", Role::calibration, Metric::iops, "3.0M IOPS", 4.5e6),
                   row("p", Role::prediction, Metric::iops, "501k IOPS", 511e3),
                   row("q", Role::prediction, Metric::bandwidth, "10.0 GB/s", 14e9),
                   row("u", Role::prediction, Metric::cpu, "7 %", 2),
                   row("x", Role::context, Metric::iops, "1.5M IOPS", 3e6),
                   row("k", Role::check, Metric::cpu, "0 to 2 %", 5)};
    report.rows[1].ci95 = 0.012;
    ReportRow failed_row = row("f", Role::prediction, Metric::latency, "2.6 ms", 1);
    failed_row.predicted.reset();
    failed_row.error = failed_error;
    failed_row.note = "crashed: signal 11 (Segmentation fault)";
    report.rows.push_back(failed_row);
    report.absent = {{"t", "r-1", "no fabric", Role::prediction, Metric::pause,
                      parse_published("3 to 4 s", Metric::pause, {})},
                     {"t", "r-2", "no fabric", Role::calibration, Metric::iops,
                      parse_published("1.1M IOPS", Metric::iops, {})}};
    report.causes = {{"t/q", "the card waits"}};
    report.fitted = {{"drive", "read", "0.667", "us", "0.6us..0.7us", "0 %", {"c"}}};
    report.assumed = {{"t", "low", "a=b", "not printed", "doubles it"}};
    report.again = "1 run";
    summarise(report);
    return report;
}
std::string line_of(const std::string& text, const std::string& start) {
    const size_t at = text.find("\n" + start + " ");
    if (at == std::string::npos) return "no line " + start;
    return text.substr(at + 1, text.find('\n', at + 1) - at - 1);
}
} // namespace

TEST_CASE("only scored rows count in the summary, and a failed one counts as 1") {
    const ValidationReport report = sample();
    REQUIRE(report.summaries.size() == 2);
    CHECK(report.summaries[0].name == "t");
    CHECK(report.summaries[1].name == "all");
    for (const NamedSummary& s : report.summaries) {
        CHECK(s.summary.rows == 4); // p q u f
        CHECK(*s.summary.median == Approx((0.25 + 0.4) / 2));
        CHECK(*s.summary.bias == Approx((10.0 / 501 + 0.4 - 0.25 + 1) / 4));
        CHECK(s.summary.in_band == 2);
        CHECK(s.summary.checks == 1);
        CHECK(s.summary.checks_failed == 1);
        CHECK(s.summary.worst[0].name == "f");
        CHECK(s.summary.worst[1].name == "q");
        CHECK(s.summary.worst[2].name == "u");
    }
    CHECK(failed(report));
}

TEST_CASE("testbeds are summed up each and together") {
    ValidationReport report;
    report.rows = {row("a", Role::prediction, Metric::bandwidth, "10.0 GB/s", 11e9),
                   row("b", Role::prediction, Metric::bandwidth, "10.0 GB/s", 13e9)};
    report.rows[1].testbed = "u";
    summarise(report);
    REQUIRE(report.summaries.size() == 3);
    CHECK(*report.summaries[0].summary.median == Approx(0.1));
    CHECK(*report.summaries[1].summary.median == Approx(0.3));
    CHECK(*report.summaries[2].summary.median == Approx(0.2));
    CHECK_FALSE(failed(report)); // a miss is no failure
}

TEST_CASE("the text shows every row, misses with causes, and what was not modelled") {
    const std::string text = to_text(sample());
    CHECK_THAT(line_of(text, "c"), Contains("calibration") && Contains("3.0M IOPS") &&
                                       Contains("4.5M IOPS") && Contains("+50.0 %") &&
                                       !Contains("outside"));
    CHECK_THAT(line_of(text, "p"), Contains("±1.2%") && Contains("+2.0 %"));
    CHECK_THAT(line_of(text, "q"), Contains("outside"));
    CHECK_THAT(line_of(text, "x"), Contains("binds host/lock 99 %"));
    CHECK_THAT(line_of(text, "k"), Contains("FAILED"));
    CHECK_THAT(line_of(text, "f"), Contains("FAILED") && Contains("signal 11"));
    CHECK_THAT(text, Contains("q +40.0 %: the card waits"));
    CHECK_THAT(text, Contains("f +100.0 %: crashed: signal 11"));
    CHECK_THAT(text, Contains("not modelled yet, not scored: 2 rows of t: no fabric\n  r-1 r-2\n"));
    CHECK_THAT(text, Contains("drive/read") && Contains("0.667 us") && Contains("0.6us..0.7us"));
    CHECK_THAT(text, Contains("1 fitted values serve 4 scored rows"));
    CHECK_THAT(text, Contains("low: not printed\n    otherwise: doubles it"));
    ValidationReport no_cause = sample();
    no_cause.causes.clear();
    CHECK_THAT(to_text(no_cause), Contains("q +40.0 %: cause not yet known"));
}

TEST_CASE("JSON gives values in the row's unit; what is scored follows from the role") {
    const Json j = Json::parse(to_json(sample()));
    REQUIRE(j.at("rows").size() == 7);
    const Json& p = j.at("rows").at(1);
    CHECK(p.at("published") == 501000);
    CHECK(p.at("predicted") == 511000);
    CHECK(p.at("unit") == "IOPS");
    CHECK(p.at("ci95") == 0.012);
    const Json& q = j.at("rows").at(2);
    CHECK(q.at("published") == 10.0);
    CHECK(q.at("predicted") == Approx(14));
    CHECK(q.at("cause") == "the card waits");
    CHECK(q.at("ci95").is_null());
    const Json& k = j.at("rows").at(5);
    CHECK(k.at("published") == Json({0.0, 2.0}));
    CHECK(k.at("passed") == false);
    const Json& f = j.at("rows").at(6);
    CHECK(f.at("predicted").is_null());
    CHECK(f.at("error") == 1);
    for (const Json& r : j.at("rows")) {
        const std::string role = r.at("role");
        CHECK(r.at("scored") ==
              (role == "prediction" || role == "floor" || role == "ceiling" || role == "group"));
    }
    CHECK(j.at("not_modelled").size() == 2);
    CHECK(j.at("not_modelled").at(0).at("published") == Json({3.0, 4.0}));
    CHECK(j.at("summary").at("all").at("rows") == 4);
    CHECK(j.at("fitted").at(0).at("value") == 0.667);
    CHECK(j.at("fitted").at(0).at("rows") == Json({"c"}));
    CHECK(j.at("passed") == false);
}

TEST_CASE("the JSON holds the keys of its schema and no others") {
    std::ifstream file("docs/schemas/validate.schema.json");
    REQUIRE(file);
    const Json schema = Json::parse(file);
    ValidationReport report = sample();
    report.rows[0].got_worse = "by far";
    report.rows[1].members = "a b";
    const Json j = Json::parse(to_json(report));
    const auto same_keys = [](const Json& rule, const Json& object) {
        for (const auto& key : rule.at("required")) CHECK(object.contains(key));
        for (const auto& [key, value] : object.items()) {
            INFO(key);
            CHECK(rule.at("properties").contains(key));
        }
    };
    same_keys(schema, j);
    for (const char* list : {"rows", "not_modelled", "fitted", "assumed"})
        for (const Json& item : j.at(list))
            same_keys(schema.at("properties").at(list).at("items"), item);
    for (const Json& s : j.at("summary")) same_keys(schema.at("$defs").at("summary"), s);
    for (const Json& role : schema.at("$defs").at("role").at("enum"))
        CHECK(std::count(role_names.begin(), role_names.end(), role.get<std::string>()) == 1);
    CHECK(schema.at("$defs").at("role").at("enum").size() == role_names.size());
    CHECK(schema.at("$defs").at("metric").at("enum").size() == metric_names.size());
}

TEST_CASE("fitted values of a part come with number and unit apart") {
    const ComplaintsPtr complaints = new_complaints();
    const Catalogue catalogue("scenarios/parts", complaints);
    const auto values = fitted_values(catalogue.find("linux-md-raid", {}));
    complaints->throw_if_any();
    const auto named = [&](const std::string& name) {
        for (const FittedValue& f : values)
            if (f.parameter == name) return f;
        return FittedValue{};
    };
    CHECK(named("raid_write").unit == "cycles");
    CHECK(std::stod(named("raid_write").value) > 1000);
    CHECK(named("raid_lock_stripe").unit == "us");
    CHECK(named("workers").unit.empty());
    CHECK(named("workers").rows == std::vector<std::string>{"l-md-4krw-cpu-hi"});
    CHECK_FALSE(named("workers").range.empty());
    CHECK(named("raid_pass").value.empty()); // assumed, not fitted
}
