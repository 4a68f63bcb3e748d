"""A reader who downloads one notebook installs the library alone, and the notebook runs."""

import ast
import os
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import nbformat
import pytest

from bookcheck.notebooks.rules import AT_HAND
from bookcheck.paths import ROOT
from bookcheck.site.reader import book_of, reader_texts

pytestmark = pytest.mark.long

RUN = """
import sys, nbformat, nbclient
notebook = nbformat.read(sys.argv[1], as_version=4)
nbclient.NotebookClient(notebook, timeout=300, kernel_name="python3").execute()
print("".join(output.text for output in notebook.cells[-1].outputs))
"""
WHERE = """
import attention_to_rope, bookkit, importlib.util
print(attention_to_rope.__file__, bookkit.__file__, importlib.util.find_spec("bookcheck"), sep="|")
"""


def run(*command, **options):
    done = subprocess.run(
        [str(part) for part in command],
        capture_output=True,
        encoding="utf-8",
        check=False,
        **options,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout


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
    run(sys.executable, "-m", "pip", *build)
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
    }
    needs = [line for line in metadata.splitlines() if line.startswith("Requires-Dist:")]
    always = sorted(line.split(": ")[1] for line in needs if "extra ==" not in line)
    assert [need.split(">")[0] for need in always] == ["numpy", "torch"]
    assert any("matplotlib" in need and 'extra == "pages"' in need for need in needs)


def foreign_imports(source):
    """What a module imports that its readers need not have."""
    nodes = list(ast.walk(ast.parse(source)))
    names = [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    names += [str(node.module) for node in nodes if isinstance(node, ast.ImportFrom)]
    here = AT_HAND | {"matplotlib", "cycler"} | sys.stdlib_module_names
    return [name for name in names if name.partition(".")[0] not in here]


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


def test_chapter_1_runs_where_only_the_wheel_is_installed(wheel, tmp_path):
    environment = tmp_path / "venv"
    run(sys.executable, "-m", "venv", "--without-pip", environment)
    python = environment / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    ask = "import sysconfig; print(sysconfig.get_path('purelib'))"
    site_packages = Path(run(python, "-I", "-c", ask).strip())
    run(
        sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-compile",
        "--target", site_packages, wheel,
    )  # fmt: skip
    # NumPy, torch, Matplotlib and Jupyter from the environment of the tests, to spare gigabytes; a
    # folder named in a .pth file brings its packages, and not the .pth file of the editable book.
    installed = sysconfig.get_path("purelib")
    (site_packages / "installed.pth").write_text(f"{installed}\n", encoding="utf-8")
    notebook = nbformat.reads(reader_texts(book_of())["01-attention.ipynb"], as_version=4)
    notebook.cells.append(nbformat.v4.new_code_cell(WHERE))
    nbformat.write(notebook, tmp_path / "chapter.ipynb")
    clean = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "PYTHONHOME")}
    said = run(python, "-c", RUN, "chapter.ipynb", cwd=tmp_path, env=clean)
    library, helpers, checks = said.strip().splitlines()[-1].split("|")
    assert Path(library).is_relative_to(site_packages)
    assert Path(helpers).is_relative_to(site_packages)
    assert checks == "None", "bookcheck is no part of what a reader installs"
