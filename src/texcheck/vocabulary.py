"""The words of the dialect: which commands are relations, brackets, functions, sums, constants."""

from __future__ import annotations

import math

# -- Signs between expressions and around them ----

WIDE_SPACES = {"\\quad", "\\qquad"}
RELATIONS = {
    "=": "=",
    "<": "<",
    ">": ">",
    "\\le": "<=",
    "\\leq": "<=",
    "\\ge": ">=",
    "\\geq": ">=",
    "\\ne": "!=",
    "\\neq": "!=",
    "\\approx": "approx",
    "\\approxeq": "approx",
    "\\simeq": "approx",
    "\\in": "in",
    "\\notin": "notin",
    "\\sim": "sim",
    "\\leqslant": "<=",
    "\\geqslant": ">=",
    "\\coloneqq": "=",
    "\\triangleq": "=",
    "\\leftarrow": "becomes",
    "\\gets": "becomes",
}
OPERATORS = {
    "*": "star",  # part of a name, as in x^*
    "\\cdot": "dot",
    "\\ast": "star",
    "\\times": "times",
    "\\odot": "hadamard",
    "\\bmod": "mod",
}
# Signs between two expressions that have several meanings: a check declares the one that it means,
# as a function of both sides. Those between statements give 1 where the statement is true.
OPEN_OPERATORS = {
    **dict.fromkeys(
        ("\\otimes", "\\oplus", "\\ominus", "\\circ", "\\star", "\\bullet", "\\wedge", "\\vee"),
        "this operator has several meanings",
    ),
}
OPEN_RELATIONS = {
    "\\propto": "\\propto leaves the factor open; print it",
    "\\gg": "how much larger? print a relation with a factor",
    "\\ll": "how much smaller? print a relation with a factor",
    "\\lessapprox": "print \\le or \\approx",
    "\\gtrapprox": "print \\ge or \\approx",
    "\\lesssim": "print \\le, with the constant",
    "\\gtrsim": "print \\ge, with the constant",
    "\\equiv": "\\equiv has several meanings; print = or \\iff",
    "\\cong": "\\cong has several meanings; print = or \\approx",
    "\\rightarrow": "an arrow can be read only between two statements; for a definition write = or "
    "\\leftarrow",
}
OPEN_SIGNS = {**OPEN_OPERATORS, **OPEN_RELATIONS}
DOTS = {"\\ldots", "\\cdots", "\\dots", "\\dotsc", "\\dotsb", "\\vdots", "\\ddots"}
ACCENTS = {
    *("\\bar", "\\overline", "\\hat", "\\tilde", "\\vec", "\\dot", "\\ddot", "\\check"),
    *("\\widehat", "\\widetilde", "\\overrightarrow", "\\overleftarrow", "\\underline"),
}
# Fonts of letters: \mathbf{AB} is printed like \mathbf{A}\mathbf{B}.
LETTER_FONTS = {
    *("\\mathbf", "\\boldsymbol", "\\bm", "\\mathcal", "\\mathbb", "\\mathfrak", "\\mathscr"),
}
FONTS = {*LETTER_FONTS, "\\mathrm", "\\mathsf", "\\mathit", "\\operatorname"}
# Words of a sentence; \mathrm and \operatorname hold names.
TEXTS = {
    *("\\text", "\\textrm", "\\textbf", "\\textit", "\\textsf", "\\textnormal", "\\mbox"),
}
# How large something is printed says nothing about it.
SIZES = {
    *("\\displaystyle", "\\textstyle", "\\scriptstyle", "\\limits", "\\nolimits", "\\nonumber"),
    *("\\tiny", "\\small", "\\normalsize", "\\large", "\\notag"),
    *("\\big", "\\Big", "\\bigg", "\\Bigg", "\\bigl", "\\Bigl", "\\biggl", "\\Biggl"),
    *("\\bigr", "\\Bigr", "\\biggr", "\\Biggr"),
}
# Commands whose argument in braces is about the display and not part of it.
ABOUT = {"\\label", "\\tag", "\\tag*", "\\color", "\\textcolor"}
TAG = "\\tag"
# A brace below or above, and where its remark stands.
BRACES = {"\\underbrace": "_", "\\overbrace": "^"}
DEFINITIONS = {"\\stackrel", "\\overset"}
# Words between statements, and those before the condition of a case.
SEPARATING_WORDS = {
    *("where", "with", "and", "so", "for", "for all", "for every", "for each"),
    *("and so", "and hence", "hence", "thus", "therefore", "so that"),
}
CASE_WORDS = {"for", "if", "when", "whenever"}
# A statement behind one of these is the premise of the one before it.
CONDITIONS = {"if", "when", "whenever"}
OTHERWISE = {"otherwise", "else"}
IMPLICATIONS = {"\\implies", "\\iff"}
# Arrows that follow from or are equivalent, where a relation is on both sides of them.
ARROWS = {
    "\\Rightarrow": "\\implies",
    "\\Longrightarrow": "\\implies",
    "\\rightarrow": "\\implies",
    "\\longrightarrow": "\\implies",
    "\\to": "\\implies",
    "\\Leftrightarrow": "\\iff",
    "\\Longleftrightarrow": "\\iff",
    "\\leftrightarrow": "\\iff",
}
# What has more than one meaning, or what no formula needed; and what to print instead.
REFUSED = {
    "\\pm": "\\pm is two values; write both statements",
    "\\mp": "\\mp is two values; write both statements",
    "\\cup": "a union of sets cannot be read; declare it under a name",
    "\\cap": "an intersection of sets cannot be read; declare it under a name",
    "\\setminus": "a difference of sets cannot be read; declare it under a name",
    "\\lim": "a limit cannot be read",
    "\\arg": "the place of an extreme cannot be read; declare it under a name",
    "\\hline": "a table is no formula",
    "\\exists": "that something exists cannot be executed",
}

OPENING = {
    "(": ("LPAR", "RPAR"),
    "[": ("LBRACK", "RBRACK"),
    "\\lfloor": ("LFLOOR", "RFLOOR"),
    "\\lceil": ("LCEIL", "RCEIL"),
    "\\lvert": ("LBAR", "RBAR"),
    "\\lVert": ("LNORM", "RNORM"),
    "\\langle": ("LANGLE", "RANGLE"),
    "\\{": ("LSET", "RSET"),
}
CLOSING = {
    ")": "RPAR",
    "]": "RBRACK",
    "\\rfloor": "RFLOOR",
    "\\rceil": "RCEIL",
    "\\rvert": "RBAR",
    "\\rVert": "RNORM",
    "\\rangle": "RANGLE",
    "\\}": "RSET",
}
# Bars have no direction: texcheck.bars decides where only one reading is possible.
BARS = {
    "|": ("LBAR", "RBAR"),
    "\\vert": ("LBAR", "RBAR"),
    "\\|": ("LNORM", "RNORM"),
    "\\Vert": ("LNORM", "RNORM"),
}
ENVIRONMENTS = {
    "pmatrix": ("BEGINMATRIX", "ENDMATRIX"),
    "bmatrix": ("BEGINMATRIX", "ENDMATRIX"),
    "matrix": ("BEGINMATRIX", "ENDMATRIX"),
    "smallmatrix": ("BEGINMATRIX", "ENDMATRIX"),
    "array": ("BEGINMATRIX", "ENDMATRIX"),
    "cases": ("BEGINCASES", "ENDCASES"),
    "dcases": ("BEGINCASES", "ENDCASES"),
}
# Environments of lines, each a statement or its continuation.
LINES = {
    *(
        "aligned",
        "align",
        "align*",
        "split",
        "gathered",
        "gather",
        "gather*",
        "flalign",
        "flalign*",
    ),
    *("equation", "equation*", "displaymath", "multline", "multline*"),
    *("alignat", "alignat*", "eqnarray", "eqnarray*"),
}
# Those with an argument: how many columns they have.
WITH_COLUMNS = {"alignat", "alignat*"}

# -- Symbols that need no declaration ----

CONSTANTS = {"\\pi": math.pi, "e": math.e, "\\infty": math.inf, "\\mathrm{i}": 1j}
LOOSE_FUNCTIONS = {
    *("\\sin", "\\cos", "\\tanh", "\\exp", "\\log", "\\ln", "\\arctan", "\\det"),
    *("\\tan", "\\sinh", "\\cosh", "\\arcsin", "\\arccos"),
}
NAMED_FUNCTIONS = {
    *("softmax", "erf", "tr", "diag", "sign", "ReLU", "rank", "Re", "Im", "round"),
    *("exp", "log", "ln", "sin", "cos", "tanh", "arctan", "det", "max", "min"),
    *("tan", "sinh", "cosh", "arcsin", "arccos", "sgn"),
}
# Loose functions whose power is clear: nobody prints exp without brackets, and of a determinant
# both readings are equal.
CLEAR_POWERS = {"exp", "det"}
# Those of the above that are printed without brackets as well: \operatorname{tr} A.
LOOSE_NAMES = {"tr", "rank", "det", "sign", "sgn", "Re", "Im", "erf"}
REDUCTIONS = {
    **{"\\sum": "sum", "\\prod": "product", "\\max": "max", "\\min": "min"},
    **{"\\argmax": "argmax", "\\argmin": "argmin"},
}
EXTREMES = {"max", "min"}
ROUNDINGS = {"floor", "ceil", "round"}
MOMENTS = {"E": "expectation", "Var": "variance", "Cov": "covariance"}
TRANSPOSES = {"\\top", "\\mathsf{T}", "\\mathrm{T}", "\\text{T}", "\\intercal"}
NORMS = {"1", "2", "F", "\\infty"}
# A probability of events: P(X = 1), \Pr(X \le x).
PROBABILITIES = {"P", "\\Pr", "\\mathbb{P}", "\\mathrm{P}", "\\operatorname{P}"}
INNER = "\\langle\\cdot,\\cdot\\rangle"
NUMBER_SETS = {"\\mathbb{R}", "\\mathbb{C}"}
DIFFERENCE = "\\Delta"
# Signs that are declared together with the letter after them: \Delta w, \nabla f.
PREFIXES = {DIFFERENCE, "\\nabla", "\\partial"}
# Those that a check may declare so, and that nobody guesses: D f, d S.
DECLARED_PREFIXES = {*PREFIXES, "D", "d"}
# Words behind which stand the symbols that a statement is about: for all i.
QUANTIFIERS = {"for all", "for every", "for each"}
DIFFERENTIALS = {"\\partial", "\\mathrm{d}"}
INDICATORS = {"\\mathbb{1}", "\\mathbf{1}"}
