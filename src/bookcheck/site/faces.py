"""The book's faces: a serif for the text, a sans for what surrounds it, a fixed one for code.

They come from npm by pinned name, already cut into scripts: the browser loads a file only where a
page has one of its letters. Chinese and all other letters are the reader's system's.
"""

import json
import shutil
from pathlib import Path
from typing import NamedTuple

from sphinx.application import Sphinx
from sphinx.config import Config

from bookcheck.node.packages import ensure_packages
from bookcheck.paths import NODE_ROOM

# What all files together may weigh.
LARGEST = 150_000  # bytes


class Face(NamedTuple):
    """One file of letters."""

    package: str
    family: str
    script: str
    weight: int
    style: str

    @property
    def file(self) -> str:
        """The file's name in its package."""
        return f"{self.package}-{self.script}-{self.weight}-{self.style}.woff2"


SERIF = ("source-serif-4", "Source Serif 4")
SANS = ("inter", "Inter")
MONO = ("source-code-pro", "Source Code Pro")
FACES = (
    Face(*SERIF, "latin", 400, "normal"),
    Face(*SERIF, "latin", 400, "italic"),
    Face(*SERIF, "latin", 600, "normal"),
    Face(*SERIF, "greek", 400, "normal"),
    Face(*SANS, "latin", 400, "normal"),
    Face(*SANS, "latin", 600, "normal"),
    Face(*SANS, "greek", 400, "normal"),
    Face(*MONO, "latin", 400, "normal"),
    Face(*MONO, "greek", 400, "normal"),
)


def package_of(face: Face) -> Path:
    """The folder of a face's package."""
    return NODE_ROOM / "node_modules" / "@fontsource" / face.package


def rule_of(face: Face) -> str:
    """The style sheet's rule for a file; text shows in another face until it is there."""
    ranges = json.loads((package_of(face) / "unicode.json").read_text(encoding="utf-8"))
    return (
        f"@font-face {{\n  font-family: '{face.family}';\n  font-style: {face.style};\n"
        f"  font-weight: {face.weight};\n  font-display: swap;\n"
        f"  src: url({face.file}) format('woff2');\n  unicode-range: {ranges[face.script]};\n}}\n"
    )


def add_faces(app: Sphinx, config: Config) -> None:
    """Serve the files and their style sheet from the site itself."""
    ensure_packages(NODE_ROOM)
    folder = Path(app.outdir).parent / "faces" / "faces"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for face in FACES:
        shutil.copyfile(package_of(face) / "files" / face.file, folder / face.file)
    sheet = "".join(map(rule_of, FACES))
    (folder / "faces.css").write_text(sheet, encoding="utf-8")
    config.html_static_path.append(str(folder.parent))
    app.add_css_file("faces/faces.css")


def setup(app: Sphinx) -> None:
    """Connect it."""
    app.connect("config-inited", add_faces)
