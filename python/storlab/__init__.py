"""storlab: a discrete-event laboratory for storage systems.

    import storlab

    testbed = storlab.load("scenarios/tour/one_drive.yaml")
    result = testbed.set("loads/reads/fio/iodepth", 64).run(seed=7)
    result                                  # the answer on one screen
    result.loads["reads"].latency.p99_s     # seconds
    result.series["reads/iops"]             # a numpy array

Units are in the names: ``_s`` is seconds (float), ``_bytes`` bytes or, of a bandwidth, bytes per
second; IOPS and throughputs are per second, fractions are 0 to 1. A figure that a run cannot give
(a percentile of too few I/Os) is None, in a series NaN.

What is wrong with an input is an InputError with the place of each complaint; a run whose data or
checks are wrong is a RunFailed, with its result. The same scenario, settings and seed give the same
``trace_hash`` here as on the command line.
"""
from ._storlab import version as __version__
from .errors import Complaint, InputError, RunFailed
from .knee import Knee, KneePoint, Within
from .results import (
    Assumption, Bottleneck, Bound, Check, Cpu, Cut, Flow, FullSize, Integrity, Latency, Load, Mark,
    Phase, Result, Series, Span, Station)
from .testbed import Testbed, from_text, load, parts

__all__ = [
    "Assumption", "Bottleneck", "Bound", "Check", "Complaint", "Cpu", "Cut", "Flow", "FullSize",
    "InputError", "Integrity", "Knee", "KneePoint", "Latency", "Load", "Mark", "Phase",
    "Result", "RunFailed", "Series", "Span", "Station", "Testbed", "Within", "__version__",
    "from_text", "load", "parts"]
