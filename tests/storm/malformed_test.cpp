// Thousands of damaged scenarios and job files: each is refused with a message or is a scenario,
// and the small ones among those run. Never a crash, a hang, or any other exception. The seed and
// the text are shown when one fails.
#include "sim/base/random.hpp"
#include "tests/support/fabrics.hpp"
#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <sstream>

using namespace storlab;
using namespace storlab::test;

namespace {

std::string text_of(const std::string& file) {
    std::ifstream in(file);
    std::ostringstream text;
    text << in.rdbuf();
    return text.str();
}

const std::vector<std::string> hostile = {"",
                                          "0",
                                          "-1",
                                          "1",
                                          "2",
                                          "1e308",
                                          "-1e308",
                                          "nan",
                                          "inf",
                                          "9223372036854775807",
                                          "9223372036854775808",
                                          "18446744073709551615",
                                          "99999999999999999999999999",
                                          "0.0000000001",
                                          "1EiB",
                                          "0B",
                                          "1B",
                                          "511B",
                                          "7EB",
                                          "1ps",
                                          "106d",
                                          "0s",
                                          "1 iops",
                                          "1e9 iops",
                                          "0B/s",
                                          "1B/s",
                                          "9EB/s",
                                          "100%",
                                          "101%",
                                          "0%",
                                          "0Hz",
                                          "1Hz",
                                          "999999999GHz",
                                          "yes",
                                          "no",
                                          "~",
                                          "null",
                                          "[]",
                                          "{}",
                                          "[a, b]",
                                          "{a: b}",
                                          "*",
                                          "**",
                                          "a/b/c",
                                          "../../etc/passwd",
                                          "/dev/zero",
                                          "fresh",
                                          "steady",
                                          "confident",
                                          "duration",
                                          "load",
                                          "md",
                                          "raid0",
                                          "randrw",
                                          "write",
                                          "4k",
                                          "1g",
                                          "1k-1g",
                                          "4k/50:1g/50",
                                          "zipf:1.2",
                                          "zoned:50/5:50/95",
                                          "x16 gen5",
                                          "gen3",
                                          "'",
                                          "\"",
                                          "${HOME}",
                                          "$pagesize*1000000",
                                          "0x7fffffffffffffff",
                                          "4096",
                                          "65536",
                                          "4294967296",
                                          "\xff\xfe",
                                          "\t"};

class Damage {
public:
    explicit Damage(uint64_t seed) : random_(seed, "damage") {}
    // Every other one only changes numbers, of which many make a scenario nobody thought of.
    std::string apply(std::string text) {
        const uint64_t n = 1 + random_.below(3);
        if (random_.below(2) == 0) {
            for (uint64_t i = 0; i < n; i++) text = other_number(std::move(text));
            return text;
        }
        for (uint64_t i = 0; i < n; i++) text = one(std::move(text));
        return text;
    }

private:
    Random random_;
    size_t place(const std::string& text) { return random_.below(text.size() + 1); }
    std::string one(std::string text) {
        if (text.empty()) return text;
        switch (random_.below(9)) {
        case 0: return text.substr(0, place(text));
        case 1: // a byte is another
            text[random_.below(text.size())] = static_cast<char>(random_.below(256));
            return text;
        case 2: return text.erase(random_.below(text.size()), 1 + random_.below(8));
        case 3: return without_line(text, false);
        case 4: return without_line(text, true);
        case 5: // nested deeply
            return text.insert(place(text),
                               std::string(1 + random_.below(300), "[{("[random_.below(3)]));
        default: return other_value(std::move(text));
        }
    }
    std::string without_line(const std::string& text, bool twice) {
        const size_t from = text.rfind('\n', random_.below(text.size())) + 1;
        const size_t end = std::min(text.find('\n', from), text.size() - 1) + 1;
        if (end <= from) return text;
        const std::string line = text.substr(from, end - from);
        return twice ? text.substr(0, end) + line + text.substr(end)
                     : text.substr(0, from) + text.substr(end);
    }
    std::string other_number(std::string text) {
        static constexpr const char* numbers[] = {"0",          "1",          "2",
                                                  "3",          "5",          "7",
                                                  "8",          "9",          "15",
                                                  "16",         "17",         "31",
                                                  "33",         "63",         "64",
                                                  "65",         "99",         "100",
                                                  "101",        "128",        "255",
                                                  "512",        "999",        "1000",
                                                  "1023",       "4095",       "4097",
                                                  "65535",      "65536",      "1000000",
                                                  "4294967295", "4294967296", "9223372036854775807",
                                                  "0.5",        "1.5"};
        const size_t from = text.find_first_of("0123456789", place(text));
        if (from == std::string::npos) return text;
        const size_t end = std::min(text.find_first_not_of("0123456789.", from), text.size());
        return text.replace(from, end - from, numbers[random_.below(std::size(numbers))]);
    }
    // A value is replaced: what stands between a colon or an equals sign and the next end.
    std::string other_value(std::string text) {
        std::vector<size_t> starts;
        for (size_t i = 0; i + 1 < text.size(); i++)
            if ((text[i] == ':' && text[i + 1] == ' ') || text[i] == '=') starts.push_back(i + 1);
        if (starts.empty()) return text;
        const size_t from = starts[random_.below(starts.size())];
        const size_t end = std::min(text.find_first_of(",}\n", from), text.size());
        return text.replace(from, end - from, " " + hostile[random_.below(hostile.size())]);
    }
};

// What a run of it would hold in memory and do, roughly; only the small ones are run.
bool is_small(const Scenario& s) {
    uint64_t blocks = 0, drives = 0;
    double in_flight = 0, largest = 0;
    const Slice slice{s.run.scale ? s.run.scale : choose_scale(s), s.run.sector, sketch_bytes};
    for (const MachineSchema& m : s.machines)
        for (const DriveSchema& d : m.drives) blocks += slice_blocks(d, slice), drives++;
    for (const LoadSchema& l : s.loads)
        for (const fio::Job& j : l.jobs) {
            in_flight += static_cast<double>(fio::effective_depth(j).total);
            largest = std::max({largest, double(j.block.read.largest().count()),
                                double(j.block.write.largest().count())});
        }
    return blocks < 200'000 && drives < 100 && in_flight < 2000 && largest < 64e6 &&
           in_flight * largest < 1e9;
}

struct Tally {
    int refused = 0, read = 0, ran = 0;
};
// True if all is well: refused with places and words, or a scenario, which runs if it is small.
bool survives(const std::string& text, const std::string& name, Tally& tally) {
    ScenarioOptions o;
    o.parts_folder = parts_folder();
    try {
        Scenario s = read_scenario(text, name, o);
        tally.read++;
        s.run.until = Until::duration;
        s.run.duration = Duration::ms(1);
        s.run.warm_up.reset();
        std::erase_if(s.timeline, [](const TimelineEvent& e) { return e.at > Duration::ms(1); });
        if (!is_small(s)) return true;
        const RunResult r = run(s, {});
        tally.ran++;
        return r.integrity.mismatches == 0 && !to_json(r).empty();
    } catch (const InputError& error) {
        tally.refused++;
        for (const Complaint& c : error.complaints())
            if (c.what.empty() || c.where.file.empty()) return false;
        return !error.complaints().empty();
    }
}

int variants() {
    const char* n = std::getenv("STORLAB_STORM");
    return n ? std::max(1, std::atoi(n)) : 1;
}

// Reports by name what kind of exception came, where the test framework would not show the seed.
void storm(const std::string& sound, const std::string& name, int count, Tally& tally,
           const std::function<std::string(const std::string&)>& wrap) {
    for (int seed = 1; seed <= count; seed++) {
        Damage damage(static_cast<uint64_t>(seed) + hash_name(name));
        const std::string text = wrap(damage.apply(sound));
        CAPTURE(seed, name, text);
        const auto began = std::chrono::steady_clock::now();
        bool ok = false;
        try {
            ok = survives(text, name, tally);
        } catch (const std::exception& e) { FAIL("another exception: " << e.what()); }
        if (!ok) CHECK(ok);
        const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
        if (took.count() > 20) CHECK(took.count() <= 20);
    }
}

const std::string every_part = R"(storlab: 1
title: everything
machines:
  box:
    is: dell-r750
    max_payload: 256B
    cpu: {is: xeon-8380, sockets: 2, clock: 2.3GHz, smt_yield: 1.25}
    host: {is: linux-host, load_submit: 1150 cycles}
    cards: {card: {is: graid-sr1010, slot: x16 gen4 socket 0, piece: 256KiB}}
    drives:
      ssd: {is: bench-device-gc, count: 4, state: steady, aged-by: 8KiB, dies: 64, channels: 8,
            t_read: 60us, buffer: 1MiB, channel_rate: 800MB/s, page: 4KiB, planes: 2,
            capacity: 16MiB, raw_capacity: 20MiB}
      spare: {is: bench-device-gc, capacity: 16MiB, raw_capacity: 20MiB}
      fast: {is: bench-device-read, count: 4, state: filled, host_link: gen3 x4,
             capacity: 16MiB, raw_capacity: 20MiB}
arrays:
  main:
    raid: {level: 5, drives: ssd/*, spares: spare/0, chunk: 64KiB, engine: md, stripe-cache: 128,
           speed-limit-min: 1MB/s, speed-limit-max: 2GB/s, raid_parity: 9.5GB/s, workers: 17}
  other:
    raid: {level: 6, drives: fast/*, chunk: 4KiB, engine: card}
loads:
  users:
    fio: {rw: randrw, rwmixread: 70, bs: 4k, ioengine: libaio, direct: 1, iodepth: 8, numjobs: 2,
          size: 4m, offset: 1m, rate_iops: "10000,5000", fsync: 16, thinktime: 10}
    to: main
  open:
    fio: {rw: randread, bssplit: 4k/50:64k/50, rate_iops: 1000, rate_process: poisson,
          random_distribution: zipf:1.1, randseed: 5}
    to: other
    arrivals: open
timeline:
  - at 100us: fail box/ssd/1
  - at 500us: scrub other
run: {duration: 1ms, warm-up: 100us, scale: 1, seed: 3, step: 100us, check: yes}
)";
} // namespace

TEST_CASE("damaged scenarios are refused or run, and nothing else") {
    Tally tally;
    const auto as_is = [](const std::string& text) { return text; };
    REQUIRE(survives(every_part, "mine.yaml", tally));
    REQUIRE(tally.ran == 1);
    storm(every_part, "mine.yaml", 700 * variants(), tally, as_is);
    storm(small_array, "small.yaml", 400 * variants(), tally, as_is);
    storm(fibre_channel, "fibre_channel.yaml", 300 * variants(), tally, as_is);
    storm(ethernet, "ethernet.yaml", 200 * variants(), tally, as_is);
    for (const char* file :
         {"scenarios/tour/one_drive.yaml", "scenarios/tour/raid5_rebuild.yaml"}) {
        const std::string text = text_of(file);
        REQUIRE(text.size() > 100);
        storm(text, file, 200 * variants(), tally, as_is);
    }
    // The storm must hit both ways, or it shows nothing.
    CHECK(tally.refused > 500);
    CHECK(tally.ran > 50);
}

TEST_CASE("damaged fio jobs are refused or run, and nothing else") {
    Tally tally;
    const std::string jobs = text_of("tests/support/jobs/mixed.fio");
    REQUIRE(jobs.size() > 100);
    const ScratchFolder folder;
    const std::string small =
        replaced(replaced(one_drive, "scale: 16", "scale: 1"), "state: filled",
                 "state: filled, capacity: 64MiB, raw_capacity: 80MiB");
    const std::string yaml = replaced(
        small, "{rw: randread, bs: 4k, ioengine: libaio, direct: 1, iodepth: 8}", "mixed.fio");
    storm(jobs, folder.file("mine.yaml"), 500 * variants(), tally, [&](const std::string& text) {
        std::ofstream(folder.file("mixed.fio"), std::ios::binary) << text;
        return yaml;
    });
    CHECK(tally.refused > 100);
    CHECK(tally.ran > 20);
}
