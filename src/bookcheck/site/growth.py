"""How the time of building the site grows with the number of chapters.

    python -m bookcheck.site.growth              this book, and books of up to 100 chapters
    python -m bookcheck.site.growth 2 4 --out x  other sizes

Each synthetic chapter has as many formulas, paragraphs, figures and code cells as a typical one of
the book. Four times are recorded, each of the build that `make book` runs after the equations are
checked: from nothing; all pages again (drawings and formulas are kept); after one chapter got
another sentence; after nothing changed.
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

from bookcheck.paths import KEPT, ROOT
from bookkit.experiments.speed.measure import facts

RESULTS = Path(__file__).parent
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


def synthetic_chapter(number: int, figure: str) -> Any:
    """A notebook of typical weight; labels are its own."""
    cells = [nbformat.v4.new_markdown_cell(f"# Chapter {number}\n\nA sentence.")]
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


def write_settings(folder: Path) -> None:
    """The real settings and look, with the extension of this repository."""
    settings = (ROOT / "_config.yml").read_text(encoding="utf8")
    own = "bookcheck.site.extension: src"
    if own not in settings:
        raise ValueError(f"_config.yml is expected to name its extension by {own!r}")
    settings = settings.replace(own, f"bookcheck.site.extension: {ROOT / 'src'}")
    (folder / "_config.yml").write_text(settings, encoding="utf8")
    shutil.copytree(ROOT / "_static", folder / "_static")


def write_book(folder: Path, chapters: int) -> None:
    """A book with the real settings, look and extension, and synthetic chapters."""
    write_settings(folder)
    files = "".join(f"  - file: chapters/{number:03}\n" for number in range(chapters))
    (folder / "_toc.yml").write_text(
        "format: jb-book\nroot: index\nparts:\n- caption: Part\n  numbered: true\n  chapters:\n"
        + files,
        encoding="utf-8",
    )
    (folder / "index.md").write_text("# A synthetic book\n\nIts text.\n", encoding="utf-8")
    (folder / "chapters").mkdir()
    (folder / "chapters" / "references.bib").touch()
    figure = some_figure()
    for number in range(chapters):
        nbformat.write(
            synthetic_chapter(number, figure), folder / "chapters" / f"{number:03}.ipynb"
        )


def copy_book(folder: Path) -> None:
    """This book, without anything built; the records of its equations come with it."""
    records = ROOT / "_build" / "equations"
    if not records.is_dir():
        raise FileNotFoundError("no equation is checked yet: run make book, then measure")
    write_settings(folder)
    for name in ("_toc.yml", "index.md"):
        shutil.copy(ROOT / name, folder)
    shutil.copytree(ROOT / "chapters", folder / "chapters")
    shutil.copytree(records, folder / "_build" / "equations")


def build(folder: Path, *options: str) -> float:
    """Seconds that the build of the folder takes."""
    began = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-m", "bookcheck.site.build", folder, *options],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"building {folder} failed:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return time.perf_counter() - began


def add_sentence(path: Path) -> None:
    """Change a chapter as a writer does: one sentence more in its first paragraph."""
    notebook = nbformat.read(path, as_version=4)
    notebook.cells[0].source += "\n\nOne more sentence."
    nbformat.write(notebook, path)


def times(folder: Path, edited: str) -> dict[str, float]:
    """The four times for the book of a folder."""
    # What is kept for all books: a formula that an earlier book rendered is not from nothing.
    shutil.rmtree(KEPT, ignore_errors=True)
    clean, all_again = build(folder), build(folder, "--all")
    add_sentence(folder / "chapters" / edited)
    return {
        "clean_s": round(clean, 1),
        "all_again_s": round(all_again, 1),
        "one_changed_s": round(build(folder), 1),
        "nothing_changed_s": round(build(folder), 1),
    }


def measure(chapters: int) -> dict[str, Any]:
    """A book of so many synthetic chapters."""
    with tempfile.TemporaryDirectory() as name:
        write_book(Path(name), chapters)
        return {"book": "synthetic", "chapters": chapters, **times(Path(name), "000.ipynb")}


def measure_this_book() -> dict[str, Any]:
    """This book; a middle chapter changes."""
    with tempfile.TemporaryDirectory() as name:
        copy_book(Path(name))
        chapters = sorted((ROOT / "chapters").glob("[0-9]*.ipynb"))
        found = times(Path(name), chapters[len(chapters) // 2].name)
        return {"book": "this one", "chapters": len(chapters), **found}


def main(arguments: list[str] | None = None) -> None:
    """Measure all sizes and record a row for each."""
    parser = argparse.ArgumentParser(
        prog="python -m bookcheck.site.growth", description=__doc__.split("\n")[0]
    )
    parser.add_argument("sizes", nargs="*", type=int, default=[1, 10, 100])
    parser.add_argument("--out", type=Path, default=RESULTS / "growth.jsonl")
    given = parser.parse_args(arguments)
    if min(given.sizes) < 1:
        parser.error(f"a book has at least one chapter, got {min(given.sizes)}")
    rows = []
    command = " ".join(["python -m bookcheck.site.growth", *map(str, given.sizes)])
    for size in [None, *given.sizes]:
        print("this book ..." if size is None else f"{size} chapters ...", end=" ", flush=True)
        row = measure_this_book() if size is None else measure(size)
        print(f"{row['clean_s']} s clean, {row['one_changed_s']} s after one change", flush=True)
        rows.append(json.dumps(row | facts("cpu", command)))
    given.out.write_text("\n".join(rows) + "\n", encoding="utf-8")
    print(f"recorded in {given.out}")


if __name__ == "__main__":
    main()
