"""What `make lint` asks of the tree is caught when it is missing."""

import ast
import subprocess
import sys

import pytest

from bookcheck.paths import ROOT

WITH_TEXT = {"open", "read_text", "write_text"}


def run(*command):
    return subprocess.run(
        [sys.executable, "-m", *command],
        cwd=ROOT,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )


def without_encoding(source):
    """The lines that open a text file and leave its encoding to the machine.

    Ruff's rule sees it where it knows that a thing is a path; this sees it everywhere.
    """
    found = []
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


def test_an_untidy_file_is_caught(tmp_path):
    untidy = tmp_path / "untidy.py"
    untidy.write_text("import os\nx=1\n", encoding="utf-8")
    settings = ["--config", str(ROOT / "pyproject.toml")]
    assert run("ruff", "check", *settings, str(untidy)).returncode == 1
    assert run("ruff", "format", "--check", *settings, str(untidy)).returncode == 1


def test_an_import_against_the_arrows_is_caught(tmp_path):
    """The contracts of pyproject.toml, on a copy in which the library imports its checks."""
    for package in ("attention_to_rope", "bookkit", "bookcheck"):
        for path in (ROOT / "src" / package).rglob("*.py"):
            if "node_modules" not in path.parts:
                copy = tmp_path / path.relative_to(ROOT / "src")
                copy.parent.mkdir(parents=True, exist_ok=True)
                copy.write_bytes(path.read_bytes())
    command = [
        sys.executable,
        "-c",
        "from importlinter.cli import lint_imports_command as main; main()",
    ]

    def lint():
        return subprocess.run(
            [*command, "--config", str(ROOT / "pyproject.toml"), "--no-cache"],
            cwd=tmp_path,
            env={"PYTHONPATH": str(tmp_path)},
            capture_output=True,
            encoding="utf-8",
            check=False,
        )

    done = lint()
    assert done.returncode == 0, done.stdout + done.stderr
    for module, line, contract in (
        ("attention_to_rope/masks.py", "import bookkit.tables", "The library stands alone"),
        ("bookcheck/latex/errors.py", "import bookcheck.equations.scan", "Rooms of bookcheck"),
    ):
        path = tmp_path / module
        whole = path.read_text(encoding="utf-8")
        path.write_text(f"{whole}\n{line}\n", encoding="utf-8")
        done = lint()
        assert done.returncode == 1
        assert f"{contract} BROKEN" in " ".join(done.stdout.split())
        path.write_text(whole, encoding="utf-8")
