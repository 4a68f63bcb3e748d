"""Plant small faults in the library, one at a time, and count how many the tests catch.

    python tests/attention_to_rope/mutants.py                 all modules
    python tests/attention_to_rope/mutants.py rope masks      some modules
    python tests/attention_to_rope/mutants.py --sample 60     a fixed sample of each module

Every fault is one change of one expression: another comparison or operator, a number one larger,
a dropped check or argument, a turned condition. Torch is imported once; each fault runs in a fork
that sees the changed module, so a fault costs the time of its tests until the first one fails.
mutmut 3.8 does not run under pytest 9.2; this file is what of it the library needs.
"""

import argparse
import ast
import copy
import importlib.abc
import importlib.machinery
import os
import random
import signal
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import hypothesis  # noqa: F401  # loaded once, before the forks
import numpy as np  # noqa: F401
import pytest
import torch

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
    "rope_probe": ["doctor"],
    "rope_families": ["rope_families", "doctor"],
    "rotary_config": ["rotary_config", "hugging_face", "rope_families"],
    "hugging_face": ["hugging_face", "bad_inputs"],
    "hugging_face_config": ["hugging_face", "bad_inputs"],
    "latent_attention": ["latent_attention", "bad_inputs"],
    "positions": [
        "positions",
        "heads",
        "default_device",
        "transformer",
        "state",
    ],
    "rope": ["rope", "rope_transforms", "state", "default_device"],
    "rope_checks": ["rope", "rope_axes", "context_extension", "positions", "bad_inputs"],
    "rope_axes": ["rope_axes"],
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
    "scaled_dot_product": ["scaled_dot_product", "default_device", "state", "bad_inputs"],
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


SECONDS = 120  # a fault that makes the tests run longer than this counts as caught

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
    ("heads: no USub", "new.unsqueeze(-1)"): "one axis: 1 and -1 are the same place",
    ("checks: no strict=", "strict=True"): "both shapes have the same length by then",
    (
        "scaled_dot_product: one more",
        "largest.masked_fill",
    ): "−inf less any number is −inf",
    (
        "scaled_dot_product: one more",
        "total.masked_fill",
    ): "zeros stay zeros when divided",
    ("rope: no Not", "not (values_are_known"): "the formula gives the same numbers, slower",
    ("rope: And", "not (values_are_known"): "both ways give the same numbers",
    ("rope: one more", "torch.empty(0, dtype=dtype)"): "only its dtype is looked at",
    ("rope: Mod", "storage_offset() % 2"): "a copy more, the same numbers",
    ("positions: Lt", "distance < exact"): "at that distance both sides are that distance",
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
    ("transformer: Or", "self.cross_residual is None"): "both are there or neither is",
    ("transformer: Or", "temperature is None or rng"): "both are there or neither is",
    ("transformer: no USub", "tokens.shape[-1]"): "tokens have two axes: the last is axis 1",
    ("generation: no USub", ".cumsum(-1)"): "two axes: the last is axis 1",
    ("generation: no USub", ".squeeze(-1)"): "two axes: the last is axis 1",
    ("generation: no USub", ".argmax(-1"): "two axes: the last is axis 1",
    ("transformer: no USub", ".unsqueeze(-1)"): "one axis: 1 and -1 are the same place",
    ("generation: Mult", "uniform * summed"): "the last sum is 1 but for rounding",
    ("transformer: no strict=", "strict=True"): "the lengths were compared above",
    ("transformer: other truth", "strict=True"): "the lengths were compared above",
    ("generation: other truth", "use_cache"): "the same tokens, slower",
    ("generation: turned condition", "if use_cache"): "the same tokens, slower or faster",
}


def mutable_nodes(tree: ast.AST) -> Iterator[ast.AST]:
    """The nodes to change: not annotations, docstrings, overloads, or texts of errors."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Raise | ast.JoinedStr | ast.Import | ast.ImportFrom | ast.arg):
            continue
        if isinstance(node, ast.If) and ast.unparse(node.test) == "triton is not None":
            continue  # a kernel: it runs on a GPU, or by the interpreter in tests/peers
        if isinstance(node, ast.FunctionDef):
            if node.name == "_launch":  # of a kernel
                continue
            if any("overload" in ast.dump(decorator) for decorator in node.decorator_list):
                continue
            for default in (*node.args.defaults, *node.args.kw_defaults):
                if default is not None:
                    yield default
            for statement in node.body:
                yield statement
                yield from mutable_nodes(statement)
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


def start(module: str, tree: ast.AST, fault: Fault | None) -> int:
    """Run the tests of a module with this fault in a fork: its process number."""
    child = os.fork()
    if child == 0:
        signal.alarm(SECONDS)
        silence = os.open(os.devnull, os.O_WRONLY)
        os.dup2(silence, 1)
        os.dup2(silence, 2)
        if fault is not None:  # the tree is the fork's own
            tree = ast.fix_missing_locations(Replace(fault.old, fault.new).visit(tree))
        sys.meta_path.insert(0, Changed(f"attention_to_rope.{module}", tree))
        files = [str(test_file(name)) for name in TESTS[module]]
        options = ["-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-W", "ignore"]
        code = pytest.main([*options, "-o", "addopts=--import-mode=importlib", *files])
        os._exit(int(code))
    return child


Planted = list[tuple[str, Fault | None]]


def answers(
    trees: dict[str, ast.AST], planted: Planted, jobs: int
) -> Iterator[tuple[str, Fault | None, bool]]:
    """Whether the tests see each fault, as it becomes known; so many at once."""
    waiting = planted[::-1]
    running: dict[int, tuple[str, Fault | None]] = {}
    while waiting or running:
        while waiting and len(running) < jobs:
            module, fault = waiting.pop()
            running[start(module, trees[module], fault)] = (module, fault)
        child, status = os.wait()
        yield (*running.pop(child), status != 0)


def sound_modules(trees: dict[str, ast.AST], jobs: int) -> list[str]:
    """The modules whose tests pass without any fault; the others are named and left out."""
    untouched: Planted = [(module, None) for module in trees]
    failing = {module for module, _, failed in answers(trees, untouched, jobs) if failed}
    for module in sorted(failing):
        print(f"{module}: left out, its tests fail without any fault; mend them", flush=True)
    return [module for module in trees if module not in failing]


def reason_for(module: str, name: str, text: str) -> str | None:
    """Why a surviving fault of this line changes nothing, or None."""
    for (where, part), why in EQUIVALENT.items():
        if where == f"{module}: {name}" and part in text:
            return why
    return None


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("modules", nargs="*", default=list(TESTS))
    parser.add_argument("--sample", type=int, help="try at most so many faults of each module")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="faults at a time")
    options = parser.parse_args()
    unknown = set(options.modules) - set(TESTS)
    if unknown:
        parser.error(f"modules must be among {', '.join(TESTS)}; got {', '.join(sorted(unknown))}")
    torch.set_num_threads(1)
    # Loads pytest's plugins before the forks; there is nothing to collect in this file.
    pytest.main(
        ["-q", "--collect-only", "-o", "addopts=", "-p", "no:xdist", str(HERE / "conftest.py")]
    )
    began = time.monotonic()
    sources = {
        module: source_file(module).read_text(encoding="utf-8") for module in options.modules
    }
    trees: dict[str, ast.AST] = {module: ast.parse(text) for module, text in sources.items()}
    sound = sound_modules(trees, options.jobs)
    planted: Planted = []
    for module in sound:
        every = faults(trees[module])
        if options.sample and options.sample < len(every):
            every = random.Random(0).sample(every, options.sample)
        planted += [(module, fault) for fault in every]
    caught, excused, unused = Counter[str](), 0, set(EQUIVALENT)
    for module, fault, seen in answers(trees, planted, options.jobs):
        caught[module] += seen
        if seen or fault is None:
            continue
        text = sources[module].splitlines()[fault.line - 1].strip()
        reason = reason_for(module, fault.name, text)
        excused += reason is not None
        unused -= {key for key, why in EQUIVALENT.items() if why == reason}
        print(f"  survived: {module}.py:{fault.line} {fault.name}: {text}")
        print(f"            {reason or 'NOT EXPLAINED'}", flush=True)
    for module, count in Counter(module for module, _ in planted).items():
        print(f"{module}: {caught[module]} of {count} caught")
    if not options.sample and set(options.modules) == set(TESTS):
        for where, part in sorted(unused):
            print(f"  stale reason: {where}: {part!r}: nothing like it survived")
    found, tried = caught.total(), len(planted)
    share = 100 * found / tried
    print(
        f"{found} of {tried} faults caught ({share:.1f} %), {excused} survivors change nothing a "
        f"caller can see, {tried - found - excused} unexplained; {time.monotonic() - began:.0f} s"
    )
    return 0 if share >= 97 and len(sound) == len(trees) else 1


if __name__ == "__main__":
    sys.exit(main())
