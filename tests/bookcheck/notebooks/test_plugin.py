"""A chapter that drifted turns the run red, and the message names file, cell and what to do."""

import io
import json
import re
from collections import Counter
from contextlib import redirect_stdout

import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from bookformat.notebooks import stored_form
from bookformat.paths import ROOT

pytestmark = pytest.mark.long

FIGURE = """from bookkit.figures import figure, show
drawing, axes = figure(2, 2)
axes.plot([0, 1], [0, 1])
show(drawing, alt="a straight line that rises")"""
TABLE = """from bookkit.tables import show_table
show_table([[1, 0.25]], columns=["tokens", "weight"])"""
CELLS = [FIGURE, TABLE, "print('the score is', 0.125)", "40 + 2", "x = 3", "print('a word')"]
DRIFTS = {
    "a straight line that rises": "a straight line that falls",
    "0.250": "0.260",
    "0.125\\n": "0.135\\n",
    '"42"': '"43"',
    "a word\\n": "a wold\\n",
}
QUOTED = '{value}`13 = reported("RULER", "tasks")`'
RIGHT = "It is {value}`0.333 = x / 9`, {value}`3.00 = __import__('numpy').float32(3)` or " + QUOTED
WRONG = "It is {value}`0.334 = x / 9`, {value}`1 = no_such_name` or " + QUOTED.replace("13", "31")
# An average holds on every processor; two products are the same only if they are rounded alike.
FRAGILE = [
    "import numpy as np\nimport torch\nfrom bookkit.randomness import normal\n"
    "x = normal(40, 40, seed=0)\nn = x.numpy()",
    "print(bool((x @ x).mean().abs() < 1))",
    "print(torch.equal(x @ x, x @ x))",
    "print((n @ n == n @ n).all(), (np.exp(n) == np.exp(n)).all())",
    "assert torch.equal(x @ x, x @ x)\nprint('equal')",
    "y = [0.1] * 33\nprint(len({sum(y) for _ in range(20)}), sum([1, 2]), sum([0.5] * 4))",
]
INTEGERS = "import attention_to_rope as book, torch\nbook.silu(torch.ones(2).int());"


def notebook_of(*cells):
    return stored_form(new_notebook(cells=[*map(new_code_cell, cells)]))


@pytest.fixture(scope="module")
def chapter(tmp_path_factory):
    folder = tmp_path_factory.mktemp("book")
    counts, said = run(folder, "--store", chapter=notebook_of(*CELLS))
    assert counts == {("chapter", "PASSED"): 6}, said
    return folder / "chapter.ipynb"


def drifted(path):
    """Stored outputs that the cells do not give: one other in each, and one where there is none."""
    notebook = json.loads(path.read_text(encoding="utf-8"))
    for cell in notebook["cells"]:
        stored = json.dumps(cell["outputs"])
        for old, new in DRIFTS.items():
            stored = stored.replace(old, new)
        cell["outputs"] = json.loads(stored)
    notebook["cells"][4]["outputs"] = notebook["cells"][5]["outputs"]
    # Tags and comments of nbval that would leave a cell's output out of the comparison.
    notebook["cells"][2]["metadata"]["tags"] = ["nbval-skip"]
    notebook["cells"][5]["source"] = ["# NBVAL_IGNORE_OUTPUT\n", *notebook["cells"][5]["source"]]
    return json.dumps(notebook)


def with_prose(path, *sources, caption):
    """Put Markdown cells after the code of a stored notebook, and a caption on its figure."""
    notebook = json.loads(path.read_text(encoding="utf-8"))
    notebook["cells"] += [new_markdown_cell(source) for source in sources]
    notebook["cells"][0]["metadata"] = {"mystnb": {"figure": {"caption": caption}}}
    return json.dumps(notebook)


def run(folder, *options, **texts):
    """Run notebooks as `make test` does: how many tests of each passed, and the report."""
    for name, text in texts.items():
        (folder / f"{name}.ipynb").write_text(text, encoding="utf-8")
    settings = ["-c", str(ROOT / "pyproject.toml"), "--rootdir", str(folder), "-n", "0", "-v"]
    settings += ["-p", "no:cacheprovider", *options]
    said = io.StringIO()
    with redirect_stdout(said):
        pytest.main([*settings, *(str(folder / f"{name}.ipynb") for name in texts)])
    verdicts = re.findall(r"(\w+)\.ipynb::.* (PASSED|FAILED) ", said.getvalue(), re.MULTILINE)
    return Counter(verdicts), said.getvalue()


def test_every_planted_drift_and_wrong_value_is_caught(chapter, tmp_path):
    counts, said = run(
        tmp_path,
        drifted=drifted(chapter),
        right=with_prose(chapter, RIGHT, caption="{value}`2 = len(axes.lines) + 1`"),
        wrong=with_prose(chapter, RIGHT, WRONG, caption="{value}`3 = len(axes.lines) + 1`"),
    )
    assert counts == {
        ("drifted", "FAILED"): 6,
        ("right", "PASSED"): 8,
        ("wrong", "PASSED"): 6,
        ("wrong", "FAILED"): 2,
    }, said
    for message in (
        "drifted.ipynb::Cell 1",
        "a straight line that falls",
        "0.260 is stored, the cell now gives 0.250",
        "0.135 is stored, the cell now gives 0.125",
        "43 is stored, the cell now gives 42",
        "'a wold' is stored, the cell now gives 'a word'",
        "stdout is stored, the cell now gives no output",
        "If the new output is right, store it: make notebooks NB=",
        "wrong.ipynb, values of cell [1]:\n{value}`3 = len(axes.lines) + 1` prints '3'",
        "wrong.ipynb, values of text below cell [6]:\n{value}`0.334 = x / 9` prints '0.334', "
        "but the expression gives 0.3333333333333333; print that, rounded",
        '{value}`1 = no_such_name` fails: RuntimeError("NameError',
        """{value}`31 = reported("RULER", "tasks")` prints '31', but the expression gives 13""",
    ):
        assert message in said


def test_a_kernel_starts_with_what_most_pages_import(tmp_path):
    modules = "'torch', 'attention_to_rope', 'bookkit.randomness', 'bookkit.trained'"
    cell = f"import sys\nassert [name for name in ({modules}) if name not in sys.modules] == []"
    counts, said = run(tmp_path, page=notebook_of(cell))
    assert counts == {("page", "PASSED"): 1}, said


def test_a_slow_notebook_is_left_out_unless_it_is_asked_for(tmp_path):
    for name in ("slow", "other"):
        (tmp_path / f"{name}.ipynb").write_text(notebook_of("x = 1"), encoding="utf-8")
    setting = f"slow_notebooks={tmp_path / 'slow.ipynb'}"

    def selected(place, *options):
        _, said = run(tmp_path, "--collect-only", "-qq", "-o", setting, *options, str(place))
        return re.findall(r"(\w+)\.ipynb::", said)

    assert selected(tmp_path) == ["other"]
    assert selected(tmp_path / "slow.ipynb") == ["slow"]
    for option in ("--store", "--noise=1", "-m not browser"):
        assert selected(tmp_path, option) == ["other", "slow"]


def test_the_opening_tells_of_the_code_that_follows_and_the_answer_of_all_of_it(tmp_path):
    box = (
        ":::{{answer}}\n:needs: nothing\n\nIt is {{value}}`{} = x`.\n:::\n\nHere {{value}}`{} = x`."
    )
    code = [new_code_cell(f"x = {number}") for number in (5, 6, 7)]
    texts = {}
    for name, numbers in {"right": (7, 6), "wrong": (6, 7)}.items():
        first = new_markdown_cell(box.format(*numbers))
        cells = [first, *code[:2], new_markdown_cell("Of {value}`6 = x`."), code[2]]
        texts[name] = stored_form(new_notebook(cells=cells))
    counts, said = run(tmp_path, **texts)
    assert counts == {
        ("right", "PASSED"): 6,
        ("wrong", "PASSED"): 4,
        ("wrong", "FAILED"): 2,
    }, said
    assert "values of text above cell [1]:\n{value}`7 = x` prints '7', but the expression" in said
    assert "values of the answer:\n{value}`6 = x` prints '6', but the expression gives 7" in said


def test_only_what_rests_on_rounding_changes_with_noise(tmp_path):
    run(tmp_path, "--store", exact=notebook_of(*FRAGILE))
    value = "{value}`1 = int(torch.equal(x @ x, x @ x))`"
    noisy = with_prose(tmp_path / "exact.ipynb", value, caption="")
    counts, said = run(tmp_path, "--noise=1", noisy=noisy)
    assert counts == {("noisy", "PASSED"): 2, ("noisy", "FAILED"): 5}
    assert "'True' is stored, the cell now gives 'False'" in said
    assert "'True True' is stored, the cell now gives 'False False'" in said
    assert "1 is stored, the cell now gives 2" in said  # and the sums of whole numbers stay
    assert "If it holds without --noise, it rests on rounding" in said
    assert "AssertionError" in said
    assert "{value}`1 = int(torch.equal(x @ x, x @ x))` prints '1'" in said


def test_what_follows_from_a_cell_that_fails_is_skipped(tmp_path):
    cells = ["1 / 0\nx = 3", "y = x", "z = 2", "no_list = 2; no_list[0]"]
    notebook = new_notebook(cells=[*map(new_code_cell, cells)])
    notebook.cells += [new_markdown_cell("It is {value}`6 = y * 2` and {value}`5 = z`.")]
    notebook.cells += [new_code_cell("w = 1"), new_markdown_cell("It is {value}`6 = y * 2`.")]
    for count, cell in enumerate(notebook.cells):
        cell.execution_count = count + 1
    counts, said = run(tmp_path, "-rs", broken=stored_form(notebook))
    assert counts == {("broken", "FAILED"): 3, ("broken", "PASSED"): 2}
    reasons = re.findall(r"^SKIPPED .*: (.*)$", said, re.MULTILINE)
    assert reasons == ["cell [1] did not run to its end"] * 2
    assert "ZeroDivisionError" in said
    assert "'int' object is not subscriptable" in said
    assert "{value}`5 = z` prints '5', but the expression gives 2" in said
    assert "NameError" not in said


def test_only_outputs_that_differ_are_stored_anew(chapter, tmp_path):
    near = chapter.read_text(encoding="utf-8").replace("0.125\\n", "0.1250000001\\n")
    counts, _ = run(tmp_path, "--store", drifted=drifted(chapter), near=near)
    assert counts == {("drifted", "PASSED"): 6, ("near", "PASSED"): 6}
    assert (tmp_path / "near.ipynb").read_text(encoding="utf-8") == near
    stored = json.loads((tmp_path / "drifted.ipynb").read_text(encoding="utf-8"))["cells"]
    fresh = json.loads(chapter.read_text(encoding="utf-8"))["cells"]
    assert [cell["outputs"] for cell in stored] == [cell["outputs"] for cell in fresh]


def test_a_failing_cell_leaves_the_file_as_it_was(tmp_path):
    unchecked = new_code_cell(INTEGERS, metadata={"bookcheck": {"unchecked": "it shall run"}})
    text = stored_form(new_notebook(cells=[unchecked, *map(new_code_cell, [INTEGERS, "1 / 0"])]))
    counts, said = run(tmp_path, "--store", broken=text)
    assert counts == {("broken", "PASSED"): 1, ("broken", "FAILED"): 2}
    assert "ZeroDivisionError" in said
    assert (tmp_path / "broken.ipynb").read_text(encoding="utf-8") == text
