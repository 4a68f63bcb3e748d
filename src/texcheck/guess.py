"""What the symbols of a formula could be, where nobody has declared them.

The formula is read; whenever the reader meets a symbol without a meaning, one is guessed from how
it is printed, until all of it is read. Where two guesses are as good: ``UnsureError``.
"""

from __future__ import annotations

import functools
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
    tokens_of,
    tree_of,
)
from texcheck.reading.parts import (
    holds_one_factor,
    is_label,
    is_prefix,
    lone_symbol,
    next_bracket,
    next_name,
    term_parts,
    trees_in,
)
from texcheck.reading.reader import Unknown
from texcheck.reading.statements import read_any
from texcheck.vocabulary import (
    ACCENTS,
    DIFFERENTIALS,
    FONTS,
    LETTER_FONTS,
    LOOSE_FUNCTIONS,
    MOMENTS,
    OPEN_OPERATORS,
    OPEN_SIGNS,
    OPERATORS,
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
# Letters that are functions behind a D.
DIFFERENTIATED = {"f", "g", "h", r"\phi", r"\varphi", r"\psi"}
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


@dataclass(frozen=True)
class Printed:
    """How the symbols of a formula are printed, by their names without scripts.

    ``bare``: without a subscript; ``called``: with an argument and without a subscript;
    ``subs``:
    the subscripts of each; ``dotted``: in a formula with dots, with a number and with a letter as
    subscripts; ``scalars``: alone on a side of a relation, added to a number, or differentiated;
    ``normed``: a term between the double bars of a norm;
    ``elsewhere``: all that are no subscripts.
    """

    bare: frozenset[str]
    called: frozenset[str]
    subs: Mapping[str, frozenset[str]]
    dotted: frozenset[str]
    scalars: frozenset[str]
    normed: frozenset[str]
    elsewhere: frozenset[str]


@functools.lru_cache(maxsize=8)
def printed_in(text: str) -> Printed:
    """How the symbols of a formula are printed."""
    top = parse(text)
    bare: set[str] = set()
    called: set[str] = set()
    subs: dict[str, set[str]] = {}
    elsewhere: set[str] = set()
    for factor, parts, place in factors_of(top, text):
        name = labelled(factor)
        if factor.sub is None:
            bare.add(name)
            bracket = next_bracket(parts, place, text)
            if bracket == "LPAR" and called_here(factor, parts, place, text):
                called.add(name)
        elif factor.name not in BINDING:
            subs.setdefault(name, set()).add(canonical(factor.sub))
        if factor.sup is not None:
            elsewhere |= set(symbols_in(factor.sup))
        elsewhere.add(factor.name)
    has_dots = any(token.type == "DOTS" for token in tokens_of(top))
    dotted = {
        name
        for name, found in subs.items()
        if has_dots
        and len(found) > 1
        and any(re.search(r"\d", one) for one in found)
        and any(re.search(r"[A-Za-z]", one) for one in found)
    }
    scalars = {name for part in top.find_data("expr") for name in added_to_numbers(part, text)}
    scalars |= {name for part in top.find_data("fraction") for name in differentiated(part, text)}
    for chain in top.find_data("chain"):
        if chain in top.children and len(chain.children) > 1:
            scalars |= {lone_symbol(side, text) for side in chain.children}
    return Printed(
        frozenset(bare),
        frozenset(called),
        {name: frozenset(found) for name, found in subs.items()},
        frozenset(dotted),
        frozenset(scalars - {""}),
        frozenset(name for part in top.find_data("bracket") for name in normed_in(part, text)),
        frozenset(elsewhere),
    )


def factors_of(top: Tree[Token], text: str) -> Iterator[tuple[Factor, list[Part], int]]:
    """The symbols of a formula with their scripts, each in its product."""
    for term in top.iter_subtrees():
        if term.data != "term":
            continue
        for place, part in enumerate(term.children):
            if isinstance(part, Tree):
                factor = read_factor(part, text)
                if factor.is_symbol:
                    yield factor, list(term.children), place


def normed_in(bracket: Tree[Token], text: str) -> Iterator[str]:
    """The symbols that are terms between the double bars of a norm, as in ``\\|x - y\\|``."""
    if not isinstance(bracket.children[0], Token) or bracket.children[0].type != "LNORM":
        return
    for chain in trees_in(bracket.children):
        for term in trees_in(tree_of(chain.children[0]).children):
            factors = [read_factor(part, text) for part in trees_in(term.children)]
            if len(factors) == 1 and factors[0].is_symbol and factors[0].sub is None:
                yield labelled(factors[0])


def added_to_numbers(expression: Tree[Token], text: str) -> Iterator[str]:
    """The symbols that are added to a number, as p is in ``4p - 2``."""
    terms = trees_in(expression.children)
    products = [[read_factor(part, text) for part in trees_in(term.children)] for term in terms]
    if any(len(product) == 1 and product[0].is_number for product in products):
        for product in products:
            names = [factor for factor in product if not factor.is_number]
            if len(names) == 1 and names[0].is_symbol and names[0].sub is None:
                yield labelled(names[0])


def differentiated(fraction: Tree[Token], text: str) -> Iterator[str]:
    """The symbol of which a fraction is the derivative, unless it is bold: y may be an array."""
    above = [part for part in term_parts(fraction.children[1]) if isinstance(part, Tree)]
    factors = [read_factor(part, text) for part in above]
    if len(factors) != 2 or factors[0].name not in (*DIFFERENTIALS, "d"):
        return
    if factors[1].is_symbol and factors[1].sub is None and not is_bold(factors[1].name):
        yield labelled(factors[1])


def labelled(factor: Factor) -> str:
    """The name of a symbol with its superscript, where that is part of it."""
    sup = factor.sup if factor.sup is not None and is_label(factor.sup) else None
    return full_name(factor.name, None, sup)


def called_here(factor: Factor, parts: list[Part], place: int, text: str) -> bool:
    """Whether a symbol is called, as far as that is sure."""
    try:
        return is_called(factor, parts, place, text)
    except UnsureError:
        return False


def guesses_on_top(
    text: str, declared: dict[str, bool], entries: Sequence[str] = ()
) -> dict[str, Guess]:
    """The guesses for what is not declared, one after the other.

    First come those with a subscript that is a word, which else would be an index of the symbol
    without it; not the ``entries``, which are known to have an index.
    """
    found: dict[str, Guess] = {}
    for unknown in labelled_factors(text, declared):
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


def labelled_factors(text: str, declared: Mapping[str, bool]) -> Iterator[Unknown]:
    """The symbols of a formula with a subscript that is no number and no index."""
    top = parse(text)
    bound: set[str] = set()
    for factor in (read_factor(part, text) for part in top.find_data("factor")):
        if factor.name in BINDING and factor.sub is not None:
            bound |= set(symbols_in(factor.sub))
    for factor, parts, place in factors_of(top, text):
        if factor.name in BINDING or is_declared(factor, declared):
            continue
        if factor.sup is not None and canonical(factor.sup) == "1":
            raise unsure(f"is the 1 above {factor.name} a power?", factor, text)
        if factor.sub is None or factor.name.startswith("\\operatorname"):
            continue
        if symbols_in(factor.sub) and not names_surely(factor, tuple(bound), text):
            forbid_two_kinds(factor, parts, place, text)
        named = symbols_in(factor.sub) or is_numbered(factor, text)
        if named and names_something(factor, tuple(bound), text):
            yield Unknown(factor, parts, place, tuple(bound))


def is_declared(factor: Factor, declared: Mapping[str, bool]) -> bool:
    """Whether a check has said what a symbol is, with or without its scripts."""
    scripts = [(sub, sup) for sub in (None, factor.sub) for sup in (None, factor.sup)]
    return any(full_name(factor.name, sub, sup) in declared for sub, sup in scripts)


def forbid_two_kinds(factor: Factor, parts: list[Part], place: int, text: str) -> None:
    """Refuse ``X = \\sum_i X_i`` and ``\\eta(t) = \\eta_i``, where one name has two meanings."""
    found = printed_in(text)
    name = labelled(factor)
    if name in found.dotted and name not in found.called:
        return
    if name in found.scalars and not matrices_in(text):
        raise unsure(f"is {name} a number, or all of {name}_{canonical_sub(factor)}?", factor, text)
    if name in found.called and next_bracket(parts, place, text) not in ("LPAR", "LBRACK"):
        printed = f"{name}_{canonical_sub(factor)}"
        raise unsure(f"is {printed} a value of the function {name}?", factor, text)


def canonical_sub(factor: Factor) -> str:
    """The subscript of a symbol."""
    return canonical(factor.sub) if factor.sub is not None else ""


def matrices_in(text: str) -> bool:
    """Whether a formula has a matrix, of which an entry may be printed beside its name."""
    return any(True for _ in parse(text).find_data("matrix"))


def is_numbered(factor: Factor, text: str) -> bool:
    """Whether ``\\mathbf{x}_0`` is a vector of its own, and no entry of ``\\mathbf{x}``."""
    found = printed_in(text)
    name = labelled(factor)
    if name in found.dotted or any(not one.isdigit() for one in found.subs[name]):
        return False
    if name in found.called:
        return True
    return name in found.bare and (is_bold(factor.name) or name != factor.name)


def is_bold(name: str) -> bool:
    """Whether a name is printed in a bold font, which vectors and matrices are."""
    return bool(re.search(r"\\(?:mathbf|boldsymbol|bm)\{", name))


def guess_of(unknown: Unknown, text: str) -> Guess:
    """The guess for one symbol where it is printed."""
    if unknown.declare is not None:
        name, is_function = unknown.declare
        if name.partition("_")[0] in OPERATORS or name.partition("_")[0] in OPEN_OPERATORS:
            raise unsure(f"what does {name} mean?", unknown.factor, text)
        if name in OPEN_SIGNS:
            raise UnsureError(
                f"{OPEN_SIGNS[name]}; or declare it as a function of both sides",
                unknown.factor.position,
                text,
            )
        return Guess(name, "function" if is_function else kind_of_name(name))
    factor = unknown.factor
    place = unknown.place
    parts = unknown.parts
    if factor.name not in ("D", "d") and is_prefix(factor) and next_name(parts, place, text):
        factor = joined_prefix(factor, read_factor(parts[place + 1], text))
        place += 1
    else:
        forbid_unsure(factor, parts, place, text)
    called = is_called(factor, parts, place, text)
    twofold = not called and factor.sub is None and labelled(factor) in printed_in(text).called
    if twofold and not is_differentiated(parts, place, text):
        raise unsure(f"is {factor.name} a function, or a value?", factor, text)
    name = name_of(factor, unknown.running, text)
    return Guess(name, "function" if called else kind_of(factor, name, text))


def is_differentiated(parts: list[Part], place: int, text: str) -> bool:
    """Whether a d stands before a symbol: a function is differentiated without its argument."""
    before = parts[place - 1] if place else None
    return isinstance(before, Tree) and read_factor(before, text).name in (*DIFFERENTIALS, "d")


def kind_of_name(name: str) -> str:
    """The kind of a symbol whose name is all that is known: x^*, or the new value of x."""
    letter = re.search(r"\\(?:mathbf|boldsymbol|bm)\{\\?([A-Za-z])", name)
    if letter is None:
        return "number"
    return "matrix" if letter.group(1).isupper() else "vector"


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
    if name == "d" and (following or next_bracket(parts, place, text)):
        letter = following or "…"
        raise unsure(
            f'is d{letter} a differential, "d {letter}", or a product with d?', factor, text
        )
    bracketed = next_bracket(parts, place, text) in ("LPAR", "LSET")
    if name == "E" and (bracketed or following == "E"):
        raise unsure("is E an expectation? print \\mathbb{E}, or declare E", factor, text)
    if name == "D" and re.sub(r"\\[a-z]+\{(.*)\}", r"\1", following) in DIFFERENTIATED:
        raise unsure("is D a derivative?", factor, text)
    worded = is_words(name) or name.startswith("\\operatorname{")
    if worded and beside_a_factor(parts, place, text):
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
    if factor.sub is None and is_inside(factor, inside, text):
        return False
    marks = {part.type for part in inside.children if isinstance(part, Token)}
    several = bool(marks & {"COMMA", "MID"})
    letter = factor.name.rstrip("'") in FUNCTION_LETTERS or factor.name.endswith("'")
    letter = letter or factor.name.startswith(("\\operatorname", *TEXTS, "\\mathrm", *PREFIXES))
    if bracket == "LBRACK":
        if several or letter or holds_one_factor(inside):
            raise unsure(f"what does {factor.name}[…] mean?", factor, text)
        return False
    if not (several or letter) and read_factor(parts[place + 1], text).sup is not None:
        # c (e^{(k)})^2 needs its brackets for the power, and a(b)^2 could be both.
        if holds_one_factor(inside) and not power_inside(inside, text):
            raise unsure(f"is {factor.name}(…) with its power a product?", factor, text)
        return False
    # Nobody prints a(b) for a product.
    return several or letter or holds_one_factor(inside) or holds_a_call(inside, text)


def holds_a_call(bracket: Tree[Token], text: str) -> bool:
    """Whether a bracket holds nothing but a letter with its own bracket: D(G(z))."""
    parts = term_parts(Tree("group", bracket.children))
    if len(parts) != 2 or not all(isinstance(part, Tree) for part in parts):
        return False
    first, second = (read_factor(part, text) for part in parts)
    inside = holds_one_factor(second.base) if second.bracket == "LPAR" else False
    return first.is_symbol and first.sup is None and inside


def is_inside(factor: Factor, bracket: Tree[Token], text: str) -> bool:
    """Whether a symbol stands in the bracket behind it and is not called there: p(1 - p)."""
    for other, parts, place in factors_of(bracket, text):
        if other.name == factor.name and other.sub is None:
            return next_bracket(parts, place, text) == ""
    return False


def power_inside(bracket: Tree[Token], text: str) -> bool:
    """Whether what is between brackets has a superscript itself."""
    return any(read_factor(part, text).sup is not None for part in bracket.find_data("factor"))


def name_of(factor: Factor, running: tuple[str, ...], text: str) -> str:
    """The part of a symbol with its scripts that is a name; the rest are indices and powers."""
    sub = factor.sub if factor.sub is not None and names_something(factor, running, text) else None
    sup = factor.sup if factor.sup is not None and is_label(factor.sup) else None
    return full_name(factor.name, sub, sup)


def names_something(factor: Factor, running: tuple[str, ...], text: str) -> bool:
    """Whether a subscript is part of a name and no index."""
    assert factor.sub is not None
    if factor.name.startswith("\\mathcal"):
        return True
    letters = symbols_in(factor.sub)
    if set(letters) & set(running) or labelled(factor) in printed_in(text).dotted:
        return False
    if is_named_like_others(factor, text):
        return True
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


def is_named_like_others(factor: Factor, text: str) -> bool:
    """Whether W_k stands beside W_q, and k nowhere else: then it is a name as W_q is one."""
    found = printed_in(text)
    own = canonical_sub(factor)
    if own not in INDEX_LETTERS or own in found.elsewhere:
        return False
    others = found.subs.get(labelled(factor), frozenset()) - {own}
    if any(
        own in one for name, subs in found.subs.items() for one in subs if name != labelled(factor)
    ):
        return False
    return any(re.fullmatch(r"[A-Za-z]", one) and one not in INDEX_LETTERS for one in others)


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
    accented = re.fullmatch(ACCENTED, factor.name)
    inner = accented[2] if accented and is_bold(factor.name) else factor.name
    letter = re.fullmatch(r"(\\[a-z]+)\{(.*)\}", inner)
    bold = letter is not None and letter.group(1) in FONTS and letter.group(1) in LETTER_FONTS
    indexed = factor.sub is not None and name == full_name(
        factor.name, None, factor.sup if factor.sup is not None and is_label(factor.sup) else None
    )
    if letter is not None and bold:
        kind = "matrix" if letter.group(2).lstrip("\\")[:1].isupper() else "vector"
        indexed = indexed or is_indexed(factor, name, text)
        return f"array of {'matrices' if kind == 'matrix' else 'vectors'}" if indexed else kind
    if indexed:
        return "array"
    if is_indexed(factor, name, text):
        return "array"
    if name in printed_in(text).normed:
        return "matrix" if factor.name[:1].isupper() else "vector"
    return "index" if factor.sub is None and is_an_index(factor.name, text) else "number"


def is_indexed(factor: Factor, name: str, text: str) -> bool:
    """Whether a symbol that is printed alone here has an index elsewhere in the formula."""
    if factor.sub is not None or name in BINDING:
        return False
    indexed = (
        other
        for other, _, _ in factors_of(parse(text), text)
        if other.sub is not None and labelled(other) == name
    )
    return any(not names_surely(other, (), text) for other in indexed)


def names_surely(factor: Factor, running: tuple[str, ...], text: str) -> bool:
    """Whether a subscript is part of a name; False where it could be indices as well."""
    try:
        return names_something(factor, running, text)
    except UnsureError:
        return False


def is_an_index(name: str, text: str) -> bool:
    """Whether a letter that could be an index stands in a subscript."""
    subscripts = parse(text).find_data("sub")
    return name in INDEX_LETTERS and any(name in symbols_in(sub) for sub in subscripts)
