"""A reader who downloads one notebook installs the library alone, and the notebook runs."""

import ast
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from bookformat.notebooks import cells_of, chapter_notebooks
from bookformat.paths import CHAPTERS, ROOT

pytestmark = [pytest.mark.long, pytest.mark.slow]

# What a reader has who installed this wheel.
HERE = (
    "attention_to_rope bookkit one_file rope_doctor numpy torch scipy safetensors IPython jaxtyping"
)
HERE = {*HERE.split(), "matplotlib", "cycler", *sys.stdlib_module_names}


def build_wheel(folder, project, tmp_path_factory):
    """The wheel that pip builds from a copy of the sources: building leaves files behind."""
    copy = tmp_path_factory.mktemp("copy")
    unwanted = shutil.ignore_patterns("node_modules", "__pycache__", "*.egg-info", "build")
    shutil.copytree(ROOT / "src", copy / "src", ignore=unwanted)
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, copy)
    # With the setuptools that is installed: another environment for it alone would take longer.
    options = ["--quiet", "--no-deps", "--no-build-isolation", "-w", folder, copy / project]
    subprocess.run([sys.executable, "-m", "pip", "wheel", *options], check=True)
    (built,) = folder.glob("*.whl")
    return built


def contents_of(wheel):
    """The packages of a wheel and the names of what it always needs."""
    with zipfile.ZipFile(wheel) as opened:
        names = opened.namelist()
        (about,) = (name for name in names if name.endswith("/METADATA"))
        metadata = opened.read(about).decode()
    tops = {name.split("/")[0] for name in names}
    needs = [line for line in metadata.splitlines() if line.startswith("Requires-Dist:")]
    needs = [line for line in needs if "extra ==" not in line]
    packages = {top for top in tops if not top.endswith(".dist-info")}
    return packages, {need.split(": ")[1].split(">")[0] for need in needs}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """What a reader of one notebook installs."""
    return build_wheel(tmp_path_factory.mktemp("wheel"), ".", tmp_path_factory)


def test_the_readers_wheel_holds_what_notebooks_import(wheel):
    packages, needs = contents_of(wheel)
    assert packages == {"attention_to_rope", "one_file", "bookkit", "rope_doctor"}
    assert needs == {
        "jaxtyping", "numpy", "torch", "ipython", "matplotlib", "safetensors", "scipy",
    }  # fmt: skip


def test_the_readers_wheel_has_the_books_model_and_none_of_the_six_encodings(wheel):
    assert len([*(ROOT / "src").rglob("encoding-*.safetensors")]) == 6
    with zipfile.ZipFile(wheel) as opened:
        weights = [name for name in opened.namelist() if name.endswith(".safetensors")]
    assert weights == ["bookkit/trained/model.safetensors"]


@pytest.mark.parametrize(
    ("package", "needs"),
    [
        ("attention_to_rope", {"jaxtyping", "numpy", "torch"}),
        ("rope_doctor", {"attention-to-rope", "numpy", "torch"}),
        ("texcheck", {"numpy", "scipy", "lark"}),
    ],
)
def test_library_doctor_and_texcheck_have_wheels_of_their_own(
    package, needs, tmp_path, tmp_path_factory
):
    built = build_wheel(tmp_path, f"src/{package}", tmp_path_factory)
    assert contents_of(built) == ({package}, needs)
    assert built.stat().st_size < 300_000, "without data"
    with zipfile.ZipFile(built) as opened:
        names = opened.namelist()
    assert not [name for name in names if name.endswith(".safetensors")], "the book's model"
    modules = {Path(name) for name in names if name.endswith(".py")}
    sources = {path.relative_to(ROOT / "src") for path in (ROOT / "src" / package).rglob("*.py")}
    assert modules == sources


def foreign_imports(source):
    """What a module imports that its readers need not have."""
    nodes = list(ast.walk(ast.parse(source)))
    names = [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    names += [str(node.module) for node in nodes if isinstance(node, ast.ImportFrom)]
    return [name for name in names if name.partition(".")[0] not in HERE]


def test_the_wheel_imports_only_what_it_asks_for():
    """Apart from kernels for a GPU."""
    for package in ("attention_to_rope", "one_file", "rope_doctor", "bookkit"):
        for path in (ROOT / "src" / package).rglob("*.py"):
            found = foreign_imports(path.read_text(encoding="utf-8"))
            if path.parent.name == "fast":  # kernels for a GPU, which run where Triton is
                found = [name for name in found if not name.startswith("triton")]
            assert found == [], path
    assert foreign_imports("import lark.tree\nfrom bookcheck import paths") == [
        "lark.tree",
        "bookcheck",
    ]


def test_chapters_import_only_what_the_wheel_brings_along():
    for path in chapter_notebooks():
        sources = [cell.source for cell in cells_of(path) if cell.kind == "code"]
        assert foreign_imports("\n".join(sources)) == [], path


def test_a_notebook_runs_with_the_wheel(wheel, tmp_path):
    """A wheel of Python alone is a zip file, which can be imported from where it is unpacked."""
    with zipfile.ZipFile(wheel) as opened:
        opened.extractall(tmp_path)
    notebook = nbformat.read(CHAPTERS / "deeper" / "position-codes.ipynb", as_version=4)
    where = "import attention_to_rope, bookkit; print(attention_to_rope.__file__, bookkit.__file__)"
    notebook.cells.append(nbformat.v4.new_code_cell(where))
    client = NotebookClient(notebook, timeout=300, kernel_name="python3")
    client.execute(env=os.environ | {"PYTHONPATH": str(tmp_path)}, cwd=str(tmp_path))
    for place in notebook.cells[-1].outputs[0].text.split():
        assert Path(place).is_relative_to(tmp_path)
