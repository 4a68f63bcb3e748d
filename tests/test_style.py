"""What `make lint` asks of the tree is caught when it is missing."""

import ast
import re
import subprocess
import sys

import pytest

from bookcheck.paths import ROOT

WITH_TEXT = {"open", "read_text", "write_text"}
HOUSE = ("attention_to_rope", "bookkit", "bookcheck", "texcheck")
SCREEN = 60  # lines


def without_encoding(source):
    """The lines that open a text file and leave its encoding to the machine.

    Ruff's rule sees it where it knows that a thing is a path; this sees it everywhere.
    """
    found: list[int] = []
    if not any(f"{name}(" in source for name in WITH_TEXT):
        return found  # most files; walking through them takes seconds
    for call in ast.walk(ast.parse(source)):
        if not isinstance(call, ast.Call):
            continue
        function = call.func
        method = isinstance(function, ast.Attribute)
        name = function.attr if method else getattr(function, "id", "")
        # Image.open, tarfile.open, a parser's own open: no text file.
        others = method and name == "open" and not is_path(function.value)
        if name not in WITH_TEXT or others or any(k.arg == "encoding" for k in call.keywords):
            continue
        words = [*call.args, *(k.value for k in call.keywords if k.arg == "mode")]
        if name == "open" and any(
            isinstance(w, ast.Constant) and "b" in str(w.value) for w in words
        ):
            continue
        found.append(call.lineno)
    return found


def is_path(node):
    """Whether an expression is a path by its looks: `a / "b"`, or a name that says so."""
    if isinstance(node, ast.BinOp):
        return isinstance(node.op, ast.Div)
    return any(word in ast.unparse(node).lower() for word in ("path", "file", "folder"))


def python_files():
    found = (path for room in ("src", "tests") for path in (ROOT / room).rglob("*.py"))
    return sorted(path for path in found if "node_modules" not in path.parts)


def test_every_text_file_is_opened_with_its_encoding():
    faults = {
        path.relative_to(ROOT).as_posix(): lines
        for path in python_files()
        if (lines := without_encoding(path.read_text(encoding="utf-8")))
    }
    assert faults == {}, 'say encoding="utf-8": Windows would choose another one'


@pytest.mark.parametrize(
    ("source", "lines"),
    [
        ("path.read_text()", [1]),
        ("x = 1\n(a / 'b').write_text('x')", [2]),
        ("open('a')", [1]),
        ("path.open('a')", [1]),
        ("open('a', 'rb')", []),
        ("path.open('rb')", []),
        ("Image.open(place)", []),
        ("path.read_text(encoding='utf-8')", []),
    ],
)
def test_a_missing_encoding_is_found(source, lines):
    assert without_encoding(source) == lines


def test_an_import_against_the_arrows_is_caught(tmp_path):
    """The contracts of pyproject.toml, on a copy in which the library imports its checks."""
    for package in HOUSE:
        for path in (ROOT / "src" / package).rglob("*.py"):
            if "node_modules" not in path.parts:
                copy = tmp_path / path.relative_to(ROOT / "src")
                copy.parent.mkdir(parents=True, exist_ok=True)
                copy.write_bytes(path.read_bytes())
    for module, line in (
        ("attention_to_rope/masks.py", "import bookkit.tables"),
        ("texcheck/errors.py", "import bookcheck.equations.scan"),
    ):
        with (tmp_path / module).open("a", encoding="utf-8") as file:
            file.write(f"\n{line}\n")
    program = "from importlinter.cli import lint_imports_command as main; main()"
    done = subprocess.run(
        [sys.executable, "-c", program, "--config", str(ROOT / "pyproject.toml"), "--no-cache"],
        cwd=tmp_path,
        env={"PYTHONPATH": str(tmp_path)},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 1
    said = " ".join(done.stdout.split())
    for contract in ("The library stands alone", "The interpreter of formulas knows nothing"):
        assert re.search(f"{contract}[^A-Z]* BROKEN", said)
    # No other contract is broken: without the two lines all are kept, as `make lint` sees.
    assert "4 kept, 2 broken" in said


def private_imports(source):
    """The private names that a module takes from another one of the house."""
    return [
        name.name
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(HOUSE)
        for name in node.names
        if name.name.startswith("_")
    ]


def test_no_private_name_is_imported():
    sources = {path: path.read_text(encoding="utf-8") for path in python_files()}
    faults = {
        path.relative_to(ROOT).as_posix(): names
        for path, source in sources.items()
        if path.is_relative_to(ROOT / "src") and (names := private_imports(source))
    }
    assert faults == {}, "what two modules use has a name without an underscore"
    assert private_imports("from bookkit.tables import _row, show_table") == ["_row"]
    assert private_imports("from torch import _C") == []


def longer_than_a_screen(source):
    """The public functions and methods that a reader cannot see whole, decorators included."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
            first = min(one.lineno for one in (node, *node.decorator_list))
            if node.end_lineno - first + 1 > SCREEN:
                found.append(node.name)
    return found


def test_every_public_function_of_the_library_fits_on_a_screen():
    faults = {
        path.name: names
        for path in (ROOT / "src" / "attention_to_rope").rglob("*.py")
        if (names := longer_than_a_screen(path.read_text(encoding="utf-8")))
    }
    assert faults == {}, f"more than {SCREEN} lines: gather its checks beside it"
    lines = "    pass\n" * (SCREEN - 1)
    assert longer_than_a_screen(f"def f():\n{lines}") == []
    assert longer_than_a_screen(f"@once\ndef f():\n{lines}") == ["f"]


def names_nothing(text):
    """What a page for contributors names and the repository lacks: targets, modules, files."""
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.M)
    for words in re.findall(r"`make ([a-z -]+)", text):
        yield from (f"make {word}" for word in words.split() if word not in targets)
    for module in re.findall(r"\bbook(?:check|kit)(?:\.\w+)+", text):
        place = ROOT / "src" / module.replace(".", "/")
        if not (place.is_dir() or place.with_suffix(".py").is_file()):
            yield module
    # NN stands for a chapter's number.
    paths = re.findall(r"`((?:src|tests|chapters|_static)/[\w./-]*)`|\]\((src/[^)]+)\)", text)
    named = (quoted or linked for quoted, linked in paths)
    yield from (path for path in named if "NN" not in path and not (ROOT / path).exists())


def test_contributors_are_sent_to_what_exists():
    assert list(names_nothing((ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"))) == []
    wrong = "`make bread`, `bookcheck.bakery`, `tests/oven.py`, [it](src/flour.md), `tests/NN.py`"
    assert list(names_nothing(wrong)) == [
        "make bread", "bookcheck.bakery", "tests/oven.py", "src/flour.md",
    ]  # fmt: skip
