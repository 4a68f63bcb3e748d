"""Tables: rounded numbers, whole numbers and words as they are, names where they belong."""

import pytest
import torch

from bookkit.tables import show_table


@pytest.fixture
def shown(monkeypatch):
    seen = []
    # With raw=False IPython would show the dictionary itself.
    monkeypatch.setattr("bookkit.tables.display", lambda data, raw: seen.append(raw and data))
    return seen


def test_numbers_are_rounded_and_whole_numbers_are_not(shown):
    show_table([[1, 0.12345, "word", True, -0.0001]], columns=list("abcde"))
    assert shown[0]["text/plain"].splitlines()[1].split() == ["1", "0.123", "word", "True", "0.000"]


def test_tensors_and_rows_of_tensors(shown):
    show_table(torch.eye(2), columns=["a", "b"], rows=["x", "y"], digits=1, corner="token")
    show_table([torch.tensor([1.0, 0.0]), [torch.tensor(0.0), 1.0]], columns=["a", "b"], digits=1)
    assert shown[0]["text/plain"] == "token    a    b\n    x  1.0  0.0\n    y  0.0  1.0"
    assert shown[1]["text/plain"] == "  a    b\n1.0  0.0\n0.0  1.0"


def test_headings_are_headings_for_a_screen_reader(shown):
    show_table([[1.0]], columns=["a < b"], rows=["row"])
    page = shown[0]["text/html"]
    assert '<th scope="col">a &lt; b</th>' in page
    assert '<th scope="row">row</th>' in page
    assert "<td></td>" in page


def test_only_a_sortable_table_says_so(shown):
    show_table([[1.0]], columns=["a"])
    show_table([[1.0]], columns=["a"], sortable=True)
    assert '<table class="book-table">' in shown[0]["text/html"]
    assert '<table class="book-table sortable">' in shown[1]["text/html"]


def test_rows_that_do_not_fit_are_named(shown):
    with pytest.raises(ValueError, match=r"row 1 has 1 values for 2 columns \['a', 'b'\]"):
        show_table([[1, 2], [3]], columns=["a", "b"])
    with pytest.raises(ValueError, match="1 row names for 2 rows"):
        show_table([[1], [2]], columns=["a"], rows=["x"])
    assert shown == []
