"""Every recorded row says by which command it was made, and the command exists."""

import importlib.util
import json
import shlex

import pytest

from bookformat.paths import ROOT
from bookkit.records import RESULTS

RECORDS = sorted(path.relative_to(RESULTS).as_posix() for path in RESULTS.rglob("*.jsonl"))


def program_of(command):
    """What a command runs: a module or a file, without variables and arguments."""
    words = [word for word in shlex.split(command) if "=" not in word]
    assert words[0].startswith("python"), command
    return words[2] if words[1] == "-m" else words[1]


def exists(program):
    if program.endswith(".py"):
        return (ROOT / program).is_file()
    return importlib.util.find_spec(program.partition(".")[0]) is not None and (
        importlib.util.find_spec(program) is not None
    )


@pytest.mark.parametrize("name", RECORDS)
def test_rows_name_a_command_that_exists(name):
    rows = [json.loads(line) for line in (RESULTS / name).read_text(encoding="utf-8").splitlines()]
    programs = {program_of(row.get("command", "python -m nothing")) for row in rows}
    missing = sorted(program for program in programs if not exists(program))
    assert not missing, f"{name}: restore {missing}, or measure these rows again"


def test_a_program_that_is_gone_is_missed():
    assert exists(program_of("python -m laboratory.speed.run --group cpu"))
    assert exists(program_of("PYTHONPATH=src python3 tests/peers/check_on_gpu.py"))
    assert not exists(program_of("python -m benchmarks.tune_gpu"))
    assert not exists(program_of("python -m laboratory.nothing"))
