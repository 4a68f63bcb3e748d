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
}
OPERATORS = {
    "*": "star",  # part of a name, as in x^*
    "\\cdot": "dot",
    "\\times": "times",
    "\\odot": "hadamard",
    "\\bmod": "mod",
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
EQUIVALENCES = {"\\iff", "\\Leftrightarrow"}
IMPLICATIONS = {"\\implies", "\\Rightarrow", "\\Longrightarrow", *EQUIVALENCES}
# After a statement, these say under which condition it holds.
CONDITION_WORDS = {"if", "when", "whenever"}

OPENING = {
    "(": ("LPAR", "RPAR"),
    "[": ("LBRACK", "RBRACK"),
    "\\lbrack": ("LBRACK", "RBRACK"),
    "\\{": ("LSET", "RSET"),
    "\\lbrace": ("LSET", "RSET"),
    "\\lfloor": ("LFLOOR", "RFLOOR"),
    "\\lceil": ("LCEIL", "RCEIL"),
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
    "\\rvert": "RBAR",
    "\\rVert": "RNORM",
}
BARS = {"|": ("LBAR", "RBAR"), "\\vert": ("LBAR", "RBAR")}
BARS |= {"\\|": ("LNORM", "RNORM"), "\\Vert": ("LNORM", "RNORM")}
MATRICES = {"pmatrix", "bmatrix"}
ALIGNMENTS = {"aligned", "split", "gathered"}
ENDS_OPERAND = {
    *("SYMBOL", "NUMBER", "RPAR", "RBRACK", "RSET", "RFLOOR", "RCEIL", "RBAR", "RNORM"),
    *("RBRACE", "PRIME", "BANG", "ENDMATRIX", "ENDCASES", "DOTS"),
}
ARGUMENTS = {"FRAC": 2, "SQRT": 1, "ACCENT": 1, "SUB": 1, "SUP": 1}
SIMPLE = {
    "_": "SUB",
    "^": "SUP",
    "+": "ADDOP",
    "-": "ADDOP",
    UNICODE_MINUS: "ADDOP",
    "/": "SLASH",
    "!": "BANG",
    ";": "SEMI",
    ",": "COMMA",
}
COMMANDS = {
    "\\frac": "FRAC",
    "\\dfrac": "FRAC",
    "\\tfrac": "FRAC",
    "\\cfrac": "FRAC",
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
