"""The knee of a load is that of the command line."""
import json
import os
import subprocess
import tempfile
import unittest

import numpy as np
import storlab
from support_python import PROGRAM, PackageTest, complaints, in_process, source


def by_program(*arguments):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "knee.json")
        out = subprocess.run([PROGRAM, "knee", *arguments, "--json", path], check=True, text=True,
                             capture_output=True, stdin=subprocess.DEVNULL)
        with open(path, encoding="utf-8") as opened:
            return json.load(opened), out.stdout


class Knees(PackageTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.knee = cls.testbed.knee("mean=150us", up_to=64, seed=5)

    def test_it_is_that_of_the_command_line(self):
        theirs, text = by_program(self.tiny, "--target", "mean=150us", "--up-to", "64",
                                  "--seed", "5")
        self.assertEqual(theirs, self.knee.to_dict())
        self.assertEqual(text, self.knee.text)
        theirs, _ = by_program(self.tiny, "--open", "--load", "users")
        self.assertEqual(theirs, self.testbed.knee(load="users", open_loop=True).to_dict())

    def test_it_fits_the_documented_schema(self):
        with open(source("docs", "schemas", "knee.schema.json"), encoding="utf-8") as opened:
            self.assertEqual(complaints(json.load(opened), self.knee.to_dict()), [])

    def test_objects_say_what_the_dict_says(self):
        knee, whole = self.knee, self.knee.to_dict()
        self.assertEqual(len(knee.points), len(whole["points"]))
        for point, theirs in zip(knee.points, whole["points"]):
            self.assertEqual((point.load, point.iops), (theirs["load"], theirs["iops"]))
            self.assertEqual(point.mean_s, theirs["mean_ns"] * 1e-9)
            ns = theirs["p99_9_ns"]
            self.assertEqual(point.p999_s, None if ns is None else ns * 1e-9)
        self.assertEqual(knee.failures, ())
        loads = knee.column("load")
        self.assertEqual(loads.dtype, np.float64)
        self.assertTrue((np.diff(loads) > 0).all())
        self.assertTrue(np.isnan(knee.column("p999_s")).any())
        self.assertIn(knee.knee, loads)
        self.assertEqual(knee.within.statistic, "mean")
        self.assertLessEqual(knee.within.load, 64)
        self.assertIsNone(self.testbed.knee(up_to=2).within)
        self.assertEqual(repr(knee), knee.text.rstrip("\n"))

    def test_wrong_wishes_are_input_errors(self):
        for wish in ({"target": "p98=1ms"}, {"up_to": 0}, {"load": "nobody"}):
            with self.assertRaises(storlab.InputError):
                self.testbed.knee(**wish)

    def test_ctrl_c_gives_what_there_is(self):
        code = ("import _thread, storlab, threading\n"
                f"tb = storlab.load({self.tiny!r}).set('run/duration', '300 s')\n"
                "threading.Timer(1.5, _thread.interrupt_main).start()\n"
                "try: tb.knee()\n"
                "except KeyboardInterrupt as e: print('stopped', len(e.result.failures) > 3)\n")
        out = in_process(code)
        self.assertEqual((out.returncode, out.stdout), (0, "stopped True\n"), out.stderr)


if __name__ == "__main__":
    unittest.main()
