"""The role `value`: the page shows the printed number, the tests evaluate its expression."""

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxRole

from bookformat.values import ValueSyntaxError, parse_value


class ValueRole(SphinxRole):
    """{value}`0.30 = scores.std()` shows 0.30."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        """Show what is before the sign; a value without an expression is an error."""
        try:
            printed = parse_value(self.text).printed
        except ValueSyntaxError as problem:
            message = self.inliner.reporter.error(f"value: {problem}", line=self.lineno)
            return [self.inliner.problematic(self.rawtext, self.rawtext, message)], [message]
        return [nodes.inline("", printed, classes=["value"])], []


def setup(app: Sphinx) -> None:
    """Register the role."""
    app.add_role("value", ValueRole())
