#include "sim/cluster/cluster.hpp"
#include "tests/cluster/closed_loop.hpp"
#include <catch2/catch.hpp>
#include <sys/wait.h>
#include <unistd.h>

using namespace storlab;
using namespace storlab::testing;

namespace {

Instant at_ps(int64_t ps) { return Instant::at(Duration::ps(ps)); }
Instant at_us(int64_t us) { return Instant::at(Duration::us(us)); }
constexpr Duration tick = Duration::ps(1);

struct Call : Event {
    std::function<void()> f;
    explicit Call(std::function<void()> call) : f(std::move(call)) {
        fire = [](Event& e) { static_cast<Call&>(e).f(); };
    }
};

struct Run {
    uint64_t hash, completed, timeouts;
    bool operator==(const Run&) const = default;
};
std::ostream& operator<<(std::ostream& s, const Run& r) {
    return s << std::hex << r.hash << std::dec << " completed " << r.completed << " timeouts "
             << r.timeouts;
}

constexpr uint32_t customers = 40;
const Instant fault = at_us(7300), horizon = at_us(20'000);

Run bare(Form form, bool with_fault) {
    Calendar calendar;
    ClosedLoop world(calendar, form, customers);
    if (with_fault) {
        calendar.run_until(fault - tick);
        calendar.advance_to(fault);
        world.fail_device();
    }
    calendar.run_until(horizon - tick);
    return {world.hash(), world.completed(), world.timeouts()};
}

// Beside the fault: daemons at odd periods, so that the kernel stops often and at every kind of
// date.
Run nested(Form form, bool with_fault, bool with_daemons) {
    Calendar calendar;
    ClosedLoop world(calendar, form, customers);
    Cluster cluster(calendar);
    if (with_daemons) {
        for (int i = 0; i < 5; i++) {
            const NodeHandle node = cluster.add_node("node/" + std::to_string(i));
            cluster.spawn(node, "heartbeat", [i](Node& n) {
                for (;;) n.sleep(Duration::ns(10'007) + Duration::ps(i * 333));
            });
        }
        world.on_completion = [&cluster](uint64_t n) {
            if (n % 100 == 0) cluster.post([] {});
        };
    }
    if (with_fault) cluster.at(fault, "device fails", [&] { world.fail_device(); });
    const Cluster::Outcome outcome = cluster.run(horizon);
    CHECK(outcome.ended == horizon);
    CHECK_FALSE(outcome.stopped);
    CHECK(outcome.failures.empty());
    return {world.hash(), world.completed(), world.timeouts()};
}

} // namespace

TEST_CASE("a kernel below SimGrid has the trace of a bare one") {
    const Run reference = bare(Form::collapsed, false);
    CHECK(reference.completed > 10'000);
    CHECK(reference.timeouts == 0);
    CHECK(bare(Form::explicit_queues, false) == reference);
    for (const Form form : {Form::collapsed, Form::explicit_queues})
        for (const bool daemons : {false, true}) CHECK(nested(form, false, daemons) == reference);
}

TEST_CASE("a fault at 7.3 ms has the same victims in a collapsed tandem and in explicit queues") {
    const Run reference = bare(Form::collapsed, true);
    CHECK(reference.timeouts == customers); // all were in flight on the one path
    CHECK(reference.hash != bare(Form::collapsed, false).hash);
    CHECK(bare(Form::explicit_queues, true) == reference);
    for (const Form form : {Form::collapsed, Form::explicit_queues})
        for (const bool daemons : {false, true}) CHECK(nested(form, true, daemons) == reference);
}

TEST_CASE("an action at T finds every event before T done and none at T") {
    Calendar calendar;
    std::vector<std::string> log;
    const Instant t = at_us(7300);
    Call before([&] { log.push_back("before"); }), at([&] { log.push_back("at"); }),
        after([&] { log.push_back("after"); }), first([&] { log.push_back("first"); });
    calendar.schedule(first, at_ps(0));
    calendar.schedule(after, t + tick);
    calendar.schedule(at, t);
    calendar.schedule(before, t - tick);
    Cluster cluster(calendar);
    cluster.at(t, "one", [&] {
        log.push_back("one");
        CHECK(calendar.now() == t);
        cluster.at(t, "three", [&] { log.push_back("three"); });
    });
    cluster.at(t, "two", [&] { log.push_back("two"); });
    cluster.at(at_ps(0), "start", [&] { log.push_back("start"); });
    cluster.at(at_us(9000), "horizon", [&] { log.push_back("horizon"); });
    cluster.run(at_us(9000));
    CHECK(log == std::vector<std::string>{"start", "first", "before", "one", "two", "three", "at",
                                          "after"});
}

TEST_CASE("actions added during the run take their place, whatever the timeline waits for") {
    Calendar calendar;
    Cluster cluster(calendar);
    std::vector<int64_t> seen;
    const auto add = [&](int64_t us) {
        cluster.at(at_us(us), "action",
                   [&] { seen.push_back(calendar.now().since_start().count_ns()); });
    };
    add(90);
    cluster.spawn(cluster.add_node("n"), "adds", [&](Node& n) {
        n.sleep(Duration::us(10));
        for (const int64_t us : {50, 20, 20, 95, 10, 30, 90}) add(us);
        n.sleep(Duration::us(35));
        for (const int64_t us : {45, 47}) add(us);
    });
    Call call([&] { add(96), add(92), add(91); });
    calendar.schedule(call, at_us(91));
    cluster.run(at_us(100));
    CHECK(seen == std::vector<int64_t>{10'000, 20'000, 20'000, 30'000, 45'000, 47'000, 50'000,
                                       90'000, 90'000, 91'000, 92'000, 95'000, 96'000});
}

TEST_CASE("control dates are exact to the picosecond, however close") {
    Calendar calendar;
    Cluster cluster(calendar);
    std::vector<int64_t> woken;
    std::vector<int64_t> expected;
    const NodeHandle node = cluster.add_node("n");
    for (const int64_t ps :
         std::vector<int64_t>{1, 2, 3, 999, 1000, 1001, 1500, 7'300'000'123, 7'300'000'124}) {
        expected.push_back(ps);
        cluster.spawn(node, "sleeper", [&woken, ps](Node& n) {
            n.sleep_until(at_ps(ps));
            woken.push_back(n.now().since_start().count_ps());
        });
    }
    std::vector<int64_t> steps, threes;
    cluster.spawn(node, "short sleeps", [&](Node& n) {
        for (int i = 0; i < 200; i++) {
            n.sleep(Duration::ps(3));
            steps.push_back(n.now().since_start().count_ps());
        }
    });
    CHECK(cluster.run(at_us(8000)).failures.empty());
    std::sort(woken.begin(), woken.end());
    CHECK(woken == expected);
    for (int64_t i = 1; i <= 200; i++) threes.push_back(3 * i);
    CHECK(steps == threes);
}

TEST_CASE("post wakes the control plane at the exact date of the event") {
    Calendar calendar;
    Cluster cluster(calendar);
    std::vector<int64_t> seen, dates;
    std::deque<Call> calls;
    for (const int64_t ps :
         std::vector<int64_t>{1, 123'456'789, 123'456'790, 1'000'000'000'007, 1'000'000'001'000}) {
        dates.push_back(ps);
        calls.emplace_back([&] {
            cluster.post([&] { seen.push_back(calendar.now().since_start().count_ps()); });
        });
        calendar.schedule(calls.back(), at_ps(ps));
    }
    bool later_ran = false; // an event of the same date, but after the one that posts
    calls.emplace_back([&] {
        later_ran = true;
        CHECK(seen.size() == 3);
    });
    calendar.schedule(calls.back(), at_ps(123'456'790));
    cluster.run(at_us(2'000'000));
    CHECK(seen == dates);
    CHECK(later_ran);
}

TEST_CASE("the horizon ends a run in which every actor waits and the load never ends") {
    struct Never {
        bool await_ready() const { return false; }
        void await_suspend(Handle) const {}
        void await_resume() const {}
    };
    const auto wait_for_ever = [](Node& n) { n.run([]() -> Task<void> { co_await Never(); }()); };
    Calendar calendar;
    ClosedLoop world(calendar, Form::collapsed, 4);
    Cluster cluster(calendar);
    for (int i = 0; i < 3; i++)
        cluster.spawn(cluster.add_node("n" + std::to_string(i)), "waits", wait_for_ever);
    const auto outcome = cluster.run(at_us(3000));
    CHECK(outcome.ended == at_us(3000));
    CHECK(calendar.now() == at_us(3000));
    CHECK_FALSE(outcome.stopped);
    CHECK(outcome.failures.empty());
    CHECK(world.completed() > 1000);
}

TEST_CASE("stop ends the run at its date, from the data plane, a program or an action") {
    for (const int from : {0, 1, 2, 3}) {
        Calendar calendar;
        ClosedLoop world(calendar, Form::collapsed, 4);
        Cluster cluster(calendar);
        const NodeHandle node = cluster.add_node("n");
        cluster.spawn(node, "idle", [](Node& n) { n.sleep(Duration::s(1)); });
        const Instant t = at_ps(1'234'567'891);
        bool beyond = false;
        Call call([&] { cluster.stop(); }), next([&] { beyond = true; });
        calendar.schedule(next, t + tick);
        if (from == 0) calendar.schedule(call, t);
        if (from == 1)
            cluster.spawn(node, "stops", [&, t](Node& n) {
                n.sleep_until(t);
                cluster.stop();
                n.sleep(tick);
                beyond = true;
            });
        if (from == 2) cluster.at(t, "stop", [&] { cluster.stop(); });
        if (from == 3) cluster.stop();
        const auto outcome = cluster.run(at_us(50'000));
        CHECK(outcome.stopped);
        CHECK(outcome.ended == (from == 3 ? at_ps(0) : t));
        CHECK(calendar.now() == outcome.ended);
        CHECK(outcome.failures.empty());
        CHECK_FALSE(beyond);
        CHECK((world.completed() > 0) == (from != 3));
    }
}

// In a process of its own, because SimGrid's date never goes back: after years of it the other
// tests could not speak of its nanoseconds any more.
TEST_CASE("dates stay exact over a timeline of months, and for the runs after it") {
    const auto months = [] {
        constexpr int64_t day = 24 * 3600;
        Calendar calendar;
        Cluster cluster(calendar);
        std::vector<Instant> expected, seen;
        std::deque<Call> calls;
        const NodeHandle node = cluster.add_node("n");
        for (int d = 1; d <= 90; d++) {
            const Instant t = Instant::at(Duration::s(d * day) + Duration::ps(d * 1001 + 7));
            for (const Instant i : {t, t + tick, t + Duration::ns(1)}) expected.push_back(i);
            cluster.at(t, "daily", [&] { seen.push_back(calendar.now()); });
            calls.emplace_back([&] { cluster.post([&] { seen.push_back(calendar.now()); }); });
            calendar.schedule(calls.back(), t + tick);
            cluster.spawn(node, "nightly", [&seen, t](Node& n) {
                n.sleep_until(t + Duration::ns(1));
                seen.push_back(n.now());
            });
        }
        const Instant end = Instant::at(Duration::s(100 * day));
        return cluster.run(end).ended == end && seen == expected;
    };
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        const bool exact = months() && months() && months();
        const bool after = nested(Form::collapsed, true, true) == bare(Form::collapsed, true);
        _exit(exact && after ? 0 : exact ? 1 : 2);
    }
    int status = -1;
    waitpid(child, &status, 0);
    CHECK(status == 0);
}
