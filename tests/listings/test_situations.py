"""What readers take away runs in every dtype and situation in which they may use it."""

import re
from typing import Any

import pytest
import torch

from bookformat.contents import main_line
from bookformat.notebooks import cells_of
from laboratory.precision.listings import USES, Use, listing, source_of
from laboratory.precision.situations import DTYPES, HALF, Measure, in_dtype, situations


def case(name: str, dtype: torch.dtype, situation: str, measure: Measure) -> Any:
    """Quick are all situations in one half precision, and each listing alone in float32."""
    quick = dtype is torch.bfloat16 or (dtype is torch.float32 and situation == "alone")
    named = f"{name}, {str(dtype).removeprefix('torch.')}, {situation}"
    return pytest.param(measure, id=named, marks=() if quick else pytest.mark.slow)


CASES = [
    case(name, dtype, situation, measure)
    for name, use in USES.items()
    for dtype in DTYPES
    for situation, measure in situations(use, dtype).items()
]


@pytest.mark.parametrize("measure", CASES)
def test_a_listing_is_right_in_a_situation(measure: Measure) -> None:
    assert measure().units <= 1


@pytest.mark.slow
@pytest.mark.parametrize("use", USES.values(), ids=USES)
def test_a_listing_compiles_into_one_graph(use: Use) -> None:
    assert in_dtype(use, torch.float32, compiler="aot_eager").units <= 1


@pytest.mark.parametrize("dtype", HALF, ids=str)
def test_a_listing_that_sums_in_its_dtype_is_found(dtype: torch.dtype) -> None:
    use = USES["attention: attend"]

    def careless(_: dict[str, Any]) -> Any:
        def attend(q: Any, k: Any, v: Any) -> Any:
            weights = (q @ k.mT / q.shape[-1] ** 0.5).exp()
            return (weights @ v) / weights.sum(-1, keepdim=True)

        return attend

    assert in_dtype(use._replace(make=careless), dtype).units > 1


def test_every_listing_with_a_name_is_in_the_table() -> None:
    """A class or function that stands alone on a page, in PyTorch, is used here."""
    sources = {source_of(use.start) for use in USES.values()}
    for path in main_line():
        for cell in cells_of(path):
            own = re.findall(r"^(?:import|from) (?:attention_to_rope|bookkit)", cell.source, re.M)
            alone = re.search(r"^import torch$", cell.source, re.M) and not own
            if cell.kind == "code" and alone and re.search(r"^(def|class) ", cell.source, re.M):
                shown = any(start in cell.source for start in DEMONSTRATIONS)
                known = cell.source in sources or path.stem in OTHER_TESTS or shown
                assert known, (
                    f"{path.name}: write a use of this listing into "
                    "src/laboratory/precision/listings.py"
                )


# A formula that the library's file follows, a counter of operations, and a whole file.
OTHER_TESTS = {"encoder-decoder", "cost", "one-file"}
# They show something on their page and are not meant to be taken.
DEMONSTRATIONS = ("def weights_of_to(scores):", "def waves(q, k, r, theta):")


def test_a_listing_that_is_gone_is_named() -> None:
    with pytest.raises(LookupError, match="0 code cells of the chapters have the line"):
        listing(USES["attention: attend"]._replace(start="def gone():"))


# What a listing does as nobody would at work, and what its comments must then say.
TOYS = {
    r"torch\.cat\(\(cache": "allocate it once",  # a cache that is copied at each step
    r"\.tril\(|masked_fill\(": r"N × N|entries|all( N × N)? scores",  # as many numbers as pairs
}
# They mask inside one block at a time.
IN_BLOCKS = ("attention-in-blocks: attend", "fewer-scores: window_attention")


@pytest.mark.parametrize("name", [name for name in USES if name not in IN_BLOCKS])
def test_lines_that_are_toys_say_so(name: str) -> None:
    source = source_of(USES[name].start)
    comments = " ".join(re.findall(r"#(.*)", source))
    for toy, word in TOYS.items():
        if re.search(toy, source):
            assert re.search(word, comments, re.IGNORECASE), "name what replaces this line at work"
