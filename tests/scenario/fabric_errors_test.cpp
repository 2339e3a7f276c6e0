// What mistakes in a scenario of a fabric are told.
#include "tests/support/fabrics.hpp"
#include <catch2/catch.hpp>

using namespace storlab;
using namespace storlab::test;

namespace {
struct Mistake {
    std::string from, to; // in the sound scenario
    std::string error;    // all that is told, without the name of the file
};
void check(const std::vector<Mistake>& mistakes, const std::string& in = fibre_channel) {
    for (const Mistake& m : mistakes) {
        INFO(m.from << " -> " << m.to);
        CHECK(error_of(replaced(in, m.from, m.to)) == "mine.yaml:" + m.error);
    }
}
const std::string red_line = "- {cable: storage/fc/*/port/0 to red, length: 10 m}";
std::string first_cable(const std::string& text) { return "- " + text; }
} // namespace

TEST_CASE("mistakes in cables") {
    const auto cable = [](const std::string& to, const std::string& error) {
        return Mistake{red_line, first_cable(to), error};
    };
    check({
        cable("storage/fc/*/port/0 to rde", "23:5: error: cable 'storage/fc/*/port/0 to rde': no "
                                            "switch 'rde'; did you mean 'red'?"),
        cable("storage/fc/*/port/0 to green", "23:5: error: cable 'storage/fc/*/port/0 to green': "
                                              "no switch 'green'; switches are red, blue"),
        cable("storage/fc/9/port/0 to red",
              "23:5: error: cable 'storage/fc/9/port/0 to red': no port 'storage/fc/9/port/0'; did "
              "you mean 'storage/fc/0/port/0'?"),
        cable("storage/fc/* to red", "23:5: error: cable 'storage/fc/* to red': 'storage/fc/*' is "
                                     "a card; name its ports: storage/fc/*/port/*"),
        cable("storage/fc/*/port/0", "23:5: error: cable 'storage/fc/*/port/0': not two ends; "
                                     "write, for example, storage/fc/*/port/0 to red"),
        cable("storage/fc/*/port/0 to client/0-1/fc/port/0",
              "23:5: error: cable 'storage/fc/*/port/0 to client/0-1/fc/port/0': the two sides do "
              "not pair: 4 ports to 2 ports"),
        cable("storage/fc/0/port/0 to storage/fc/0/port/0",
              "23:5: error: cable 'storage/fc/0/port/0 to storage/fc/0/port/0': both ends are port "
              "'storage/fc/0/port/0'"),
        cable("red to red", "23:5: error: cable 'red to red': both ends are switch 'red'"),
        cable("storage/fc/*/port/0 red to blue", "23:5: error: cable 'storage/fc/*/port/0 red to "
                                                 "blue': one side names both ports and switches"),
        // The other end of the same port, and the line it is on.
        {"client/*/fc/port/0 to red", "storage/fc/1/port/0 to red",
         "25:13: error: cable 'storage/fc/1/port/0 to red': port 'storage/fc/1/port/0' is already "
         "in cable 'storage/fc/*/port/0 to red' of line 23"},
        {"speed: 16GFC", "speed: 17GFC",
         "26:65: error: '17GFC' is no speed of a cable; known are 8GFC, 16GFC, 32GFC, 10GbE, "
         "25GbE, 40GbE, 100GbE, 56Gb-IB, 100Gb-IB, 12Gb-SAS; did you mean '16GFC'?"},
        {"speed: 16GFC", "speed: 10GbE",
         "26:13: error: cable 'client/*/fc/port/1 to blue': 'client/0/fc/port/1' can run at 32GFC, "
         "16GFC, 8GFC and 'blue' at 32GFC, 16GFC, 8GFC, not both at 10GbE"},
        {"0.05 km", "50 cm",
         "26:49: error: '50 cm' is no length of a cable; write, for example, 10 m (up to 100 km)"},
        {"red: {is: brocade-g620}", "red: {is: brocade-g620, ports: 7}",
         "25:13: error: cable 'client/*/fc/port/0 to red': switch 'red' has 7 ports, and all are "
         "taken"},
        {"red: {is: brocade-g620}", "red: {is: brocade-g620, port_speeds: 100GbE}",
         "23:13: error: cable 'storage/fc/*/port/0 to red': 'storage/fc/0/port/0' is Fibre Channel "
         "(32GFC, 16GFC, 8GFC) and 'red' is Ethernet (100GbE)\nmine.yaml:25:13: error: cable "
         "'client/*/fc/port/0 to red': 'client/0/fc/port/0' is Fibre Channel (32GFC, 16GFC, 8GFC) "
         "and 'red' is Ethernet (100GbE)"},
        {"cables:\n", "cables: {a: b}\nx:\n",
         "22:9: error: cables is a list of lines such as: storage/fc/*/port/0 to "
         "red\nmine.yaml:23:1: error: unknown key 'x' in the document; known here: about, arrays, "
         "cables, loads, machines, run, storlab, switches, timeline, title"},
    });
}

TEST_CASE("Fibre Channel settles on the fastest common speed, Ethernet must be told") {
    const Scenario s = scenario_of(replaced(fibre_channel, "red: {is: brocade-g620}",
                                            "red: {is: brocade-g620, port_speeds: 16GFC}"));
    CHECK(s.cables.front().speed->name == "16GFC");
    check({{"red: {is: brocade-g620}", "red: {is: brocade-g620, port_speeds: 8GFC 7GFC}",
            "20:40: error: '7GFC' is no speed of a cable; known are 8GFC, 16GFC, 32GFC, 10GbE, "
            "25GbE, 40GbE, 100GbE, 56Gb-IB, 100Gb-IB, 12Gb-SAS; did you mean '8GFC'?"},
           {"red: {is: brocade-g620}", "red: {is: brocade-g620, port_speeds: 8GFC 10GbE}",
            "20:40: error: port_speeds '8GFC 10GbE' are of two technologies"}});

    REQUIRE(error_of(ethernet) == "");
    check({{"host/nic/port/0 to blue", "host/fast/port/0 to blue",
            "18:13: error: cable 'host/fast/port/0 to blue': 'host/fast/port/0' can run at 100GbE, "
            "40GbE, 25GbE, 10GbE and 'blue' at 40GbE, 10GbE; Ethernet modules do not negotiate, so "
            "say what both are set to: speed: 40GbE"},
           {"blue: {is: mellanox-sx1036}", "blue: {is: mellanox-sx1036, port_speeds: 25GbE}",
            "17:13: error: cable 'array/nic/0/port/0 to blue': 'array/nic/0/port/0' can run at "
            "40GbE, 10GbE and 'blue' at 25GbE: no speed in common\nmine.yaml:18:13: error: cable "
            "'host/nic/port/0 to blue': 'host/nic/port/0' can run at 40GbE, 10GbE and 'blue' at "
            "25GbE: no speed in common"}},
          ethernet);
    const Scenario told = scenario_of(
        replaced(ethernet, "host/nic/port/0 to blue", "host/fast/port/0 to blue, speed: 40GbE"));
    CHECK(told.cables.at(1).speed->name == "40GbE");
}

TEST_CASE("mistakes in volumes and exports") {
    const auto export_ = [](const std::string& to, const std::string& error) {
        return Mistake{"{protocol: fcp, ports: fc/*/port/*, is: scst-target}", to, error};
    };
    check({
        {"size: 2TiB", "size: 6TiB", "31:14: error: volumes take 96TiB, but 'main' holds 89.6TB"},
        {"size: 2TiB", "size: 100TB",
         "31:38: error: a volume of 100TB is too large: 'main' holds 89.6TB"},
        {"count: 16, size: 2TiB}", "count: 16, size: 5.6TB}, rest: {count: 2}",
         "31:14: error: volumes of given size take 89.6TB and 'main' holds 89.6TB: too little is "
         "left for 2 more"},
        {"size: 2TiB", "size: 4KiB", "31:38: error: a volume has at least 1MiB"},
        {"{lun: {count: 16, size: 2TiB}}", "{lun: {count: 16}, lun: {count: 2}}",
         "31:33: error: key 'lun' is written twice; first on line 31"},
        {"count: 16, size: 2TiB", "count: 0",
         "31:28: error: count is 0; expected 1 to 4096\nmine.yaml:37:9: error: 1 volume does not "
         "divide among 4 machines; write volumes: shared if all use all"},
        export_("{protocol: fcb, ports: fc/*/port/*}",
                "32:24: error: 'fcb' is no protocol; expected one of fcp, fc-nvme, nvme-tcp, "
                "nvme-rdma, iscsi, iser; did you mean 'fcp'?"),
        export_("{protocol: nvme-tcp, ports: fc/*/port/*, is: linux-nvmet-target}",
                "32:41: error: nvme-tcp goes over ports of Ethernet; port 'storage/fc/0/port/0' "
                "(and 7 more) is none\nmine.yaml:36:11: error: no port of machine 'client/0' "
                "carries nvme-tcp, by which 'main' is exported"),
        export_("{protocol: fcp, ports: fc/*/port/2, is: scst-target}",
                "32:36: error: no port 'fc/*/port/2'; did you mean 'fc/0/port/0'?"),
        export_("{protocol: fcp, ports: fc/*/port/*, is: linux-nvmet-target}",
                "32:53: error: 'linux-nvmet-target' does not speak fcp; it speaks nvme-tcp, "
                "nvme-rdma, fc-nvme"),
        export_("{protocol: fcp, ports: fc/*/port/*, is: linux-host}",
                "32:53: error: part 'linux-host' is of kind host-stack; expected target-stack"),
        export_("{protocol: fcp, ports: fc/*/port/*, is: scst-target, target_reed: 1us}",
                "32:66: error: unknown key 'target_reed' in export; did you mean 'target_read'?"),
        export_("{protocol: fcp, ports: fc/*/port/*, is: scst-target, target_read: 2s}",
                "32:79: error: target_read takes more than 1 s"),
        export_("{protocol: fcp, ports: fc/*/port/*, is: scst-target, link_share: 0%}",
                "32:78: error: link_share must be 1% or more"),
        {"storage/fc/*/port/0 to red, length: 10 m", "storage/fc/0-2/port/0 to red, length: 10 m",
         "32:36: error: no cable is in port 'storage/fc/3/port/0', which exports 'main'"},
        {"engine: raid", "engine: fc/0",
         "30:59: error: card 'fc/0' is of kind hba; an engine is a raid-card"},
    });
    check({{"ports: nic/0/port/0", "ports: nic/1/port/0",
            "23:42: error: no cable is in port 'array/nic/1/port/0', which exports "
            "'main'\nmine.yaml:25:42: error: no route from machine 'host' to the export of 'main': "
            "the machine's cables lead to 'blue' (cable 'host/nic/port/0 to blue', line 18)"},
           {"is: connectx-3-pro, count: 2", "is: connectx-3-pro, count: 2, rdma: no",
            "23:42: error: nvme-rdma goes over ports of network cards with RDMA; port "
            "'array/nic/0/port/0' is none"},
           {"is: mangstor-titan-target", "is: fungible-target",
            "23:42: error: 'fungible-target' runs on a card of kind dpu; port 'array/nic/0/port/0' "
            "is on none\nmine.yaml:23:60: error: 'fungible-target' does not speak nvme-rdma; it "
            "speaks nvme-tcp"}},
          ethernet);
}

TEST_CASE("mistakes in loads over a fabric") {
    check({
        {"from: client/*", "from: client",
         "36:11: error: no machine 'client'; did you mean 'client/0'?"},
        {"from: client/*", "from: client/0-2",
         "37:9: error: 16 volumes do not divide among 3 machines; write volumes: shared if all use "
         "all"},
        {"to: main/lun/*", "to: main/lun/16",
         "37:9: error: no array or drive 'main/lun/16'; did you mean 'main/lun/1'?"},
        {"to: main/lun/*", "to: main\n    volumes: shared",
         "37:9: error: 'main' is divided into volumes; aim at them, as 'main/lun/0'"},
        {"to: main/lun/*", "to: main/lun/*\n    volumes: halved",
         "38:14: error: 'halved' is no volumes; expected one of split, shared"},
        {"policy: round-robin", "policy: rond-robin",
         "38:21: error: 'rond-robin' is no policy; expected one of round-robin, queue-length, "
         "queue-depth, service-time, nearest, most-recent; did you mean 'round-robin'?"},
        {"is: linux-dm-multipath", "is: scst-target",
         "38:46: error: part 'scst-target' is of kind target-stack; expected multipath"},
        {"from: client/*", "from: storage",
         "38:12: error: the load reaches everything it aims at inside its machine; paths are of a "
         "fabric"},
        {"    export: {protocol: fcp, ports: fc/*/port/*, is: scst-target}\n", "",
         "35:11: error: array 'main' is on 'storage' and has no export; machine 'client/0' cannot "
         "reach it"},
        {"    cards: {fc: {is: qlogic-2772}}\n", "",
         "24:13: error: cable 'client/*/fc/port/0 to red': no port 'client/*/fc/port/0'; there is "
         "storage/fc/0/port/0, storage/fc/0/port/1, storage/fc/1/port/0, storage/fc/1/port/1, "
         "storage/fc/2/port/0, storage/fc/2/port/1, storage/fc/3/port/0, "
         "storage/fc/3/port/1\nmine.yaml:25:13: error: cable 'client/*/fc/port/1 to blue': no port "
         "'client/*/fc/port/1'; there is storage/fc/0/port/0, storage/fc/0/port/1, "
         "storage/fc/1/port/0, storage/fc/1/port/1, storage/fc/2/port/0, storage/fc/2/port/1, "
         "storage/fc/3/port/0, storage/fc/3/port/1\nmine.yaml:35:11: error: machine 'client/0' has "
         "no ports to reach 'main' with; give it a card of kind hba, nic or dpu"},
        {"cpus_allowed: 0-15", "cpus_allowed: 0-64",
         "35:10: error: job 'reads' is pinned to CPU 64, but 'client/0' has 64, counted from 0"},
    });
    // Two fabrics that do not meet: the cables are named, with their lines.
    std::string apart =
        replaced(fibre_channel, "storage/fc/*/port/1 to blue", "storage/fc/*/port/1 to red");
    apart = replaced(apart, "client/*/fc/port/0 to red", "client/0-2/fc/port/0 to red");
    check({{"client/*/fc/port/1 to blue", "client/*/fc/port/1 to blue",
            "36:11: error: no route from machine 'client/3' to the export of 'main': the machine's "
            "cables lead to 'blue' (cable 'client/*/fc/port/1 to blue', line 26), those of the "
            "export to 'red' (cable 'storage/fc/*/port/0 to red', line 23)"}},
          apart);
    // A cable between the switches joins them.
    CHECK(error_of(replaced(apart, "arrays:", "  - {cable: red to blue, length: 5 m}\narrays:")) ==
          "");
    // And so does a cable from port to port, without a switch.
    CHECK(error_of(replaced(ethernet,
                            "array/nic/0/port/0 to blue, length: 3 m}\n  - {cable: "
                            "host/nic/port/0 to blue",
                            "array/nic/0/port/0 to host/nic/port/0")) == "");
    check({{"from: host, to: main", "from: host, to: array/ssd/0",
            "25:52: error: 'array/ssd/0' belongs to array 'main': a load on the drive would "
            "overwrite the array; aim at 'main'\nmine.yaml:25:52: error: drive 'array/ssd/0' is "
            "not in machine 'host': only arrays are exported"}},
          ethernet);
}

TEST_CASE("mistakes in machines of a group, their cards and interrupts") {
    check({
        {"count: 4\n    is: dell", "count: 257\n    is: dell",
         "13:12: error: count is 257; expected 1 to 256"},
        {"0-13,32-45", "0-13,32-64",
         "18:17: error: there is no CPU 64: 'client/0' has 64, counted from 0"},
        {"0-13,32-45", "13-0",
         "18:17: error: '13-0' is no list of CPUs; write, for example, "
         "0-13,32-45"},
        {"qlogic-2772, count: 4", "qlogic-2772, count: 33",
         "10:36: error: count is 33; expected 1 to 32"},
        {"qlogic-2772, count: 4", "qlogic-2772, count: 4, per_command: 3s",
         "10:52: error: per_command is more than 1 s"},
        {"red: {is: brocade-g620}", "red: {is: brocade-g620}\n  storage: {is: brocade-g620}",
         "21:3: error: 'storage' is already the name of a machine"},
        {"red: {is: brocade-g620}", "red: {is: brocade-g620, latency: 2s}",
         "20:36: error: latency is more than 1 s"},
        {"red: {is: brocade-g620}", "red: {is: qlogic-2772}",
         "20:13: error: part 'qlogic-2772' is of kind hba; expected network-switch"},
        {"qlogic-2772, count: 4", "qlogic-2772, count: 16",
         "5:9: error: cards and drives of 'storage' take 168 PCIe lanes, but its 2 sockets have "
         "128"},
    });
}
