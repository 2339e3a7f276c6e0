#include "sim/cluster/cluster.hpp"
#include "tests/cluster/slow_device.hpp"
#include <catch2/catch.hpp>
#include <cstdio>
#include <stdexcept>

using namespace storlab;
using namespace storlab::testing;

namespace {

Instant at_us(int64_t us) { return Instant::at(Duration::us(us)); }

Task<int> write_and_count(BlockDevice& device, int times) {
    std::byte data[16];
    for (int i = 0; i < times; i++) {
        std::fill_n(data, 16, std::byte(i + 1));
        if (co_await device.write(Lba{0}, 1, data) != IoStatus::ok) co_return -1;
    }
    co_return times;
}

long resident_kib() {
    long all = 0, resident = 0;
    FILE* const f = std::fopen("/proc/self/statm", "r");
    if (!f || std::fscanf(f, "%ld %ld", &all, &resident) != 2) resident = -1;
    if (f) std::fclose(f);
    return resident * 4;
}

// Lives on a program's stack; what it does on the way out must be nothing on a dead node.
struct Closer {
    Node& node;
    int& calls;
    int& reached;
    ~Closer() {
        calls++;
        node.sleep(Duration::us(1));
        node.spawn("zombie", [&r = reached](Node&) { r++; });
        (void)node.run([](int& r) -> Task<int> { co_return ++r; }(reached));
    }
};

} // namespace

TEST_CASE("run returns a coroutine's result at the date it has finished") {
    Calendar calendar;
    SlowDevice device(calendar, Duration::ps(10'000'001));
    Cluster cluster(calendar);
    int result = 0;
    Instant when;
    cluster.spawn(cluster.add_node("n"), "writer", [&](Node& n) {
        n.sleep_until(at_us(5));
        result = n.run(write_and_count(n.attach(device), 3));
        when = n.now();
        n.run([](Clock& clock) -> Task<void> {
            co_await sleep_for(clock, Duration::ps(17));
        }(n.clock()));
        CHECK(n.now() == when + Duration::ps(17));
        CHECK(&n.attach(device) == &n.attach(n.attach(device)));
    });
    CHECK(cluster.run(at_us(100)).failures.empty());
    CHECK(result == 3);
    CHECK(when == at_us(35) + Duration::ps(3));
    CHECK(device.contents(0)[15] == std::byte(3));
}

TEST_CASE("a dead node does nothing, not from destructors and not from catch-alls") {
    Calendar calendar;
    SlowDevice device(calendar, Duration::us(10));
    Cluster cluster(calendar);
    const NodeHandle node = cluster.add_node("n");
    int beats = 0, closed = 0, reached = 0, held = 0, thrown_again = 0;
    std::vector<Instant> caught;
    cluster.spawn(node, "closes", [&](Node& n) {
        const Closer closer{n, closed, reached};
        for (;; beats++) n.sleep(Duration::us(10));
    });
    cluster.spawn(node, "holds", [&](Node& n) {
        try {
            n.sleep(Duration::s(1));
            reached++;
        } catch (const std::exception&) { reached++; } catch (...) {
            caught.push_back(calendar.now());
            held++;
        }
        const auto refused = [&](auto call) {
            try {
                call();
                reached++;
            } catch (...) { thrown_again++; }
        };
        refused([&] { n.sleep(Duration()); });
        refused([&] { n.sleep_until(Instant()); });
        refused([&] { (void)n.now(); });
        refused([&] { n.spawn("zombie", [&](Node&) { reached++; }); });
        refused([&] { (void)n.run(write_and_count(device, 1)); });
        refused([&] { n.attach(device); });
        refused([&] { n.clock(); });
        refused([&] { n.keep(nullptr); });
        CHECK(n.incarnation() == 1);
        n.sleep(Duration::us(1));
        reached++;
    });
    cluster.spawn(node, "starts at the date of the fault", [&](Node& n) {
        n.sleep_until(at_us(95));
        reached++; // the fault comes first in no particular order: so this one is half a tick
                   // before
        n.sleep_until(at_us(200));
        reached++;
    });
    cluster.at(at_us(95) + Duration::ps(1), "power off", [&] {
        cluster.power_off(node);
        CHECK_FALSE(cluster.powered(node));
        cluster.spawn(node, "on a machine without power", [&](Node&) { reached++; });
    });
    const auto outcome = cluster.run(at_us(1000));
    CHECK(outcome.failures.empty());
    CHECK(outcome.ended == at_us(1000));
    CHECK(beats == 9);
    CHECK(closed == 1);
    CHECK(held == 1);
    CHECK(thrown_again == 8);
    CHECK(caught == std::vector{at_us(95) + Duration::ps(1)});
    CHECK(reached == 1);
    CHECK(device.submitted == 0);
}

TEST_CASE("a program that refuses to die is reported and goes no further") {
    Calendar calendar;
    Cluster cluster(calendar);
    const NodeHandle node = cluster.add_node("storage/1");
    int after = 0;
    cluster.spawn(node, "immortal", [](Node& n) {
        for (;;) try {
                n.sleep(Duration::us(10));
            } catch (...) {}
    });
    cluster.at(at_us(50), "power off", [&] { cluster.power_off(node); });
    cluster.at(at_us(60), "later", [&] { after++; });
    const auto outcome = cluster.run(at_us(100));
    CHECK(
        outcome.failures ==
        std::vector<std::string>{"storage/1/immortal: goes on without power, whatever it is told"});
    CHECK(after == 1);
}

TEST_CASE("a node may switch itself off, from a program or from its own coroutine's completion") {
    Calendar calendar;
    SlowDevice device(calendar, Duration::us(10));
    Cluster cluster(calendar);
    const NodeHandle a = cluster.add_node("a"), b = cluster.add_node("b");
    int reached = 0;
    cluster.spawn(a, "suicide", [&](Node& n) {
        n.sleep(Duration::us(5));
        cluster.power_off(a);
        (void)n.now();
        reached++;
    });
    cluster.spawn(b, "suicide", [&](Node& n) {
        BlockDevice& d = n.attach(device);
        n.run([](BlockDevice& to, Cluster& c, NodeHandle self, int& r) -> Task<void> {
            co_await write_and_count(to, 1);
            c.power_off(self);
            co_await write_and_count(to, 1);
            r++;
        }(d, cluster, b, reached));
        reached++;
    });
    CHECK(cluster.run(at_us(100)).failures.empty());
    CHECK(reached == 0);
    CHECK(device.submitted == 1);
    CHECK_FALSE(cluster.powered(a));
    CHECK_FALSE(cluster.powered(b));
}

TEST_CASE("late answers to a dead node meet a tombstone, and its frames are freed after them") {
    struct Witness {
        int* alive;
        explicit Witness(int& a) : alive(&a) { ++*alive; }
        Witness(const Witness&) = delete;
        ~Witness() { --*alive; }
    };
    Calendar calendar;
    SlowDevice device(calendar, Duration::us(100)), quick(calendar, Duration::us(1));
    Cluster cluster(calendar);
    const NodeHandle node = cluster.add_node("n");
    int frames = 0, resumed = 0, kept = 0;
    cluster.spawn(node, "reader", [&](Node& n) {
        std::byte data[64]; // on the stack that unwinds while the device still writes
        n.keep(std::make_shared<Witness>(kept));
        std::fill_n(device.contents(0), 64, std::byte(7));
        n.run([](Node& node_, BlockDevice& d, BlockDevice& q, Clock& c, std::byte* to, int& alive,
                 int& r) -> Task<void> {
            const Witness witness(alive);
            struct Last { // a destructor in a frame
                Node& node;
                ~Last() { node.sleep(Duration::us(1)); }
            } const last{node_};
            co_await q.read(Lba{0}, 1, to);
            co_await sleep_for(c, Duration::us(1));
            Io ios[] = {d.read(Lba{0}, 2, to), d.write(Lba{8}, 2, to + 32)};
            co_await all(ios, 2);
            r++;
        }(n, n.attach(device), n.attach(quick), n.clock(), data, frames, resumed));
        resumed++;
    });
    cluster.spawn(node, "timer", [&](Node& n) {
        n.run([](Clock& c, int& alive, int& r) -> Task<void> {
            const Witness witness(alive);
            co_await sleep_for(c, Duration::us(5000));
            r++;
        }(n.clock(), frames, resumed));
    });
    std::vector<int> seen;
    const auto look = [&] { seen.push_back(frames * 10 + kept); };
    cluster.at(at_us(49), "before", look);
    cluster.at(at_us(50), "off", [&] { cluster.power_off(node); });
    cluster.at(at_us(51), "on", [&] { cluster.power_on(node); });
    cluster.at(at_us(101), "commands under way", look);
    cluster.at(at_us(103), "answered", look);
    cluster.at(at_us(104), "buried", look);
    CHECK(cluster.run(at_us(10'000)).failures.empty());
    CHECK(device.answered == 2);
    CHECK(resumed == 0);
    CHECK(seen == std::vector{21, 21, 0, 0});
    CHECK(cluster.incarnation(node) == 2);
}

TEST_CASE("frames still waiting when the world ends are freed with the cluster") {
    Calendar calendar;
    SlowDevice device(calendar, Duration::us(100));
    auto object = std::make_shared<int>();
    {
        Cluster cluster(calendar);
        const NodeHandle node = cluster.add_node("n");
        for (int i = 0; i < 3; i++)
            cluster.spawn(node, "writer", [&](Node& n) {
                n.keep(object);
                (void)n.run(write_and_count(n.attach(device), 1000));
            });
        cluster.at(at_us(50), "off and on", [&] {
            cluster.power_off(node);
            cluster.power_on(node);
            cluster.spawn(node, "again", [&](Node& n) {
                n.keep(object);
                (void)n.run(write_and_count(n.attach(device), 1000));
            });
        });
        cluster.run(at_us(60));
        CHECK(object.use_count() == 5);
    }
    CHECK(object.use_count() == 1);
}

TEST_CASE("a thousand power cycles with commands under way do not grow memory") {
    Calendar calendar;
    SlowDevice device(calendar, Duration::us(30));
    Cluster cluster(calendar);
    const NodeHandle node = cluster.add_node("n");
    uint64_t fresh_early = 0, cycles = 0, unwound = 0;
    long resident_early = 0;
    const auto program = [&](Node& n) {
        for (int i = 0; i < 4; i++)
            n.spawn("writer", [&](Node& w) {
                struct Count {
                    uint64_t& n;
                    ~Count() { n++; }
                } const count{unwound};
                (void)w.run(write_and_count(w.attach(device), 1'000'000));
            });
        for (;;) n.sleep(Duration::us(7));
    };
    cluster.spawn(node, "boot", program);
    for (int i = 1; i <= 1200; i++) {
        cluster.at(at_us(100 * i), "off", [&] { cluster.power_off(node); });
        cluster.at(at_us(100 * i + 10), "on", [&] {
            cluster.power_on(node);
            cluster.spawn(node, "boot", program);
            if (++cycles == 200) {
                fresh_early = FramePool::fresh_bytes;
                resident_early = resident_kib();
            }
        });
    }
    CHECK(cluster.run(at_us(120'050)).failures.empty());
    CHECK(cycles == 1200);
    CHECK(cluster.incarnation(node) == 1201);
    CHECK(unwound == 4 * 1201);
    CHECK(device.submitted > 4 * 1200 * 3);
    CHECK(FramePool::fresh_bytes == fresh_early);
#ifndef __SANITIZE_ADDRESS__ // which keeps what is freed for a while
    CHECK(resident_kib() - resident_early < 256);
#endif
}

TEST_CASE(
    "an exception that leaves a program, an action or a post is reported, and the run goes on") {
    Calendar calendar;
    Cluster cluster(calendar);
    const NodeHandle node = cluster.add_node("storage/2");
    int after = 0;
    cluster.spawn(node, "lease", [](Node& n) {
        n.sleep(Duration::us(1));
        throw std::runtime_error("term went backwards");
    });
    cluster.spawn(node, "odd", [](Node& n) {
        n.sleep(Duration::us(2));
        throw 42;
    });
    cluster.at(at_us(3), "drive 3 fails", [] { throw std::runtime_error("no such drive"); });
    cluster.at(at_us(3), "next", [&] {
        after++;
        cluster.post([] { throw std::runtime_error("no such path"); });
    });
    cluster.spawn(node, "other", [&](Node& n) {
        n.sleep(Duration::us(10));
        after++;
    });
    const auto outcome = cluster.run(at_us(20));
    CHECK(outcome.failures ==
          std::vector<std::string>{"storage/2/lease: term went backwards",
                                   "storage/2/odd: an exception that is no std::exception",
                                   "timeline: drive 3 fails: no such drive",
                                   "posted: no such path"});
    CHECK(after == 2);
    CHECK(outcome.ended == at_us(20));
}

TEST_CASE("an actor that waits inside a handler keeps its own exception") {
    Calendar calendar;
    Cluster cluster(calendar);
    const NodeHandle node = cluster.add_node("n");
    std::vector<std::string> seen;
    for (int i = 0; i < 8; i++)
        cluster.spawn(node, "retry", [&seen, i](Node& n) {
            for (int k = 0; k < 20; k++) {
                const std::string mine = std::to_string(i) + "." + std::to_string(k);
                try {
                    try {
                        throw std::runtime_error(mine);
                    } catch (const std::runtime_error&) {
                        n.sleep(Duration::us(1 + (i * 7 + k) % 5)); // back off
                        throw;
                    }
                } catch (const std::runtime_error& e) {
                    n.sleep(Duration::us(1 + (i * 3 + k) % 4));
                    if (e.what() != mine) seen.push_back(mine + " saw " + e.what());
                }
                if (std::uncaught_exceptions() != 0) seen.push_back("uncaught");
            }
            seen.push_back("done");
        });
    CHECK(cluster.run(at_us(1000)).failures.empty());
    CHECK(seen == std::vector<std::string>(8, "done"));
}
