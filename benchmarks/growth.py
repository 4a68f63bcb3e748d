"""How the time of building the site grows with the number of chapters.

    python -m benchmarks.growth              books of 1, 10, 25, 50 and 100 chapters; minutes
    python -m benchmarks.growth 2 4 --out x  other sizes

Each synthetic chapter has as many formulas, paragraphs, figures and code cells as a typical one of
the book. Three times are recorded: a clean build, a build after one chapter changed, and a build
after nothing changed.
"""

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import nbformat

from benchmarks.measure import facts
from benchmarks.run import RESULTS

ROOT = Path(__file__).resolve().parents[1]
FORMULAS, FIGURES, CODE_CELLS = 24, 6, 20
FORMULA = r"\sum_{n=0}^{N-1} \frac{e^{q_m k_n^\top / \sqrt{d_k}}}{Z_m} v_n = o_{%d}"


def some_figure() -> str:
    """A figure of chapter 1: what a typical one weighs."""
    notebook = nbformat.read(ROOT / "chapters" / "01-attention.ipynb", as_version=4)
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            if "image/svg+xml" in output.get("data", {}):
                return str(output["data"]["image/svg+xml"])
    raise ValueError("chapter 1 has no figure to take as the typical one")


def synthetic_chapter(number: int, figure: str, edition: int = 0) -> Any:
    """A notebook of typical weight; labels are its own."""
    cells = [nbformat.v4.new_markdown_cell(f"# Chapter {number}\n\nEdition {edition}.")]
    for index in range(FORMULAS):
        label = f"eq-{number}-{index}"
        text = f"Line {index} of a paragraph with $x_{{{index}}}$ and $W^Q$ inside. " * 4
        cells.append(
            nbformat.v4.new_markdown_cell(
                f"## Section {index}\n\n{text}\n\n$$\n{FORMULA % index}\n$$ ({label})\n\n"
                f"See {{eq}}`{label}`."
            )
        )
    for index in range(CODE_CELLS):
        data = {"text/plain": str(index)}
        if index < FIGURES:
            data["image/svg+xml"] = figure
        cells.append(
            nbformat.v4.new_code_cell(
                f"for m in range({index}):\n    print(m, m**2)  # a square\n" * 5,
                outputs=[nbformat.v4.new_output("display_data", data)],
                execution_count=index + 1,
            )
        )
    for index, cell in enumerate(cells):
        cell["id"] = f"cell-{index}"
    kernel = {"name": "python3", "display_name": "Python 3"}
    language = {"name": "python", "pygments_lexer": "ipython3"}
    return nbformat.v4.new_notebook(
        cells=cells, metadata={"kernelspec": kernel, "language_info": language}
    )


def write_book(folder: Path, chapters: int) -> None:
    """A book with the real settings, look and extension, and synthetic chapters."""
    settings = (ROOT / "_config.yml").read_text(encoding="utf8")
    own = "bookcheck.sphinx_extension: src"
    if own not in settings:
        raise ValueError(f"_config.yml is expected to name its extension by {own!r}")
    settings = settings.replace(own, f"bookcheck.sphinx_extension: {ROOT / 'src'}")
    (folder / "_config.yml").write_text(settings, encoding="utf8")
    files = "".join(f"  - file: chapters/{number:03}\n" for number in range(chapters))
    (folder / "_toc.yml").write_text(
        "format: jb-book\nroot: index\nparts:\n- caption: Part\n  numbered: true\n  chapters:\n"
        + files
    )
    (folder / "index.md").write_text("# A synthetic book\n\nIts text.\n")
    (folder / "chapters").mkdir()
    (folder / "chapters" / "references.bib").touch()
    shutil.copytree(ROOT / "_static", folder / "_static")
    figure = some_figure()
    for number in range(chapters):
        nbformat.write(
            synthetic_chapter(number, figure), folder / "chapters" / f"{number:03}.ipynb"
        )


def build(folder: Path, *options: str) -> float:
    """Seconds that Jupyter Book takes for the folder."""
    program = Path(sys.executable).with_name("jupyter-book")
    began = time.perf_counter()
    done = subprocess.run(
        [program, "build", folder, "--quiet", *options], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise RuntimeError(f"building {folder} failed:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return time.perf_counter() - began


def measure(chapters: int) -> dict[str, Any]:
    """The three times for a book of so many chapters."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_book(folder, chapters)
        clean = build(folder, "--all")
        changed = synthetic_chapter(0, some_figure(), edition=1)
        nbformat.write(changed, folder / "chapters" / "000.ipynb")
        one_changed = build(folder)
        nothing_changed = build(folder)
    return {
        "chapters": chapters,
        "clean_s": round(clean, 1),
        "one_changed_s": round(one_changed, 1),
        "nothing_changed_s": round(nothing_changed, 1),
    }


def main(arguments: list[str] | None = None) -> None:
    """Measure all sizes and record a row for each."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.growth", description=__doc__.split("\n")[0]
    )
    parser.add_argument("sizes", nargs="*", type=int, default=[1, 10, 25, 50, 100])
    parser.add_argument("--out", type=Path, default=RESULTS / "growth.jsonl")
    given = parser.parse_args(arguments)
    if min(given.sizes) < 1:
        parser.error(f"a book has at least one chapter, got {min(given.sizes)}")
    rows = []
    command = " ".join(["python -m benchmarks.growth", *map(str, given.sizes)])
    for size in given.sizes:
        print(f"{size} chapters ...", end=" ", flush=True)
        row = measure(size)
        print(f"{row['clean_s']} s clean, {row['one_changed_s']} s after one change", flush=True)
        rows.append(json.dumps(row | facts("cpu", command)))
    given.out.write_text("\n".join(rows) + "\n")
    print(f"recorded in {given.out}")


if __name__ == "__main__":
    main()
