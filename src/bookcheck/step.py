"""A long command that passed is not run again while all that it reads is the same.

    python -m bookcheck.step coverage src tests/attention_to_rope -- COMMAND

Its name, files or folders of the book on which its outcome depends, and the command. The packages,
this machine and its Python count too; `AGAIN=yes` runs it in any case.
"""

import os
import platform
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from bookcheck.cache import Notes, digest_of, files_below
from bookcheck.paths import KEPT, ROOT

SETTINGS = ("Makefile", "pyproject.toml", "requirements.txt")
USAGE = "expected: python -m bookcheck.step NAME FILE... -- COMMAND..., found: {}"


def state_of(places: Sequence[str], command: Sequence[str], root: Path) -> str:
    """Changes with everything on which the outcome of a command depends."""
    names = [*SETTINGS, *places]
    missing = [name for name in names if not (root / name).exists()]
    if missing:
        raise SystemExit(f"there is no {', no '.join(missing)} in {root}: name what the step reads")
    files = files_below(root / name for name in names)
    shown = [path.relative_to(root).as_posix() for path in files]
    return digest_of(files, *command, *shown, platform.machine(), platform.python_version())


def main(
    arguments: Sequence[str] | None = None, root: Path = ROOT, folder: Path = KEPT / "steps"
) -> int:
    """Run the command unless it is known to pass; return its exit status."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    if "--" not in given[2:] or given[-1] == "--":
        raise SystemExit(USAGE.format(" ".join(given) or "nothing"))
    split = given.index("--")
    name, places, command = given[0], given[1:split], given[split + 1 :]
    notes, state = Notes(folder), state_of(places, command, root)
    if notes.holds(name, state) and not os.environ.get("AGAIN"):
        print(f"{name}: passed before, and nothing it reads has changed (AGAIN=yes: run it again)")
        return 0
    status = subprocess.run(command, cwd=root, check=False).returncode
    if status == 0:
        notes.note(name, state)
    return status


if __name__ == "__main__":
    sys.exit(main())
