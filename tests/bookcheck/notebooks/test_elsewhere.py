"""A cell that rests on the last bit is caught; one that holds, or says why it cannot, is not."""

import json

import pytest
from nbformat.v4 import new_code_cell, new_notebook

from bookcheck import warm
from bookcheck.notebooks.elsewhere import (
    Result,
    all_chapters,
    chosen,
    follow,
    imitated,
    main,
    read_report,
    run,
)
from bookcheck.notebooks.execute import execute
from bookcheck.notebooks.files import stored_form

pytestmark = pytest.mark.long

SETTING = """import torch
from bookkit.randomness import normal
x = normal(40, 40, seed=0)"""
# An average holds on every processor.
ROBUST = "print(round(float((x @ x).mean()), 6))"
# A sum of the bits does not.
FRAGILE = "print(int((x @ x).view(torch.int64).sum() % 1000003))"
WHOLE = "print((torch.eye(3) @ torch.ones(3, 3)).sum().item(), torch.zeros(2).exp().tolist())"


@pytest.fixture(scope="module")
def chapter(tmp_path_factory, forked_kernels):
    sources = (SETTING, ROBUST, FRAGILE, WHOLE, FRAGILE)
    cells = [new_code_cell(source) for source in sources]
    cells[4].metadata["bookcheck"] = {"elsewhere": "it adds up the bits themselves"}
    path = tmp_path_factory.mktemp("book") / "chapter.ipynb"
    path.write_text(stored_form(new_notebook(cells=cells)), encoding="utf-8")
    execute(path)
    return path


@pytest.fixture(scope="module")
def runs(chapter):
    """The chapter on two imitated processors, one in forks and one started the plain way.

    Beside the first, a chapter that leans on the book's own packages.
    """
    leaning = chapter.with_name("leaning.ipynb")
    sources = ["import torch, scipy, bookkit.figures, ipykernel"]
    sources += [f"import {package}" for package in ("bookcheck", "lark", "nbval")]
    cells = [new_code_cell(source) for source in sources]
    leaning.write_text(stored_form(new_notebook(cells=cells)), encoding="utf-8")
    first = run([chapter, leaning], 1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(warm.PLAIN_VARIABLE, "yes")
        return {1: first, 2: run([chapter], 2)}


def test_only_the_fragile_cell_is_caught_and_a_reason_lets_it_pass(
    chapter, runs, capsys, monkeypatch
):
    monkeypatch.setattr(
        "bookcheck.notebooks.elsewhere.run", lambda paths, salt, jobs: runs[salt][:1]
    )
    assert main(["--salts", "2", str(chapter)]) == 1
    first, second, count = capsys.readouterr().out.splitlines()
    for line in (first, second):
        assert "4 passed" in line
        assert "DIFFERS: Cell 2: output 1: the number" in line
        assert line.count("Cell") == 1
    assert first.split("gives")[1] != second.split("gives")[1]
    assert count == "0 of 2 runs hold"


@pytest.mark.skipif(not warm.possible(), reason="kernels are started the plain way here")
def test_a_chapter_that_leans_on_the_books_own_packages_is_caught(runs):
    _, leaning = runs[1]
    assert (leaning.passed, leaning.failed) == (1, ["Cell 1", "Cell 2", "Cell 3"])


def test_what_holds_is_said_and_is_no_failure(chapter, capsys, monkeypatch):
    holds = Result("chapter.ipynb", 1, 5, [], 2.4)
    monkeypatch.setattr("bookcheck.notebooks.elsewhere.run", lambda paths, salt, jobs: [holds])
    assert main(["--salts", "1", str(chapter)]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "chapter.ipynb (salt 1, 5 passed, 2 s) holds",
        "1 of 1 runs hold",
    ]


def test_a_record_names_versions_and_every_failure(tmp_path, monkeypatch):
    chapter = tmp_path / "chapter.ipynb"
    cells = [new_code_cell("x = 1"), new_code_cell("y = x")]  # the kernel need not import torch
    chapter.write_text(stored_form(new_notebook(cells=cells)), encoding="utf-8")
    tests = tmp_path / "tests"
    tests.mkdir()
    monkeypatch.setattr("bookcheck.notebooks.elsewhere.LIBRARY_TESTS", tests)
    (tests / "test_one.py").write_text(
        "def test_fine(): pass\ndef test_bad(): assert 0\n", encoding="utf-8"
    )
    file = tmp_path / "records" / "elsewhere.jsonl"
    assert main(["--record", str(file), "--jobs", "1", str(chapter)]) == 1
    (row,) = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    assert all(row[fact] for fact in ("date", "machine", "python", "torch", "numpy", "command"))
    assert row["results"]["chapter.ipynb"] == {"passed": 2, "failed": []}
    assert row["results"]["test_one.py"] == {"passed": 1, "failed": ["test_bad"]}


def test_chapters_are_found_by_number_and_unknown_ones_named():
    assert chosen([]) == all_chapters()
    assert all(path.name.startswith("01-") for path in chosen(["01"]))
    with pytest.raises(SystemExit, match="no chapter '99'"):
        chosen(["99"])


def test_what_pytest_cannot_run_is_an_error(tmp_path):
    with pytest.raises(RuntimeError, match="pytest could not run"):
        run([tmp_path / "missing.ipynb"])


def test_a_chapter_of_which_nothing_was_run_is_an_error(tmp_path):
    (tmp_path / "report.xml").write_text("<testsuites/>", encoding="utf-8")
    with pytest.raises(RuntimeError, match=r"no cell of .*one.ipynb was run"):
        read_report(tmp_path / "report.xml", [tmp_path / "one.ipynb"], 1)


def test_each_chapter_is_named_when_it_has_begun(capsys):
    words = [
        "[gw0] [ 9%] PASSED chapters/a.ipynb::Cell 0",
        "[gw0] [ 9%] FAILED chapters/a.ipynb::Cell 1",
    ]
    assert follow([*words, "[gw1] [ 9%] SKIPPED chapters/b.ipynb::Cell 0"], 3).startswith("[gw0]")
    assert capsys.readouterr().err == "[1/3] chapters/a ...\n[2/3] chapters/b ...\n"


def test_a_chapter_that_held_is_run_again_only_when_something_changed(tmp_path, monkeypatch):
    asked = []

    def told(paths, salt, jobs):
        asked.append([path.name for path in paths])
        return [
            Result(path.name, salt, 1, ["Cell 1"] * ("two" in path.name), 0.0) for path in paths
        ]

    monkeypatch.setattr("bookcheck.notebooks.elsewhere.run", told)
    monkeypatch.setattr("bookcheck.notebooks.elsewhere.page_name", lambda path: path.stem)
    chapters = [tmp_path / "one.ipynb", tmp_path / "two.ipynb"]
    for path in chapters:
        path.write_text("a", encoding="utf-8")
    for _ in range(2):  # what failed is run again
        imitated(chapters, 1, 1, tmp_path)
    imitated(chapters, 2, 1, tmp_path)
    chapters[0].write_text("b", encoding="utf-8")
    imitated(chapters, 1, 1, tmp_path)
    monkeypatch.setattr(
        "bookcheck.notebooks.elsewhere.machine", lambda: {"date": "", "python": "4"}
    )
    imitated(chapters, 1, 1, tmp_path)
    both = ["one.ipynb", "two.ipynb"]
    assert asked == [both, both[1:], both, both, both]
