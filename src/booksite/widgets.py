"""Interactive figures: a directive, and scripts on the pages that use it.

README.md shows how to write one. The scripts are in _static/widgets: shared.js, and one file a
figure that shared.js loads when the reader comes near; their boxes stay empty until then. Readers
without JavaScript, and paper, have the figure named as fallback or a still picture.
"""

import json
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.locale import _
from sphinx.util.docutils import SphinxDirective

from bookformat.paths import STATIC
from booksite.node.packages import NODE

FOLDER = STATIC / "widgets"
# Scripts in the folder that are not figures.
NOT_FIGURES = {"shared", "quiz"}
# Folders of scripts that only some pages load.
FOR_SOME_PAGES = ("widgets/", "runnable/", "read-model/")
RUNNER = Path(__file__).with_name("widgets.cjs")


def widget_names() -> list[str]:
    """Return the names of all interactive figures."""
    return sorted(path.stem for path in FOLDER.glob("*.js") if path.stem not in NOT_FIGURES)


def run_widgets(requests: Iterable[dict[str, Any]], *words: Path) -> list[Any]:
    """Run the scripts' functions in Node.js: {"widget", "call", "arguments"} → result, in order."""
    result = subprocess.run(
        [NODE, RUNNER, FOLDER, *words],
        input=json.dumps(list(requests)),
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    if result.returncode:
        raise RuntimeError(f"a script in {FOLDER} failed; correct it:\n{result.stderr.strip()}")
    answers: list[Any] = json.loads(result.stdout)
    return answers


def raw(html: str) -> nodes.raw:
    """HTML as it is."""
    return nodes.raw("", html, format="html")


def script(directive: SphinxDirective, name: str) -> list[nodes.raw]:
    """The link to a script of the folder, once on a page."""
    if name in directive.env.temp_data:
        return []
    directive.env.temp_data[name] = True
    up = "../" * directive.env.docname.count("/")
    return [raw(f'<script defer src="{up}_static/widgets/{name}"></script>')]


class Interactive(SphinxDirective):
    """The directive `interactive`."""

    required_arguments = 1
    has_content = True
    option_spec: ClassVar[dict[str, Any]] = {"fallback": directives.unchanged_required}

    def run(self) -> list[nodes.Node]:
        """Make the box, or say which figures there are."""
        name = self.arguments[0]
        fallback = self.options.get("fallback")
        if name not in widget_names():
            raise self.error(
                f"there is no interactive figure {name!r}; there are {', '.join(widget_names())}"
            )
        place = f'class="interactive" id="interactive-{name}" data-widget="{name}"'
        start = raw(f'<div {place}><div class="about" hidden>')
        text = nodes.container()
        still = nodes.paragraph()
        self.state.nested_parse(self.content, self.content_offset, text)
        if fallback:  # Sphinx sees that there is such a figure
            shows = _("%s shows one state of it.") % f"{{numref}}`{fallback}`"
            words = f"<noscript>{shows}</noscript>"
            still += self.state.inline_text(words, self.lineno)[0]
        else:
            translated = Path(self.env.srcdir, STATIC.name).glob("words.js")
            request = {"widget": name, "call": "picture", "arguments": []}
            (picture,) = run_widgets([request], *translated)
            still = raw(f'<div class="panels">{picture}</div>')
        end = [raw("</div>"), still, raw("</div>")]
        return [start, *text.children, *end, *script(self, "shared.js")]


def leave_scripts_out(_app: Sphinx, config: Config) -> None:
    """Jupyter Book links every file under _static into every page; these are for some pages."""
    config.html_js_files = [
        name for name in config.html_js_files if not str(name).startswith(FOR_SOME_PAGES)
    ]
    # A script that needs a style sheet of this folder links it.
    config.html_css_files = [
        name for name in config.html_css_files if not str(name).startswith(FOR_SOME_PAGES[1:])
    ]


def setup(app: Sphinx) -> None:
    """Register the directive."""
    app.add_directive("interactive", Interactive)
    app.connect("config-inited", leave_scripts_out)
