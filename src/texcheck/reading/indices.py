"""What binds an index or a variable: sums, integrals, moments, gradients."""

from __future__ import annotations

from lark import Token, Tree

from texcheck.nodes import (
    Bounds,
    Derivative,
    Indicator,
    Integral,
    KnownCall,
    Moment,
    Node,
    Number,
    Reduction,
    names_in,
)
from texcheck.reading.core import Core
from texcheck.reading.factors import (
    Factor,
    Part,
    parse_token_chain,
    read_factor,
    tree_of,
)
from texcheck.vocabulary import (
    CONSTANTS,
    EXTREMES,
)


class Indices(Core):
    """Reads the constructs that bind an index."""

    def reduction(
        self, kind: str, factor: Factor, parts: list[Part], place: int
    ) -> tuple[Node, int]:
        """Read a sum, product, maximum or minimum with its range."""
        if factor.sub is None:
            if kind not in EXTREMES:
                raise self.fail(f"{factor.name} without an index below it", factor.position)
            if self.next_bracket(parts, place) not in ("LPAR", "LBRACK", "LSET"):
                raise self.fail(
                    f"{factor.name} needs an index below it or brackets", factor.position
                )
            self.forbid_scripts(factor)
            scripts = read_factor(parts[place + 1], self.text)
            arguments = self.bracket_arguments(parts[place + 1])
            node: Node = KnownCall(kind, tuple(arguments), position=factor.position)
            return self.with_scripts(node, scripts.sub, scripts.sup, scripts), place + 2
        pieces = self.index_chains(factor.sub)
        names, ranges, conditions = self.index_bounds(pieces, factor)
        rest = parts[place + 1 :]
        if not rest or isinstance(rest[0], Token):
            raise self.fail(f"{factor.name} has nothing to act on", factor.position)
        if kind != "sum" and any(isinstance(part, Token) and part == "/" for part in rest):
            raise self.fail(
                f"a/b after {factor.name} is ambiguous; write \\frac or brackets", factor.position
            )
        self.forbid_own_index(names, ranges, factor)
        with self.binding(names):
            tests = tuple(self.relation_chain(chain) for chain in conditions)
            body = self.product(rest)
        if kind not in ("sum", "product") and not set(names) & names_in(body):
            raise self.fail(f"{factor.name} over {', '.join(names)} does nothing", factor.position)
        node = Reduction(kind, tuple(names), tuple(ranges), tests, body, position=factor.position)
        return node, len(parts)

    def forbid_own_index(
        self, names: list[str], ranges: list[Bounds | None], factor: Factor
    ) -> None:
        """``\\sum_{n=0}^{n} n``: an index in its own bounds, or one that already runs."""
        used = {name for stated in ranges if stated for end in stated for name in names_in(end)}
        for name in names:
            if name in used:
                raise self.fail(f"the index {name} stands in its own bounds", factor.position)
            if name in self.running:
                raise self.fail(f"the index {name} is running already", factor.position)
        if len(set(names)) < len(names):
            raise self.fail(f"one index twice below {factor.name}", factor.position)

    def index_chains(self, sub: Part) -> list[Tree[Token]]:
        """The conditions below a sum."""
        if isinstance(sub, Token):
            return list(parse_token_chain(sub))
        pieces = [child for child in sub.children if isinstance(child, Tree)]
        chains = []
        for piece in pieces:
            inner = [child for child in piece.children if isinstance(child, Tree)]
            if piece.data == "piece" and len(inner) == 1 and len(piece.children) == 1:
                chains.append(inner[0])
            else:
                raise self.fail("this index range is not understood", piece)
        if not chains:
            raise self.fail("this index range is not understood", sub)
        return chains

    def index_bounds(
        self, chains: list[Tree[Token]], factor: Factor
    ) -> tuple[list[str], list[Bounds | None], list[Tree[Token]]]:
        """The indices bound under a sum, their stated ranges, and further conditions."""
        names: list[str] = []
        ranges: list[Bounds | None] = []
        conditions: list[Tree[Token]] = []
        upper = None if factor.sup is None else self.single(factor.sup)
        for chain in chains:
            sides = [child for child in chain.children if isinstance(child, Tree)]
            symbols = [self.lone_symbol(side) for side in sides]
            if len(sides) == 1:
                if not symbols[0]:
                    raise self.fail("an index below a sum must be a symbol", chain)
                names.append(symbols[0])
                ranges.append(None)
                continue
            relation = chain.children[1]
            assert isinstance(relation, Token)
            if len(sides) == 2 and relation.value == "=" and symbols[0]:
                if upper is None:
                    raise self.fail("the upper end of the range is missing", chain)
                names.append(symbols[0])
                ranges.append((self.expression(sides[1]), upper))
                upper = None
                continue
            fresh = [s for s in symbols if s and not self.known(s) and s not in CONSTANTS]
            fresh = [s for s in fresh if s not in names]
            if not fresh and not set(symbols) & set(names):
                if symbols[0]:
                    fresh = [symbols[0]]
                else:
                    raise self.fail("no index is bound by this condition", chain)
            names.extend(fresh)
            ranges.extend([None] * len(fresh))
            conditions.append(chain)
        if upper is not None:
            raise self.fail("an upper end without an index that starts below", factor.position)
        return names, ranges, conditions

    def integral(self, factor: Factor, parts: list[Part], place: int) -> tuple[Node, int]:
        """Read an integral up to its differential."""
        if factor.sub is None or factor.sup is None:
            raise self.fail("an integral needs both bounds", factor.position)
        low, high = self.single(factor.sub), self.single(factor.sup)
        inner = 0
        for end in range(place + 1, len(parts) - 1):
            first, second = parts[end], parts[end + 1]
            if isinstance(first, Token) or isinstance(second, Token):
                continue
            marker, variable = read_factor(first, self.text), read_factor(second, self.text)
            inner += marker.name == "\\int"
            if marker.name not in ("d", "\\mathrm{d}") or marker.sub or marker.sup:
                continue
            if not variable.is_symbol or variable.sub or variable.sup or variable.factorials:
                continue
            if marker.name == "d" and variable.name in self.table and "d" in self.table:
                continue
            if inner:  # this differential belongs to an integral further inside
                inner -= 1
                continue
            inside = parts[place + 1 : end]
            if inside and isinstance(inside[-1], Token) and inside[-1] == "dot":
                inside.pop()  # f(t) \\cdot dt
            if variable.name in names_in(low) | names_in(high) | set(self.running):
                raise self.fail(
                    f"{variable.name} is bound by the integral and used outside it", second
                )
            with self.binding([variable.name]):
                body = self.product(inside) if inside else Number(1, position=factor.position)
            node = Integral(variable.name, low, high, body, position=factor.position)
            return node, end + 2
        raise self.fail(
            "an integral without its differential, such as \\mathrm{d}t", factor.position
        )

    def moment(self, kind: str, factor: Factor, parts: list[Part], place: int) -> tuple[Node, int]:
        """Read an expectation, variance, covariance or probability."""
        if self.next_bracket(parts, place) not in ("LPAR", "LBRACK", "LSET"):
            raise self.fail(f"{factor.name} needs its argument in brackets", factor.position)
        over: tuple[str, ...] = ()
        if factor.sub is not None:
            over = tuple(self.lone_symbol(chain) for chain in self.index_chains(factor.sub))
            if not all(over):
                raise self.fail("the variables below an expectation must be symbols", factor.sub)
        if factor.sup is not None:
            raise self.fail(
                f"write the power of {factor.name} behind its brackets", factor.position
            )
        scripts = read_factor(parts[place + 1], self.text)
        tree = tree_of(scripts.base)
        chains = [child for child in tree.children[1:-1] if isinstance(child, Tree)]
        chains, given = self.split_at_condition(chains)
        if kind == "probability":
            arguments: list[Node] = [self.relation_chain(chain) for chain in chains]
        else:
            arguments = [self.only_expression(chain) for chain in chains]
            if len(arguments) != (2 if kind == "covariance" else 1):
                raise self.fail(f"wrong number of arguments for {factor.name}", factor.position)
        tests = tuple(self.relation_chain(chain) for chain in given)
        node = Moment(kind, over, tuple(arguments), tests, position=factor.position)
        return self.with_scripts(node, scripts.sub, scripts.sup, scripts), place + 2

    def split_at_condition(
        self, chains: list[Tree[Token]]
    ) -> tuple[list[Tree[Token]], list[Tree[Token]]]:
        """What stands before and after ``\\mid`` between the brackets of a moment."""
        for k, chain in enumerate(chains):
            values = [child.value if isinstance(child, Token) else "" for child in chain.children]
            if "divides" in values:
                gap = values.index("divides")
                left: Tree[Token] = Tree("chain", chain.children[:gap])
                right: Tree[Token] = Tree("chain", chain.children[gap + 1 :])
                return [*chains[:k], left], [right, *chains[k + 1 :]]
        return chains, []

    def indicator(self, parts: list[Part], place: int) -> tuple[Node, int]:
        """Read an indicator with its conditions."""
        scripts = read_factor(parts[place + 1], self.text)
        tree = tree_of(scripts.base)
        chains = [child for child in tree.children[1:-1] if isinstance(child, Tree)]
        tests = tuple(self.relation_chain(chain) for chain in chains)
        node = Indicator(tests, position=scripts.position)
        return self.with_scripts(node, scripts.sub, scripts.sup, scripts), place + 2

    def gradient(self, factor: Factor, parts: list[Part], place: int) -> tuple[Node, int]:
        r"""Read `\\nabla` with its variable."""
        if factor.sub is None:
            raise self.fail("\\nabla needs the variable below it: \\nabla_x", factor.position)
        if factor.sup is not None or place + 1 >= len(parts):
            raise self.fail("\\nabla_x needs an expression behind it", factor.position)
        variable = self.single(factor.sub)
        body = self.product(parts[place + 1 :])
        return Derivative(body, (variable,), position=factor.position), len(parts)
