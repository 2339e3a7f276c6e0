#!/usr/bin/env python3
"""Plants one bug at a time and requires that verification finds it.

usage: tests/mutants.py BUILD_DIR

Each mutant is an exact replacement in a copy of one source file, which must match exactly once. The
copy is compiled and linked, in front of the static libraries of the build, with a driver that runs
arrays under load, loss and rebuild (tests/support/mutant_driver.cpp). The driver must report a
mismatch; without a bug it must report none. Faulty drives are bugs of the drive, and are found
likewise. The table shows in which phase: a healthy run does not see parity, the scrub does.
"""
import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DRIVER = "tests/support/mutant_driver.cpp"
LIBRARIES = ["raid", "erasure", "faults", "kernel", "real", "seam", "base"]
PHASES = ["healthy", "scrub", "degraded", "rebuilt", "cut"]
RUN_SECONDS = 60  # a mutant may loop; the sound driver takes about one second


@dataclass
class Mutant:
    name: str
    file: str      # where the bug is
    find: str
    replace: str
    compile: str = ""  # the source that sees it, if the bug is in a header


MUTANTS = [
    Mutant("old data is not taken out of parity", "models/raid/line.cpp",
           "xor_into(data, fresh, payload); // old XOR new",
           "std::memcpy(data, fresh, payload);"),
    Mutant("a stripe is worked on although it is locked", "models/raid/stripes.cpp",
           "if (!s->active && s->plugs == 0) a.start(*s);",
           "if (s->plugs == 0) a.start(*s);"),
    Mutant("parity is not written", "models/raid/line.cpp",
           "if (!writable(layout_.column_member(row_of(s.line), column))) continue;",
           "if (column >= layout_.data_columns()) continue;"),
    Mutant("Q is not updated", "models/raid/line.cpp",
           "for (uint32_t p = 0; p < layout_.parities(); p++)\n"
           "            if (parities >> p & 1)",
           "for (uint32_t p = 0; p < 1; p++)\n"
           "            if (parities >> p & 1)"),
    Mutant("a survivor is left out of recovery", "models/erasure/code.cpp",
           "for (uint32_t i = 0; i < k_; i++)\n                sum ^=",
           "for (uint32_t i = 1; i < k_; i++)\n                sum ^="),
    Mutant("the rebuild pointer moves before its window is written", "models/raid/repair.cpp",
           "const uint64_t end = std::min<uint64_t>(lines(), line + o.window_lines);",
           "const uint64_t end = std::min<uint64_t>(lines(), line + o.window_lines);\n"
           "        members_[member].rebuilt = end;"),
    Mutant("parity on a member being rebuilt is forgotten", "models/raid/plan.hpp",
           "const uint64_t live_parity = parity & ~s.absent;",
           "const uint64_t live_parity = parity & ~s.missing;", "models/raid/line.cpp"),
    Mutant("a parity page that was left out stays in the cache", "models/raid/line.cpp",
           "s.cached &= (uint64_t{1} << layout_.data_columns()) - 1;", ""),
    Mutant("a reused stripe keeps the pages of another line", "models/raid/stripe_cache.cpp",
           "    s.cached = 0;\n", ""),
    Mutant("overlapping writes to a mirror are not ordered", "models/raid/mirror.cpp",
           "        co_await held;\n", ""),
    Mutant("one copy is not written", "models/raid/mirror.cpp",
           "for (uint32_t c = 0; c < layout_.copies(); c++) {\n            const",
           "for (uint32_t c = 0; c + (at == 7) < layout_.copies(); c++) {\n"
           "            const"),
    Mutant("the partial parity log is not written", "models/raid/line.cpp",
           "if (log_) co_await log_line(s, s.written, c.ticket);", ""),
    Mutant("only changes that read something are logged", "models/raid/line.cpp",
           "if (log_) co_await log_line(s, s.written, c.ticket);",
           "if (log_ && c.reads) co_await log_line(s, s.written, c.ticket);"),
    Mutant("a slot of the log is free before its writes are done", "models/raid/line.cpp",
           "if (log_) co_await log_line(s, s.written, c.ticket);",
           "if (log_) co_await log_line(s, s.written, c.ticket), log_->release(c.ticket);"),
    Mutant("a log entry that landed in part is replayed", "models/raid/parity_log.cpp",
           "if (seen.insert(e.line).second && e.whole)", "if (seen.insert(e.line).second)"),
    Mutant("partial parity has the new data in it", "models/raid/consistency.cpp",
           "for (uint64_t left = logged; left; left &= left - 1)",
           "for (uint64_t left = 0; left; left &= left - 1)"),
    Mutant("members are written before their journal entry", "models/raid/journal.cpp",
           "return journal_.failed_ || number_ < journal_.stable_; }\n"
           "    void await_suspend(Handle h) { journal_.slot(number_).waiter = h; }\n"
           "    bool await_resume() const { return number_ < journal_.stable_; }",
           "return true; }\n"
           "    void await_suspend(Handle) {}\n"
           "    bool await_resume() const { return true; }"),
    Mutant("members are written before what precedes their entry", "models/raid/journal.cpp",
           "const uint64_t from = stable_, to = landed_;",
           "const uint64_t from = stable_, to = next_;"),
    Mutant("replay of the journal takes torn entries", "models/raid/journal.cpp",
           "if (status == IoStatus::ok && whole(meta.get(), start, *e)) entry = e;",
           "if (status == IoStatus::ok) entry = e;"),
    Mutant("the journal runs over entries it still needs", "models/raid/journal.cpp",
           "return open_ && rooms_.empty() && head_ - tail_ + r.blocks <= ring_;",
           "return open_ && rooms_.empty();"),
    Mutant("the journal has the data and not the parity", "models/raid/line.cpp",
           "logged = co_await journal_line(s, c.ios.columns(), c.entry);",
           "logged = co_await journal_line(s, s.written, c.entry);"),
    Mutant("writes do not wait for their bit", "models/raid/write_intents.cpp",
           "return in_place(region);", "start(block_of(region));\n    return true;"),
    Mutant("a bit is cleared under a write", "models/raid/write_intents.cpp",
           "|| r.writers > 0 ||", "||"),
    Mutant("a bit that is being cleared counts as set", "models/raid/write_intents.hpp",
           "return bit(landed_.data(), region) && bit(flying_.get(), region);",
           "return bit(landed_.data(), region);", "models/raid/write_intents.cpp"),
]
FAULTS = ["lost-write", "stale-data", "old-write-wins"]


def cached(build, variable):
    match = re.search(rf"^{variable}:\w+=(.*)$", (build / "CMakeCache.txt").read_text(), re.M)
    return match.group(1) if match else ""


class Bench:
    def __init__(self, build, scratch):
        self.scratch = Path(scratch)
        self.libraries = [build / f"lib{name}.a" for name in LIBRARIES]
        self.libraries = [str(path) for path in self.libraries if path.exists()]
        # Not below -O1: coroutines hand over by tail calls.
        self.compiler = [cached(build, "CMAKE_CXX_COMPILER") or "c++", "-std=c++20", "-O1", "-w"]
        if cached(build, "STORLAB_SANITIZE") == "ON":
            self.compiler.append("-fsanitize=address,undefined")
        self.driver = self.scratch / "driver.o"

    def compile(self, source, out, include_first=()):
        includes = [f"-I{path}" for path in (*include_first, ROOT)]
        subprocess.run([*self.compiler, *includes, "-c", str(source), "-o", str(out)], check=True,
                       capture_output=True, text=True)

    def link(self, objects, program):
        archives = ["-Wl,--start-group", *self.libraries, "-Wl,--end-group"]
        subprocess.run([*self.compiler, *map(str, objects), *archives, "-lisal", "-luring",
                        "-pthread", "-o", str(program)], check=True, capture_output=True, text=True)

    def build_mutant(self, number, mutant):
        text = (ROOT / mutant.file).read_text()
        if text.count(mutant.find) != 1:
            raise RuntimeError(f"{mutant.file}: the text to replace occurs "
                               f"{text.count(mutant.find)} times, not once:\n{mutant.find}")
        copies = self.scratch / f"mutant-{number}"
        copy = copies / mutant.file
        copy.parent.mkdir(parents=True)
        copy.write_text(text.replace(mutant.find, mutant.replace))
        source = ROOT / mutant.compile if mutant.compile else copy
        self.compile(source, copies / "mutant.o", [copies])
        program = copies / "driver"
        self.link([self.driver, copies / "mutant.o"], program)
        return program


def run(program, fault="none"):
    """What the driver says for each phase it reaches, and how it ended."""
    found, ended = {}, ""
    process = subprocess.Popen([str(program), fault], stdout=subprocess.PIPE,
                               stderr=subprocess.DEVNULL, text=True)
    try:
        out, _ = process.communicate(timeout=RUN_SECONDS)
        if process.returncode != 0:
            ended = f"ended with {process.returncode}"
    except subprocess.TimeoutExpired:
        process.kill()
        out, _ = process.communicate()
        ended = "did not end"
    for line in out.splitlines():
        phase, *counts = line.split()
        found[phase] = {k: int(v) for k, v in (c.split("=") for c in counts)}
    return found, ended


def judge(name, expect_wrong, found, ended):
    wrong = sum(f["wrong-reads"] + f["bad-lines"] for f in found.values())
    failed = sum(f["failed"] for f in found.values())
    cells = [str(found[p]["wrong-reads"] + found[p]["bad-lines"]) if p in found else "-"
             for p in PHASES]
    good = wrong > 0 if expect_wrong else (wrong == 0 and failed == 0 and not ended)
    print(f"{'ok  ' if good else 'FAIL'} {name:55}" + "".join(f"{c:>10}" for c in cells) +
          (f"  {ended}" if ended else ""), flush=True)
    return good


def main():
    if len(sys.argv) != 2 or not (Path(sys.argv[1]) / "CMakeCache.txt").exists():
        sys.exit(__doc__)
    build = Path(sys.argv[1]).resolve()
    subprocess.run(["cmake", "--build", str(build), "--target", "raid", "faults", "real"],
                   check=True, stdout=subprocess.DEVNULL)
    with tempfile.TemporaryDirectory() as scratch:
        bench = Bench(build, scratch)
        bench.compile(ROOT / DRIVER, bench.driver)
        sound = Path(scratch) / "driver"
        bench.link([bench.driver], sound)
        print(f"{'mismatches by phase':60}" + "".join(f"{p:>10}" for p in PHASES))
        results = [judge("no bug", False, *run(sound))]

        def trial(numbered):
            try:
                return run(bench.build_mutant(*numbered))
            except subprocess.CalledProcessError as error:
                return {}, "does not compile: " + error.stderr[:2000]
            except RuntimeError as error:
                return {}, str(error)

        with ThreadPoolExecutor(os.cpu_count()) as pool:
            outcomes = pool.map(trial, enumerate(MUTANTS))
            for mutant, outcome in zip(MUTANTS, outcomes):
                results.append(judge(mutant.name, True, *outcome))
        for fault in FAULTS:
            results.append(judge(f"a drive with a fault: {fault}", True, *run(sound, fault)))
    print(f"{sum(results)} passed, {len(results) - sum(results)} failed")
    sys.exit(0 if all(results) else 1)


if __name__ == "__main__":
    main()
