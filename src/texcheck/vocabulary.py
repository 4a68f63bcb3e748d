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
    *("\\sin", "\\cos", "\\tan", "\\cot", "\\sinh", "\\cosh", "\\tanh", "\\exp", "\\log", "\\ln"),
    *("\\arcsin", "\\arccos", "\\arctan", "\\Re", "\\Im", "\\det", "\\arg"),
}
NAMED_FUNCTIONS = {
    *("softmax", "erf", "tr", "trace", "diag", "sign", "sgn", "ReLU", "relu", "rank", "Re", "Im"),
    *("exp", "log", "ln", "sin", "cos", "tan", "tanh", "atan2", "sigmoid", "det", "round", "arg"),
}
# Those of the above that are printed without brackets as well: \operatorname{tr} A.
LOOSE_NAMES = {"tr", "trace", "rank", "det", "sign", "sgn", "Re", "Im", "arg", "erf"}
REDUCTIONS = {"\\sum": "sum", "\\prod": "product", "\\max": "max", "\\min": "min"}
REDUCTIONS |= {"\\sup": "max", "\\inf": "min"}
EXTREMES = {"max", "min"}
ARGUMENT_EXTREMES = {"argmax", "argmin"}
MOMENTS = {"E": "expectation", "Var": "variance", "Cov": "covariance", "Pr": "probability"}
MOMENTS |= {"P": "probability"}
TRANSPOSES = {"\\top", "\\intercal", "\\mathsf{T}", "\\mathrm{T}", "\\mathtt{T}", "\\text{T}"}
HERMITIAN = {"\\dagger", "\\mathsf{H}", "\\mathrm{H}"}
NORMS = {"2": "2", "F": "F", "\\mathrm{F}": "F", "\\text{F}": "F", "1": "1", "\\infty": "inf"}
NUMBER_SETS = {"\\mathbb{R}", "\\mathbb{C}", "\\mathbb{Z}", "\\mathbb{N}"}
PARITIES = {"\\text{even}": 0, "\\text{odd}": 1}
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
