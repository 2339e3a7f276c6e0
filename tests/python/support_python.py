"""What the tests of the package share: small scenarios, the program to compare with."""
import json
import os
import subprocess
import sys
import tempfile
import unittest

import storlab

PROGRAM = os.environ["STORLAB_PROGRAM"]
SOURCES = os.environ["STORLAB_SOURCES"]
sys.path.insert(0, os.path.join(SOURCES, "tests"))
from support.json_schema import complaints  # noqa: E402,F401

TINY = """storlab: 1
title: Two drives
machines:
  box:
    is: dell-r750
    cpu: {is: xeon-8380}
    host: {is: linux-host}
    drives: {ssd: {is: bench-device-gc, count: 2, state: filled}}
arrays:
  pair: {raid: {level: 1, drives: ssd/*, chunk: 64KiB, engine: md}}
loads:
  users:
    fio: {rw: randrw, rwmixread: 70, bs: 4k, ioengine: libaio, direct: 1, iodepth: 8}
    to: pair
run: {until: duration, duration: 5ms, warm-up: 1ms, scale: 64}
"""
LONG = TINY.replace("duration: 5ms", "duration: 1 h")  # about a minute's work


def source(*names):
    return os.path.join(SOURCES, *names)


def by_program(*arguments):
    """What the command line answers, as a dict."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "answer.json")
        subprocess.run([PROGRAM, "run", *arguments, "--json", path], check=True,
                       stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
        with open(path, encoding="utf-8") as opened:
            return json.load(opened)


def in_process(code, **more):
    """The code in a Python of its own."""
    return subprocess.run([sys.executable, "-X", "faulthandler", "-c", code], text=True,
                          capture_output=True, stdin=subprocess.DEVNULL, timeout=120,
                          check=False, **more)


class PackageTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        scratch = tempfile.TemporaryDirectory(prefix="storlab python ")
        cls.addClassCleanup(scratch.cleanup)
        cls.tiny = os.path.join(scratch.name, "tiny.yaml")
        with open(cls.tiny, "w", encoding="utf-8") as out:
            out.write(TINY)
        cls.testbed = storlab.load(cls.tiny)
