"""Understanding checks: questions answered in the page, whose numbers the tests compute.

README.md shows how to write one. A question has choices, of which one is right, or asks for a
number and names slips, the numbers of typical mistakes. `{check}` holds Python that the page does
not show: its value must be the number of a right answer or of a slip, or the truth of the choice.
`problems` computes them all.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from html import escape
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.locale import _
from sphinx.util.docutils import SphinxDirective

from bookformat.myst import blocks_of, tokens_of
from bookformat.values import complete, disagreement
from booksite.widgets import raw, script

ANSWER = re.compile(r"\[([ x=])\] (.*)", re.DOTALL)
CHECK = re.compile(r"\s*\{check\}`([^`]+)`")
NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
# A question that says so accepts what rounds to its whole number.
NEAREST = "nearest whole number"


class QuizError(ValueError):
    """What is wrong with the text of a quiz."""


@dataclass
class Answer:
    """A choice, the number that is asked for, or a slip: the number of a typical mistake."""

    text: str
    kind: str
    feedback: str = ""
    check: str | None = None

    @property
    def right(self) -> bool:
        """Whether the answer is right."""
        return self.kind != " "

    @property
    def number(self) -> float | None:
        """The number that the answer is, if it is one."""
        plain = self.text.strip("$").replace("−", "-").replace(",", "")
        return float(plain) if NUMBER.fullmatch(plain) else None

    @property
    def decimals(self) -> int:
        """How many digits are printed behind the point."""
        return len(self.text.strip("$").partition(".")[2])


@dataclass
class Question:
    """What is asked, and its answers."""

    text: str
    answers: list[Answer] = field(default_factory=list)

    @property
    def wants_number(self) -> bool:
        """Whether the reader types a number."""
        return self.answers[0].kind == "="

    @property
    def slips(self) -> list[Answer]:
        """The wrong numbers whose mistake is known."""
        return self.answers[1:] if self.wants_number else []

    @property
    def accepted(self) -> float:
        """How far from the answer a reader's number may be.

        What rounds to the printed decimals is right. A whole number is a count, and 7.6 is not 8,
        unless the question asks for the nearest one.
        """
        decimals = self.answers[0].decimals
        return 0.5 * 10.0**-decimals if decimals or NEAREST in self.text else 0.0

    def fault(self) -> str | None:
        """What keeps the question from being answered."""
        right = [answer for answer in self.answers if answer.right]
        if not all(answer.feedback for answer in self.answers):
            return "an answer has no line '  > why'"
        if len(right) != 1:
            return f"one answer must be right ([x] or [=]), got {len(right)}"
        if right[0].kind == "=" and not (self.wants_number and right[0].number is not None):
            return "the answer to a question for a number comes first, '- [=] number'"
        for slip in self.slips:
            if slip.number is None or not slip.check:
                return (
                    f"the slip {slip.text!r} must be a number: add {{check}}`Python that errs so`"
                )
            if abs(slip.number - (right[0].number or 0.0)) <= self.accepted:
                return f"the slip {slip.text!r} is accepted as right"
        if not self.wants_number and len(self.answers) < 2:
            return "needs two choices or more"
        if right[0].number is not None and not right[0].check:
            return "the right answer is a number: add {check}`Python that computes it`"
        return None


def parse_quiz(text: str) -> list[Question]:
    """Return the questions of a quiz, or say what is wrong with its text."""
    questions: list[Question] = []
    for token in tokens_of(text):
        if token.type != "inline":
            continue
        start = ANSWER.match(token.content)
        if token.level == 1:  # a paragraph outside the list of answers
            questions.append(Question(token.content))
        elif not questions:
            raise QuizError(f"an answer comes before any question: {token.content!r}")
        elif start:
            check = CHECK.search(start[2])
            plain = " ".join(CHECK.sub("", start[2]).split())
            questions[-1].answers.append(Answer(plain, start[1], check=check and check[1]))
        elif questions[-1].answers:
            questions[-1].answers[-1].feedback = " ".join(token.content.split())
    for question in questions:
        fault = question.fault() if question.answers else "a question has no answers"
        if fault:
            raise QuizError(f"{question.text.splitlines()[0]!r}: {fault}")
    return questions


def quizzes_in(markdown: str) -> list[str]:
    """Return the text of each quiz in a Markdown cell or page."""
    return [block.text for block in blocks_of(markdown) if block.kind == "quiz"]


def problems(text: str, names: dict[str, Any]) -> Iterator[str]:
    """Compute the checks of a quiz with the given names and yield what does not agree."""
    for question in parse_quiz(text):
        for answer in question.answers:
            if answer.check is None:
                continue
            place = f"{question.text.splitlines()[0]!r}, answer {answer.text!r}"
            try:
                value = eval(complete(answer.check), dict(names))
            except Exception as error:
                yield f"{place}: its check fails: {error}"
                continue
            agrees = value is True or not disagreement(answer.text.strip("$"), value)
            if answer.number is None and not isinstance(value, bool):
                yield f"{place}: its check must give True or False, got {value!r}"
            elif question.wants_number and not agrees:
                yield f"{place}: its check gives {value}"
            elif not question.wants_number and agrees != answer.right:
                yield f"{place}: is marked {answer.right}, and its check gives {value}"


JUDGED = '<div class="verdict" role="status"></div><button type="submit" hidden>{}</button>'
END = """<p class="progress-line" hidden><span role="status"></span>
<button type="button">{}</button></p></div>"""


class Quiz(SphinxDirective):
    """The directive `quiz`."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        """Parse the questions into HTML forms around Markdown; the script fills in the verdicts."""
        try:
            questions = parse_quiz("\n".join(self.content))
        except QuizError as problem:
            raise self.error(f"quiz: {problem}") from problem
        parts = [raw('<div class="quiz">')]
        for count, question in enumerate(questions, 1):
            number = question.answers[0] if question.wants_number else None
            data = (
                f' data-answer="{number.number!r}" data-tolerance="{question.accepted!r}"'
                f' data-decimals="{number.decimals}"'
                if number
                else ""
            )
            # A reader's answer is kept by the question, so none is kept for a new one.
            parts += [
                raw(f'<form data-question="{escape(question.text)}"{data}><fieldset><legend>'),
                self.inline(question.text),
                raw("</legend>"),
                *(self.number(question) if number else self.choices(question, count)),
                raw("</fieldset></form>"),
            ]
        return [*parts, raw(END.format(_("Forget my answers"))), *script(self, "quiz.js")]

    def inline(self, text: str) -> nodes.inline:
        """A line of Markdown."""
        parsed, _messages = self.state.inline_text(text, self.lineno)
        return nodes.inline("", "", *parsed)

    def choices(self, question: Question, count: int) -> Iterator[nodes.Node]:
        """The answers to choose from, each with its reason."""
        for value, answer in enumerate(question.answers):
            yield raw(
                f'<div class="choice"{" data-right" if answer.right else ""}><label>'
                f'<input type="radio" name="question-{count}" value="{value}"> '
                f"<span>{chr(ord('A') + value)}</span> "
            )
            yield self.inline(answer.text)
            verdict = _("Right.") if answer.right else _("Not yet.")
            yield raw(f'</label><div class="why"><strong>{verdict}</strong> ')
            yield self.inline(answer.feedback)
            yield raw("</div></div>")
        yield raw(JUDGED.format(_("Check")))

    def number(self, question: Question) -> Iterator[nodes.Node]:
        """A field for a number, and in a fold the answer and the slips."""
        answer = question.answers[0]
        yield raw(
            f'<label hidden>{_("Your number")} <input type="text" inputmode="decimal" '
            f'autocomplete="off" size="10"></label>{JUDGED.format(_("Check"))}'
            f"<details><summary>{_('Show the answer')}</summary>"
            f"<p><strong>{escape(answer.text)}</strong> "
        )
        yield self.inline(answer.feedback)
        yield raw("</p>")
        for slip in question.slips:
            # The script shows the reason of the slip that a reader's number rounds to.
            tolerance = 0.5 * 10.0**-slip.decimals if slip.decimals else 0.0
            yield raw(
                f'<p class="slip" data-number="{slip.number!r}" data-tolerance="{tolerance!r}">'
                f"{escape(slip.text)}: "
            )
            yield self.inline(slip.feedback)
            yield raw("</p>")
        yield raw("</details>")


def setup(app: Sphinx) -> None:
    """Register the directive."""
    app.add_directive("quiz", Quiz)
