#include "sim/report/score.hpp"
#include <catch2/catch.hpp>
#include <cmath>
#include <random>

using namespace storlab;

namespace {
Published published(const char* text, Metric metric) {
    return parse_published(text, metric, {"rows.yaml", 7, 3});
}
std::string complaint(const char* text, Metric metric) {
    try {
        published(text, metric);
    } catch (const InputError& error) { return error.what(); }
    return "";
}
} // namespace

TEST_CASE("a published figure is known to half a unit of its last printed digit") {
    struct Case {
        const char* text;
        Metric metric;
        double low, high, rounding;
        const char* unit;
    };
    const Case cases[] = {
        {"3.0M IOPS", Metric::iops, 3.0e6, 3.0e6, 50e3, "IOPS"},
        {"3M IOPS", Metric::iops, 3e6, 3e6, 500e3, "IOPS"},
        {"376k IOPS", Metric::iops, 376e3, 376e3, 500, "IOPS"},
        {"12345 IOPS", Metric::iops, 12345, 12345, 0.5, "IOPS"},
        {"12.1 GB/s", Metric::bandwidth, 12.1e9, 12.1e9, 0.05e9, "GB/s"},
        {"2.99GB/s", Metric::bandwidth, 2.99e9, 2.99e9, 0.005e9, "GB/s"},
        {"410 MB/s", Metric::bandwidth, 410e6, 410e6, 0.5e6, "MB/s"},
        {"0 %", Metric::cpu, 0, 0, 0.5, "percent"},
        {"7 percent", Metric::cpu, 7, 7, 0.5, "percent"},
        {"2.6 ms", Metric::latency, 2.6e-3, 2.6e-3, 0.05e-3, "ms"},
        {"150 us", Metric::p99, 150e-6, 150e-6, 0.5e-6, "us"},
        {"3 to 4 s", Metric::pause, 3, 4, 0.5, "s"},
        {"1.25 to 1.5 s", Metric::recovery, 1.25, 1.5, 0.05, "s"},
    };
    for (const Case& c : cases) {
        INFO(c.text);
        const Published p = published(c.text, c.metric);
        CHECK(p.low == Approx(c.low));
        CHECK(p.high == Approx(c.high));
        CHECK(p.rounding == Approx(c.rounding));
        CHECK(p.unit == c.unit);
        CHECK(p.printed == c.text);
        CHECK(p.in_unit(p.low) * p.unit_size == Approx(p.low));
    }
}

TEST_CASE("what is no published figure is said with its place and an example") {
    CHECK(complaint("fast", Metric::iops) ==
          "rows.yaml:7:3: error: 'fast' is no iops; write 376k IOPS");
    CHECK(complaint("12.1 GB/s", Metric::iops).find("is no iops") != std::string::npos);
    CHECK(complaint("12.1 Gb/s", Metric::bandwidth).find("write 12.1 GB/s") != std::string::npos);
    for (const char* text : {"", "1.", ".5 s", "1.2.3 s", "-1 s", "1e3 s", "3 to s", "3 to 4",
                             "3 s 4", "0 s", "1234567890123456 s"})
        CHECK(complaint(text, Metric::pause) != "");
    CHECK(complaint("4 to 3 s", Metric::pause).find("ends below") != std::string::npos);
    CHECK(complaint("0 %", Metric::cpu) == "");
}

TEST_CASE("errors of rows agree with cases worked out by hand") {
    struct Case {
        const char* text;
        Metric metric;
        Role role;
        double predicted, error;
    };
    const Case cases[] = {
        // A rate: relative, zero inside the rounding and at both its ends.
        {"501k IOPS", Metric::iops, Role::prediction, 551.1e3, 0.1},
        {"501k IOPS", Metric::iops, Role::prediction, 450.9e3, -0.1},
        {"501k IOPS", Metric::iops, Role::prediction, 501.5e3, 0},
        {"501k IOPS", Metric::iops, Role::prediction, 500.5e3, 0},
        {"501k IOPS", Metric::iops, Role::calibration, 501.501e3, 0.001},
        {"12.1 GB/s", Metric::bandwidth, Role::prediction, 12.14e9, 0},
        {"12.1 GB/s", Metric::bandwidth, Role::context, 24.2e9, 1},
        {"2.0 ms", Metric::latency, Role::prediction, 2.3e-3, 0.15},
        // CPU: relative to 20 points at least.
        {"7 %", Metric::cpu, Role::prediction, 2.5, -0.225},
        {"7 %", Metric::cpu, Role::prediction, 7.4, 0},
        {"1 %", Metric::cpu, Role::prediction, 3, 0.1},
        {"0 %", Metric::cpu, Role::prediction, 5, 0.25},
        {"40 %", Metric::cpu, Role::prediction, 50, 0.25},
        {"20 %", Metric::cpu, Role::prediction, 15, -0.25},
        // A range: from the nearer end.
        {"3 to 4 s", Metric::pause, Role::prediction, 3.7, 0},
        {"3 to 4 s", Metric::pause, Role::prediction, 4.5, 0},
        {"3 to 4 s", Metric::pause, Role::prediction, 5, 0.25},
        {"3 to 4 s", Metric::pause, Role::prediction, 1.5, -0.5},
        // "Over X": more is no error up to the band, then from there.
        {"2.6 ms", Metric::latency, Role::floor, 2.6e-3, 0},
        {"2.6 ms", Metric::latency, Role::floor, 2.98e-3, 0},
        {"2.6 ms", Metric::latency, Role::floor, 2 * 2.6e-3 * 1.15, 1},
        {"2.6 ms", Metric::latency, Role::floor, 2.34e-3, -0.1},
        {"100k IOPS", Metric::iops, Role::floor, 121e3, 0.1},
        {"8 %", Metric::cpu, Role::floor, 13, 0},
        {"8 %", Metric::cpu, Role::floor, 18, 0.25}, // 5 points over 13, of 20
        // "Under X": anything below.
        {"2.6 ms", Metric::latency, Role::ceiling, 0.1e-3, 0},
        {"2.6 ms", Metric::latency, Role::ceiling, 2.6e-3, 0},
        {"2.6 ms", Metric::latency, Role::ceiling, 3.9e-3, 0.5},
        // A check passes inside what was published.
        {"0 to 2 %", Metric::cpu, Role::check, 1, 0},
        {"0 to 2 %", Metric::cpu, Role::check, 4, 0.1},
    };
    for (const Case& c : cases) {
        INFO(c.text << " " << to_string(c.role) << " predicted " << c.predicted);
        const Published p = published(c.text, c.metric);
        CHECK(error_of(c.metric, c.role, p, c.predicted) == Approx(c.error).margin(1e-12));
    }
}

TEST_CASE("bands and what is scored follow the protocol") {
    CHECK(band(Metric::iops) == 0.10);
    CHECK(band(Metric::bandwidth) == 0.10);
    CHECK(band(Metric::latency) == 0.15);
    CHECK(band(Metric::p99) == 0.25);
    CHECK(band(Metric::cpu) == 0.25);
    CHECK(band(Metric::pause) == 0.20);
    CHECK(band(Metric::recovery) == 0.20);
    for (const Role r : {Role::prediction, Role::floor, Role::ceiling, Role::group})
        CHECK(scored(r));
    for (const Role r : {Role::calibration, Role::implied, Role::context, Role::check})
        CHECK_FALSE(scored(r));
}

TEST_CASE("a group is one row: published figures and predictions are combined alike") {
    const double hosts[] = {160e3, 180e3, 170e3, 190e3};
    CHECK(combine({Combine::mean, 1}, hosts) == Approx(175e3));
    CHECK(combine({Combine::sum, 1}, hosts) == Approx(700e3));
    // Reads and writes of two hosts added, mean over the hosts.
    CHECK(combine({Combine::sum, 2}, hosts) == Approx(350e3));
    const Published rows[] = {published("161k IOPS", Metric::iops),
                              published("0.18M IOPS", Metric::iops)};
    const Published sum = combine({Combine::sum, 1}, rows);
    CHECK(sum.low == Approx(341e3));
    CHECK(sum.high == Approx(341e3));
    CHECK(sum.rounding == Approx(5500)); // 500 and 5000
    const Published mean = combine({Combine::mean, 1}, rows);
    CHECK(mean.low == Approx(170.5e3));
    CHECK(mean.rounding == Approx(2750));
    CHECK(error_of(Metric::iops, Role::group, mean, 170.5e3 * 1.2) == Approx(0.2));
}

TEST_CASE("the summary of five rows is as worked out by hand") {
    const RowError rows[] = {{"a", 0.01, 0.1},
                             {"b", -0.30, 0.1},
                             {"c", 0.05, 0.1},
                             {"d", 0.10, 0.1},
                             {"e", -0.02, 0.25}};
    const Summary s = summarise(rows);
    CHECK(s.rows == 5);
    CHECK(*s.median == Approx(0.05));
    CHECK(*s.p90 == Approx(0.22)); // place 3.6 of 0.01 0.02 0.05 0.10 0.30
    CHECK(*s.bias == Approx(-0.032));
    CHECK(s.in_band == 4); // 0.10 is inside a band of 0.10
    REQUIRE(s.worst.size() == 3);
    CHECK(s.worst[0].name == "b");
    CHECK(s.worst[0].error == -0.30);
    CHECK(s.worst[1].name == "d");
    CHECK(s.worst[2].name == "c");
}

TEST_CASE("a summary of nothing has no statistics, of one row only that row's") {
    const Summary none = summarise({});
    CHECK(none.rows == 0);
    CHECK_FALSE(none.median);
    CHECK_FALSE(none.p90);
    CHECK_FALSE(none.bias);
    const RowError one[] = {{"a", -0.4, 0.1}};
    const Summary s = summarise(one);
    CHECK(*s.median == 0.4);
    CHECK(*s.p90 == 0.4);
    CHECK(*s.bias == -0.4);
    CHECK(s.in_band == 0);
    const RowError two[] = {{"a", 0.1, 0.1}, {"b", 0.3, 0.1}};
    CHECK(*summarise(two).median == Approx(0.2));
}

TEST_CASE("equal errors keep the order of the rows") {
    const RowError rows[] = {{"x", 0.2, 0.1}, {"a", -0.2, 0.1}, {"m", 0.2, 0.1}, {"b", 0.2, 0.1}};
    const Summary s = summarise(rows);
    CHECK(s.worst[0].name == "x");
    CHECK(s.worst[1].name == "a");
    CHECK(s.worst[2].name == "m");
}

TEST_CASE("quantiles do not depend on the order and lie between neighbours") {
    std::mt19937 random(1);
    for (int n = 1; n <= 40; n++) {
        std::vector<double> values;
        for (int i = 0; i < n; i++) values.push_back(i * i);
        std::shuffle(values.begin(), values.end(), random);
        for (const double p : {0.0, 0.1, 0.5, 0.9, 1.0}) {
            // From i of n - 1 steps: the value of a curve that is straight between the points.
            const double place = p * (n - 1), low = std::floor(place);
            const double expected = low * low + (place - low) * (2 * low + 1);
            CHECK(quantile(values, p) == Approx(expected).margin(1e-9));
        }
    }
}
