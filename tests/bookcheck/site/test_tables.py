"""Columns of numbers in tables of outputs."""

from bookcheck.site.tables import mark_numbers


def test_columns_of_numbers_are_marked_and_signs_and_indices_are_true():
    table = (
        '<table class="book-table"><thead><tr><td></td><th scope="col">d_k</th></tr></thead>'
        '<tbody><tr><th scope="row">1-a</th><td>-0.71</td></tr>'
        '<tr><th scope="row">b</th><td>1e-07</td></tr>'
        '<tr><th scope="row">c</th><td>–</td></tr></tbody></table>'
    )
    marked = mark_numbers(table)
    assert '<th scope="col" class="number"><i>d</i><sub>k</sub></th>' in marked
    assert '<th scope="row">1-a</th><td class="number">−0.71</td>' in marked
    assert '<td class="number">1e-07</td>' in marked
    assert '<td class="number">–</td>' in marked
