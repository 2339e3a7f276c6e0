"""Settings, what is said of wrong input, Ctrl-C, threads and processes."""
import multiprocessing
import os
import pickle
import signal
import subprocess
import threading
import time
import unittest

import storlab
from support_python import LONG, PROGRAM, TINY, PackageTest, in_process


class Settings(PackageTest):
    def test_a_testbed_never_changes(self):
        before = self.testbed.run(seed=7).trace_hash
        deeper = self.testbed.set("loads/users/fio/iodepth", 16)
        both = deeper.set("run/scale", 128)
        self.assertEqual(dict(self.testbed.settings), {})
        self.assertEqual(dict(deeper.settings), {"loads/users/fio/iodepth": "16"})
        self.assertEqual(list(both.settings), ["loads/users/fio/iodepth", "run/scale"])
        self.assertEqual(self.testbed.run(seed=7).trace_hash, before)
        self.assertNotEqual(deeper.run(seed=7).trace_hash, before)
        self.assertIn("16 in flight", deeper.check())
        self.assertIn("8 in flight", self.testbed.check())
        self.assertIn("iodepth=16", repr(deeper))

    def test_the_text_is_read_once(self):
        with open(self.tiny, encoding="utf-8") as opened:
            text = opened.read()
        try:
            with open(self.tiny, "w", encoding="utf-8") as out:
                out.write("nonsense")
            self.assertIn("3 in flight", self.testbed.set("loads/users/fio/iodepth", 3).check())
        finally:
            with open(self.tiny, "w", encoding="utf-8") as out:
                out.write(text)

    def test_values_are_text_numbers_and_truths(self):
        for value, text in ((16, "16"), ("16", "16"), (True, "true"), (0.05, "0.05")):
            path = {"16": "loads/users/fio/iodepth", "true": "run/check",
                    "0.05": "run/confidence"}[text]
            self.assertEqual(self.testbed.set(path, value).settings[path], text)
        unchecked = self.testbed.set("run/check", False).run(seed=7)
        self.assertEqual(unchecked.integrity.verified, 0)
        for value in (None, [1], b"16", {"a": 1}):
            with self.assertRaises(TypeError):
                self.testbed.set("loads/users/fio/iodepth", value)

    def test_several_values_can_be_set_together(self):
        with self.assertRaises(storlab.InputError):
            self.testbed.set("arrays/pair/raid/level", 5)  # of two drives
        together = self.testbed.set({"machines/box/drives/ssd/count": 3,
                                     "arrays/pair/raid/level": 5})
        self.assertIn("RAID 5", together.check())

    def test_check_is_that_of_the_command_line(self):
        out = subprocess.run([PROGRAM, "check", self.tiny], capture_output=True, text=True,
                             check=True)
        self.assertEqual(out.stdout, self.testbed.check())


class WrongInput(PackageTest):
    def test_complaints_say_where(self):
        text = TINY.replace("chunk: 64KiB", "chnk: 64KiB").replace("to: pair", "to: pear")
        with self.assertRaises(storlab.InputError) as caught:
            storlab.from_text(text, "wrong.yaml")
        self.assertIsInstance(caught.exception, ValueError)
        first, second = caught.exception.complaints
        self.assertEqual((first.file, first.line), ("wrong.yaml", 10))
        self.assertEqual(text.split("\n")[first.line - 1][first.column - 1:][:4], "chnk")
        self.assertIn("did you mean 'chunk'?", first.message)
        self.assertEqual(text.split("\n")[second.line - 1][second.column - 1:], "pear")
        self.assertEqual(str(caught.exception).split("\n")[0],
                         f"wrong.yaml:10:{first.column}: error: {first.message}")
        copy = pickle.loads(pickle.dumps(caught.exception))
        self.assertEqual(copy.complaints, caught.exception.complaints)

    def test_a_wrong_setting_is_named(self):
        for path, value, what in (("loads/users/foi/iodepth", 3, "foi"), ("run/sed", 3, "sed"),
                                  ("loads/users/fio/iodepth", "x", "no number")):
            with self.assertRaises(storlab.InputError) as caught:
                self.testbed.set(path, value)
            complaint = caught.exception.complaints[0]
            self.assertEqual((complaint.file, complaint.line), ("--set", 1))
            self.assertIn(what, complaint.message)

    def test_what_only_the_run_can_see_is_an_input_error_too(self):
        deep = self.testbed.set({"loads/users/fio/iodepth": 65536, "run/scale": 1 << 20})
        with self.assertRaises(storlab.InputError) as caught:
            deep.run()
        self.assertGreater(caught.exception.complaints[0].line, 0)
        self.testbed.run(seed=1)  # the simulator goes on

    def test_arguments_of_run(self):
        for arguments in ({"duration": "5"}, {"seed": -1}):
            with self.assertRaises(storlab.InputError):
                self.testbed.run(**arguments)
        with self.assertRaises(ValueError):
            self.testbed.run(world="moon")

    def test_a_file_that_is_not_there(self):
        with self.assertRaises(FileNotFoundError):
            storlab.load("missing.yaml")
        with self.assertRaises(storlab.InputError):
            storlab.from_text("title: [")


class Stopping(PackageTest):
    def test_ctrl_c_ends_a_run_and_gives_what_there_is(self):
        before = self.testbed.run(seed=7).trace_hash
        pressed = threading.Timer(2.0, os.kill, (os.getpid(), signal.SIGINT))
        pressed.start()
        began = time.monotonic()
        with self.assertRaises(KeyboardInterrupt) as caught:
            storlab.from_text(LONG).run(seed=7)
        self.assertLess(time.monotonic() - began, 20)
        result = caught.exception.result
        self.assertTrue(result.partial)
        self.assertEqual(result.stop_reason, "interrupted")
        self.assertGreater(result.loads["users"].ios, 1000)
        self.assertIn("PARTIAL", repr(result))
        self.assertEqual(self.testbed.run(seed=7).trace_hash, before)

    def test_a_process_can_end_while_a_thread_of_it_runs(self):
        out = in_process("import storlab, threading, time\n"
                         f"t = storlab.from_text({LONG!r})\n"
                         "threading.Thread(target=t.run, daemon=True).start()\n"
                         "time.sleep(1)\nprint('bye')")
        self.assertEqual((out.returncode, out.stdout, out.stderr), (0, "bye\n", ""))


class ThreadsAndProcesses(PackageTest):
    def test_other_threads_run_meanwhile(self):
        ticks, stop = [], threading.Event()

        def tick():
            while not stop.is_set():
                ticks.append(time.monotonic())
                time.sleep(0.005)

        ticker = threading.Thread(target=tick)
        ticker.start()
        began = time.monotonic()
        self.testbed.run(seed=1, duration="20s")
        ended = time.monotonic()
        stop.set()
        ticker.join()
        during = [t for t in ticks if began <= t <= ended]
        self.assertGreater(ended - began, 0.3, "too short a run to tell")
        self.assertGreater(len(during), 20 * (ended - began))
        self.assertLess(max(b - a for a, b in zip(during, during[1:])), (ended - began) / 2)

    def test_runs_of_several_threads_wait_for_each_other(self):
        wanted = {seed: self.testbed.run(seed=seed).trace_hash for seed in range(1, 9)}
        found = {}
        threads = [threading.Thread(
            target=lambda s=s: found.update({s: self.testbed.run(seed=s).trace_hash}))
            for s in wanted]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual(found, wanted)

    def test_processes_run_at_the_same_time(self):
        wanted = [self.testbed.run(seed=s).trace_hash for s in (1, 2, 3)]
        with multiprocessing.get_context("forkserver").Pool(2) as pool:
            results = pool.map(self.testbed.run, (1, 2, 3))
        self.assertEqual([r.trace_hash for r in results], wanted)

    def test_a_fork_before_the_first_run_is_fine_and_later_ones_are_told(self):
        out = in_process(f"""
import multiprocessing, storlab
def work(seed):
    try:
        return storlab.from_text({TINY!r}).run(seed).trace_hash
    except RuntimeError as error:
        return str(error)
def in_child():
    with multiprocessing.get_context("fork").Pool(1) as pool:
        return pool.apply(work, (7,))
print(in_child(), work(7))
print(in_child())
print(work(7))""")
        lines = out.stdout.split("\n")
        wanted = self.testbed.run(seed=7).trace_hash
        self.assertEqual(lines[0], f"{wanted} {wanted}", out)
        self.assertIn("forked", lines[1], out)
        self.assertEqual(lines[2], wanted, out)


if __name__ == "__main__":
    unittest.main()
