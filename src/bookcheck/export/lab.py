"""JupyterLab for readers, and for those who write: `python -m bookcheck.export.lab [--sources]`.

Readers get their notebooks in the folder `lab`, and what they write there is theirs: a notebook
that they changed is never written over. `--sources` opens the chapters themselves, which
jupyterlab-myst shows. Settings, signatures and layout stay in the checkout: the user's own
JupyterLab is not touched, and the user's own settings win over the book's.
"""

import argparse
import contextlib
import hashlib
import json
import os
import sys
from pathlib import Path
from typing import Any, NoReturn

import nbformat
from nbformat.sign import NotebookNotary

from bookcheck.paths import BUILD, CHAPTERS, ROOT
from bookcheck.site.reader import book_of, reader_texts

LAB = ROOT / "lab"
# What this wrote, so that it knows what a reader has changed since.
WRITTEN = ".written.json"
OF_THE_PROGRAM = {"execution_count", "id", "metadata", "nbformat", "nbformat_minor"}
# Readers' notebooks are plain Markdown; jupyterlab-myst would number their equations a second time.
SETTINGS = Path(__file__).with_name("jupyter")
FOR_ALL, FOR_READERS = SETTINGS / "all", SETTINGS / "readers"
STYLE = SETTINGS / "custom"
STATE = BUILD / "lab"
FIRST_PAGE = "00-short-road.ipynb"
# The left side shows the contents of the notebook, and main what the address asks for.
WORKSPACE: dict[str, Any] = {
    "data": {
        "layout-restorer:data": {
            "left": {
                "collapsed": False,
                "current": "@jupyterlab/toc:plugin",
                "widgets": ["filebrowser", "running-sessions", "@jupyterlab/toc:plugin"],
            },
            "right": {"collapsed": True},
            "relativeSizes": [0.2, 0.8, 0],
        }
    },
    "metadata": {"id": "default"},
}


def said(value: Any) -> Any:
    """What a notebook says, without what JupyterLab writes into one that was only opened."""
    if isinstance(value, dict):
        return {key: said(part) for key, part in value.items() if key not in OF_THE_PROGRAM}
    if isinstance(value, list):
        parts = [said(part) for part in value]
        # A text may be stored as its lines.
        return "".join(parts) if all(isinstance(part, str) for part in parts) else parts
    return value


def digest(notebook: str) -> str:
    """A short mark of what a notebook says; of a file that is none, of its text."""
    try:
        text = json.dumps(said(json.loads(notebook)), sort_keys=True)
    except json.JSONDecodeError:
        text = notebook
    return hashlib.sha256(text.encode()).hexdigest()


def renew(folder: Path, texts: dict[str, str]) -> list[str]:
    """Write the notebooks that no reader has changed, and return the names of the others."""
    record = folder / WRITTEN
    written = json.loads(record.read_text(encoding="utf-8")) if record.is_file() else {}
    changed = []
    for name, text in texts.items():
        path = folder / name
        if path.is_file():
            now = path.read_text(encoding="utf-8")
            if digest(now) not in (written.get(name), digest(text)):
                changed.append(name)
                continue
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        written[name] = digest(text)
    record.write_text(json.dumps(written, indent=1), encoding="utf-8")
    return changed


def trust(folder: Path, signatures: Path) -> None:
    """Sign the notebooks, since JupyterLab shows the figures of none that it does not know."""
    signatures.mkdir(parents=True, exist_ok=True)
    notary = NotebookNotary(data_dir=str(signatures))
    for path in sorted(folder.rglob("*.ipynb")):
        if ".ipynb_checkpoints" in path.parts:
            continue
        # JupyterLab says itself what is wrong with a file that is no notebook, when it is opened.
        with contextlib.suppress(nbformat.reader.NotJSONError):
            notary.sign(nbformat.read(path, as_version=4))
    notary.store.close()


def command(folder: Path, state: Path, first: str, arguments: list[str]) -> list[str]:
    """The command that starts JupyterLab in a folder."""
    return [
        sys.executable,
        "-m",
        "jupyterlab",
        f"--ServerApp.root_dir={folder}",
        f"--NotebookNotary.data_dir={state / 'signatures'}",
        f"--LabApp.workspaces_dir={state / 'workspaces'}",
        f"--LabApp.default_url=/lab/tree/{first}",
        "--LabApp.custom_css=True",
        f"--ServerApp.tornado_settings={ {'static_custom_path': [str(STYLE)]} }",
        *arguments,
    ]


def environment(*settings: Path) -> dict[str, str]:
    """The user's environment, with folders of settings that the user's own win over."""
    paths = [*map(str, settings), os.environ.get("JUPYTER_CONFIG_PATH", "")]
    return os.environ | {"JUPYTER_CONFIG_PATH": os.pathsep.join(filter(None, paths))}


def prepare(folder: Path, state: Path) -> None:
    """Lay out the window and sign the notebooks."""
    layout = state / "workspaces" / "default-37a8.jupyterlab-workspace"
    layout.parent.mkdir(parents=True, exist_ok=True)
    layout.write_text(json.dumps(WORKSPACE), encoding="utf-8")
    trust(folder, state / "signatures")


def main(arguments: list[str] | None = None) -> NoReturn:
    """Make the notebooks and open them; unknown options go to JupyterLab."""
    parser = argparse.ArgumentParser(description="Open the book in JupyterLab.")
    parser.add_argument(
        "--sources", action="store_true", help="open the chapters, to write in them"
    )
    options, others = parser.parse_known_args(arguments)
    folder, settings = (CHAPTERS, [FOR_ALL]) if options.sources else (LAB, [FOR_READERS, FOR_ALL])
    if not options.sources:
        changed = renew(LAB, reader_texts(book_of()))
        if changed:
            print(f"Kept as you left them: {', '.join(changed)}. Remove one to get it anew.")
    prepare(folder, STATE)
    # In place of this process, so that one interrupt ends it.
    words = command(folder, STATE, FIRST_PAGE, others)
    os.execve(words[0], words, environment(*settings))


if __name__ == "__main__":
    main()
