"""Links from other pages to a name that is written above a heading, `(old-name)=`.

MyST finds the sections of another page by the words of their headings alone. A heading that was
changed keeps its old name on the line above it, and this makes links to that name hold.
"""

from docutils import nodes
from sphinx.application import Sphinx


def add_given_names(app: Sphinx, document: nodes.document) -> None:
    """Put the given names of sections beside the names that MyST makes from their headings."""
    sections = app.env.metadata[app.env.docname].setdefault("myst_slugs", {})
    for section in document.findall(nodes.section):
        title = section.next_node(nodes.title)
        for name in section["names"]:
            anchor = document.nameids.get(name)
            if document.nametypes.get(name) and anchor and title is not None:
                sections.setdefault(name, (section.line or 0, anchor, title.astext()))


def setup(app: Sphinx) -> None:
    """Connect the function."""
    app.connect("doctree-read", add_given_names)
