"""How each construct is read."""

from __future__ import annotations

from dataclasses import replace

from lark import Token, Tree

from texcheck import nodes
from texcheck.nodes import Bounds, Chain, Node
from texcheck.parser import (
    Factor,
    Part,
    bare_name,
    canonical,
    full_name,
    joined_difference,
    long_argument,
    position_of,
    read_factor,
    tree_of,
)
from texcheck.reading.lists import read_arguments, read_list
from texcheck.reading.names import match, takes_argument
from texcheck.reading.parts import (
    is_dots,
    lone_symbol,
    next_bracket,
    next_name,
    term_parts,
)
from texcheck.reading.reader import Reader
from texcheck.reading.relations import read_chain
from texcheck.reading.scripts import forbid_scripts, read_indices, separate_indices, with_scripts
from texcheck.vocabulary import (
    CONSTANTS,
    DIFFERENCE,
    DIFFERENTIALS,
    EXTREMES,
    INDICATORS,
    LOOSE_FUNCTIONS,
    LOOSE_NAMES,
    MOMENTS,
    NAMED_FUNCTIONS,
    NORMS,
    NUMBER_SETS,
    REDUCTIONS,
)

# The functions that are printed as brackets.
BRACKETS = {"LFLOOR": "floor", "LCEIL": "ceil", "LBAR": "abs"}


def read_operand(reader: Reader, parts: list[Part], place: int) -> tuple[Node, int]:
    """Read the factor at ``place`` with what it takes as its argument."""
    factor = read_factor(parts[place], reader.text)
    if factor.is_symbol:
        return read_symbol(reader, factor, parts, place)
    node = read_base(reader, factor)
    if isinstance(node, nodes.Derivative) and node.body is None:
        if place + 1 >= len(parts):
            raise reader.fail("a derivative of nothing", factor.position)
        body = reader.product(parts[place + 1 :])
        return replace(node, body=body), len(parts)
    if factor.bracket in ("LNORM", "LBAR"):
        return with_scripts(reader, node, None, factor.sup, factor), place + 1
    return with_scripts(reader, node, factor.sub, factor.sup, factor), place + 1


def read_symbol(reader: Reader, factor: Factor, parts: list[Part], place: int) -> tuple[Node, int]:
    """Read a symbol: declared, or known to every book."""
    found = match(reader, factor)
    plain = not (factor.sub or factor.sup)
    if (
        found is None
        and plain
        and factor.name == DIFFERENCE
        and next_name(parts, place, reader.text)
    ):
        joined = joined_difference(read_factor(parts[place + 1], reader.text), factor.position)
        found = match(reader, joined)
        if found is not None:
            factor, place = joined, place + 1
    if found is not None:
        name, sub, sup = found
        if reader.scope.is_function(name):
            return read_declared_call(reader, name, sub, sup, factor, parts, place)
        node: Node = nodes.Symbol(name, position=factor.position)
        return with_scripts(reader, node, sub, sup, factor), place + 1
    return read_known_symbol(reader, factor, parts, place)


def read_known_symbol(
    reader: Reader, factor: Factor, parts: list[Part], place: int
) -> tuple[Node, int]:
    """Read what needs no declaration."""
    name, bare = factor.name, bare_name(factor.name)
    if isinstance(factor.base, Tree):
        return read_accent(reader, factor), place + 1
    if name in CONSTANTS:
        node = nodes.Constant(name, position=factor.position)
        return with_scripts(reader, node, factor.sub, factor.sup, factor), place + 1
    if name in REDUCTIONS:
        return read_reduction(reader, REDUCTIONS[name], factor, parts, place)
    if name == "\\int":
        return read_integral(reader, factor, parts, place)
    if bare in MOMENTS and name != bare:
        return read_moment(reader, MOMENTS[bare], factor, parts, place)
    if name in INDICATORS and next_bracket(parts, place, reader.text):
        forbid_scripts(reader, factor)
        return read_indicator(reader, parts, place)
    if name == "\\delta" and factor.sub is not None and factor.sup is None:
        indices = separate_indices(reader, factor.sub)
        if len(indices) != 2:
            raise reader.fail("the Kronecker delta needs two indices", factor.position)
        printed = "the first index", "the second"
        equal = Chain(tuple(indices), ("=",), (factor.position,), printed)
        return nodes.Indicator((equal,), position=factor.position), place + 1
    if name in LOOSE_FUNCTIONS or (bare in NAMED_FUNCTIONS and name.startswith("\\")):
        return read_known_call(reader, bare, factor, parts, place)
    if name in NUMBER_SETS:
        raise reader.fail(f"{name} can stand only after \\in", factor.position)
    raise reader.fail(
        f"unknown symbol {full_name(name, factor.sub, factor.sup)}: "
        "it is not declared and not a known function",
        factor.position,
    )


def read_accent(reader: Reader, factor: Factor) -> Node:
    """Read a bar over an expression."""
    base = tree_of(factor.base)
    accent = canonical(base.children[0])
    if accent != "\\overline":
        raise reader.fail(f"unknown symbol {factor.name}: it is not declared", factor.position)
    inner = reader.single(base.children[1])
    node = nodes.KnownCall("conj", (inner,), position=factor.position)
    return with_scripts(reader, node, factor.sub, factor.sup, factor)


def read_declared_call(
    reader: Reader,
    name: str,
    sub: Part | None,
    sup: Part | None,
    factor: Factor,
    parts: list[Part],
    place: int,
) -> tuple[Node, int]:
    """Read a declared function with its arguments."""
    arguments: list[Node] = [] if sub is None else read_index_arguments(reader, sub)
    scripts: Factor | None = None
    if next_bracket(parts, place, reader.text) in ("LPAR", "LBRACK") and (
        sup is None or not arguments
    ):
        if sup is not None:
            raise reader.fail(
                f"{name} is a function; write {name}(…)^… for a power of its value",
                factor.position,
            )
        scripts = read_factor(parts[place + 1], reader.text)
        arguments += read_arguments(reader, parts[place + 1])
        place += 1
    if not arguments:
        raise reader.fail(f"{name} is a function and needs an argument", factor.position)
    node: Node = nodes.Call(name, tuple(arguments), position=factor.position)
    node = with_scripts(reader, node, None, sup, factor)
    if scripts is not None:
        node = with_scripts(reader, node, scripts.sub, scripts.sup, scripts)
    return node, place + 1


def read_index_arguments(reader: Reader, sub: Part) -> list[Node]:
    """Read a subscript as arguments of a function."""
    index = read_indices(reader, sub)
    first = index[0]
    if len(index) == 1 and isinstance(first, nodes.RunTogether):
        if first.whole is None or all(isinstance(item, nodes.Symbol) for item in first.items):
            raise reader.fail("write a comma between the indices of a function", sub)
        return [first.whole]
    return index


def read_known_call(
    reader: Reader, name: str, factor: Factor, parts: list[Part], place: int
) -> tuple[Node, int]:
    """A known function with brackets, or (``\\sin m\\theta``) with the factors after it."""
    loose = factor.name in LOOSE_FUNCTIONS or name in LOOSE_NAMES
    if factor.sub is not None:
        raise reader.fail(f"{factor.name} takes no subscript", factor.position)
    power = None
    if factor.sup is not None:
        power = reader.single(factor.sup)
        if not isinstance(power, nodes.Number) or power.value < 2:
            raise reader.fail(
                f"{factor.name} to the power {canonical(factor.sup)} is ambiguous",
                factor.position,
            )
    scripts: Factor | None = None
    if next_bracket(parts, place, reader.text) in ("LPAR", "LBRACK"):
        scripts = read_factor(parts[place + 1], reader.text)
        arguments = read_arguments(reader, parts[place + 1])
        place += 2
    elif loose:
        argument, place = read_loose_argument(reader, factor, parts, place + 1)
        arguments = [argument]
    else:
        raise reader.fail(f"{factor.name} needs its argument in brackets", factor.position)
    node: Node = nodes.KnownCall(name, tuple(arguments), position=factor.position)
    if power is not None:
        node = nodes.Power(node, power, position=factor.position)
    if scripts is not None:
        node = with_scripts(reader, node, scripts.sub, scripts.sup, scripts)
    return node, place


def read_loose_argument(
    reader: Reader, factor: Factor, parts: list[Part], place: int
) -> tuple[Node, int]:
    """Read an argument without brackets, as in `sin x`."""
    start, result = place, None
    while place < len(parts) and isinstance(parts[place], Tree):
        first = place == start
        if not first and takes_argument(reader, parts[place]):
            break
        following = read_factor(parts[place], reader.text)
        called = following.is_symbol and reader.scope.is_function(following.name)
        if not first and (called or following.bracket in ("LPAR", "LBRACK")):
            raise reader.fail(f"where does the argument of {factor.name} end?", parts[place])
        if not first:
            reader.forbid_side_by_side(parts[place], False)
        nested = takes_argument(reader, parts[place])
        node, place = reader.operand(parts, place)
        result = (
            node
            if result is None
            else nodes.Product("juxtaposed", result, node, position=node.position)
        )
        if nested:
            break
    if result is None:
        raise reader.fail(f"{factor.name} has no argument", factor.position)
    if place < len(parts) and isinstance(parts[place], Token) and parts[place] == "/":
        raise reader.fail(
            f"{factor.name} a/b is ambiguous; put the argument in brackets", parts[place]
        )
    return result, place


def read_reduction(
    reader: Reader, kind: str, factor: Factor, parts: list[Part], place: int
) -> tuple[Node, int]:
    """Read a sum, product, maximum or minimum with its range."""
    if factor.sub is None:
        if kind not in EXTREMES:
            raise reader.fail(f"{factor.name} without an index below it", factor.position)
        if next_bracket(parts, place, reader.text) not in ("LPAR", "LBRACK"):
            raise reader.fail(f"{factor.name} needs an index below it or brackets", factor.position)
        forbid_scripts(reader, factor)
        scripts = read_factor(parts[place + 1], reader.text)
        arguments = read_arguments(reader, parts[place + 1])
        node: Node = nodes.KnownCall(kind, tuple(arguments), position=factor.position)
        return with_scripts(reader, node, scripts.sub, scripts.sup, scripts), place + 2
    pieces = index_chains(reader, factor.sub)
    names, ranges, conditions = index_bounds(reader, pieces, factor)
    rest = parts[place + 1 :]
    if not rest or isinstance(rest[0], Token):
        raise reader.fail(f"{factor.name} has nothing to act on", factor.position)
    if kind != "sum" and any(isinstance(part, Token) and part == "/" for part in rest):
        raise reader.fail(
            f"a/b after {factor.name} is ambiguous; write \\frac or brackets", factor.position
        )
    forbid_own_index(reader, names, ranges, factor)
    with reader.scope.binding(names):
        tests = tuple(read_chain(reader, chain) for chain in conditions)
        body = reader.product(rest)
    if kind not in ("sum", "product") and not set(names) & nodes.names_in(body):
        raise reader.fail(f"{factor.name} over {', '.join(names)} does nothing", factor.position)
    node = nodes.Reduction(kind, tuple(names), tuple(ranges), tests, body, position=factor.position)
    return node, len(parts)


def forbid_own_index(
    reader: Reader, names: list[str], ranges: list[Bounds | None], factor: Factor
) -> None:
    """``\\sum_{n=0}^{n} n``: an index in its own bounds, or one that already runs."""
    used = {name for stated in ranges if stated for end in stated for name in nodes.names_in(end)}
    for name in names:
        if name in used:
            raise reader.fail(f"the index {name} stands in its own bounds", factor.position)
        if name in reader.scope.running:
            raise reader.fail(f"the index {name} is running already", factor.position)
    if len(set(names)) < len(names):
        raise reader.fail(f"one index twice below {factor.name}", factor.position)


def index_chains(reader: Reader, sub: Part) -> list[Tree[Token]]:
    """The conditions below a sum."""
    if isinstance(sub, Token):
        return [Tree("chain", [Tree("expr", [Tree("term", [Tree("factor", [sub])])])])]
    pieces = [child for child in sub.children if isinstance(child, Tree)]
    chains = []
    for piece in pieces:
        inner = [child for child in piece.children if isinstance(child, Tree)]
        if piece.data == "piece" and len(inner) == 1 and len(piece.children) == 1:
            chains.append(inner[0])
        else:
            raise reader.fail("this index range is not understood", piece)
    if not chains:
        raise reader.fail("this index range is not understood", sub)
    return chains


def index_bounds(
    reader: Reader, chains: list[Tree[Token]], factor: Factor
) -> tuple[list[str], list[Bounds | None], list[Tree[Token]]]:
    """The indices bound under a sum, their stated ranges, and further conditions."""
    names: list[str] = []
    ranges: list[Bounds | None] = []
    conditions: list[Tree[Token]] = []
    upper = None if factor.sup is None else reader.single(factor.sup)
    for chain in chains:
        sides = [child for child in chain.children if isinstance(child, Tree)]
        symbols = [lone_symbol(side, reader.text) for side in sides]
        if len(sides) == 1:
            if not symbols[0]:
                raise reader.fail("an index below a sum must be a symbol", chain)
            names.append(symbols[0])
            ranges.append(None)
            continue
        relation = chain.children[1]
        assert isinstance(relation, Token)
        if len(sides) == 2 and relation.value == "=" and symbols[0]:
            if upper is None:
                raise reader.fail("the upper end of the range is missing", chain)
            names.append(symbols[0])
            ranges.append((reader.expression(sides[1]), upper))
            upper = None
            continue
        fresh = [s for s in symbols if s and not reader.scope.knows(s) and s not in CONSTANTS]
        fresh = [s for s in fresh if s not in names]
        if not fresh and not set(symbols) & set(names):
            if symbols[0]:
                fresh = [symbols[0]]
            else:
                raise reader.fail("no index is bound by this condition", chain)
        names.extend(fresh)
        ranges.extend([None] * len(fresh))
        conditions.append(chain)
    if upper is not None:
        raise reader.fail("an upper end without an index that starts below", factor.position)
    return names, ranges, conditions


def read_integral(
    reader: Reader, factor: Factor, parts: list[Part], place: int
) -> tuple[Node, int]:
    """Read an integral up to its differential."""
    if factor.sub is None or factor.sup is None:
        raise reader.fail("an integral needs both bounds", factor.position)
    low, high = reader.single(factor.sub), reader.single(factor.sup)
    names = [canonical(part) for part in parts]
    if "\\mathrm{d}" not in names[place + 1 : -1]:
        raise reader.fail(
            "an integral without its differential, such as \\mathrm{d}t", factor.position
        )
    end = names.index("\\mathrm{d}", place + 1)
    name = lone_symbol(parts[end + 1], reader.text)
    if not name or name in nodes.names_in_all((low, high)) | set(reader.scope.running):
        raise reader.fail(f"an integral over {names[end + 1]}", parts[end + 1])
    with reader.scope.binding([name]):
        inside = parts[place + 1 : end]
        body = reader.product(inside) if inside else nodes.Number(1, position=factor.position)
    return nodes.Integral(name, low, high, body, position=factor.position), end + 2


def read_moment(
    reader: Reader, kind: str, factor: Factor, parts: list[Part], place: int
) -> tuple[Node, int]:
    """Read an expectation or a variance."""
    if next_bracket(parts, place, reader.text) not in ("LPAR", "LBRACK"):
        raise reader.fail(f"{factor.name} needs its argument in brackets", factor.position)
    over: tuple[str, ...] = ()
    if factor.sub is not None:
        over = tuple(lone_symbol(chain, reader.text) for chain in index_chains(reader, factor.sub))
        if not all(over):
            raise reader.fail("the variables below an expectation must be symbols", factor.sub)
    if factor.sup is not None:
        raise reader.fail(f"write the power of {factor.name} behind its brackets", factor.position)
    scripts = read_factor(parts[place + 1], reader.text)
    tree = tree_of(scripts.base)
    chains = [child for child in tree.children[1:-1] if isinstance(child, Tree)]
    if len(chains) != 1:
        raise reader.fail(f"{factor.name} takes one argument", factor.position)
    inner = reader.only_expression(chains[0])
    node = nodes.Moment(kind, over, inner, position=factor.position)
    return with_scripts(reader, node, scripts.sub, scripts.sup, scripts), place + 2


def read_indicator(reader: Reader, parts: list[Part], place: int) -> tuple[Node, int]:
    """Read an indicator with its conditions."""
    scripts = read_factor(parts[place + 1], reader.text)
    tree = tree_of(scripts.base)
    chains = [child for child in tree.children[1:-1] if isinstance(child, Tree)]
    tests = tuple(read_chain(reader, chain) for chain in chains)
    node = nodes.Indicator(tests, position=scripts.position)
    return with_scripts(reader, node, scripts.sub, scripts.sup, scripts), place + 2


def read_base(reader: Reader, factor: Factor) -> Node:
    """Read what carries the scripts of a factor."""
    base = factor.base
    if isinstance(base, Token):
        if base.type == "NUMBER":
            text = base.value
            return nodes.Number(float(text) if "." in text else int(text), position=factor.position)
        raise reader.fail(f"{base.value} cannot stand here", base)
    readers = {
        "fraction": read_fraction,
        "root": read_root,
        "matrix": read_matrix,
        "cases": read_cases,
        "group": Reader.group,
    }
    if base.data in readers:
        return readers[base.data](reader, base)
    return read_bracket(reader, factor)


def read_bracket(reader: Reader, factor: Factor) -> Node:
    """Read what is between brackets."""
    tree = tree_of(factor.base)
    kind = factor.bracket
    chains = [child for child in tree.children[1:-1] if isinstance(child, Tree)]
    position = factor.position
    if kind in ("LPAR", "LBRACK") and len(chains) > 1:
        return nodes.TupleOf(tuple(read_list(reader, chains)), position=position)
    if len(chains) != 1:
        raise reader.fail("brackets with several entries cannot stand here", tree)
    inner = reader.only_expression(chains[0])
    if kind == "LBAR" and factor.sub is not None:
        raise reader.fail("an absolute value takes no subscript", factor.sub)
    if kind in BRACKETS:
        return nodes.KnownCall(BRACKETS[kind], (inner,), position=position)
    if kind == "LNORM":
        name = "" if factor.sub is None else canonical(factor.sub)
        if name and name not in NORMS:
            raise reader.fail(f"the norm with subscript {name} is not known", tree)
        return nodes.Norm(name, inner, position=position)
    return inner


def read_fraction(reader: Reader, tree: Tree[Token]) -> Node:
    """Read a fraction, which may be a derivative."""
    top, bottom = tree.children[1], tree.children[2]
    if isinstance(bottom, Token) and bottom.type == "NUMBER" and len(bottom) > 1:
        raise long_argument(bottom, reader.text)
    derivative = read_derivative(reader, top, bottom)
    if derivative is not None:
        return derivative
    position = position_of(tree)
    return nodes.Product("/", reader.single(top), reader.single(bottom), position=position)


def read_derivative(reader: Reader, top: Part, bottom: Part) -> Node | None:
    """Read a fraction as a derivative; None where it is none."""
    above, below = term_parts(top), term_parts(bottom)
    if (
        not above
        or len(below) < 2
        or isinstance(above[0], Token)
        or any(isinstance(part, Token) for part in below)
    ):
        return None
    first, lower = read_factor(above[0], reader.text), read_factor(below[0], reader.text)
    if first.name not in DIFFERENTIALS or lower.name != first.name:
        return None
    forbid_scripts(reader, lower)
    order, variable = first.sup, read_factor(below[1], reader.text)
    if len(below) != 2 or first.sub is not None or not same_text(order, variable.sup):
        raise reader.fail("this derivative is not understood", bottom)
    variable.sup = None
    by = read_symbol(reader, variable, [below[1]], 0)[0]
    body = read_derivative_body(reader, above[1:], by) if len(above) > 1 else None
    times = 1 if order is None else int(canonical(order))
    return nodes.Derivative(body, by, times, position=position_of(top))


def read_derivative_body(reader: Reader, parts: list[Part], variable: Node) -> Node:
    """What is differentiated; a function without its argument is one of the variable."""
    name = lone_symbol(parts[0], reader.text)
    if len(parts) == 1 and reader.scope.is_function(name) and isinstance(variable, nodes.Symbol):
        return nodes.Call(name, (variable,), position=position_of(parts[0]))
    return reader.product(parts)


def read_root(reader: Reader, tree: Tree[Token]) -> Node:
    """Read a root."""
    inner = reader.single(tree.children[-1])
    return nodes.KnownCall("sqrt", (inner,), position=position_of(tree))


def read_matrix(reader: Reader, tree: Tree[Token]) -> Node:
    """Read a matrix."""
    rows = []
    for row in tree.children[1:-1]:
        if isinstance(row, Token):
            continue
        cells: list[Node] = []
        for cell in row.children:
            if isinstance(cell, Token):
                continue
            if is_dots(cell):
                cells.append(nodes.Dots(position=position_of(cell)))
            else:
                cells.append(reader.expression(tree_of(cell.children[0])))
        rows.append(tuple(cells))
    width = max(len(row) for row in rows)
    if any(len(row) != width for row in rows):
        raise reader.fail(f"the rows of the matrix have {[len(r) for r in rows]} entries", tree)
    return nodes.Matrix(tuple(rows), position=position_of(tree))


def read_cases(reader: Reader, tree: Tree[Token]) -> Node:
    """Read cases."""
    rows = []
    for case in tree.children[1:-1]:
        if isinstance(case, Token):
            continue
        value = reader.expression(tree_of(case.children[0]))
        chains = [child for child in case.children[2:] if isinstance(child, Tree)]
        tests = tuple(read_chain(reader, chain) for chain in chains)
        rows.append(nodes.Case(value, tests, position=value.position))
    return nodes.Cases(tuple(rows), position=position_of(tree))


def same_text(order: Part | None, other: Part | None) -> bool:
    """Whether the order of a derivative is the same number above and below, or nowhere."""
    above, below = ("" if part is None else canonical(part) for part in (order, other))
    return above == below and (not above or above.isdigit())
