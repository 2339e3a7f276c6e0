"""Scenarios: read, changed, run."""
from __future__ import annotations

import os
import shlex
import tempfile
from typing import List, Mapping, Optional, Tuple, Union

from . import _storlab
from .errors import RunFailed
from .knee import Knee
from .results import Result

Value = Union[str, int, float, bool]
Settings = Tuple[Tuple[str, str], ...]


def _parts_folder() -> str:
    """The catalogue: of STORLAB_HOME if that is set, else the one that came with the package."""
    homes = [os.environ.get("STORLAB_HOME"), os.path.dirname(os.path.abspath(__file__))]
    folders = [os.path.join(home, "scenarios", "parts") for home in homes if home]
    return next((f for f in folders if os.path.isdir(f)), folders[-1])


def _text_of(path: str, value: Value) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bool):  # before int, of which it is a kind
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return repr(value)
    raise TypeError(f"{path} is given a {type(value).__name__}; expected str, int, float or bool")


class Testbed:
    """A scenario with settings on top. It never changes: ``set`` gives another one.

    The text of the scenario is read once; job files that it names are read at each run.
    """

    __test__ = False  # pytest: no class of tests

    def __init__(self, text: str, name: str, settings: Settings = ()) -> None:
        """InputError if the scenario is wrong. ``load`` and ``from_text`` are shorter."""
        self._text, self._name, self._settings = text, name, settings
        self._description, self._title, self._seed, notes = self._source(settings).facts()
        self._notes = tuple(notes)

    def _source(self, settings: Settings) -> _storlab.Source:
        words = [f"{path}={value}" for path, value in settings]
        return _storlab.Source(self._text, self._name, _parts_folder(), words)

    @property
    def name(self) -> str:
        """The file, as it was named."""
        return self._name

    @property
    def title(self) -> str:
        return self._title

    @property
    def settings(self) -> Mapping[str, str]:
        """What was set, by path; of one path the last."""
        return dict(self._settings)

    @property
    def notes(self) -> Tuple[str, ...]:
        """Worth telling: keys of a job without effect and the like."""
        return self._notes

    def set(self, path: Union[str, Mapping[str, Value]], value: Optional[Value] = None) -> Testbed:
        """Another testbed, with a value in place of the scenario's.

        A path is that of ``--set``: "loads/reads/fio/iodepth". Values with units are text: "64KiB",
        "200ms". A dict of paths sets several that are only right together. InputError if it is
        wrong, with the file "--set"; TypeError if a value is neither str, int, float nor bool.
        """
        if isinstance(path, str):
            if value is None:
                raise TypeError(f"{path} is given no value")
            path = {path: value}
        elif value is not None:
            raise TypeError("give a path and a value, or a dict of both")
        more = tuple((p, _text_of(p, v)) for p, v in path.items())
        return Testbed(self._text, self._name, self._settings + more)

    def check(self) -> str:
        """What it would run and how much that could move at most, as text, without a run."""
        return self._description

    def __repr__(self) -> str:
        settings = "".join(f" {p}={v}" for p, v in self._settings)
        return f"<storlab.Testbed {self._name}{settings}>"

    def run(self, seed: Optional[int] = None, *, duration: Optional[str] = None,
            quick: bool = False, world: str = "sim", folder: Optional[str] = None) -> Result:
        """Runs it and gives the answer.

        seed: of all random streams; else the scenario's, or 1.
        duration: measure for so long ("200ms") instead of what the scenario says.
        quick: a tenth of the confidence, for a glance.
        world: "sim", or "real": the same arrays over files.
        folder: where the real world keeps its files; else a temporary one, removed afterwards.

        Other Python threads run meanwhile. There is one simulator a process: runs of several
        threads wait for each other. Several at once take processes (multiprocessing "spawn" or
        "forkserver", not "fork" once something was run).

        InputError: it is wrong. RunFailed: data or a check was wrong. KeyboardInterrupt: on Ctrl-C
        the run ends early, and the exception's ``result`` is the part that ran.
        """
        if world not in ("sim", "real"):
            raise ValueError(f"world is {world!r}; expected 'sim' or 'real'")
        if world == "real" and folder is None:
            with tempfile.TemporaryDirectory(prefix="storlab-") as scratch:
                return self.run(seed, duration=duration, quick=quick, world=world, folder=scratch)
        settings = self._settings
        if seed is not None:
            settings += (("run/seed", _text_of("run/seed", seed)),)
        if duration is not None:
            settings += (("run/until", "duration"), ("run/duration", duration))
        command = self._command(
            self._seed if seed is None else seed, duration, quick, world, folder)
        try:
            outcome = self._source(settings).run(
                real=world == "real", quick=quick, folder=folder or "", command=command)
        except BaseException as stopped:
            ran = getattr(stopped, "__dict__", {}).pop("storlab_outcome", None)
            if ran is not None:
                setattr(stopped, "result", Result(ran.text, ran.json, ran.failed))
            raise
        result = Result(outcome.text, outcome.json, outcome.failed)
        if result.failed:
            raise RunFailed(result)
        return result

    def knee(self, target: str = "", *, load: str = "", open_loop: bool = False,
             up_to: Optional[int] = None, seed: Optional[int] = None) -> Knee:
        """Varies a load: where its latency bends, and how much of it meets a target.

        target: a latency to stay within, "p99=1ms" or "mean=300us".
        load: which load to vary, where there are several.
        open_loop: vary arrivals a second instead of I/Os in flight.
        up_to: most I/Os in flight; else four times the scenario's, at least 256.

        Each level is a run, one after the other; the command line does several at once. InputError:
        it is wrong. KeyboardInterrupt: the exception's ``result`` is what there was.
        """
        settings = self._settings
        if seed is not None:
            settings += (("run/seed", _text_of("run/seed", seed)),)
        try:
            outcome = self._source(settings).knee(load, open_loop, target, up_to)
        except BaseException as stopped:
            ran = getattr(stopped, "__dict__", {}).pop("storlab_outcome", None)
            if ran is not None:
                setattr(stopped, "result", Knee(ran.text, ran.json))
            raise
        return Knee(outcome.text, outcome.json)

    def _command(self, seed: int, duration: Optional[str], quick: bool, world: str,
                 folder: Optional[str]) -> str:
        words = ["storlab", "run", self._name, "--seed", str(seed)]
        for path, value in self._settings:
            words += ["--set", f"{path}={value}"]
        if duration is not None:
            words += ["--duration", duration]
        if world != "sim":
            words += ["--world", world, "--dir", folder or ""]
        if quick:
            words.append("--quick")
        return " ".join(map(shlex.quote, words))


def load(file: Union[str, os.PathLike]) -> Testbed:
    """Reads a scenario. OSError if the file cannot be read, InputError if it is wrong."""
    name = os.fspath(file)
    with open(name, encoding="utf-8", newline="") as opened:
        return Testbed(opened.read(), name)


def from_text(text: str, name: str = "scenario.yaml") -> Testbed:
    """The same from text. Complaints say ``name``; job files are looked for beside it."""
    return Testbed(text, name)


def parts() -> List[str]:
    """The names of the catalogue's parts, sorted."""
    return _storlab.part_names(_parts_folder())
