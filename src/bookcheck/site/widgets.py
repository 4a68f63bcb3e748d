"""Interactive figures: a directive for their places, and their scripts on the pages that have one.

    :::{interactive} rotation
    :fallback: fig-two-arrows

    Move one slider and watch the score.
    :::

The named figure stands above and serves readers without JavaScript and in print; the place stays
empty until the script runs. Without `:fallback:` the page shows the first state as a still picture.
The scripts lie in _static/widgets: shared.js, and one file a figure that shared.js loads when the
reader comes near.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

from bookcheck.node.packages import answers_of
from bookcheck.paths import ROOT
from bookcheck.site.source_place import place_of
from bookcheck.site.theme import link_script

logger = logging.getLogger(__name__)

FOLDER = ROOT / "_static" / "widgets"
SHARED = FOLDER / "shared.js"
# Scripts in the folder that are not figures.
NOT_FIGURES = {"shared", "quiz"}
RUNNER = Path(__file__).with_name("widgets.cjs")


def widget_names() -> list[str]:
    """Return the names of all interactive figures."""
    return sorted(path.stem for path in FOLDER.glob("*.js") if path.stem not in NOT_FIGURES)


def run_widgets(requests: Iterable[dict[str, Any]]) -> list[Any]:
    """Run the scripts' functions in Node.js: {"widget", "call", "arguments"} → result, in order."""
    return answers_of(RUNNER, FOLDER, requests, what="the script of an interactive figure")


def container_html(name: str, about: str = "", *, still: bool = False) -> str:
    """Return the place of a figure as HTML: empty, or with its first state as a still picture."""
    picture = ""
    if still:
        request = {"widget": name, "call": "picture", "arguments": []}
        picture = f'<div class="panels">{run_widgets([request])[0]}</div>'
    text = f'<div class="about" hidden>{about}</div>' if about else ""
    return f'<div class="interactive" data-widget="{name}">{text}{picture}</div>'


class interactive(nodes.General, nodes.Element):  # noqa: N801 - as docutils does
    """The place of an interactive figure; its children say what to do with it."""


class Interactive(SphinxDirective):
    """The directive `interactive`."""

    required_arguments = 1
    has_content = True
    option_spec: ClassVar[dict[str, Any]] = {"fallback": directives.unchanged_required}

    def run(self) -> list[nodes.Node]:
        """Make the place, or say which figures there are."""
        name = self.arguments[0]
        if name not in widget_names():
            raise self.error(
                f"there is no interactive figure {name!r}; there are {', '.join(widget_names())}"
            )
        place = interactive(widget=name, fallback=self.options.get("fallback"))
        self.set_source_info(place)
        self.state.nested_parse(self.content, self.content_offset, place)
        return [place]


class FallbackFigures(SphinxPostTransform):
    """See that the figure named as fallback stands on the page."""

    default_priority = 100

    def run(self, **_: Any) -> None:
        """Warn, which stops a strict build."""
        labels = {name for node in self.document.findall(nodes.Element) for name in node["names"]}
        labels |= {name for node in self.document.findall(nodes.Element) for name in node["ids"]}
        for place in self.document.findall(interactive):
            fallback = place["fallback"]
            if fallback and fallback not in labels:
                logger.warning(
                    "%s: the interactive figure %s names the fallback %s, "
                    "and the page has no figure of that name",
                    place_of(place, self.app.srcdir),
                    place["widget"],
                    fallback,
                    type="interactive",
                )


def visit_interactive(translator: Any, node: interactive) -> None:
    """Remember where the text of the place starts."""
    node["start"] = len(translator.body)


def depart_interactive(translator: Any, node: interactive) -> None:
    """Put the text into the place."""
    about = "".join(translator.body[node["start"] :])
    del translator.body[node["start"] :]
    translator.body.append(container_html(node["widget"], about, still=not node["fallback"]))


def leave_scripts_out(_app: Sphinx, config: Config) -> None:
    """Jupyter Book links every script under _static into every page; these are for some pages."""
    config.html_js_files = [
        name for name in config.html_js_files if not str(name).startswith("widgets/")
    ]


def setup(app: Sphinx) -> None:
    """Register the directive."""
    app.add_node(interactive, html=(visit_interactive, depart_interactive))
    app.add_directive("interactive", Interactive)
    app.add_post_transform(FallbackFigures)
    app.connect("config-inited", leave_scripts_out)
    link_script(app, "widgets/shared.js", where=interactive)
