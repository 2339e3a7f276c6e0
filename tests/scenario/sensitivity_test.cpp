#include "sim/scenario/install.hpp"
#include "sim/scenario/sensitivity.hpp"
#include <catch2/catch.hpp>

namespace storlab {

TEST_CASE("a quantity is scaled as it is written, and what is whole stays whole") {
    CHECK(scaled_text("62us", 1.2) == "74.4us");
    CHECK(scaled_text("1.2 GB/s", 0.8) == "0.96 GB/s");
    CHECK(scaled_text("4600 cycles", 1.2) == "5520 cycles");
    CHECK(scaled_text("3 cycles", 1.2) == "4 cycles");
    CHECK(scaled_text("256", 0.8) == "205");
    CHECK(scaled_text("1", 0.8) == "0");
    CHECK(scaled_text("2", 1.2) == "3");
    CHECK(scaled_text("1.25", 0.8) == "1");
    CHECK(scaled_text("28%", 1.2) == "33.6%");
    CHECK_FALSE(scaled_text("none", 1.2));
    CHECK_FALSE(scaled_text("x8 gen4", 1.2));
}

TEST_CASE("a scaled value is read by every use of its part, and by no other part") {
    const std::string file = installed_folder("scenarios") + "/tour/one_drive.yaml";
    ScenarioOptions o{{}, parts_folder()};
    const Scenario as_is = load_scenario(file, o);
    const Part& drive = as_is.machines[0].drives[0].part;
    o.scaled = ScaledValue{drive.name(), "channel_rate", 1.2};
    const Scenario scaled = load_scenario(file, o);
    const Part& other = scaled.machines[0].drives[0].part;
    CHECK(other.rate("channel_rate").in_bytes_per_second() ==
          Approx(1.2 * drive.rate("channel_rate").in_bytes_per_second()));
    CHECK(other.duration("t_read") == drive.duration("t_read"));
    o.scaled->part = "another";
    const Scenario same = load_scenario(file, o);
    CHECK(same.machines[0].drives[0].part.rate("channel_rate") == drive.rate("channel_rate"));
}

TEST_CASE("a move is a fraction of all loads' I/Os and of their mean latency") {
    SensitivityReport r;
    const auto figures = [](double iops, double mean_s) {
        LoadFigures f;
        f.iops = iops, f.mean_s = mean_s;
        return f;
    };
    r.base.loads["a"] = figures(100, 1e-3);
    r.base.loads["a/reads"] = figures(70, 1e-3); // a part of a, not more
    r.base.loads["b"] = figures(300, 2e-3);
    RunAnswer less = r.base;
    less.loads["b"] = figures(200, 2e-3);
    const Influence i{"x/y", "1us", "assumed", "", less, std::nullopt, ""};
    const auto m = move_of(r, i.less);
    REQUIRE(m);
    CHECK(m->iops == Approx(-0.25));
    CHECK(m->latency == Approx((0.1 + 0.4) / 300 / (0.7 / 400) - 1));
    CHECK_FALSE(move_of(r, i.more));
    CHECK(strength(r, i) == Approx(0.25));
    CHECK(sensitivity_text(r, 5).find("0 of 0 values") != std::string::npos);
}

} // namespace storlab
