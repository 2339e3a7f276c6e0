// The traps of measuring storage, one test each: what fools people with a load generator and a
// spreadsheet must not fool storlab, or storlab must say so.
#include "models/workload/fio/load.hpp"
#include "sim/kernel/station.hpp"
#include "sim/report/text.hpp"
#include "sim/scenario/observer.hpp"
#include "tests/support/scenarios.hpp"
#include "tests/support/timed_device.hpp"
#include <catch2/catch.hpp>
#include <cmath>
#include <fstream>
#include <map>

using namespace storlab;
using namespace storlab::test;
using Catch::Matchers::Contains;
using Catch::Matchers::WithinAbs;

namespace {

// A fio job on such a device for so long, as a run would report it.
LoadResult measure(const std::string& job, bool open, Duration length,
                   const std::function<TimedDevice::Answer()>& device) {
    LoadSchema schema;
    schema.name = "users";
    schema.open = open;
    schema.jobs = fio::parse("[users]\n" + job, "mine.fio").jobs;
    Calendar calendar;
    FreeCore cpu(calendar);
    TimedDevice drive(calendar, device());
    LoadObserver observer(schema, Duration{});
    fio::LoadOptions o;
    o.open = open;
    fio::Load load(
        calendar, {{&drive, nullptr}}, schema.jobs, [&](uint32_t, uint32_t) -> Cpu& { return cpu; },
        observer, o);
    observer.restart(calendar.now());
    load.start();
    const auto run_until = [&](Instant end) {
        while (Event* const e = calendar.pop(end)) e->fire(*e);
    };
    run_until(Instant::at(length));
    observer.close(Instant::at(length));
    const LoadResult r = observer.load_result(length);
    load.stop();
    while (!load.idle()) run_until(calendar.now() + Duration::s(100));
    CHECK(observer.littles_law_gap() < 1e-9);
    return r;
}

// Answers after 100 us, but for ten seconds in the middle of a hundred it does not answer at all.
TimedDevice::Answer stalling() {
    return [](Instant now) {
        const Instant from = Instant::at(Duration::s(45)), to = from + Duration::s(10);
        return (now >= from && now < to ? to : now) + Duration::us(100);
    };
}
// One server that takes 100 us: 10 000 a second and no more.
TimedDevice::Answer station() {
    return [s = FifoStation()](Instant now) mutable { return s.serve(now, Duration::us(100)); };
}

const std::string paced = "rw=randread\nbs=4k\nioengine=libaio\ndirect=1\nrate_iops=";

} // namespace

TEST_CASE("trap: coordinated omission, a stall is one bad sample to a closed load") {
    const std::string job = paced + "1000\niodepth=1\n";
    const LoadResult closed = measure(job, false, Duration::s(100), stalling),
                     open = measure(job, true, Duration::s(100), stalling);
    CHECK(closed.loop == Loop::closed);
    CHECK(open.loop == Loop::open);
    // Closed: the one I/O that met the stall.
    CHECK(total(closed).latency.count_below(Duration::ms(1)) + 1 == total(closed).latency.count());
    CHECK(percentile_us(closed, 0.99) < 110);
    // Open: a tenth of all arrivals waited, up to 10 s, evenly: 9 s at the 99th percentile.
    CHECK(total(open).latency.count() == Approx(100'000).margin(2));
    CHECK(percentile_us(open, 0.99) / 1e6 == Approx(9.0).epsilon(0.02));
    CHECK(percentile_us(open, 0.89) < 110);
    // And the report says which it was.
    const RunResult run_closed = run_of(one_drive),
                    run_open = run_of(
                        one_drive, {"loads/users/arrivals=open", "loads/users/fio/rate_iops=1000"});
    CHECK_THAT(to_text(run_closed), Contains("closed loop"));
    CHECK_THAT(to_text(run_open), Contains("open"));
}

TEST_CASE("trap: open and closed loads differ at 80 % and part company at 110 %") {
    const auto job = [](int rate, int depth) {
        return paced + std::to_string(rate) +
               "\nrate_process=poisson\niodepth=" + std::to_string(depth) + "\n";
    };
    const auto mean_of = [&](bool open, int rate, int seconds) {
        return mean_us(measure(job(rate, 16), open, Duration::s(seconds), station));
    };
    // M/D/1 at 80 %: waits 0.8 / (2 x 0.2) services, then one.
    CHECK(mean_of(true, 8000, 60) == Approx(300).epsilon(0.05));
    CHECK(mean_of(false, 8000, 60) ==
          Approx(300).epsilon(0.05)); // sixteen slots are rarely all busy
    // At 110 % one arrival in eleven stays: a latency that grows as long as one looks.
    // The last one served in 20 s arrived after 20 / 1.1 s and waited for a tenth of that.
    CHECK(mean_of(true, 11'000, 20) == Approx(20e6 / 1.1 / 20).epsilon(0.06));
    CHECK(mean_of(true, 11'000, 40) == Approx(40e6 / 1.1 / 20).epsilon(0.06));
    // Closed, it cannot exceed depth over throughput, however long.
    CHECK(mean_of(false, 11'000, 20) <= 1600 * 1.001);
    CHECK(mean_of(false, 11'000, 40) == Approx(mean_of(false, 11'000, 20)).epsilon(0.02));
}

TEST_CASE("trap: a rate cap below capacity measures the cap, and storlab says nothing binds") {
    const RunResult capped =
                        run_of(one_drive, {"loads/users/fio/rate_iops=10000", "run/duration=50ms"}),
                    free = run_of(one_drive);
    CHECK(iops(capped.loads[0]) == Approx(10'000).epsilon(0.01));
    CHECK(iops(free.loads[0]) > 5 * iops(capped.loads[0]));
    CHECK(capped.bottleneck.name.empty());
    // Eight slots, of which the cap leaves less than one in use: this latency is an idle drive's.
    CHECK(capped.loads[0].effective_depth < 1.1);
    CHECK(free.loads[0].effective_depth == Approx(8).epsilon(0.01));
}

TEST_CASE("trap: reads of drives that were never written are told, whichever state is meant") {
    const auto notes = [](const Settings& s) { return scenario_of(one_drive, s).notes; };
    REQUIRE(notes({"machines/box/drives/ssd/state=fresh"}).size() == 1);
    CHECK_THAT(notes({"machines/box/drives/ssd/state=fresh"})[0],
               Contains("mine.yaml:8:14: these drives are fresh: reads of what was never written"));
    CHECK(notes({"machines/box/drives/ssd/state=fresh", "loads/users/fio/rw=randwrite"}).empty());
    CHECK(notes({"machines/box/drives/ssd/state=steady"}).empty());
    // Nothing said: data are there.
    const std::string silent = replaced(one_drive, ", state: filled", "");
    CHECK(scenario_of(silent).notes.empty());
    CHECK(mean_us(run_of(silent).loads[0]) >
          1.5 * mean_us(run_of(one_drive, {"machines/box/drives/ssd/state=fresh"}).loads[0]));
}

// fio 3.33 does the same: 1000 and 1000 of randrw 70/30 with rate_iops=1000, at depth 1 and 8.
TEST_CASE("trap: a rate is that of each direction, and the mix gives way to it") {
    const auto run = [](const std::string& rates, const std::string& loop, int depth) {
        const RunResult r =
            run_of(one_drive,
                   {"loads/users/fio/rw=randrw", "loads/users/fio/rwmixread=70",
                    "loads/users/fio/rate_iops=\"" + rates + "\"", "loads/users/arrivals=" + loop,
                    "loads/users/fio/iodepth=" + std::to_string(depth), "run/duration=1s"});
        CHECK_FALSE(failed(r));
        const LoadResult& l = r.loads[0];
        return std::pair{double(l.read.latency.count()), double(l.write.latency.count())};
    };
    for (const char* loop : {"closed", "open"})
        for (const int depth : {1, 8}) {
            const double off = loop == std::string("open") ? 4 * std::sqrt(1000.0) : 2 * depth;
            CHECK_THAT(run("1000", loop, depth).first, WithinAbs(1000, off));
            CHECK_THAT(run("1000", loop, depth).second, WithinAbs(1000, off));
            CHECK_THAT(run("300,700", loop, depth).first, WithinAbs(300, off));
            CHECK_THAT(run("300,700", loop, depth).second, WithinAbs(700, off));
        }
    // A direction without a rate goes as fast as it can.
    const auto [reads, writes] = run(",300", "closed", 8);
    CHECK(reads > 10'000);
    CHECK_THAT(writes, WithinAbs(300, 16));
    // What does not happen has no arrivals.
    CHECK_THAT(
        iops(run_of(one_drive, {"loads/users/fio/rw=randrw", "loads/users/fio/rwmixread=100",
                                "loads/users/fio/rate_iops=1000", "loads/users/arrivals=open",
                                "loads/users/fio/rate_process=linear", "run/duration=1s"})
                 .loads[0]),
        WithinAbs(1000, 5));
}

TEST_CASE("trap: percentiles are merged from histograms, never averaged") {
    LoadSeries series(Duration::s(1), Instant());
    double sum_of_p99 = 0;
    for (int window = 0; window < 100; window++) {
        const Duration latency = window < 10 ? Duration::ms(400) : Duration::ms(1);
        for (int i = 0; i < 1000; i++)
            series.record(Instant::at(Duration::s(window) + Duration::us(i)), latency, Bytes(4096));
    }
    series.advance(Instant::at(Duration::s(100)));
    REQUIRE(series.windows().size() == 100);
    for (const LoadWindow& w : series.windows()) sum_of_p99 += w.p99_ns;
    CHECK(sum_of_p99 / 100 / 1e6 == Approx(40.9).epsilon(0.01)); // what averaging would say
    CHECK(series.total().percentile(0.99).value().in_us() / 1e3 == Approx(400).epsilon(0.01));
    // A load's own figure is of reads and writes together, from both histograms.
    const LoadResult users = run_of(small_array).loads[0];
    Histogram both = users.read.latency;
    both.merge(users.write.latency);
    CHECK(total(users).latency.percentile(0.95) == both.percentile(0.95));
}

TEST_CASE("trap: a percentile with fewer than ten I/Os beyond it is a dash") {
    const RunResult few =
        run_of(one_drive, {"run={until: load, scale: 64}", "loads/users/fio/number_ios=500"});
    CHECK(total(few.loads[0]).latency.count() == 500);
    CHECK_FALSE(total(few.loads[0]).latency.percentile(0.999));
    CHECK_FALSE(total(few.loads[0]).latency.percentile(0.99));
    CHECK(total(few.loads[0]).latency.percentile(0.95));
    CHECK(Histogram::samples_needed(0.999) == 10'000);
    const std::string text = to_text(few);
    const size_t row = text.find("\nusers");
    CHECK_THAT(text.substr(row, text.find('\n', row + 1) - row),
               Contains(" - ") && Contains("500"));
}

TEST_CASE("trap: the mean of two kinds of I/O is the latency of none") {
    // The same rate of reads to a drive that holds data and to one that has none to fetch.
    std::string text = replaced(one_drive, "drives: {ssd",
                                "drives: {empty: {is: bench-device-gc, state: fresh}, ssd");
    text = replaced(text, "to: box/ssd/0", "to: \"box/ssd/0 box/empty/0\"");
    const LoadResult r = run_of(text, {"loads/users/fio/numjobs=2",
                                       "loads/users/fio/rate_iops=10000", "run/duration=100ms"})
                             .loads[0];
    const double mean = mean_us(r);
    CHECK(percentile_us(r, 0.25) < mean / 2);
    CHECK(percentile_us(r, 0.75) > mean * 1.4);
    uint64_t near_mean = 0;
    for (const Histogram::Bucket& b : total(r).latency.buckets())
        if (b.low.in_us() > mean * 0.75 && b.high.in_us() < mean * 1.25) near_mean += b.count;
    CHECK(near_mean < total(r).latency.count() / 100);
    CHECK(total(r).latency.buckets().size() >= 2); // which the JSON has, on request
    CHECK_THAT(to_json(run_of(one_drive), {true, -1}), Contains("\"bins\""));
}

TEST_CASE("trap: a quantity is the same in any unit it can be written in") {
    const auto same = [](const std::string& path, const std::vector<std::string>& spellings) {
        std::string first;
        for (const std::string& s : spellings) {
            INFO(path << "=" << s);
            const RunResult r = run_of(small_array, {path + "=" + s});
            if (first.empty()) first = r.run.trace_hash;
            CHECK(r.run.trace_hash == first);
        }
        CHECK(run_of(small_array, {path + "=" + spellings[0], "run/seed=9"}).run.trace_hash !=
              first);
    };
    same("arrays/main/raid/chunk", {"64KiB", "65536B", "65.536kB", "0.0625MiB"});
    same("machines/box/drives/ssd/channel_rate", {"800MB/s", "0.8GB/s", "6.4Gbit/s", "6400Mbit/s"});
    same("machines/box/drives/ssd/t_read", {"60us", "0.06ms", "60000ns"});
    // And the wrong kind of gigabyte is another quantity, 7 % away.
    const Scenario tera = scenario_of(one_drive, {"machines/box/drives/ssd/capacity=7GB"}),
                   tebi = scenario_of(one_drive, {"machines/box/drives/ssd/capacity=7GiB"});
    CHECK(tebi.machines[0].drives[0].part.size("capacity").count() /
              double(tera.machines[0].drives[0].part.size("capacity").count()) ==
          Approx(1.0737).epsilon(0.0001));
    CHECK(double(parse_size("100TB", {}).count()) / Bytes::gib(1024).count() ==
          Approx(90.9).epsilon(0.001));
    CHECK_FALSE(error_of(one_drive, {"machines/box/drives/ssd/capacity=7"}).empty()); // no unit
}

TEST_CASE("trap: no IOPS figure without its block size and mix") {
    const auto what = [](const Settings& s) { return run_of(one_drive, s).loads[0].what; };
    CHECK(what({}) == "randread 4KiB");
    CHECK(what({"loads/users/fio/rw=randrw", "loads/users/fio/rwmixread=70"}) ==
          "randrw 70/30 4KiB");
    CHECK(what({"loads/users/fio/bs=8k,64k", "loads/users/fio/rw=rw"}) == "rw 50/50 8KiB / 64KiB");
    CHECK(what({"loads/users/fio/bsrange=4k-64k"}) == "randread 4KiB to 64KiB");
    CHECK(what({"loads/users/fio/bssplit=4k/50:1m/50"}) == "randread 50% 4KiB, 50% 1MiB");
    CHECK_THAT(to_text(run_of(one_drive)), Contains("randread 4KiB"));
    const ScratchFolder folder;
    std::ofstream(folder.file("two.fio"))
        << "[global]\nioengine=libaio\ndirect=1\n[a]\nrw=randread\n"
           "bs=4k\n[b]\nrw=write\nbs=128k\n";
    std::ofstream(folder.file("two.yaml")) << replaced(
        one_drive, "{rw: randread, bs: 4k, ioengine: libaio, direct: 1, iodepth: 8}", "two.fio");
    const Scenario two = load_scenario(folder.file("two.yaml"), {{}, parts_folder()});
    CHECK(run(two, {}).loads[0].what == "randread 4KiB; write 128KiB");
}

TEST_CASE("trap: a mix of sizes is not its mean size") {
    const ScratchFolder folder;
    RunControl control;
    control.iolog = folder.file("log");
    const RunResult mix = run_of(
        one_drive, {"loads/users/fio/bssplit=4k/50:1020k/50", "run/duration=100ms"}, control);
    const RunResult mean = run_of(one_drive, {"loads/users/fio/bs=512k", "run/duration=100ms"});
    std::map<std::string, int> sizes;
    std::ifstream log(control.iolog);
    for (std::string file, op, offset, bytes, line; std::getline(log, line);) {
        std::istringstream words(line);
        if (words >> file >> op >> offset >> bytes && op == "read") sizes[bytes]++;
    }
    REQUIRE(sizes.size() == 2); // both are there, and nothing between
    const double n = sizes["4096"] + sizes["1044480"];
    CHECK(n > 300);
    CHECK(sizes["4096"] / n == Approx(0.5).margin(3 * 0.5 / std::sqrt(n)));
    // As many bytes an I/O, and a distribution of its own.
    CHECK(percentile_us(mix.loads[0], 0.25) < 0.8 * percentile_us(mean.loads[0], 0.25));
    CHECK(percentile_us(mix.loads[0], 0.75) > 1.2 * percentile_us(mean.loads[0], 0.75));
}

TEST_CASE("trap: what counts is the depth a job really has") {
    const auto depth = [](const Settings& s) {
        return run_of(one_drive, s).loads[0].effective_depth;
    };
    CHECK(depth({"loads/users/fio/numjobs=4"}) == Approx(32).epsilon(0.01)); // of each clone
    CHECK(depth({"loads/users/fio/ioengine=psync", "loads/users/fio/numjobs=4"}) ==
          Approx(4).epsilon(0.01)); // a synchronous engine ignores it
    CHECK(depth({"loads/users/fio/thinktime=100"}) < 1);
}

TEST_CASE("trap: past the knee more depth is only more latency") {
    std::vector<std::pair<double, double>> points; // IOPS, mean in us
    const auto at = [](int depth) {
        const LoadResult l =
            run_of(one_drive, {"loads/users/fio/numjobs=8", "run/duration=20ms", "run/warm-up=20ms",
                               "loads/users/fio/iodepth=" + std::to_string(depth)})
                .loads[0];
        return std::pair(iops(l), mean_us(l));
    };
    const auto [iops_1, us_1] = at(1);
    const auto [iops_2, us_2] = at(2);
    const auto [iops_64, us_64] = at(64);
    const auto [iops_256, us_256] = at(256);
    CHECK(iops_2 == Approx(2 * iops_1).epsilon(0.15)); // before it: depth is rate
    CHECK(iops_256 == Approx(iops_64).epsilon(0.03));  // beyond: flat
    CHECK(us_256 / us_64 == Approx(4).epsilon(0.05));  // and Little's law
    CHECK(us_64 > 3 * us_2);
}
