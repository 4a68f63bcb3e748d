"""What sphinx-proof and sphinx-exercise write in English is in the language of the site."""

import re
import shutil

import pytest
import sphinx.locale
from sphinx.application import Sphinx
from sphinx.util.docutils import docutils_namespace

from booksite.translation.catalogs import LOCALE

PAGE = """# Page

:::{prf:proof}
Open.
:::

:::{prf:proof}
:class: dropdown
Folded.
:::

:::{exercise-start} Sum
:label: sum
:::
Add.
:::{exercise-end}
:::

:::{solution-start} sum
:::
Added.
:::{solution-end}
:::
"""


@pytest.fixture
def own_words(monkeypatch):
    """Sphinx keeps the words of the last site's language for all that follows in the process."""
    monkeypatch.setattr(sphinx.locale, "translators", sphinx.locale.translators.copy())


@pytest.mark.usefixtures("own_words")
@pytest.mark.parametrize(
    ("language", "expected"),
    [
        ("en", ["<p>Proof. Open.", ">Proof<", "(Sum)", "Exercise 1 (Sum)<"]),
        ("zh_CN", ["<p>证明：Open.", ">证明<", "（Sum）", "练习 1（Sum）<"]),
    ],
)
def test_proofs_and_exercises_have_titles_in_the_language_of_the_site(tmp_path, language, expected):
    (tmp_path / "index.md").write_text(PAGE, encoding="utf-8")
    words = tmp_path / "locale" / "zh_CN" / "LC_MESSAGES"
    words.mkdir(parents=True)
    shutil.copy(LOCALE / "zh_CN" / "LC_MESSAGES" / "sphinx.po", words)
    settings = {
        "extensions": ["myst_parser", "sphinx_proof", "sphinx_exercise", "booksite.folding"],
        "html_theme": "basic",
        "language": language,
        "locale_dirs": [str(tmp_path / "locale")],
        "myst_enable_extensions": ["colon_fence"],
        "numfig": True,
        "source_suffix": {".md": "markdown"},
    }
    folders = (tmp_path, None, tmp_path / "html", tmp_path / "doctrees")
    with docutils_namespace():
        Sphinx(*folders, "html", settings, status=None).build()
    page = (tmp_path / "html" / "index.html").read_text(encoding="utf-8")
    page = re.sub(r"</?span\b[^>]*>", "", page)
    assert [one for one in expected if one not in page] == []
