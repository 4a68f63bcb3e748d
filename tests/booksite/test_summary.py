"""What the opening page says about the edition is what the packages and the changelog say."""

import re
import tomllib

import pytest
import yaml

from bookformat.paths import CHAPTERS, ROOT, SOURCES
from booksite.summary import CITATION

EDITED = CITATION.read_text(encoding="utf-8")


def contradictions(citation):
    """What a citation says otherwise than the packages, the changelog and the site's settings."""
    said = yaml.safe_load(citation)
    packages = (ROOT, SOURCES / "attention_to_rope", SOURCES / "rope_doctor")
    for package in packages:
        settings = tomllib.loads((package / "pyproject.toml").read_text(encoding="utf-8"))
        version = settings["project"]["version"]
        if version != said["version"]:
            yield f"CITATION.cff has the version {said['version']}, {package.name} has {version}"
    changes = (CHAPTERS / "changelog.md").read_text(encoding="utf-8")
    newest = re.search(r"\(version (\d+\.\d+)", changes)[1]
    if not said["version"].startswith(f"{newest}."):
        yield f"CITATION.cff has the version {said['version']}, the changelog {newest}"
    year = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))["copyright"]
    if str(said["date-released"].year) != year:
        yield f"CITATION.cff is of {said['date-released']}, the copyright of {year}"


def test_the_citation_agrees_with_packages_changelog_and_settings():
    assert [*contradictions(EDITED)] == []


@pytest.mark.parametrize(
    ("right", "wrong", "told"),
    [
        ("date-released: 2026", "date-released: 2025", "CITATION.cff is of 2025-"),
        ("version: 4.0", "version: 4.1", "CITATION.cff has the version 4.1.0.dev0, "),
    ],
)
def test_a_citation_that_contradicts_them_is_told(right, wrong, told):
    assert EDITED.count(right) == 1
    faults = [*contradictions(EDITED.replace(right, wrong))]
    assert all(fault.startswith(told) for fault in faults)
    assert faults
