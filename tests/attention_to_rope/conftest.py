"""Settings of the library's tests: the same examples in every run, on every machine."""

import sys
from collections.abc import Iterator

import pytest
from hypothesis import settings

settings.register_profile("book", deadline=None, max_examples=40, derandomize=True)
settings.load_profile("book")


@pytest.fixture
def untraced() -> Iterator[None]:
    """Do not let coverage count the lines that a test reaches: to count those of the compiler takes
    as long as the compiler does. Quicker tests must reach the lines of the library."""
    tracer = sys.gettrace()
    counts_lines = type(tracer).__module__.startswith("coverage")  # who plants faults watches too
    if counts_lines:
        sys.settrace(None)
    yield
    if counts_lines:
        sys.settrace(tracer)
