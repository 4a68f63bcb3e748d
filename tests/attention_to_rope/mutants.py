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
from collections.abc import Iterator
from pathlib import Path

import hypothesis  # noqa: F401  # loaded once, before the forks
import numpy as np  # noqa: F401
import pytest
import torch

HERE = Path(__file__).parent
SOURCE = HERE.parents[1] / "src" / "attention_to_rope"
# The tests that hold each module, the nearest first.
TESTS = {
    "checks": [
        "masks",
        "rope",
        "scaled_dot_product",
        "layers",
        "norms",
        "context_extension",
        "state",
    ],
    "activations": ["activations"],
    "fast.attention_triton": ["fast/attention_triton"],
    "fast.blockwise": ["fast/blockwise", "default_device"],
    "fast.ring": ["fast/ring"],
    "fast.rope_triton": ["fast/rope_triton"],
    "merge": ["fast/ring", "fast/blockwise"],
    "context_extension": ["context_extension", "default_device"],
    "experts": ["experts", "transforms"],
    "generation": ["generation", "transformer", "default_device"],
    "heads": ["heads", "models", "bad_inputs", "generation", "default_device", "state"],
    "hugging_face": ["hugging_face"],
    "hugging_face_config": ["hugging_face"],
    "key_value_cache": ["key_value_cache", "models", "heads", "state"],
    "latent_attention": ["latent_attention"],
    "layers": ["layers", "models", "bad_inputs"],
    "masks": ["masks", "default_device"],
    "norms": ["norms"],
    "positions": ["positions", "heads", "default_device"],
    "recurrent_attention": ["recurrent_attention"],
    "rope": ["rope", "state", "default_device"],
    "scaled_dot_product": ["scaled_dot_product", "default_device", "state"],
    "score_shaping": ["score_shaping"],
    "softmax_gradient": ["softmax_gradient"],
    "transformer": ["transformer", "models", "bad_inputs", "generation", "default_device"],
}


def source_file(module: str) -> Path:
    """ "fast.ring" → src/attention_to_rope/fast/ring.py"""
    return (SOURCE / module.replace(".", "/")).with_suffix(".py")


def test_file(name: str) -> Path:
    """ "fast/ring" → tests/attention_to_rope/fast/test_ring.py"""
    folder, _, last = name.rpartition("/")
    return HERE / folder / f"test_{last}.py"


SECONDS = 300  # a fault that makes the tests run longer than this counts as caught

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


def faults(source: str) -> Iterator[tuple[int, str, str]]:
    """All faults of a module: the line, what was done, the whole changed source."""
    tree = ast.parse(source)
    for node in list(mutable_nodes(tree)):
        for name, new in changes(node):
            changed = Replace(node, new).visit(copy_with(tree, node))
            yield node.lineno, name, ast.unparse(ast.fix_missing_locations(changed))


def copy_with(tree: ast.AST, keep: ast.AST) -> ast.AST:
    """A copy of the tree that still holds the node itself, so that it can be found."""
    return copy.deepcopy(tree, {id(keep): keep})


class Changed(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Imports one module from changed source."""

    def __init__(self, module: str, source: str) -> None:
        self.module, self.source = module, source

    def find_spec(self, name, path, target=None):
        if name != self.module:
            return None
        origin = str(source_file(name.removeprefix("attention_to_rope.")))
        return importlib.machinery.ModuleSpec(name, self, origin=origin)

    def exec_module(self, module) -> None:
        exec(compile(self.source, "<fault>", "exec"), module.__dict__)


def start(module: str, source: str) -> int:
    """Run the tests of a module with this source in a fork: its process number."""
    child = os.fork()
    if child == 0:
        signal.alarm(SECONDS)
        silence = os.open(os.devnull, os.O_WRONLY)
        os.dup2(silence, 1)
        os.dup2(silence, 2)
        sys.meta_path.insert(0, Changed(f"attention_to_rope.{module}", source))
        files = [str(test_file(name)) for name in TESTS[module]]
        options = ["-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-W", "ignore"]
        code = pytest.main([*options, "-o", "addopts=--import-mode=importlib", *files])
        os._exit(int(code))
    return child


def caught(module: str, sources: list[str], jobs: int) -> list[bool]:
    """Whether the tests of a module fail when it has each source; so many at once."""
    answers = [False] * len(sources)
    running: dict[int, int] = {}
    waiting = list(reversed(range(len(sources))))
    while waiting or running:
        while waiting and len(running) < jobs:
            index = waiting.pop()
            running[start(module, sources[index])] = index
        child, status = os.wait()
        answers[running.pop(child)] = status != 0
        done = len(sources) - len(waiting) - len(running)
        if sys.stderr.isatty():
            print(f"  {module}: {done} of {len(sources)}", end="\r", file=sys.stderr, flush=True)
    return answers


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
    tried = found = excused = 0
    began = time.monotonic()
    for module in options.modules:
        source = source_file(module).read_text(encoding="utf-8")
        lines = source.splitlines()
        if caught(module, [source], 1) != [False]:
            print(f"{module}: its tests fail without any fault; mend them first")
            return 1
        planted = list(faults(source))
        if options.sample and options.sample < len(planted):
            planted = sorted(random.Random(0).sample(planted, options.sample))
        survivors = 0
        answers = caught(module, [changed for _, _, changed in planted], options.jobs)
        for (line, name, _), seen in zip(planted, answers, strict=True):
            tried += 1
            if seen:
                found += 1
                continue
            text = lines[line - 1].strip()
            reason = next(
                (
                    why
                    for (where, part), why in EQUIVALENT.items()
                    if where == f"{module}: {name}" and part in text
                ),
                None,
            )
            excused += reason is not None
            survivors += 1
            print(f"  survived: {module}.py:{line} {name}: {text}")
            print(f"            {reason or 'NOT EXPLAINED'}", flush=True)
        print(f"{module}: {len(planted) - survivors} of {len(planted)} caught", flush=True)
    share = 100 * found / tried
    print(
        f"{found} of {tried} faults caught ({share:.1f} %), {excused} survivors change nothing a "
        f"caller can see, {tried - found - excused} unexplained; {time.monotonic() - began:.0f} s"
    )
    return 0 if share >= 97 else 1


if __name__ == "__main__":
    sys.exit(main())
