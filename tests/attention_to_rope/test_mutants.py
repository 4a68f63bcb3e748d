"""The planter of faults finds the tests of decorated functions too, and hears what they say."""

import importlib.util
import os
import sys
import weakref
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import pytest

TOY = """
import functools
import torch

@functools.lru_cache
def doubled(x):
    return x * 2

@torch.no_grad()
def following(x):
    names: int | None = None
    return x + 1

class Holder:
    @property
    def length(self):
        return 3

    @staticmethod
    def sign(x):
        return -x
"""


class Item(NamedTuple):
    """What the planter needs of a test."""

    nodeid: str
    path: Path
    check: Callable[[], None]


def load(name: str, path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def mutants(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The planter, for a library and tests in a folder of their own."""
    planter = load("mutants", Path(__file__).with_name("mutants.py"))
    monkeypatch.setattr(planter, "SOURCE", tmp_path / "src" / "attention_to_rope")
    monkeypatch.setattr(planter, "HERE", tmp_path / "tests" / "attention_to_rope")
    monkeypatch.setattr(planter, "TESTS", {"toy": ["toy"]})

    def passes(item: Item) -> bool:
        try:
            item.check()
        except AssertionError:
            return False
        return True

    monkeypatch.setattr(planter, "passes", passes)
    source = planter.source_file("toy")
    source.parent.mkdir(parents=True)
    source.write_text(TOY, encoding="utf-8")
    return planter


def answers(mutants: ModuleType, check: Callable[[ModuleType], None]) -> dict[str, bool]:
    """What a test says to every fault of the toy: the changed expression → whether it is seen."""
    toy = load("toy", mutants.source_file("toy"))
    watch = mutants.Watch(["toy"], lambda _: None)
    watch.items["check"] = Item("check", mutants.test_file("toy"), lambda: check(toy))
    watch.seconds["check"], watch.now = 0.0, "check"
    before = sys.gettrace()
    sys.settrace(watch.trace)
    try:
        check(toy)
    finally:
        sys.settrace(before)
    return {
        f"{fault.line} {fault.name}": mutants.answer(watch, "toy", fault)
        for fault in mutants.faults(watch.trees["toy"])
    }


def looks(toy: ModuleType) -> None:
    assert toy.doubled(3) == 6
    assert toy.following(3) == 4
    assert toy.Holder().length == 3
    assert toy.Holder.sign(1) == -1


def enters(toy: ModuleType) -> None:
    toy.doubled(3), toy.following(3), toy.Holder().length, toy.Holder.sign(-1)


def test_faults_in_decorated_functions_are_seen(mutants: ModuleType) -> None:
    said = answers(mutants, looks)
    assert len(said) == 6  # a local variable's type is no place for a fault
    assert all(said.values())


def test_a_test_that_only_enters_sees_nothing(mutants: ModuleType) -> None:
    assert not any(answers(mutants, enters).values())


def test_objects_that_raise_when_looked_at_are_no_catch(mutants: ModuleType) -> None:
    """The planter goes through all objects; a dead weak proxy raises if asked what it is."""

    class Owner:
        pass

    owner = Owner()
    held = [weakref.proxy(owner)]
    del owner
    with pytest.raises(ReferenceError):
        isinstance(held[0], int)
    assert not any(answers(mutants, enters).values())


def test_a_planter_that_fails_is_no_catch(
    mutants: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails() -> None:
        raise OSError("planted")

    monkeypatch.setattr(mutants, "forget_results", fails)
    with pytest.raises(RuntimeError, match="could not plant"):
        answers(mutants, enters)


def test_tests_that_fail_in_a_fork_are_known(mutants: ModuleType) -> None:
    """A test that fails there whatever is planted would call every fault caught."""
    here = os.getpid()

    def only_here() -> None:
        assert os.getpid() == here

    items = [Item("sound", Path(), lambda: None), Item("spoilt", Path(), only_here)]
    assert mutants.failing_in_fork(items, 0.0) == {"spoilt"}


def test_a_decorated_function_begins_at_its_decorator(mutants: ModuleType) -> None:
    tree = mutants.ast.parse(TOY)
    of_lines = [mutants.place_of(tree, line) for line in range(1, TOY.count("\n") + 1)]
    names = [place and place.name for place in of_lines]
    assert names[4:7] == ["doubled"] * 3
    assert names[14:17] == ["Holder.length"] * 3
    assert names[0:4] == [None] * 4
    assert of_lines[5].line == 5
