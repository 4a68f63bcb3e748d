"""What `make lint` asks of the tree is caught when it is missing."""

import ast
import subprocess
import sys

import pytest

from bookcheck.paths import ROOT

WITH_TEXT = {"open", "read_text", "write_text"}


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
    return sorted(path for room in ("src", "tests") for path in (ROOT / room).rglob("*.py"))


def test_every_text_file_is_opened_with_its_encoding():
    faults = {
        path.relative_to(ROOT).as_posix(): lines
        for path in python_files()
        if "node_modules" not in path.parts
        and (lines := without_encoding(path.read_text(encoding="utf-8")))
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
    for package in ("attention_to_rope", "bookkit", "bookcheck"):
        for path in (ROOT / "src" / package).rglob("*.py"):
            if "node_modules" not in path.parts:
                copy = tmp_path / path.relative_to(ROOT / "src")
                copy.parent.mkdir(parents=True, exist_ok=True)
                copy.write_bytes(path.read_bytes())
    for module, line in (
        ("attention_to_rope/masks.py", "import bookkit.tables"),
        ("bookcheck/latex/errors.py", "import bookcheck.equations.scan"),
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
    for contract in ("The library stands alone", "Rooms of bookcheck"):
        assert f"{contract} BROKEN" in said
    # No other contract is broken: without the two lines all are kept, as `make lint` sees.
    assert "3 kept, 2 broken" in said
