"""What was found out about a function that rotates, in words and for other programs."""

import math
import textwrap
from dataclasses import asdict, dataclass, field
from typing import Any

WIDTH = 100  # columns of a report
MEASURED = ("layout", "direction", "base", "turned", "scaling")
TESTED = ("offset", "batch", "relative", "scores")
SHOWN = 6  # names of models in one line


@dataclass(frozen=True)
class Report:
    """What was found. `faults` are named; `changes` lead to the model that was asked for.

    `doubts` say why the frequencies are those of no rule and of no model: then nothing is proved.
    """

    calling: str
    faults: list[str]
    layout: str = "not measured"
    direction: str = "not measured"
    base: str = "not measured"
    turned: str = "not measured"
    scaling: str = "not measured"
    factor: float = math.nan
    keys: str = "not measured"
    offset: str = "not tested"
    batch: str = "not tested"
    relative: str = "not tested"
    scores: str = "not tested"
    errors: dict[int, float] = field(default_factory=dict)
    precision: str = "not measured"
    dtype: str = "float32"
    doubts: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    changes: list[str] = field(default_factory=list)
    matches: list[str] = field(default_factory=list)

    @property
    def sound(self) -> bool:
        """Whether a known rotation was found, without a fault, and nothing has to change."""
        return not self.faults and not self.changes and not self.doubts

    @property
    def verdict(self) -> str:
        """The report in a few words."""
        if self.faults:
            return f"{len(self.faults)} fault{'s' if len(self.faults) > 1 else ''}"
        if self.changes:
            return "no fault in itself, but not the rotation that was asked for"
        if self.doubts:
            return "not proved: a rotation, but by no rule and of no model that is known here"
        if self.direction.startswith("backward"):
            return "no fault, but it rotates backwards: see the note"
        return "sound"

    def as_dict(self) -> dict[str, Any]:
        """The report for other programs."""
        return {"verdict": self.verdict, "sound": self.sound, **asdict(self)}

    def __str__(self) -> str:
        lines = [("verdict", self.verdict), ("called as", self.calling)]
        lines += [("FAULT", text) for text in self.faults]
        lines += [("NOT PROVED", text) for text in self.doubts]
        lines += [("change", text) for text in self.changes]
        lines += [(name, getattr(self, name)) for name in MEASURED]
        lines += [("factor", f"{self.factor:.4f} on the length of rotated vectors")]
        lines += [(name, getattr(self, name)) for name in ("keys", *TESTED)]
        lines += [("error", f"largest entry off, in {self.dtype}, vectors of unit variance")]
        lines += [("", f"position {m:>9,}: {error:.1e}") for m, error in self.errors.items()]
        lines += [("precision", self.precision), ("matches", self._models())]
        lines += [("note", text) for text in self.notes]
        return "\n".join(
            textwrap.fill(f"{title:<12} {text}", WIDTH, subsequent_indent=" " * 13)
            for title, text in lines
        )

    def _models(self) -> str:
        if not self.matches:
            return "no model of the list"
        more = len(self.matches) - SHOWN
        return ", ".join(self.matches[:SHOWN]) + (f" and {more} more" if more > 0 else "")
