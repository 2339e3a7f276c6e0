// Faults of fabrics on a scenario's timeline: what can be named, what hosts make of each fault, and
// what the answer says about it.
#include "sim/scenario/cabling.hpp"
#include "sim/scenario/timeline_targets.hpp"
#include "tests/support/fabrics.hpp"
#include <catch2/catch.hpp>
#include <cmath>

using namespace storlab;
using namespace storlab::test;
using Catch::Matchers::Contains;

namespace {

// Two ports of a client and of an array over two switches, few I/Os a second.
const std::string two_ways = R"(storlab: 1
title: two ways
machines:
  storage:
    is: dell-r750
    cpu: {is: xeon-8380}
    host: {is: linux-host}
    cards: {fc: {is: qlogic-2772}}
    drives: {ssd: {is: bench-device-gc, count: 2, state: filled}}
  client:
    is: dell-r740xd
    cpu: {is: xeon-6130}
    host: {is: linux-host}
    cards: {fc: {is: qlogic-2772}}
switches: {red: {is: brocade-g620}, blue: {is: brocade-g620}}
cables:
  - storage/fc/port/0 to red
  - storage/fc/port/1 to blue
  - client/fc/port/0 to red
  - client/fc/port/1 to blue
arrays:
  main:
    on: storage
    raid: {level: 1, drives: ssd/*, chunk: 64KiB, engine: md}
    export: {protocol: fcp, ports: fc/port/*, is: scst-target}
loads:
  users:
    fio: {rw: randrw, bs: 4k, ioengine: libaio, direct: 1, iodepth: 256, rate_iops: 100}
    arrivals: open
    from: client
    to: main
    paths: {is: linux-dm-multipath, policy: round-robin}
timeline: [at 2 s: unplug client/fc/port/0, at 10 s: plug client/fc/port/0]
run: {duration: 20s, step: 500ms, scale: 256}
)";

std::string with_timeline(const std::string& events) { return "timeline=[" + events + "]"; }

const TimelineMark* find(const RunResult& r, const std::string& phase, size_t nth = 0) {
    for (const TimelineMark& m : r.timeline)
        if (m.phase == phase && nth-- == 0) return &m;
    return nullptr;
}
double second(const TimelineMark* m) { return m ? m->at.since_start().in_seconds() : -1; }
double longest_s(const RunResult& r) { return total(r.loads[0]).latency.max().in_seconds(); }
uint64_t errors(const RunResult& r) { return total(r.loads[0]).errors; }

} // namespace

TEST_CASE("an unplugged port is seen at once, its commands go on after fast_io_fail, none fails") {
    const RunResult r = run_of(two_ways);
    CHECK_FALSE(failed(r));
    CHECK(errors(r) == 0);
    CHECK(r.integrity.verified > 100);
    CHECK(r.integrity.mismatches == 0);
    REQUIRE(r.timeline.size() >= 5);
    CHECK(r.timeline[0].what == "unplug");
    REQUIRE(find(r, "detect"));
    CHECK(second(find(r, "detect")) == Approx(2));
    CHECK(find(r, "detect")->what == "link down,");
    CHECK(find(r, "detect")->where == "client/fc/port/0 to storage/fc/port/0");
    CHECK(second(find(r, "path switch")) == Approx(7)); // fc_fast_io_fail_tmo: 5 s
    REQUIRE(find(r, "back"));
    CHECK(second(find(r, "back")) > 10);
    CHECK(second(find(r, "back")) <= 10 + 2 + 5.1); // the port is looked for, then polled
    CHECK_FALSE(find(r, "no path"));
    CHECK(longest_s(r) == Approx(5).epsilon(0.02));
    // Before and after nothing waits; those that were kept end in one window.
    const std::vector<double>* const mean = r.series.find("users/mean_ns");
    REQUIRE(mean);
    REQUIRE(mean->size() == 40);
    CHECK((*mean)[2] < 5e6);
    CHECK((*mean)[14] > 1e9);
    CHECK(mean->back() < 5e6);
}

TEST_CASE("a switch that loses power takes its paths with it, and gives them back") {
    const RunResult r =
        run_of(two_ways, {with_timeline("at 2 s: power-off red, at 10 s: power-on red")});
    CHECK_FALSE(failed(r));
    CHECK(errors(r) == 0);
    CHECK(second(find(r, "detect")) == Approx(2));
    CHECK(second(find(r, "path switch")) == Approx(7));
    CHECK(second(find(r, "back")) > 10);
    // Every cable of a switch unplugged is the same to its hosts.
    const RunResult pulled =
        run_of(two_ways, {with_timeline("at 2 s: unplug red, at 10 s: plug red")});
    CHECK(pulled.run.trace_hash == r.run.trace_hash);
}

TEST_CASE("silence is found by what nobody answers, later than a link that is down") {
    const RunResult r = run_of(two_ways, {with_timeline("at 2 s: silence client/fc/port/0, at 60 "
                                                        "s: restore client/fc/port/0"),
                                          "run/duration=90s"});
    CHECK_FALSE(failed(r));
    CHECK(errors(r) == 0);
    REQUIRE(find(r, "detect"));
    CHECK(find(r, "detect")->what == "no answer,");
    CHECK(second(find(r, "path switch")) > 2 + 10);
    CHECK(longest_s(r) > 20); // a command's time-out of 30 s at the end of the wait
    CHECK(second(find(r, "back")) > 60);
}

TEST_CASE("a target without power loses its sessions without a word, and accepts them again") {
    const RunResult r = run_of(two_ways, {with_timeline("at 2 s: power-off storage, at 8 s: "
                                                        "power-on storage"),
                                          "loads/users/paths/no_path_retry=queue"});
    CHECK_FALSE(failed(r));
    CHECK(errors(r) == 0);
    REQUIRE(find(r, "detect"));
    CHECK(second(find(r, "detect")) == Approx(4)); // the fabric tells: 2 s
    CHECK(find(r, "detect")->where == "2 paths of client");
    CHECK(second(find(r, "back")) > 8); // in time: the paths were never out of use
    CHECK_FALSE(find(r, "path switch"));
    CHECK(r.integrity.mismatches == 0);
    // All that waited has been carried out.
    CHECK(total(r.loads[0]).latency.count() == Approx(20 * 200).margin(20));
}

TEST_CASE("I/Os without any path fail, are counted as errors, and the run is a good one") {
    const std::string events = with_timeline("at 2 s: unplug client/fc/port/*");
    const RunResult fails = run_of(two_ways, {events});
    CHECK_FALSE(failed(fails));
    REQUIRE(find(fails, "no path"));
    CHECK(second(find(fails, "no path")) == Approx(7));
    CHECK(errors(fails) == Approx((20 - 2) * 200).margin(20)); // those kept for 5 s among them
    CHECK(total(fails.loads[0]).latency.count() == Approx(2 * 200).margin(5));
    CHECK(fails.integrity.mismatches == 0);
    // Those that wait for ever end when the run is over: no request is missing, nothing failed.
    const RunResult waits = run_of(two_ways, {events, "loads/users/paths/no_path_retry=queue"});
    CHECK_FALSE(failed(waits));
    CHECK(errors(waits) == 0);
    for (const CheckResult& c : waits.checks) {
        INFO(c.name << ": " << c.text);
        CHECK(c.ok);
    }
}

TEST_CASE("faults of a fabric keep a run reproducible") {
    const Settings s = {
        with_timeline("at 1 s: silence blue, at 3 s: restore blue, at 4 s: power-off red, at 5 s: "
                      "power-on red, at 6 s: unplug storage/fc/port/1"),
        "run/duration=12s"};
    CHECK(run_of(two_ways, s).run.trace_hash == run_of(two_ways, s).run.trace_hash);
}

TEST_CASE("the timeline tells which faults it cannot cause, and where") {
    const auto error = [](const std::string& event) {
        return error_of(replaced(two_ways,
                                 "timeline: [at 2 s: unplug client/fc/port/0, at 10 s: plug "
                                 "client/fc/port/0]",
                                 "timeline:\n  - at 2 s: " + event));
    };
    CHECK(error("unplug client/fc/port/7") ==
          "mine.yaml:34:13: error: no port or switch 'client/fc/port/7'; did you mean "
          "'client/fc/port/0'?");
    CHECK_THAT(error("silence storage/ssd/0"),
               Contains("34:13: error: no port or switch 'storage/ssd/0'"));
    CHECK_THAT(error("power-off client/fc/port/0"),
               Contains("34:13: error: no machine or switch 'client/fc/port/0'"));
    CHECK_THAT(error("power-off client"),
               Contains("mine.yaml:34:5: error: cannot power-off 'client'; it runs load 'users'"));
    CHECK_THAT(error("pull client/fc/port/0"), Contains("no drive or array"));
    CHECK_THAT(error("unplug red now"),
               Contains("'unplug' takes a path and nothing more, not 'now'"));
    CHECK(error("unplug */fc/port/0-1") == "");
    // Undoing what was not done, or not at that end.
    CHECK_THAT(error("restore red"),
               Contains("34:5: error: cannot restore 'red'; nothing is silent there by then"));
    CHECK_THAT(error("plug red"), Contains("nothing is unplugged there by then"));
    CHECK_THAT(error("power-on storage"), Contains("it is not off by then"));
    CHECK(error("silence red\n  - at 3 s: restore client/fc/port/0") == "");
    CHECK_THAT(error("unplug red\n  - at 3 s: plug blue"), Contains("35:5: error: cannot plug"));
    CHECK_THAT(error("power-off red\n  - at 1 s: power-on red"),
               Contains("35:5: error: cannot power-on"));
    // A port without a cable, a machine that exports nothing.
    const std::string more = replaced(
        replaced(two_ways, "  - client/fc/port/1 to blue\n", ""), "switches: {",
        "  spare: {is: dell-r740xd, cpu: {is: xeon-6130}, host: {is: linux-host}}\nswitches: {");
    CHECK_THAT(error_of(more, {with_timeline("at 2 s: plug client/fc/port/1")}),
               Contains("cannot plug 'client/fc/port/1'; no cable ends there"));
    CHECK_THAT(error_of(more, {with_timeline("at 2 s: power-on spare")}),
               Contains("cannot power-on 'spare'; it exports nothing"));
}

TEST_CASE("cables of the real world: what way two ports have follows what happens to them") {
    const Scenario s = scenario_of(two_ways);
    Cabling cabling(s);
    const std::string a = "client/fc/port/0", x = "storage/fc/port/0", y = "storage/fc/port/1";
    CHECK(cabling.way(a, x) == Way::open);
    CHECK(cabling.way(a, y) == Way::gone); // never joined
    cabling.act(Verb::unplug, a);
    CHECK(cabling.way(a, x) == Way::dark);
    cabling.act(Verb::plug, a);
    cabling.act(Verb::unplug, x);
    CHECK(cabling.way(a, x) == Way::gone);
    cabling.act(Verb::plug, "red"); // all that ends there
    CHECK(cabling.way(a, x) == Way::open);
    cabling.act(Verb::silence, x);
    CHECK(cabling.way(a, x) == Way::silent);
    cabling.act(Verb::power_off, "red");
    CHECK(cabling.way(a, x) == Way::dark);
    cabling.act(Verb::power_on, "red");
    CHECK(cabling.way(a, x) == Way::silent);
    cabling.act(Verb::restore, x);
    CHECK(cabling.way(a, x) == Way::open);
    CHECK(cabling.way("client/fc/port/1", y) == Way::open);
}

TEST_CASE("machines of the real world are processes, which somebody must be able to start") {
    const ScratchFolder folder;
    RunControl control;
    control.real = true;
    control.folder = folder.path();
    try {
        run_of(two_ways, {}, control);
        FAIL("it ran");
    } catch (const InputError& e) { CHECK_THAT(e.what(), Contains("storlab run --world real")); }
}

TEST_CASE("a run is as long as was asked for, however long a step of the series is") {
    const RunResult r = run_of(one_drive, {"run/step=1s", "run/warm-up=3ms"});
    CHECK(r.loads[0].measured == Duration::ms(10));
    CHECK(r.run.simulated == Duration::ms(13));
    CHECK(iops(r.loads[0]) == Approx(iops(run_of(one_drive).loads[0])).epsilon(0.05));
}
