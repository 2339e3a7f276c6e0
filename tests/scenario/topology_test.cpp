// The wiring of a scenario: what crosses it at most, how many ways there are, and how it is shown.
#include "models/fabric/network.hpp"
#include "sim/scenario/build_fabric.hpp"
#include "sim/scenario/catalogue_text.hpp"
#include "sim/scenario/redundancy.hpp"
#include "sim/scenario/topology.hpp"
#include "sim/scenario/wiring.hpp"
#include "tests/support/scenarios.hpp"
#include <catch2/catch.hpp>

using namespace storlab;
using namespace storlab::test;
using Catch::Matchers::Contains;

namespace {
Scenario starwind(Settings settings = {}) {
    return load_scenario("scenarios/testbeds/starwind/remote-graid.yaml",
                         {settings, parts_folder()});
}
// 28.05 Gbaud, 64b/66b, 2048 bytes of data in 2108 of a frame.
constexpr double port = 28.05e9 / 8 * 64 / 66 * 2048 / 2108;

// Two cards with two ports each at both ends; title and cables to be filled in.
const std::string small = R"(storlab: 1
title: "TITLE"
machines:
  storage:
    is: dell-r750
    cpu: {is: xeon-8380}
    cards: {fc: {is: qlogic-2772, count: 2}}
    drives: {ssd: {is: bench-device-gc, count: 3}}
  client: {is: dell-r740xd, cpu: {is: xeon-6130}, cards: {fc: {is: qlogic-2772, count: 2}}}
switches: {red: {is: brocade-g620}, blue: {is: brocade-g620}}
cables: [CABLES]
arrays:
  main:
    on: storage
    raid: {level: 5, drives: ssd/*, chunk: 64KiB, engine: md}
    export: {protocol: fcp, ports: PORTS, is: scst-target}
loads:
  l:
    fio: {rw: read, bs: 1m, ioengine: libaio, direct: 1, iodepth: 8}
    from: client
    to: main
run: {until: duration, duration: 3ms, scale: 64}
)";
std::string cabled(const std::string& cables, const std::string& ports,
                   const std::string& title = "two") {
    return replaced(replaced(replaced(small, "CABLES", cables), "PORTS", ports), "TITLE", title);
}
const std::string one_switch =
    cabled("storage/fc/*/port/0 to red, client/fc/*/port/0 to red", "fc/*/port/0");
const std::string two_fabrics =
    cabled("storage/fc/0/port/0 to red, storage/fc/1/port/0 to blue, client/fc/0/port/0 to red, "
           "client/fc/1/port/0 to blue",
           "fc/*/port/0");

Redundancy only(const Scenario& s) {
    const auto all = redundancy_of(s, s.loads.at(0));
    REQUIRE(all.size() == 1);
    return all[0];
}
size_t count_of(const std::string& text, const std::string& word) {
    size_t n = 0;
    for (size_t at = 0; (at = text.find(word, at)) != std::string::npos; at += word.size()) n++;
    return n;
}
using Names = std::vector<std::string>;
} // namespace

TEST_CASE("eight ports of 32G Fibre Channel carry 26.4 GB/s of reads") {
    const Scenario s = starwind({"loads/l/fio/bs=1m"});
    const BoundFlow read = bounds_of(s).at(0).read.value();
    CHECK(read.bytes_per_s == Approx(8 * port));
    CHECK(read.bytes_per_s == Approx(26.4e9).epsilon(0.002));
    REQUIRE(read.cut.size() == 2); // the cables of the array, nearest to the data
    CHECK(read.cut[0].name == "storage/fc/*/port/0 to red");
    CHECK(read.cut[1].name == "storage/fc/*/port/1 to blue");
    CHECK(read.cut[0].count == 4);
    CHECK_THAT(describe(s), Contains("bound     l can read at most 26.4 GB/s"));
}

TEST_CASE("clients with fewer ports than the array are what limits; so is what enters a card") {
    const Settings two{"loads/l/fio/bs=1m", "machines/client/count=2"};
    CHECK(bounds_of(starwind(two)).at(0).read->bytes_per_s == Approx(4 * port));
    // Writes: through the RAID card's eight lanes, or the ports of fewer clients.
    Settings writes{"loads/l/fio/bs=1m", "loads/l/fio/rw=randwrite"};
    CHECK(bounds_of(starwind(writes)).at(0).write->cut.at(0).name == "storage/raid/link");
    writes.emplace_back("machines/client/count=1");
    const BoundFlow one = bounds_of(starwind(writes)).at(0).write.value();
    CHECK(one.bytes_per_s == Approx(2 * port));
    CHECK(one.cut.at(0).name == "client/0/fc/port/0 to red");
    CHECK(one.carried == 1);
}

TEST_CASE("small requests stop at the commands of the cards") {
    const Settings slow{"machines/storage/cards/fc/per_command=2us"};
    const BoundFlow read = bounds_of(starwind(slow)).at(0).read.value();
    CHECK(read.bytes_per_s == Approx(4 * 4096 / 2e-6));
    CHECK(read.cut.at(0).name == "storage/fc/*");
    CHECK(read.cut.at(0).count == 4);
}

TEST_CASE("a graph's cables carry what the simulated wires do, times the data in full frames") {
    const Scenario s = starwind();
    const Graph g = wiring(s);
    Calendar calendar;
    Network network(calendar);
    for (const NetworkSwitchSchema& w : s.switches) network.add_switch(w.name, switch_options(w));
    for (const MachineSchema& m : s.machines)
        for (const CardSchema& c : m.cards)
            for (const PortSchema& p : c.ports) network.add_port(p.path, port_options(c));
    for (const CableSchema& c : s.cables) network.cable(c.a, c.b, cable_options(c, s));
    std::map<std::string, std::vector<double>> wires;
    for (const StationCapacity& c : network.capacities())
        if (!c.cable.empty()) wires[c.cable].push_back(c.bytes.in_bytes_per_second() * 2048 / 2108);
    CHECK(wires.size() == 16);
    size_t cables = 0;
    for (const Link& l : g.links())
        if (const auto w = wires.find(l.name); w != wires.end()) {
            CHECK(l.there.in_bytes_per_second() == Approx(w->second.at(0)));
            CHECK(l.back.in_bytes_per_second() == Approx(w->second.at(1)));
            cables++;
        }
    CHECK(cables == 16);
}

TEST_CASE("each client has two disjoint ways, of one card: check says so") {
    const Redundancy r = only(starwind());
    CHECK(r.machines == Names{"client/0", "client/1", "client/2", "client/3"});
    CHECK(r.paths == 8); // a port in each fabric, with four of the array's
    CHECK(r.disjoint == 2);
    CHECK(r.single == Names{"its card fc"});
    CHECK_THAT(describe(starwind()), Contains("client/0-3 to main: 8 paths to each volume") &&
                                         Contains("2 disjoint") &&
                                         Contains("all paths go through its card fc"));
}

TEST_CASE("one switch is warned about, two are not") {
    const Redundancy one = only(scenario_of(one_switch));
    CHECK(one.paths == 4);
    CHECK(one.disjoint == 2);
    CHECK(one.single == Names{"switch red"});
    CHECK_THAT(describe(scenario_of(one_switch)), Contains("all paths go through switch red"));
    const Redundancy two = only(scenario_of(two_fabrics));
    CHECK(two.paths == 2);
    CHECK(two.disjoint == 2);
    CHECK(two.single.empty());
    CHECK_THAT(describe(scenario_of(two_fabrics)), !Contains("warning"));
}

TEST_CASE("what all ways have in common is named from the machine on: cables, ports and cards") {
    const Scenario s = scenario_of(cabled(
        "client/fc/0/port/1 to red, red to blue, blue to storage/fc/1/port/0", "fc/1/port/0"));
    CHECK(only(s).single == Names{"its card fc/0", "its port fc/0/port/1",
                                  "its cable fc/0/port/1 to red", "switch red", "cable red to blue",
                                  "switch blue", "cable blue to storage/fc/1/port/0",
                                  "port storage/fc/1/port/0", "card storage/fc/1"});
    // A second cable between the switches takes that one away.
    const Scenario wide = scenario_of(
        cabled("client/fc/0/port/1 to red, red to blue, red to blue, blue to storage/fc/1/port/0",
               "fc/1/port/0"));
    CHECK(only(wide).single.size() == 8);
    CHECK(wiring(wide).disjoint_paths("red", "blue").size() == 2);
    // Machines are no switches: nothing goes through another one.
    const Scenario direct =
        scenario_of(cabled("client/fc/*/port/0 to storage/fc/*/port/0", "fc/*/port/0"));
    CHECK(only(direct).paths == 2);
    CHECK(only(direct).single.empty());
}

TEST_CASE("a drawing has every cable once, and equal drives as one") {
    const Scenario s = starwind();
    const std::string dot = topology_dot(s, wiring(s), {});
    for (const CableSchema& c : s.cables)
        CHECK(count_of(dot, "tooltip=\"" + cable_name(c, s) + "\"") == 1);
    CHECK(count_of(dot, "32GFC 3 m") == 16);
    CHECK(count_of(dot, "8 x Memblaze") == 1);
    CHECK(count_of(dot, "[label=\"8 x 6.53 GB/s") == 1);
    CHECK(count_of(dot, "\"storage/ssd/7") == 0);
    CHECK(count_of(dot, "subgraph \"cluster ") == 5);
    CHECK_THAT(dot, Contains("\"client/0/fc\":p0 -- \"red\"") &&
                        Contains("\"red\" -- \"storage/fc/0\":p0") &&
                        Contains("\"main\" -- \"storage/raid\""));
    CHECK(dot == topology_dot(s, wiring(s), {})); // the same each time
}

TEST_CASE("no text of a scenario means anything to Graphviz") {
    const Scenario s = scenario_of(cabled("storage/fc/*/port/0 to red, client/fc/*/port/0 to red",
                                          "fc/*/port/0", R"(a \"b\" \\N {c|d} &lt; <e>\a)"));
    const std::string dot = topology_dot(s, wiring(s), {});
    CHECK_THAT(dot, Contains(R"(label="a \"b\" \\N {c|d} &amp;lt; <e> "])"));
}

TEST_CASE("after a run, links and things say how busy they were, and what binds") {
    const Scenario s = scenario_of(one_switch);
    const Graph g = wiring(s);
    StationUse use;
    use.stations = {{"storage/fc/0/port/0 > red (storage/fc/0/port/0 to red)", 0.97},
                    {"red > storage/fc/0/port/0 (storage/fc/0/port/0 to red)", 0.02},
                    {"storage/ssd/1/dies", 0.4},
                    {"storage/ssd/1/controller", 0.5},
                    {"storage/ssd/1/link/up", 0.3},
                    {"storage/fc/1/port/0 > client association", 0.1},
                    {"main/target", 0.6},
                    {"l/threads", 0.9}};
    use.binds = "storage/fc/*/port/0 > red (storage/fc/*/port/0 to red)";
    const UseMap map(g, use);
    const auto cable = map.link("storage/fc/0/port/0 to red");
    CHECK(cable.there == 0.97);
    CHECK(cable.back == 0.02);
    CHECK(cable.binds);
    CHECK(map.thing("storage/ssd/1").there == 0.5);
    CHECK_FALSE(map.thing("storage/ssd/1").binds);
    CHECK(map.link("storage/ssd/1/link").there == 0.3);
    CHECK(map.thing("storage/fc/1/port/0").there == 0.1);
    CHECK(map.thing("main").there == 0.6);
    CHECK_FALSE(map.thing("client").there);
    const std::string dot = topology_dot(s, g, map);
    CHECK(count_of(dot, "97 % binds") == 1);
    CHECK_THAT(topology_text(s, g, map), Contains("97 % binds") && !Contains("2 % binds"));
}

TEST_CASE("a run's JSON colours as the run itself") {
    const RunResult r = run_of(one_switch);
    const StationUse own = use_of(r), read = use_from_json(to_json(r), "r.json");
    CHECK(read.stations.size() == own.stations.size());
    CHECK(read.binds == own.binds);
    CHECK(read.hash == own.hash);
    const Scenario s = scenario_of(one_switch);
    const Graph g = wiring(s);
    const std::string text = topology_text(s, g, UseMap(g, own));
    CHECK(text == topology_text(s, g, UseMap(g, read)));
    CHECK_THAT(text, Contains(" %"));
    // Every wire of the run is a cable's.
    for (const auto& [station, busy] : own.stations)
        if (station.find(" > ") != std::string::npos) {
            const UseMap one(g, {{{station, 0.5}}, "", ""});
            size_t links = 0;
            for (const Link& l : g.links()) links += one.link(l.name).most().has_value();
            CHECK(links == 1);
        }
    CHECK_THROWS_AS(use_from_json("{}", "r.json"), InputError);
    CHECK_THROWS_AS(use_from_json("no JSON", "r.json"), InputError);
}

TEST_CASE("the list has a line for equal links, with the cable as written") {
    const Scenario s = starwind();
    const std::string text = topology_text(s, wiring(s), {});
    for (const char* line :
         {"cable storage/fc/*/port/0 to red, 32GFC 3 m", "cable client/*/fc/port/1 to blue",
          "volume          main/lun/*           x16", "drive           storage/ssd/*        x8"})
        CHECK(count_of(text, line) == 1);
    CHECK(count_of(text, "\n") < 35);
}

TEST_CASE("a drawing nobody could read or write is refused before anything runs") {
    const Scenario s = scenario_of(one_switch);
    for (const char* out : {"x.pdf", "x", "/nowhere/x.svg"}) {
        TopologyOptions o;
        o.out = out;
        CHECK_THROWS_AS(topology(s, o), InputError);
    }
}
