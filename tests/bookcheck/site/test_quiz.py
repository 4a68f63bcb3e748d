"""Understanding checks: how they are written, that their numbers are right, how they answer."""

import math
import re

import pytest
import torch

import attention_to_rope
from bookcheck.gates.controls import move_controls
from bookcheck.notebooks.files import chapter_notebooks, main_line, page_name, read
from bookcheck.site.quiz import QuizError, parse_quiz, problems, quizzes_in
from bookcheck.site.widgets import FOLDER
from bookkit.randomness import normal

SCRIPT = FOLDER / "quiz.js"


@pytest.fixture(scope="module")
def names():
    """What a check may use: the library, torch, math."""
    library = {name: getattr(attention_to_rope, name) for name in attention_to_rope.__all__}
    return {**library, "math": math, "normal": normal, "torch": torch}


@pytest.fixture(autouse=True)
def in_double_precision():
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(before)


def test_a_quiz_is_read(quiz_text):
    choice, number = parse_quiz(quiz_text)
    assert choice.text == "Which divisor keeps $p$ the same?"
    assert [answer.right for answer in choice.answers] == [False, True]
    assert choice.answers[1].feedback == "The scores then have variance 1."
    assert not choice.wants_number
    assert number.wants_number
    assert (number.answers[0].number, number.answers[0].tolerance) == (4.0, 0.005)
    assert choice.identifier != number.identifier


@pytest.mark.parametrize(
    ("question", "answer", "accepted"),
    [
        ("How many?", "8", 0.0),
        ("How many? Give the nearest whole number.", "8", 0.5),
        ("How long?", "0.5", 0.05),
        ("How long? Two decimals.", "−0.25", 0.005),
    ],
)
def test_what_is_accepted_follows_from_what_is_printed(question, answer, accepted):
    (asked,) = parse_quiz(f"{question}\n\n- [=] {answer} {{check}}`8`\n  > So.\n")
    assert asked.accepted == pytest.approx(accepted, abs=1e-12)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("- [x] Yes\n  > It is.\n", "before any question"),
        ("Is it?\n", "no answers"),
        ("Is it?\n\n- [x] Yes\n- [ ] No\n  > It is.\n", "no line '  > why'"),
        ("Is it?\n\n- [ ] Yes\n  > No.\n- [ ] No\n  > No.\n", "got 0"),
        ("Is it?\n\n- [x] Yes\n  > No.\n", "two choices"),
        ("How many?\n\n- [=] 4\n  > Count.\n", "add {check}"),
        ("How many?\n\n- [=] many {check}`4`\n  > Count.\n", "needs a number, got 'many'"),
        ("How many?\n\n- [=] 4 {check}`4`\n  > a\n- [ ] 3\n  > b\n", "has one answer"),
    ],
)
def test_a_faulty_quiz_is_named(text, message):
    with pytest.raises(QuizError, match=re.escape(message)):
        parse_quiz(text)


def test_a_right_quiz_has_no_problem(names, quiz_text):
    assert list(problems(quiz_text, names)) == []


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("4.00", "4.01"),
        ("1.0, 2.0", "1.0, 2.01"),
        ("- [ ] $d_k$", "- [ ] $d_k$ {check}`1 < 2`"),
        ("- [ ] $d_k$", "- [ ] 7 {check}`3 + 4`"),
        ("\\sqrt{d_k}$", "\\sqrt{d_k}$ {check}`1 > 2`"),
        ("\\sqrt{d_k}$", "\\sqrt{d_k}$ {check}`1 + 2`"),
        ("\\sqrt{d_k}$", "\\sqrt{d_k}$ {check}`no_such_name`"),
    ],
)
def test_a_wrong_answer_is_caught(names, quiz_text, right, wrong):
    assert right in quiz_text
    assert len(list(problems(quiz_text.replace(right, wrong), names))) == 1


@pytest.mark.parametrize("path", chapter_notebooks(), ids=page_name)
def test_the_answers_of_the_chapters_are_right(names, path):
    cells = [cell.source for cell in read(path).cells if cell.cell_type == "markdown"]
    quizzes = [quiz for source in cells for quiz in quizzes_in(source)]
    assert sum("{quiz}" in source for source in cells) == len(quizzes), "a quiz is not closed"
    if path in main_line() and path.stem != "00-short-road":
        assert len(quizzes) == 1, "each chapter has one quiz"
    assert len(quizzes) <= 1, "a page has at most one quiz"
    for text in quizzes:
        assert 3 <= len(parse_quiz(text)) <= 5
        assert list(problems(text, names)) == []


def test_the_page_has_native_controls_and_no_check(good_site):
    page = (good_site / "chapters" / "quiz.html").read_text(encoding="utf-8")
    assert page.count("<legend>") == 2
    assert page.count('type="radio"') == 2
    assert page.count('class="choice" data-right') == 1
    assert 'data-answer="4.0" data-tolerance="0.005" data-decimals="2"' in page
    assert "torch.tensor" not in page
    assert re.search(r'<legend><span>Which divisor keeps <span class="math', page)
    assert re.search(r'<script defer="defer" src="../_static/widgets/quiz.js', page)
    assert "quiz.js" not in (good_site / "index.html").read_text(encoding="utf-8")


def test_a_faulty_quiz_stops_the_build(faulty_build):
    assert faulty_build.status != 0
    assert "'Is it?': needs two choices or more" in faulty_build.words


CHECK = ["press", "form:has(input[type=radio]) input:checked", "Enter"]


@pytest.mark.browser
def test_answers_are_judged_kept_and_forgotten(good_site):
    read = ".verdict, .progress-line span"
    field = ".quiz input[type=text]"
    steps = [
        {"act": [["click", ".quiz form:first-of-type button"]], "read": read},
        {"act": [["check", ".quiz input[value='0']"], CHECK], "read": read},
        {"act": [["press", ".quiz input[value='0']", "ArrowDown"], CHECK], "read": read},
        {"act": [["fill", field, "4,1"], ["press", field, "Enter"]], "read": read},
        {"act": [["fill", field, "4"], ["press", field, "Enter"]], "read": read},
        {"act": [["reload"]], "read": read},
        {"act": [["click", ".progress-line button"]], "read": read},
        {"act": [["reload"]], "read": read},
    ]
    seen = move_controls(good_site / "chapters" / "quiz.html", steps)
    assert seen["errors"] == []
    right = "Right. The scores then have variance 1."
    assert seen["steps"] == [
        ["Choose an answer first.", "", "0 of 2 right."],
        ["Not yet. All weights become equal.", "", "0 of 2 right."],
        [right, "", "1 of 2 right."],
        [right, "Not yet. Close: give two decimals.", "1 of 2 right."],
        [right, "Right. Two plus two.", "2 of 2 right."],
        [right, "Right. Two plus two.", "2 of 2 right."],
        ["", "", "0 of 2 right."],
        ["", "", "0 of 2 right."],
    ]


FORM = (
    '<form data-question="x" data-answer="{answer}" data-tolerance="{accepted}" '
    'data-decimals="{decimals}"><input type="text"><div class="verdict"></div>'
    "<details><p><span>So.</span></p></details><button>Check</button></form>"
)
PAGE = (
    '<!doctype html><html lang="en"><meta charset="utf-8"><link rel="icon" href="data:,">'
    '<div class="quiz" data-page="{number}">{form}<p class="progress-line"><span></span>'
    "<button type=button>Forget</button></p></div>{script}</html>"
)


def verdicts(folder, answer, typed, *, nearest=False, spoil=("", "")):
    """What the script says to each typed text, where one number is asked for."""
    question = f"How many?{' The nearest whole number.' if nearest else ''}"
    (asked,) = parse_quiz(f"{question}\n\n- [=] {answer} {{check}}`8`\n  > So.\n")
    right = asked.answers[0]
    source = SCRIPT.read_text(encoding="utf-8")
    assert spoil[0] in source
    (folder / "quiz.js").write_text(source.replace(*spoil), encoding="utf-8")
    form = FORM.format(answer=right.number, accepted=asked.accepted, decimals=right.decimals)
    page = folder / "page.html"
    script = '<script src="quiz.js"></script>'
    page.write_text(PAGE.format(number=answer, form=form, script=script), encoding="utf-8")
    steps = [
        {"act": [["fill", "input", text], ["press", "input", "Enter"]], "read": ".verdict"}
        for text in typed
    ]
    seen = move_controls(page, steps)
    assert seen["errors"] == []
    return {text: said for text, (said,) in zip(typed, seen["steps"], strict=True)}


RIGHT = "Right. So."
WRITTEN = {
    "0.25": ["0.25", "1/4", "0,25", ".25", "２５/１００", "０．２５", "¼", "2.5e-1", "25·10⁻²",
             "2.5*10^-1", "0,250"],
    "−0.16": ["-0.16", "−0,16", "–0.16", "－０，１６", "-4/25", "−1.6e-1"],
    "4,096,000": ["4096000", "4,096,000", "4 096 000", "4.096.000", "4'096'000", "4.096e6"],
    "1.63": ["1.63", "1,63", "1.6349", "163/100"],
}  # fmt: skip


@pytest.mark.browser
@pytest.mark.parametrize("answer", WRITTEN)
def test_a_number_may_be_written_in_many_ways(tmp_path, answer):
    said = verdicts(tmp_path, answer, WRITTEN[answer])
    assert said == dict.fromkeys(WRITTEN[answer], RIGHT)


MISSES = {
    "−0.25": {
        "0.25": "Not yet. Right size, wrong sign.",
        "-2.5": "Not yet. Off by a factor of ten.",
        "-0.0025": "Not yet. Off by a factor of 100.",
        "-0.26": "Not yet. Close: give two decimals.",
        "0.4": "Not yet. Look at the sign, then at the size.",
        "-0.5": "Not yet. Too large.",
        "-0.1": "Not yet. Too small.",
        "a quarter": "Write one number, such as 0.25 or 1/4.",
        "1/0": "Write one number, such as 0.25 or 1/4.",
        "1,2,3": "Write one number, such as 0.25 or 1/4.",
        " ": "Write a number first.",
    },
    "8": {"7.6": "Not yet. Close: give a whole number.", "8.0": RIGHT, "16": "Not yet. Too large."},
}


@pytest.mark.browser
@pytest.mark.parametrize("answer", MISSES)
def test_a_miss_tells_sign_from_size_from_rounding(tmp_path, answer):
    assert verdicts(tmp_path, answer, list(MISSES[answer])) == MISSES[answer]


@pytest.mark.browser
def test_the_nearest_whole_number_is_accepted_where_it_is_asked_for(tmp_path):
    assert verdicts(tmp_path, "6283", ["6283.19"], nearest=True) == {"6283.19": RIGHT}


@pytest.mark.browser
def test_without_javascript_a_choice_explains_itself(good_site):
    act = [["check", ".quiz input[value='0']"]]
    seen = move_controls(
        good_site / "chapters" / "quiz.html",
        [
            {"act": act, "read": ".choice"},
            {"act": [["click", ".quiz summary"]], "read": "details p"},
        ],
        javascript=False,
    )
    assert "All weights become equal." in seen["steps"][0][0]
    assert "variance 1" not in seen["steps"][0][1]
    assert "4.00 Two plus two." in seen["steps"][1]
    assert "Your number" not in seen["text"]
    assert "Forget" not in seen["text"]
