"""What can go wrong and whose fault it is."""
from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Iterable, List, Tuple

if TYPE_CHECKING:
    from .results import Result


@dataclass(frozen=True)
class Complaint:
    """One thing that is wrong with an input, and where it stands."""

    file: str
    """As it was named; ``--set`` is a setting of ``Testbed.set`` or an argument of ``run``."""
    line: int
    """From 1; 0 is the file as a whole."""
    column: int
    """From 1; 0 is the file as a whole."""
    message: str

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}:{self.column}" if self.line else self.file
        return f"{place}: error: {self.message}"


class InputError(ValueError):
    """A scenario or a setting is wrong. Nothing was run; all complaints come at once."""

    def __init__(self, complaints: Iterable[Complaint]) -> None:
        self.complaints: List[Complaint] = list(complaints)
        super().__init__(self.complaints)

    def __str__(self) -> str:
        return "\n".join(map(str, self.complaints))

    @classmethod
    def from_tuples(cls, complaints: Iterable[Tuple[str, int, int, str]]) -> InputError:
        return cls(Complaint(*c) for c in complaints)


class RunFailed(RuntimeError):
    """A read returned wrong data, a scrub found a difference, or a check of the run does not hold.

    ``result`` is the whole answer; its figures are not to be trusted.
    """

    def __init__(self, result: Result) -> None:
        self.result = result
        super().__init__(result)

    def __str__(self) -> str:
        wrong = [c.text for c in self.result.checks if not c.ok]
        seen = self.result.integrity
        if seen.mismatches:
            wrong.append(f"{seen.mismatches} of {seen.verified} reads differ from what was written")
        if seen.scrub_mismatches:
            wrong.append(f"{seen.scrub_mismatches} of {seen.scrubbed} stripes do not add up")
        return "; ".join(wrong) or "the run failed"
