"""The recorded keys of configuration classes are those of the transformers that is installed."""

import json

import pytest
from configuration_keys import RECORD, default_values

RECORDED = json.loads(RECORD.read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", RECORDED["classes"])
def test_keys_and_defaults_are_as_recorded(name: str) -> None:
    found = json.loads(json.dumps(default_values(name)))
    assert found == RECORDED["classes"][name], (
        f"{name} has changed: run tests/peers/configuration_keys.py, then tests/bookkit/"
        "test_models.py says what the table of models has to follow"
    )
