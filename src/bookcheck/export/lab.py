"""JupyterLab for readers, and for those who write: `make lab`, `make lab SOURCES=yes`.

Readers get the notebooks of the built site in the folder `lab`; one that they changed is never
written over.
`--sources` opens the chapters themselves, which jupyterlab-myst shows. The user's own
settings win over the book's.
"""

import argparse
import contextlib
import hashlib
import json
import os
import shutil
import sys
from pathlib import Path
from typing import NoReturn

import nbformat
from nbformat.sign import NotebookNotary

from bookcheck.paths import BUILD, CHAPTERS, ROOT

NOTEBOOKS, LAB = BUILD / "html" / "notebooks", ROOT / "lab"
FIRST_PAGE = "00-short-road.ipynb"
# What this wrote, so that it knows what a reader has changed since.
WRITTEN = ".written.json"
SETTINGS = Path(__file__).with_name("jupyter")
# Readers' notebooks are plain Markdown; jupyterlab-myst would number their equations a second time.
FOR_ALL, FOR_READERS = SETTINGS / "all", SETTINGS / "readers"


def digest(path: Path) -> str:
    """A mark of what a file holds."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def renew(folder: Path, source: Path) -> list[str]:
    """Copy the notebooks that no reader has changed, and return the names of the others."""
    folder.mkdir(exist_ok=True)
    record = folder / WRITTEN
    written = json.loads(record.read_text(encoding="utf-8")) if record.is_file() else {}
    changed = []
    for new in sorted(source.rglob("*.ipynb")):
        name = new.relative_to(source).as_posix()
        path = folder / name
        if path.is_file() and digest(path) not in (written.get(name), digest(new)):
            changed.append(name)
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(new, path)
        written[name] = digest(new)
    record.write_text(json.dumps(written, indent=1), encoding="utf-8")
    return changed


def sign(folder: Path) -> None:
    """Sign the notebooks: JupyterLab shows no figures of a notebook that it does not know."""
    notary = NotebookNotary()
    for path in folder.rglob("*.ipynb"):
        # JupyterLab says itself what is wrong with a file that is no notebook, when it is opened.
        with contextlib.suppress(nbformat.reader.NotJSONError):
            notary.sign(nbformat.read(path, as_version=4))


def command(folder: Path, first: str) -> list[str]:
    """The command that starts JupyterLab in a folder."""
    return [
        sys.executable,
        "-m",
        "jupyterlab",
        "--allow-root",  # containers have no other user
        f"--ServerApp.root_dir={folder}",
        f"--LabApp.default_url=/lab/tree/{first}",
        "--LabApp.custom_css=True",
        f"--ServerApp.tornado_settings={ {'static_custom_path': [str(SETTINGS / 'custom')]} }",
    ]


def environment(*settings: Path) -> dict[str, str]:
    """The user's environment, with folders of settings that the user's own win over."""
    paths = [*map(str, settings), os.environ.get("JUPYTER_CONFIG_PATH", "")]
    return os.environ | {"JUPYTER_CONFIG_PATH": os.pathsep.join(filter(None, paths))}


def main() -> NoReturn:
    """Make the notebooks and open them; unknown options go to JupyterLab."""
    parser = argparse.ArgumentParser(description="Open the book in JupyterLab.")
    parser.add_argument("--sources", action="store_true", help="open the chapters, to write them")
    options, others = parser.parse_known_args()
    folder, settings = (CHAPTERS, [FOR_ALL]) if options.sources else (LAB, [FOR_READERS, FOR_ALL])
    if not options.sources and not NOTEBOOKS.is_dir():
        sys.exit(f"{NOTEBOOKS} does not exist; build the site first: make book")
    if not options.sources and (changed := renew(LAB, NOTEBOOKS)):
        print(f"Kept as you left them: {', '.join(changed)}. Remove one to get it anew.")
    sign(folder)
    # In place of this process, so that one interrupt ends it.
    words = [*command(folder, FIRST_PAGE), *others]
    os.execve(words[0], words, environment(*settings))


if __name__ == "__main__":
    main()
