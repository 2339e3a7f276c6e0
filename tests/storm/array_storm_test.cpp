// Arrays in a storm: from a seed come a level, drives, chunk, engine, loads and drives that die at
// random dates with or without spares. Whatever happens, no read returns what was not written,
// every request comes back, and what has all its drives scrubs clean; with no more losses than the
// level survives there is no error either. A failure shows its scenario, which `storlab run`
// repeats. STORLAB_STORM=50 runs that many times the seeds.
#include "sim/base/random.hpp"
#include "tests/support/scenarios.hpp"
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>

using namespace storlab;
using namespace storlab::test;

namespace {

struct Storm {
    std::string text;
    bool survivable; // no data can be lost
};

class Weather {
public:
    explicit Weather(uint64_t seed) : random_(seed, "storm") {}
    Storm make() {
        static constexpr int levels[] = {1, 5, 6, 10};
        level_ = levels[random_.below(4)];
        const int least = level_ == 6 ? 4 : level_ == 5 ? 3 : 2;
        members_ = least + static_cast<int>(random_.below(level_ == 1 ? 3 : 5));
        spares_ = static_cast<int>(random_.below(3));
        Storm s;
        s.text = machine() + array() + loads();
        s.text += timeline(s.survivable);
        s.text += "run: {until: duration, scale: 1, duration: " +
                  std::to_string(40 + random_.below(120)) +
                  "ms, seed: " + std::to_string(random_.below(1000)) + "}\n";
        return s;
    }

private:
    Random random_;
    int level_ = 5, members_ = 3, spares_ = 0;

    template <size_t N> std::string one_of(const char* const (&words)[N]) {
        return words[random_.below(N)];
    }
    bool chance(int percent) { return static_cast<int>(random_.below(100)) < percent; }
    std::string machine() {
        const std::string mib = std::to_string(4 + random_.below(12));
        const std::string size =
            "is: bench-device-gc, capacity: " + mib + "MiB, raw_capacity: 20MiB, dies: 64, ";
        std::string text = "storlab: 1\nmachines:\n  box:\n    is: dell-r750\n"
                           "    lanes_per_socket: 1024\n    cpu: {is: xeon-8380}\n"
                           "    host: {is: linux-host}\n    cards: {card: {is: graid-sr1010}}\n"
                           "    drives:\n";
        text += "      ssd: {" + size + "count: " + std::to_string(members_) +
                ", state: " + one_of({"fresh", "filled", "steady"}) + "}\n";
        if (spares_ > 0)
            text += "      spare: {" + size + "count: " + std::to_string(spares_) + "}\n";
        return text;
    }
    std::string array() {
        return "arrays:\n  main:\n    raid: {level: " + std::to_string(level_) +
               ", drives: ssd/*, chunk: " + one_of({"4KiB", "16KiB", "64KiB", "256KiB"}) +
               (spares_ > 0 ? ", spares: spare/*" : "") +
               ", engine: " + one_of({"md", "md", "md", "card"}) +
               ", speed-limit-max: " + one_of({"10GB/s", "10GB/s", "50MB/s"}) + "}\n";
    }
    std::string loads() {
        std::string text = "loads:\n";
        const uint64_t n = 1 + random_.below(2);
        for (uint64_t i = 0; i < n; i++) {
            const std::string rw = one_of({"randrw", "randrw", "rw", "randwrite", "write", "read"});
            text +=
                "  load" + std::to_string(i) + ": {to: main, fio: {rw: " + rw + ", " +
                one_of({"bs: 4k", "bs: 4k", "bs: 64k", "bs: 300k", "bsrange: 4k-128k",
                        "bssplit: 4k/70:192k/30", "bs: 512"}) +
                ", ioengine: libaio, direct: 1, iodepth: " + std::to_string(1 + random_.below(24)) +
                ", numjobs: " + std::to_string(1 + random_.below(3)) +
                (chance(30) ? ", fsync: 8" : "") + (chance(30) ? ", norandommap: 1" : "") +
                (chance(20) ? ", random_distribution: zipf:1.2" : "") + "}}\n";
        }
        return text;
    }
    std::string at() { return "  - at " + std::to_string(1 + random_.below(40'000)) + " us: "; }
    std::string timeline(bool& survivable) {
        const int most = level_ == 6 ? 2 : level_ == 1 ? members_ - 1 : 1;
        int losses = static_cast<int>(random_.below(static_cast<uint64_t>(most) + 1));
        if (chance(25)) losses++;
        survivable = losses <= most;
        std::vector<int> drives;
        for (int i = 0; i < members_; i++) drives.push_back(i);
        std::string text;
        for (int i = 0; i < losses; i++) {
            std::swap(drives[static_cast<size_t>(i)],
                      drives[static_cast<size_t>(i) +
                             random_.below(drives.size() - static_cast<size_t>(i))]);
            text += at() + one_of({"fail", "pull"}) + " box/ssd/" +
                    std::to_string(drives[static_cast<size_t>(i)]) + "\n";
        }
        if (spares_ > 0 && chance(25)) text += at() + "fail box/spare/0\n";
        if (chance(30)) text += at() + "scrub main\n";
        return text.empty() ? "" : "timeline:\n" + text;
    }
};

uint64_t seeds() {
    const char* times = std::getenv("STORLAB_STORM");
    return 150 * static_cast<uint64_t>(times ? std::max(1, std::atoi(times)) : 1);
}

// Something that is wrong, or nothing.
std::string wrong(const Storm& s, const RunResult& r) {
    if (r.integrity.mismatches)
        return "reads differ: " + (r.integrity.first.empty() ? "" : r.integrity.first[0]);
    if (r.integrity.scrub_mismatches) return "the scrub differs";
    for (const CheckResult& c : r.checks)
        if (!c.ok) return c.name + ": " + c.text;
    uint64_t errors = 0;
    for (const LoadResult& l : r.loads) errors += total(l).errors;
    if (s.survivable && errors) return std::to_string(errors) + " errors";
    for (const TimelineMark& m : r.timeline)
        if (m.what == "scrub" && m.phase.starts_with("done") && m.phase != "done, 0 differ")
            return "a scrub under load: " + m.phase;
    return "";
}
} // namespace

TEST_CASE("whatever drives do, an array returns what was written and loses no request") {
    uint64_t rebuilt = 0, degraded = 0, scrubbed = 0, compared = 0;
    for (uint64_t seed = 1; seed <= seeds(); seed++) {
        const Storm storm = Weather(seed).make();
        CAPTURE(seed, storm.text);
        std::string what;
        RunResult r;
        try {
            r = run_of(storm.text);
            what = wrong(storm, r);
        } catch (const std::exception& e) { what = e.what(); }
        if (!what.empty()) CHECK(what == "");
        for (const TimelineMark& m : r.timeline) {
            rebuilt += m.what == "rebuild" && m.phase == "done";
            degraded += m.what == "lost";
        }
        compared += r.integrity.verified > 100;
        scrubbed += r.integrity.scrubbed > 0;
    }
    // The storm must have blown.
    CHECK(rebuilt > seeds() / 20);
    CHECK(degraded > seeds() / 3);
    CHECK(scrubbed > seeds() / 3);
    CHECK(compared > seeds() / 2);
}

TEST_CASE("a storm is repeated exactly by its seed") {
    for (const uint64_t seed : {3, 14, 15}) {
        const Storm a = Weather(seed).make(), b = Weather(seed).make();
        REQUIRE(a.text == b.text);
        CHECK(run_of(a.text).run.trace_hash == run_of(b.text).run.trace_hash);
    }
}
