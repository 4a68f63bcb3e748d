"""The words of the dialect: which commands are functions, sums, constants, transposes."""

from __future__ import annotations

import re

CONSTANTS = {
    "\\pi": "pi",
    "e": "e",
    "\\mathrm{e}": "e",
    "\\infty": "infinity",
    "\\mathrm{i}": "imaginary unit",
}
LOOSE_FUNCTIONS = {
    *("\\sin", "\\cos", "\\tan", "\\tanh", "\\exp", "\\log", "\\ln", "\\arctan", "\\det"),
}
NAMED_FUNCTIONS = {
    *("softmax", "erf", "tr", "diag", "sign", "ReLU", "rank", "Re", "Im", "round"),
    *("exp", "log", "ln", "sin", "cos", "tan", "tanh", "arctan", "det"),
}
# Those of the above that are printed without brackets as well: \operatorname{tr} A.
LOOSE_NAMES = {"tr", "rank", "det", "sign", "Re", "Im", "erf"}
REDUCTIONS = {"\\sum": "sum", "\\prod": "product", "\\max": "max", "\\min": "min"}
EXTREMES = {"max", "min"}
MOMENTS = {"E": "expectation", "Var": "variance"}
TRANSPOSES = {"\\top", "\\intercal", "\\mathsf{T}", "\\mathrm{T}", "\\mathtt{T}", "\\text{T}"}
NORMS = {"2": "2", "F": "F", "\\mathrm{F}": "F", "\\text{F}": "F"}
NUMBER_SETS = {"\\mathbb{R}", "\\mathbb{C}"}
DIFFERENCE = "\\Delta"
DIFFERENTIALS = {"\\partial", "d", "\\mathrm{d}"}
INDICATORS = {"\\mathbb{1}", "\\mathbf{1}", "\\mathbf{I}", "\\mathbb{I}"}
UPRIGHT = re.compile(r"\\(?:operatorname|mathrm|text|textrm)\{(\w{2,})\}")
WRAPPED = re.compile(r"\\(?:operatorname|mathrm|text|mathsf|mathbb|textrm|mathbf)\{(\w+)\}")


def bare_name(name: str) -> str:
    """``softmax`` for ``\\operatorname{softmax}``, ``\\mathrm{softmax}``, ``\\text{softmax}``."""
    match = WRAPPED.fullmatch(name)
    return match.group(1) if match else name.removeprefix("\\")


def upright(name: str) -> str:
    """One spelling for words that are printed alike: ``\\text{PE}`` and ``\\mathrm{PE}``."""
    return UPRIGHT.sub(r"\\operatorname{\1}", name)
