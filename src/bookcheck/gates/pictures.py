"""The first screens of three pages, compared with small stored pictures.

The pages are drawn in the site's own fonts and shrunk, so that another machine's fonts and
smoothing make no difference. When a page was changed on purpose: `make test-site RENEW=yes`.
"""

from pathlib import Path

from PIL import Image

from bookcheck.gates.browser import Fault, Picture, Scheme
from bookcheck.notebooks.pixels import changed_share
from bookcheck.paths import ROOT

REFERENCES = ROOT / "tests" / "bookcheck" / "gates" / "references"
PAGES = ("index.html", "chapters/01-attention.html", "chapters/notation.html")
SCREENS: tuple[tuple[int, int, Scheme], ...] = ((1280, 900, "light"), (390, 844, "dark"))
SHRINK = 4
# A dot counts as different from here on (of 255), and so many dots may be different.
LARGEST_STEP = 40
LARGEST_SHARE = 0.02


def wanted_pictures(folder: Path, pages: tuple[str, ...] = PAGES) -> list[Picture]:
    """The pictures to take, with their files in `folder`."""
    return [
        Picture(page, width, height, scheme, str(folder / picture_name(page, width, scheme)))
        for page in pages
        for width, height, scheme in SCREENS
    ]


def picture_name(page: str, width: int, scheme: str) -> str:
    """The file of a page's picture."""
    return f"{Path(page).stem}-{width}-{scheme}.png"


def shrunk(path: Path) -> Image.Image:
    """A screenshot at a quarter of its size, in few colours: a small file."""
    with Image.open(path) as picture:
        size = (picture.width // SHRINK, picture.height // SHRINK)
        small = picture.convert("RGB").resize(size, Image.Resampling.BOX)
    return small.quantize(64, dither=Image.Dither.NONE)


def compare(picture: Picture, references: Path = REFERENCES) -> list[Fault]:
    """Compare a picture that was taken with the stored one."""
    taken = Path(picture.file)
    mode = f"{picture.width} {picture.scheme}"
    stored = references / taken.name
    if not stored.is_file():
        return [Fault(picture.page, mode, "picture", f"no reference {stored.name}; {ADVICE}")]
    with Image.open(stored) as reference:
        share = changed_share(shrunk(taken), reference, LARGEST_STEP)
    if share <= LARGEST_SHARE:
        return []
    detail = (
        f"{share:.1%} of its first screen differ from {stored.name}, at most {LARGEST_SHARE:.0%}; "
        f"look at {taken.name} in {taken.parent.name}/ and, if it is as it should be, {ADVICE}"
    )
    return [Fault(picture.page, mode, "picture", detail)]


ADVICE = "renew the references: make test-site RENEW=yes"


def renew(picture: Picture, references: Path = REFERENCES) -> None:
    """Store a picture as the new reference."""
    references.mkdir(parents=True, exist_ok=True)
    shrunk(Path(picture.file)).save(references / Path(picture.file).name, optimize=True)
