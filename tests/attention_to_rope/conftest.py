"""Settings of the library's tests: the same examples in every run, on every machine."""

import pytest
from hypothesis import settings

settings.register_profile("all", deadline=None, max_examples=40, derandomize=True)
settings.register_profile("quick", deadline=None, max_examples=15, derandomize=True)


def pytest_configure(config: pytest.Config) -> None:
    """Try fewer examples where tests marked slow are left out."""
    left_out = "slow" in config.getoption("markexpr")
    settings.load_profile("quick" if left_out else "all")
