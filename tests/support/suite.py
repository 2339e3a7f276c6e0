"""What the tests of the program share: running it, exit codes, checks that are counted."""

import json
import os
import subprocess
import sys
import tempfile

FINE, FAILED, WRONG_INPUT = 0, 1, 2


class Suite:
    def __init__(self, program, folder):
        self.program, self.folder = program, folder
        self.passed, self.failures = 0, []

    def check(self, ok, what, output=None):
        if ok:
            self.passed += 1
            return
        self.failures.append(what)
        print(f"FAILED: {what}")
        if output is not None:
            print(f"  exit {output.returncode}\n{output.stdout[-800:]}\n{output.stderr[-1500:]}")

    def run(self, *arguments, **options):
        return subprocess.run([self.program, *arguments], capture_output=True, text=True,
                              stdin=subprocess.DEVNULL, timeout=120, **options)

    def file(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8") as out:
            out.write(text)
        return path

    def path(self, name):
        return os.path.join(self.folder, name)


def load_json(path):
    with open(path, encoding="utf-8") as opened:
        return json.load(opened)


def run_all(names):
    """Every function called test_...; the exit code."""
    program = os.path.abspath(os.path.join(sys.argv[1], "storlab"))
    with tempfile.TemporaryDirectory(prefix="storlab cli ") as folder:
        t = Suite(program, folder)
        t.check(os.access(program, os.X_OK), f"{program} is built")
        for test in [f for name, f in names.items() if name.startswith("test_")]:
            try:
                test(t)
            except Exception as error:  # a test that cannot go on is a failure, not the end
                t.check(False, f"{test.__name__} stopped: {type(error).__name__}: {error}")
    print(f"{t.passed} passed, {len(t.failures)} failed")
    return 1 if t.failures else 0
