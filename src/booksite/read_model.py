"""The page that reads a model's configuration: its form, its scripts, and worked models.

    ```{read-model}
    ```

    ```{worked-models} Llama 3.1-8B; Gemma 3-27B: 32768
    ```

The first is the place of the form, which scripts of _static/read-model build. The second lists
models of the table, each with the length of a text if it is not the model's own; the same script
writes their reports when the site is built, for readers without JavaScript and for paper.

A page that is opened from disk may neither load modules nor fetch data, so the script that reads,
and its rules, stand in the page.
"""

import json
import subprocess
from html import escape
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.locale import _
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util.docutils import SphinxDirective

from bookformat.paths import CHAPTERS, STATIC
from booksite.node.packages import NODE
from booksite.runnable import FORMS

FOLDER = STATIC / "read-model"
READER = FOLDER / "read_model.js"
RULES = FOLDER / "rules.json"
STYLE = FOLDER / "read_model.css"
# In the order in which they need each other.
DRAWING = ("picture.js", "report.js")
FILES = (*DRAWING, "state.js", "page.js")
RUNNER = Path(__file__).with_name("read_model.mjs")
LIVE, WORKED = "read-model", "worked-models"
SHORT_TITLE = 15  # letters
EXPORTED = ("filled", "readModel", "readTableModel", "testVectors", "weightBits")

Places = dict[str, str]


def as_data(value: Any) -> str:
    """JSON that may stand in a script of a page."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).replace("</", "<\\/")


def read_rules() -> dict[str, Any]:
    """The rules, as `python -m bookkit.model_rules` wrote them."""
    rules: dict[str, Any] = json.loads(RULES.read_text(encoding="utf-8"))
    return rules


def live_html(up: str, places: Places) -> str:
    """The place of the form and its scripts, on a page whose site begins at `up`."""
    reader = READER.read_text(encoding="utf-8")
    data = f"{as_data(read_rules())};globalThis.modelPlaces={as_data(places)}"
    scripts = [f'<script defer src="{up}_static/{LIVE}/{name}"></script>' for name in FILES]
    form = f"{up}_static/{FORMS}/{FORMS}"
    return (
        f'<link rel="stylesheet" href="{form}.css">'
        f'<link rel="stylesheet" href="{up}_static/{LIVE}/{STYLE.name}">'
        f'<div class="{LIVE} live book-form"></div>'
        f"<noscript><style>.{LIVE}.live{{display:none}}</style>"
        f"<p>{escape(_('Reading your own model needs JavaScript.'))}</p></noscript>"
        f'<script defer src="{form}.js"></script>'
        f'<script defer src="{up}_static/widgets/shared.js"></script>'
        f"<script>globalThis.modelPage={{}};globalThis.modelRules={data}</script>"
        f'<script type="module">{reader}\nuseRules(globalThis.modelRules);'
        f"globalThis.modelReader={{{','.join(EXPORTED)}}};</script>"
        f"{''.join(scripts)}"
    )


def run_reports(requests: list[dict[str, Any]], places: Places, words: list[Path]) -> list[Any]:
    """The reports of models, as HTML: {"name" or "config", "wanted"} → {name, said, html}."""
    scripts = [STATIC / "widgets" / "shared.js", *(FOLDER / name for name in DRAWING)]
    given = {
        "rules": str(RULES),
        "reader": READER.as_uri(),
        "scripts": [str(path) for path in (*words, *scripts)],
        "places": places,
        "requests": requests,
    }
    result = subprocess.run(
        [NODE, RUNNER],
        input=json.dumps(given),
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    if result.returncode:
        raise RuntimeError(f"the scripts in {FOLDER} failed:\n{result.stderr.strip()}")
    answers: list[Any] = json.loads(result.stdout)
    return answers


def worked_html(lines: list[str], places: Places, words: list[Path]) -> str:
    """A fold for each model."""
    requests = []
    for line in lines:
        name, _colon, length = line.partition(":")
        wanted = {"length": int(length)} if length.strip() else {}
        requests.append({"name": name.strip(), "wanted": wanted})
    folds = []
    for answer in run_reports(requests, places, words):
        summary = f"<h3>{escape(answer['name'])}</h3> <span>{escape(answer['said'])}</span>"
        folds.append(f"<details><summary>{summary}</summary>{answer['html']}</details>")
    return f'<div class="{LIVE} worked book-form">{"".join(folds)}</div>'


class Live(SphinxDirective):
    """The directive `read-model`."""

    def run(self) -> list[nodes.Node]:
        """Keep a place, which is filled when all pages have been read."""
        for path in (READER, RULES):
            self.env.note_dependency(str(path))
        return [nodes.container(classes=[LIVE])]


class Worked(SphinxDirective):
    """The directive `worked-models`; its models are an argument, which nobody translates."""

    required_arguments = 1
    final_argument_whitespace = True

    def run(self) -> list[nodes.Node]:
        """Keep a place and the lines, and see that the models are in the table."""
        for path in (READER, RULES, *(FOLDER / name for name in DRAWING)):
            self.env.note_dependency(str(path))
        known = {row["name"] for row in read_rules()["table"]}
        lines = self.arguments[0].split(";")
        for line in lines:
            if line.partition(":")[0].strip() not in known:
                raise self.error(f"the table of models has no {line.strip()!r}")
        return [nodes.container(classes=[WORKED], lines=lines)]


class FillPlaces(SphinxPostTransform):
    """Write the HTML, now that the titles of all pages are known."""

    default_priority = 902
    formats = ("html",)

    def run(self, **_others: Any) -> None:
        """Look for the places."""
        found = list(self.document.findall(nodes.container))
        live = [place for place in found if LIVE in place["classes"]]
        worked = [place for place in found if WORKED in place["classes"]]
        if not live and not worked:
            return
        places = self.titles()
        up = "../" * self.env.docname.count("/")
        words = list(Path(self.env.srcdir, STATIC.name).glob("words.js"))
        for place in live:
            place.replace_self(nodes.raw("", live_html(up, places), format="html"))
        for place in worked:
            html = worked_html(place["lines"], places, words)
            place.replace_self(nodes.raw("", html, format="html"))

    def titles(self) -> Places:
        """The titles of the sections that remarks lead to, by page and anchor."""
        remarks = read_rules()["remarks"].values()
        wanted = {(one["page"], one["anchor"]) for one in remarks}
        wanted.add(("longer-contexts", "what-to-set"))
        found: Places = {}
        for page, anchor in sorted(wanted):
            name = f"{CHAPTERS.name}/{page}"
            if name not in self.env.found_docs:
                continue
            title = self.env.titles[name].astext()
            for section in self.env.get_doctree(name).findall(nodes.section):
                if anchor in (*section["ids"], section.get("slug")):
                    words = next(iter(section.findall(nodes.title))).astext()
                    # "In practice" alone says too little.
                    title = f"{title}: {words}" if len(words) < SHORT_TITLE else words
            found[f"{page}#{anchor}"] = title
        return found


def setup(app: Sphinx) -> None:
    """Register both."""
    app.add_directive(LIVE, Live)
    app.add_directive(WORKED, Worked)
    app.add_post_transform(FillPlaces)
