// PCIe in scenarios: who hangs where, what that limits, and what a machine has no lanes for.
#include "sim/scenario/catalogue_text.hpp"
#include "tests/support/scenarios.hpp"
#include <catch2/catch.hpp>

using namespace storlab;
using namespace storlab::test;
using Catch::Matchers::Contains;
using Catch::Matchers::StartsWith;

namespace {
// Behind a switch a drive of this part is limited by its link, not by its flash.
const std::string behind_switch = R"(storlab: 1
machines:
  box:
    is: dell-r750
    cpu: {is: xeon-8380, sockets: 2}
    host: {is: linux-host}
    switches:
      plx: {is: broadcom-pex88096, slot: x8 gen4 socket 1}
    drives:
      ssd: {is: memblaze-6926-12.8tb, count: 8, state: filled, behind: plx}
loads:
  users:
    fio: {rw: randread, bs: 128k, ioengine: libaio, direct: 1, iodepth: 64, numjobs: 8}
    to: box/ssd/*
run: {until: duration, warm-up: 20ms, duration: 40ms, scale: 65536}
)";
// One thread, which is on socket 0.
const std::string two_sockets = R"(storlab: 1
machines:
  box:
    is: dell-r750
    cpu: {is: xeon-8380, sockets: 2, socket_links: 1, socket_link_rate: 4GB/s,
          socket_link_payload: 50%}
    host: {is: linux-host}
    drives:
      ssd: {is: memblaze-6926-12.8tb, count: 4, state: filled, socket: 1}
loads:
  users:
    fio: {rw: randread, bs: 128k, ioengine: libaio, direct: 1, iodepth: 64}
    to: box/ssd/*
run: {until: duration, warm-up: 20ms, duration: 40ms, scale: 65536}
)";
const Bytes large = Bytes::kib(128);

double payload_of(const char* slot) {
    const Scenario s =
        scenario_of(behind_switch, {std::string("machines/box/switches/plx/slot=") + slot});
    const PcieLink uplink(uplink_options(s.machines[0], s.machines[0].switches[0]));
    return static_cast<double>(large.count()) / uplink.write_time(large).in_seconds();
}
std::vector<uint32_t> sockets_of(const Scenario& s) {
    std::vector<uint32_t> sockets;
    for (const DriveSchema& d : s.machines[0].drives) sockets.push_back(d.socket);
    return sockets;
}
} // namespace

TEST_CASE("field case 26: 24 drives on 48 lanes give half of their sum, and the uplinks bind") {
    const std::string file = installed_folder("scenarios/tour") + "/shared_uplinks.yaml";
    const auto with = [&](Settings settings) {
        settings.insert(settings.end(), {"run/scale=65536", "run/duration=20ms"});
        return run(load_scenario(file, {settings, parts_folder()}), {});
    };
    const RunResult shared = with({});
    CHECK_THAT(shared.bottleneck.name, StartsWith("server/") && Contains("/uplink/up"));
    CHECK(shared.bottleneck.utilisation > 0.98);
    for (const char* uplink : {"a", "b", "c"})
        CHECK(utilisation(shared, std::string("server/") + uplink + "/uplink/up") > 0.98);
    // "About 1 GB/s per Gen3 lane per direction", less the packets' headers: 128 of 152 bytes.
    CHECK(bandwidth_bytes(shared.loads[0]) / 48e9 ==
          Approx(0.985 * 128 / 152 * 0.985).epsilon(0.01));

    // With lanes of their own the same drives give the sum that the spreadsheet promises.
    std::string own = "machines/server/drives={";
    for (const char* group : {"a", "b", "c"})
        own += std::string(group) + "-ssd: {is: memblaze-6926-12.8tb, count: 8, state: filled, "
                                    "host_link: gen3 x4}, ";
    const RunResult apart = with({own + "}", "machines/server/switches={}"});
    CHECK_THAT(apart.bottleneck.name, Contains("-ssd/*/link/up"));
    CHECK(bandwidth_bytes(apart.loads[0]) / bandwidth_bytes(shared.loads[0]) ==
          Approx(2).epsilon(0.03));
}

TEST_CASE("drives behind a switch give exactly its uplink's payload, whatever their number") {
    for (const char* count : {"4", "8", "16"}) {
        const RunResult r =
            run_of(behind_switch, {std::string("machines/box/drives/ssd/count=") + count});
        INFO(count << " drives");
        CHECK(bandwidth_bytes(r.loads[0]) == Approx(payload_of("x8 gen4")).epsilon(0.01));
        CHECK(r.bottleneck.name == "box/plx/uplink/up");
    }
    const RunResult narrow =
        run_of(behind_switch, {"machines/box/switches/plx/slot=x4 gen3 socket 1"});
    CHECK(bandwidth_bytes(narrow.loads[0]) == Approx(payload_of("x4 gen3")).epsilon(0.01));
    CHECK(payload_of("x8 gen4") / payload_of("x4 gen3") == Approx(4).epsilon(0.001));
}

TEST_CASE(
    "an uplink trains to the slowest of slot, server and switch; a link below to the switch") {
    CHECK(payload_of("x8 gen5") == payload_of("x8 gen4"));
    const Scenario s = scenario_of(behind_switch, {"machines/box/pcie_generation=3"});
    CHECK(uplink_options(s.machines[0], s.machines[0].switches[0]).generation == 3);
    const Slice slice = slice_of(s, sketch_bytes);
    CHECK(ssd_options(s.machines[0].drives[0], s.machines[0], slice).link.generation == 4);
}

TEST_CASE("a thread's data on the other socket is limited by the link between sockets") {
    const auto bandwidth = [](const Settings& settings, const char* binds) {
        const RunResult r = run_of(two_sockets, settings);
        CHECK_THAT(r.bottleneck.name, Contains(binds));
        return bandwidth_bytes(r.loads[0]);
    };
    const double far = bandwidth({}, "box/sockets/1-0"),
                 near = bandwidth({"machines/box/drives/ssd/socket=0"}, "/link/up");
    CHECK(far == Approx(2e9).epsilon(0.01));
    CHECK(near > 3 * far);
    // As wide as it really is the link binds nobody here.
    CHECK(bandwidth({"machines/box/cpu={is: xeon-8380}"}, "/link/up") ==
          Approx(near).epsilon(0.01));
    // With one socket there is no such link.
    const RunResult one = run_of(two_sockets, {"machines/box/cpu={is: xeon-8380, sockets: 1}",
                                               "machines/box/drives/ssd/socket=0"});
    for (const StationResult& st : one.stations) CHECK_THAT(st.name, !Contains("/sockets/"));
}

TEST_CASE("drives that name no socket go to the one with the most lanes left") {
    const std::string spread = replaced(two_sockets, ", socket: 1", "");
    CHECK(sockets_of(scenario_of(spread)) == std::vector<uint32_t>{0, 1, 0, 1});
    // A card with sixteen lanes on socket 0 is worth four drives.
    const Settings card = {"machines/box/cards={r: {is: graid-sr1010, slot: x16 gen4 socket 0}}"};
    CHECK(sockets_of(scenario_of(spread, card)) == std::vector<uint32_t>{1, 1, 1, 1});
    CHECK(sockets_of(scenario_of(behind_switch)) == std::vector<uint32_t>(8, 1));
    CHECK_THAT(to_json(run_of(spread)), Contains("spread over 2 sockets"));
    CHECK_THAT(to_json(run_of(two_sockets)), !Contains("spread over 2 sockets"));
}

TEST_CASE("a machine has only so many lanes: all sockets, each, and each switch") {
    // 64 a socket. In all:
    CHECK_THAT(
        error_of(two_sockets, {"machines/box/drives/ssd={is: bench-device-read, count: 33}"}),
        StartsWith("mine.yaml:4:9: error: ") &&
            Contains("'box' take 132 PCIe lanes, but its 2 sockets have 128"));
    CHECK(error_of(two_sockets, {"machines/box/drives/ssd={is: bench-device-read, count: 32}"})
              .empty());
    // On the one they are all put on, where the drives are written:
    CHECK_THAT(error_of(replaced(two_sockets, "count: 4", "count: 17")),
               StartsWith("mine.yaml:9:7: error: ") &&
                   Contains("socket 1 of 'box' has 64 PCIe lanes; cards, switches and drives on "
                            "it take 68"));
    CHECK(error_of(replaced(two_sockets, "count: 4", "count: 16")).empty());
    // Behind a switch: 98 less its own eight.
    CHECK_THAT(error_of(replaced(behind_switch, "count: 8", "count: 23")),
               StartsWith("mine.yaml:10:7: error: ") &&
                   Contains("switch 'plx' has 90 PCIe lanes besides its uplink; cards and drives "
                            "behind it take 92"));
    CHECK(error_of(replaced(behind_switch, "count: 8", "count: 22")).empty());
    // The switch itself takes the lanes of its uplink from its socket.
    CHECK_THAT(error_of(behind_switch,
                        {"machines/box/drives/more={is: bench-device-read, count: 15, socket: 1}"}),
               Contains("socket 1 of 'box' has 64 PCIe lanes") && Contains("take 68"));
}

TEST_CASE("places that do not exist are errors where they are written") {
    CHECK_THAT(error_of(replaced(behind_switch, "behind: plx", "behind: plxx")),
               StartsWith("mine.yaml:10:") &&
                   Contains("no switch 'plxx' in 'box'; did you mean 'plx'?"));
    CHECK_THAT(error_of(replaced(behind_switch, "socket 1", "socket 2")),
               StartsWith("mine.yaml:8:") &&
                   Contains("there is no socket 2: 'box' has 2 sockets, counted from 0"));
    CHECK_THAT(error_of(replaced(two_sockets, "socket: 1", "socket: 2")),
               StartsWith("mine.yaml:9:") && Contains("0 to 1"));
    CHECK_THAT(error_of(two_sockets,
                        {"machines/box/cards={r: {is: graid-sr1010, slot: x16 gen4 socket 7}}"}),
               Contains("there is no socket 7"));
    CHECK_THAT(error_of(replaced(behind_switch, "behind: plx", "behind: plx, socket: 1")),
               StartsWith("mine.yaml:10:") && Contains("on the switch's socket"));
    CHECK_THAT(error_of(behind_switch, {"machines/box/cards={r: {is: graid-sr1010, slot: x8 gen4 "
                                        "socket 1, behind: plx}}"}),
               Contains("leave the socket out"));
    CHECK_THAT(error_of(replaced(behind_switch, "broadcom-pex88096", "graid-sr1010")),
               StartsWith("mine.yaml:8:") && Contains("of kind raid-card; expected pcie-switch"));
    CHECK_THAT(error_of(behind_switch, {"machines/box/switches/plx/hop=3s"}),
               Contains("hop is more than 1 s"));
    CHECK_THAT(error_of(two_sockets, {"machines/box/cpu/socket_link_payload=1%"}),
               Contains("socket_link_payload must be 10% or more"));
}

TEST_CASE("a RAID card behind a switch shares its uplink with the drives") {
    std::string text = replaced(behind_switch, "    drives:",
                                "    cards: {raid: {is: graid-sr1010, slot: x16 gen4, behind: plx, "
                                "piece: 448KiB}}\n    drives:");
    text = replaced(text, "loads:",
                    "arrays: {main: {raid: {level: 5, drives: ssd/*, chunk: 64KiB, "
                    "engine: raid}}}\nloads:");
    const RunResult r = run_of(text, {"loads/users/to=main", "loads/users/fio/rw=write",
                                      "loads/users/fio/bs=1792k", "loads/users/fio/numjobs=1",
                                      "run/scale=8192", "run/warm-up=60ms", "run/duration=400ms"});
    CHECK(r.bottleneck.name == "box/plx/uplink/down");
    // Full lines of seven chunks: data comes down once for parity, and once more, with parity, for
    // the drives.
    const Scenario s = scenario_of(behind_switch);
    const PcieLink uplink(uplink_options(s.machines[0], s.machines[0].switches[0]));
    CHECK(bandwidth_bytes(r.loads[0]) * (1 + 8.0 / 7) ==
          Approx(uplink.read_rate().in_bytes_per_second()).epsilon(0.03));
}

TEST_CASE("check says who hangs behind what") {
    const std::string text = describe(scenario_of(behind_switch));
    CHECK_THAT(text, Contains("box/plx: Broadcom PEX88096") && Contains("x8 gen4 socket 1"));
}
