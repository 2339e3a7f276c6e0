// Whole runs through the front door: the same seed gives the same run, books balance, faults show
// at their dates, and the real world agrees.
#include "tests/support/scenarios.hpp"
#include <catch2/catch.hpp>
#include <chrono>
#include <fstream>
#include <nlohmann/json.hpp>

using namespace storlab;
using namespace storlab::test;
using Catch::Matchers::Contains;

namespace {
const CheckResult& check_named(const RunResult& r, std::string_view name) {
    for (const CheckResult& c : r.checks)
        if (c.name == name) return c;
    throw std::logic_error("no check " + std::string(name));
}
// Nothing differs, nothing is lost, Little's law holds.
void check_sound(const RunResult& r) {
    CHECK(r.integrity.mismatches == 0);
    CHECK(r.integrity.scrub_mismatches == 0);
    CHECK(check_named(r, "accounting").ok);
    CHECK(check_named(r, "little").ok);
    CHECK_FALSE(failed(r));
    for (const LoadResult& l : r.loads) {
        CHECK(total(l).errors == 0);
        CHECK(total(l).latency.count() > 0);
    }
}
// Marks of a phase, "fail at 2 ms": the event, or what followed it.
std::vector<TimelineMark> marks(const RunResult& r, std::string_view what) {
    std::vector<TimelineMark> found;
    for (const TimelineMark& m : r.timeline)
        if (m.what == what) found.push_back(m);
    return found;
}
RunControl real_world(const ScratchFolder& folder) {
    RunControl control;
    control.real = true;
    control.folder = folder.path();
    return control;
}
std::vector<std::string> lines_of(const std::string& file) {
    std::ifstream in(file);
    std::vector<std::string> lines;
    for (std::string line; std::getline(in, line);) lines.push_back(line);
    return lines;
}
} // namespace

TEST_CASE("the same seed gives the same run, another seed another") {
    const RunResult a = run_of(small_array), b = run_of(small_array),
                    other = run_of(small_array, {"run/seed=2"});
    check_sound(a);
    CHECK(a.run.trace_hash.size() == 16);
    CHECK(a.run.trace_hash == b.run.trace_hash);
    CHECK(a.run.trace_hash != other.run.trace_hash);
    CHECK(a.run.hash == b.run.hash);
    CHECK(a.run.hash != other.run.hash);
    // Not only the hash: everything but the wall clock.
    RunResult x = a, y = b;
    x.run.wall = y.run.wall = {};
    CHECK(to_json(x) == to_json(y));
}

TEST_CASE("checking contents does not change a run that only reads") {
    // The hash covers the first word of every read, which without a check nobody has written.
    const auto timing = [](const RunResult& r) {
        return std::tuple(iops(r.loads[0]), total(r.loads[0]).latency.sum_seconds(),
                          total(r.loads[0]).latency.max().count_ps(),
                          utilisation(r, "users/threads"));
    };
    const RunResult on = run_of(one_drive), off = run_of(one_drive, {"run/check=no"});
    CHECK(timing(on) == timing(off));
    CHECK(on.integrity.verified > 1000);
    CHECK(off.integrity.verified == 0);
}

TEST_CASE("the JSON of a run is JSON, and says what the run said") {
    const RunResult r = run_of(small_array, {"timeline=[at 1 ms: fail box/ssd/2]"});
    const auto json = nlohmann::json::parse(to_json(r));
    CHECK(json["run"]["trace_hash"] == r.run.trace_hash);
    CHECK(json["run"]["seed"] == 1);
    CHECK(json["loads"][0]["name"] == "users");
    CHECK(json["jobs"].size() == 1);
    CHECK(json["timeline"].size() == r.timeline.size());
    CHECK(nlohmann::json::parse(to_json(r, {true, -1}))["run"] == json["run"]);
}

TEST_CASE("every RAID level runs, whole and with a drive lost, and every byte is right") {
    for (const char* level : {"0", "1", "5", "6", "10"}) {
        INFO("RAID " << level);
        const std::string set_level = std::string("arrays/main/raid/level=") + level,
                          depth = "loads/users/fio/iodepth=4";
        const std::string spares =
            std::string("arrays/main/raid/spares=") + (*level == '0' ? "[]" : "spare/0");
        const RunResult whole = run_of(small_array, {set_level, depth, spares});
        check_sound(whole);
        CHECK(whole.integrity.verified > 100);
        if (std::string_view(level) == "0") continue; // nothing to survive with
        CHECK(whole.integrity.scrubbed > 1000);
        const RunResult lost = run_of(small_array, {set_level, depth, "arrays/main/raid/spares=[]",
                                                    "timeline=[at 1 ms: fail box/ssd/2]"});
        check_sound(lost);
        CHECK(lost.integrity.verified > 100);
        CHECK(lost.integrity.scrubbed == 0); // there is nothing to compare with
    }
}

TEST_CASE("RAID 0 has nothing to survive a lost drive with, and its load sees the errors") {
    const RunResult r =
        run_of(small_array, {"arrays/main/raid/level=0", "arrays/main/raid/spares=[]",
                             "timeline=[at 1 ms: fail box/ssd/2]"});
    CHECK(total(r.loads[0]).errors > 0);
    CHECK(r.jobs[0].error != 0);
    CHECK(r.integrity.mismatches == 0);
    CHECK(check_named(r, "accounting").ok);
}

TEST_CASE("an event of the timeline happens at its date, and what follows it after it") {
    const RunResult r =
        run_of(small_array, {"timeline=[at 1.25 ms: fail box/ssd/2, at 200 ms: scrub main]",
                             "run/duration=1s", "run/scale=1024", "loads/users/fio/iodepth=1"});
    check_sound(r);
    const auto at = [](const TimelineMark& m) { return m.at.since_start(); };
    REQUIRE(marks(r, "fail").size() == 1);
    CHECK(at(marks(r, "fail")[0]) == Duration::us(1250));
    CHECK(marks(r, "fail")[0].where == "box/ssd/2");
    REQUIRE(marks(r, "lost").size() == 1);
    CHECK(marks(r, "lost")[0].where == "box/ssd/2");
    CHECK(at(marks(r, "lost")[0]) > Duration::us(1250));
    CHECK(at(marks(r, "lost")[0]) < Duration::us(2250)); // the next command to it
    const auto rebuild = marks(r, "rebuild");
    REQUIRE(rebuild.size() == 2);
    CHECK(rebuild[0].phase == "started");
    CHECK(rebuild[1].phase == "done");
    CHECK(rebuild[1].where == "box/spare/0");
    REQUIRE(r.full_size.size() == 1);
    CHECK_THAT(r.full_size[0].what, Contains("box/spare/0"));
    const auto scrub = marks(r, "scrub");
    REQUIRE(scrub.size() == 2);
    CHECK(at(scrub[0]) == Duration::ms(200));
    CHECK(scrub[1].phase == "done, 0 differ");
    CHECK(r.integrity.scrubbed == 1792); // again in sync, and every line is checked at the end
                                         // again in sync, and checked at the end
}

TEST_CASE("a spare whose rebuild finds data gone is not lost itself, and no other one is tried") {
    const RunResult r = run_of(
        small_array, {"timeline=[at 1 ms: fail box/ssd/2, at 2 ms: fail box/ssd/1]",
                      "machines/box/drives/spare/count=2", "arrays/main/raid/spares=spare/*"});
    std::vector<std::string> lost;
    for (const TimelineMark& m : marks(r, "lost")) lost.push_back(m.where);
    CHECK(lost == std::vector<std::string>{"box/ssd/2", "box/ssd/1"});
    std::vector<std::string> rebuild;
    for (const TimelineMark& m : marks(r, "rebuild")) rebuild.push_back(m.where + " " + m.phase);
    CHECK(std::count(rebuild.begin(), rebuild.end(), "box/spare/0 failed") == 1);
}

TEST_CASE("a run without an end of its own ends confident, and its interval is as tight as asked") {
    const RunResult r = run_of(one_drive, {"run/until=confident", "run/confidence=2%"});
    check_sound(r);
    CHECK(r.run.stop_reason == StopReason::confident);
    CHECK_FALSE(r.run.partial);
    REQUIRE(r.loads[0].iops_ci95);
    CHECK(*r.loads[0].iops_ci95 <= 0.02);
}

TEST_CASE("a load with a size or a number of I/Os ends by itself") {
    const RunResult size =
        run_of(one_drive, {"run={until: load, scale: 64}", "loads/users/fio/size=1g"});
    check_sound(size);
    CHECK(size.run.stop_reason == StopReason::load_ended);
    CHECK(size.jobs[0].read.ios == 4096);
    CHECK(size.loads[0].read.bytes == 16 << 20); // of the slice
    REQUIRE(size.full_size.size() == 1);
    CHECK(size.full_size[0].value == size.loads[0].measured * 64);
    const RunResult number =
        run_of(one_drive, {"run={until: load, scale: 64}", "loads/users/fio/number_ios=777",
                           "loads/users/fio/numjobs=3"});
    CHECK(number.jobs[0].read.ios == 3 * 777);
    CHECK(number.full_size.empty());
    CHECK(number.run.stop_reason == StopReason::load_ended);
    const RunResult time =
        run_of(one_drive, {"run={until: load, scale: 64}", "loads/users/fio/runtime=3ms",
                           "loads/users/fio/time_based=1"});
    CHECK(time.run.simulated > Duration::ms(3));
    CHECK(time.run.simulated < Duration::ms(4));
}

TEST_CASE("sizes and offsets of a job are those of the full device, at every scale") {
    const auto region = [](const std::string& scale, const Settings& job) {
        const ScratchFolder folder;
        RunControl control;
        control.iolog = folder.file("log");
        Settings s = job;
        s.insert(s.end(), {"run/scale=" + scale, "run/duration=20ms", "loads/users/fio/iodepth=4"});
        const RunResult r = run_of(one_drive, s, control);
        check_sound(r);
        uint64_t least = UINT64_MAX, most = 0;
        for (const std::string& line : lines_of(control.iolog)) {
            unsigned long long at = 0;
            if (std::sscanf(line.c_str(), "box/ssd/0 read %llu", &at) != 1) continue;
            least = std::min<uint64_t>(least, at);
            most = std::max<uint64_t>(most, at + 4096);
        }
        return std::pair{double(least), double(most)};
    };
    const double drive = 7'559'139'328.0, half = drive / 2;
    for (const char* text : {"16", "64"}) {
        INFO("scale " << text);
        const double scale = std::stod(text);
        const auto [from, to] =
            region(text, {"loads/users/fio/offset=3779567616", "loads/users/fio/size=1889783808"});
        CHECK(from == Approx(half / scale).epsilon(0.01));
        CHECK(to == Approx(half * 1.5 / scale).epsilon(0.01));
        // A region that would be too small for what is in flight stays as large as it needs.
        const auto [begin, end] = region(text, {"loads/users/fio/size=64m"});
        CHECK(begin < 100e3);
        CHECK(end == Approx(4 * 1000 * 4096.0).epsilon(0.01));
    }
    CHECK(
        error_of(one_drive, {"loads/users/fio/size=8g"}) ==
        "mine.yaml:11:10: error: job 'users', clone 0: its region ends 1030795264 bytes beyond the "
        "end of the device; the device has 7559139328 bytes");
}

TEST_CASE("a job with stonewall begins when those before it have ended") {
    const ScratchFolder folder;
    std::ofstream(folder.file("phases.fio"))
        << "[global]\nioengine=psync\nbs=4k\nsize=1m\n[fill]\nrw=write\nnumjobs=2\n"
           "[read]\nstonewall\nrw=read\n[with]\nrw=randread\n[last]\nstonewall\nrw=write\nbs=64k\n";
    const auto with = [&](const char* until) {
        std::ofstream(folder.file("phases.yaml")) << replaced(
            replaced(one_drive, "{rw: randread, bs: 4k, ioengine: libaio, direct: 1, iodepth: 8}",
                     "phases.fio"),
            "{until: duration, duration: 10ms, warm-up: 2ms, scale: 16}",
            std::string("{scale: 16, until: ") + until + "}");
        return load_scenario(folder.file("phases.yaml"), {{}, parts_folder()});
    };
    RunControl control;
    control.iolog = folder.file("log");
    const RunResult r = run(with("load"), control);
    check_sound(r);
    CHECK(r.run.stop_reason == StopReason::load_ended);
    std::string ops; // one letter a request
    for (const std::string& line : lines_of(control.iolog)) {
        if (line.find(" write ") != std::string::npos) ops += 'w';
        if (line.find(" read ") != std::string::npos) ops += 'r';
    }
    CHECK(ops == std::string(32, 'w') + std::string(32, 'r') + "w");
    // Jobs that go on until the run is stopped have no end to wait for.
    CHECK_THROWS_WITH(with("confident"),
                      Contains("phases.fio:8:1: error: job 'read' waits for those before it"));
}

TEST_CASE("an open load issues at its rate, whatever the drive does") {
    const Settings open = {"loads/users/arrivals=open", "loads/users/fio/rate_iops=20000",
                           "loads/users/fio/rate_process=poisson", "run/duration=100ms"};
    const RunResult r = run_of(one_drive, open);
    check_sound(r);
    CHECK(r.loads[0].loop == Loop::open);
    // 2000 arrivals, give or take four standard deviations.
    CHECK(iops(r.loads[0]) == Approx(20000).epsilon(4 / std::sqrt(2000.0)));
    Settings linear = open;
    linear[2] = "loads/users/fio/rate_process=linear";
    CHECK(iops(run_of(one_drive, linear).loads[0]) == Approx(20000).epsilon(0.002));
}

TEST_CASE("a load that hardly ever issues anything ends with its run") {
    const RunResult r = run_of(one_drive, {"loads/users/fio/rate=1", "run/duration=10ms"});
    CHECK(check_named(r, "accounting").ok);
    CHECK_FALSE(failed(r));
    const ScratchFolder folder;
    const auto began = std::chrono::steady_clock::now();
    check_sound(run_of(
        one_drive,
        {"loads/users/fio/rate_iops=1", "run/duration=50ms", "run/warm-up=0s", "run/scale=1024"},
        real_world(folder)));
    CHECK(std::chrono::steady_clock::now() - began < std::chrono::seconds(10));
}

TEST_CASE("two loads run at once and are told apart") {
    const std::string two = replaced(
        small_array, "run:",
        "  backup:\n    fio: {rw: read, bs: 128k, ioengine: libaio, direct: 1, iodepth: 2}\n"
        "    to: main\nrun:");
    const RunResult alone = run_of(small_array), both = run_of(two);
    check_sound(both);
    REQUIRE(both.loads.size() == 2);
    CHECK(load_named(both, "backup").write.latency.count() == 0);
    CHECK(load_named(both, "backup").read.bytes ==
          int64_t(load_named(both, "backup").read.latency.count()) * 128 * 1024);
    CHECK(load_named(both, "users").write.latency.count() > 0);
    CHECK(mean_us(load_named(both, "users")) > mean_us(alone.loads[0]));
}

TEST_CASE("stopped by the user, a run is partial and reports what ran") {
    RunControl control;
    int asked = 0;
    control.progress = [&](const Progress& p) {
        CHECK(p.simulated > Duration{});
        CHECK_FALSE(p.phase.empty());
        return ++asked < 1;
    };
    const RunResult r = run_of(small_array, {"run/duration=30s"}, control);
    CHECK(asked == 1);
    CHECK(r.run.stop_reason == StopReason::interrupted);
    CHECK(r.run.partial);
    CHECK(r.run.simulated < Duration::s(30));
    CHECK(check_named(r, "accounting").ok);
    CHECK(r.integrity.mismatches == 0);
}

TEST_CASE("a slice too small for the load is refused, not simulated") {
    const auto refused = [](const Settings& settings) -> std::string {
        try {
            run_of(small_array, settings);
        } catch (const InputError& error) { return error.what(); }
        return "";
    };
    CHECK_THAT(refused({"run/scale=4096", "loads/users/fio/iodepth=64"}),
               Contains("mine.yaml:16:3: error: at scale 4096 the 64 I/Os in flight cover") &&
                   Contains("set a smaller run/scale"));
    CHECK(refused({"run/scale=256"}).empty());
}

TEST_CASE("the log of requests has every request of a run, in fio's words") {
    const ScratchFolder folder;
    RunControl control;
    control.iolog = folder.file("log");
    const RunResult r = run_of(one_drive,
                               {"run={until: load, scale: 64}", "loads/users/fio/rw=write",
                                "loads/users/fio/size=64m", "loads/users/fio/bs=64k",
                                "loads/users/fio/fsync=8", "loads/users/fio/ioengine=psync"},
                               control);
    check_sound(r);
    std::vector<std::string> want = {"fio version 2 iolog", "box/ssd/0 add", "box/ssd/0 open"};
    for (int i = 0; i < 16; i++) {
        want.push_back("box/ssd/0 write " + std::to_string(i * 65536) + " 65536");
        if (i % 8 == 7) want.push_back("box/ssd/0 sync 0 0");
    }
    want.push_back("box/ssd/0 close");
    CHECK(lines_of(control.iolog) == want);
}

TEST_CASE("over real files a drive dies, a spare is filled, and no byte differs") {
    const ScratchFolder folder;
    const RunResult r = run_of(small_array,
                               {"run/scale=2048", "run/duration=2s", "loads/users/fio/iodepth=1",
                                "timeline=[at 20 ms: fail box/ssd/1]"},
                               real_world(folder));
    check_sound(r);
    CHECK(r.run.world == "real");
    CHECK(r.integrity.verified > 10);
    REQUIRE(marks(r, "rebuild").size() == 2);
    CHECK(marks(r, "rebuild")[1].phase == "done");
    CHECK(r.integrity.scrubbed == 896); // every line: 7.56 GB / 2048 in whole chunks of 64 KiB
}

TEST_CASE("a byte that changes on a drive behind the array's back fails the run") {
    // While the run lasts, somebody writes to the middle of a member's file.
    const ScratchFolder folder;
    RunControl control = real_world(folder);
    bool written = false;
    control.progress = [&](const Progress&) {
        if (written) return true;
        std::fstream file(folder.file("box.ssd.1"), std::ios::in | std::ios::out);
        file.seekp(16 * 4096);
        for (int i = 0; i < 1 << 20; i++) file.put('x');
        written = file.good();
        return true;
    };
    const RunResult r =
        run_of(small_array, {"run/scale=2048", "run/duration=300ms", "loads/users/fio/iodepth=1"},
               control);
    CHECK(written);
    CHECK(r.integrity.scrub_mismatches > 0);
    CHECK(failed(r));
    CHECK(check_named(r, "accounting").ok);
}
