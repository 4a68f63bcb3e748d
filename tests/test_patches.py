"""Each patch of other people's code is still needed, and was looked at for the installed version.

CONTRIBUTING.md lists them. A test that fails here asks to remove a patch, or to look at it again.
Those that a built site shows are in `tests/booksite/test_small_book.py`, that of pybtex in
`tests/booksite/test_citations.py`, that of Chromium's PDF in `tests/booksite/export/test_pdf.py`,
and that of Triton in `tests/peers/test_triton_launches.py`.
"""

import inspect
import json
import re
import subprocess
from pathlib import Path
from types import SimpleNamespace

import jsonschema
import jupyter_book
import nbval.kernel
import numpy as np
import pydata_sphinx_theme
import pytest
import torch.utils
from myst_parser.sphinx_ext.myst_refs import MystReferenceResolver
from sphinx.application import Sphinx
from sphinx.ext import viewcode
from sphinx.util.docutils import docutils_namespace

from bookformat.paths import NODE_ROOM, ROOT
from booksite.lighten import ICON_RULE, MEASURING
from booksite.math import PACKAGE
from booksite.node.packages import NODE, ensure_packages

THEME = Path(pydata_sphinx_theme.__file__).parent / "theme/pydata_sphinx_theme/static"
GUIDE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
TABLE = GUIDE.partition("## Patches of other people's code")[2].partition("\n## ")[0]
ROWS = re.findall(r"^\| `([^`]+)` \| (\S+) (\S+) \|", TABLE, re.MULTILINE)
FILES = ("requirements.txt", "requirements-book.txt", "tests/peers/requirements.txt")


def pins():
    """The pinned version of each package, of Python and of npm."""
    found = json.loads((NODE_ROOM / "package.json").read_text(encoding="utf-8"))["dependencies"]
    for name in FILES:
        text = (ROOT / name).read_text(encoding="utf-8")
        found.update(re.findall(r"^([\w.-]+)==(\S+)", text, re.MULTILINE))
    return found


def test_the_list_has_rows():
    assert len(ROWS) >= 12


@pytest.mark.parametrize(("place", "package", "version"), ROWS)
def test_a_patch_was_looked_at_for_the_version_in_use(place, package, version):
    assert (ROOT / place).is_file()
    advice = f"look at the patch in {place} again, then write this version into CONTRIBUTING.md"
    assert pins()[package] == version, advice


def test_the_theme_still_measures_all_boxes_on_load():
    script = (THEME / "scripts" / "pydata-sphinx-theme.js").read_text(encoding="utf-8")
    assert MEASURING.search(script), "booksite.lighten: nothing to replace"


def test_myst_still_finds_sections_of_other_pages_by_their_headings_alone():
    source = inspect.getsource(MystReferenceResolver.resolve_myst_ref_doc)
    advice = "booksite.given_names: see whether links to a given name hold without it"
    assert re.findall(r"metadata\[ref_docname\]\.get\(\"(\w+)\"", source) == ["myst_slugs"], advice


def test_the_theme_still_brings_two_thousand_icons():
    style = (THEME / "styles" / "pydata-sphinx-theme.css").read_text(encoding="utf-8")
    assert len(ICON_RULE.findall(style)) > 1000, "booksite.lighten: no icons to leave out"


def test_katex_still_writes_the_source_and_a_base_for_each_sign():
    ensure_packages(NODE_ROOM)
    script = f"console.log(require({str(PACKAGE)!r}).renderToString('f(a + b) = c'))"
    done = subprocess.run([NODE, "-e", script], capture_output=True, encoding="utf-8", check=True)
    assert '<annotation encoding="application/x-tex">' in done.stdout
    assert 'margin-right:0.2222em;"></span></span>' in done.stdout
    # A line may end inside the brackets: one base ends behind the sign between them.
    assert done.stdout.count('<span class="base">') == 3


@pytest.fixture(scope="module")
def plain_site(tmp_path_factory):
    """Sphinx as it is, after it has built one page."""
    folder = tmp_path_factory.mktemp("plain")
    (folder / "index.rst").write_text("Page\n====\n", encoding="utf-8")
    settings = {"html_theme": "basic"}
    with docutils_namespace():
        app = Sphinx(
            folder, None, folder / "html", folder / "doctrees", "html", settings, status=None
        )
        app.build()
    return app


def test_sphinx_still_counts_its_warnings_in_private(plain_site):
    told = [name for name in dir(plain_site) if "warn" in name and not name.startswith("_")]
    assert told == ["warningiserror"], "booksite.again: does one of them count?"
    assert plain_site._warncount == 0


def test_sphinx_still_writes_an_index_of_words_and_no_setting_switches_it_off(plain_site):
    index = Path(plain_site.outdir) / "searchindex.js"
    assert index.is_file(), "booksite.search.replace_search: nothing to stop"
    settings = {name for name in plain_site.config.values if "search" in name}
    known = {
        "html_search_language", "html_search_options", "html_search_scorer",
        "html_show_search_summary", "html_use_opensearch",
    }  # fmt: skip
    assert settings == known, "booksite.search.replace_search: does a new setting do it?"
    assert type(plain_site.builder).search is True, (
        "booksite.search.replace_search: the switch is gone"
    )


def test_viewcode_still_writes_every_module_that_it_does_not_find_itself():
    app = SimpleNamespace(emit_firstresult=lambda *_names: ("text", {}))
    assert viewcode.should_generate_module_page(app, "a_module"), "booksite.reference.keep_sources"


def test_jupyter_book_still_sets_an_option_that_nobody_asked_for():
    settings = Path(jupyter_book.__file__).with_name("config.py").read_text(encoding="utf-8")
    assert "comments_config" in settings, "booksite.theme.setup: nobody sets it"


def test_nbval_still_starts_each_kernel_as_a_new_process():
    start = inspect.getsource(nbval.kernel.RunningKernel.__init__)
    assert "start_new_kernel(" in start, "bookcheck.notebooks.kernel: can nbval be told how?"


def test_the_product_of_arrays_still_cannot_be_replaced():
    with pytest.raises(TypeError, match="immutable"):
        np.ndarray.__matmul__ = None


def test_the_mode_that_sees_every_operation_is_still_private():
    assert not hasattr(torch.utils, "TorchDispatchMode"), "bookcheck.notebooks.noise: import it"


def test_jsonschema_still_imports_a_parser_of_addresses_wherever_it_is_installed():
    formats = Path(jsonschema.__file__).with_name("_format.py").read_text(encoding="utf-8")
    assert "from rfc3987_syntax import" in formats, "Makefile: let it stay installed"
