#include "sim/cluster/cluster.hpp"
#include "tests/cluster/closed_loop.hpp"
#include "tests/cluster/slow_device.hpp"
#include <algorithm>
#include <catch2/catch.hpp>
#include <csignal>
#include <ctime>
#include <stdexcept>

using namespace storlab;
using namespace storlab::testing;

namespace {

Instant at_us(int64_t us) { return Instant::at(Duration::us(us)); }
double cpu_seconds() {
    timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

// A run with a bit of everything: heartbeats, coroutines, faults, power, posts.
uint64_t scenario() {
    Calendar calendar;
    ClosedLoop world(calendar, Form::collapsed, 16);
    SlowDevice device(calendar, Duration::us(11));
    Cluster cluster(calendar);
    uint64_t log = 0;
    const auto note = [&](uint64_t what) {
        log = mix(log ^ static_cast<uint64_t>(calendar.now().since_start().count_ps())) + what;
    };
    world.on_completion = [&](uint64_t n) {
        if (n % 500 == 0) cluster.post([&] { note(1); });
    };
    for (int i = 0; i < 10; i++) {
        const NodeHandle node = cluster.add_node("n" + std::to_string(i));
        const auto program = [&, i](Node& n) {
            std::byte data[16] = {};
            for (;;) {
                n.sleep(Duration::us(20 + i));
                note(2);
                n.run([](BlockDevice& d, std::byte* at) -> Task<void> {
                    co_await d.write(Lba{1}, 1, at);
                }(n.attach(device), data));
                note(3);
            }
        };
        cluster.spawn(node, "daemon", program);
        cluster.at(at_us(900 + 100 * i), "off", [&cluster, node] { cluster.power_off(node); });
        cluster.at(at_us(1000 + 100 * i), "on", [&cluster, node, program] {
            cluster.power_on(node);
            cluster.spawn(node, "daemon", program);
        });
    }
    cluster.at(at_us(1500), "fault", [&] { world.fail_device(); });
    const auto outcome = cluster.run(at_us(4000));
    CHECK(outcome.failures.empty());
    return log ^ world.hash();
}

} // namespace

TEST_CASE("fifty runs in one process give equal results and do not get dearer") {
    const uint64_t reference = scenario();
    std::vector<double> costs;
    for (int i = 0; i < 50; i++) {
        const double start = cpu_seconds();
        REQUIRE(scenario() == reference);
        costs.push_back(cpu_seconds() - start);
    }
#ifndef __SANITIZE_ADDRESS__
    const auto quickest = [&](int first, int last) {
        return *std::min_element(costs.begin() + first, costs.begin() + last);
    };
    CHECK(quickest(40, 50) < 1.5 * quickest(0, 10));
#endif
}

TEST_CASE("a cluster may have more nodes than any before it in the process") {
    const uint64_t reference = scenario();
    for (const uint32_t nodes : {10u, 200u, 63u, 64u}) {
        Calendar calendar;
        Cluster cluster(calendar);
        uint32_t ran = 0;
        for (uint32_t i = 0; i < nodes; i++)
            cluster.spawn(cluster.add_node("n" + std::to_string(i)), "program", [&](Node& n) {
                n.sleep(Duration::us(3));
                ran++;
            });
        cluster.power_off(NodeHandle{nodes - 1});
        CHECK(cluster.run(at_us(10)).failures.empty());
        CHECK(ran == nodes - 1);
    }
    CHECK(scenario() == reference);
}

TEST_CASE("a run may begin at any date of its calendar, and a cluster need not run at all") {
    Calendar calendar;
    calendar.advance_to(at_us(123));
    std::vector<Instant> seen;
    {
        Cluster cluster(calendar);
        cluster.spawn(cluster.add_node("n"), "program", [&](Node& n) {
            seen.push_back(n.now());
            n.sleep(Duration::us(1));
            seen.push_back(n.now());
        });
        CHECK(cluster.run(at_us(200)).ended == at_us(200));
    }
    CHECK(seen == std::vector{at_us(123), at_us(124)});
    Cluster never_run(calendar);
    never_run.spawn(never_run.add_node("n"), "program", [&](Node&) { seen.clear(); });
    never_run.at(at_us(300), "action", [&] { seen.clear(); });
    CHECK(seen.size() == 2);
}

TEST_CASE("an exception of the data plane comes out of run, and the next run is sound") {
    const uint64_t reference = scenario();
    struct Bomb : Event {
    } bomb;
    bomb.fire = [](Event&) { throw std::runtime_error("boom"); };
    {
        Calendar calendar;
        Cluster cluster(calendar);
        cluster.spawn(cluster.add_node("n"), "program", [](Node& n) {
            for (;;) n.sleep(Duration::us(1));
        });
        calendar.schedule(bomb, at_us(50));
        CHECK_THROWS_WITH(cluster.run(at_us(100)), "boom");
        CHECK(calendar.now() == at_us(50));
    }
    CHECK(scenario() == reference);
}

TEST_CASE("the engine leaves the program's signal handlers alone") {
    static volatile std::sig_atomic_t got = 0;
    const auto handler = [](int s) { got = s; };
    struct sigaction before[32];
    struct sigaction mine {};
    mine.sa_handler = handler;
    struct sigaction old;
    sigaction(SIGINT, &mine, &old);
    for (int s = 1; s < 32; s++) sigaction(s, nullptr, &before[s]);
    {
        Calendar calendar;
        Cluster larger(calendar); // than any before: a new engine
        for (int i = 0; i < 300; i++) larger.add_node("n" + std::to_string(i));
        larger.run(at_us(1));
    }
    scenario();
    for (int s = 1; s < 32; s++) {
        struct sigaction now;
        sigaction(s, nullptr, &now);
        CHECK(now.sa_handler == before[s].sa_handler);
    }
    raise(SIGINT);
    CHECK(got == SIGINT);
    sigaction(SIGINT, &old, nullptr);
}
