"""Understanding checks: how they are written, that their numbers are right, how they answer."""

import math
import re

import pytest
import torch

import attention_to_rope
from attention_to_rope import context_extension, fast
from bookformat.contents import main_line, page_name
from bookformat.notebooks import chapter_notebooks, read
from bookkit import book_model
from bookkit.randomness import normal
from booksite.quiz import QuizError, parse_quiz, problems, quizzes_in


@pytest.fixture(scope="module")
def names():
    """What a check may use: the library, the book's model, torch, math."""
    library = {**vars(context_extension), **vars(fast), **vars(attention_to_rope)}
    return {**library, "book_model": book_model, "math": math, "normal": normal, "torch": torch}


@pytest.fixture(autouse=True)
def in_double_precision():
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(before)


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
        ("How many?\n\n- [=] many {check}`4`\n  > Count.\n", "comes first"),
        ("How many?\n\n- [ ] 3 {check}`3`\n  > a\n- [=] 4 {check}`4`\n  > b\n", "comes first"),
        ("How many?\n\n- [=] 4 {check}`4`\n  > a\n- [ ] 3\n  > b\n", "the slip '3' must be"),
        (
            "How many?\n\n- [=] 4 {check}`4`\n  > a\n- [ ] few {check}`3`\n  > b\n",
            "must be a number",
        ),
        ("Say?\n\n- [=] 4.0 {check}`4`\n  > a\n- [ ] 4.01 {check}`4.01`\n  > b\n", "as right"),
    ],
)
def test_a_faulty_quiz_is_named(text, message):
    with pytest.raises(QuizError, match=re.escape(message)):
        parse_quiz(text)


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("4.00", "4.01"),
        ("5.00", "5.01"),
        ("1.0, 2.0", "1.0, 2.01"),
        ("- [ ] $d_k$", "- [ ] $d_k$ {check}`1 < 2`"),
        ("- [ ] $d_k$", "- [ ] 7 {check}`3 + 4`"),
        ("\\sqrt{d_k}$", "\\sqrt{d_k}$ {check}`1 > 2`"),
        ("\\sqrt{d_k}$", "\\sqrt{d_k}$ {check}`no_such_name`"),
    ],
)
def test_a_wrong_answer_is_caught(names, quiz_text, right, wrong):
    assert list(problems(quiz_text, names)) == []
    assert len(list(problems(quiz_text.replace(right, wrong), names))) == 1


@pytest.mark.parametrize("path", chapter_notebooks(), ids=page_name)
def test_the_answers_of_the_chapters_are_right(names, path):
    cells = [cell.source for cell in read(path).cells if cell.cell_type == "markdown"]
    quizzes = [quiz for source in cells for quiz in quizzes_in(source)]
    assert sum("{quiz}" in source for source in cells) == len(quizzes), "a quiz is not closed"
    if path in main_line() and path.stem != "short-road":
        assert len(quizzes) == 1, "each chapter has one quiz"
    assert len(quizzes) <= 1, "a page has at most one quiz"
    for text in quizzes:
        assert 3 <= len(parse_quiz(text)) <= 5
        assert list(problems(text, names)) == []


def look(page):
    """The verdicts and the progress that a page shows."""
    return page.locator(".quiz .verdict, .progress-line span").all_inner_texts()


@pytest.mark.browser
def test_answers_are_judged_kept_and_forgotten(good_site, open_page):
    page = open_page(good_site / "chapters" / "two.html")
    first, field = page.locator(".quiz input[value='0']"), page.locator(".quiz input[type=text]")
    page.locator(".quiz form button").first.click()
    assert look(page) == ["Choose an answer first.", "", "0 of 2 right."]
    first.check()
    first.press("Enter")
    assert look(page) == ["Not yet. All weights become equal.", "", "0 of 2 right."]
    first.press("ArrowDown")
    page.keyboard.press("Enter")
    right = "Right. The scores then have variance 1."
    assert look(page) == [right, "", "1 of 2 right."]
    wrong = page.locator(".quiz form[data-result=wrong]")
    assert wrong.count() == 0
    field.fill("4,1")
    field.press("Enter")
    assert look(page)[1] == "Not yet. Close, but not exact."
    field.fill("5")
    field.press("Enter")
    assert look(page)[1] == "Not yet. This is the first vector with itself."
    assert wrong.count() == 1, "a wrong answer looks different from none"
    field.fill("4.004")
    field.press("Enter")
    done = [right, "Right. Two plus two.", "2 of 2 right."]
    assert look(page) == done
    page.reload()
    assert look(page) == done
    page.locator(".progress-line button").click()
    page.reload()
    assert look(page) == ["", "", "0 of 2 right."]


RIGHT = "Right. Two plus two."
TYPED = {
    "0.25": dict.fromkeys(
        ["0.25", "1/4", "0,25", ".25", "２５/１００", "０．２５", "¼", "2.5e-1", "25·10⁻²"], RIGHT
    ),
    "4,096,000": dict.fromkeys(["4096000", "4,096,000", "4 096 000", "4.096.000"], RIGHT),
    "−0.25": {
        "−0,25": RIGHT,
        "0.25": "Not yet. Right size, wrong sign.",
        "-2.5": "Not yet. Off by a factor of ten.",
        "-0.0025": "Not yet. Off by a factor of 100.",
        "-0.26": "Not yet. Close, but not exact.",
        "-0.3": "Not yet. Close: give two decimals.",
        "-0,2": "Not yet. Close: give two decimals.",
        "-0.30": "Not yet. Too large.",
        "-.3": "Not yet. Close: give two decimals.",
        "-7/27": "Not yet. Close, but not exact.",
        "-2.6e-1": "Not yet. Close, but not exact.",
        "0": "Not yet. Too small.",
        "0.4": "Not yet. Look at the sign, then at the size.",
        "-0.1": "Not yet. Too small.",
        "1/0": "Write one number, such as 0.25 or 1/4.",
        "1,2,3": "Write one number, such as 0.25 or 1/4.",
        " ": "Write a number first.",
    },
    "8": {"7.6": "Not yet. Close: give a whole number.", "8.0": RIGHT, "16": "Not yet. Too large."},
    # "Give a whole number" is for whom it leads to the right one.
    "320": {
        "336": "Not yet. Close, but not exact.",
        "336.0": "Not yet. Close, but not exact.",
        "319.7": "Not yet. Close: give a whole number.",
        "318.6": "Not yet. Close, but not exact.",
    },
    "12.6": {"13": "Not yet. Close: give one decimal.", "12": "Not yet. Close, but not exact."},
}


@pytest.mark.browser
def test_what_is_typed_is_judged(good_site, open_page):
    form = open_page(good_site / "chapters" / "two.html").locator("form[data-answer]")
    said = {}
    for answer, typed in TYPED.items():
        (asked,) = parse_quiz(f"How many?\n\n- [=] {answer} {{check}}`8`\n  > So.\n")
        right, said[answer] = asked.answers[0], {}
        data = {"answer": right.number, "tolerance": asked.accepted, "decimals": right.decimals}
        form.evaluate("(form, data) => Object.assign(form.dataset, data)", data)
        for text in typed:
            form.locator("input").fill(text)
            form.locator("input").press("Enter")
            said[answer][text] = form.locator(".verdict").inner_text()
    assert said == TYPED


@pytest.mark.browser
def test_without_javascript_a_choice_explains_itself(good_site, open_page):
    page = open_page(good_site / "chapters" / "two.html", javascript=False)
    page.locator(".quiz input[value='0']").check()
    wrong, right = page.locator(".choice").all_inner_texts()
    assert "All weights become equal." in wrong
    assert "variance 1" not in right
    page.locator(".quiz summary").first.click()
    told = ["4.00 Two plus two.", "5.00: This is the first vector with itself."]
    assert page.locator("details p").all_inner_texts() == told
    shown = page.locator("main").inner_text()
    assert "Your number" not in shown
    assert "Forget" not in shown
