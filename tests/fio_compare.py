#!/usr/bin/env python3
"""storlab's reading of fio jobs against fio itself, over real files: the same job file is run by
fio on a file and by `storlab run --world real`, and what fio determines must be the same - requests
(operation, offset, length), their order where they are sequential, and every byte at the end.
What a random job determines is stated per job below. Without fio in the path it skips.
usage: tests/fio_compare.py BUILD_DIR; prints "N passed, N failed".
"""
import collections
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

JOBS = Path("tests/support/jobs")
FILE_BYTES = 16 << 20

SCENARIO = """storlab: 1
machines:
  box:
    is: dell-r750
    cpu: {{is: xeon-8380}}
    drives: {{ssd: {{is: bench-device-gc, capacity: 16MiB, raw_capacity: 20MiB}}}}
loads:
  users: {{fio: "{job}", to: box/ssd/0}}
run: {{until: load, scale: 1, check: no}}
"""

# What each job determines. "order": the list of requests; "set": the requests in any order;
# "union":
# reads and writes together, in any order; "by direction": the order of reads and that of writes.
# "bytes": the whole file; otherwise every block holds the pattern exactly where it was written.
EXPECTED = {
    "seq_write": ("order", "bytes"),
    "holes": ("order", "bytes"),
    "rand_map": ("set", "bytes"),
    "rand_mix": ("union", "blocks"),
    "seq_mix": ("by direction", "blocks"),
    "clones": ("set", "bytes"),
}
PATTERNS = {"rand_mix": b"\xf4\xff\xff\xff", "seq_mix": b"ab\xff"}


def requests_of(log):
    """(operation, offset, length) in order, of an iolog of version 2 or 3 (with timestamps)."""
    lines = log.read_text().splitlines()
    skip = {"fio version 2 iolog": 0, "fio version 3 iolog": 1}[lines[0]]
    found = []
    for line in lines[1:]:
        words = line.split()[skip:]
        if words[1] in ("read", "write"):
            found.append((words[1], int(words[2]), int(words[3])))
    return found


def run(command, folder):
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120)
    return "" if done.returncode == 0 else f"{command[0]} failed: {done.stdout}{done.stderr}"


def run_fio(job, folder):
    (folder / "file").write_bytes(bytes(FILE_BYTES))
    problem = run(["fio", "--output-format=terse", str(with_keys(job, folder))], folder)
    return problem, folder / "fio.log", folder / "file"


def with_keys(job, folder):
    """The job file with the file and the log added to its one section."""
    copy = folder / "run.fio"
    copy.write_text(job.read_text() + f"filename={folder / 'file'}\nallow_file_create=0\n"
                    f"write_iolog={folder / 'fio.log'}\n")
    return copy


def run_storlab(program, job, folder):
    (folder / "scenario.yaml").write_text(SCENARIO.format(job=job.resolve()))
    problem = run([str(program), "run", str(folder / "scenario.yaml"), "--world", "real", "--dir",
                   str(folder), "--iolog", str(folder / "storlab.log")], folder)
    return problem, folder / "storlab.log", folder / "box.ssd.0"


def compare_requests(how, fio, ours):
    if not fio:
        return "fio's log is empty"
    if how == "order" and ours != fio:
        return f"order differs, first at {first_difference(ours, fio)}"
    if how == "set" and collections.Counter(ours) != collections.Counter(fio):
        return "sets of requests differ"
    if how == "union":
        places = [collections.Counter(r[1:] for r in log) for log in (ours, fio)]
        if places[0] != places[1]:
            return "the blocks touched differ"
        shares = [sum(r[0] == "read" for r in log) / len(log) for log in (ours, fio)]
        sigma = (0.6 * 0.4 / len(fio)) ** 0.5
        if any(abs(s - 0.6) > 4 * sigma for s in shares):
            return f"shares of reads are {shares}"
    if how == "by direction":
        if len(ours) != len(fio):
            return f"{len(ours)} requests, fio has {len(fio)}"
        for op in ("read", "write"):
            a, b = [[r for r in log if r[0] == op] for log in (ours, fio)]
            n = min(len(a), len(b))
            if n == 0 or a[:n] != b[:n]:
                return f"{op}s differ, first at {first_difference(a, b)}"
    return ""


def first_difference(ours, fio):
    for n, (a, b) in enumerate(zip(ours, fio)):
        if a != b:
            return f"request {n}: {a}, fio {b}"
    return f"request {min(len(ours), len(fio))}: {len(ours)} requests, fio has {len(fio)}"


def holds(data, requests, pattern):
    """Every block written holds the pattern from its start, every other byte is zero."""
    want = bytearray(len(data))
    for op, offset, length in requests:
        if op == "write":
            want[offset:offset + length] = (pattern * (length // len(pattern) + 1))[:length]
    return data == bytes(want)


def compare(program, name, folder):
    job = JOBS / (name + ".fio")
    how, contents = EXPECTED[name]
    problem, fio_log, fio_file = run_fio(job, folder)
    if problem:
        return problem
    problem, our_log, our_file = run_storlab(program, job, folder)
    if problem:
        return problem
    fio, ours = requests_of(fio_log), requests_of(our_log)
    problem = compare_requests(how, fio, ours)
    if problem:
        return problem
    fio_bytes, our_bytes = fio_file.read_bytes(), our_file.read_bytes()
    if len(our_bytes) != FILE_BYTES:
        return f"storlab's file has {len(our_bytes)} bytes"
    if contents == "bytes":
        return "" if fio_bytes == our_bytes and any(fio_bytes) else "bytes differ"
    for data, requests, who in ((fio_bytes, fio, "fio"), (our_bytes, ours, "storlab")):
        if not holds(data, requests, PATTERNS[name]):
            return f"{who}'s file does not hold what its log says"
    return ""


def main():
    program = Path(sys.argv[1]).resolve() / "storlab"
    if not program.exists():
        sys.exit(f"{program} is not built")
    if not shutil.which("fio"):
        print("fio is not installed: skipped\n0 passed, 0 failed")
        return
    os.environ.setdefault("STORLAB_HOME", str(Path.cwd()))
    failures = []
    for name in EXPECTED:
        with tempfile.TemporaryDirectory() as folder:
            problem = compare(program, name, Path(folder))
        if problem:
            failures.append(name)
        print(f"{'FAILED' if problem else 'ok':7} {name} {problem}")
    print(f"{len(EXPECTED) - len(failures)} passed, {len(failures)} failed")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
