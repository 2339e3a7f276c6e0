#include "sim/base/error.hpp"
#include "sim/scenario/install.hpp"
#include "sim/scenario/knee.hpp"
#include <catch2/catch.hpp>

using namespace storlab;

namespace {
Scenario scenario_with(const std::string& fio) {
    const std::string text = R"(storlab: 1
title: Knee
machines:
  box:
    is: dell-r750
    cpu: {is: xeon-8380}
    host: {is: linux-host}
    drives: {ssd: {is: bench-device-read, state: filled}}
loads:
  reads:
    fio: )" + fio + R"(
    to: box/ssd/0
timeline: [at 1 s: fail box/ssd/0]
)";
    return read_scenario(text, "knee.yaml", {{}, parts_folder()});
}
int64_t in_flight(const Scenario& s) {
    int64_t n = 0;
    for (const fio::Job& j : s.loads[0].jobs) n += fio::effective_depth(j).total;
    return n;
}
RunAnswer answer(double iops, double p99_s) {
    RunAnswer a;
    LoadFigures& f = a.loads["reads"];
    f.iops = iops;
    f.mean_s = p99_s / 2;
    f.p99_s = p99_s;
    a.binds = "box/ssd/0/controller 99 %";
    return a;
}
} // namespace

TEST_CASE("a closed load is varied by its depth, and by its jobs where there are too few I/Os") {
    const Scenario s =
        scenario_with("{rw: randread, bs: 4k, ioengine: libaio, iodepth: 8, numjobs: 16}");
    for (const int n : {1, 2, 16, 32, 128, 4096}) {
        const Scenario varied = with_load(s, "reads", false, n);
        CHECK(in_flight(varied) == n);
        CHECK(varied.timeline.empty());
        CHECK(varied.run.until == Until::confident);
    }
    CHECK(with_load(s, "reads", false, 4).loads[0].jobs[0].numjobs == 4);
    // An engine without depth has only jobs to vary.
    const Scenario sync = scenario_with("{rw: randread, bs: 4k, ioengine: psync, numjobs: 4}");
    CHECK(in_flight(with_load(sync, "reads", false, 64)) == 64);
}

TEST_CASE("an open load is varied by its arrivals") {
    const Scenario s =
        scenario_with("{rw: randread, bs: 4k, ioengine: libaio, iodepth: 8, numjobs: 16}");
    const Scenario varied = with_load(s, "reads", true, 32000);
    CHECK(varied.loads[0].open);
    CHECK(varied.loads[0].jobs[0].rate_iops.read->per_second() == Approx(2000));
    CHECK_FALSE(with_load(varied, "reads", false, 8).loads[0].open);
}

TEST_CASE("a target is a statistic and a duration") {
    CHECK(parse_target("p99=1ms").at_most == Duration::ms(1));
    CHECK(parse_target("mean=300us").statistic == "mean");
    CHECK(parse_target("500us").statistic == "p99");
    const auto message = [](const std::string& text) {
        try {
            parse_target(text);
        } catch (const InputError& error) { return std::string(error.what()); }
        return std::string("no error");
    };
    CHECK(message("p98=1ms").find("'p98' is not mean, p50, p95, p99, p99.9") != std::string::npos);
    CHECK(message("p99=1").find("has no unit") != std::string::npos);
    CHECK(message("p99=0ms").find("above zero") != std::string::npos);
}

TEST_CASE("the text says where the knee is and what meets the target") {
    KneeReport r;
    r.title = "Knee", r.load = "reads", r.what = "randread 4KiB";
    r.target = parse_target("p99=400us");
    r.points = {{1, answer(10e3, 100e-6)}, {2, answer(20e3, 110e-6)}, {4, answer(22e3, 500e-6)}};
    RunAnswer broken;
    broken.failure = "it broke";
    r.points.push_back({8, broken});
    const std::string text = knee_text(r);
    CHECK(text.find("knee    2 I/Os in flight: 20k IOPS") != std::string::npos);
    CHECK(text.find("target  p99 up to 400 us: 3 I/Os in flight, 21.5k IOPS") != std::string::npos);
    CHECK(text.find("8 I/Os in flight: no answer: it broke") != std::string::npos);
    r.target = parse_target("p99=50us");
    CHECK(knee_text(r).find("not met even by the least load") != std::string::npos);
    // Of a curve that rises to its end nothing is said to be full.
    CHECK(text.find("note    the curve still rises at its end") != std::string::npos);
    CHECK(text.find("full    from about") == std::string::npos);
    r.points[3] = {8, answer(22.5e3, 900e-6)};
    CHECK(knee_text(r).find("full    from about 4 in flight on") != std::string::npos);
    r.points.resize(2);
    CHECK(knee_text(r).find("may not have bent yet") != std::string::npos);
    CHECK(knee_text(r).find("full    from about") == std::string::npos);
}
