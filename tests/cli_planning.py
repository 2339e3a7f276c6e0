#!/usr/bin/env python3
"""knee, sensitivity and topology as a user meets them. Run from the source folder with the build
folder as argument; prints "N passed, N failed".
"""
import os
import re
import shutil
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from support.json_schema import complaints  # noqa: E402
from support.suite import FINE, WRONG_INPUT, load_json, run_all  # noqa: E402
from support.tiny import TINY  # noqa: E402


def test_knee(t):
    path = t.path("knee.json")
    tiny = t.file("knee.yaml", TINY)
    out = t.run("knee", tiny, "--up-to", "6", "--target", "mean=2ms", "--json", path)
    t.check(out.returncode == FINE, "knee runs", out)
    wrong = complaints(load_json("docs/schemas/knee.schema.json"), load_json(path))
    t.check(not wrong, f"its figures fit their schema: {wrong[:3]}")
    points = load_json(path)["points"]
    t.check([p["load"] for p in points][:3] == [1, 2, 4], "from one I/O in flight, doubling", out)
    t.check(all(a["iops"] < b["iops"] for a, b in zip(points, points[1:2])), "two do more than one")
    # What is run is what the jobs make of it, and no more than the slice takes.
    jobs = TINY.replace("rw: randrw, rwmixread: 70, bs: 4k", "rw: randwrite, bs: 64k")
    jobs = t.file("jobs.yaml", jobs.replace("iodepth: 8", "iodepth: 2, numjobs: 3"))
    out = t.run("knee", jobs, "--up-to", "32", "--set", "run/scale=4", "--json", path)
    found = load_json(path)
    loads = [p["load"] for p in found["points"]]
    t.check(out.returncode == FINE and all("iops" in p for p in found["points"]),
            "no point fails for want of room", out)
    t.check(loads == [1, 2, 3, 9, 15, 27], "points are named by what really is in flight", out)
    t.check("on real drives: not as many as 32" in out.stdout,
            "the largest that fits is the last, and a note says so", out)
    for arguments, what in [(("--target", "p99=1"), "'1' has no unit"),
                            (("--load", "user"), "did you mean 'users'?"),
                            (("--up-to", "0"), "expected 1 to 65536")]:
        out = t.run("knee", tiny, *arguments)
        t.check(out.returncode == WRONG_INPUT and what in out.stderr, f"knee {arguments}", out)


def test_sensitivity(t):
    path = t.path("sensitivity.json")
    tiny = t.file("sensitivity.yaml", TINY)
    out = t.run("sensitivity", tiny, "--only", "linux-*/*", "--duration", "4ms", "--json", path)
    t.check(out.returncode == FINE and "20 % less and 20 % more" in out.stdout, "sensitivity", out)
    found = load_json(path)
    wrong = complaints(load_json("docs/schemas/sensitivity.schema.json"), found)
    t.check(not wrong, f"its figures fit their schema: {wrong[:3]}")
    t.check({v["from"] for v in found["values"]} <= {"assumed", "fitted"} and
            all(v["value"].startswith("linux-") for v in found["values"]),
            "only what was asked for", out)
    out = t.run("sensitivity", tiny, "--only", "dell-r750/*", "--duration", "4ms", "--json", path)
    t.check(any(v["why_not"] for v in load_json(path)["values"]) and "not varied" in out.stdout,
            "what cannot be varied is named", out)
    out = t.run("sensitivity", tiny, "--only", "nobody/*")
    t.check(out.returncode == WRONG_INPUT and "no assumed or fitted value" in out.stderr,
            "a pattern that matches nothing", out)
    for top in ("0", "-1"):
        out = t.run("sensitivity", tiny, "--top", top)
        t.check(out.returncode == WRONG_INPUT and "--top" in out.stderr, f"--top {top}", out)


def test_topology(t):
    remote = "scenarios/testbeds/starwind/remote-graid.yaml"
    listed = t.run("topology", remote)
    t.check(listed.returncode == FINE and "cable client/*/fc/port/0 to red" in listed.stdout,
            "topology lists cables as written", listed)
    tiny = t.file("tiny.yaml", TINY)
    ran = t.run("topology", tiny, "--run", "--set", "title=now")
    t.check(ran.returncode == FINE and re.search(r"drive +box/ssd/\* +x2 +\d+ %", ran.stdout),
            "--run says how busy drives were", ran)
    result, dot = t.path("busy.json"), t.path("wiring.dot")
    t.run("run", tiny, "--json", result)
    out = t.run("topology", tiny, "--json", result, "--out", dot)
    with open(dot, encoding="utf-8") as opened:
        text = opened.read()
    t.check(out.returncode == FINE and out.stdout == "" and "2 x " in text and " %" in text,
            "--json colours a drawing", out)
    other = t.run("topology", tiny, "--json", result, "--set", "title=Others", "--out", dot)
    t.check(other.returncode == FINE and "another scenario" in other.stderr,
            "a result of another scenario is noted", other)
    picture = t.path("wiring.svg")
    out = t.run("topology", remote, "--out", picture)
    if shutil.which("dot"):
        with open(picture, encoding="utf-8") as opened:
            svg = opened.read()
        t.check(out.returncode == FINE and svg.count(">32GFC 3 m<") == 16 and
                svg.rstrip().endswith("</svg>"), "an SVG has every cable", out)
    else:
        t.check(out.returncode == WRONG_INPUT and ".dot" in out.stderr, "without dot: says so", out)
    no_dot = t.run("topology", tiny, "--out", t.path("no.svg"), env={"PATH": t.folder})
    t.check(no_dot.returncode == WRONG_INPUT and "graphviz" in no_dot.stderr and
            not os.path.exists(t.path("no.svg")), "without dot nothing is written", no_dot)
    for arguments, what in [(("--out", t.path("x.pdf")), "ends in .svg, .png or .dot"),
                            (("--out", t.path("none/x.svg")), "cannot write"),
                            (("--json", dot), "wiring.dot:1:1: error: is not JSON from here on"),
                            (("--json", "docs/schemas/run.schema.json"), "not what storlab run"),
                            (("--json", t.folder), "is a folder"),
                            (("--out", ""), "--out: is empty"),
                            (("--json", t.path("none.json")), "cannot read"),
                            (("--json", result, "--run"), "excludes"),
                            (("--json", dot, "--out", dot), "would overwrite")]:
        out = t.run("topology", tiny, *arguments)
        t.check(out.returncode == WRONG_INPUT and what in out.stderr, f"topology {arguments}", out)


if __name__ == "__main__":
    sys.exit(run_all(globals()))
