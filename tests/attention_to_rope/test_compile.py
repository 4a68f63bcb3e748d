"""One smoke test of compiling and exporting for each group of functions, and one of importing."""

import json
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

SCRIPT = Path(__file__).with_name("compiled.py")


@pytest.fixture(scope="module")
def faults():
    """What the script finds for each group: one process, or each would import the compiler."""
    done = subprocess.run([sys.executable, str(SCRIPT)], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


@pytest.mark.parametrize("group", runpy.run_path(str(SCRIPT))["GROUPS"])
def test_compiled_and_exported_forms_agree(group, faults):
    assert not faults[group]


@pytest.mark.parametrize("decoder", runpy.run_path(str(SCRIPT))["DECODING"])
def test_all_steps_of_a_static_cache_are_one_graph(decoder, faults):
    assert not faults[decoder]


def test_a_compiled_and_an_exported_decoder_take_texts_of_any_length(faults):
    assert not faults["lengths"]


def test_importing_brings_neither_the_compiler_nor_a_type_checker(faults):
    assert not faults["imported"]
