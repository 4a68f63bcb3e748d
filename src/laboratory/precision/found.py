"""What a comparison found."""

from typing import NamedTuple


class Found(NamedTuple):
    """A relative error, and the relative error that the dtype allows."""

    error: float
    allowed: float

    @property
    def units(self) -> float:
        """The error in units of what is allowed: at most 1 is right."""
        return self.error / self.allowed


def worst_of(found: list[Found]) -> Found:
    """The one with the largest error in units of what is allowed."""
    return max(found, key=lambda one: one.units)
