"""Code and notebooks are formatted, linted and typed as `make lint` says."""

import subprocess
import sys

import pytest

from bookcheck.paths import ROOT


def run(*command):
    return subprocess.run(
        [sys.executable, "-m", *command], cwd=ROOT, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize(
    "command", [("ruff", "check", "."), ("ruff", "format", "--check", "."), ("mypy",)]
)
def test_the_tree_is_clean(command):
    done = run(*command)
    assert done.returncode == 0, done.stdout + done.stderr


def test_an_untidy_file_is_caught(tmp_path):
    untidy = tmp_path / "untidy.py"
    untidy.write_text("import os\nx=1\n", encoding="utf-8")
    settings = ["--config", str(ROOT / "pyproject.toml")]
    assert run("ruff", "check", *settings, str(untidy)).returncode == 1
    assert run("ruff", "format", "--check", *settings, str(untidy)).returncode == 1


def test_a_wrong_type_is_caught(tmp_path):
    wrong = tmp_path / "wrong.py"
    wrong.write_text("def length(name: str) -> int:\n    return name\n", encoding="utf-8")
    assert "return-value" in run("mypy", "--strict", str(wrong)).stdout
