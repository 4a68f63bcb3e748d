"""Figures in the book's one style: `figure` opens one, `show` puts it on the page.

`show` writes SVG. Lines and letters take the colour of the text around them, and the palette's
colours are CSS variables with a fixed fallback, so one figure serves the light page, the dark page,
print, and a notebook. Every figure carries a text that says what it shows.
"""

import io
import re
from collections.abc import Sequence
from typing import Any

import matplotlib
import numpy as np
from cycler import cycler
from IPython.display import display
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.text import Text

# Readable on white and on near-black. Hues that the colour-blind confuse (blue and purple, orange
# and red) differ in lightness. _static/book.css repeats these colours for the light page and has
# others for the dark one; tests/booksite/test_figures.py compares them.
PALETTE = {
    "blue": "#1f6fb2",
    "orange": "#c06000",
    "green": "#00795a",
    "red": "#9f1d2d",
    "purple": "#5a2d82",
    "grey": "#6b7280",
}
BLUE, ORANGE, GREEN, RED, PURPLE, GREY = PALETTE.values()

# For letters on the palette's colours: the colour of the page, which changes with them.
PAPER = "#fefefe"

# Formulas of which matplotlib draws a part as a line.
BAR = re.compile(r"\\(?:sqrt|d?frac|overline)\b")

# Maps go from nearly clear to the full colour: 0 is the page itself, light or dark.
FAINT = 0.04
WEIGHTS_MAP = matplotlib.colors.LinearSegmentedColormap.from_list(
    "weights", [(BLUE, FAINT), (BLUE, 1.0)]
)
# Signed values: orange below 0, blue above.
SIGNED_MAP = matplotlib.colors.LinearSegmentedColormap.from_list(
    "signed",
    [(0.0, (ORANGE, 1.0)), (0.5, (ORANGE, FAINT)), (0.5, (BLUE, FAINT)), (1.0, (BLUE, 1.0))],
)
# From this strength on, letters in a cell take the page's colour in place of the text's.
STRONG = 0.7

_STYLE: dict[Any, Any] = {
    "svg.hashsalt": "attention-to-rope",
    "svg.fonttype": "none",
    "path.simplify": False,
    "font.family": "DejaVu Sans",
    "font.size": 11,
    "axes.titlesize": 11.5,
    "axes.titlelocation": "left",
    "axes.labelsize": 11,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.grid.axis": "y",
    "grid.alpha": 0.15,
    "grid.color": "#000000",
    "axes.axisbelow": True,
    "axes.prop_cycle": cycler(color=list(PALETTE.values())),
    "lines.linewidth": 1.8,
    "legend.frameon": False,
    "figure.facecolor": "none",
    "axes.facecolor": "none",
    "savefig.facecolor": "none",
}


def figure(
    width: float = 6.4, height: float = 3.2, *, rows: int = 1, columns: int = 1, **options: Any
) -> tuple[Figure, Any]:
    """Open a figure of the given size in inches and return it with its axes.

    The axes come as with `matplotlib.pyplot.subplots`: one `Axes`, or an array of them when `rows`
    or `columns` is more than 1. Further options go to `Figure.subplots`.
    """
    # For good, not for the block: titles and legends read the settings when they are added.
    matplotlib.rcParams.update(_STYLE)
    drawing = Figure(figsize=(width, height), layout="constrained")
    return drawing, drawing.subplots(rows, columns, **options)


def show(drawing: Figure, *, alt: str) -> None:
    """Display a figure as SVG, with `alt` as its text for those who cannot see it.

    `alt` tells what the figure shows ("the score falls from 2 to 0 as ..."), not that it is one.
    """
    if not isinstance(alt, str) or len(alt.split()) < 5:
        raise ValueError(
            f"alt must tell in a sentence what the figure shows, got {alt!r}; "
            "a screen reader reads it in place of the figure"
        )
    for written in drawing.findobj(Text):
        label = written.get_text()
        if BAR.search(label):
            raise ValueError(
                f"the label {label!r} has a bar, drawn where matplotlib's own letters would stand, "
                "not where the page's do; write √$d_k$, or a / b"
            )
    display({"image/svg+xml": svg(drawing, alt), "text/plain": alt}, raw=True)


def svg(drawing: Figure, alt: str) -> str:
    """The figure as SVG text whose ids and colours are those of the page, not of one run."""
    buffer = io.StringIO()
    # Figure.savefig would draw everything twice: the first time only to lay it out.
    FigureCanvasSVG(drawing).print_svg(buffer, metadata={"Date": None, "Creator": None})
    text = buffer.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"\s*<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    # A style sheet inside an inlined figure would reach the whole page.
    text = re.sub(r"\s*<defs>\s*<style.*?</style>\s*</defs>", "", text, flags=re.DOTALL)
    text = re.sub(r"<!--.*?-->\s*", "", text)
    text = _renumber_ids(text)
    text = re.sub(r"(?<![\d.])[1-9]\d*\.\d{3,}", lambda match: f"{float(match.group()):.2f}", text)
    text = re.sub(r" ?\n(?=[A-Za-z\"])", " ", text)
    text = text.replace("#000000", "currentColor")
    # Letters are letters, in the face of the page that shows them.
    text = re.sub(r"; font-family: 'DejaVu Sans'(?=[;\"])", "", text)
    label = alt.replace("&", "&amp;").replace("<", "&lt;").replace('"', "&quot;")
    # Matplotlib leaves the fill of letters unsaid, which means black: name the page's colour.
    opening = (
        f'<svg role="img" aria-label="{label}" fill="currentColor" stroke-linejoin="round" '
        'font-family="sans-serif" '
    )
    text = text.replace("<svg ", opening, 1)
    for name, code in {**PALETTE, "paper": PAPER}.items():
        text = text.replace(code, f"var(--figure-{name}, {code})")
    return text


def _renumber_ids(text: str) -> str:
    """Short ids in order of appearance; matplotlib's are hashes of the last digits of floats."""
    used = set(re.findall(r'(?:url\(#|href="#)([^")]+)', text))
    names: dict[str, str] = {}

    def rename(match: re.Match[str]) -> str:
        old = match.group(2)
        if old not in used:
            return ""
        return f'{match.group(1)}"{names.setdefault(old, f"s{len(names)}")}"'

    text = re.sub(r'( id=)"([^"]+)"', rename, text)
    return re.sub(
        r'(url\(#|href="#)([^")]+)', lambda match: match.group(1) + names[match.group(2)], text
    )


def heatmap(
    axes: Axes,
    values: Any,
    *,
    rows: Sequence[str] | None = None,
    columns: Sequence[str] | None = None,
    digits: int | None = None,
    signed: bool = False,
    high: float | None = None,
) -> Any:
    """Draw a matrix as coloured cells, row 0 on top; `digits` also prints each number.

    Unsigned values run from 0 to their largest; signed ones are symmetric around 0. Give `high` to
    compare several heat maps. Returns the mesh, for a colour bar.
    """
    table = np.asarray(values, dtype=float)
    if table.ndim != 2:
        raise ValueError(f"heatmap draws a matrix, got shape {table.shape}; pick one head or item")
    high = high or float(np.abs(table[np.isfinite(table)]).max(initial=0.0)) or 1.0
    mesh = axes.pcolormesh(
        table,
        cmap=SIGNED_MAP if signed else WEIGHTS_MAP,
        vmin=-high if signed else 0.0,
        vmax=high,
        rasterized=table.size > 4096,  # a vector cell each would make the page heavy
    )
    axes.set_ylim(table.shape[0], 0)
    axes.grid(False)
    axes.spines[:].set_visible(False)
    if rows is not None:
        axes.set_yticks(np.arange(len(rows)) + 0.5, rows)
    if columns is not None:
        axes.set_xticks(np.arange(len(columns)) + 0.5, columns)
    if rows is not None or columns is not None:
        axes.tick_params(length=0)
    if digits is not None:
        for (row, column), value in np.ndenumerate(table):
            letters = PAPER if mesh.to_rgba(value)[3] > STRONG else "#000000"
            text = f"{value:.{digits}f}"
            axes.text(column + 0.5, row + 0.5, text, ha="center", va="center", color=letters)
    return mesh
