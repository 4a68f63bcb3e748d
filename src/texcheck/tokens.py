"""The commands and characters of LaTeX mathematics, and what each is to the lexer."""

from __future__ import annotations

import re

# The minus sign that editors and word processors write.
UNICODE_MINUS = "\N{MINUS SIGN}"
SPACING = {
    *("\\,", "\\;", "\\:", "\\!", "\\ ", "\\>", "\\thinspace", "\\medspace", "\\thickspace"),
    *("\\displaystyle", "\\textstyle", "\\scriptstyle", "\\limits", "\\nolimits", "\\nonumber"),
    *("\\hfill", "\\mathstrut", "\\strut", "\\allowbreak"),
}
SIZES = {
    stem + side for stem in ("\\big", "\\Big", "\\bigg", "\\Bigg") for side in ("", "l", "r", "m")
}
WIDE_SPACES = {"\\quad", "\\qquad"}
# Signs that mean something else in every book: they hold what a check declares them to hold.
DECLARED_RELATIONS = (
    *("\\sim", "\\propto", "\\cong", "\\perp", "\\parallel", "\\subset", "\\subseteq", "\\supset"),
    *("\\ll", "\\gg", "\\prec", "\\succ", "\\asymp"),
)
RELATIONS = {
    "=": "=",
    "\\equiv": "=",
    "\\coloneqq": "=",
    "\\triangleq": "=",
    "<": "<",
    "\\lt": "<",
    ">": ">",
    "\\gt": ">",
    "\\le": "<=",
    "\\leq": "<=",
    "\\leqslant": "<=",
    "\\ge": ">=",
    "\\geq": ">=",
    "\\geqslant": ">=",
    "\\ne": "!=",
    "\\neq": "!=",
    "\\approx": "approx",
    "\\simeq": "approx",
    "\\in": "in",
    "\\notin": "notin",
    "\\mid": "divides",
    "\\nmid": "ndivides",
    **{sign: sign for sign in DECLARED_RELATIONS},
    "\\to": "to",
    "\\rightarrow": "to",
}
OPERATORS = {
    "\\cdot": "dot",
    "\\times": "times",
    "*": "star",
    "\\ast": "star",
    "\\odot": "hadamard",
    "\\circ": "circ",
    "\\star": "\\star",
    "\\otimes": "outer",
    "\\bmod": "mod",
    "\\div": "divide",
}
DOTS = {"\\ldots", "\\cdots", "\\dots", "\\dotsb", "\\dotsc", "\\vdots", "\\ddots", "\\dotsm"}
ACCENTS = {"\\bar", "\\overline", "\\hat", "\\widehat", "\\tilde", "\\widetilde", "\\vec", "\\dot"}
FONTS = {
    *("\\mathbf", "\\mathrm", "\\mathcal", "\\mathbb", "\\mathsf", "\\mathit", "\\mathfrak"),
    *("\\mathtt", "\\mathscr", "\\boldsymbol", "\\bm", "\\operatorname", "\\textbf", "\\textrm"),
    *("\\textsf", "\\textit", "\\mathop"),
}
SEPARATING_WORDS = {
    *("for", "for all", "for every", "for each", "for any", "if", "when", "where", "with", "and"),
    *("so", "so that", "hence", "thus", "therefore", "that is", "whenever", "given", "as"),
}
CASE_WORDS = {"if", "for", "when", "whenever"}
QUANTIFYING_WORDS = {"for", "for all", "for every", "for each", "for any"}
OTHERWISE_WORDS = {"otherwise", "else"}
PARITY_WORDS = {"even": "even", "is even": "even", "odd": "odd", "is odd": "odd"}
IMPLICATIONS = {"\\implies", "\\iff", "\\Rightarrow", "\\Leftrightarrow", "\\Longrightarrow"}

OPENING = {
    "(": ("LPAR", "RPAR"),
    "[": ("LBRACK", "RBRACK"),
    "\\lbrack": ("LBRACK", "RBRACK"),
    "\\{": ("LSET", "RSET"),
    "\\lbrace": ("LSET", "RSET"),
    "\\lfloor": ("LFLOOR", "RFLOOR"),
    "\\lceil": ("LCEIL", "RCEIL"),
    "\\langle": ("LANGLE", "RANGLE"),
    "\\lvert": ("LBAR", "RBAR"),
    "\\lVert": ("LNORM", "RNORM"),
}
CLOSING = {
    ")": "RPAR",
    "]": "RBRACK",
    "\\rbrack": "RBRACK",
    "\\}": "RSET",
    "\\rbrace": "RSET",
    "\\rfloor": "RFLOOR",
    "\\rceil": "RCEIL",
    "\\rangle": "RANGLE",
    "\\rvert": "RBAR",
    "\\rVert": "RNORM",
}
BARS = {"|": ("LBAR", "RBAR"), "\\vert": ("LBAR", "RBAR")}
BARS |= {"\\|": ("LNORM", "RNORM"), "\\Vert": ("LNORM", "RNORM")}
INTERVAL_ENDS = {"RPAR", "RBRACK"}
MATRICES = {"matrix", "pmatrix", "bmatrix", "Bmatrix", "vmatrix", "smallmatrix", "array"}
ALIGNMENTS = {"aligned", "align", "align*", "split", "gathered", "gather", "gather*", "equation"}
ALIGNMENTS |= {"equation*"}
ENDS_OPERAND = {
    *("SYMBOL", "NUMBER", "RPAR", "RBRACK", "RSET", "RFLOOR", "RCEIL", "RANGLE", "RBAR", "RNORM"),
    *("RBRACE", "PRIME", "BANG", "ENDMATRIX", "ENDCASES", "DOTS"),
}
ARGUMENTS = {"FRAC": 2, "BINOM": 2, "SQRT": 1, "ACCENT": 1, "SUB": 1, "SUP": 1}
SIMPLE = {
    "_": "SUB",
    "^": "SUP",
    "+": "ADDOP",
    "-": "ADDOP",
    UNICODE_MINUS: "ADDOP",
    "/": "SLASH",
    "!": "BANG",
    ":": "COLON",
    ";": "SEMI",
    ",": "COMMA",
}
COMMANDS = {
    "\\frac": "FRAC",
    "\\dfrac": "FRAC",
    "\\tfrac": "FRAC",
    "\\cfrac": "FRAC",
    "\\binom": "BINOM",
    "\\sqrt": "SQRT",
}

PIECE = re.compile(
    r"(?P<space>\s+|~)"
    r"|(?P<number>[0-9]+(?:(?:\{,\}|\\,)[0-9]{3})*(?:\.[0-9]+)?)"
    r"|(?P<command>\\(?:[A-Za-z]+\*?|.))"
    r"|(?P<letter>[A-Za-z])"
    r"|(?P<other>.)",
    re.DOTALL,
)

# A formula beyond these cannot be read by a person, and would exhaust Python's stack.
DEEPEST = 40
MOST_TOKENS = 2_000
MOST_DIGITS = 300
DELIMITER = re.compile(r"\s*(\\[A-Za-z]+|\\.|.)", re.DOTALL)
# What a programmer writes for a power of ten: 1e-3.
EXPONENT = re.compile(r"e[-+]?[0-9]")
