// Scenarios of fabrics as they are read, shown and turned into options of the models.
#include "sim/scenario/build_fabric.hpp"
#include "sim/scenario/catalogue_text.hpp"
#include "tests/support/fabrics.hpp"
#include <algorithm>
#include <catch2/catch.hpp>
#include <set>

using namespace storlab;
using namespace storlab::test;

TEST_CASE("a sound fabric is read as written: machines, ports, cables, volumes, shares") {
    REQUIRE(error_of(fibre_channel) == "");
    const Scenario s = scenario_of(fibre_channel);
    REQUIRE(s.machines.size() == 5);
    CHECK(s.machines[0].name == "storage");
    CHECK(s.machines[4].name == "client/3");
    CHECK(s.machines[0].cards.size() == 5);
    CHECK(s.machines[0].cards[4].name == "fc/3");
    CHECK(s.machines[4].cards.at(0).ports.at(1).path == "client/3/fc/port/1");
    CHECK(s.machines[2].interrupts.size() == 28);
    CHECK(s.machines[2].interrupts.back() == 45);
    size_t ports = 0;
    for (const MachineSchema& m : s.machines)
        for (const CardSchema& c : m.cards) ports += c.ports.size();
    CHECK(ports == 16);
    REQUIRE(s.cables.size() == 16);
    CHECK(s.cables[2].a == "storage/fc/2/port/0");
    CHECK(s.cables[2].b == "red");
    CHECK(s.cables[2].speed->name == "32GFC");
    CHECK(s.cables[2].metres == 10);
    CHECK(s.cables[15].a == "client/3/fc/port/1");
    CHECK(s.cables[15].speed->name == "16GFC");
    CHECK(s.cables[15].metres == 50);
    const ArraySchema& a = s.arrays.at(0);
    CHECK(a.capacity == Bytes(89'600'000'000'000 / (7 * 65536) * (7 * 65536)));
    REQUIRE(a.volumes.size() == 16);
    CHECK(a.volumes[15].path == "main/lun/15");
    CHECK(a.volumes[15].offset == Bytes::gib(2048) * 15);
    REQUIRE(a.exported);
    CHECK(a.exported->ports.size() == 8);
    CHECK(a.exported->protocol == Protocol::fcp);
    const LoadSchema& l = s.loads.at(0);
    CHECK(l.from == std::vector<std::string>{"client/0", "client/1", "client/2", "client/3"});
    CHECK(l.split);
    std::set<std::string> covered;
    for (size_t n = 0; n < 4; n++) {
        REQUIRE(share_of(l, n).size() == 4);
        covered.insert(share_of(l, n).begin(), share_of(l, n).end());
    }
    CHECK(covered.size() == 16);
    CHECK(share_of(l, 1).front() == "main/lun/4");
    REQUIRE(l.paths);
    CHECK(l.paths->policy == PathSelector::round_robin);
    CHECK(l.paths->ios == 1u);
    CHECK(l.jobs.at(0).cpus_allowed.size() == 16);
    CHECK(s.notes.empty());
    CHECK(needs_fabric(l, s));
}

TEST_CASE("check shows a fabric briefly: a line for what was written in one") {
    const std::string text = describe(scenario_of(fibre_channel));
    for (const char* part :
         {"machine   client/0-3: Dell PowerEdge R740xd", "storage/fc/0-3: Marvell QLogic 2772",
          "2 ports each, up to 32GFC", "red: Brocade G620", "8 of 64 ports cabled",
          "storage/fc/*/port/0 to red · 4 cables · 32GFC · 10 m", "main/lun/0-15 of 2TiB each",
          "fcp on 8 ports of storage/fc/0-3", "from client/0-3 to main/lun/0-15, each a share",
          "1 I/O in a row"}) {
        INFO(text);
        CHECK(text.find(part) != std::string::npos);
    }
    CHECK(std::count(text.begin(), text.end(), '\n') < 60);
}

TEST_CASE("what is not said of a fabric is assumed, and told") {
    std::string text = replaced(fibre_channel, ", is: scst-target", "");
    text = replaced(text, "    paths: {policy: round-robin, ios: 1, is: linux-dm-multipath}\n", "");
    text = replaced(text, ", length: 10 m", "");
    REQUIRE(error_of(text) == "");
    const Scenario s = scenario_of(text);
    std::set<std::string> assumed;
    for (const Assumption& a : s.assumptions) assumed.insert(a.path + " " + a.value);
    CHECK(assumed.contains("main/export/is scst-target"));
    CHECK(assumed.contains("reads/paths/is linux-dm-multipath"));
    CHECK(assumed.contains("cables/length 3 m"));
    CHECK_FALSE(s.loads[0].paths->policy);
    CHECK(scenario_of(replaced(ethernet, ", paths: {is: linux-nvme-multipath}", ""))
              .loads[0]
              .paths->part.name() == "linux-nvme-multipath");
}

TEST_CASE("volumes are disjoint, in order and leave no gap at any scale") {
    const Scenario s = scenario_of(
        replaced(fibre_channel, "{lun: {count: 16, size: 2TiB}}",
                 "{lun: {count: 16, size: 2TiB}, log: {size: 1GiB}, rest: {count: 3}}"));
    const ArraySchema& a = s.arrays.at(0);
    REQUIRE(a.volumes.size() == 20);
    CHECK(a.volumes[16].path == "main/log");
    CHECK(a.volumes[19].path == "main/rest/2");
    CHECK(a.volumes[18].size == a.volumes[19].size);
    for (const uint64_t blocks : {uint64_t{21'875'000'000}, uint64_t{100'000}, uint64_t{1023}})
        for (const uint64_t unit : {uint64_t{1}, uint64_t{8}}) {
            uint64_t at = 0;
            for (const VolumeSchema& v : a.volumes) {
                const VolumeExtent e = extent_of(v, a, blocks, unit);
                CHECK(e.first == at);
                CHECK(e.first % unit == 0);
                const double exact = static_cast<double>(blocks) *
                                     static_cast<double>(v.size.count()) /
                                     static_cast<double>(a.capacity.count());
                CHECK(std::abs(static_cast<double>(e.blocks) - exact) <=
                      static_cast<double>(unit) + exact * 1e-9);
                at = e.first + e.blocks;
            }
            CHECK(at <= blocks);
        }
}

TEST_CASE("parts of fabrics become prices and options of the models") {
    const Scenario s = scenario_of(fibre_channel);
    const PriceList storage = host_prices(s.machines[0], s), client = host_prices(s.machines[1], s);
    const auto of = [](const PriceList& p, Operation op) { return p[static_cast<size_t>(op)]; };
    CHECK(of(storage, Operation::target_write).each == Duration::ns(31700));
    CHECK(of(client, Operation::target_write).each == Duration{});
    // 11500 cycles at 2.1 GHz and 15 GB/s.
    CHECK(of(client, Operation::pdu_send).each.in_us() == Approx(11500 / 2100.0).epsilon(1e-6));
    CHECK(of(client, Operation::pdu_send).ps_per_byte == Approx(1e12 / 15e9));
    const CardSchema& fc = s.machines[1].cards[0];
    CHECK(adapter_options(fc).per_command == Duration::ns(500));
    CHECK(cable_options(s.cables[0], s).credits == 500);
    CHECK(cable_options(s.cables[0], s).metres == 10);
    CHECK(switch_options(s.switches[0]).latency == Duration::ns(780));
    CHECK(switch_options(s.switches[0]).lossless);
    CHECK(association_options(*s.arrays[0].exported).scope == AssociationScope::none);
    CHECK_FALSE(runs_on_card(*s.arrays[0].exported));
    CHECK(contexts_per_volume(*s.arrays[0].exported) == 1);
    // Without ports a machine owes a fabric nothing, and its values are no assumptions of the run.
    const Scenario local = scenario_of(one_drive);
    const PriceList prices = host_prices(local.machines[0], local);
    CHECK(of(prices, Operation::pdu_send).each == Duration{});
    CHECK_FALSE(local.machines[0].host.was_read("pdu_send"));
}

TEST_CASE("a target on DPUs is priced on the card") {
    const Scenario s = scenario_of(R"(storlab: 1
machines:
  target:
    is: fungible-fs1600
    cpu: {is: fungible-f1-cores}
    host: {is: linux-host}
    cards: {dpu: {is: fungible-f1, count: 2}}
    drives: {ssd: {is: fs1600-ssd-3.84tb, count: 24}}
  host:
    count: 2
    is: dell-r740xd
    cpu: {is: xeon-6130}
    host: {is: linux-host}
    cards: {dpu: {is: fungible-fc200}}
switches:
  net: {is: ethernet-100g-switch}
cables: [target/dpu/*/port/0-3 to net, host/*/dpu/port/0 to net]
arrays:
  main:
    on: target
    raid: {level: 0, drives: ssd/*, chunk: 64KiB, engine: md}
    volumes: {v: {count: 32}}
    export: {protocol: nvme-tcp, ports: dpu/*/port/0-3, is: fungible-target}
loads:
  l: {fio: {rw: randread, bs: 4k}, from: host/*, to: main/v/*}
)");
    const ExportSchema& e = *s.arrays[0].exported;
    CHECK(runs_on_card(e));
    CHECK(association_options(e).scope == AssociationScope::remote_machine);
    CHECK(association_options(e).per_answer == Duration::ns(125));
    CHECK(association_options(e).link_share == Approx(0.95));
    PriceList card = adapter_prices(s.machines[0].cards[0]);
    add_target_prices(card, e.stack, Hertz{1.6e9});
    CHECK(card[static_cast<size_t>(Operation::target_read)].each == Duration::us(10));
    CHECK(host_prices(s.machines[0], s)[static_cast<size_t>(Operation::target_read)].each ==
          Duration{});
    CHECK(adapter_prices(s.machines[1].cards[0])[static_cast<size_t>(Operation::adapter_command)]
              .each == Duration::ns(446));
    CHECK(path_transport(e.protocol) == PathTransport::nvme);
    CHECK(s.cables.size() == 10);
}

TEST_CASE("a card that no load goes through is in nobody's way") {
    const std::string local =
        replaced(one_drive, "drives:", "cards: {fc: {is: qlogic-2772}}\n    drives:");
    CHECK(run_of(local).loads.at(0).name == "users");
}

TEST_CASE("two ports have a route if a cable, or cables and switches, join them") {
    const Scenario s = scenario_of(fibre_channel);
    CHECK(has_route(s, "client/2/fc/port/0", "storage/fc/3/port/0"));
    CHECK_FALSE(has_route(s, "client/2/fc/port/0", "storage/fc/3/port/1"));
    const Scenario joined = scenario_of(
        replaced(fibre_channel, "arrays:", "  - {cable: red to blue, length: 5 m}\narrays:"));
    CHECK(has_route(joined, "client/2/fc/port/0", "storage/fc/3/port/1"));
    const Scenario direct = scenario_of(replaced(
        ethernet, "array/nic/0/port/0 to blue, length: 3 m}\n  - {cable: host/nic/port/0 to blue",
        "array/nic/0/port/0 to host/nic/port/0"));
    CHECK(has_route(direct, "host/nic/port/0", "array/nic/0/port/0"));
    CHECK_FALSE(has_route(direct, "host/nic/port/0", "array/nic/1/port/0"));
    CHECK_FALSE(has_route(direct, "host/fast/port/0", "array/nic/1/port/0"));
}
