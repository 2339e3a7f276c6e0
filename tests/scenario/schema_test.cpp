// What a wrong scenario is told: each mistake of the reader, with its exact place and words.
#include "tests/support/scenarios.hpp"
#include <algorithm>
#include <catch2/catch.hpp>
#include <fstream>

using namespace storlab;
using namespace storlab::test;

namespace {

const std::string sound = R"(storlab: 1
title: two drives
machines:
  box:
    is: dell-r750
    cpu: {is: xeon-8380, sockets: 2}
    host: {is: linux-host}
    cards: {raid: {is: graid-sr1010}}
    drives:
      ssd: {is: bench-device-gc, count: 4}
      spare: {is: bench-device-gc}
arrays:
  main:
    raid: {level: 5, drives: ssd/*, chunk: 64KiB, engine: md}
loads:
  users:
    fio: {rw: randread, bs: 4k, ioengine: libaio, direct: 1, iodepth: 8}
    to: main
timeline:
  - at 1 ms: fail box/ssd/0
run:
  duration: 5ms
)";

struct Mistake {
    std::string from, to; // in the sound scenario
    std::string error;    // "line:column: error: ..."
};
// The message must be the only one, and be exactly this.
void check(const std::vector<Mistake>& mistakes) {
    for (const Mistake& m : mistakes) {
        INFO(m.from << " -> " << m.to);
        const std::string error = error_of(replaced(sound, m.from, m.to));
        CHECK(error == "mine.yaml:" + m.error);
    }
}

} // namespace

TEST_CASE("the scenario that the mistakes are made in is sound") {
    CHECK(error_of(sound) == "");
    const Scenario s = scenario_of(sound);
    CHECK(s.machines[0].drives.size() == 5);
    CHECK(s.arrays[0].drives.size() == 4);
    CHECK(s.run.until == Until::duration);
    CHECK(s.timeline.size() == 1);
}

TEST_CASE("mistakes at the top of a scenario") {
    check({
        {"storlab: 1", "storlab: 2", "1:10: error: storlab is 2; expected 1 to 1"},
        {"storlab: 1\n", "", "1:1: error: the document needs 'storlab'"},
        {"title: two", "titel: two",
         "2:1: error: unknown key 'titel' in the document; did you mean 'title'?"},
        {"title: two drives", "title: [two]", "2:8: error: title is a list; expected a text"},
        {"run:\n  duration: 5ms", "run: fast",
         "21:6: error: run is a single value; expected a map of keys"},
    });
}

TEST_CASE("mistakes in machines") {
    check({
        {"is: dell-r750", "is: dell-r75",
         "5:9: error: no part 'dell-r75'; did you mean 'dell-r750'?"},
        {"is: dell-r750", "is: my-own-server",
         "5:9: error: no part 'my-own-server'; there is dell-r730, dell-r740xd, dell-r750, "
         "fungible-fs1600"},
        {"is: dell-r750", "is: xeon-8380",
         "5:9: error: part 'xeon-8380' is of kind cpu; expected server"},
        {"cpu: {is: xeon-8380", "cpu: {is: dell-r750",
         "6:15: error: part 'dell-r750' is of kind server; expected cpu"},
        {"sockets: 2", "sockets: 3", "6:35: error: sockets is 3; expected 1 to 2"},
        {"host: {is: linux-host}", "host: {is: linux-md-raid}",
         "7:16: error: part 'linux-md-raid' is of kind raid-engine; expected host-stack"},
        {"host: {is: linux-host}", "host: {is: linux-host, load_reep: 1us}",
         "7:28: error: unknown key 'load_reep' in host; did you mean 'load_reap'?"},
        {"{raid: {is: graid-sr1010}}", "{raid: {is: bench-device-gc}}",
         "8:24: error: part 'bench-device-gc' is of kind ssd; expected raid-card, hba, nic or "
         "dpu"},
        {"{raid: {is: graid-sr1010}}", "{raid: {is: graid-sr1010, slot: x3 gen4}}",
         "8:44: error: 'x3 gen4' is not a slot; write, for example, x8 gen4 socket 0 (x1 to x16, "
         "gen3 to gen5)"},
        {"{raid: {is: graid-sr1010}}", "{ra/id: {is: graid-sr1010}}",
         "8:13: error: 'ra/id' is no name: a name holds letters, digits, '-', '_' and '.'"},
        {"count: 4", "count: 1025",
         "10:41: error: count is 1025; expected 1 to 1024\nmine.yaml:14:30: error: RAID 5 takes 3 "
         "to 63 drives; here are 1"},
        {"count: 4", "count: 4, state: new",
         "10:51: error: 'new' is no state; expected one of fresh, filled, steady"},
        {"count: 4", "count: 4, aged-by: 5KiB",
         "10:53: error: aged-by is the extent of the random writes before the run: a multiple of "
         "4KiB up to 16MiB"},
        {"spare: {is: bench-device-gc}", "spare: {is: graid-sr1010}",
         "11:19: error: part 'graid-sr1010' is of kind raid-card; expected ssd"},
        {"spare: {is: bench-device-gc}", "spare: {count: 1}", "11:14: error: spare needs 'is'"},
    });
}

TEST_CASE("values of parts are checked when the scenario is read, not when it is too late") {
    const auto with = [](const std::string& value, const std::string& error) {
        return Mistake{"spare: {is: bench-device-gc}",
                       "spare: {is: bench-device-gc, " + value + "}", error};
    };
    check({
        with("t_read: banana", "11:44: error: 'banana' is not a duration; write 2us or 2ms"),
        with("t_read: 60", "11:44: error: '60' has no unit; write 60us or 60ms"),
        with("t_read: 2s", "11:44: error: t_read is more than 1 s"),
        with("t_read: {value: 60us}", "11:44: error: t_read must be a single value"),
        with("channel_rate: 0B/s", "11:50: error: channel_rate must be 1MB/s to 1PB/s"),
        with("page: 5KiB", "11:42: error: page must be a multiple of 4KiB up to 256KiB"),
        with("dies: 0", "11:42: error: dies is 0; expected 1 to 65535"),
        with("capacity: 9GB",
             "11:46: error: capacity does not fit: raw_capacity is 1 to 16 times the capacity"),
        with("host_link: x4",
             "11:47: error: 'x4' is not a slot; write, for example, x8 gen4 socket 0 (x1 to x16, "
             "gen3 to gen5)"),
        {"host: {is: linux-host}", "host: {is: linux-host, load_reap: 5}",
         "7:39: error: '5' has no unit; write 5 cycles or 5us"},
        {"host: {is: linux-host}", "host: {is: linux-host, load_reap: 5s}",
         "7:39: error: load_reap takes more than 1 s"},
        {"sockets: 2", "sockets: 2, clock: 0Hz", "6:45: error: clock must be 1MHz to 1000GHz"},
        {"sockets: 2", "sockets: 2, smt_yield: 0.5", "6:49: error: smt_yield must be 1 to 8"},
        {"engine: md", "engine: md, raid_parity: 0B/s",
         "14:76: error: raid_parity must be 1MB/s to 1PB/s"},
        {"{raid: {is: graid-sr1010}}", "{raid: {is: graid-sr1010, piece: 1KiB}}",
         "8:45: error: piece must be a multiple of 4KiB up to 64MiB"},
        {"is: dell-r750", "is: dell-r750\n    dllp_share: 100%",
         "6:17: error: dllp_share leaves nothing for data"},
    });
}

TEST_CASE("mistakes in arrays") {
    check({
        {"level: 5", "level: raid5",
         "14:19: error: 'raid5' is no level; expected one of 0, 1, 5, 6, 10"},
        {"level: 5", "level: 50", "14:19: error: '50' is no level; expected one of 0, 1, 5, 6, 10"},
        {"level: 5, ", "", "14:11: error: raid needs 'level'"},
        {"drives: ssd/*", "drives: [ssd/0, ssd/1]",
         "14:30: error: RAID 5 takes 3 to 63 drives; here are 2"},
        {"drives: ssd/*", "drives: sdd/*",
         "14:30: error: no drive 'sdd/*'; there is spare/0, ssd/0, ssd/1, ssd/2, ssd/3"},
        {"drives: ssd/*", "drives: ssd/*, spares: ssd/3",
         "14:11: error: 'box/ssd/3' is both a drive and a spare of the array"},
        {"drives: ssd/*", "drives: []", "14:30: error: an array needs drives"},
        {"level: 5, drives: ssd/*", "level: 0, drives: ssd/*, spares: spare/0",
         "14:45: error: RAID 0 has nothing to fill a spare with"},
        {"chunk: 64KiB", "chunk: 6KiB", "14:44: error: chunk is a multiple of 4KiB up to 64MiB"},
        {"engine: md", "engine: mdd",
         "14:59: error: no engine 'mdd'; there is md, raid, block-volumes, linux-md-raid; did you "
         "mean 'md'?"},
        {"engine: md", "engine: zfs",
         "14:59: error: no engine 'zfs'; there is md, raid, block-volumes, linux-md-raid"},
        {"chunk: 64KiB", "chunk: 64", "14:44: error: '64' has no unit; write 64KiB"},
        {"engine: md", "engine: md, speed-limit-max: 200000",
         "14:80: error: '200000' has no unit; write 200000KiB/s"},
        {"engine: md", "engine: md, max-speed: 200MiB/s",
         "14:63: error: unknown key 'max-speed' in raid; did you mean 'speed-limit-max'?"},
        {"engine: md", "engine: md, limit-of-rebuild: 200MiB/s",
         "14:63: error: unknown key 'limit-of-rebuild' in raid; known here: level, drives, spares, "
         "chunk, consistency, bitmap, journal, engine, stripe-cache, reads-through-parity, "
         "speed-limit-min, speed-limit-max"},
        {"engine: md", "engine: linux-host",
         "14:59: error: part 'linux-host' is of kind host-stack; expected raid-engine"},
        {"engine: md", "engine: md, stripe-cache: 0",
         "14:77: error: stripe-cache is 0; expected 1 to 1048576"},
        {"engine: md", "engine: md, speed-limit-min: 1GB/s",
         "14:11: error: speed-limit-max is below speed-limit-min"},
        {"engine: md", "engine: md, speed-limit-min: 1B/s",
         "14:11: error: speed limits of a rebuild are at least 100kB/s"},
        {"engine: md", "engine: md, reads-through-parity: perhaps",
         "14:85: error: 'perhaps' is neither yes nor no"},
        {"engine: md", "engine: md, chunck: 4KiB",
         "14:63: error: unknown key 'chunck' in raid; did you mean 'chunk'?"},
        {"  main:\n    raid", "  main:\n    on: bix\n    raid",
         "14:9: error: no machine 'bix'; did you mean 'box'?\n"
         "mine.yaml:19:9: error: no array or drive 'main'; there is box/spare/0, box/ssd/0, "
         "box/ssd/1, box/ssd/2, box/ssd/3"},
        {"loads:", "  more: {raid: {level: 1, drives: \"ssd/3 spare/0\"}}\nloads:",
         "15:9: error: drive 'box/ssd/3' is already in array 'main'"},
    });
}

TEST_CASE("mistakes in loads") {
    check({
        {"to: main", "to: mian", "18:9: error: no array or drive 'mian'; did you mean 'main'?"},
        {"    to: main\n", "", "17:5: error: users needs 'to'"},
        {"to: main", "to: []", "18:9: error: a load needs an array or a drive"},
        {"to: main", "to: main\n    from: bix",
         "19:11: error: no machine 'bix'; did you mean 'box'?"},
        {"to: main", "to: main\n    arrivals: often",
         "19:15: error: 'often' is no arrivals; expected one of closed, open"},
        {"to: main", "to: main\n    arrivals: open",
         "17:10: error: an open load needs rate_iops: the rate of its arrivals"},
        {"iodepth: 8}\n    to: main", "rate_iops: 2g}\n    to: main\n    arrivals: open",
         "17:10: error: an open load arrives at most 1e9 times a second"},
        // A rate of the other direction is none: nothing would ever arrive at any time but now.
        {"iodepth: 8}\n    to: main", "rate_iops: ',1000'}\n    to: main\n    arrivals: open",
         "17:10: error: an open load needs rate_iops: the rate of its arrivals"},
        {"iodepth: 8", "thinktime: 2d", "17:10: error: job 'users' waits for more than 1 d"},
        {"iodepth: 8", "iodepht: 8",
         "17:71: error: 'iodepht' is no fio option storlab knows; did you mean 'iodepth'?"},
        {"bs: 4k", "bs: 4k,16k",
         "17:32: error: '16k' is no fio option; a value with a comma is put in quotes"},
        {"iodepth: 8", "iodepth: 0", "17:71: error: '0' is out of range; expected 1 to 65536"},
        {"iodepth: 8", "buffer_pattern: abc",
         "17:78: error: 'abc' is no pattern; expected \"text\", a number or 0x..."},
        {"bs: 4k", "bs: 1000",
         "17:10: error: job 'users' has sizes or offsets that are no multiple "
         "of 512 bytes, a drive's smallest sector"},
        {"fio: {rw: randread, bs: 4k, ioengine: libaio, direct: 1, iodepth: 8}", "fio: no-such.fio",
         "17:10: error: cannot read the fio job file 'no-such.fio'"},
    });
}

TEST_CASE("mistakes in the timeline") {
    check({
        {"fail box/ssd/0", "fail main",
         "20:5: error: cannot fail 'main'; a drive can fail or be pulled, an array be scrubbed"},
        {"fail box", "fial box",
         "20:14: error: 'fial' is nothing the timeline can do; it can fail, pull, scrub, unplug, "
         "plug, silence, restore, power-off, power-on; did you mean 'fail'?"},
        {"fail box/ssd/0", "scrub box/ssd/0",
         "20:5: error: cannot scrub 'box/ssd/0'; a drive can fail or be pulled, an array be "
         "scrubbed"},
    });
}

TEST_CASE("mistakes in the run") {
    check({
        {"duration: 5ms", "duration: 0s", "22:13: error: duration must be more than nothing"},
        {"duration: 5ms", "duration: 2d",
         "22:13: error: duration can be at most 1 d: longer timelines are not simulated I/O by "
         "I/O"},
        {"duration: 5ms", "warm-up: 9d",
         "22:12: error: warm-up can be at most 1 d: longer timelines are not simulated I/O by I/O"},
        {"duration: 5ms", "until: duration",
         "22:3: error: 'until: duration' needs a duration, such as 200ms"},
        {"duration: 5ms", "until: later",
         "22:10: error: 'later' is no until; expected one of confident, duration, timeline, load"},
        {"duration: 5ms", "confidence: 0.01%",
         "22:15: error: confidence must be between 0.05% and 50%"},
        {"duration: 5ms", "scale: 0", "22:10: error: scale is 0; expected 1 to 4294967296"},
        {"duration: 5ms", "seed: -1",
         "22:9: error: '-1' is negative; expected a whole number of zero or more"},
        {"duration: 5ms", "sector: 1KiB", "22:11: error: sector is 512B or 4KiB"},
        {"duration: 5ms", "check: maybe", "22:10: error: 'maybe' is neither yes nor no"},
        {"duration: 5ms", "durations: 5ms",
         "22:3: error: unknown key 'durations' in run; did you mean 'duration'?"},
    });
    CHECK(error_of(replaced(replaced(sound, "timeline:\n  - at 1 ms: fail box/ssd/0\n", ""),
                            "duration: 5ms", "until: timeline")) ==
          "mine.yaml:20:3: error: 'until: timeline' needs a timeline");
}

TEST_CASE("an event after the end of the run is noted with its line") {
    CHECK(scenario_of(sound).notes.empty());
    const auto notes = [](const Settings& settings) { return scenario_of(sound, settings).notes; };
    CHECK(notes({"run/duration=1ms"}) ==
          std::vector<std::string>{"mine.yaml:20:5: the run ends at 1 ms, before this event; make "
                                   "run/duration longer"});
    CHECK(notes({"run/duration=1ms", "run/warm-up=1ms"}).empty()); // measured from 1 ms on
    CHECK(notes({"run/duration=1ms", "run/until=timeline"}).size() == 1);
    CHECK(notes({"run/duration=1ms", "run/until=confident"}).empty()); // its end is not known
}

TEST_CASE("with several machines it must be said where an array and a load are") {
    const std::string two =
        replaced(sound, "arrays:", "  bax: {is: dell-r750, cpu: {is: xeon-8380}}\narrays:");
    const std::string error = error_of(two);
    CHECK(error ==
          "mine.yaml:15:5: error: several machines: say which the array is on, with 'on'\n"
          "mine.yaml:18:5: error: several machines: say where the load runs, with 'from'\n"
          "mine.yaml:19:9: error: no array or drive 'main'; there is box/spare/0, box/ssd/0, "
          "box/ssd/1, box/ssd/2, box/ssd/3");
}

TEST_CASE("all mistakes of a scenario are reported at once, in the order of the file") {
    std::string text = replaced(sound, "level: 5", "level: 4");
    text = replaced(text, "title", "titel");
    text = replaced(text, "duration: 5ms", "duration: 5");
    const std::string error = error_of(text);
    CHECK(std::count(error.begin(), error.end(), '\n') == 2);
    CHECK(error.find("mine.yaml:2:1") < error.find("mine.yaml:14:19"));
    CHECK(error.find("mine.yaml:14:19") < error.find("mine.yaml:22:13"));
}

TEST_CASE("a setting is read like what it replaces, and a wrong one says so") {
    CHECK(scenario_of(sound, {"run/seed=7"}).run.seed == 7);
    CHECK(error_of(sound, {"run/seed=x"}) ==
          "--set:1:10: error: 'x' is not a whole number; write 2");
    CHECK(error_of(sound, {"machines/box/cpu/clock=0Hz"}) ==
          "--set:1:24: error: clock must be 1MHz to 1000GHz");
    // The hash tells scenarios apart by what they say, however it is written.
    CHECK(scenario_of(sound, {"run/duration=5ms"}).hash == scenario_of(sound).hash);
    CHECK(scenario_of(sound, {"run/duration=6ms"}).hash != scenario_of(sound).hash);
}

TEST_CASE("a mistake in a fio job file stands in the job file") {
    const ScratchFolder folder;
    std::ofstream(folder.file("mine.fio")) << "[global]\nioengine=libaio\n[a]\nrw=randrad\n";
    const std::string yaml = folder.file("mine.yaml");
    std::ofstream(yaml) << replaced(
        sound, "fio: {rw: randread, bs: 4k, ioengine: libaio, direct: 1, iodepth: 8}",
        "fio: {file: mine.fio, iodepth: 0}");
    std::string error;
    try {
        load_scenario(yaml, {{}, parts_folder()});
    } catch (const InputError& e) { error = e.what(); }
    CHECK(error == folder.file("mine.fio") +
                       ":4:4: error: 'randrad' is not one of: read, write, randread, randwrite, "
                       "rw, readwrite, randrw; did you mean 'randread'?\n" +
                       yaml + ":17:36: error: '0' is out of range; expected 1 to 65536");
    // A key of the scenario's own takes the place of the job file's, and a note says so.
    std::ofstream(folder.file("mine.fio")) << "[a]\nrw=randread\niodepth=4\n";
    const Scenario both = load_scenario(yaml, {{"loads/users/fio/iodepth=2"}, parts_folder()});
    CHECK(both.loads[0].jobs[0].iodepth == 2);
    CHECK(both.notes == std::vector<std::string>{"--set:1:25: fio key 'iodepth' holds here, not "
                                                 "the one in " +
                                                 folder.file("mine.fio")});
    // The hash covers the job file's text.
    const auto hash = [&](const char* jobs) {
        std::ofstream(folder.file("mine.fio")) << jobs;
        return load_scenario(yaml, {{"loads/users/fio/iodepth=2"}, parts_folder()}).hash;
    };
    CHECK(hash("[a]\nrw=randread\n") == hash("[a]\nrw=randread\n"));
    CHECK(hash("[a]\nrw=randread\n") != hash("[a]\nrw=read\n"));
}
