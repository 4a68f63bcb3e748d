"""What comes from npm is pinned, and nobody's files lie in the repository."""

import json
import re

import pytest

from bookformat.paths import NODE_ROOM
from booksite.node.packages import NodePackagesError, ensure_packages
from booksite.runnable import ROOM


@pytest.mark.parametrize("room", [NODE_ROOM, ROOM], ids=lambda room: room.name)
def test_versions_are_exact_and_the_lock_holds_no_addresses(room):
    manifest = json.loads((room / "package.json").read_text(encoding="utf-8"))
    versions = {**manifest["dependencies"], **manifest.get("devDependencies", {})}
    assert all(re.fullmatch(r"\d+\.\d+\.\d+(-[\w-]+)?", version) for version in versions.values())
    lock = json.loads((room / "package-lock.json").read_text(encoding="utf-8"))["packages"]
    for name, version in versions.items():
        assert lock[f"node_modules/{name}"]["version"] == version
    for name, package in lock.items():
        assert "resolved" not in package
        assert name == "" or package["integrity"].startswith("sha512-")


def test_packages_that_cannot_be_installed_are_named_in_one_sentence(tmp_path):
    # A manifest without its lock file: npm refuses, on any network.
    (tmp_path / "package.json").write_text('{"dependencies": {"katex": "0.0.1"}}', encoding="utf-8")
    with pytest.raises(NodePackagesError, match=r"(?s)npm packages are missing.*package-lock"):
        ensure_packages(tmp_path)
