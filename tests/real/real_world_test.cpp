#include "sim/real/real_world.hpp"
#include <catch2/catch.hpp>
#include <ctime>
#include <functional>
#include <string>
#include <vector>

namespace storlab {
namespace {

// An event that notes its name when it fires, and then does something more.
struct Note : Event {
    std::string name;
    std::vector<std::string>* log;
    std::function<void()> then;
    Note(std::string n, std::vector<std::string>& l, std::function<void()> f = nullptr)
        : name(std::move(n)), log(&l), then(std::move(f)) {
        fire = [](Event& e) {
            auto& self = static_cast<Note&>(e);
            self.log->push_back(self.name);
            if (self.then) self.then();
        };
    }
};
using Names = std::vector<std::string>;

double cpu_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

} // namespace

TEST_CASE("a world with nothing to do comes to its end at once") {
    RealWorld world;
    CHECK(world.run());
}

TEST_CASE("timers fire in order of date, then phase, then setting, and never early") {
    RealWorld world;
    Names log;
    std::vector<Instant> fired;
    const auto note_time = [&] { fired.push_back(world.now()); };
    Note late("late", log, note_time), soon("soon", log, note_time), same("same", log, note_time);
    Note timer("timer", log, note_time);
    timer.phase = Phase::timer;
    const Instant t = world.now() + Duration::ms(5);
    world.wake(late, t + Duration::ms(5));
    world.wake(timer, t);
    world.wake(soon, t);
    world.wake(same, t);
    CHECK(world.run());
    CHECK(log == Names{"soon", "same", "timer", "late"});
    for (int i = 0; i < 3; i++) CHECK(fired[i] >= t);
    CHECK(fired[3] >= t + Duration::ms(5));
}

TEST_CASE(
    "posted events fire in order, from the loop and not from within post; deferred ones last") {
    RealWorld world;
    Names log;
    Note third("third", log), deferred("deferred", log);
    Note first("first", log, [&] {
        world.post(third);
        CHECK(log.size() == 1); // posting fires nothing
    });
    Note second("second", log);
    world.post(deferred, true);
    world.post(first);
    world.post(second);
    CHECK(log.empty());
    CHECK(world.run());
    CHECK(log == Names{"first", "second", "third", "deferred"});
}

TEST_CASE("a date that has passed fires at once") {
    RealWorld world;
    Names log;
    Note past("past", log);
    world.wake(past, Instant::at(Duration::ps(1)));
    CHECK(world.run());
    CHECK(log == Names{"past"});
}

TEST_CASE("stop ends the loop; what is left goes on with the next run") {
    RealWorld world;
    Names log;
    Note b("b", log), a("a", log, [&] { world.stop(); });
    const Instant t = world.now() + Duration::ms(1);
    world.wake(a, t);
    world.wake(b, t);
    CHECK_FALSE(world.run());
    CHECK(log == Names{"a"});
    CHECK(world.run());
    CHECK(log == Names{"a", "b"});

    Note c("c", log), d("d", log);
    Note e("e", log, [&] { world.post(d), world.stop(); });
    world.post(e);
    world.post(c);
    CHECK_FALSE(world.run());
    CHECK(world.run());
    CHECK(log == Names{"a", "b", "e", "c", "d"});
}

TEST_CASE("a waiting loop sleeps") {
    RealWorld world;
    Names log;
    Note end("end", log);
    const double before = cpu_seconds();
    world.wake(end, world.now() + Duration::ms(300));
    CHECK(world.run());
    CHECK(cpu_seconds() - before < 0.1); // spinning would take 0.3
    CHECK(world.ring().system_calls() < 10);
}

TEST_CASE("events that keep posting do not starve timers") {
    RealWorld world;
    Names log;
    bool over = false;
    struct Again : Event {
        RealWorld* world;
        bool* over;
    } again;
    again.world = &world;
    again.over = &over;
    again.fire = [](Event& e) {
        auto& self = static_cast<Again&>(e);
        if (!*self.over) self.world->post(self);
    };
    Note timer("timer", log, [&] { over = true; });
    world.post(again);
    world.wake(timer, world.now() + Duration::ms(5));
    CHECK(world.run());
    CHECK(log == Names{"timer"});
}

TEST_CASE("a free CPU charges nothing, clears the debt and lets the job fire from the loop") {
    RealWorld world;
    FreeCpu cpu(world);
    struct Fired : Job {
        bool yes = false;
    } job;
    job.fire = [](Event& e) { static_cast<Fired&>(e).yes = true; };
    cpu.owe(job.work, Operation::raid_write, 1000);
    cpu.owe_bytes(job.work, Operation::raid_parity, Bytes::mib(1));
    CHECK(job.work.busy == Duration());
    job.work.bytes_in = 4096;
    cpu.run(job);
    CHECK_FALSE(job.yes);
    CHECK(job.work.bytes_in == 0);
    CHECK(world.run());
    CHECK(job.yes);
}

TEST_CASE("coroutines sleep on the real clock") {
    RealWorld world;
    Instant woken;
    const auto sleeper = [&]() -> Task<void> {
        co_await sleep_for(world, Duration::ms(10));
        woken = world.now();
    };
    const Instant start = world.now();
    std::move(sleeper()).detach(nullptr, [](void*) { return nothing(); }).resume();
    CHECK(world.run());
    CHECK(woken - start >= Duration::ms(10));
}

} // namespace storlab
