"""Plant small faults in the library, one at a time, and count how many the tests catch.

    python tests/attention_to_rope/mutants.py                  all modules
    python tests/attention_to_rope/mutants.py rope masks:31    a module, and one line of another
    python tests/attention_to_rope/mutants.py --sample 60      a fixed sample of each module
    python tests/attention_to_rope/mutants.py rope --tests test_rope.py     ask only some tests
    python tests/attention_to_rope/mutants.py --log FILE       keep what is known, and go on from it
    python tests/attention_to_rope/mutants.py --log FILE --again     plant the survivors once more

Every fault is one change of one expression: another comparison or operator, a number one larger,
a dropped check or argument, a turned condition. Tests are collected and run once, which tells the
functions that each of them enters. A fault inside a function is put into it in a fork, which runs
the tests that enter it, the quickest first, until one fails. All other faults import the changed
module in a fork; so do those that could have shown while a test file was imported, for that file.
A fault with a reason why it changes nothing is not followed further: if in doubt, it survived.
mutmut 3.8 does not run under pytest 9.2; this file is what of it the library needs.
"""

import argparse
import ast
import copy
import functools
import gc
import hashlib
import importlib.abc
import importlib.util
import inspect
import json
import os
import platform
import random
import signal
import sys
import tempfile
import threading
import time
import types
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import torch
from _pytest.runner import runtestprotocol
from hypothesis import Phase, settings

HERE = Path(__file__).parent
SOURCE = HERE.parents[1] / "src" / "attention_to_rope"
LEFT_OUT = {"test_mutants.py"}  # it forks itself


def source_file(module: str) -> Path:
    """ "fast.ring" → src/attention_to_rope/fast/ring.py"""
    return (SOURCE / module.replace(".", "/")).with_suffix(".py")


def modules() -> list[str]:
    """All modules of the library: "fast.ring", …"""
    files = sorted(SOURCE.rglob("*.py"))
    names = [".".join(file.relative_to(SOURCE).with_suffix("").parts) for file in files]
    return [name for name in names if not name.endswith("__init__")]


def digest(*files: Path) -> str:
    """What changes when one of the files changes."""
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()[:16]


# A fault that makes its tests take so much longer than without it counts as caught.
SECONDS = 30
SETTINGS = ["-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-W", "ignore"]
SETTINGS += ["-o", "addopts=--import-mode=importlib"]
NOT_PUT = 77  # the exit code of a fork that could not put the fault into a function
BROKEN = 78  # the exit code of a fork in which this file failed, not a test

SWAPS: dict[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.And: ast.Or,
    ast.Or: ast.And,
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}

AT_THE_BOUND = "a measured number that meets a chosen bound exactly: both answers are right"
# Faults that change nothing a caller could see: part of the changed line → why.
EQUIVALENT: dict[tuple[str, str], str] = {
    ("checks: other truth", "strict=True"): "both shapes have the same length by then",
    (
        "scaled_dot_product: one more",
        "torch.where(",
    ): "hidden numbers may be any",
    ("key_value_cache: no USub", "torch.cat((held, new)"): "a cache has four axes: -2 is axis 2",
    ("key_value_cache: no USub", "self.keys.shape[-2]"): "a cache has four axes: -2 is axis 2",
    ("key_value_cache: no USub", "held.shape[:-2]"): "a cache has four axes: -2 is axis 2",
    ("key_value_cache: no USub", "x.shape[:-2], slots"): "a cache has four axes: -2 is axis 2",
    ("key_value_cache: no USub", "room.keys.shape[-2]"): "a cache has four axes: -2 is axis 2",
    ("key_value_cache: And", "self.keys is not None and"): "both are there or neither is",
    ("latent_attention: And", "self.query_down is not None"): "both are there or neither is",
    ("masks: no USub", "distance.shape[-1]"): "a matrix of distances: its last axis is axis 1",
    ("checks: no strict=", "strict=True"): "both shapes have the same length by then",
    (
        "scaled_dot_product: one more",
        "largest.masked_fill",
    ): "−inf less any number is −inf",
    (
        "scaled_dot_product: one more",
        "total.masked_fill",
    ): "zeros stay zeros when divided",
    ("positions: Lt", "distance < exact"): "at that distance both sides are that distance",
    (
        "context_extension: GtE",
        "if start >= pairs",
    ): "a ramp that starts behind the last pair keeps all pairs too",
    ("doctor: Gt", "if scale > 1 and"): "a scale of 1 gives the plain frequencies, tried before",
    ("doctor: one more", "PCG64("): "any vectors show it",
    ("rope_probe: no USub", "lambda t: "): "a table has two axes: the last is axis 1",
    ("rope_probe: no USub", ".argmax(-1)"): "a matrix: its last axis is axis 1",
    ("rope_probe: no USub", "].unsqueeze(-1)"): "one axis: 1 and -1 are the same place",
    ("rope_probe: Gt", "if b > a"): "no dimension is its own partner",
    ("rope_probe: Lt", "if a < b"): "no dimension is its own partner",
    ("rope_probe: one more", "len(partners) > 2"): "partners are mutual: their number is even",
    ("rope_probe: one more", "(_tables(torch.arange(2)"): "only the words are taken",
    ("rope_probe: one more", "(_complex_tables(torch.arange(2)"): "only the words are taken",
    ("rope_probe: one more", '"offset", 0)'): "one way to give an offset: nothing to choose",
    ("rope_probe: one more", '"plain", 0)'): "one way to give nothing: nothing to choose",
    ("rope_probe: no strict=", "strict=True"): "as many angles as positions, by construction",
    ("rope_probe: other truth", "strict=True"): "as many angles as positions, by construction",
    ("rope_axes: no strict=", "strict=True"): "every table has its cos and its sin",
    ("rope_axes: other truth", "strict=True"): "every table has its cos and its sin",
    ("rope_families: no encoding=", "write_text("): "JSON and the description are ASCII",
    ("hugging_face: no strict=", "strict=True"): "two norms or four, as the line above says",
    ("hugging_face: other truth", "strict=True"): "two norms or four, as the line above says",
    ("hugging_face: one more", "seed=0"): "every weight that is drawn is replaced",
    ("relative: no USub", "clamp_min(threshold)"): "one axis: 1 and -1 are the same place",
    ("score_shaping: no USub", "sink.unsqueeze(-1)"): "one axis: 1 and -1 are the same place",
    (
        "fast.attention_triton: one more",
        "d & (d - 1)",
    ): "for d ≥ 16, d & (d - 2) is 0 for the same d",
    ("context_extension: LtE", "return 1.0 if scale <= 1"): "ln 1 = 0: both sides are 1",
    (
        "fast.blockwise: no USub",
        "unsqueeze(-1)",
    ): "a tensor of one axis: 1 and -1 are the same place",
    (
        "fast.blockwise: one more",
        "torch.where(sound, k, 0.0)",
    ): "who sees such a key gets NaN, and for the others it is hidden: any number will do",
    ("fast.blockwise: no USub", "(~sound).cumsum(-2)"): "four axes: -2 is axis 2",
    ("fast.blockwise: one more", "if _heads(k) else 1"): "no heads: nothing is cut into groups",
    ("fast.blockwise: no strict=", "zip(places, "): "one for each place, by construction",
    ("fast.blockwise: other truth", "zip(places, "): "one for each place, by construction",
    ("fast.blockwise: no strict=", "for total, own in zip("): "a gradient for each learned tensor",
    ("fast.blockwise: other truth", "strict=True,"): "a gradient for each learned tensor",
    ("fast.blockwise: no strict=", "for x, dim in zip("): "vmap gives a dim for each tensor",
    ("fast.blockwise: other truth", "for x, dim in zip("): "vmap gives a dim for each tensor",
    ("fast.blockwise: one more", "axes = moved[0].ndim"): "q and k have the same axes",
    ("fast.blockwise: one more", "*made_from), (0, 0)"): "no caller gets the second output",
    (
        "fast.blockwise: one more",
        "FARTHEST = 2**33",
    ): "positions end at 2**31: more than 2**32, and less than 2**63, is far enough",
    (
        "experts: no USub",
        "gates[row, place].unsqueeze(-1)",
    ): "one axis: 1 and -1 are the same place",
    ("experts: no USub", "(gates * chosen).sum(-1"): "two axes: the last is axis 1",
    ("heads: no USub", "k.shape[-2]"): "q and k have four axes: -2 is axis 2",
    ("heads: one more", "scheme.bias(q_positions[..., :1]"): "asked only whether there is a bias",
    ("heads: no strict=", "zip(names, learned"): "names and tensors of the same parameters",
    ("heads: other truth", "zip(names, learned"): "names and tensors of the same parameters",
    ("heads: Or", "if cache.keys is None or"): "both are there or neither is",
    (
        "merge: one more",
        "torch.where(sound, v, 0.0)",
    ): "its key is NaN: it weighs NaN or, hidden, 0",
    ("merge: one more", "total.masked_fill"): "zeros stay zeros when divided",
    ("merge: one more", "k.nan_to_num(0.0)"): "who sees such a key has NaN, others weigh it 0",
    ("merge: one more", "mask.any(-1, keepdim=True), q, 0.0"): "it weighs every key 0",
    ("merge: one more", "slope.masked_fill_(~mask"): "the gradient of what is hidden is 0",
    ("merge: one more", "largest.masked_fill"): "−inf less any number is −inf",
    ("positions: one more", "range(exact, max_distance"): "no bucket starts behind max_distance",
    ("fast.rope_triton: one more", "Tile(rows="): "another power of two: the same numbers",
    ("fast.ring: dropped call", "mark_non_differentiable"): "no caller gets the second output",
    ("transformer: Or", "self.cross_residual is None"): "both are there or neither is",
    ("transformer: no USub", "tokens.shape[-1]"): "tokens have two axes: the last is axis 1",
    ("generation: no USub", "logits.shape[-1]"): "two axes: the last is axis 1",
    ("generation: no USub", ".amax(-1)"): "two axes: the last is axis 1",
    ("generation: no USub", ".scatter(-1"): "two axes: the last is axis 1",
    ("generation: no USub", ".unsqueeze(-1)"): "one axis: 1 and -1 are the same place",
    ("generation: no stable=", "logits.sort("): "decides on a GPU alone: on a CPU it is stable",
    ("generation: other truth", "logits.sort("): "decides on a GPU alone: on a CPU it is stable",
    ("generation: no USub", ".cumsum(-1)"): "two axes: the last is axis 1",
    ("generation: no USub", ".squeeze(-1)"): "two axes: the last is axis 1",
    ("generation: no USub", ".argmax(-1"): "two axes: the last is axis 1",
    ("transformer: other truth", "strict=True"): "the lengths were compared above",
    ("checks: one more", "extremes(positions) or"): "stands for unknown values, which are let pass",
    ("doctor: Lt", "< CLOSE"): AT_THE_BOUND,
    ("doctor: Lt", "< 10 * CLOSE"): AT_THE_BOUND,
    ("doctor: Lt", "< 1e-3"): AT_THE_BOUND,
    ("doctor: Gt", "> CLOSE"): AT_THE_BOUND,
    ("doctor: Gt", "> 0.01"): AT_THE_BOUND,
    ("doctor: Gt", "> 1e-4"): AT_THE_BOUND,
    ("doctor: Gt", "> 0.5"): AT_THE_BOUND,
    ("doctor: one more", "torch.ones(2, 1, 3"): "any number of heads shows it",
    ("rope_probe: Gt", "> 1e-6"): AT_THE_BOUND,
    ("rope_probe: Gt", "> 1e-9"): AT_THE_BOUND,
    ("rope_probe: Gt", "> 0.5"): AT_THE_BOUND,
    ("rope_probe: Lt", "< 0.05"): AT_THE_BOUND,
    ("rope_probe: Lt", "< 1e-3"): AT_THE_BOUND,
    ("rope_probe: Gt", "sum(frequencies) > 0"): "a sum of exactly 0 has no direction",
    ("fast.ring: dropped call", "sent.clear()"): "memory is freed a little later, nothing else",
    ("fast.ring: one more", "block: int = 512"): "other blocks, the same result",
    ("fast.ring: no strict=", "zip(_DESCRIBED"): "a number for each name, by construction",
    ("fast.ring: other truth", "zip(_DESCRIBED"): "a number for each name, by construction",
    ("fast.ring: no strict=", "zip(*parts"): "every part has the same three tensors",
    ("fast.ring: other truth", "zip(*parts"): "every part has the same three tensors",
    (
        "fast.rope_triton: no USub",
        "cos.shape in ((q.shape[2]",
    ): "the first of the two shapes has two axes: its last is axis 1",
    ("fast.rope_triton: one more", "and 0 < 2 *"): "twice a number of pairs is never 1",
    ("key_value_cache: no USub", "keys.shape[-2]"): "a cache has four axes: -2 is axis 2",
    ("latent_attention: Or", "self.latents is None or"): "both are there or neither is",
    ("latent_attention: no strict=", "zip(letters"): "as many letters as axes, as checked above",
    ("latent_attention: other truth", "zip(letters"): "as many letters as axes, as checked above",
    ("norms: one more", "* 2**-50"): "x and the root of ε are divided alike, so the norm stays",
    ("reference: one more", "0.0 if bias is None"): "a number added to all scores of a row",
    ("reference: GtE", "if x >= 0 else"): "both sides are the same function",
    ("reference: one more", "if x >= 0 else"): "both sides are the same function",
    ("reference: Lt", "distance < exact"): "at that distance both sides are that distance",
    ("reference: LtE", "length <= original_length"): "at that length the new scale is 1",
    (
        "reference: GtE",
        "if start >= d // 2",
    ): "a ramp that starts behind the last pair keeps all pairs too",
    ("reference: no strict=", "zip(weights, seen"): "a weight for each, by construction",
    ("reference: other truth", "zip(weights, seen, strict=True"): "a weight for each",
    ("relative: no USub", "table.ndim != 2"): "a table has two axes: the last is axis 1",
    ("scaled_dot_product: Add", "+ poison"): "it is 0 or NaN: no sign is seen",
    ("transformer: no strict=", "in zip("): "the lengths were compared above",
}


def mutable_nodes(tree: ast.AST) -> Iterator[ast.AST]:
    """The nodes to change: not annotations, docstrings, overloads, or texts of errors."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Raise | ast.JoinedStr | ast.Import | ast.ImportFrom | ast.arg):
            continue
        if isinstance(node, ast.If) and ast.unparse(node.test) == "triton is not None":
            continue  # a kernel: it runs on a GPU, or by the interpreter in tests/peers
        if isinstance(node, ast.FunctionDef):
            if node.name == "launch":  # of a kernel
                continue
            if any("overload" in ast.dump(decorator) for decorator in node.decorator_list):
                continue
            for default in (*node.args.defaults, *node.args.kw_defaults):
                if default is not None:
                    yield default
            for statement in node.body:
                yield statement
                # Of a variable with its type only the value runs.
                yield from mutable_nodes(
                    ast.Expr(statement.value)
                    if isinstance(statement, ast.AnnAssign) and statement.value is not None
                    else statement
                )
            continue
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            continue
        if isinstance(node, ast.AnnAssign):
            if node.value is not None:
                yield node.value
                yield from mutable_nodes(node.value)
            continue
        yield node
        yield from mutable_nodes(node)


def changes(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    """Every small fault of one node: what it is, and the node to put in its place."""
    if isinstance(node, ast.Compare):
        for place, operator in enumerate(node.ops):
            changed = copy.deepcopy(node)
            changed.ops[place] = SWAPS[type(operator)]()
            yield type(operator).__name__, changed
    elif isinstance(node, ast.BoolOp | ast.BinOp) and type(node.op) in SWAPS:
        changed = copy.deepcopy(node)
        changed.op = SWAPS[type(node.op)]()
        yield type(node.op).__name__, changed
    elif isinstance(node, ast.UnaryOp):
        yield f"no {type(node.op).__name__}", node.operand
    elif isinstance(node, ast.Constant):
        if isinstance(node.value, bool):
            yield "other truth", ast.Constant(not node.value)
        elif isinstance(node.value, int | float):
            yield "one more", ast.Constant(node.value + 1)
    elif isinstance(node, ast.IfExp):
        yield "other branch", ast.IfExp(node.test, node.orelse, node.body)
    elif isinstance(node, ast.If):
        changed = copy.deepcopy(node)
        changed.test = ast.UnaryOp(ast.Not(), node.test)
        yield "turned condition", changed
    elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        yield "dropped call", ast.Pass()
    elif isinstance(node, ast.Call):
        for place, keyword in enumerate(node.keywords):
            changed = copy.deepcopy(node)
            del changed.keywords[place]
            yield f"no {keyword.arg}=", changed


class Replace(ast.NodeTransformer):
    """Puts one node in place of another."""

    def __init__(self, old: ast.AST, new: ast.AST) -> None:
        self.old, self.new = old, new

    def visit(self, node: ast.AST) -> ast.AST:
        return self.new if node is self.old else super().generic_visit(node)


class Fault(NamedTuple):
    """One node of a module's tree, and the node to put in its place."""

    module: str
    number: int  # among the module's faults
    line: int
    name: str
    old: ast.AST
    new: ast.AST


def faults(module: str, tree: ast.AST) -> list[Fault]:
    """All faults of a module."""
    found = ((node, change) for node in mutable_nodes(tree) for change in changes(node))
    return [
        Fault(module, number, node.lineno, name, node, new)
        for number, (node, (name, new)) in enumerate(found)
    ]


class Changed(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Imports one module from a changed tree."""

    def __init__(self, module: str, tree: ast.AST) -> None:
        self.module, self.tree = module, tree

    def find_spec(self, name, path, target=None):
        if name != self.module:
            return None
        return importlib.util.spec_from_file_location(name, self._path(name), loader=self)

    def get_code(self, name) -> types.CodeType:
        """What `runpy` runs: with the fault too."""
        return compile(self.tree, self._path(name), "exec")

    def exec_module(self, module) -> None:
        exec(self.get_code(module.__name__), module.__dict__)

    def _path(self, name: str) -> str:
        """Of the sound source: a test that reads it must not fail for want of a file."""
        return str(source_file(name.removeprefix("attention_to_rope.")))


def run_after_import(module: str, tree: ast.AST, files: list[str], failed: list[str]) -> int:
    """Run test files with the changed module in this process: pytest's exit code."""
    sys.meta_path.insert(0, Changed(f"attention_to_rope.{module}", tree))
    try:
        importlib.import_module(f"attention_to_rope.{module}")
    except SystemExit:  # nobody can import it: pytest would end as if it had failed by itself
        return 1
    known = [f"--deselect={name}" for name in failed]
    for file in files:  # one by one: most faults show in the first
        code = pytest.main(["-x", *known, *SETTINGS, file], plugins=[Quick()])
        if code != 0:
            return int(code)
    return 0


class Quick:
    """A pytest plugin: an example that fails is enough, nobody looks for a smaller one."""

    def pytest_collection(self) -> None:
        phases = (Phase.explicit, Phase.generate)
        settings.register_profile("quick", settings.default, phases=phases)
        settings.load_profile("quick")


class Place(NamedTuple):
    """A function of a module, or a method: its name with its classes, and its first line."""

    name: str
    line: int


def first_line(node: ast.FunctionDef | ast.ClassDef) -> int:
    """Where a definition begins, as its code counts: at its first decorator, if it has one."""
    return min([d.lineno for d in node.decorator_list] + [node.lineno])


def place_of(tree: ast.AST, line: int) -> Place | None:
    """The outermost function around a line, which holds all that is defined in it."""
    inside: list[str] = []
    while True:
        for node in ast.iter_child_nodes(tree):
            if not isinstance(node, ast.FunctionDef | ast.ClassDef):
                continue
            if not first_line(node) <= line <= (node.end_lineno or 0):
                continue
            if isinstance(node, ast.FunctionDef):
                return Place(".".join((*inside, node.name)), first_line(node))
            inside.append(node.name)
            tree = node
            break
        else:
            return None


def code_objects(code: types.CodeType) -> Iterator[types.CodeType]:
    """All code inside a module's code."""
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield constant
            yield from code_objects(constant)


class Held(NamedTuple):
    """What this process holds: functions, by file and place, and caches of library and tests."""

    functions: dict[tuple[str, Place], list[types.FunctionType]]
    caches: list[Any]

    @classmethod
    def now(cls) -> "Held":
        held = cls(defaultdict(list), [])
        for thing in gc.get_objects():
            if type(thing) is types.FunctionType:  # isinstance asks dead weak proxies, which raise
                code = thing.__code__
                place = Place(code.co_qualname, code.co_firstlineno)
                held.functions[code.co_filename, place].append(thing)
            elif type(thing) is functools._lru_cache_wrapper:
                code = getattr(inspect.unwrap(thing), "__code__", None)
                if code is not None and str(HERE.parents[1]) in code.co_filename:
                    held.caches.append(thing)
        return held


def put_into(held: Held, module: str, tree: ast.AST, place: Place) -> bool:
    """Give the function at `place`, wherever it is held, the code of a changed tree."""
    path = str(source_file(module))
    codes = {
        Place(code.co_qualname, code.co_firstlineno): code
        for code in code_objects(compile(tree, path, "exec"))
    }
    (definition,) = (
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef)
        and place_of(tree, node.lineno) == place
        and node.name == place.name.rpartition(".")[2]
    )
    found = held.functions.get((path, place), [])
    for function in found:
        try:
            function.__code__ = codes[place]
        except ValueError:  # the fault takes a variable away that the function holds on to
            return False
        scope, args = function.__globals__, definition.args

        def value(node: ast.expr, scope: dict[str, Any] = scope) -> Any:
            return eval(compile(ast.Expression(node), path, "eval"), scope)

        named = zip(args.kwonlyargs, args.kw_defaults, strict=True)
        try:
            function.__defaults__ = tuple(map(value, args.defaults)) or None
            function.__kwdefaults__ = {a.arg: value(d) for a, d in named if d is not None} or None
        except Exception:  # the fault is in a default that now raises: its import will tell
            return False
    return bool(found)


def forget_results(held: Held) -> None:
    """Empty the caches of library and tests: they hold what sound code gave."""
    for cache in held.caches:
        cache.cache_clear()


class Test(NamedTuple):
    """What the run of a test without any fault told."""

    seconds: float
    passed: bool
    enters: set[tuple[str, Place]]


class Watch:
    """A pytest plugin: runs all tests once, notes who enters what, then plants the faults."""

    def __init__(self, log: "Log", work: Callable[["Watch"], None]) -> None:
        self.trees = {m: ast.parse(source_file(m).read_text(encoding="utf-8")) for m in modules()}
        self.files = {str(source_file(module)): module for module in self.trees}
        self.log, self.work = log, work
        self.items: dict[str, pytest.Item] = {}
        # What the import of a test file enters; None: what the import of the library enters.
        self.imported: dict[Path | None, set[tuple[str, Place]]] = {None: set()}
        self.entered = self.imported[None]
        self.places: dict[types.CodeType, tuple[str, Place] | None] = {}

    def trace(self, frame: types.FrameType, event: str, _: Any) -> None:
        """Notes a function of the library that is entered."""
        code = frame.f_code
        if code not in self.places:
            module = self.files.get(code.co_filename)
            place = None if module is None else place_of(self.trees[module], code.co_firstlineno)
            inside = place is not None and code.co_name != "<module>"
            self.places[code] = (module, place) if module and place and inside else None
        entered = self.places[code]
        if entered is not None:
            self.entered.add(entered)

    def pytest_collectstart(self, collector: pytest.Collector) -> None:
        """Notes the file that is imported next."""
        if isinstance(collector, pytest.Module):
            self.entered = self.imported.setdefault(collector.path, set())

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """All tests once, watched; then the faults."""
        sys.settrace(None)
        self.items = {item.nodeid: item for item in session.items}
        self.work(self)
        return True

    def look(self, item: pytest.Item) -> Test:
        """Run a test without any fault."""
        self.entered, began = set(), time.process_time()
        sys.settrace(self.trace)
        threading.settrace(self.trace)
        passed = passes(item)
        sys.settrace(None)
        threading.settrace(None)
        return Test(time.process_time() - began, passed, self.entered)

    def look_at_all(self, processes: int) -> None:
        """Run every test that the log does not know, in forks, as later with faults."""
        known = self.log.tests()
        new = [item for item in self.items.values() if item.nodeid not in known]

        def share(items: list[pytest.Item]) -> Callable[[], int]:
            def run() -> int:
                for item in items:
                    self.log.write_test(item, self.look(item))
                return 0

            return run

        parts = min(len(new), 8 * processes)
        jobs = ((part, share(new[part::parts]), 20.0 * SECONDS) for part in range(parts))
        if any(code != 0 for _, code in in_forks(jobs, processes)):
            raise RuntimeError("the tests do not come to their end in a fork")
        told = self.log.tests()
        self.tests = {name: told[name] for name in self.items}
        for name, test in self.tests.items():
            if not test.passed:
                print(f"fails without any fault, so it is not asked: {name}", flush=True)

    def tests_of(self, module: str, place: Place) -> list[pytest.Item]:
        """The tests that enter the function, the quickest first."""
        asked = [
            (test.seconds, name)
            for name, test in self.tests.items()
            if test.passed and (module, place) in test.enters
        ]
        return [self.items[name] for _, name in sorted(asked)]

    def files_of(self, module: str) -> list[str]:
        """The test files that enter the module, the one of its own name first, then by time."""
        seconds: dict[Path, float] = defaultdict(float)
        for name, test in self.tests.items():
            if any(entered == module for entered, _ in test.enters):
                seconds[self.items[name].path] += test.seconds
        own = f"test_{module.rpartition('.')[2]}.py"
        return [str(f) for f in sorted(seconds, key=lambda f: (f.name != own, seconds[f], f))]

    def importers_of(self, module: str, place: Place) -> list[str]:
        """The test files that a fault could have changed when they were imported."""
        files = {str(file) for file, entered in self.imported.items() if (module, place) in entered}
        return self.files_of(module) if str(None) in files else sorted(files)


class Log:
    """A file of what is known: of the library, of each test, and of each planted fault."""

    def __init__(self, file: Path) -> None:
        self.file = file
        library = digest(*(source_file(module) for module in modules()))
        held = [line["library"] for line in self.lines() if "library" in line]
        if not held:
            self.write(
                {
                    "date": datetime.now(UTC).date().isoformat(),
                    "machine": platform.machine(),
                    "python": platform.python_version(),
                    "torch": torch.__version__.partition("+")[0],
                    "library": library,
                }
            )
        elif held != [library]:
            raise ValueError(f"{file} is of another state of the library: take a new file")

    def lines(self) -> list[dict[str, Any]]:
        text = self.file.read_text(encoding="utf-8") if self.file.exists() else ""
        return [json.loads(line) for line in text.splitlines()]

    def write(self, line: dict[str, Any]) -> None:
        text = json.dumps(line, ensure_ascii=False) + "\n"
        with open(self.file, "ab", buffering=0) as file:  # one write: forks write here too
            file.write(text.encode())

    def write_test(self, item: pytest.Item, test: Test) -> None:
        enters = sorted((module, *place) for module, place in test.enters)
        line = {"test": item.nodeid, "path": str(item.path), "digest": digest(item.path)}
        self.write(line | {"seconds": test.seconds, "passed": test.passed, "enters": enters})

    def tests(self) -> dict[str, Test]:
        """What is known of tests in files that stand as they stood."""
        now = functools.cache(lambda path: Path(path).exists() and digest(Path(path)))
        return {
            line["test"]: Test(
                line["seconds"],
                line["passed"],
                {(module, Place(name, at)) for module, name, at in line["enters"]},
            )
            for line in self.lines()
            if "test" in line and line["digest"] == now(line["path"])
        }

    def write_fault(self, fault: Fault, outcome: str) -> None:
        place = {"module": fault.module, "number": fault.number, "line": fault.line}
        self.write(place | {"fault": fault.name, "outcome": outcome})

    def outcomes(self) -> dict[tuple[str, int], str]:
        """What became of faults, by module and number: what was seen last."""
        lines = (line for line in self.lines() if "outcome" in line)
        return {(line["module"], line["number"]): line["outcome"] for line in lines}


def passes(item: pytest.Item) -> bool:
    """Whether a test passes, or is skipped."""
    reports = runtestprotocol(item, log=False, nextitem=None)
    return not any(report.failed for report in reports)


def fork(work: Callable[[], int], seconds: float) -> int:
    """The process that does some work, and ends with the code that the work gives."""
    child = os.fork()
    if child == 0:
        # Of the processor's time: a busy machine must not make a fault look caught.
        signal.setitimer(signal.ITIMER_PROF, seconds)
        signal.alarm(int(20 * seconds))
        silence = os.open(os.devnull, os.O_WRONLY)
        os.dup2(silence, 1)
        os.dup2(silence, 2)
        try:
            code = work()
        except BaseException:
            code = 1
        os._exit(code)
    return child


def in_forks(
    jobs: Iterable[tuple[Any, Callable[[], int], float]], processes: int
) -> Iterator[tuple[Any, int]]:
    """Each job's key and exit code, so many jobs at once; a job is its key, work and seconds."""
    running: dict[int, Any] = {}

    def ended() -> tuple[Any, int]:
        child, status = os.wait()
        return running.pop(child), os.waitstatus_to_exitcode(status)

    for key, work, seconds in jobs:
        while len(running) >= processes:
            yield ended()
        running[fork(work, seconds)] = key
    while running:
        yield ended()


def outcome_of(code: int) -> str:
    return "survived" if code == 0 else "broken" if code == BROKEN else "caught"


Later = list[tuple[Fault, list[str]]]  # faults to import, with the test files that may see them


def plant(watch: Watch, chosen: list[Fault], processes: int) -> Later:
    """Put the faults into functions; returns those that have to be imported to be seen."""
    places = {fault: place_of(watch.trees[fault.module], fault.line) for fault in chosen}
    functions = {(f.module, place) for f, place in places.items() if place is not None}
    asked = {(module, place): watch.tests_of(module, place) for module, place in functions}
    seconds = {
        where: sum(watch.tests[item.nodeid].seconds for item in items)
        for where, items in asked.items()
    }

    held = Held.now()
    gc.freeze()  # or every fork's collector would copy all memory

    def work(fault: Fault, place: Place) -> int:
        try:
            tree = changed_tree(watch.trees[fault.module], fault)
            if not put_into(held, fault.module, tree, place):
                return NOT_PUT
            forget_results(held)
        except Exception:
            return BROKEN
        return 0 if all(passes(item) for item in asked[fault.module, place]) else 1

    later = [(f, watch.files_of(f.module)) for f, place in places.items() if place is None]
    inside = [(fault, place) for fault, place in places.items() if place is not None]
    # The longest first, so that no process ends long after the others; before those with a reason,
    # which run all tests to their end.
    inside.sort(key=lambda f: (reason_for(f[0]) is not None, -seconds[f[0].module, f[1]]))
    jobs = (
        ((f, p), functools.partial(work, f, p), SECONDS + 5 * seconds[f.module, p])
        for f, p in inside
    )
    for (fault, place), code in in_forks(jobs, processes):
        if code == NOT_PUT:
            later.append((fault, watch.files_of(fault.module)))
            continue
        importers = watch.importers_of(fault.module, place) if code == 0 else []
        if importers and reason_for(fault) is None:
            later.append((fault, importers))
        else:
            watch.log.write_fault(fault, outcome_of(code))
    return later


def plant_by_import(watch: Watch, later: Later, processes: int) -> None:
    """Import modules with the faults, and run the test files that may see them."""
    failed = [name for name, test in watch.tests.items() if not test.passed]
    every = sum(test.seconds for test in watch.tests.values())

    def work(fault: Fault, files: list[str]) -> int:
        files = files if reason_for(fault) is None else files[:1]
        for name in [*sys.modules]:
            if name.partition(".")[0] in ("attention_to_rope", "bookkit", "tests"):
                del sys.modules[name]
        tree = changed_tree(watch.trees[fault.module], fault)
        code = run_after_import(fault.module, tree, files, failed)
        return code if code <= pytest.ExitCode.INTERRUPTED else BROKEN

    jobs = ((f, functools.partial(work, f, files), SECONDS + 5 * every) for f, files in later)
    for fault, code in in_forks(jobs, processes):
        watch.log.write_fault(fault, outcome_of(code))


def changed_tree(tree: ast.AST, fault: Fault) -> ast.AST:
    """The tree with the fault; the tree is the fork's own."""
    return ast.fix_missing_locations(Replace(fault.old, fault.new).visit(tree))


def text_of(fault: Fault) -> str:
    """The line that the fault changes, or begins in."""
    source = source_file(fault.module).read_text(encoding="utf-8")
    return source.splitlines()[fault.line - 1].strip()


def reason_for(fault: Fault) -> tuple[str, str] | None:
    """The entry that says why a fault of this line changes nothing, or None."""
    text = text_of(fault)
    for where, part in EQUIVALENT:
        if where == f"{fault.module}: {fault.name}" and part in text:
            return where, part
    return None


def chosen_faults(trees: dict[str, ast.Module], asked: list[str], sample: int) -> list[Fault]:
    """The faults of modules and lines, "rope" or "rope:31"; of each at most a fixed sample."""
    chosen: list[Fault] = []
    for name in asked:
        module, _, line = name.partition(":")
        every = [f for f in faults(module, trees[module]) if line in ("", str(f.line))]
        chosen += random.Random(0).sample(every, sample) if 0 < sample < len(every) else every
    return chosen


def left_to_plant(
    chosen: list[Fault], outcomes: dict[tuple[str, int], str], again: bool
) -> list[Fault]:
    """Those that nobody planted yet or, again, those that were not caught."""
    known = {fault: outcomes.get((fault.module, fault.number)) for fault in chosen}
    return [
        fault for fault in chosen if known[fault] is None or (again and known[fault] != "caught")
    ]


def tell(chosen: list[Fault], outcomes: dict[tuple[str, int], str]) -> dict[str, dict[str, int]]:
    """Name the survivors; returns for each module what became of its faults."""
    counts: dict[str, dict[str, int]] = {}
    used = set()
    for fault in chosen:
        outcome = outcomes.get((fault.module, fault.number), "not planted")
        key = reason_for(fault) if outcome in ("survived", "not planted") else None
        count = counts.setdefault(
            fault.module, {"faults": 0, "caught": 0, "with reason": 0, "unexplained": 0}
        )
        count["faults"] += 1
        count["caught" if outcome == "caught" else "with reason" if key else "unexplained"] += 1
        used.add(key)
        if outcome != "caught":
            print(f"  {outcome}: {fault.module}.py:{fault.line} {fault.name}: {text_of(fault)}")
            print(f"            {EQUIVALENT[key] if key else 'NOT EXPLAINED'}")
    for module, count in counts.items():
        print(f"{module}: {count['caught']} of {count['faults']} caught")
        if count["faults"] == len(faults(module, ast.parse(source_file(module).read_bytes()))):
            for where, part in sorted(set(EQUIVALENT) - used):
                if where.partition(":")[0] == module:
                    print(f"  stale reason: {where}: {part!r}: nothing like it survived")
    return counts


def record(file: Path, log: Log, counts: dict[str, dict[str, int]]) -> None:
    """Add a line of data: when and where the log began, and what became of each module's faults."""
    (first,) = (line for line in log.lines() if "library" in line)
    command = "python tests/attention_to_rope/mutants.py --record FILE"
    row = first | {"command": command, "modules": counts}
    with open(file, "a", encoding="utf-8") as lines:
        lines.write(json.dumps(row) + "\n")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("modules", nargs="*", default=modules(), metavar="MODULE[:LINE]")
    parser.add_argument("--sample", type=int, default=0, help="at most so many of each module")
    parser.add_argument("--processes", type=int, default=os.cpu_count(), help="so many at once")
    parser.add_argument("--tests", nargs="+", help="ask only these files, as test_rope.py")
    parser.add_argument("--log", type=Path, help="what is known, to go on from")
    parser.add_argument("--again", action="store_true", help="plant the log's survivors again")
    parser.add_argument("--told", action="store_true", help="plant nothing, tell the log's faults")
    parser.add_argument("--record", type=Path, help="add a line with the counts to this file")
    options = parser.parse_args()
    unknown = {name.partition(":")[0] for name in options.modules} - set(modules())
    if unknown:
        parser.error(f"modules are {', '.join(modules())}; got {', '.join(sorted(unknown))}")
    torch.set_num_threads(1)
    # Gradients do not run in a fork of a process that uses a GPU: every fault would look caught.
    os.environ["CUDA_VISIBLE_DEVICES"] = ""
    began = time.monotonic()
    log = Log(options.log or Path(tempfile.mkdtemp()) / "faults.jsonl")
    later: Later = []

    def work(watch: Watch) -> None:
        watch.look_at_all(options.processes)
        print(f"{len(watch.items)} tests run, {time.monotonic() - began:.0f} s", flush=True)
        left = left_to_plant(chosen, log.outcomes(), options.again)
        print(f"{len(left)} faults to plant", flush=True)
        later.extend(plant(watch, left, options.processes))

    watch = Watch(log, work)
    chosen = chosen_faults(watch.trees, options.modules, options.sample)
    files = [
        str(file)
        for file in sorted(HERE.rglob("test_*.py"))
        if file.name not in LEFT_OUT and file.name in (options.tests or [file.name])
    ]
    if not options.told:
        sys.settrace(watch.trace)
        for module in modules():
            importlib.import_module(f"attention_to_rope.{module}")
        pytest.main([*SETTINGS, *files], plugins=[watch, Quick()])
        plant_by_import(watch, later, options.processes)
    counts = tell(chosen, log.outcomes())
    total, found, excused, unexplained = (
        sum(count[key] for count in counts.values())
        for key in ("faults", "caught", "with reason", "unexplained")
    )
    share = 100 * found / max(total, 1)
    print(
        f"{found} of {total} faults caught ({share:.1f} %), {excused} survivors change nothing a "
        f"caller can see, {unexplained} unexplained; {time.monotonic() - began:.0f} s"
    )
    if options.record:
        record(options.record, log, counts)
    return 0 if share >= 97 else 1


if __name__ == "__main__":
    sys.exit(main())
