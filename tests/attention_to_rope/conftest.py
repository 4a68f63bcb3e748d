"""Settings of the library's tests: the same examples in every run, on every machine."""

import sys
from collections.abc import Iterator

import pytest
from hypothesis import settings

settings.register_profile("book", deadline=None, max_examples=40, derandomize=True)
settings.load_profile("book")


@pytest.fixture
def untraced() -> Iterator[None]:
    """Let nobody count the lines that a test reaches: to count those of the compiler takes as long
    as the compiler does. Quicker tests must reach the lines of the library."""
    tracer = sys.gettrace()
    sys.settrace(None)
    yield
    sys.settrace(tracer)
