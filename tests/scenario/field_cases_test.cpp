// Traps and field cases that need drives and arrays: what was measured in the field, or what a
// spreadsheet gets wrong, must come out of a run.
#include "models/raid/raid.hpp"
#include "sim/analysis/steady.hpp"
#include "sim/base/random.hpp"
#include "tests/support/scenarios.hpp"
#include "tests/support/timed_device.hpp"
#include <catch2/catch.hpp>
#include <cmath>

using namespace storlab;
using namespace storlab::test;
using Catch::Matchers::Contains;

namespace {
// Member commands of the drives for each I/O of the load.
double commands_per_io(const RunResult& r) {
    double commands = 0;
    for (const StationResult& s : r.stations)
        if (s.name.ends_with("/controller")) commands += s.throughput;
    return commands / iops(r.loads[0]);
}
} // namespace

TEST_CASE("trap: a fresh drive is fast until its spare area is gone") {
    const Settings base = {"loads/users/fio/rw=randwrite", "loads/users/fio/iodepth=16",
                           "loads/users/fio/norandommap=1", "run/scale=64"};
    const auto with = [&](const std::string& state, const std::string& run) {
        Settings s = base;
        s.push_back("machines/box/drives/ssd/state=" + state);
        s.push_back("run=" + run);
        return run_of(one_drive, s);
    };
    const RunResult fresh = with("fresh", "{until: duration, duration: 20ms, scale: 64}"),
                    warmed = with("fresh", "{until: duration, duration: 200ms, warm-up: 3s, "
                                           "scale: 64}"),
                    steady = with("steady", "{until: duration, duration: 200ms, scale: 64}");
    CHECK(iops(fresh.loads[0]) > 1.5 * iops(steady.loads[0]));
    CHECK(iops(warmed.loads[0]) == Approx(iops(steady.loads[0])).epsilon(0.05));
    // Field case 38, SNIA: a figure from before the steady state is labelled.
    const auto labelled = [](const RunResult& r) {
        for (const Assumption& a : r.assumptions)
            if (a.path == "box/ssd/*/state") return a.value;
        return std::string();
    };
    CHECK(labelled(fresh) == "fresh");
    CHECK_THAT(to_json(fresh), Contains("have not reached their steady state"));
    CHECK(labelled(warmed).empty()); // overwritten twice and more
    CHECK(labelled(steady).empty());
    CHECK(labelled(run_of(one_drive)).empty()); // reads do not care
}

TEST_CASE("trap: SNIA's rule tells the decline of a fresh drive from its steady state") {
    const RunResult r =
        run_of(one_drive, {"loads/users/fio/rw=randwrite", "loads/users/fio/iodepth=16",
                           "loads/users/fio/norandommap=1", "machines/box/drives/ssd/state=fresh",
                           "run={until: duration, duration: 4s, scale: 64, step: 100ms}"});
    const std::vector<double>* const rounds = r.series.find("users/iops");
    REQUIRE(rounds);
    REQUIRE(rounds->size() >= 39);
    const auto judge = [&](size_t last) {
        return snia_steady_state(std::span(*rounds).subspan(last - 5, 5));
    };
    bool declining = false;
    for (size_t last = 5; last < 12; last++) declining |= !judge(last).steady;
    CHECK(declining);
    CHECK(judge(rounds->size()).steady);
}

TEST_CASE("trap: the RAID factor is an outcome of size and alignment, not four") {
    const auto writes = [](const Settings& more) {
        Settings s = {"loads/users/fio/rwmixread=0", "run/duration=20ms", "run/scale=64"};
        s.insert(s.end(), more.begin(), more.end());
        return commands_per_io(run_of(small_array, s));
    };
    // Old data and old parity read, both written: two reads and two writes.
    CHECK(writes({}) == Approx(4).epsilon(0.02));
    CHECK(writes({"arrays/main/raid/level=10"}) == Approx(2).epsilon(0.02));
    CHECK(writes({"arrays/main/raid/level=6", "machines/box/drives/ssd/count=8"}) ==
          Approx(6).epsilon(0.02));
    // With two data drives the other one is read instead: P and Q follow from all of the data.
    CHECK(writes({"arrays/main/raid/level=6"}) == Approx(4).epsilon(0.02));
    // A full stripe of three chunks needs no read: four thirds of a block written a block.
    const Settings full = {"loads/users/fio/rw=write", "loads/users/fio/bs=192k",
                           "loads/users/fio/iodepth=1"};
    CHECK(writes(full) / 48 <= 4.0 / 3 * 1.02);
    // Reads have no factor until a drive is lost.
    const auto reads = [](const Settings& more) {
        Settings s = {"loads/users/fio/rw=randread", "run/duration=20ms",
                      "arrays/main/raid/spares=[]"};
        s.insert(s.end(), more.begin(), more.end());
        return commands_per_io(run_of(small_array, s));
    };
    CHECK(reads({}) == Approx(1).epsilon(0.01));
    // A quarter of the reads meets the lost drive and costs three instead.
    CHECK(reads({"timeline=[at 1 us: fail box/ssd/0]"}) == Approx(0.75 + 0.25 * 3).epsilon(0.05));
}

TEST_CASE("trap: drives behind one card do not add up, and the answer names the link") {
    const std::string behind_card = R"(storlab: 1
machines:
  box:
    is: dell-r750
    cpu: {is: xeon-8380}
    host: {is: linux-host}
    cards: {raid: {is: graid-sr1010, slot: x16 gen4}}
    drives: {ssd: {is: memblaze-6926-12.8tb, count: 8, state: filled}}
arrays:
  main: {raid: {level: 5, drives: ssd/*, chunk: 64KiB, engine: raid}}
loads:
  users:
    fio: {rw: write, bs: 1792k, ioengine: libaio, direct: 1, iodepth: 8, numjobs: 8,
          offset_increment: 10%}
    to: main
run: {until: duration, warm-up: 60ms, duration: 400ms, scale: 8192}
)";
    const auto bandwidth = [&](const char* slot) {
        const RunResult r =
            run_of(behind_card, {std::string("machines/box/cards/raid/slot=") + slot});
        CHECK_THAT(r.bottleneck.name, Contains("box/raid/link"));
        CHECK(r.bottleneck.utilisation > 0.85);
        return bandwidth_bytes(r.loads[0]);
    };
    const double x8 = bandwidth("x8 gen4"), x4 = bandwidth("x4 gen4");
    CHECK(x8 / x4 == Approx(2).epsilon(0.05));
    CHECK(x4 < 7.9e9);           // what x4 of generation 4 carries
    CHECK(x4 < 8 * 5.4e9 * 0.5); // the drives' own speeds, added up, promise far more
}

TEST_CASE("trap: the speed limit, not the drive, sets the time of a rebuild") { // field case 8
    const std::string rebuild = replaced(replaced(small_array, ", speed-limit-max: 100GB/s", ""),
                                         "state: filled", "capacity: 15.36TB, raw_capacity: 20TB");
    const auto hours = [&](const Settings& more) {
        Settings s = {"timeline=[at 1 ms: fail box/ssd/1]", "loads/users/fio/iodepth=1",
                      "machines/box/drives/spare/raw_capacity=20TB",
                      "machines/box/drives/spare/capacity=15.36TB",
                      "run={duration: 500ms, scale: 262144}"};
        s.insert(s.end(), more.begin(), more.end());
        const RunResult r = run_of(rebuild, s);
        REQUIRE(r.full_size.size() == 1);
        CHECK_THAT(r.full_size[0].arithmetic, !Contains("not finished"));
        CHECK_FALSE(failed(r));
        return r.full_size[0].value.in_seconds() / 3600;
    };
    const Settings idle = {"loads/users/fio/rate_iops=200"};
    const auto with = [&](Settings more) {
        more.insert(more.end(), idle.begin(), idle.end());
        return hours(more);
    };
    CHECK(with({}) == Approx(20.8).epsilon(0.02)); // 15.36 TB at 200 000 KiB/s
    // Flash three times as fast changes nothing.
    CHECK(with({"machines/box/drives/ssd/t_read=20us",
                "machines/box/drives/spare/t_program=200us"}) == Approx(20.8).epsilon(0.02));
    CHECK(with({"machines/box/drives/ssd/capacity=7.68TB",
                "machines/box/drives/ssd/raw_capacity=10TB",
                "machines/box/drives/spare/capacity=7.68TB",
                "machines/box/drives/spare/raw_capacity=10TB", "run/scale=131072"}) ==
          Approx(10.4).epsilon(0.02));
    CHECK(with({"arrays/main/raid/speed-limit-max=400000KiB/s"}) == Approx(10.4).epsilon(0.05));
}

TEST_CASE("trap: under load a rebuild is slowed and never below its minimum stopped") {
    const auto hours = [](const Settings& more) {
        Settings s = {"timeline=[at 1 ms: fail box/ssd/1]",
                      "arrays/main/raid/speed-limit-max=1GB/s", "run/duration=400ms",
                      "run/scale=64"};
        s.insert(s.end(), more.begin(), more.end());
        const RunResult r = run_of(small_array, s);
        REQUIRE(r.full_size.size() == 1);
        return r.full_size[0].value.in_seconds() / 3600;
    };
    const double idle = hours({"loads/users/fio/rate_iops=50", "loads/users/fio/iodepth=1"}),
                 busy = hours({"loads/users/fio/iodepth=64"}),
                 at_minimum = 7.559e9 / (1000 * 1024) / 3600;
    CHECK(busy > 1.2 * idle);
    CHECK(busy < at_minimum);
    // And the users pay for it: the lower the limit, the less.
    const auto latency = [](const char* limit) {
        return mean_us(
            run_of(small_array,
                   {"timeline=[at 1 ms: fail box/ssd/1]", "run/duration=100ms", "run/scale=64",
                    std::string("arrays/main/raid/speed-limit-max=") + limit})
                .loads[0]);
    };
    CHECK(latency("2GB/s") > latency("20MB/s"));
}

TEST_CASE("trap: two sockets contend for one lock and do less than one") { // field case 4
    const std::string md10 = R"(storlab: 1
machines:
  box:
    is: dell-r750
    cpu: {is: xeon-8380, sockets: 1}
    host: {is: linux-host}
    drives: {ssd: {is: memblaze-6926-12.8tb, count: 4, state: filled}}
arrays:
  main: {raid: {level: 10, drives: ssd/*, chunk: 64KiB, engine: md}}
loads:
  users:
    fio: {rw: randread, bs: 4k, ioengine: libaio, direct: 1, iodepth: 256, numjobs: 16}
    to: main
run: {until: duration, warm-up: 5ms, duration: 20ms, scale: 16384}
)";
    const RunResult one = run_of(md10), two = run_of(md10, {"machines/box/cpu/sockets=2"});
    CHECK(iops(one.loads[0]) > 1.2 * iops(two.loads[0]));
    CHECK(two.bottleneck.name == "main/lock");
    // Twice the cores, and more of them burnt waiting.
    const auto spinning = [](const RunResult& r) {
        for (const auto& [what, share] : r.cpu[0].by_operation)
            if (what == "lock spin") return share;
        return 0.0;
    };
    CHECK(spinning(two) > 0);
    // More drives do not help: it is not the drives.
    const RunResult more =
        run_of(md10, {"machines/box/cpu/sockets=2", "machines/box/drives/ssd/count=8"});
    CHECK(iops(more.loads[0]) < 1.15 * iops(two.loads[0]));
}

TEST_CASE("trap: a mirrored write waits for the slower copy, and its tail for the slowest of N") {
    for (const uint32_t copies : {2u, 3u, 8u}) {
        Calendar calendar;
        FreeCore cpu(calendar);
        Random random(copies, "members");
        std::vector<std::unique_ptr<TimedDevice>> drives;
        std::vector<BlockDevice*> members;
        for (uint32_t i = 0; i < copies; i++) { // answers after 0 to 1 ms, evenly
            drives.push_back(std::make_unique<TimedDevice>(calendar, [&](Instant now) {
                return now + Duration::seconds(1e-3 * random.uniform());
            }));
            members.push_back(drives.back().get());
        }
        RaidOptions o;
        o.level = RaidLevel::raid1;
        Raid raid(calendar, cpu, members, o);
        Histogram latency;
        const auto one_after_another = [](Raid& r, Calendar& c, Histogram& h) -> Task<void> {
            std::vector<std::byte> data(16);
            for (uint64_t i = 0; i < 20'000; i++) {
                const Instant began = c.now();
                co_await r.io(Op::write, {i % 1000}, 1, data.data());
                h.record(c.now() - began);
            }
        };
        one_after_another(raid, calendar, latency)
            .detach(nullptr, [](void*) { return nothing(); })
            .resume();
        while (Event* const e = calendar.pop(Instant::never())) e->fire(*e);
        INFO(copies << " copies");
        REQUIRE(latency.count() == 20'000);
        // The largest of N even draws: P(max < x) = x^N.
        CHECK(latency.mean_ns() / 1e6 == Approx(copies / (copies + 1.0)).epsilon(0.01));
        for (const double p : {0.5, 0.9, 0.99})
            CHECK(latency.percentile(p).value().in_us() / 1e3 ==
                  Approx(std::pow(p, 1.0 / copies)).epsilon(0.015));
    }
}
