#!/usr/bin/env python3
"""Which assumed or fitted value moves each headline prediction most: writes docs/sensitivity.md.

usage: validation/sensitivity.py [RUN...]     runs of validation/*.yaml; else those of headlines

Each value of each part alone, by 20 % less and more (`storlab sensitivity`); takes some minutes.
"""
import datetime
import glob
import json
import os
import subprocess
import sys
import tempfile

import yaml  # python3-yaml, in .ci/packages

HEADLINES = ["drive-4k-rr", "drive-4k-rw", "md-4krr-hi", "gr-4krw-hi", "r-md-4krr-hi",
             "r-gr-4krr-lo", "fc200-4kr", "nic-4kr", "ds-12-rd-iops", "ds-rd-lat"]
STRONGEST = 3  # values shown for each run
LEAST = 0.01   # of what moves less than this nothing is said


def runs():
    """Of each run its testbed, scenario and settings, as `storlab validate` puts them together."""
    found = {}
    for path in sorted(glob.glob("validation/*.yaml")):
        with open(path, encoding="utf-8") as f:
            testbed = yaml.safe_load(f)
        for name, run in testbed.get("runs", {}).items():
            settings = [s for group in run["with"] for s in testbed["settings"][group]["set"]]
            found[name] = (testbed["testbed"], os.path.join("scenarios/testbeds", run["scenario"]),
                           settings + run.get("set", []))
    return found


def sensitivity(scenario, settings):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "found.json")
        words = [word for s in settings for word in ("--set", s)]
        out = subprocess.run(["./storlab", "sensitivity", scenario, *words, "--json", path],
                             stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        if out.returncode != 0:
            sys.exit(f"{scenario}: {out.stderr or out.stdout}")
        with open(path, encoding="utf-8") as f:
            return json.load(f)


def strength(value):
    sides = [s for s in (value["less"], value["more"]) if s]
    return max((abs(s[m]) for s in sides for m in ("iops", "mean_latency")), default=0)


def side(s):
    return f"{s['iops']:+.0%} / {s['mean_latency']:+.0%}" if s else "-"


def rows_of(name, testbed, found):
    strong = sorted(found["values"], key=strength, reverse=True)[:STRONGEST]
    strong = [v for v in strong if strength(v) >= LEAST]
    first = f"{testbed} `{name}`"
    if not strong:
        return [f"| {first} | nothing moves it by 1 % | | |"]
    return [f"| {first if i == 0 else ''} | `{v['value']}` = {v['is']} ({v['from']}) | "
            f"{side(v['less'])} | {side(v['more'])} |" for i, v in enumerate(strong)]


def main():
    os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
    known, wanted = runs(), sys.argv[1:] or HEADLINES
    unknown = [w for w in wanted if w not in known]
    if unknown:
        sys.exit(f"no run {', '.join(unknown)} in validation/*.yaml")
    revision = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True,
                              text=True, check=True).stdout.strip()
    lines = []
    for name in wanted:
        testbed, scenario, settings = known[name]
        print(name, flush=True)
        lines += rows_of(name, testbed, sensitivity(scenario, settings))
    with open("docs/sensitivity.md", "w", encoding="utf-8") as out:
        out.write(f"""# What the predictions rest on

Written by `validation/sensitivity.py` on {datetime.date.today()}, revision {revision}. Of each
headline prediction the values, assumed or fitted, that move it most, each alone by 20 % less and
more: change of IOPS / of the mean latency. Names of runs are those of `validation/*.yaml`; what
moves a prediction by less than {LEAST:.0%} is left out.

| prediction | value | 20 % less | 20 % more |
|---|---|---|---|
""" + "\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
