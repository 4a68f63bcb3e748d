"""While tests run, every call of the library is checked against the shapes in its signatures."""

from collections.abc import Iterator

import jaxtyping
import pytest

# An int is a float as far as type checkers are concerned, and the same is true here.
CHECKER = "beartype.beartype(conf=beartype.BeartypeConf(is_pep484_tower=True))"
jaxtyping.install_import_hook("attention_to_rope", CHECKER)


@pytest.fixture
def unchecked() -> Iterator[None]:
    """Without these checks, which the compiler cannot read."""
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)
