// What the I/O kernel needs of SimGrid's Model, which the header only hints at. If a new release of
// SimGrid breaks one of these, dates are wrong everywhere else.
#include "sim/cluster/cluster.hpp"
#include "sim/cluster/engine.hpp"
#include <catch2/catch.hpp>
#include <cmath>
#include <simgrid/kernel/Timer.hpp>
#include <simgrid/s4u.hpp>

using namespace storlab;
namespace sg = simgrid::s4u;

namespace {

Instant at_ns(int64_t ns) { return Instant::at(Duration::ns(ns)); }
int64_t ns(double seconds) { return std::llround(seconds * 1e9); }

// Records what SimGrid says and asks, in ns since the start; stops it at given dates.
struct Recorder : Coupled {
    Engine& engine = Engine::with_hosts(2);
    double start = engine.clock();
    std::vector<int64_t> bounds, stops, reached; // bounds: the date it names, or -1
    std::function<void()> at_stop;
    size_t next_stop = 0;

    int64_t now() const { return ns(engine.clock() - start); }
    double run_kernel(double delay) override {
        bounds.push_back(delay < 0 ? -1 : now() + ns(delay));
        if (next_stop < stops.size() && (delay < 0 || stops[next_stop] <= bounds.back()))
            return static_cast<double>(stops[next_stop] - now()) * 1e-9;
        return -1;
    }
    void date_reached() override {
        reached.push_back(now());
        if (next_stop < stops.size() && stops[next_stop] == reached.back()) {
            next_stop++;
            if (at_stop) at_stop();
        }
    }
};

} // namespace

TEST_CASE(
    "SimGrid names its next date, goes there when the kernel has nothing, and stops when it has") {
    Recorder r;
    r.stops = {5, 700, 700, 1500};
    r.engine.run(r, r.start + 1, [](Seat& seat) {
        seat.sleep(1000e-9);
        seat.sleep(1000e-9);
    });
    CHECK(r.bounds == std::vector<int64_t>{1000, 1000, 1000, 1000, 2000, 2000, -1});
    CHECK(r.reached == std::vector<int64_t>{5, 700, 700, 1000, 1500, 2000});
}

TEST_CASE("when all actors wait SimGrid has no date, and the kernel's is taken") {
    Recorder r;
    const WakeUp wake;
    r.stops = {12'345};
    r.at_stop = [&] { wake.give(); };
    int64_t woken = 0;
    r.engine.run(r, r.start + 1, [&](Seat& seat) {
        seat.wait(wake);
        woken = r.now();
    });
    CHECK(r.bounds.front() == -1);
    CHECK(woken == 12'345);
}

TEST_CASE(
    "sleeps, executions, timers and semaphores with a time limit bound the kernel to the ns") {
    const auto bound_of = [](const std::function<void()>& activity) {
        Recorder r;
        int64_t ended = 0;
        r.engine.run(r, r.start + 1, [&](Seat& seat) {
            seat.sleep(100e-9);
            activity();
            ended = r.now();
        });
        REQUIRE(r.bounds.size() >= 2);
        CHECK(r.reached.back() == ended);
        return std::pair(r.bounds[1], ended);
    };
    using Pair = std::pair<int64_t, int64_t>;
    CHECK(bound_of([] { sg::this_actor::sleep_for(7300e-9); }) == Pair{7400, 7400});
    CHECK(bound_of([] { sg::this_actor::execute(4321); }) == Pair{4421, 4421}); // 1e9 flop/s
    CHECK(bound_of([] { sg::Semaphore::create(0)->acquire_timeout(55e-9); }) == Pair{155, 155});
    const auto timer = [] {
        const auto wake = sg::Semaphore::create(0);
        simgrid::kernel::timer::Timer::set(sg::Engine::get_clock() + 999e-9,
                                           [wake] { wake->release(); });
        wake->acquire();
    };
    CHECK(bound_of(timer) == Pair{1099, 1099});
}

TEST_CASE("from the engine's context actors can be started, killed and power switched") {
    Recorder r;
    r.stops = {1000, 2000, 3000, 4000};
    std::vector<std::string> log;
    const auto program = [&](const std::string& name) {
        r.engine.start_actor(
            1, name,
            [&, name](Seat& seat) {
                while (seat.sleep(400e-9)) log.push_back(name + std::to_string(r.now()));
                log.push_back(name + " killed " + std::to_string(r.now()));
                if (!seat.sleep(1)) log.push_back("refused"); // killed is killed
            },
            [&](const std::string& what) { log.push_back(what); });
    };
    r.at_stop = [&] {
        if (r.next_stop == 1) program("a");
        if (r.next_stop == 2) r.engine.power(1, false);
        if (r.next_stop == 3) r.engine.power(1, true), program("b");
        if (r.next_stop == 4) r.engine.kill_main();
    };
    r.engine.run(r, r.start + 1, [](Seat& seat) { CHECK_FALSE(seat.sleep(0.5)); });
    CHECK(r.now() == 4000);
    CHECK(log == std::vector<std::string>{"a1400", "a1800", "a killed 2000", "refused", "b3400",
                                          "b3800", "b killed 4000", "refused"});
}

TEST_CASE(
    "SimGrid's own activities beside the kernel end at their date and see the kernel's there") {
    Calendar calendar;
    Cluster cluster(calendar);
    std::vector<Instant> seen;
    std::vector<std::unique_ptr<Event>> ticks; // the data plane has an event every 7 ns
    int64_t fired = 0;
    static int64_t* count;
    count = &fired;
    for (int i = 1; i <= 20'000; i++) {
        ticks.push_back(std::make_unique<Event>());
        ticks.back()->fire = [](Event&) { ++*count; };
        calendar.schedule(*ticks.back(), at_ns(7 * i));
    }
    cluster.spawn(cluster.add_node("n"), "computes", [&](Node& n) {
        for (const double flops : {1000.0, 33'333.0, 7.0}) {
            sg::this_actor::execute(flops);
            seen.push_back(n.now());
            CHECK(fired == (n.now().since_start().count_ns() - 1) / 7); // all before, none at
        }
    });
    CHECK(cluster.run(at_ns(100'000)).failures.empty());
    CHECK(seen == std::vector{at_ns(1000), at_ns(34'333), at_ns(34'340)});
}
