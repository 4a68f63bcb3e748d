"""The text of the reference: every name, its signature, its docstring, its examples fenced."""

import re

from bookcheck.site import api
from bookcheck.site.library import library


def test_the_page_holds_every_entry_and_a_link_to_it():
    text = api.reference_markdown()
    for entry in library().entries():
        assert f"<{entry.full_name}>`" in text
        assert re.search(rf"^`````{{py:\w+}} {entry.name}\b", text, re.MULTILINE), entry.name
    outside_fences = re.sub(r"```pycon\n.*?\n```", "", text, flags=re.DOTALL)
    assert not re.search(r"^>>>", outside_fences, re.MULTILINE)


def test_examples_are_fenced():
    text = "Adds.\n\n>>> 1 + 1\n2\n\nMore.\n\n>>> 3\n3"
    fenced = api.docstring_as_markdown(text)
    assert fenced.count("```pycon") == 2
    assert fenced.count("```") == 4
    assert fenced.index("2\n```") < fenced.index("More.")


def test_the_source_of_a_module_is_found_without_importing_it():
    text, tags = api.source_of(None, "attention_to_rope.rope")
    kind, first, _ = tags["rotate"]
    assert kind == "def"
    assert text.splitlines()[first - 1].startswith("def rotate(")
    assert api.source_of(None, "json") is None


def test_an_exported_name_leads_to_the_module_that_defines_it():
    assert api.defining_module(None, "attention_to_rope", "rotate") == "attention_to_rope.rope"
    method = "KeyValueCache.append"
    module = "attention_to_rope.key_value_cache"
    assert api.defining_module(None, "attention_to_rope", method) == module
