"""Statements about released models, and where their sources are found."""

import pytest

from bookcheck.released import judged, known_rows, main, names_in, sources_in, statements

ROWS = known_rows()


@pytest.mark.parametrize(
    ("sentence", "names"),
    [
        ("Llama 3.1 8B and DeepSeek-V4-Flash keep less.", ("Llama 3.1 8B", "DeepSeek-V4-Flash")),
        ("Phi-3 has two lists, and so has `Phi-3-mini`.", ("Phi-3",)),
        ("Llama 3's rule is a ramp.", ()),
        ("The step $\\Phi(x)$ of T5's buckets.", ()),
        ('{value}`52 = read_model("Gemma 3-27B")` layers of Gemma 3.', ("Gemma 3",)),
    ],
)
def test_names_are_those_of_models_and_not_of_rules(sentence, names):
    assert names_in(sentence) == names


def test_sources_are_addresses_citations_rows_and_published_numbers():
    text = (
        "See [there](https://example.org/a) and {cite:p}`one,two`, "
        '{value}`3 = read_model("X-1B")["heads"]`, {value}`4 = reported("T", "n")`, '
        'and {value}`5 = len(models_that("rotate"))`; [here](other.ipynb) is none.'
    )
    assert sources_in(text) == (
        "https://example.org/a", "bibliography: one", "bibliography: two", "row of X-1B",
        "published: T", "counted in the table of models",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("sentence", "paragraph", "below", "place"),
    [
        ("BLOOM {cite:p}`a` has it.", "", "", "sentence"),
        ("BLOOM has it.", "BLOOM has it. So {cite:p}`a`.", "", "paragraph"),
        ("Gemma 3 has it.", "Gemma 3 has it.", "{cite:p}`a`", "row"),
        ("Gemma 3 and BLOOM have it.", "", "{cite:p}`a`", "section"),
        ("Gemma 9 has it.", "Gemma 9 has it.", "", "open"),
    ],
)
def test_the_nearest_source_counts(sentence, paragraph, below, place):
    found = judged("page", "Section", sentence, paragraph, below, names_in(sentence), ROWS)
    assert found.place == place
    assert bool(found.sources) == (place != "open")


def test_every_statement_about_a_released_model_has_a_source():
    found = list(statements())
    assert len(found) > 200
    assert [(one.page, one.text) for one in found if one.place == "open"] == []


def test_the_list_has_each_value_with_its_file(capsys):
    main([])
    text = capsys.readouterr().out
    assert "- Llama 3.1-8B, heads: Lightning-AI/litgpt:litgpt/config.py@2685705" in text
    assert "no source found" not in text
