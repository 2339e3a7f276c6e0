// More asked for than can be served, I/Os that do not come back in time, and what a load had
// between the events of a timeline.
#include "sim/report/text.hpp"
#include "tests/support/ways.hpp"
#include <catch2/catch.hpp>

using namespace storlab;
using namespace storlab::test;
using Catch::Matchers::Contains;

namespace {
const Settings open_loop = {"loads/users/arrivals=open"};
Settings offered(const std::string& rate, const Settings& more = {}) {
    Settings s = open_loop;
    s.push_back("loads/users/fio/rate_iops=" + rate);
    s.insert(s.end(), more.begin(), more.end());
    return s;
}
} // namespace

TEST_CASE("an open load above what can be served gets what can be served, whatever is offered") {
    // One thread of fio is what binds: a closed load says how much it does.
    const double most =
        iops(run_of(one_drive, {"loads/users/fio/iodepth=256", "run/duration=20ms"}).loads[0]);
    for (const char* rate : {"800k", "2m", "10m"}) {
        INFO(rate);
        const RunResult r = run_of(one_drive, offered(rate, {"run/duration=20ms"}));
        CHECK(iops(r.loads[0]) == Approx(most).epsilon(0.02));
        CHECK_FALSE(r.run.partial);
        CHECK_FALSE(failed(r));
    }
}

TEST_CASE(
    "an open load that cannot be served is stopped before it fills the memory, and told why") {
    const RunResult r = run_of(one_drive, offered("20m", {"run/until=confident"}));
    CHECK(r.run.partial);
    CHECK(r.run.stop_reason == StopReason::limit);
    CHECK(r.loads[0].in_flight_at_end == 300'001);
    CHECK_THAT(to_text(r), Contains("users has 300k I/Os in flight, and more arrive than end"));
    CHECK_FALSE(failed(r));
    // A length that was asked for is kept as long as there is room.
    const RunResult kept = run_of(one_drive, offered("1200k", {"run/duration=500ms"}));
    CHECK(kept.run.stop_reason == StopReason::duration);
    CHECK(kept.loads[0].in_flight_at_end > 300'000);
}

TEST_CASE("what has not ended with the run is told with its age") {
    const RunResult well = run_of(two_ways({}, "", 1));
    CHECK(well.loads[0].oldest_at_end < Duration::ms(1));
    CHECK_THAT(to_text(well), !Contains("had not ended"));
    const RunResult r = run_of(two_ways({}, "at 1 s: unplug host/c/*/port/0", 3));
    const LoadResult& users = r.loads[0];
    CHECK(users.in_flight_at_end == 201); // 100 a second for two seconds, first and last
    CHECK(users.oldest_at_end.in_seconds() == Approx(2).epsilon(0.01));
    CHECK_THAT(to_text(r), Contains("waiting users: 201 I/Os had not ended, the oldest after 2 s"));
    // What paths do to get them back after the end is not part of the answer.
    for (const TimelineMark& m : r.timeline) CHECK(m.at <= Instant::at(Duration::s(3)));
}

TEST_CASE("an event after the end of the run does not happen while it waits for its last I/Os") {
    const RunResult r =
        run_of(two_ways({}, "at 1 s: unplug host/c/*/port/0, at 4 s: plug host/c/*/port/0", 3));
    for (const TimelineMark& m : r.timeline) CHECK(m.what != "plug");
    CHECK(r.phases.size() == 2);
}

TEST_CASE("what a load had between two events adds up to what it had") {
    const std::string text =
        replaced(small_array, "run: {",
                 "timeline: [at 2 ms: fail box/ssd/0, at 2 ms: fail box/spare/0]\nrun: {");
    const RunResult r = run_of(text, {"run/warm-up=1ms"});
    REQUIRE(r.phases.size() >= 2);
    uint64_t ios = 0;
    int64_t bytes = 0;
    Instant from = r.phases[0].from;
    Duration max;
    for (const PhaseResult& p : r.phases) {
        CHECK(p.from == from);
        CHECK(p.to > p.from);
        CHECK(p.longest_gap > Duration());
        from = p.to;
        ios += p.flow.latency.count();
        bytes += p.flow.bytes;
        max = std::max(max, p.flow.latency.max());
    }
    const FlowResult all = total(r.loads[0]);
    CHECK(ios == all.latency.count());
    CHECK(bytes == all.bytes);
    CHECK(max == all.latency.max());
    CHECK(from - r.phases[0].from == r.loads[0].measured);
    CHECK(r.phases[0].until == "fail box/ssd/0");
    CHECK(r.phases.back().until.empty());
}

TEST_CASE("a silence is told in the phase it falls into, and as a whole where it ends") {
    const RunResult r =
        run_of(two_ways({}, "at 1 s: unplug host/c/*/port/0, at 2 s: plug host/c/*/port/0", 8));
    REQUIRE(r.phases.size() == 3);
    CHECK(r.phases[0].longest_gap < Duration::ms(30)); // 100 a second
    CHECK(r.phases[1].longest_gap.in_seconds() == Approx(1).epsilon(0.05));
    CHECK(r.phases[2].longest_gap > Duration::s(1));
    CHECK_THAT(to_text(r), Contains("nothing for "));
    CHECK_THAT(to_text(r), Contains("nothing ended"));
}

TEST_CASE("a closed load whose paths are all gone at the end of the run ends") {
    for (const Way& way : {Way{}, nvme_tcp_way, iscsi_way}) {
        INFO(way.protocol);
        const std::string text = replaced(two_ways(way, "at 1 s: power-off storage", 3),
                                          "arrivals: open", "arrivals: closed");
        const RunResult r = run_of(text);
        CHECK(r.loads[0].in_flight_at_end > 0);
        CHECK(r.phases.size() == 2);
        CHECK_FALSE(failed(r));
    }
}
