"""Plant small faults in the library, one at a time, and count how many the tests catch.

    python tests/attention_to_rope/mutants.py                 all modules
    python tests/attention_to_rope/mutants.py rope masks      some modules
    python tests/attention_to_rope/mutants.py --sample 60     a fixed sample of each module
    python tests/attention_to_rope/mutants.py --part 2/8      every eighth fault, from the second:
                                                              the whole, shared by eight processes

Every fault is one change of one expression: another comparison or operator, a number one larger,
a dropped check or argument, a turned condition. Tests are collected and run once, which tells the
functions that each of them enters. A fault inside a function is put into it in a fork, which runs
the tests that enter it, the quickest first, until one fails. All other faults, and those that
could have shown while a test file was imported, import the changed module in a fork.
mutmut 3.8 does not run under pytest 9.2; this file is what of it the library needs.
"""

import argparse
import ast
import copy
import functools
import gc
import importlib.abc
import importlib.machinery
import inspect
import os
import random
import signal
import sys
import tempfile
import threading
import time
import types
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import torch
from _pytest.runner import runtestprotocol

HERE = Path(__file__).parent
SOURCE = HERE.parents[1] / "src" / "attention_to_rope"
# The tests that hold each module, the nearest first.
TESTS = {
    "heads": [
        "heads",
        "long_sequences",
        "models",
        "generation",
        "default_device",
        "state",
        "bad_inputs",
    ],
    "transformer": [
        "transformer",
        "models",
        "generation",
        "long_sequences",
        "default_device",
        "bad_inputs",
    ],
    "checks": [
        "masks",
        "rope",
        "scaled_dot_product",
        "layers",
        "norms",
        "context_extension",
        "state",
        "rope_axes",
        "bad_inputs",
    ],
    "fast.blockwise": ["fast/blockwise", "default_device", "long_sequences"],
    "fast.ring": ["fast/ring", "bad_inputs"],
    "generation": [
        "generation",
        "transformer",
        "default_device",
        "bad_inputs",
    ],
    "doctor": ["doctor", "bad_inputs"],
    "rope_probe": ["rope_probe", "doctor"],
    "rope_families": ["rope_families", "doctor"],
    "rotary_config": ["rotary_config", "hugging_face", "rope_families"],
    "hugging_face": ["hugging_face", "bad_inputs"],
    "hugging_face_config": ["hugging_face", "bad_inputs"],
    "latent_attention": ["latent_attention", "default_device", "bad_inputs"],
    "positions": [
        "positions",
        "heads",
        "default_device",
        "transformer",
        "state",
    ],
    "rope": ["rope", "rope_transforms", "state", "default_device", "bad_inputs"],
    "rope_checks": ["rope", "rope_axes", "context_extension", "positions", "bad_inputs"],
    "rope_axes": ["rope_axes", "default_device", "bad_inputs"],
    "rope_values": ["rope_axes", "rope"],
    "relative": ["relative", "bad_inputs"],
    "fast.turn": ["rope", "rope_transforms"],
    "fast.rope_triton": ["fast/rope_triton"],
    "fast.attention_triton": ["fast/attention_triton"],
    "merge": ["fast/ring", "fast/blockwise"],
    "context_extension": ["context_extension", "default_device", "bad_inputs"],
    "experts": ["experts", "transforms", "bad_inputs"],
    "activations": ["activations", "bad_inputs"],
    "key_value_cache": ["key_value_cache", "models", "heads", "state", "bad_inputs"],
    "layers": ["layers", "models", "transformer", "bad_inputs"],
    "masks": ["masks", "default_device", "bad_inputs"],
    "norms": ["norms", "bad_inputs"],
    "recurrent_attention": ["recurrent_attention", "bad_inputs"],
    "scaled_dot_product": [
        "scaled_dot_product",
        "score_shaping",
        "default_device",
        "state",
        "bad_inputs",
    ],
    "score_shaping": ["score_shaping", "bad_inputs"],
    "softmax_gradient": ["softmax_gradient", "bad_inputs"],
    "reference": [
        "scaled_dot_product",
        "rope",
        "positions",
        "norms",
        "activations",
        "context_extension",
        "relative",
        "rope_axes",
        "latent_attention",
        "experts",
        "score_shaping",
        "recurrent_attention",
        "softmax_gradient",
        "transforms",
        "masks",
        "rotary_config",
        "rope_families",
    ],
}


def source_file(module: str) -> Path:
    """ "fast.ring" → src/attention_to_rope/fast/ring.py"""
    return (SOURCE / module.replace(".", "/")).with_suffix(".py")


def test_file(name: str) -> Path:
    """ "fast/ring" → tests/attention_to_rope/fast/test_ring.py"""
    folder, _, last = name.rpartition("/")
    return HERE / folder / f"test_{last}.py"


# A fault that makes its tests take so much longer than without it counts as caught.
SECONDS = 30
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
    ("fast.attention_triton: one more", "BLOCK = 64"): "the kernel's, which tests/peers runs",
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
    ("relative: one more", "check_integers(name, positions"): "relative_positions has the limit",
    ("relative: no USub", "clamp_min(threshold)"): "one axis: 1 and -1 are the same place",
    ("score_shaping: one more", 'check_integers("positions"'): "check_positions has the limit",
    ("score_shaping: no USub", "sink.unsqueeze(-1)"): "one axis: 1 and -1 are the same place",
    (
        "fast.attention_triton: one more",
        "d & (d - 1)",
    ): "for d ≥ 16, d & (d - 2) is 0 for the same d",
    ("context_extension: LtE", "return 1.0 if scale <= 1"): "ln 1 = 0: both sides are 1",
    (
        "fast.blockwise: no USub",
        "if q.is_cuda",
    ): "decides only on a GPU, where the tests do not run",
    (
        "fast.blockwise: no USub",
        "unsqueeze(-1)",
    ): "a tensor of one axis: 1 and -1 are the same place",
    ("fast.blockwise: dropped call", "mark_non_differentiable"): "no caller gets the second output",
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
    ("generation: Mult", "uniform * summed"): "the last sum is 1 but for rounding",
    ("transformer: no strict=", "strict=True"): "the lengths were compared above",
    ("transformer: other truth", "strict=True"): "the lengths were compared above",
    ("generation: other truth", "use_cache"): "the same tokens, slower",
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

    line: int
    name: str
    old: ast.AST
    new: ast.AST


Planted = tuple[str, Fault]


def faults(tree: ast.AST) -> list[Fault]:
    """All faults of a module."""
    return [
        Fault(node.lineno, name, node, new)
        for node in mutable_nodes(tree)
        for name, new in changes(node)
    ]


class Changed(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Imports one module from a changed tree."""

    def __init__(self, module: str, tree: ast.AST) -> None:
        self.module, self.tree = module, tree

    def find_spec(self, name, path, target=None):
        if name != self.module:
            return None
        origin = str(source_file(name.removeprefix("attention_to_rope.")))
        return importlib.machinery.ModuleSpec(name, self, origin=origin)

    def exec_module(self, module) -> None:
        exec(compile(self.tree, "<fault>", "exec"), module.__dict__)


def run_after_import(module: str, tree: ast.AST, names: list[str]) -> int:
    """Run test files with the changed module in this process: pytest's exit code."""
    sys.meta_path.insert(0, Changed(f"attention_to_rope.{module}", tree))
    for name in names:  # one by one: most faults show in the first
        files = [str(test_file(name))]
        options = ["-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-W", "ignore"]
        code = pytest.main([*options, "-o", "addopts=--import-mode=importlib", *files])
        if code != 0:
            return int(code)
    return 0


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


def put_into(module: str, tree: ast.AST, place: Place) -> bool:
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
    held = [
        f
        for f in gc.get_objects()
        if type(f) is types.FunctionType  # isinstance would ask dead weak proxies, which raise
        and f.__code__.co_filename == path
        and Place(f.__code__.co_qualname, f.__code__.co_firstlineno) == place
    ]
    for function in held:
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
    return bool(held)


def forget_results() -> None:
    """Empty the caches of library and tests: they hold what sound code gave."""
    for wrapper in gc.get_objects():
        if type(wrapper) is functools._lru_cache_wrapper:
            code = getattr(inspect.unwrap(wrapper), "__code__", None)
            if code is not None and str(HERE.parents[1]) in code.co_filename:
                wrapper.cache_clear()


class Watch:
    """A pytest plugin: runs all tests once, notes who enters what, then plants the faults."""

    def __init__(self, modules: list[str], work: Callable[["Watch"], None]) -> None:
        self.files = {str(source_file(module)): module for module in modules}
        self.work, self.now = work, ""
        # For each function its tests, and the test files that enter it when they are imported.
        self.tests: dict[tuple[str, Place], set[str]] = defaultdict(set)
        self.imports: dict[tuple[str, Place], set[str]] = defaultdict(set)
        self.items: dict[str, pytest.Item] = {}
        self.seconds: dict[str, float] = {}
        self.failed: set[str] = set()
        self.trees = {m: ast.parse(source_file(m).read_text(encoding="utf-8")) for m in modules}
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
            (self.tests if self.now in self.items else self.imports)[entered].add(self.now)

    def pytest_collectstart(self, collector: pytest.Collector) -> None:
        """What is entered now is entered by the import of a test file."""
        if isinstance(collector, pytest.Module):
            self.now = str(collector.path)

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """All tests once, watched; then the faults."""
        for item in session.items:
            self.items[item.nodeid] = item
        for name, item in self.items.items():
            self.now, began = name, time.process_time()
            sys.settrace(self.trace)
            threading.settrace(self.trace)
            if not passes(item):
                self.failed.add(name)
            self.seconds[name] = time.process_time() - began
        sys.settrace(None)
        threading.settrace(None)
        self.failed |= failing_in_fork([*self.items.values()], sum(self.seconds.values()))
        self.work(self)
        return True

    def tests_of(self, module: str, place: Place) -> list[pytest.Item]:
        """The module's tests that enter the function, the quickest first."""
        files = {str(test_file(name)) for name in TESTS[module]}
        names = self.tests[(module, place)]
        chosen = [name for name in names if str(self.items[name].path) in files]
        return [self.items[name] for name in sorted(chosen, key=lambda n: (self.seconds[n], n))]

    def imported_by(self, module: str, place: Place) -> list[str]:
        """The module's test files that enter the function while they are imported."""
        entering = self.imports[(module, place)]
        return [name for name in TESTS[module] if str(test_file(name)) in entering]


def passes(item: pytest.Item) -> bool:
    """Whether a test passes, or is skipped."""
    reports = runtestprotocol(item, log=False, nextitem=None)
    return not any(report.failed for report in reports)


def in_fork(work: Callable[[], int], seconds: float) -> int:
    """The exit code of some work in a fork: 0 if the fault was not seen."""
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
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def failing_in_fork(items: list[pytest.Item], seconds: float) -> set[str]:
    """The tests that fail in a fork without any fault: with them every fault would look caught."""
    with tempfile.NamedTemporaryFile("r", encoding="utf-8") as told:

        def run() -> int:
            with open(told.name, "w", encoding="utf-8") as tell:
                for item in items:
                    if not passes(item):
                        print(item.nodeid, file=tell)
            return 0

        if in_fork(run, SECONDS + 5 * seconds) != 0:
            raise RuntimeError("the tests do not come to their end in a fork")
        return set(told.read().splitlines())


def answer(watch: Watch, module: str, fault: Fault) -> bool | list[str]:
    """Whether some test sees the fault; or the test files that have to be imported to tell."""
    tree = watch.trees[module]
    place = place_of(tree, fault.line)
    if place is None:
        return TESTS[module]
    items = watch.tests_of(module, place)

    def run() -> int:
        try:
            if not put_into(module, changed_tree(tree, fault), place):
                return NOT_PUT
            forget_results()
        except Exception:
            return BROKEN
        return 0 if all(passes(item) for item in items) else 1

    code = in_fork(run, SECONDS + 5 * sum(watch.seconds[item.nodeid] for item in items))
    if code == BROKEN:
        raise RuntimeError(f"could not plant {fault.name} at {module}.py:{fault.line}")
    if code == NOT_PUT:
        return TESTS[module]
    return code != 0 or watch.imported_by(module, place) or False


def changed_tree(tree: ast.AST, fault: Fault) -> ast.AST:
    """The tree with the fault; the tree is the fork's own."""
    return ast.fix_missing_locations(Replace(fault.old, fault.new).visit(tree))


def answer_after_import(module: str, tree: ast.AST, fault: Fault, names: list[str]) -> bool:
    """Whether test files see the fault when they import the changed module."""

    def run() -> int:
        for name in [*sys.modules]:
            if name.partition(".")[0] in ("attention_to_rope", "bookkit", "tests"):
                del sys.modules[name]
        return run_after_import(module, changed_tree(tree, fault), names)

    return in_fork(run, 10 * SECONDS) != 0


def reason_for(module: str, name: str, text: str) -> str | None:
    """Why a surviving fault of this line changes nothing, or None."""
    for (where, part), why in EQUIVALENT.items():
        if where == f"{module}: {name}" and part in text:
            return why
    return None


class Part(NamedTuple):
    """One process' share of the faults: each `every`-th, from number `first` on, counted from 1."""

    first: int
    every: int

    @classmethod
    def read(cls, text: str) -> "Part":
        """ "2/8" → each eighth, from the second"""
        first, _, every = text.partition("/")
        if not (first.isdigit() and every.isdigit() and 1 <= int(first) <= int(every)):
            raise argparse.ArgumentTypeError(f"a part is written 2/8, at most 8/8; got {text!r}")
        return cls(int(first), int(every))


def chosen_faults(
    watch: Watch, modules: list[str], sample: int | None, part: Part
) -> list[Planted]:
    """The faults to plant, in modules whose tests pass without any; the others are named."""
    planted: list[Planted] = []
    for module in modules:
        files = {str(test_file(name)) for name in TESTS[module]}
        if any(str(watch.items[name].path) in files for name in watch.failed):
            print(f"{module}: left out, its tests fail without any fault; mend them", flush=True)
            continue
        every = faults(watch.trees[module])
        if sample and sample < len(every):
            every = random.Random(0).sample(every, sample)
        planted += [(module, fault) for fault in every]
    return planted[part.first - 1 :: part.every]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("modules", nargs="*", default=list(TESTS))
    parser.add_argument("--sample", type=int, help="try at most so many faults of each module")
    parser.add_argument("--part", type=Part.read, default=Part(1, 1), help="a share, as 2/8")
    options = parser.parse_args()
    unknown = set(options.modules) - set(TESTS)
    if unknown:
        parser.error(f"modules must be among {', '.join(TESTS)}; got {', '.join(sorted(unknown))}")
    torch.set_num_threads(1)
    # Gradients do not run in a fork of a process that uses a GPU: every fault would look caught.
    os.environ["CUDA_VISIBLE_DEVICES"] = ""
    began = time.monotonic()
    answers: list[tuple[Planted, bool | list[str]]] = []

    def plant(watch: Watch) -> None:
        print(f"{len(watch.items)} tests run, {time.monotonic() - began:.0f} s", flush=True)
        for module, fault in chosen_faults(watch, options.modules, options.sample, options.part):
            seen = answer(watch, module, fault)
            answers.append(((module, fault), seen))
            if seen is not True:
                print(f"  not caught yet: {module}.py:{fault.line} {fault.name}", flush=True)

    watch = Watch(options.modules, plant)
    files = sorted({str(test_file(name)) for module in options.modules for name in TESTS[module]})
    sys.settrace(watch.trace)
    settings = ["-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-W", "ignore"]
    pytest.main([*settings, "-o", "addopts=--import-mode=importlib", *files], plugins=[watch])
    caught, tried, excused, unused = Counter[str](), Counter[str](), 0, set(EQUIVALENT)
    for (module, fault), seen in answers:
        tried[module] += 1
        if isinstance(seen, list):
            seen = answer_after_import(module, watch.trees[module], fault, seen)
        caught[module] += seen
        if seen:
            continue
        source = source_file(module).read_text(encoding="utf-8")
        text = source.splitlines()[fault.line - 1].strip()
        reason = reason_for(module, fault.name, text)
        excused += reason is not None
        unused -= {key for key, why in EQUIVALENT.items() if why == reason}
        print(f"  survived: {module}.py:{fault.line} {fault.name}: {text}")
        print(f"            {reason or 'NOT EXPLAINED'}", flush=True)
    for module, count in tried.items():
        print(f"{module}: {caught[module]} of {count} caught")
    if not options.sample and options.part.every == 1:
        for where, part in sorted(unused):
            if where.partition(":")[0] in tried:
                print(f"  stale reason: {where}: {part!r}: nothing like it survived")
    found, total = caught.total(), tried.total()
    share = 100 * found / max(total, 1)
    print(
        f"{found} of {total} faults caught ({share:.1f} %), {excused} survivors change nothing a "
        f"caller can see, {total - found - excused} unexplained; {time.monotonic() - began:.0f} s"
    )
    return 0 if share >= 97 and set(tried) == set(options.modules) else 1


if __name__ == "__main__":
    sys.exit(main())
