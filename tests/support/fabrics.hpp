// Scenarios of fabrics for tests: one of Fibre Channel, one of Ethernet.
#pragma once
#include "tests/support/scenarios.hpp"

namespace storlab::test {

// A storage server and four clients over two switches of Fibre Channel.
inline const std::string fibre_channel = R"(storlab: 1
title: a fabric
machines:
  storage:
    is: dell-r750
    cpu: {is: xeon-8380, sockets: 2}
    host: {is: linux-host}
    cards:
      raid: {is: graid-sr1010, slot: x8 gen4 socket 0}
      fc: {is: qlogic-2772, count: 4}
    drives: {ssd: {is: memblaze-6926-12.8tb, count: 8, state: steady, socket: 1}}
  client:
    count: 4
    is: dell-r740xd
    cpu: {is: xeon-6130, sockets: 2}
    host: {is: linux-host}
    cards: {fc: {is: qlogic-2772}}
    interrupts: 0-13,32-45
switches:
  red: {is: brocade-g620}
  blue: {is: brocade-g620}
cables:
  - {cable: storage/fc/*/port/0 to red, length: 10 m}
  - {cable: storage/fc/*/port/1 to blue, length: 10 m}
  - {cable: client/*/fc/port/0 to red, length: 10 m}
  - {cable: client/*/fc/port/1 to blue, length: 0.05 km, speed: 16GFC}
arrays:
  main:
    on: storage
    raid: {level: 5, drives: ssd/*, chunk: 64KiB, engine: raid}
    volumes: {lun: {count: 16, size: 2TiB}}
    export: {protocol: fcp, ports: fc/*/port/*, is: scst-target}
loads:
  reads:
    fio: {rw: randread, bs: 4k, ioengine: libaio, direct: 1, iodepth: 8, cpus_allowed: 0-15}
    from: client/*
    to: main/lun/*
    paths: {policy: round-robin, ios: 1, is: linux-dm-multipath}
)";

// One host with an Ethernet card and one array, joined by one switch.
inline const std::string ethernet = R"(storlab: 1
machines:
  array:
    is: dell-r730
    cpu: {is: xeon-e5-2690v3}
    host: {is: linux-host}
    cards: {nic: {is: connectx-3-pro, count: 2}}
    drives: {ssd: {is: mangstor-mx6300, count: 3, socket: 0}}
  host:
    is: dell-r730
    cpu: {is: xeon-e5-2690v3}
    host: {is: linux-host}
    cards: {nic: {is: connectx-3-pro}, fast: {is: connectx-5}}
switches:
  blue: {is: mellanox-sx1036}
cables:
  - {cable: array/nic/0/port/0 to blue, length: 3 m}
  - {cable: host/nic/port/0 to blue, length: 3 m}
arrays:
  main:
    on: array
    raid: {level: 0, drives: ssd/*, chunk: 64KiB, engine: md}
    export: {protocol: nvme-rdma, ports: nic/0/port/0, is: mangstor-titan-target}
loads:
  l: {fio: {rw: randread, bs: 4k}, from: host, to: main, paths: {is: linux-nvme-multipath}}
)";

} // namespace storlab::test
