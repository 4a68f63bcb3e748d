"""The branch that Binder and Colab open, written by the workflow's own commands."""

import os
import subprocess
import sys

import pytest
import yaml

from bookcheck.paths import ROOT
from bookcheck.site.launch_box import NOTEBOOKS

WORKFLOW = ROOT / ".github" / "workflows" / "book.yml"


def commands():
    """What the workflow does to write the branch."""
    steps = yaml.safe_load(WORKFLOW.read_text(encoding="utf-8"))["jobs"]["notebooks"]["steps"]
    (written,) = [step["run"] for step in steps if "run" in step]
    return written


def git(folder, *words):
    return subprocess.run(
        ["git", *words], cwd=folder, check=True, capture_output=True, encoding="utf-8"
    ).stdout


@pytest.mark.skipif(sys.platform == "win32", reason="the workflow writes the branch on Linux")
def test_the_branch_holds_the_notebooks_of_the_last_push_and_nothing_else(tmp_path):
    target = tmp_path / "example" / "book"
    target.mkdir(parents=True)
    git(target, "init", "--quiet", "--bare")
    own = {
        "GITHUB_SERVER_URL": str(tmp_path),
        "GITHUB_REPOSITORY": "example/book",
        "GITHUB_ACTOR": "somebody",
        "GH_TOKEN": "none",
    }
    for push, chapter in (("first", "01-one.ipynb"), ("second", "02-two.ipynb")):
        site = tmp_path / push / "site" / NOTEBOOKS
        site.mkdir(parents=True)
        for name in (chapter, "requirements.txt"):
            (site / name).write_text("{}", encoding="utf-8")
        subprocess.run(
            ["bash", "-e", "-c", commands()],
            cwd=tmp_path / push,
            env=os.environ | own | {"GITHUB_SHA": push},
            check=True,
        )
    assert git(target, "log", "--format=%s", NOTEBOOKS).split("\n") == [
        "The notebooks of second",
        "",
    ]
    kept = git(target, "ls-tree", "--name-only", NOTEBOOKS).split()
    assert kept == ["02-two.ipynb", "requirements.txt"]
