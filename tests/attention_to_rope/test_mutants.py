"""The planter of faults finds the tests of decorated functions too, and hears what they say."""

import ast
import importlib.util
import json
import os
import platform
import sys
import weakref
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

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
    (tmp_path / "test_toy.py").write_text("", encoding="utf-8")
    return planter


def watching(mutants: ModuleType, folder: Path, check: Callable[[ModuleType], None]) -> Any:
    """The planter's watch with one test that it has looked at."""
    toy = load("toy", mutants.source_file("toy"))
    watch = mutants.Watch(mutants.Log(folder / "log"), lambda _: None)
    watch.items = {"check": Item("check", folder / "test_toy.py", lambda: check(toy))}
    watch.imported = {}
    watch.look_at_all(2)
    return watch


def answers(
    mutants: ModuleType, folder: Path, check: Callable[[ModuleType], None]
) -> dict[str, str]:
    """What a test says to every fault of the toy: the changed expression → what became of it."""
    watch = watching(mutants, folder, check)
    chosen = mutants.chosen_faults(watch.trees, ["toy"], 0)
    assert mutants.plant(watch, chosen, 2) == []
    outcomes = watch.log.outcomes()
    return {f"{f.line} {f.name}": outcomes["toy", f.number] for f in chosen}


def looks(toy: ModuleType) -> None:
    assert toy.doubled(3) == 6
    assert toy.following(3) == 4
    assert toy.Holder().length == 3
    assert toy.Holder.sign(1) == -1


def enters(toy: ModuleType) -> None:
    toy.doubled(3), toy.following(3), toy.Holder().length, toy.Holder.sign(-1)


def test_faults_in_decorated_functions_are_seen(mutants: ModuleType, tmp_path: Path) -> None:
    said = answers(mutants, tmp_path, looks)
    assert len(said) == 6  # a local variable's type is no place for a fault
    assert set(said.values()) == {"caught"}


def test_a_test_that_only_enters_sees_nothing(mutants: ModuleType, tmp_path: Path) -> None:
    assert set(answers(mutants, tmp_path, enters).values()) == {"survived"}


def test_objects_that_raise_when_looked_at_are_no_catch(
    mutants: ModuleType, tmp_path: Path
) -> None:
    """The planter goes through all objects; a dead weak proxy raises if asked what it is."""

    class Owner:
        pass

    owner = Owner()
    held = [weakref.proxy(owner)]
    del owner
    with pytest.raises(ReferenceError):
        isinstance(held[0], int)
    assert set(answers(mutants, tmp_path, enters).values()) == {"survived"}


def test_a_planter_that_fails_is_no_catch(
    mutants: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(_: Any) -> None:
        raise OSError("planted")

    monkeypatch.setattr(mutants, "forget_results", fails)
    assert set(answers(mutants, tmp_path, looks).values()) == {"broken"}


def test_tests_that_fail_in_a_fork_are_not_asked(mutants: ModuleType, tmp_path: Path) -> None:
    """A test that fails there whatever is planted would call every fault caught."""
    here = os.getpid()

    def only_here(toy: ModuleType) -> None:
        looks(toy)
        assert os.getpid() == here

    assert set(answers(mutants, tmp_path, only_here).values()) == {"survived"}


def test_what_is_known_is_not_done_again(mutants: ModuleType, tmp_path: Path) -> None:
    watch = watching(mutants, tmp_path, enters)
    every = mutants.chosen_faults(watch.trees, ["toy"], 0)
    assert mutants.left_to_plant(every, watch.log.outcomes(), again=False) == every
    watch.log.write_fault(every[0], "caught")
    watch.log.write_fault(every[1], "survived")
    known = watch.log.outcomes()
    assert mutants.left_to_plant(every, known, again=False) == every[2:]
    assert mutants.left_to_plant(every, known, again=True) == every[1:]
    assert watch.log.tests().keys() == {"check"}
    (tmp_path / "test_toy.py").write_text("# changed", encoding="utf-8")
    assert watch.log.tests() == {}
    mutants.source_file("toy").write_text(TOY + "# changed", encoding="utf-8")
    with pytest.raises(ValueError, match="another state of the library"):
        mutants.Log(tmp_path / "log")


def test_faults_of_one_line_can_be_chosen(mutants: ModuleType, tmp_path: Path) -> None:
    watch = watching(mutants, tmp_path, enters)
    chosen = mutants.chosen_faults(watch.trees, ["toy:7"], 0)
    assert [(fault.line, fault.name) for fault in chosen] == [(7, "Mult"), (7, "one more")]


def test_survivors_without_a_reason_are_counted(
    mutants: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mutants, "EQUIVALENT", {("toy: Mult", "x * 2"): "planted"})
    watch = watching(mutants, tmp_path, enters)
    chosen = mutants.chosen_faults(watch.trees, ["toy"], 0)
    said = {("toy", fault.number): "caught" for fault in chosen[2:]}
    counts = mutants.tell(chosen, said | {("toy", 1): "survived"})  # the first is not planted
    assert counts == {"toy": {"faults": 6, "caught": 4, "with reason": 1, "unexplained": 1}}
    mutants.record(tmp_path / "rows.jsonl", watch.log, counts)
    row = json.loads((tmp_path / "rows.jsonl").read_text(encoding="utf-8"))
    assert row["modules"] == counts
    assert row["machine"] == platform.machine()


def test_a_decorated_function_begins_at_its_decorator(mutants: ModuleType) -> None:
    tree = mutants.ast.parse(TOY)
    of_lines = [mutants.place_of(tree, line) for line in range(1, TOY.count("\n") + 1)]
    names = [place and place.name for place in of_lines]
    assert names[4:7] == ["doubled"] * 3
    assert names[14:17] == ["Holder.length"] * 3
    assert names[0:4] == [None] * 4
    assert of_lines[5].line == 5


@pytest.mark.parametrize("by_library", [False, True])
def test_what_an_import_may_have_hidden_is_asked_again(
    mutants: ModuleType, tmp_path: Path, by_library: bool
) -> None:
    """Of the files whose import entered the function, or of all if the library's own did."""
    watch = watching(mutants, tmp_path, enters)
    file = None if by_library else tmp_path / "test_other.py"
    watch.imported = {file: {("toy", mutants.Place("doubled", 5))}}
    chosen = mutants.chosen_faults(watch.trees, ["toy:7", "toy:12"], 0)
    later = mutants.plant(watch, chosen, 2)
    assert {fault.line for fault, _ in later} == {7}
    asked = tmp_path / "test_toy.py" if by_library else file
    assert all(files == [str(asked)] for _, files in later)
    assert set(watch.log.outcomes().values()) == {"survived"}


def test_a_changed_module_has_its_file_and_its_code(mutants: ModuleType) -> None:
    """A test that reads the source, or runs the module, must not fail for want of them."""
    tree = ast.parse(TOY.replace("return 3", "return 4"))
    finder = mutants.Changed("attention_to_rope.toy", tree)
    spec = finder.find_spec("attention_to_rope.toy", None)
    assert finder.find_spec("attention_to_rope.other", None) is None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert module.Holder().length == 4
    assert module.__file__ == str(mutants.source_file("toy"))
    assert module.Holder.sign.__code__.co_filename == module.__file__


def test_a_module_that_ends_the_program_when_imported_is_a_catch(
    mutants: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path])
    monkeypatch.delitem(sys.modules, "attention_to_rope.toy", raising=False)
    assert mutants.run_after_import("toy", ast.parse("raise SystemExit(4)"), [], []) == 1


def test_tests_of_the_compiler_are_watched_as_others(request: pytest.FixtureRequest) -> None:
    def watch(*_: Any) -> None:
        """As the planter does, for it asks only the tests that it sees enter a function."""

    before = sys.gettrace()
    sys.settrace(watch)
    try:
        request.getfixturevalue("untraced")
        assert sys.gettrace() is watch
    finally:
        sys.settrace(before)
