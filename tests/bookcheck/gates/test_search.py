"""The search finds symbols by their names, words of the glossary, and names in code."""

import pytest

from bookcheck.gates.search import find


def test_a_symbol_is_found_by_its_names(good_site):
    for results in find(good_site, ["theta_i", "theta", "θ", "d_k"]):
        best = results[0]
        assert best.page == "chapters/notation"
    assert find(good_site, ["theta"])[0][0].anchor == "#symbol-4"


def test_a_word_is_found_in_the_glossary(good_site):
    (results,) = find(good_site, ["head dimension"])
    assert results[0].anchor == "#term-head-dimension"


def test_what_is_not_there_is_not_found(good_site):
    assert find(good_site, ["zeppelin"]) == [[]]


def test_a_folder_without_an_index_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match="make book"):
        find(tmp_path, ["theta"])
