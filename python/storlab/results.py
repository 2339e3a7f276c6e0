"""The answer of a run. Names and figures are those of docs/schemas/run.schema.json; times, which
are integer nanoseconds there, are seconds here."""
from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Dict, Iterator, Mapping, Optional, Tuple

import numpy as np


def _seconds(ns: Optional[float]) -> Optional[float]:
    return None if ns is None else ns * 1e-9


@dataclass(frozen=True)
class Latency:
    """Of the I/Os that ended well, in seconds. None where there were too few I/Os: a percentile p
    needs 10 / (1 - p) of them."""

    mean_s: Optional[float]
    p50_s: Optional[float]
    p95_s: Optional[float]
    p99_s: Optional[float]
    p999_s: Optional[float]
    max_s: Optional[float]


@dataclass(frozen=True)
class Flow:
    """I/Os of one direction over the measured time, warm-up excluded."""

    iops: float
    """I/Os that ended well, per second."""
    bandwidth_bytes: float
    """Bytes per second."""
    latency: Latency
    ios: int
    """I/Os that ended well."""
    errors: int


@dataclass(frozen=True)
class Load(Flow):
    """A load: its directions together, and each by itself."""

    name: str
    what: str
    """Block size and mix: "randread 4KiB"."""
    loop: str
    """"closed" or "open" (arrivals do not wait for earlier I/Os)."""
    effective_depth: float
    """Mean number of I/Os in flight."""
    measured_s: float
    """Simulated seconds over which the figures were taken."""
    iops_ci95: Optional[float]
    """Half width of the 95 % confidence interval of iops, relative to it."""
    read: Flow
    write: Flow
    in_flight_at_end: int
    """I/Os that had not ended when the measured time was over: no figure knows of them."""
    oldest_at_end_s: float
    """How long the oldest of them had been under way by then."""


@dataclass(frozen=True)
class Phase(Flow):
    """A load between two events of the timeline."""

    load: str
    until: str
    """The event that ended it; empty: the end of the run."""
    from_s: float
    to_s: float
    longest_gap_s: float
    """Between two I/Os that ended well. A gap that began in an earlier phase counts whole."""


@dataclass(frozen=True)
class Station:
    """Something that serves requests: a controller, a link, a thread."""

    name: str
    kind: str
    utilisation: float
    throughput: float
    """Completions a second."""
    mean_queue: float
    """Requests in it, those in service included."""


@dataclass(frozen=True)
class Cpu:
    """Processors of a machine. Fractions are of all its hardware threads."""

    where: str
    busy: float
    by_operation: Mapping[str, float]


@dataclass(frozen=True)
class Span:
    """Where an I/O spent its time."""

    layer: str
    mean_s: float
    p99_share: Optional[float]
    """Its share of the latency of the slowest hundredth."""


@dataclass(frozen=True)
class Bottleneck:
    name: str
    """Empty when nothing binds."""
    utilisation: float
    why: str
    then: Tuple[Tuple[str, float], ...]
    """What binds after it: names and utilisations."""


@dataclass(frozen=True)
class Cut:
    """Links or stations that together limit a load."""

    direction: str
    name: str
    count: int
    bytes_per_s: float
    """Of each."""


@dataclass(frozen=True)
class Bound:
    """What a load could move at most, whatever it keeps in flight. None: no traffic or no limit."""

    load: str
    read_bytes_per_s: Optional[float]
    write_bytes_per_s: Optional[float]
    cut: Tuple[Cut, ...]


@dataclass(frozen=True)
class Integrity:
    verified: int
    """Reads compared with what had been written."""
    mismatches: int
    scrubbed: int
    """Stripes recomputed after the run."""
    scrub_mismatches: int
    first: Tuple[str, ...]
    """The first few mismatches in words."""


@dataclass(frozen=True)
class Check:
    name: str
    ok: bool
    value: Optional[float]
    limit: Optional[float]
    text: str


@dataclass(frozen=True)
class Mark:
    """Something that happened: an event of the timeline, or a phase of what followed."""

    at_s: float
    what: str
    where: str
    phase: str
    """Empty for the event itself."""


@dataclass(frozen=True)
class Assumption:
    """A value that the answer rests on."""

    path: str
    value: str
    """With its unit."""
    origin: str
    """datasheet, measured, derived, fitted or assumed ("from" in JSON)."""
    source: str
    moves: Optional[float]
    """How far it moves the headline figure, when known."""


@dataclass(frozen=True)
class FullSize:
    """A result proportional to size, at the scenario's real size."""

    what: str
    value_s: float
    arithmetic: str


class Series(Mapping[str, np.ndarray]):
    """Time series on one step: a mapping of names such as "reads/iops", "reads/bandwidth_bytes",
    "reads/mean_ns" and "reads/p99_ns" to float64 arrays of one length. NaN is "no value".
    Columns have the names and units of the run's JSON, nanoseconds included."""

    def __init__(self, step_s: float, start_s: float, columns: Mapping[str, np.ndarray]) -> None:
        self.step_s = step_s
        """Length of a window in simulated seconds."""
        self.start_s = start_s
        """When the first window began, in simulated seconds."""
        self._columns = dict(columns)

    @property
    def times_s(self) -> np.ndarray:
        """When each window began, in simulated seconds."""
        length = max((len(c) for c in self._columns.values()), default=0)
        return self.start_s + self.step_s * np.arange(length)

    def __getitem__(self, name: str) -> np.ndarray:
        return self._columns[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)

    def __repr__(self) -> str:
        return f"Series({len(self.times_s)} windows of {self.step_s:g} s: {', '.join(self)})"


def _flow(flow: Dict[str, Any]) -> Dict[str, Any]:
    names = ("mean", "p50", "p95", "p99", "p999", "max")
    return {
        "iops": flow["iops"], "bandwidth_bytes": flow["bandwidth_bytes"], "ios": flow["ios"],
        "errors": flow["errors"],
        "latency": Latency(**{f"{n}_s": _seconds(flow[f"{n}_ns"]) for n in names})}


def _load(load: Dict[str, Any]) -> Load:
    return Load(
        **_flow(load), name=load["name"], what=load["what"], loop=load["loop"],
        effective_depth=load["effective_depth"], measured_s=load["measured_ns"] * 1e-9,
        iops_ci95=load["iops_ci95"], read=Flow(**_flow(load["read"])),
        write=Flow(**_flow(load["write"])), in_flight_at_end=load["in_flight_at_end"],
        oldest_at_end_s=load["oldest_at_end_ns"] * 1e-9)


def _phase(phase: Dict[str, Any]) -> Phase:
    return Phase(
        **_flow(phase), load=phase["load"], until=phase["until"], from_s=phase["from_ns"] * 1e-9,
        to_s=phase["to_ns"] * 1e-9, longest_gap_s=phase["longest_gap_ns"] * 1e-9)


class Result:
    """The complete answer of a run. ``repr`` and ``str`` are the answer on one screen."""

    def __init__(self, text: str, json_text: str, failed: bool) -> None:
        self.text = text
        """The answer on one screen, as the command line prints it."""
        self.failed = failed
        """Whether data or a check was wrong."""
        self._json = json_text

    def __repr__(self) -> str:
        return self.text.rstrip("\n")

    def to_json(self) -> str:
        """The run as JSON of docs/schemas/run.schema.json, in one line."""
        return self._json

    def to_dict(self) -> Dict[str, Any]:
        """The same as a dict, a new one each time."""
        return json.loads(self._json)

    @cached_property
    def _all(self) -> Dict[str, Any]:
        return self.to_dict()

    @property
    def title(self) -> str:
        return self._all["run"]["title"]

    @property
    def seed(self) -> int:
        return self._all["run"]["seed"]

    @property
    def trace_hash(self) -> str:
        """Of every request of every load; the same run has the same. Empty in the real world."""
        return self._all["run"]["trace_hash"]

    @property
    def stop_reason(self) -> str:
        """confident, duration, timeline, load-ended, limit, interrupted or failed."""
        return self._all["run"]["stop_reason"]

    @property
    def stop_detail(self) -> str:
        """What a limit was, in words; else empty."""
        return self._all["run"]["stop_detail"]

    @property
    def partial(self) -> bool:
        """It stopped before what was asked for: figures are of what ran."""
        return self._all["run"]["partial"]

    @property
    def simulated_s(self) -> float:
        return self._all["run"]["simulated_ns"] * 1e-9

    @property
    def wall_s(self) -> float:
        """What the run took in real time, in seconds."""
        return self._all["run"]["wall_ns"] * 1e-9

    @property
    def command(self) -> str:
        """The command line that gives the same run."""
        return self._all["run"]["command"]

    @cached_property
    def loads(self) -> Mapping[str, Load]:
        return {load["name"]: _load(load) for load in self._all["loads"]}

    @cached_property
    def stations(self) -> Mapping[str, Station]:
        """By name, a path such as "server/ssd/0/controller"."""
        return {s["name"]: Station(**s) for s in self._all["stations"]}

    @cached_property
    def cpu(self) -> Mapping[str, Cpu]:
        """By machine."""
        return {c["where"]: Cpu(**c) for c in self._all["cpu"]}

    @cached_property
    def spans(self) -> Tuple[Span, ...]:
        return tuple(Span(s["layer"], s["mean_ns"] * 1e-9, s["p99_share"])
                     for s in self._all["spans"])

    @cached_property
    def bottleneck(self) -> Bottleneck:
        b = self._all["bottleneck"]
        then = tuple((n["name"], n["utilisation"]) for n in b["then"])
        return Bottleneck(b["name"], b["utilisation"], b["why"], then)

    @cached_property
    def bound(self) -> Mapping[str, Bound]:
        """By load; empty in the real world."""
        return {b["load"]: Bound(b["load"], b["read_bytes_per_s"], b["write_bytes_per_s"],
                                 tuple(Cut(**c) for c in b["cut"])) for b in self._all["bound"]}

    @cached_property
    def integrity(self) -> Integrity:
        i = self._all["integrity"]
        return Integrity(**{**i, "first": tuple(i["first"])})

    @cached_property
    def checks(self) -> Tuple[Check, ...]:
        return tuple(Check(**c) for c in self._all["checks"])

    @cached_property
    def timeline(self) -> Tuple[Mark, ...]:
        return tuple(Mark(m["at_ns"] * 1e-9, m["what"], m["where"], m["phase"])
                     for m in self._all["timeline"])

    @cached_property
    def phases(self) -> Tuple[Phase, ...]:
        """Every load between the events of the timeline; none without a timeline."""
        return tuple(map(_phase, self._all["phases"]))

    @cached_property
    def assumptions(self) -> Tuple[Assumption, ...]:
        return tuple(Assumption(a["path"], a["value"], a["from"], a["source"], a["moves"])
                     for a in self._all["assumptions"])

    @cached_property
    def full_size(self) -> Tuple[FullSize, ...]:
        return tuple(FullSize(f["what"], f["value_ns"] * 1e-9, f["arithmetic"])
                     for f in self._all["full_size"])

    @cached_property
    def series(self) -> Series:
        s = self._all["series"]
        columns = {n: np.array(c, dtype=np.float64) for n, c in s["columns"].items()}
        return Series(s["step_ns"] * 1e-9, s["start_ns"] * 1e-9, columns)
