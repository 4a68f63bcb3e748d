"""A theorem's box holds the formula that follows it, and nothing else."""

from docutils import nodes

from bookcheck.site.theorems import hold_formulas


def statement(kind):
    return nodes.admonition("", nodes.section(), classes=["proof", kind])


def test_the_formula_after_a_statement_moves_into_its_box():
    box, formula, text = statement("theorem"), nodes.math_block("", "x = 1"), nodes.paragraph()
    label, late = nodes.target(), nodes.math_block("", "y = 2")
    document = nodes.document(None, None)
    document += [box, label, formula, text, late]
    hold_formulas(document)
    assert document.children == [box, text, late]
    assert box[0].children == [label, formula]


def test_what_is_no_formula_stays_outside():
    box, label, text = statement("lemma"), nodes.target(), nodes.paragraph()
    document = nodes.document(None, None)
    document += [box, label, text]
    hold_formulas(document)
    assert document.children == [box, label, text]


def test_a_proof_takes_nothing():
    proof, formula = nodes.admonition("", nodes.section(), classes=["proof"]), nodes.math_block()
    document = nodes.document(None, None)
    document += [proof, formula]
    hold_formulas(document)
    assert document.children == [proof, formula]
