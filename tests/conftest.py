"""While tests run, every call of the library is checked against the shapes in its signatures."""

from collections.abc import Iterator

import jaxtyping
import pytest
import torch

import bookcheck.notebooks.shapes  # noqa: F401


@pytest.fixture(autouse=True)
def unchanged_default_dtype() -> Iterator[None]:
    """A page may compute in float64 by default; the test that comes next starts as this one did."""
    before = torch.get_default_dtype()
    yield
    torch.set_default_dtype(before)


@pytest.fixture
def unchecked() -> Iterator[None]:
    """Without these checks, which the compiler cannot read."""
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)
