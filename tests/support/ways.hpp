// Scenarios of one host and one array over a network: one way between them, or two.
#pragma once
#include "tests/support/scenarios.hpp"

namespace storlab::test {

// One host and one array over so much of one technology, one port each.
struct Way {
    std::string card = "qlogic-2772", fabric = "brocade-g620", port = "port/0", speed = "32GFC",
                protocol = "fcp", stack = "scst-target", paths = "linux-dm-multipath";
};
inline std::string one_way(const Way& w, const std::string& fio) {
    return "storlab: 1\nmachines:\n  storage:\n    is: dell-r750\n    cpu: {is: xeon-8380}\n"
           "    host: {is: linux-host}\n    cards: {c: {is: " +
           w.card +
           "}}\n    drives: {ssd: {is: memblaze-6926-12.8tb, count: 4, state: steady}}\n"
           "  host:\n    is: dell-r740xd\n    cpu: {is: xeon-6130}\n    host: {is: linux-host}\n"
           "    cards: {c: {is: " +
           w.card + "}}\nswitches: {net: {is: " + w.fabric +
           "}}\ncables:\n  - {cable: storage/c/port/0 to net, speed: " + w.speed +
           "}\n  - {cable: host/c/port/0 to net, speed: " + w.speed +
           "}\narrays:\n  main:\n    on: storage\n"
           "    raid: {level: 0, drives: ssd/*, chunk: 64KiB, engine: md}\n"
           "    volumes: {v: {count: 4}}\n    export: {protocol: " +
           w.protocol + ", ports: c/port/0, is: " + w.stack + "}\nloads:\n  users: {fio: " + fio +
           ", from: host, to: main/v/*, paths: {is: " + w.paths +
           "}}\nrun: {until: duration, warm-up: 20ms, duration: 100ms}\n";
}
inline const Way nvme_tcp_way{
    "connectx-5",         "ethernet-100g-switch", "port/0", "100GbE", "nvme-tcp",
    "linux-nvmet-target", "linux-nvme-multipath"},
    iscsi_way{"connectx-5",
              "ethernet-100g-switch",
              "port/0",
              "100GbE",
              "iscsi",
              "linux-lio-iscsi-target",
              "linux-dm-multipath"};

inline std::string fio_of(const std::string& rw, const std::string& bs, int depth, int jobs) {
    return "{rw: " + rw + ", bs: " + bs +
           ", ioengine: libaio, direct: 1, iodepth: " + std::to_string(depth) +
           ", numjobs: " + std::to_string(jobs) + "}";
}

// Two ways between a host and an array, at a few hundred I/Os a second.
inline std::string two_ways(const Way& w, const std::string& timeline, int seconds,
                            const std::string& rate = "100") {
    return "storlab: 1\nmachines:\n  storage:\n    is: dell-r750\n    cpu: {is: xeon-8380}\n"
           "    host: {is: linux-host}\n    cards: {c: {is: " +
           w.card +
           ", count: 2}}\n    drives: {ssd: {is: bench-device-gc, count: 2, state: filled}}\n"
           "  host:\n    is: dell-r740xd\n    cpu: {is: xeon-6130}\n    host: {is: linux-host}\n"
           "    cards: {c: {is: " +
           w.card + ", count: 2}}\nswitches: {red: {is: " + w.fabric + "}, blue: {is: " + w.fabric +
           "}}\ncables:\n  - storage/c/0/port/0 to red\n  - storage/c/1/port/0 to blue\n"
           "  - host/c/0/port/0 to red\n  - host/c/1/port/0 to blue\n"
           "arrays:\n  main:\n    on: storage\n"
           "    raid: {level: 1, drives: ssd/*, chunk: 64KiB, engine: md}\n"
           "    export: {protocol: " +
           w.protocol + ", ports: c/*/port/0, is: " + w.stack +
           "}\nloads:\n  users:\n    fio: {rw: randread, bs: 4k, ioengine: libaio, direct: 1, "
           "iodepth: 64, rate_iops: " +
           rate +
           "}\n    arrivals: open\n    from: host\n    to: main\n    paths: {is: " + w.paths +
           ", policy: round-robin}\ntimeline: [" + timeline +
           "]\nrun: {duration: " + std::to_string(seconds) + "s, step: 1s, scale: 256}\n";
}

} // namespace storlab::test
