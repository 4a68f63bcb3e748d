"""A link in the header to the same page in the other language.

The English site has it where the variable BOOK_LANGUAGES names the folder of the other one
(`BOOK_LANGUAGES=zh make book`), because only then does that exist; the translated site always does.
"""

import os
from typing import Any

from sphinx.application import Sphinx

VARIABLE = "BOOK_LANGUAGES"
CODES = {"zh": "zh-CN"}
NAMES = {"en": "English", "zh": "中文"}


def offer_other_language(
    app: Sphinx, page: str, _template: str, context: dict[str, Any], _doctree: Any
) -> None:
    """Tell the templates the address of this page in the other language, if there is one."""
    up = "../" * page.count("/")
    english = (app.config.language or "en") == "en"
    other = os.environ.get(VARIABLE, "") if english else "en"
    if other:
        place = f"{up}{other}/" if english else f"{up}../"
        context["other_language"] = {
            "address": place + app.builder.get_target_uri(page),
            "code": CODES.get(other, other),
            "name": NAMES[other],
        }


def setup(app: Sphinx) -> None:
    """Connect it."""
    app.connect("html-page-context", offer_other_language)
