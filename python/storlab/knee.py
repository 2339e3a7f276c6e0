"""The curve of a load over its level. Figures are those of docs/schemas/knee.schema.json; times,
which are integer nanoseconds there, are seconds here."""
from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Dict, Optional, Tuple

import numpy as np

from .results import _seconds


@dataclass(frozen=True)
class KneePoint:
    """One level of the load, and what it got. Percentiles are None where I/Os were too few."""

    load: float
    """I/Os in flight of a closed load, arrivals a second of an open one."""
    iops: float
    iops_ci95: Optional[float]
    """Half width of the 95 % confidence interval of iops, relative to it."""
    bytes_per_s: float
    mean_s: float
    p50_s: Optional[float]
    p95_s: Optional[float]
    p99_s: Optional[float]
    p999_s: Optional[float]
    binds: str
    """What binds, with its utilisation; empty if nothing does."""
    partial: bool
    """It did not settle."""
    trace_hash: str


@dataclass(frozen=True)
class Within:
    """The most load that stays within a latency target."""

    statistic: str
    """mean, p50, p95, p99 or p99.9."""
    at_most_s: float
    load: Optional[float]
    """None: even the least load misses it."""
    iops: Optional[float]
    beyond: bool
    """Even the most load that was tried meets it."""


def _point(point: Dict[str, Any]) -> KneePoint:
    times = {f"{n.replace('_', '')}_s": _seconds(point[f"{n}_ns"])
             for n in ("mean", "p50", "p95", "p99", "p99_9")}
    return KneePoint(
        load=point["load"], iops=point["iops"], iops_ci95=point["iops_ci95"],
        bytes_per_s=point["bytes_per_s"], binds=point["binds"], partial=point["partial"],
        trace_hash=point["trace_hash"], **times)


class Knee:
    """What ``Testbed.knee`` found. ``repr`` and ``str`` are the table of the command line."""

    def __init__(self, text: str, json_text: str) -> None:
        self.text = text
        self._json = json_text

    def __repr__(self) -> str:
        return self.text.rstrip("\n")

    def to_json(self) -> str:
        """As JSON of docs/schemas/knee.schema.json."""
        return self._json

    def to_dict(self) -> Dict[str, Any]:
        """The same as a dict, a new one each time."""
        return json.loads(self._json)

    @cached_property
    def _all(self) -> Dict[str, Any]:
        return self.to_dict()

    @cached_property
    def points(self) -> Tuple[KneePoint, ...]:
        """By load; those that failed left out."""
        return tuple(_point(p) for p in self._all["points"] if "failure" not in p)

    @cached_property
    def failures(self) -> Tuple[Tuple[float, str], ...]:
        """Loads that gave no answer, and why."""
        return tuple((p["load"], p["failure"]) for p in self._all["points"] if "failure" in p)

    def column(self, name: str) -> np.ndarray:
        """A figure of all points as a float64 array: "load", "iops", "p99_s" ... NaN is None."""
        return np.array([getattr(p, name) for p in self.points], dtype=np.float64)

    @property
    def knee(self) -> Optional[float]:
        """The load with the most throughput for its latency. None: no point has an answer."""
        found = self._all["knee"]
        return None if found is None else found["load"]

    @property
    def saturation(self) -> Optional[float]:
        """I/Os in flight where the asymptotes of the curve meet; None of an open load."""
        return self._all["saturation"]

    @property
    def full_from(self) -> Optional[float]:
        """Least I/Os in flight with 95 % of the most IOPS; None of an open load, and while the
        curve rises."""
        return self._all["full_from"]

    @property
    def within(self) -> Optional[Within]:
        """None without a target."""
        t = self._all["target"]
        return None if t is None else Within(
            t["statistic"], t["at_most_ns"] * 1e-9, t["load"], t["iops"], t["beyond"])

    @property
    def notes(self) -> Tuple[str, ...]:
        return tuple(self._all["notes"])
