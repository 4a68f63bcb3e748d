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

pytestmark = pytest.mark.long

# What a reader has who installed the library with its extra "pages".
HERE = "attention_to_rope bookkit rope_doctor numpy torch scipy safetensors IPython jaxtyping"
HERE = {*HERE.split(), "matplotlib", "cycler", *sys.stdlib_module_names}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """The wheel that `pip install git+…` builds, from a copy: building leaves files behind."""
    copy = tmp_path_factory.mktemp("copy")
    unwanted = shutil.ignore_patterns("node_modules", "__pycache__", "*.egg-info")
    shutil.copytree(ROOT / "src", copy / "src", ignore=unwanted)
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, copy)
    folder = tmp_path_factory.mktemp("wheel")
    # With the setuptools that is installed: another environment for it alone would take longer.
    build = ["wheel", "--quiet", "--no-deps", "--no-build-isolation", "-w", folder, copy]
    subprocess.run([sys.executable, "-m", "pip", *build], check=True)
    (built,) = folder.glob("*.whl")
    return built


def test_the_wheel_holds_the_library_and_its_page_helpers_alone(wheel):
    with zipfile.ZipFile(wheel) as opened:
        names = opened.namelist()
        (about,) = (name for name in names if name.endswith("/METADATA"))
        metadata = opened.read(about).decode()
    tops = {name.split("/")[0] for name in names}
    assert {top for top in tops if not top.endswith(".dist-info")} == {
        "attention_to_rope",
        "bookkit",
        "rope_doctor",
    }
    needs = [line for line in metadata.splitlines() if line.startswith("Requires-Dist:")]
    always = sorted(line.split(": ")[1] for line in needs if "extra ==" not in line)
    assert [need.split(">")[0] for need in always] == ["jaxtyping", "numpy", "torch"]
    assert any("matplotlib" in need and 'extra == "pages"' in need for need in needs)


def foreign_imports(source):
    """What a module imports that its readers need not have."""
    nodes = list(ast.walk(ast.parse(source)))
    names = [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    names += [str(node.module) for node in nodes if isinstance(node, ast.ImportFrom)]
    return [name for name in names if name.partition(".")[0] not in HERE]


def test_the_wheel_imports_only_what_it_asks_for():
    """Apart from experiments, which need what they measure, and kernels for a GPU."""
    for package in ("attention_to_rope", "bookkit"):
        for path in (ROOT / "src" / package).rglob("*.py"):
            if "experiments" not in path.parts and "triton" not in path.stem:
                assert foreign_imports(path.read_text(encoding="utf-8")) == [], path
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
    notebook = nbformat.read(CHAPTERS / "deeper" / "06-position-codes.ipynb", as_version=4)
    where = "import attention_to_rope, bookkit; print(attention_to_rope.__file__, bookkit.__file__)"
    notebook.cells.append(nbformat.v4.new_code_cell(where))
    client = NotebookClient(notebook, timeout=300, kernel_name="python3")
    client.execute(env=os.environ | {"PYTHONPATH": str(tmp_path)}, cwd=str(tmp_path))
    for place in notebook.cells[-1].outputs[0].text.split():
        assert Path(place).is_relative_to(tmp_path)
