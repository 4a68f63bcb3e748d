"""The rule over the whole book: every displayed equation is labelled, checked, mostly executed."""

from bookcheck.equations.checks import load_checks, rule_violations
from bookcheck.equations.scan import collect


def test_every_displayed_equation_has_one_label_and_one_check():
    problems = rule_violations(collect(), load_checks())
    assert not problems, "\n".join(problems)


def test_nine_of_ten_equations_are_executed_from_their_own_text():
    checks = load_checks()
    by_hand = [check.label for check in checks if check.reason is not None]
    assert len(by_hand) <= 0.1 * len(checks), f"too many are checked by hand: {by_hand}"
