"""The data file of the page *Read my model* is what the library says today."""

import json
import re

import pytest
from reader import RULES, SCRIPT

from attention_to_rope.checkpoints.refusals import REASONS
from attention_to_rope.checkpoints.remarks import FAILURES, REMARKS
from bookformat.links import names_of
from bookformat.paths import CHAPTERS
from bookkit.model_rules import text


def test_the_rules_are_those_of_the_library():
    new = "run: python -m bookkit.model_rules _static/read-model/rules.json"
    assert RULES.read_text(encoding="utf-8") == text(), new


@pytest.mark.parametrize("name", REMARKS)
def test_a_remark_leads_to_a_place_that_exists(name):
    remark = REMARKS[name]
    (page,) = CHAPTERS.glob(f"{remark.page}.*")
    assert remark.anchor in names_of(page)


def test_the_script_has_no_sentence_of_its_own():
    """Every reason, remark and failure that the script names is in the rules, and used."""
    script = SCRIPT.read_text(encoding="utf-8")
    used = set(re.findall(r'new ConfigError\(\s*"(\w+)"', script))
    assert used == set(REASONS)
    assert set(re.findall(r'\bwarning\("(\w+)"', script)) == set(REMARKS)
    assert set(re.findall(r'failure\("(\w+)"', script)) == set(FAILURES)


def test_the_tables_have_no_second_copy():
    """No name of a model type or of a rule's key is written into the script twice."""
    rules = json.loads(RULES.read_text(encoding="utf-8"))
    script = SCRIPT.read_text(encoding="utf-8")
    named = {name for name in rules["models"]["known_models"] if f'"{name}"' in script}
    # Two types have a key of their own; the table of models is counted as Llama.
    assert named == {"falcon", "granitemoehybrid", "llama"}
