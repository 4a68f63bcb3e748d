"""What all parts of the reader share: the declared symbols, and looking ahead."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from lark import Token, Tree

from texcheck.errors import LatexError
from texcheck.nodes import (
    Chain,
    DottedList,
    Node,
)
from texcheck.parser import canonical, position_of
from texcheck.reading.factors import (
    Factor,
    Part,
    full_name,
    read_factor,
    tree_of,
)
from texcheck.vocabulary import (
    LOOSE_FUNCTIONS,
    MOMENTS,
    NAMED_FUNCTIONS,
    REDUCTIONS,
    bare_name,
    upright,
)


class Core(ABC):
    """What all parts of the reader share; the abstract methods are the seams between them."""

    def __init__(self, text: str, table: Mapping[str, Any]) -> None:
        self.text = text
        self.table = table
        self.bound: list[str] = []
        self.running: list[str] = []
        self.spellings: dict[str, set[str]] = {}
        for name in table:
            self.spellings.setdefault(upright(name), set()).add(name)

    def fail(self, message: str, where: Part | int) -> LatexError:
        """The error of this formula at a part."""
        position = where if isinstance(where, int) else position_of(where)
        return LatexError(message, position, self.text)

    @contextmanager
    def binding(self, names: list[str]) -> Iterator[None]:
        """Let names be bound while an expression is read."""
        self.bound.extend(names)
        self.running.extend(names)
        yield
        del self.bound[len(self.bound) - len(names) :]
        del self.running[len(self.running) - len(names) :]

    def known(self, name: str) -> bool:
        """Whether a name has a meaning here."""
        return name in self.bound or name in self.table

    def declared(self, name: str) -> str | None:
        """The declared name that a printed one stands for."""
        if self.known(name):
            return name
        spelled = self.spellings.get(upright(name), set())
        return next(iter(spelled)) if len(spelled) == 1 else None

    def is_function(self, name: str) -> bool:
        """Whether a name is declared as a function."""
        return name not in self.bound and callable(self.table.get(name))

    def is_dots(self, tree: Part) -> bool:
        """Whether an expression, a term or a cell consists of dots alone."""
        while isinstance(tree, Tree) and len(tree.children) == 1:
            tree = tree.children[0]
        return isinstance(tree, Token) and tree.type == "DOTS"

    def forbid_vertical_dots(self, parts: Sequence[Part]) -> None:
        """Refuse dots that only a matrix can hold."""
        for part in parts:
            if self.is_dots(part) and canonical(part) in ("\\vdots", "\\ddots"):
                raise self.fail(f"{canonical(part)} outside a matrix", part)

    def forbid_scripts(self, factor: Factor) -> None:
        """Refuse scripts that mean nothing here."""
        if factor.sub is not None or factor.sup is not None:
            printed = full_name(factor.name, factor.sub, factor.sup)
            raise self.fail(f"the scripts of {printed} are not understood", factor.position)

    def next_name(self, parts: list[Part], place: int) -> str:
        """The symbol that follows, or an empty text."""
        if place + 1 < len(parts) and isinstance(parts[place + 1], Tree):
            following = read_factor(parts[place + 1], self.text)
            return following.name if following.is_symbol else ""
        return ""

    def next_bracket(self, parts: list[Part], place: int) -> str:
        """The kind of bracket that follows, or an empty text."""
        if place + 1 < len(parts) and isinstance(parts[place + 1], Tree):
            return read_factor(parts[place + 1], self.text).bracket
        return ""

    def lone_symbol(self, tree: Part) -> str:
        """The name of an expression that is one symbol without scripts, or an empty text."""
        while isinstance(tree, Tree) and tree.data != "factor" and len(tree.children) == 1:
            tree = tree.children[0]
        if isinstance(tree, Tree) and tree.data == "factor":
            factor = read_factor(tree, self.text)
            if factor.is_symbol and not (factor.sub or factor.sup or factor.factorials):
                return factor.name
        return ""

    def term_parts(self, part: Part) -> list[Part]:
        """The factors of a group that holds one term, or nothing."""
        if isinstance(part, Token):
            return [Tree("factor", [part])]
        tree: Part = part
        if part.data == "group":
            inner = [child for child in part.children if isinstance(child, Tree)]
            if len(inner) != 1:
                return []
            tree = inner[0]
        while isinstance(tree, Tree) and tree.data != "term" and len(tree.children) == 1:
            tree = tree.children[0]
        return list(tree.children) if isinstance(tree, Tree) and tree.data == "term" else []

    def only_expression(self, chain: Part) -> Node:
        """Read a part that must be one expression."""
        tree = tree_of(chain)
        if tree.data == "piece":
            if len(tree.children) != 1 or not isinstance(tree.children[0], Tree):
                raise self.fail("a slice cannot stand here", tree)
            tree = tree.children[0]
        if tree.data == "chain":
            if len(tree.children) > 1:
                raise self.fail("a relation cannot stand here", tree.children[1])
            tree = tree_of(tree.children[0])
        return self.expression(tree)

    def single(self, part: Part) -> Node:
        """An argument: one token or a group."""
        if isinstance(part, Token):
            if part.type not in ("SYMBOL", "NUMBER"):
                raise self.fail(f"{part.value} cannot stand here", part)
            return self.operand([Tree("factor", [part])], 0)[0]
        if part.data == "group":
            return self.group(part)
        return self.operand([Tree("factor", [part])], 0)[0]

    def group(self, tree: Tree[Token]) -> Node:
        """Read what stands between braces."""
        pieces = [child for child in tree.children if isinstance(child, Tree)]
        if len(pieces) != 1 or len(tree.children) != 3:
            raise self.fail("this group is not one expression", tree)
        return self.only_expression(pieces[0])

    def match(self, factor: Factor) -> tuple[str, Part | None, Part | None] | None:
        """The longest declared name in a symbol with its scripts, and the scripts left over."""
        name, sub, sup = factor.name, factor.sub, factor.sup
        if sub is not None and sup is not None:
            both = self.declared(full_name(name, sub, sup))
            if both is not None:
                return both, None, None
            lower = self.declared(full_name(name, sub, None))
            upper = self.declared(full_name(name, None, sup))
            if lower is not None and upper is not None:
                raise self.fail(
                    f"{lower} and {upper} are both declared, "
                    f"so {full_name(name, sub, sup)} is ambiguous",
                    factor.position,
                )
            if lower is not None:
                return lower, None, sup
            if upper is not None:
                return upper, sub, None
        elif sub is not None or sup is not None:
            whole = self.declared(full_name(name, sub, sup))
            if whole is not None:
                return whole, None, None
        bare = self.declared(name)
        return None if bare is None else (bare, sub, sup)

    def takes_argument(self, part: Part) -> bool:
        """Whether a factor takes what follows it as its argument."""
        factor = read_factor(part, self.text)
        if not factor.is_symbol or self.match(factor) is not None:
            return False
        name = factor.name
        named = name.startswith("\\") and bare_name(name) in {*NAMED_FUNCTIONS, *MOMENTS}
        return named or name in LOOSE_FUNCTIONS or name in REDUCTIONS or name == "\\int"

    def is_parenthesised(self, sup: Part) -> bool:
        """Whether a superscript stands in parentheses."""
        return bool(re.fullmatch(r"\([^()]*\)", canonical(sup)))

    def listed(self, chains: list[Tree[Token]]) -> list[Node]:
        """Read a list, in which dots may stand."""
        gaps = [k for k, chain in enumerate(chains) if self.is_dots(chain)]
        self.forbid_vertical_dots(chains)
        if not gaps:
            return [self.only_expression(chain) for chain in chains]
        if len(gaps) > 1 or gaps[0] in (0, len(chains) - 1):
            raise self.fail("dots need entries before and after them", chains[gaps[0]])
        nodes = tuple(
            None if k == gaps[0] else self.only_expression(chain) for k, chain in enumerate(chains)
        )
        return [DottedList(nodes, position=position_of(chains[0]))]

    def bracket_arguments(self, part: Part) -> list[Node]:
        """The arguments between brackets; ``x_1, \\ldots, x_n`` stays a pattern."""
        tree = tree_of(read_factor(part, self.text).base)
        chains = [child for child in tree.children[1:-1] if isinstance(child, Tree)]
        return self.listed(chains)

    # -- the other parts of the reader ---------------------------------------------------------

    @abstractmethod
    def expression(self, tree: Tree[Token]) -> Node:
        """A sum of terms."""

    @abstractmethod
    def product(self, parts: list[Part]) -> Node:
        """Factors and the operators between them."""

    @abstractmethod
    def operand(self, parts: list[Part], place: int) -> tuple[Node, int]:
        """The factor at a place with what it takes as its argument, and the next place."""

    @abstractmethod
    def forbid_side_by_side(self, part: Part, after_slash: bool) -> None:
        """Refuse factors whose reading beside each other is unclear."""

    @abstractmethod
    def symbol(self, factor: Factor, parts: list[Part], place: int) -> tuple[Node, int]:
        """A symbol: declared, bound, or a known construct."""

    @abstractmethod
    def base(self, factor: Factor) -> Node:
        """What stands on the line and is no symbol."""

    @abstractmethod
    def with_scripts(self, node: Node, sub: Part | None, sup: Part | None, factor: Factor) -> Node:
        """A node with its index, its power and its factorials."""

    @abstractmethod
    def indices(self, sub: Part) -> list[Node]:
        """The indices below a symbol."""

    @abstractmethod
    def separate_indices(self, sub: Part) -> list[Node]:
        """The indices below a symbol, letter by letter."""

    @abstractmethod
    def relation_chain(self, tree: Tree[Token]) -> Chain:
        """Sides and the relations between them."""

    @abstractmethod
    def reduction(
        self, kind: str, factor: Factor, parts: list[Part], place: int
    ) -> tuple[Node, int]:
        """A sum, a product or an extreme over an index."""

    @abstractmethod
    def integral(self, factor: Factor, parts: list[Part], place: int) -> tuple[Node, int]:
        """An integral up to its differential."""

    @abstractmethod
    def moment(self, kind: str, factor: Factor, parts: list[Part], place: int) -> tuple[Node, int]:
        """An expectation, a variance, a covariance or a probability."""

    @abstractmethod
    def indicator(self, parts: list[Part], place: int) -> tuple[Node, int]:
        """1 where a condition in brackets holds."""

    @abstractmethod
    def gradient(self, factor: Factor, parts: list[Part], place: int) -> tuple[Node, int]:
        """The derivative by the variable below the sign."""
