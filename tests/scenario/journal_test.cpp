// A journal in a scenario: what is wrong with its keys, and runs in both worlds.
#include "tests/support/scenarios.hpp"
#include <catch2/catch.hpp>

using namespace storlab;
using namespace storlab::test;

namespace {

// The array of the small scenario with the spare drive as its journal.
const std::string journaled = replaced(replaced(small_array, "spares: spare/0, ", ""), "engine: md",
                                       "engine: md, consistency: journal, journal: spare/0");

std::string error_with(std::string_view from, std::string_view to) {
    return error_of(replaced(journaled, from, to));
}
uint64_t busy_stations(const RunResult& r, const std::string& drive) {
    uint64_t busy = 0;
    for (const StationResult& s : r.stations)
        if (s.name.starts_with(drive + "/")) busy += s.utilisation > 0;
    return busy;
}

} // namespace

TEST_CASE("the keys of a journal say what is wrong with them, and where") {
    CHECK(error_of(journaled) == "");
    CHECK(scenario_of(journaled).arrays[0].journal == "box/spare/0");
    const std::string at = "mine.yaml:14:";
    CHECK(error_with(", journal: spare/0", "") ==
          at + "72: error: a journal is on a drive of its own: say which, as in 'journal: ssd/7'");
    CHECK(error_with("consistency: journal, ", "") ==
          at + "68: error: a journal is kept with 'consistency: journal' only");
    CHECK(error_with("consistency: journal", "consistency: ppl") ==
          at + "86: error: a journal is kept with 'consistency: journal' only");
    CHECK(error_with("journal: spare/0", "journal: spare/1") ==
          at + "90: error: no drive 'spare/1'; did you mean 'spare/0'?");
    CHECK(error_with("journal: spare/0", "journal: ssd/1") ==
          at + "90: error: 'box/ssd/1' is a drive of the array; its journal takes another one");
    CHECK(error_with("journal: spare/0", "journal: spare/0, spares: spare/0") ==
          at + "90: error: 'box/spare/0' is a spare of the array; its journal takes another one");
    CHECK(error_with("journal: spare/0", "journal: ssd/*") ==
          at + "90: error: a journal is one drive; here are 4");
    CHECK(error_with("level: 5", "level: 1") ==
          at + "72: error: a journal is for RAID 5 and 6 over at most 32 drives");
    CHECK(error_with("journal: spare/0", "journal: spare/0, bitmap: 64MiB") ==
          at + "107: error: a bitmap is of no use beside a journal");
    CHECK(error_with("to: main", "to: box/spare/0").find("'box/spare/0' belongs to array 'main'") !=
          std::string::npos);
}

TEST_CASE("two arrays do not share a journal, and one's drive is not the other's journal") {
    const std::string many = replaced(replaced(journaled, "count: 4", "count: 7"), "drives: ssd/*",
                                      "drives: [ssd/0, ssd/1, ssd/2]");
    for (const std::string drive : {"spare/0", "ssd/2"})
        CHECK(error_of(replaced(many, "loads:",
                                "  more:\n    raid: {level: 5, drives: [ssd/3, ssd/4, ssd/5], "
                                "consistency: journal, journal: " +
                                    drive + "}\nloads:")) ==
              "mine.yaml:16:84: error: drive 'box/" + drive + "' is already in array 'main'");
    CHECK(error_of(replaced(many, "loads:",
                            "  more:\n    raid: {level: 5, drives: [ssd/3, ssd/4, ssd/5], "
                            "consistency: journal, journal: ssd/6}\nloads:")) == "");
}

TEST_CASE("a slice of the journal that is too small is refused") {
    const std::string wide = replaced(journaled, "count: 4", "count: 31");
    try {
        run_of(wide, {"run/scale=7190"});
        FAIL("not refused");
    } catch (const InputError& error) {
        CHECK(std::string(error.what()) ==
              "mine.yaml:14:90: error: at scale 7190 the journal has only 256 blocks; an array of "
              "31 drives takes 258");
    }
}

TEST_CASE("a journal is a drive with stations of its own, and its array pays for what it logs") {
    const Settings writes = {"loads/users/fio/rw=randwrite", "run/duration=20ms"};
    for (const std::string level : {"5", "6"}) {
        Settings settings = writes;
        settings.push_back("arrays/main/raid/level=" + level);
        const RunResult with = run_of(journaled, settings), without = run_of(small_array, settings);
        for (const RunResult* r : {&with, &without}) {
            CHECK(r->integrity.mismatches == 0);
            CHECK(r->integrity.scrub_mismatches == 0);
            CHECK(total(r->loads[0]).errors == 0);
            for (const CheckResult& c : r->checks) {
                INFO(c.name);
                CHECK(c.ok);
            }
        }
        CHECK(busy_stations(with, "box/spare/0") > 0);
        CHECK(busy_stations(without, "box/spare/0") == 0);
        CHECK(mean_us(with.loads[0]) > mean_us(without.loads[0]));
    }
}

TEST_CASE(
    "when the journal's drive is lost writes fail and reads go on, and the timeline says so") {
    const RunResult r = run_of(journaled, {"timeline=[at 2 ms: fail box/spare/0]"});
    bool told = false;
    for (const TimelineMark& m : r.timeline)
        told |=
            m.what == "lost" && m.where == "box/spare/0" && m.at >= Instant::at(Duration::ms(2));
    CHECK(told);
    CHECK(total(r.loads[0]).errors > 0);
    CHECK(r.integrity.mismatches == 0);
    CHECK(r.integrity.scrub_mismatches == 0);
}

TEST_CASE("over real files an array with a journal differs in no byte") {
    const ScratchFolder folder;
    RunControl control;
    control.real = true;
    control.folder = folder.path();
    const RunResult r = run_of(
        journaled, {"run/scale=2048", "run/duration=300ms", "loads/users/fio/iodepth=2"}, control);
    CHECK(r.run.world == "real");
    CHECK(r.integrity.verified > 10);
    CHECK(r.integrity.mismatches == 0);
    CHECK(r.integrity.scrub_mismatches == 0);
    CHECK(total(r.loads[0]).errors == 0);
    CHECK(r.integrity.scrubbed == 896);
}
