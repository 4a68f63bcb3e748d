"""The branch that Binder and Colab open is the one that the workflow writes."""

import yaml

from bookformat.paths import ROOT
from booksite.launch_box import NOTEBOOKS


def test_the_workflow_pushes_the_folder_of_notebooks_to_their_branch():
    text = (ROOT / ".github" / "workflows" / "book.yml").read_text(encoding="utf-8")
    steps = yaml.safe_load(text)["jobs"]["notebooks"]["steps"]
    (commands,) = (step["run"].splitlines() for step in steps if "run" in step)
    assert commands[0] == f"cd site/{NOTEBOOKS}"
    assert f"git init --quiet --initial-branch={NOTEBOOKS}" in commands
    assert "push --force" in commands[-1]
    assert commands[-1].endswith(f" {NOTEBOOKS}")
