"""A folded box under each chapter's title: how to run it, here or on somebody else's machine."""

from html import escape
from pathlib import PurePosixPath
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

BINDER = "https://mybinder.org/v2/gh"
COLAB = "https://colab.research.google.com/github"


def launch_addresses(repository: str, branch: str, notebook: str) -> dict[str, str]:
    """Return where Binder and Colab open a notebook of a GitHub repository."""
    owner_and_name = repository.removeprefix("https://github.com/").strip("/")
    return {
        "Binder": f"{BINDER}/{owner_and_name}/{branch}?urlpath=lab/tree/{notebook}",
        "Colab": f"{COLAB}/{owner_and_name}/blob/{branch}/{notebook}",
    }


def _code(text: str) -> str:
    # The classes of a code block, for its look and its copy button.
    block = f'<div class="highlight"><pre>{escape(text)}</pre></div>'
    return f'<div class="highlight-text notranslate">{block}</div>'


def running_box(notebook: str, download: str, repository: str, branch: str) -> str:
    """Return the box's HTML; without the repository's address, only what works without it."""
    steps = [
        f'<li><a href="{escape(download)}" download>Download the notebook</a>, '
        "with the outputs you see here.</li>"
    ]
    local = "make lab"
    if repository:
        library = f'pip install "attention-to-rope[pages] @ git+{repository}@{branch}"'
        steps[0] = steps[0].replace(
            "</li>", f" It needs the book's library and nothing else:{_code(library)}</li>"
        )
        folder = PurePosixPath(repository).name
        local = f"git clone {repository}\ncd {folder}\nmake lab"
    steps.append(
        f"<li>On your machine, with Python 3.11 or newer, make and git:{_code(local)}</li>"
    )
    if repository.startswith("https://github.com/"):
        addresses = launch_addresses(repository, branch, notebook)
        install = f"%{library}"
        steps += [
            f'<li><a href="{escape(addresses["Binder"])}">Open it on Binder</a>. '
            "Everything is installed; the first start takes some minutes.</li>",
            f'<li><a href="{escape(addresses["Colab"])}">Open it on Colab</a>. '
            "Colab lacks the book's library: add a cell at the top and run it first."
            f"{_code(install)}</li>",
        ]
    return (
        '<details class="admonition running"><summary class="admonition-title">Run this chapter'
        f"</summary><ul>{''.join(steps)}</ul></details>"
    )


def add_box(
    app: Sphinx,
    pagename: str,
    _template: str,
    context: dict[str, Any],
    doctree: nodes.document | None,
) -> None:
    """Put the box under the title of pages that are notebooks."""
    path = PurePosixPath(str(app.env.doc2path(pagename, base=False)))
    if doctree is None or path.suffix != ".ipynb":
        return
    options = app.config.html_theme_options
    download = f"{context['pathto']('_sources', 1)}/{path}"
    box = running_box(
        str(path),
        download,
        options.get("repository_url", "").rstrip("/"),
        options.get("repository_branch", "main"),
    )
    title_ends = "</h1>"
    before, end, after = context["body"].partition(title_ends)
    context["body"] = before + end + box + after


def setup(app: Sphinx) -> None:
    """Connect the box."""
    app.connect("html-page-context", add_box)
