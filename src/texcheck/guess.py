"""What the symbols of a formula could be, where nobody has declared them.

The formula is read; whenever the reader meets a symbol without a meaning, one is guessed from how
it is printed, until all of it is read. Where two guesses are as good: ``UnsureError``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from lark import Token, Tree

from texcheck.errors import LatexError, UnknownSymbolError
from texcheck.parser import (
    Factor,
    Part,
    canonical,
    full_name,
    joined_prefix,
    parse,
    read_factor,
    tree_of,
)
from texcheck.reading.parts import is_prefix, next_bracket, next_name
from texcheck.reading.reader import Unknown
from texcheck.reading.statements import read_any
from texcheck.vocabulary import (
    ACCENTS,
    FONTS,
    LETTER_FONTS,
    LOOSE_FUNCTIONS,
    MOMENTS,
    PREFIXES,
    PROBABILITIES,
    REDUCTIONS,
    TEXTS,
)

MOST_SYMBOLS = 120
GREEK = {
    *("alpha", "beta", "gamma", "delta", "epsilon", "varepsilon", "zeta", "eta", "theta"),
    *("vartheta", "iota", "kappa", "lambda", "mu", "nu", "xi", "pi", "rho", "varrho", "sigma"),
    *("varsigma", "tau", "upsilon", "phi", "varphi", "chi", "psi", "omega", "Gamma", "Delta"),
    *("Theta", "Lambda", "Xi", "Pi", "Sigma", "Upsilon", "Phi", "Psi", "Omega", "ell", "hbar"),
}
LETTER_COMMANDS = {f"\\{name}" for name in GREEK}
ACCENTED = "(" + "|".join(re.escape(accent) for accent in sorted(ACCENTS)) + r")(\\?[A-Za-z].*)"
# Letters that are functions where brackets follow, whatever is inside of these.
FUNCTION_LETTERS = {*"fghFGHpPqlLR", r"\phi", r"\varphi", r"\psi", r"\sigma", r"\Phi", r"\Psi"}
INDEX_LETTERS = {*"ijklmnst", r"\tau", r"\ell"}
# Signs with an index below them, or a subscript that says something else.
BINDING = {
    *(*REDUCTIONS, *MOMENTS, *PREFIXES, *LOOSE_FUNCTIONS, *PROBABILITIES, "\\int", "\\lim"),
    *("\\text{Var}", "\\text{Cov}", "\\mathbb{E}", "\\mathrm{Var}", "\\mathrm{Cov}"),
}
# Words of which all letters could be indices.
WORDS = {"in", "min", "init", "sim", "lim", "mil", "kin", "nil", "sil"}
# Names that would be read as something else than they mean.
NEVER = {
    "O": "how much O(…) is cannot be executed",
    r"\mathcal{O}": "how much O(…) is cannot be executed",
    r"\operatorname{argmax}": "the place of an extreme cannot be read; declare it as a function",
    r"\operatorname{argmin}": "the place of an extreme cannot be read; declare it as a function",
    r"\mathrm{argmax}": "the place of an extreme cannot be read; declare it as a function",
    r"\mathrm{argmin}": "the place of an extreme cannot be read; declare it as a function",
}


class UnsureError(LatexError):
    """A symbol that could be several things."""


@dataclass(frozen=True)
class Guess:
    """What a symbol could be: its name as it is declared, and its kind in a word.

    The kinds are number, array, vector, matrix, function, index and set.
    """

    name: str
    kind: str

    @property
    def key(self) -> str:
        """The name as a check declares it: with braces around scripts of several signs."""
        before, space, last = self.name.rpartition(" ")
        return f"{braced(before)}{space}{braced(last)}"

    @property
    def is_function(self) -> bool:
        """Whether it is called."""
        return self.kind == "function"


def braced(name: str) -> str:
    """``X_{opt}`` for the ``X_opt`` under which the reader knows it."""
    match = re.fullmatch(
        r"((?:\{[^{}]*\}|[^_^{}])*)(?:_((?:\{[^{}]*\}|[^^{}])*))?(?:\^(.*))?", name, re.DOTALL
    )
    if match is None:
        return name
    base, sub, sup = match.groups()
    # \\vecv was printed as \\vec v.
    accent = re.fullmatch(ACCENTED, base)
    result: str = f"{accent[1]}{{{accent[2]}}}" if accent else base
    for sign, script in (("_", sub), ("^", sup)):
        if script is not None:
            printed = script.replace("star", "*")
            result += sign + (printed if len(printed) == 1 else f"{{{printed}}}")
    return result


def guessed_symbols(text: str, known: Mapping[str, bool] | None = None) -> dict[str, Guess]:
    """A guess for every symbol of a formula that is not known, by its name.

    ``known`` says of the names that are declared whether they are functions.
    """
    found = guesses_on_top(text, dict(known or {}))
    entries = [name for name in found if is_entry(name, found)]
    if not entries:
        return found
    # x_1 beside x_n is an entry of x and no symbol of its own.
    arrays = {name: guess for name, guess in found.items() if name not in entries}
    declared = {**(known or {}), **{name: guess.is_function for name, guess in arrays.items()}}
    return {**arrays, **guesses_on_top(text, declared, entries)}


def is_entry(name: str, found: Mapping[str, Guess]) -> bool:
    """Whether a symbol with a number as its index belongs to an array that is guessed as well."""
    base, mark, index = name.rpartition("_")
    kind = found[base].kind if mark and base in found else ""
    single = index.isdigit() or (index in found and found[index].kind in ("number", "index"))
    return kind.startswith("array") and single


def guesses_on_top(
    text: str, declared: dict[str, bool], entries: Sequence[str] = ()
) -> dict[str, Guess]:
    """The guesses for what is not declared, one after the other.

    First come those with a subscript that is a word, which else would be an index of the symbol
    without it; not the ``entries``, which are known to have an index.
    """
    found: dict[str, Guess] = {}
    for unknown in labelled_factors(text):
        guess = guess_of(unknown, text)
        if guess.name not in declared and guess.name not in entries:
            found[guess.name] = guess
            declared[guess.name] = guess.is_function
    for _ in range(MOST_SYMBOLS):
        try:
            read_any(text, declared)
        except UnknownSymbolError as error:
            guess = guess_of(error.context, text)
            if guess.name in declared:
                raise error from None
            found[guess.name] = guess
            declared[guess.name] = guess.is_function
        else:
            return found
    raise LatexError(f"the formula has more than {MOST_SYMBOLS} unknown symbols", 0, text)


def labelled_factors(text: str) -> Iterator[Unknown]:
    """The symbols of a formula with a subscript that is no number and no index."""
    top = parse(text)
    trees = list(top.iter_subtrees())
    bound: set[str] = set()
    for term in trees:
        if term.data == "factor":
            factor = read_factor(term, text)
            if factor.name in BINDING and factor.sub is not None:
                bound |= set(symbols_in(factor.sub))
    for term in trees:
        if term.data != "term":
            continue
        for place, part in enumerate(term.children):
            if not isinstance(part, Tree):
                continue
            factor = read_factor(part, text)
            if not factor.is_symbol or factor.sub is None:
                continue
            plain = factor.name not in BINDING and not factor.name.startswith("\\operatorname")
            if plain and symbols_in(factor.sub) and names_something(factor, tuple(bound), text):
                yield Unknown(factor, list(term.children), place, tuple(bound))


def guess_of(unknown: Unknown, text: str) -> Guess:
    """The guess for one symbol where it is printed."""
    if unknown.declare is not None:
        name, is_function = unknown.declare
        return Guess(name, "function" if is_function else "array")
    factor = unknown.factor
    place = unknown.place
    parts = unknown.parts
    if is_prefix(factor) and next_name(parts, place, text):
        factor = joined_prefix(factor, read_factor(parts[place + 1], text))
        place += 1
    else:
        forbid_unsure(factor, parts, place, text)
    called = is_called(factor, parts, place, text)
    name = name_of(factor, unknown.running, text)
    return Guess(name, "function" if called else kind_of(factor, name, text))


def unsure(message: str, factor: Factor, text: str) -> UnsureError:
    """The error of a symbol that could be several things."""
    return UnsureError(f"{message}; declare it", factor.position, text)


def forbid_unsure(factor: Factor, parts: list[Part], place: int, text: str) -> None:
    """Refuse a symbol whose name or place gives it more than one meaning."""
    name = factor.name
    if name in NEVER:
        raise UnsureError(NEVER[name], factor.position, text)
    command = isinstance(factor.base, Token) and name.startswith("\\") and "{" not in name
    if command and name.rstrip("'") not in LETTER_COMMANDS:
        raise unsure(f"what does {name} mean?", factor, text)
    if isinstance(factor.base, Tree) and re.search(r"[_^]", canonical(factor.base)):
        raise unsure(f"does {name} have an index?", factor, text)
    font = re.fullmatch(r"(\\[a-z]+)\{([A-Za-z]{2,})\}", name)
    if font and font.group(1) in LETTER_FONTS:
        raise unsure(f"is {name} one symbol or a product?", factor, text)
    if factor.sup is not None and canonical(factor.sup) == "1":
        raise unsure(f"is the 1 above {name} a power?", factor, text)
    following = next_name(parts, place, text)
    if name == "d" and following:
        raise unsure("is d a differential?", factor, text)
    if name == "D" and following in ("f", "g"):
        raise unsure("is D a derivative?", factor, text)
    if is_words(name) and beside_a_factor(parts, place, text):
        raise unsure(f"{name} stands among factors like a word of a sentence", factor, text)


def is_words(name: str) -> bool:
    """Whether a name is printed as a text."""
    return any(name.startswith(f"{piece}{{") for piece in TEXTS)


def beside_a_factor(parts: list[Part], place: int, text: str) -> bool:
    """Whether a factor stands beside it without a sign; a number before it is fine: 8 GB."""
    before = parts[place - 1] if place else None
    after = parts[place + 1] if place + 1 < len(parts) else None
    if isinstance(after, Tree):
        return not read_factor(after, text).bracket
    if isinstance(before, Tree):
        return not read_factor(before, text).is_number
    return False


def is_called(factor: Factor, parts: list[Part], place: int, text: str) -> bool:
    """Whether what follows is the argument of a function and no factor."""
    bracket = next_bracket(parts, place, text)
    if bracket not in ("LPAR", "LBRACK"):
        return False
    if factor.sup is not None and not is_label(factor.sup) and factor.name not in FUNCTION_LETTERS:
        return False
    inside = tree_of(read_factor(parts[place + 1], text).base)
    marks = {part.type for part in inside.children if isinstance(part, Token)}
    several = bool(marks & {"COMMA", "MID"})
    letter = factor.name.rstrip("'") in FUNCTION_LETTERS or factor.name.endswith("'")
    letter = letter or factor.name.startswith(("\\operatorname", *TEXTS, "\\mathrm", *PREFIXES))
    if bracket == "LBRACK":
        if several or letter or is_short(inside):
            raise unsure(f"what does {factor.name}[…] mean?", factor, text)
        return False
    return several or letter or is_short(inside)


def is_short(bracket: Tree[Token]) -> bool:
    """Whether a bracket holds one factor alone: nobody prints a(b) for a product."""
    tree: Part = bracket
    inner = [part for part in bracket.children[1:-1] if isinstance(part, Tree)]
    if len(inner) != 1:
        return False
    tree = inner[0]
    while isinstance(tree, Tree) and tree.data != "factor" and len(tree.children) == 1:
        tree = tree.children[0]
    return isinstance(tree, Tree) and tree.data == "factor"


def name_of(factor: Factor, running: tuple[str, ...], text: str) -> str:
    """The part of a symbol with its scripts that is a name; the rest are indices and powers."""
    sub = factor.sub if factor.sub is not None and names_something(factor, running, text) else None
    sup = factor.sup if factor.sup is not None and is_label(factor.sup) else None
    return full_name(factor.name, sub, sup)


def is_label(sup: Part) -> bool:
    """Whether a superscript is part of a name: (k), a star, a word."""
    printed = canonical(sup)
    if re.fullmatch(r"\(.*\)|star|[+-]|\\ast|\\dagger|\\star", printed):
        return True
    return any(printed.startswith(f"{piece}{{") for piece in (*TEXTS, "\\mathrm"))


def names_something(factor: Factor, running: tuple[str, ...], text: str) -> bool:
    """Whether a subscript is part of a name and no index."""
    assert factor.sub is not None
    if factor.name.startswith("\\mathcal"):
        return True
    letters = symbols_in(factor.sub)
    if set(letters) & set(running):
        return False
    if any(letter.startswith("\\") and letter not in LETTER_COMMANDS for letter in letters):
        if set(letters) & INDEX_LETTERS:
            raise unsure(f"is {full_name(factor.name, factor.sub, None)} a name?", factor, text)
        return True
    plain = "".join(letters)
    if plain in WORDS:
        return True
    if len(letters) >= 3 and canonical(factor.sub) == plain:
        if set(letters) <= INDEX_LETTERS:
            raise unsure(f"is {plain} a word or indices?", factor, text)
        return True
    return not set(letters) & INDEX_LETTERS


def symbols_in(part: Part) -> list[str]:
    """The symbols of a subscript, in order."""
    if isinstance(part, Token):
        return [part.value] if part.type == "SYMBOL" else []
    parts = [child for child in part.children if isinstance(child, Token) or child.data != "sup"]
    return [name for child in parts for name in symbols_in(child)]


def kind_of(factor: Factor, name: str, text: str) -> str:
    """The kind of what is no function."""
    if factor.name.startswith("\\mathcal"):
        return "set"
    letter = re.fullmatch(r"(\\[a-z]+)\{(.*)\}", factor.name)
    bold = letter is not None and letter.group(1) in FONTS and letter.group(1) in LETTER_FONTS
    indexed = factor.sub is not None and name == full_name(
        factor.name, None, factor.sup if factor.sup is not None and is_label(factor.sup) else None
    )
    if letter is not None and bold:
        kind = "matrix" if letter.group(2).lstrip("\\")[:1].isupper() else "vector"
        return f"array of {'matrices' if kind == 'matrix' else 'vectors'}" if indexed else kind
    if indexed:
        return "array"
    return "index" if factor.sub is None and is_an_index(factor.name, text) else "number"


def is_an_index(name: str, text: str) -> bool:
    """Whether a letter that could be an index stands in a subscript."""
    subscripts = parse(text).find_data("sub")
    return name in INDEX_LETTERS and any(name in symbols_in(sub) for sub in subscripts)
