"""The list of the relations of sentences: a reason stays at its place, an exchange is seen."""

from bookcheck.equations import places
from bookcheck.equations.places import EXECUTED, Row, list_anew, main, problems, rows_anew
from bookformat.formulas import InlineFormula, is_relation
from bookformat.myst import inline_of

TEXT = (
    "With $d = e$ the four matrices are square, and the score has one number. For $n \\le m$ the "
    "weight is positive, since its old first term has $U = 0$ and its new last term has $h = 0$."
)
SIZE = "the size of an example"


def formulas(text):
    return [
        InlineFormula(one.text, "01-x", "text below cell [3]", one.before, one.after)
        for one in inline_of(text)
        if is_relation(one.text)
    ]


ROWS = [
    Row("With … the four matrices are", "d = e", SIZE),
    Row("For … the weight is positive,", "n \\le m", EXECUTED),
    Row("old first term has … and its new last", "U = 0", EXECUTED),
    Row("new last term has … .", "h = 0", EXECUTED),
]


def test_a_page_is_as_it_is_listed():
    assert rows_anew(formulas(TEXT), ROWS) == ROWS
    assert problems("01-x", formulas(TEXT), ROWS) == []


def test_another_relation_at_a_place_is_told():
    (problem,) = problems("01-x", formulas(TEXT.replace("\\le", "\\ge")), ROWS)
    assert problem.startswith(
        "01-x: chapters/01-x, text below cell [3]: $n \\ge m$ at “For … the weight is positive,”, "
        "which was $n \\le m$ at “For … the weight is positive,”: correct it, or, if this is meant "
        "and true, python -m bookcheck.equations.places --list 01-x"
    )


def test_relations_that_are_exchanged_are_told():
    exchanged = TEXT.replace("$U = 0$", "$?$").replace("$h = 0$", "$U = 0$")
    found = problems("01-x", formulas(exchanged.replace("$?$", "$h = 0$")), ROWS)
    assert len(found) == 2
    assert "$h = 0$ at “old first term has … and its new last”, which was $U = 0$" in found[0]


def test_other_words_beside_a_relation_are_told():
    (problem,) = problems("01-x", formulas(TEXT.replace("is positive", "is negative")), ROWS)
    assert "“For … the weight is negative,”" in problem


def test_a_relation_that_is_gone_is_told():
    (problem,) = problems("01-x", formulas(TEXT.replace("$n \\le m$", "all")), ROWS)
    assert "no longer here: $n \\le m$ at “For … the weight is positive,”" in problem


def test_a_reason_moves_with_its_relation_alone():
    # Its words changed.
    moved = rows_anew(formulas(TEXT.replace("the four", "all four")), ROWS)
    assert moved[0] == Row("With … all four matrices are", "d = e", SIZE)
    # It became another relation, or stands a second time: that is executed.
    assert rows_anew(formulas(TEXT.replace("d = e", "d = g")), ROWS)[0].said == EXECUTED
    twice = rows_anew(formulas(f"{TEXT} Now $d = e$ too."), ROWS)
    assert [row.said for row in twice if row.text == "d = e"] == [SIZE, EXECUTED]
    # Two with changed words: which of them had the reason?
    both = rows_anew(formulas("Let $d = e$ first. Then $d = e$."), ROWS)
    assert [row.said for row in both] == [EXECUTED, EXECUTED]


def test_two_reasons_for_one_place_are_refused():
    text = formulas("So $a = 1$.\n\nSo $a = 1$.")
    rows = [Row("So … .", "a = 1", SIZE), Row("So … .", "a = 1", EXECUTED)]
    (problem,) = problems("01-x", text, rows)
    assert "['executed', 'the size of an example']" in problem


def test_the_list_is_written_anew(tmp_path, monkeypatch, capsys):
    table = tmp_path / "relations.tsv"
    table.write_text(
        "01-x\tWith … the four matrices are\td = e\ta case\nold\tSo … .\ta = 1\texecuted\n",
        encoding="utf-8",
    )
    rows = places.listed(table)
    monkeypatch.setattr(places, "TABLE", table)
    monkeypatch.setattr(places, "listed", lambda: rows)
    monkeypatch.setattr(places, "inline_relations", lambda: {"01-x": formulas(TEXT)})
    assert main(["01-x"]) == 1
    assert "$n \\le m$ at “For … the weight is positive,”: correct it" in capsys.readouterr().out
    assert list_anew(["01-x"])[0] == "01-x: $n \\le m$ at “For … the weight is positive,”: executed"
    lines = table.read_text(encoding="utf-8").splitlines()
    assert lines[0] == "01-x\tWith … the four matrices are\td = e\ta case"
    assert len(lines) == 4
