#!/usr/bin/env python3
"""Fabrics in the real world: storage machines as processes, hosts in the program, sockets between.

usage: real_fabric.py BUILD_FOLDER
"""

import os
import signal
import subprocess
import sys
import time

from support.suite import FINE, WRONG_INPUT, load_json, run_all

FABRIC = """storlab: 1
title: Two ways
machines:
  storage:
    is: dell-r750
    cpu: {is: xeon-8380}
    cards: {CARD: {is: PART, count: 2}}
    drives:
      ssd: {is: memblaze-6926-12.8tb, count: 4}
      spare: {is: memblaze-6926-12.8tb, count: 1}
  host:
    is: dell-r740xd
    cpu: {is: xeon-6130}
    cards: {CARD: {is: PART, count: 2}}
switches: {red: {is: SWITCH}, blue: {is: SWITCH}}
cables:
  - storage/CARD/0/port/0 to red
  - storage/CARD/1/port/0 to blue
  - host/CARD/0/port/0 to red
  - host/CARD/1/port/0 to blue
arrays:
  main:
    on: storage
    raid: {level: 5, drives: ssd/*, spares: spare/0, chunk: 64KiB, engine: md}
    volumes: {lun: {count: 2}}
    export: {protocol: PROTOCOL, ports: CARD/*/port/0, is: TARGET}
loads:
  users:
    fio: {rw: randrw, rwmixread: 70, bs: 8k, ioengine: libaio, direct: 1, iodepth: 8}
    from: host
    to: main/lun/*
    paths: {is: PATHS, policy: round-robin}
run: {duration: 500ms, step: 50ms, scale: 524288}
"""
NVME = {"CARD": "nic", "PART": "connectx-5", "SWITCH": "ethernet-100g-switch",
        "PROTOCOL": "nvme-tcp", "TARGET": "linux-nvmet-target", "PATHS": "linux-nvme-multipath"}
FC = {"CARD": "fc", "PART": "qlogic-2772", "SWITCH": "brocade-g620", "PROTOCOL": "fcp",
      "TARGET": "scst-target", "PATHS": "linux-dm-multipath"}


def fabric(t, words, name="fabric.yaml"):
    text = FABRIC
    for word, value in words.items():
        text = text.replace(word, value)
    return t.file(name, text)


def nodes():
    """Processes of storage machines that are running."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as f:
                words = f.read().split(b"\0")
            with open(f"/proc/{pid}/stat") as f:
                zombie = f.read().rsplit(")", 1)[1].split()[0] == "Z"
        except OSError:
            continue
        if len(words) > 1 and words[1] == b"node" and not zombie:
            found.append(int(pid))
    return found


def test_real_fabric(t):
    path = t.path("real.json")

    def run(words, timeline, *more):
        file = fabric(t, words)
        out = t.run("run", file, "--world", "real", "--json", path, "--set",
                    f"timeline={timeline}", *more)
        t.check(out.returncode == FINE, f"{words['PROTOCOL']} {timeline}", out)
        r = load_json(path)
        t.check(r["integrity"]["verified"] > 100 and r["integrity"]["mismatches"] == 0,
                "every byte that came over the sockets is right", out)
        t.check(not [c for c in r["checks"] if not c["ok"]], "no process in trouble", out)
        return r, out

    for words, travels in [(NVME, "NVMe/TCP"), (FC, "iSCSI")]:
        r, out = run(words, "[]")
        t.check(any(a["path"] == "main/export" and a["value"] == travels for a in r["assumptions"]),
                "says what travels", out)
        t.check(r["integrity"]["scrubbed"] > 0 and r["integrity"]["scrub_mismatches"] == 0,
                "the storage machine's parity is right", out)

    port = "host/nic/0/port/0"
    r, out = run(NVME, f"[{{at 200ms: unplug {port}}}]")
    marks = [m for m in r["timeline"] if m["phase"] in ("detect", "path switch")]
    t.check([m["phase"] for m in marks] == ["detect", "path switch"] and
            all(200e6 <= m["at_ns"] < 400e6 and port in m["where"] for m in marks),
            "a host sees its own dark port at once and goes the other way", out)
    t.check(r["series"]["columns"]["users/iops"][-1] > 0, "I/O goes on", out)

    r, out = run(NVME, "[{at 200ms: fail storage/ssd/1}]", "--set", "run/duration=3s")
    marks = [(m["what"], m["phase"]) for m in r["timeline"]]
    t.check(("rebuild", "done") in marks and r["integrity"]["scrub_mismatches"] == 0,
            "the machine rebuilds onto its spare by itself", out)

    r, out = run(NVME, "[{at 200ms: power-off storage}, {at 400ms: power-on storage}]",
                 "--set", "run/duration=13s", "--set", "run/step=500ms")
    phases = [m["phase"] for m in r["timeline"]]
    t.check("no path" in phases and phases[-1] == "back",
            "a machine that lost power comes back", out)
    t.check(r["series"]["columns"]["users/iops"][-1] > 0 and
            r["integrity"]["scrubbed"] > 0 and r["integrity"]["scrub_mismatches"] == 0,
            "nothing is lost and parity agrees", out)
    t.check(not nodes(), "no process is left behind")


def test_real_fabric_ends_well(t):
    file = fabric(t, NVME)
    os.makedirs(t.path("taken/storage.ssd.0/full"))
    nowhere = t.run("run", file, "--world", "real", "--dir", t.path("taken"))
    t.check(nowhere.returncode == WRONG_INPUT and "storage: error:" in nowhere.stderr and
            "storage.ssd.0" in nowhere.stderr, "a machine that cannot have its files", nowhere)
    late = t.run("run", file, "--world", "real", "--set",
                 "timeline=[{at 1ms: fail storage/ssd/0}, {at 2ms: power-off storage}, "
                 "{at 3ms: power-on storage}]")
    t.check(late.returncode == WRONG_INPUT and "cannot power-on 'storage' after drives" in
            late.stderr, "what files do not remember", late)
    for number, code in [(signal.SIGINT, FINE), (signal.SIGKILL, -signal.SIGKILL)]:
        run = subprocess.Popen([t.program, "run", file, "--world", "real", "--duration", "60s"],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        wait_for(nodes)
        time.sleep(0.3)
        run.send_signal(number)
        stdout, _ = run.communicate(timeout=60)
        t.check(run.returncode == code, f"after {number}: {run.returncode}")
        if number == signal.SIGINT:
            t.check("PARTIAL" in stdout and "0 differ" in stdout, "a partial answer:\n" + stdout)
        t.check(wait_for(lambda: not nodes()), f"after {number} no process is left behind")


def wait_for(condition):
    until = time.monotonic() + 20
    while not condition() and time.monotonic() < until:
        time.sleep(0.02)
    return condition()


if __name__ == "__main__":
    sys.exit(run_all(globals()))
