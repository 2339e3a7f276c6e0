#!/usr/bin/env python3
"""The program as a user meets it: exit codes, messages with their place, settings, seeds, JSON and
Ctrl-C. Run from the source folder with the build folder as argument; prints "N passed, N failed".
"""
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time

import yaml  # python3-yaml, in .ci/packages

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from support.json_schema import complaints  # noqa: E402
from support.suite import FINE, WRONG_INPUT, load_json, run_all  # noqa: E402
from support.tiny import TINY  # noqa: E402

# What is replaced by what in TINY, the text at which the complaint must stand, and what it says.
MALFORMED = [
    ("storlab: 1\n", "", "title: Two", "needs 'storlab'"),
    ("chunk: 64KiB", "chnk: 64KiB", "chnk", "unknown key 'chnk' in raid; did you mean 'chunk'?"),
    ("chunk: 64KiB", "chunk: 64", "64, engine", "'64' has no unit; write 64KiB"),
    ("chunk: 64KiB", "chunk: 5KiB", "5KiB", "chunk is a multiple of 4KiB"),
    ("is: dell-r750", "is: dell-r570", "dell-r570", "did you mean 'dell-r750'?"),
    ("{is: xeon-8380}", "{is: dell-r750}", "dell-r750}", "is of kind server; expected cpu"),
    ("count: 2", "count: 0", "0, state", "count is 0; expected 1 to 1024"),
    ("state: filled", "state: full", "full", "expected one of fresh, filled, steady"),
    ("level: 1,", "level: 2,", "2, drives", "'2' is no level; expected one of 0, 1, 5, 6, 10"),
    ("drives: ssd/*,", "drives: sdd/*,", "sdd/*", "no drive 'sdd/*'; there is ssd/0, ssd/1"),
    ("to: pair", "to: pear", "pear", "no array or drive 'pear'; there is box/ssd/0"),
    ("to: pair", "two: pair", "two", "unknown key 'two'"),
    ("rw: randrw", "rw: randomrw", "randomrw", "'randomrw'"),
    ("bs: 4k", "bs: 4x", "4x", "'4x'"),
    ("iodepth: 8", "iodeph: 8", "8}\n    to", "did you mean 'iodepth'?"),
    ("duration: 5ms", "duration: 5", "5, warm", "'5' has no unit"),
    ("scale: 64", "scale: 64, scale: 32", "scale: 32", "key 'scale' is written twice"),
    ("title: Two drives", "title: [Two drives", None, "this is no YAML"),
    ("title: Two drives", "titel: Two drives", "titel", "did you mean 'title'?"),
    ("linux-host}", "linux-host, load_submit: 5}", "5}", "'5' has no unit"),
    ("run: {", "timeline: [at 2 s: explode pair]\nrun: {", "explode", "'explode'"),
    ("run: {", "timeline: [at 2 s: fail pair]\nrun: {", "at 2 s", "cannot fail 'pair'"),
]


def place_of(text, part):
    at = text.index(part)
    assert text.count(part) == 1, part
    return f"{text.count(chr(10), 0, at) + 1}:{at - text.rfind(chr(10), 0, at)}"


def test_exit_codes(t):
    tiny = t.file("tiny.yaml", TINY)
    good = t.run("run", tiny)
    t.check(good.returncode == FINE, "a good run ends with 0", good)
    t.check("reads verified, 0 differ" in good.stdout, "a run says what it verified", good)
    t.check("again   storlab run " in good.stdout, "a run says how to repeat it", good)
    t.check(good.stderr == "", "a good run says nothing on stderr", good)
    for arguments in (["run", t.path("missing.yaml")], ["run"], ["fly"], [],
                      ["run", tiny, "--fast"], ["run", t.folder],
                      ["check", t.path("missing.yaml")], ["parts", "nothing"],
                      ["bench", "nothing"], ["run", tiny, "--seed", "x"],
                      ["run", tiny, "--world", "moon"], ["bench", "--repeat", "0"]):
        out = t.run(*arguments)
        t.check(out.returncode == WRONG_INPUT, f"{arguments[:1] + arguments[2:]} ends with 2", out)
        t.check(out.stderr != "", f"{arguments} says why", out)
    for arguments in (["--help"], ["--version"], ["run", "--help"], ["check", tiny], ["parts"],
                      ["parts", "linux-host"], ["schema"]):
        out = t.run(*arguments)
        t.check(out.returncode == FINE and out.stdout, f"{arguments[:1]} ends with 0", out)


def test_malformed(t):
    for n, (old, new, at, what) in enumerate(MALFORMED):
        assert TINY.count(old) == 1, old
        text = TINY.replace(old, new)
        path = t.file(f"wrong{n}.yaml", text)
        place = place_of(text, at) if at else None
        for verb in ("check", "run"):
            out = t.run(verb, path)
            name = f"{verb} with {new.strip()!r}"
            t.check(out.returncode == WRONG_INPUT, f"{name} ends with 2", out)
            lines = [line for line in out.stderr.split("\n") if what in line]
            t.check(lines, f"{name} says: {what}", out)
            where = re.escape(path) + ":" + (place or r"\d+:\d+") + ": error: "
            t.check(lines and re.match(where, lines[0]), f"{name} says where: {place}", out)
            t.check("nothing was run" in out.stderr, f"{name} says that nothing was run", out)
            t.check(out.stdout == "", f"{name} prints no answer", out)
    several = TINY.replace("chunk: 64KiB", "chnk: 64KiB").replace("to: pair", "to: pear")
    out = t.run("run", t.file("several.yaml", several))
    t.check("2 errors; nothing was run" in out.stderr, "all errors of a file come at once", out)


def test_settings(t):
    tiny = t.file("tiny.yaml", TINY)
    out = t.run("check", tiny, "--set", "loads/users/fio/iodepth=3", "--set", "run/seed=9")
    t.check("3 in flight" in out.stdout and "seed 9" in out.stdout, "--set sets values", out)
    out = t.run("run", tiny, "--set", "run/scale=128")
    t.check("--set run/scale=128" in out.stdout, "the repeating command has the settings", out)
    again = re.search(r"again +storlab (run .*?)(?:  |$)", out.stdout, re.M)
    t.check(again, "the repeating command is printed", out)
    if again:
        second = t.run(*shlex.split(again.group(1)))
        traces = [re.search(r"trace (\w+)", o.stdout) for o in (out, second)]
        t.check(all(traces) and traces[0].group(1) == traces[1].group(1),
                "the printed command gives the same trace", second)
    for setting, what in (("loads/users/foi/iodepth=3", "foi"), ("run", "sets nothing"),
                          ("loads/users/fio/iodepth=x", "no number"), ("run/sed=3", "sed"),
                          ("machines/box/drives/ssd/t_read=60", "'60' has no unit")):
        out = t.run("run", tiny, "--set", setting)
        t.check(out.returncode == WRONG_INPUT, f"--set {setting} ends with 2", out)
        t.check(re.search(r"^--set:1:\d+: error: ", out.stderr, re.M) and what in out.stderr,
                f"--set {setting} is named as the place", out)


def test_settings_of_the_run(t):
    bare = t.file("bare.yaml", TINY[:TINY.index("run: {")])
    out = t.run("check", bare, "--set", "run/seed=3", "--set", "run/confidence=5%")
    t.check("seed 3" in out.stdout and "±5 %" in out.stdout,
            "the run can be set where the scenario says nothing of it", out)
    out = t.run("run", bare, "--seed", "4", "--duration", "2ms", "--set", "run/scale=64")
    t.check(out.returncode == FINE and "seed 4" in out.stdout, "and by --seed and --duration", out)


def test_the_real_world_repeats(t):
    tiny = t.file("real.yaml", TINY)
    real = ["run", tiny, "--world", "real", "--set", "loads/users/fio/iodepth=1"]
    out = t.run(*real)
    t.check(out.returncode == FINE and "--world real" in out.stdout and "--dir" not in out.stdout,
            "a folder that is gone is not in the repeating command", out)
    folder = t.path("kept")
    os.mkdir(folder)
    out = t.run(*real, "--dir", folder)
    t.check(f"--dir '{folder}'" in out.stdout, "one that was given is", out)


def test_what_is_worth_a_note(t):
    late = t.file("late.yaml", TINY.replace("run: {", "timeline: [at 1 s: fail box/ssd/0]\nrun: {"))
    place = place_of(open(late, encoding="utf-8").read(), "at 1 s")
    for verb in ("check", "run"):
        out = t.run(verb, late)
        t.check(out.returncode == FINE and
                f"note: {late}:{place}: the run ends at 6 ms, before this event" in out.stderr,
                f"{verb} notes an event after the end", out)
    writes = t.file("writes.yaml", TINY.replace("rw: randrw, rwmixread: 70", "rw: write"))
    out = t.run("run", writes)
    t.check("writes only: no reads to verify" in out.stdout and "NO READ" not in out.stdout,
            "a load that only writes has no reads to verify", out)


def test_parts_of_ones_own(t):
    home = t.path("home")
    parts = os.path.join(home, "scenarios", "parts")
    shutil.copytree("scenarios/parts", parts)
    path = os.path.join(parts, "mine.yaml")
    with open(path, "w", encoding="utf-8") as out:
        out.write("title: Mine\nlike: bench-device-gc\nt_raed: {value: 60us, from: assumed}\n")
    tiny = t.file("own.yaml", TINY.replace("is: bench-device-gc", "is: mine"))
    for arguments in (("run", tiny), ("check", tiny), ("parts", "mine")):
        out = t.run(*arguments, env={**os.environ, "STORLAB_HOME": home})
        t.check(out.returncode == WRONG_INPUT and out.stderr.startswith(
            f"{path}:3:1: error: unknown value 't_raed' in a part of kind ssd; did you mean "
            f"'t_read'?\n1 error; "), f"{arguments[0]} with an unknown value of a part", out)


def answer(t, *arguments):
    path = t.path("answer.json")
    out = t.run("run", *arguments, "--json", path)
    t.check(out.returncode == FINE, f"{arguments[1:]} runs", out)
    result = load_json(path) if os.path.exists(path) else {"run": {}}
    if os.path.exists(path):
        os.remove(path)
    return result


def test_seeds_and_json(t):
    tiny = t.file("tiny.yaml", TINY)
    first, second, other = (answer(t, tiny, "--seed", seed) for seed in ("5", "5", "6"))
    t.check(first["run"].get("trace_hash"), "a run has a trace hash")
    t.check(first["run"].get("trace_hash") == second["run"].get("trace_hash"),
            "the same seed gives the same trace in two processes")
    t.check(first["run"].get("trace_hash") != other["run"].get("trace_hash"),
            "another seed gives another trace")
    second["run"]["wall_ns"] = first["run"]["wall_ns"]
    t.check(first == second, "the same seed gives the same answer, wall time aside")
    schema = load_json("docs/schemas/run.schema.json")
    for result in (first, other):
        wrong = complaints(schema, result)
        t.check(not wrong, f"the answer fits its schema: {wrong[:3]}")
    broken = dict(first)
    broken.pop("loads")
    t.check(complaints(schema, broken), "the schema notices a missing part")

    missing = t.path("missing/answer.json")
    out = t.run("run", tiny, "--json", missing)
    t.check(out.returncode == WRONG_INPUT, "--json into a missing folder ends with 2", out)
    t.check(missing in out.stderr, "and names the file", out)
    t.check(not os.path.exists(missing) and not os.path.exists(t.path("missing")),
            "and leaves no file or folder")


def test_odd_options(t):
    tiny = t.file("tiny.yaml", TINY)
    for seed in ("-1", "18446744073709551616", "1e3", "99999999999999999999999"):
        out = t.run("run", tiny, "--seed", seed)
        t.check(out.returncode == WRONG_INPUT and "--seed" in out.stderr and seed in out.stderr,
                f"--seed {seed} is refused by its name", out)
    out = t.run("run", tiny, "--world", "real", "--dir", t.path("nowhere"))
    t.check(out.returncode == WRONG_INPUT and "--dir: error:" in out.stderr and
            "no folder; create it first" in out.stderr, "a folder that is missing", out)
    out = t.run("run", tiny, "--set", "loads/users/fio/bs=1g", "--set",
                "loads/users/fio/iodepth=32", "--set", "run/scale=1")
    t.check(out.returncode == WRONG_INPUT and "make blocks or depth smaller" in out.stderr,
            "more blocks in flight than is good", out)
    out = t.run("run", tiny, "--duration", "1us", "--set", "run/warm-up=0s")
    t.check(out.returncode == FINE and "±" not in out.stdout, "no I/O, no precision", out)


def test_quiet(t):
    tiny, path = t.file("tiny.yaml", TINY), t.path("quiet.json")
    out = t.run("run", tiny, "--quiet", "--json", path)
    t.check((out.returncode, out.stdout, out.stderr) == (0, "", ""), "--quiet prints nothing", out)
    with open(path, encoding="utf-8") as f:
        quiet = json.load(f)
    t.check(quiet["run"]["trace_hash"] == answer(t, tiny)["run"]["trace_hash"],
            "and its answer is the same")
    out = t.run("run", t.path("none.yaml"), "--quiet")
    t.check(out.returncode == WRONG_INPUT and out.stderr, "a mistake is told all the same", out)


def test_bench(t):
    path = t.path("bench.json")
    out = t.run("bench", "calendar", "one_drive_gc", "--repeat", "1", "--json", path)
    t.check(out.returncode == FINE, "bench runs", out)
    wrong = complaints(load_json("docs/schemas/bench.schema.json"), load_json(path))
    t.check(not wrong, f"its figures fit their schema: {wrong[:3]}")
    case = load_json(path)["cases"]["one_drive_gc"]
    t.check(case["unverified"] and case["ios_per_cpu_s"], "with and without contents checked")


class Yaml12(yaml.SafeLoader):
    """YAML as the program reads it: a bare `on` is a word, not a truth value."""


Yaml12.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in found if tag != "tag:yaml.org,2002:bool"]
    for first, found in yaml.SafeLoader.yaml_implicit_resolvers.items()}
Yaml12.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile("^(true|false)$"), "tf")


def scenario_of(text):
    return yaml.load(text, Loader=Yaml12)


def test_schema_of_scenarios(t):
    schema = json.loads(t.run("schema").stdout)
    scenarios = [os.path.join(folder, f) for folder, _, files in os.walk("scenarios")
                 for f in files if f.endswith(".yaml") and os.path.basename(folder) != "parts"]
    t.check(len(scenarios) > 10, "there are scenarios")
    for path in scenarios:
        with open(path, encoding="utf-8") as opened:
            wrong = complaints(schema, scenario_of(opened))
        t.check(not wrong, f"{path} fits the scenario schema: {wrong[:3]}")
        out = t.run("check", path)
        t.check(out.returncode == FINE, f"{path} passes check", out)
    for new in ("chnk: 64KiB", "chunk: 64"):
        wrong = complaints(schema, scenario_of(TINY.replace("chunk: 64KiB", new)))
        t.check(wrong, f"the scenario schema refuses '{new}'")


def test_interrupt(t):
    long = t.file("long.yaml", TINY.replace("duration: 5ms", "duration: 1 h"))
    path = t.path("partial.json")
    child = subprocess.Popen([t.program, "run", long, "--json", path], stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, text=True, stdin=subprocess.DEVNULL)
    time.sleep(2.0)  # of about a minute's work
    t.check(child.poll() is None, "an hour is not simulated in two seconds")
    child.send_signal(signal.SIGINT)
    try:
        stdout, stderr = child.communicate(timeout=60)
    except subprocess.TimeoutExpired:
        child.kill()
        stdout, stderr = child.communicate()
        t.check(False, "Ctrl-C ends a run")
    out = subprocess.CompletedProcess([], child.returncode, stdout, stderr)
    t.check("PARTIAL" in stdout, "Ctrl-C prints what there is and says that it is partial", out)
    t.check("IOPS" in stdout and "reads verified, 0 differ" in stdout,
            "a partial answer has figures and checks", out)
    t.check(os.path.exists(path) and load_json(path)["run"]["partial"] is True,
            "the JSON of an interrupted run says so", out)


if __name__ == "__main__":
    sys.exit(run_all(globals()))
