"""Building the site imports nothing but the packages of requirements-book.txt."""

import json
import re
import subprocess
import sys
from importlib.metadata import packages_distributions

import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell

from bookcheck.paths import ROOT

BUILD = """
import json, sys

for name in json.loads(sys.argv.pop(1)):
    sys.modules[name] = None  # to import it is an error, as where it is not installed

from jupyter_book.cli.main import main

main(prog_name="jupyter-book")
"""


def canonical(name):
    return re.sub(r"[-_.]+", "-", name).lower()


def pinned(file):
    text = (ROOT / file).read_text(encoding="utf-8")
    return {
        canonical(name): version for name, version in re.findall(r"^([\w.-]+)==(\S+)", text, re.M)
    }


def absent_modules():
    """The modules of this environment that the list for building alone does not bring."""
    known = {*pinned("requirements-book.txt"), "pip", "setuptools"}
    return [
        module
        for module, owners in packages_distributions().items()
        if not {canonical(owner) for owner in owners} & known
    ]


def test_both_lists_pin_the_same_versions():
    book, everything = pinned("requirements-book.txt"), pinned("requirements.txt")
    assert len(book) > 50
    assert book.items() <= everything.items()
    assert "torch" in everything.keys() - book.keys()


@pytest.mark.long
def test_a_book_with_a_reference_is_built_without_torch(write_book, tmp_path):
    absent = absent_modules()
    assert {"torch", "numpy", "matplotlib", "pytest"} <= {*absent}
    assert not {"sphinx", "jupyter_book", "nbformat", "yaml"} & {*absent}
    cells = [
        new_markdown_cell("# One\n\nText.\n\n$$\na = -a\n$$ (eq-wrong)"),
        new_code_cell("1 + 1"),
    ]
    files = "".join(f"  - file: chapters/{name}\n" for name in ("01-one", "api", "ledger"))
    write_book(tmp_path, {"01-one": cells}, contents=files)
    for name, directive in (("api", "{api}\nmasks"), ("ledger", "{equation-ledger}")):
        text = f"# {name}\n\n```{directive}\n```\n"
        (tmp_path / "chapters" / f"{name}.md").write_text(text, encoding="utf-8")
    program = [sys.executable, "-c", BUILD, json.dumps(absent)]
    done = subprocess.run(
        [*program, "build", tmp_path, "-n", "-W", "--keep-going"],
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    site = tmp_path / "_build" / "html"
    page = (site / "chapters" / "01-one.html").read_text(encoding="utf-8")
    # No check can have run, and a false formula is built as any other.
    assert "equation-eq-wrong" in page
    assert "equation-mark" not in page
    reference = (site / "chapters" / "api.html").read_text(encoding="utf-8")
    assert 'id="attention_to_rope.masks.causal_mask"' in reference
    assert 'href="../_modules/attention_to_rope/masks.html#causal_mask"' in reference
