"""Links of pages lead to what exists, and a message names what is near where they do not."""

import json

from bookformat.links import broken_links

OPENING = "# Index\n\n[one](chapters/01-x.ipynb#a-line-and-code)\n"
GLOSSARY = """# Glossary

:::{glossary}
:sorted:

head
  One of several. See [there](01-x.ipynb#a-line-and-code), [a table](#a-row) and {eq}`eq-a`.
:::

[S1]{#a-row}
"""
CHAPTER = r"""# A chapter

## A line, and `code`

{term}`Many heads <head>` {cite:p}`su2021` [back](glossary.md#glossary) [down](#again-1)

$$ a = 1 $$ (eq-a)

## Again

## Again
"""


def book(folder, **changes):
    """The broken links of a small book, with some words replaced by others."""
    texts = {"chapters/glossary.md": GLOSSARY, "chapters/01-x.ipynb": CHAPTER, "index.md": OPENING}
    (folder / "chapters").mkdir(parents=True)
    (folder / "chapters" / "references.bib").write_text("@article{su2021,\n}\n", encoding="utf-8")
    for name, text in texts.items():
        for old, new in changes.get("replaced", ()):
            text = text.replace(old, new)
        if name.endswith("ipynb"):
            cell = {"cell_type": "markdown", "metadata": {}, "source": [text]}
            text = json.dumps({"cells": [cell]})
        (folder / name).write_text(text, encoding="utf-8")
    return broken_links(folder / "chapters")


def test_all_links_of_the_book_lead_to_what_exists():
    found = broken_links()
    assert not found, "\n".join(found)


def test_a_small_book_has_no_broken_link(tmp_path):
    assert book(tmp_path) == []


def test_a_link_that_leads_nowhere_is_told_with_its_place_and_what_is_near(tmp_path):
    above = "chapters/01-x.ipynb, text above cell [1]: "
    for number, (old, new, told) in enumerate(
        [
            ("## A line, and", "## A straight line, and",
             "no section #a-line-and-code in 01-x.ipynb; there is a-straight-line-and-code"),
            ("](01-x.", "](01-y.", "no page 01-y.ipynb; there is 01-x.ipynb"),
            ("{#a-row}", "{#a-column}", "no section #a-row in glossary.md"),
            ("{eq}`eq-a`", "{eq}`eq-b`", "no equation 'eq-b'; there is eq-a"),
            ("<head>", "<heads>", f"{above}no term 'heads'; there is head"),
            ("`su2021`", "`su2021,su2024`", f"{above}no source 'su2024'; there is su2021"),
            ("#again-1", "#again-2", f"{above}no section #again-2 in 01-x.ipynb; there is again"),
        ]
    ):  # fmt: skip
        problems = book(tmp_path / str(number), replaced=[(old, new)])
        place = above if told.startswith(above) else "chapters/glossary.md: "
        expected = f"{place}{told.removeprefix(above)}"
        assert any(one.startswith(expected) for one in problems), problems


def test_every_name_of_an_entry_is_a_term(tmp_path):
    two_names = ("head\n  One", "head\nattention head\n  One")
    assert not book(tmp_path / "first", replaced=[two_names])
    second = ("<head>", "<attention head>")
    assert not book(tmp_path / "second", replaced=[two_names, second])
    assert book(tmp_path / "neither", replaced=[two_names, ("<head>", "<tail>")])
