// What a load can move at most: by hand for small testbeds, and never less than what runs measure.
#include "models/pcie/link.hpp"
#include "sim/scenario/catalogue_text.hpp"
#include "sim/scenario/wiring.hpp"
#include "tests/support/scenarios.hpp"
#include <catch2/catch.hpp>
#include <filesystem>

using namespace storlab;
using namespace storlab::test;
using Catch::Matchers::Contains;

namespace {
// Eight drives of known rates, behind a card that holds a part of them back.
const std::string eight = R"(storlab: 1
title: eight
machines:
  box:
    is: dell-r750
    cpu: {is: xeon-8380, sockets: 2}
    cards: {gpu: {is: graid-sr1010, slot: x8 gen4 socket 0}}
    drives: {ssd: {is: memblaze-6926-12.8tb, count: 8, state: steady}}
arrays:
  main: {raid: {level: 5, drives: ssd/*, chunk: 64KiB, engine: md}}
loads:
  l:
    fio: {rw: read, bs: 1m, ioengine: libaio, direct: 1, iodepth: 32}
    to: main
)";
BoundResult bound(const Settings& settings, std::string_view text = eight) {
    return bounds_of(scenario_of(text, settings)).at(0);
}
// gen4 x4: 128b/130b, 128 bytes in 152 up and 64 in 84 down, 1.5 % for DLLPs.
constexpr double gen4_lane = 16e9 / 8 * 128 / 130 * (1 - 0.015);
constexpr double up = 4 * gen4_lane * 128 / 152, down = 4 * gen4_lane * 64 / 84;
constexpr double backend = 5.4e9, command_read = 0.667e-6, command_write = 0.28e-6;
} // namespace

TEST_CASE("large reads stop at the links of all members, whatever the level") {
    for (const char* level : {"0", "5", "6", "10", "1"}) {
        const BoundResult b = bound({std::string("arrays/main/raid/level=") + level});
        REQUIRE(b.read);
        CHECK_FALSE(b.write);
        CHECK(b.read->bytes_per_s == Approx(8 * up));
        REQUIRE(b.read->cut.size() == 1);
        CHECK(b.read->cut[0].name == "box/ssd/*/link");
        CHECK(b.read->cut[0].count == 8);
        CHECK(b.read->cut[0].bytes_per_s == Approx(up));
    }
    CHECK(in_words(bound({})).at(0) ==
          "l can read at most 52.3 GB/s, 49.8k IOPS: box/ssd/*/link (8 x 6.53 GB/s)");
}

TEST_CASE("small reads stop at the commands a controller takes; sizes that differ have no IOPS") {
    const BoundResult small = bound({"loads/l/fio/bs=4k"});
    CHECK(small.read->bytes_per_s == Approx(8 * 4096 / command_read));
    CHECK(small.read->cut.at(0).name == "box/ssd/*/controller");
    CHECK_THAT(in_words(small).at(0), Contains("12M IOPS"));
    const BoundResult range = bound({}, replaced(eight, "bs: 1m", "bsrange: 4k-64k"));
    CHECK(range.read->bytes_per_s == Approx(8 * up));
    CHECK(range.read->block == Bytes(0));
    CHECK_THAT(in_words(range).at(0), !Contains("IOPS"));
}

TEST_CASE("flash limits reads of what lies on it, not of drives that are new or being written") {
    const Settings slow{"loads/l/fio/bs=4k", "machines/box/drives/ssd/dies=8"};
    const BoundResult b = bound(slow);
    CHECK(b.read->bytes_per_s == Approx(8 * 8 * 4096 / 70e-6));
    CHECK(b.read->cut.at(0).name == "box/ssd/*/dies");
    for (const char* other : {"machines/box/drives/ssd/state=fresh", "loads/l/fio/rw=randrw"}) {
        Settings settings = slow;
        settings.emplace_back(other);
        CHECK(bound(settings).read->cut.at(0).name == "box/ssd/*/controller");
    }
    // One sense brings a page of each plane; channels take turns.
    const BoundResult large = bound({"machines/box/drives/ssd/dies=4"});
    CHECK(large.read->bytes_per_s == Approx(8 * 4 * 4 * 16384 / 70e-6));
    const BoundResult channels = bound({"machines/box/drives/ssd/channels=2"});
    CHECK(channels.read->bytes_per_s == Approx(8 * 2 * 1.2e9));
    CHECK(channels.read->cut.at(0).name == "box/ssd/*/channels");
}

TEST_CASE("writes to RAID carry parity or copies beside the data, at best over whole stripes") {
    const std::pair<const char*, double> levels[] = {
        {"0", 1}, {"5", 8.0 / 7}, {"6", 8.0 / 6}, {"10", 2}, {"1", 8}};
    for (const auto& [level, carried] : levels) {
        const BoundResult b =
            bound({std::string("arrays/main/raid/level=") + level, "loads/l/fio/rw=write"});
        CHECK_FALSE(b.read);
        CHECK(b.write->bytes_per_s == Approx(8 * backend / carried));
        CHECK(b.write->carried == Approx(carried));
        CHECK(b.write->cut.at(0).name == "box/ssd/*/controller");
    }
}

TEST_CASE("what a card computes parity of has to enter it") {
    const Settings card{"arrays/main/raid/engine=gpu", "loads/l/fio/rw=rw"};
    const BoundResult b = bound(card);
    CHECK(b.read->bytes_per_s == Approx(8 * up)); // not through the card
    CHECK(b.write->bytes_per_s == Approx(2 * down));
    CHECK(b.write->carried == 1);
    CHECK(b.write->cut.at(0).name == "box/gpu/link");
    CHECK(b.write->cut.at(0).count == 1);
    Settings mirror = card;
    mirror.emplace_back("arrays/main/raid/level=10");
    CHECK(bound(mirror).write->cut.at(0).name == "box/ssd/*/controller");
    Settings wide = card;
    wide.emplace_back("machines/box/cards/gpu/slot=x16 gen4 socket 0");
    wide.emplace_back("machines/box/drives/ssd/backend_rate=2GB/s");
    CHECK(bound(wide).write->bytes_per_s == Approx(8 * 2e9 * 7 / 8));
}

TEST_CASE("clones that write the same blocks together have no ceiling on parity") {
    const Settings clones{"loads/l/fio/rw=write", "loads/l/fio/numjobs=4"};
    CHECK_FALSE(bound(clones).write);
    const auto with = [&](const char* setting) {
        Settings settings = clones;
        settings.emplace_back(setting);
        return bound(settings);
    };
    CHECK(with("loads/l/fio/offset_increment=25%").write);
    CHECK(with("loads/l/fio/rw=randwrite").write);
    CHECK(with("arrays/main/raid/level=10").write);
}

TEST_CASE("a load over several arrays and drives has them all; a card of two arrays is one") {
    const std::string two = replaced(
        replaced(eight, "main: {raid: {level: 5, drives: ssd/*, chunk: 64KiB, engine: md}}",
                 "a: {raid: {level: 5, drives: ssd/0-2, chunk: 64KiB, engine: md}}\n"
                 "  b: {raid: {level: 6, drives: ssd/3-6, chunk: 64KiB, engine: md}}"),
        "to: main", "to: [a, b, box/ssd/7]");
    const BoundResult reads = bound({}, two), writes = bound({"loads/l/fio/rw=write"}, two);
    CHECK(reads.read->bytes_per_s == Approx(8 * up));
    CHECK(writes.write->bytes_per_s == Approx((3 * 2.0 / 3 + 4 * 2.0 / 4 + 1) * backend));
    const std::string card = replaced(two, "to: [a, b, box/ssd/7]", "to: [a, b]");
    const BoundResult both = bound(
        {"loads/l/fio/rw=write", "arrays/a/raid/engine=gpu", "arrays/b/raid/engine=gpu"}, card);
    CHECK(both.write->bytes_per_s == Approx(2 * down));
    CHECK(both.write->cut.size() == 1);
}

TEST_CASE("a drive by itself: its commands and its bytes share the controller") {
    const std::string one = replaced(eight, "to: main", "to: box/spare/0");
    const std::string text = replaced(one, "    drives: {ssd:",
                                      "    drives:\n      spare: {is: memblaze-6926-12.8tb}\n"
                                      "      ssd:");
    const std::string fixed = replaced(text, "state: steady}}", "state: steady}");
    const BoundResult b = bound({"loads/l/fio/rw=randwrite", "loads/l/fio/bs=4k"}, fixed);
    CHECK(b.write->bytes_per_s == Approx(4096 / (command_write + 4096 / backend)));
    CHECK(b.write->cut.at(0).name == "box/spare/0/controller"); // one is named by itself
    const BoundResult slow =
        bound({"loads/l/fio/rw=write", "machines/box/drives/spare/host_link=gen3 x2"}, fixed);
    CHECK(slow.write->bytes_per_s == Approx(down / 4));
    CHECK(slow.write->cut.at(0).name == "box/spare/0/link");
}

TEST_CASE("members of two kinds stand beside each other in the cut") {
    const std::string mixed = replaced(
        replaced(eight, "    drives: {ssd: {is: memblaze-6926-12.8tb, count: 8, state: steady}}",
                 "    drives:\n      ssd: {is: memblaze-6926-12.8tb, count: 6}\n"
                 "      old: {is: memblaze-6926-12.8tb, count: 2, host_link: gen3 x4}"),
        "drives: ssd/*", "drives: [ssd/*, old/*]");
    const BoundResult b = bound({}, mixed);
    CHECK(b.read->bytes_per_s == Approx(6 * up + 2 * up / 2));
    REQUIRE(b.read->cut.size() == 2);
    CHECK(b.read->cut[0].name == "box/old/*/link");
    CHECK(b.read->cut[1].count == 6);
}

TEST_CASE("drives behind a PCIe switch share its uplink, as does a card's traffic") {
    const std::string behind =
        replaced(replaced(eight, "    cards: {gpu: {is: graid-sr1010, slot: x8 gen4 socket 0}}",
                          "    switches: {fan: {is: broadcom-pex88096, slot: x16 gen4 socket 1}}\n"
                          "    cards: {gpu: {is: graid-sr1010, slot: x16 gen4, behind: fan}}"),
                 "count: 8,", "count: 8, behind: fan,");
    const BoundResult b = bound({"loads/l/fio/rw=rw"}, behind);
    CHECK(b.read->bytes_per_s == Approx(4 * up));
    CHECK(b.read->cut.at(0).name == "box/fan/uplink");
    CHECK(b.write->bytes_per_s == Approx(4 * down * 7 / 8));
    const Graph g = wiring(scenario_of(behind));
    CHECK(g.route("box/ssd/3", "box").things ==
          std::vector<std::string>{"box/ssd/3", "box/fan", "box"});
    CHECK(g.route("box/gpu", "box").links ==
          std::vector<std::string>{"box/gpu/link", "box/fan/uplink"});
}

TEST_CASE("the graph of a scenario has its machines, cards, drives and arrays") {
    const Graph g = wiring(scenario_of(eight));
    CHECK(g.thing("box").kind == ThingKind::machine);
    CHECK(g.thing("box/gpu").kind == ThingKind::card);
    CHECK(g.thing("box/ssd/7").kind == ThingKind::drive);
    CHECK(g.thing("main").kind == ThingKind::array);
    CHECK(g.route("main", "box").things == std::vector<std::string>{"main", "box/ssd/0", "box"});
    CHECK(g.disjoint_paths("main", "box").size() == 8);
    CHECK(g.route("box", "main").things.empty()); // reads; writes flow the other way
    CHECK(wiring(scenario_of(eight), {true, {}, false}).route("box", "main").things.size() == 3);
}

TEST_CASE("check and the answer say the bound; the real world has none") {
    CHECK_THAT(describe(scenario_of(small_array)),
               Contains("\nbound     users can read at most ") &&
                   Contains("\nbound     users can write at most "));
    CHECK(run_of(small_array).bound.at(0).read);
    const ScratchFolder folder;
    RunControl real;
    real.real = true;
    real.folder = folder.path();
    CHECK(run_of(small_array, {}, real).bound.empty());
}

namespace {
// Above the bound by so much at most: the edges of the measured time cut I/Os.
constexpr double tolerance = 1.01;
// Long enough that what is in flight at the edges is a hundredth of what flows.
Settings with_length(const std::string& file, Settings settings) {
    const Scenario s = load_scenario(file, {settings, parts_folder()});
    double in_flight = 0, least = 1e15;
    for (const LoadSchema& l : s.loads)
        for (const fio::Job& j : l.jobs)
            in_flight += static_cast<double>(std::ssize(l.from) * fio::effective_depth(j).total *
                                             j.block.of(j.writes()).largest().count());
    for (const BoundResult& b : bounds_of(s))
        for (const auto* flow : {&b.read, &b.write})
            if (*flow) least = std::min(least, (*flow)->bytes_per_s);
    const auto us = static_cast<int64_t>(std::max(4000.0, 100 * in_flight / least * 1e6));
    settings.push_back("run/until=duration");
    settings.push_back("run/duration=" + std::to_string(us) + "us");
    settings.push_back("run/warm-up=" + std::to_string(us / 5) + "us");
    return settings;
}
// How near the runs come to it.
struct Nearest {
    double read = 0, write = 0;
};
void hold_against_bound(const RunResult& r, Nearest& nearest) {
    REQUIRE(r.bound.size() == r.loads.size());
    for (size_t i = 0; i < r.loads.size(); i++) {
        const LoadResult& l = r.loads[i];
        const double seconds = l.measured.in_seconds();
        const auto share = [&](const FlowResult& flow, const std::optional<BoundFlow>& most) {
            if (flow.latency.empty()) return 0.0;
            REQUIRE(most);
            const double part = static_cast<double>(flow.bytes) / seconds / most->bytes_per_s;
            INFO(l.name << " " << l.what << " moved " << part << " of its bound");
            CHECK(part <= tolerance);
            return part;
        };
        nearest.read = std::max(nearest.read, share(l.read, r.bound[i].read));
        nearest.write = std::max(nearest.write, share(l.write, r.bound[i].write));
    }
}
} // namespace

namespace {
std::vector<std::string> scenarios_below(const std::string& folder) {
    std::vector<std::string> files;
    for (const auto& file : std::filesystem::recursive_directory_iterator(folder))
        if (file.path().extension() == ".yaml") files.push_back(file.path().string());
    return files;
}
// Reads, writes and mixes of every load of these scenarios.
std::map<std::string, Nearest> hold_all(const std::vector<std::string>& files) {
    std::map<std::string, Nearest> nearest;
    RunControl control;
    control.quick = true;
    for (const std::string& name : files) {
        const Scenario as_written = load_scenario(name, {{}, parts_folder()});
        std::vector<Settings> variants{{}};
        for (const LoadSchema& l : as_written.loads) {
            const std::string fio = "loads/" + l.name + "/fio/";
            // Random writes must not meet in a small slice: fewer of them in flight.
            const std::array<const char*, 3> jobs[] = {{"read", "256k", "4"},
                                                       {"write", "256k", "4"},
                                                       {"randread", "4k", "64"},
                                                       {"randwrite", "4k", "8"},
                                                       {"randrw", "8k", "8"}};
            for (const auto& [rw, bs, depth] : jobs) {
                Settings s;
                s.push_back(fio + "rw=" + rw);
                s.push_back(fio + "bs=" + bs);
                s.push_back(fio + "iodepth=" + depth);
                s.push_back(fio + "numjobs=8");
                // Else clones write the same blocks together, of which a line takes the last.
                s.push_back(fio + "offset_increment=12%");
                variants.push_back(with_length(name, std::move(s)));
            }
        }
        for (const Settings& settings : variants) {
            INFO(name << (settings.empty() ? "" : " " + settings[0] + " " + settings[1]));
            hold_against_bound(run(load_scenario(name, {settings, parts_folder()}), control),
                               nearest[name]);
        }
    }
    return nearest;
}
} // namespace

TEST_CASE("no run of the tour or of the card's array exceeds its bound, and some come near") {
    const std::string card = "scenarios/testbeds/starwind/local-graid.yaml";
    std::vector<std::string> files = scenarios_below("scenarios/tour");
    files.push_back(card);
    auto nearest = hold_all(files);
    CHECK(nearest.size() >= 5);
    CHECK(nearest["scenarios/tour/one_drive.yaml"].read > 0.97);
    CHECK(nearest[card].write > 0.9); // its link
}

TEST_CASE("no run of the testbeds exceeds its bound", "[.long]") {
    CHECK(hold_all(scenarios_below("scenarios/testbeds")).size() >= 9);
}
