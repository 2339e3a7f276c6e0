"""The answer of a run is that of the command line, and its objects are that answer."""
import json
import os
import pickle
import tempfile
import threading
import time
import unittest

import numpy as np
import storlab
from support_python import PROGRAM, SOURCES, TINY, PackageTest, by_program, complaints, source


class Answers(PackageTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.result = cls.testbed.run(seed=7)

    def same_as_program(self, result, *arguments):
        theirs, ours = by_program(*arguments), result.to_dict()
        self.assertNotEqual(theirs["run"]["trace_hash"], "")
        self.assertEqual(theirs["run"]["trace_hash"], result.trace_hash)
        theirs["run"]["wall_ns"] = ours["run"]["wall_ns"]
        self.assertEqual(theirs, ours)

    def test_a_run_is_that_of_the_command_line(self):
        self.same_as_program(self.result, self.tiny, "--seed", "7")

    def test_so_is_one_with_settings_a_duration_and_quick(self):
        testbed = self.testbed.set("loads/users/fio/iodepth", 3).set("run/scale", 128)
        self.same_as_program(
            testbed.run(seed=2, duration="2ms", quick=True), self.tiny, "--seed", "2", "--duration",
            "2ms", "--quick", "--set", "loads/users/fio/iodepth=3", "--set", "run/scale=128")

    def test_so_is_one_with_a_timeline(self):
        file = source("scenarios", "tour", "raid5_rebuild.yaml")
        result = storlab.load(file).run(seed=3)
        self.same_as_program(result, file, "--seed", "3")
        self.assertTrue(result.timeline)
        self.assertEqual([m["at_ns"] * 1e-9 for m in result.to_dict()["timeline"]],
                         [m.at_s for m in result.timeline])
        self.assertEqual([p.until for p in result.phases],
                         ["fail server/ssd/3", "rebuild server/spare/0 is done", ""])
        self.assertEqual(sum(p.ios for p in result.phases), result.loads["users"].ios)
        for phase, theirs in zip(result.phases, result.to_dict()["phases"]):
            self.assertEqual(phase.latency.p99_s, theirs["p99_ns"] * 1e-9)
            self.assertEqual(phase.longest_gap_s, theirs["longest_gap_ns"] * 1e-9)
            self.assertAlmostEqual(phase.iops, phase.ios / (phase.to_s - phase.from_s), delta=1e-3)

    def test_so_is_one_over_a_fabric(self):
        file = source("scenarios", "testbeds", "starwind", "remote-graid.yaml")
        result = storlab.load(file).run(seed=3, duration="2ms")
        self.same_as_program(result, file, "--seed", "3", "--duration", "2ms")

    def test_it_is_the_same_run_after_run_and_in_any_thread(self):
        found = []
        for _ in range(25):
            found.append(self.testbed.run(seed=7).trace_hash)
            thread = threading.Thread(
                target=lambda: found.append(self.testbed.run(seed=7).trace_hash))
            thread.start()
            thread.join()
        self.assertEqual(set(found), {self.result.trace_hash})
        self.assertEqual(len(found), 50)
        self.assertNotEqual(self.testbed.run(seed=8).trace_hash, self.result.trace_hash)

    def test_the_dict_fits_the_documented_schema(self):
        with open(source("docs", "schemas", "run.schema.json"), encoding="utf-8") as opened:
            schema = json.load(opened)
        self.assertEqual(complaints(schema, self.result.to_dict()), [])
        broken = self.result.to_dict()
        del broken["loads"]
        self.assertTrue(complaints(schema, broken))

    def test_repr_is_the_answer_on_one_screen(self):
        self.assertIn("reads verified, 0 differ", repr(self.result))
        self.assertIn("users", self.result.text)
        self.assertIn(self.result.trace_hash, str(self.result))

    def test_objects_say_what_the_dict_says(self):
        whole, load = self.result.to_dict(), self.result.loads["users"]
        theirs = whole["loads"][0]
        flows = ((load, theirs), (load.read, theirs["read"]), (load.write, theirs["write"]))
        for ours, flow in flows:
            self.assertEqual((ours.iops, ours.bandwidth_bytes, ours.ios, ours.errors),
                             (flow["iops"], flow["bandwidth_bytes"], flow["ios"], flow["errors"]))
            for name in ("mean", "p50", "p95", "p99", "p999", "max"):
                ns, seconds = flow[name + "_ns"], getattr(ours.latency, name + "_s")
                self.assertEqual(seconds, None if ns is None else ns * 1e-9)
        self.assertGreater(load.latency.p95_s, load.latency.p50_s)
        self.assertIsNone(load.latency.p999_s)  # takes 10 000 I/Os
        self.assertAlmostEqual(load.iops * load.latency.mean_s, load.effective_depth, delta=0.5)
        self.assertAlmostEqual(load.effective_depth, 8, delta=0.5)  # iodepth
        self.assertEqual(load.iops, load.read.iops + load.write.iops)
        self.assertEqual(load.bandwidth_bytes, load.iops * 4096)
        self.assertEqual(load.in_flight_at_end, 8)
        self.assertLess(load.oldest_at_end_s, load.latency.max_s)
        for name in ("loads", "stations", "cpu", "spans", "bound", "checks", "assumptions"):
            self.assertEqual(len(getattr(self.result, name)), len(whole[name]), name)
            self.assertTrue(whole[name], name)
        self.assertTrue(all(c.ok for c in self.result.checks))
        self.assertEqual(self.result.bottleneck.name, whole["bottleneck"]["name"])
        self.assertEqual(self.result.integrity.verified, whole["integrity"]["verified"])
        self.assertEqual((self.result.seed, self.result.title), (7, "Two drives"))
        self.assertEqual((self.result.stop_reason, self.result.stop_detail), ("duration", ""))
        self.assertEqual(self.result.phases, ())
        self.assertFalse(self.result.partial or self.result.failed)

    def test_series_are_arrays(self):
        series, columns = self.result.series, self.result.to_dict()["series"]["columns"]
        self.assertEqual(list(series), list(columns))
        iops = series["users/iops"]
        self.assertIsInstance(iops, np.ndarray)
        self.assertEqual(iops.dtype, np.float64)
        self.assertEqual(iops.shape, series.times_s.shape)
        for name, column in columns.items():
            wanted = [np.nan if v is None else v for v in column]
            np.testing.assert_array_equal(series[name], wanted)
        # 5 ms in windows; those I/Os of the load that ended in whole windows.
        self.assertAlmostEqual(series.step_s * len(iops), 0.005, delta=series.step_s)
        self.assertAlmostEqual(iops.sum() * series.step_s, self.result.loads["users"].ios, delta=9)
        np.testing.assert_allclose(np.diff(series.times_s), series.step_s)

    def test_windows_without_ios_have_no_latency(self):
        slow = self.testbed.set("loads/users/fio/rate_iops", 1000).set("run/step", "100us")
        mean = slow.run(seed=1).series["users/mean_ns"]
        self.assertTrue(np.isnan(mean).any())

    def test_results_can_be_pickled(self):
        copy = pickle.loads(pickle.dumps(self.result))
        self.assertEqual(copy.to_dict(), self.result.to_dict())
        self.assertEqual(copy.loads, self.result.loads)


class TheRealWorld(PackageTest):
    def test_files_are_used_and_removed(self):
        with tempfile.TemporaryDirectory() as folder:
            result = self.testbed.run(world="real", folder=folder, duration="100ms")
            self.assertTrue(os.listdir(folder))
        self.assertEqual(result.trace_hash, "")
        self.assertGreater(result.loads["users"].ios, 0)
        self.assertGreater(self.testbed.run(world="real", duration="50ms").integrity.verified, 0)

    def test_a_run_that_reads_wrong_data_fails_and_has_its_result(self):
        with tempfile.TemporaryDirectory() as folder:
            stop = threading.Event()
            spoiler = threading.Thread(target=spoil, args=(folder, stop))
            spoiler.start()
            try:
                with self.assertRaises(storlab.RunFailed) as caught:
                    self.testbed.run(world="real", folder=folder, duration="1s")
            finally:
                stop.set()
                spoiler.join()
        result = caught.exception.result
        self.assertTrue(result.failed)
        self.assertGreater(result.integrity.mismatches + result.integrity.scrub_mismatches, 0)
        self.assertRegex(str(caught.exception), "differ|add up")
        self.assertEqual(pickle.loads(pickle.dumps(caught.exception)).result.text, result.text)


def spoil(folder, stop):
    """Overwrites the drives' files, again and again, with what nobody wrote."""
    while not stop.is_set():
        for name in os.listdir(folder):
            path = os.path.join(folder, name)
            size = os.path.getsize(path)
            with open(path, "r+b") as out:
                out.write(b"\xa5" * size)
        time.sleep(0.02)


class ThePackage(PackageTest):
    def test_it_brings_its_catalogue(self):
        theirs = sorted(f[:-5] for f in os.listdir(source("scenarios", "parts"))
                        if f.endswith(".yaml"))
        self.assertEqual(storlab.parts(), theirs)
        self.assertNotIn("STORLAB_HOME", os.environ)
        self.assertFalse(storlab.__file__.startswith(os.path.join(SOURCES, "python")))
        self.assertFalse(os.path.exists("scenarios"))

    def test_its_version_is_that_of_the_program(self):
        with os.popen(f"'{PROGRAM}' --version") as out:
            self.assertEqual(out.read().strip(), storlab.__version__)
        from importlib.metadata import version
        self.assertEqual(version("storlab"), storlab.__version__)

    def test_what_is_public_says_what_it_is(self):
        for name in storlab.__all__:
            if not name.startswith("_"):
                self.assertTrue(getattr(storlab, name).__doc__, name)

    def test_a_scenario_need_not_be_a_file(self):
        again = storlab.from_text(TINY, "mine.yaml")
        self.assertEqual(again.run(seed=7).trace_hash, self.testbed.run(seed=7).trace_hash)
        self.assertEqual(again.name, "mine.yaml")


if __name__ == "__main__":
    unittest.main()
