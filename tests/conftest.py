"""While tests run, every call of the library is checked against the shapes in its signatures."""

from collections.abc import Iterator

import jaxtyping
import pytest

import bookcheck.notebooks.shapes  # noqa: F401


@pytest.fixture
def unchecked() -> Iterator[None]:
    """Without these checks, which the compiler cannot read."""
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)
