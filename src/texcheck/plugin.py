"""For pytest: `--misprints` plants misprints in the formula of every test that `Formulas` made."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option."""
    parser.addoption(
        "--misprints", action="store_true", help="plant misprints in formulas; none may pass"
    )


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Generator[None, Any, Any]:
    """Run a formula's test, then its misprints."""
    result: Any = yield
    formula = getattr(pyfuncitem.obj, "formula", None)
    if formula is not None and pyfuncitem.config.getoption("--misprints"):
        # Not at the top: every run of pytest imports the plugin, and hardly any asks for this.
        from texcheck.mutate import report, verdicts_of

        check, text = formula
        said, passed = report(verdicts_of(check, text()))
        if not passed:
            pytest.fail(f"misprints are not noticed:\n{said}")
    return result
