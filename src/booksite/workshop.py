"""The workshop in the page: an editor in place of the empty functions of a step.

As the listings that run in the page, a build has it only where BOOK_RUNNABLE is set (`make
workshop`). The scripts are workshop.js and workshop_worker.js in _static/runnable. The checks need
only NumPy; their files are packed into _static/workshop-tools, beside the trained weights.
"""

import os
import re
import shutil
import zipfile
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.locale import _
from sphinx.transforms.post_transforms import SphinxPostTransform

from bookformat.paths import SOURCES
from booksite.runnable import FILES, ROOM, VARIABLE, script_tags

FOLDER = "workshop-tools"  # below _static
CLASS = "workshop"  # of the cell that becomes an editor
KIT = SOURCES / "bookkit"
PACKED = ("__init__.py", "saying.py", "zh_CN.json", "workshop/*.py", "workshop/signatures.json")
WEIGHTS = KIT / "trained" / "model.safetensors"
EMPTY = re.compile(r'raise NotImplementedError\("step (\d+): ')
FIRST_WITH_WEIGHTS = 9
FIRST_PAGE = "chapters/workshop/begin"
NOTE = (
    "On the book's website, with JavaScript on, you can write this step here. Elsewhere, see "
    "“Write the model yourself”, which names other ways."
)


def step_of(source: str) -> int | None:
    """The step whose empty functions a cell shows, if it does."""
    found = EMPTY.search(source)
    return int(found[1]) if found else None


class MarkSteps(SphinxPostTransform):
    """Mark the cell with the empty functions, and put the note and the script below it."""

    default_priority = 901
    formats = ("html",)

    def run(self, **_others: Any) -> None:
        """Look at the cells of a page."""
        if self.env.docname == FIRST_PAGE:
            self.document += nodes.raw("", script_tag(self.env.docname), format="html")
            return
        for source in self.document.findall(nodes.container):
            if source.get("nb_element") != "cell_code_source":
                continue
            step = step_of(source.astext())
            if step is None:
                continue
            cell = source.parent
            cell["classes"].append(CLASS)
            script = script_tag(self.env.docname)
            note = (
                f'<p class="workshop-note small d-print-none" data-step="{step}" '
                f'data-bytes="{bytes_to_load(step)}">{_(NOTE)}</p>'
            )
            cell += nodes.raw("", note + script, format="html")
            return


def script_tag(page: str) -> str:
    """What loads the script of the workshop into a page."""
    return script_tags("../" * page.count("/"), "editor", "workshop")


def bytes_to_load(step: int) -> int:
    """What a browser fetches for a step, without scripts and the small archive of checks."""
    fetched = [path for path in FILES.values() if not path.endswith(".js")]
    size = sum((ROOM / "node_modules" / path).stat().st_size for path in fetched)
    return size + (WEIGHTS.stat().st_size if step >= FIRST_WITH_WEIGHTS else 0)


def pack(target: Path) -> None:
    """Put the checks, the empty file and the weights into a folder of the site."""
    target.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(target / "tools.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for pattern in PACKED:
            for file in sorted(KIT.glob(pattern)):
                archive.write(file, f"bookkit/{file.relative_to(KIT).as_posix()}")
    shutil.copyfile(KIT / "workshop" / "skeleton.py", target / "my_model.txt")
    shutil.copyfile(WEIGHTS, target / WEIGHTS.name)


def copy_tools(app: Sphinx, error: Exception | None) -> None:
    """Put all of it into the site, or take out what an earlier build left there."""
    target = Path(app.outdir) / "_static" / FOLDER
    if os.environ.get(VARIABLE) and error is None and app.builder.format == "html":
        pack(target)
    else:
        shutil.rmtree(target, ignore_errors=True)


def setup(app: Sphinx) -> None:
    """Connect all of it, where the build is to have it."""
    if os.environ.get(VARIABLE):
        app.add_post_transform(MarkSteps)
    app.connect("build-finished", copy_tools)
