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
    "\\in": "in",
}
OPERATORS = {
    "*": "star",  # part of a name, as in x^*
    "\\cdot": "dot",
    "\\times": "times",
    "\\odot": "hadamard",
    "\\bmod": "mod",
}
DOTS = {"\\ldots", "\\cdots", "\\dots", "\\vdots", "\\ddots"}
ACCENTS = {"\\bar", "\\overline", "\\hat", "\\tilde"}
FONTS = {"\\mathbf", "\\mathrm", "\\mathcal", "\\mathbb", "\\mathsf", "\\operatorname"}
# Words between statements, and those before the condition of a case.
SEPARATING_WORDS = {"where", "with", "and", "so", "for", "for all", "for every", "for each"}
CASE_WORDS = {"for", "if", "when"}
IMPLICATIONS = {"\\implies", "\\iff"}
# What has more than one meaning, or what no formula needed; and what to print instead.
REFUSED = {
    "|": "| has no direction; write \\lvert … \\rvert",
    "\\|": "\\| has no direction; write \\lVert … \\rVert",
    "!": "! is a factorial, which cannot be read; write \\prod",
    "\\pm": "\\pm is two values; write both statements",
    "\\mp": "\\mp is two values; write both statements",
    "\\{": "a set by its members cannot be read; declare it under a name",
}

OPENING = {
    "(": ("LPAR", "RPAR"),
    "[": ("LBRACK", "RBRACK"),
    "\\lfloor": ("LFLOOR", "RFLOOR"),
    "\\lceil": ("LCEIL", "RCEIL"),
    "\\lvert": ("LBAR", "RBAR"),
    "\\lVert": ("LNORM", "RNORM"),
}
CLOSING = {
    ")": "RPAR",
    "]": "RBRACK",
    "\\rfloor": "RFLOOR",
    "\\rceil": "RCEIL",
    "\\rvert": "RBAR",
    "\\rVert": "RNORM",
}
ENVIRONMENTS = {
    "pmatrix": ("BEGINMATRIX", "ENDMATRIX"),
    "cases": ("BEGINCASES", "ENDCASES"),
}

# -- Symbols that need no declaration ----

CONSTANTS = {"\\pi": math.pi, "e": math.e, "\\infty": math.inf, "\\mathrm{i}": 1j}
LOOSE_FUNCTIONS = {
    *("\\sin", "\\cos", "\\tanh", "\\exp", "\\log", "\\ln", "\\arctan", "\\det"),
}
NAMED_FUNCTIONS = {
    *("softmax", "erf", "tr", "diag", "sign", "ReLU", "rank", "Re", "Im", "round"),
    *("exp", "log", "ln", "sin", "cos", "tanh", "arctan", "det"),
}
# Those of the above that are printed without brackets as well: \operatorname{tr} A.
LOOSE_NAMES = {"tr", "rank", "det", "sign", "Re", "Im", "erf"}
REDUCTIONS = {"\\sum": "sum", "\\prod": "product", "\\max": "max", "\\min": "min"}
EXTREMES = {"max", "min"}
MOMENTS = {"E": "expectation", "Var": "variance"}
TRANSPOSES = {"\\top", "\\mathsf{T}"}
NORMS = {"2", "F"}
NUMBER_SETS = {"\\mathbb{R}", "\\mathbb{C}"}
DIFFERENCE = "\\Delta"
DIFFERENTIALS = {"\\partial", "\\mathrm{d}"}
INDICATORS = {"\\mathbb{1}", "\\mathbf{1}"}
