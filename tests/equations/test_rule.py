"""The rule over the whole book: displays are labelled and checked, sentences are bound."""

from bookcheck.equations.checks import ByHand, load_checks, load_pages, rule_violations
from bookcheck.equations.scan import collect, inline_relations


def test_every_displayed_equation_has_one_label_and_one_check():
    problems = rule_violations(collect(), load_checks())
    assert not problems, "\n".join(problems)


def test_nine_of_ten_equations_are_executed_from_their_own_text():
    checks = load_checks()
    by_hand = [check.name for check in checks if isinstance(check, ByHand)]
    assert len(by_hand) <= 0.1 * len(checks), f"too many are checked by hand: {by_hand}"


def test_every_page_with_relations_binds_its_sentences():
    bound = load_pages()
    missing = [page for page, relations in inline_relations().items() if relations]
    missing = [page for page in missing if page not in bound]
    assert not missing, f"bind the sentences of {missing} in tests/equations with @sentences"
