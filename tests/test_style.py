"""What `make lint` asks of the tree is caught when it is missing."""

import ast
import re
import subprocess
import sys

from bookformat.paths import ROOT

HOUSE = (
    "attention_to_rope", "one_file", "rope_doctor", "bookkit", "laboratory", "bookformat",
    "booksite", "bookcheck", "texcheck",
)  # fmt: skip
SCREEN = 60  # lines
# What may be longer, and why.
LONGER = {
    "kernel": "the parameters of a GPU kernel, one a line",
    "grid_and_sizes": "the arguments of that kernel by name, one a line",
}


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
        ("texcheck/errors.py", "import bookformat.formulas"),
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


def private_imports(source):
    """The private names that a module takes from another one of the house."""
    imports = re.findall(
        rf"^ *from (?:{'|'.join(HOUSE)})[\w.]* import (\([^)]*\)|.*)$", source, re.MULTILINE
    )
    return re.findall(r"\b_\w+", " ".join(imports))


def test_no_private_name_is_imported():
    for path in (ROOT / "src").rglob("*.py"):
        if "node_modules" not in path.parts:
            names = private_imports(path.read_text(encoding="utf-8"))
            assert not names, f"{path}: give {names} a name without an underscore"
    assert private_imports("from bookkit.tables import _row, show_table") == ["_row"]
    assert private_imports("from bookkit.tables import (\n    show,\n    _row,\n)") == ["_row"]
    assert private_imports("from torch import _C") == []


def longer_than_a_screen(source):
    """The public functions and methods that a reader cannot see whole, decorators included."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef) and node.name[0] != "_" and node.name not in LONGER:
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
    for module in re.findall(r"\bbook(?:format|site|check|kit)(?:\.\w+)+", text):
        place = ROOT / "src" / module.replace(".", "/")
        if not (place.is_dir() or place.with_suffix(".py").is_file()):
            yield module
    # These stand for the name of any page.
    any_page = ("/name.ipynb", "/test_name.py")
    paths = re.findall(r"`((?:src|tests|chapters|_static)/[\w./-]*)`|\]\((src/[^)]+)\)", text)
    named = (quoted or linked for quoted, linked in paths)
    yield from (
        path for path in named if not path.endswith(any_page) and not (ROOT / path).exists()
    )


def test_contributors_are_sent_to_what_exists():
    assert list(names_nothing((ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"))) == []
    wrong = (
        "`make bread`, `bookcheck.bakery`, `tests/oven.py`, [it](src/flour.md), `tests/name.ipynb`"
    )
    assert list(names_nothing(wrong)) == [
        "make bread", "bookcheck.bakery", "tests/oven.py", "src/flour.md",
    ]  # fmt: skip
