"""The doctor reads other people's rotations, and names every planted fault rightly."""

import functools
import math
import re
import runpy
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import Tensor

import attention_to_rope as book
from attention_to_rope.doctor import examine, load, main, recognise
from attention_to_rope.rope_families import FAMILIES

Function = Callable[..., Tensor]


def turned(
    x: Tensor,
    positions: Tensor,
    *,
    layout: str = "half",
    frequencies: Tensor | None = None,
    factor: float = 1.0,
    change: Callable[[Tensor], Tensor] = lambda t: t,
) -> Tensor:
    theta = book.rotary_frequencies(x.shape[-1]) if frequencies is None else frequencies
    table = book.rotary_table(positions, theta, dtype=x.dtype, attention_factor=factor)
    table = book.RotaryTable(change(table.cos), change(table.sin))
    return book.rotate(x, table, layout=layout, rotary_dim=2 * len(theta))


def rotary(**options: object) -> Function:
    """A sound rotation as a stranger might write it."""

    def function(x: Tensor, positions: Tensor) -> Tensor:
        return turned(x, positions, **options)

    return function


def of_family(name: str, **changes: object) -> Function:
    family, settings = FAMILIES[name], FAMILIES[name].settings()
    options = {
        "layout": family.layout,
        "frequencies": settings.frequencies,
        "factor": settings.attention_factor,
    }
    return rotary(**{**options, **changes})


def rotate_half(x: Tensor) -> Tensor:
    first, second = x.chunk(2, -1)
    return torch.cat((-second, first), -1)


def rotate_neighbours(x: Tensor) -> Tensor:
    return torch.stack((-x[..., 1::2], x[..., 0::2]), -1).flatten(-2)


@pytest.mark.parametrize("name", FAMILIES)
def test_every_family_is_known_again(name: str) -> None:
    report = examine(of_family(name), family=name)
    assert report.sound, str(report)
    assert name in report.matches
    assert report.errors[2**20 - 1] <= 2e-6
    assert report.layout == FAMILIES[name].layout


@pytest.mark.parametrize(
    ("frequencies", "words"),
    [
        (book.rotary_frequencies(128, 5e5), "none"),
        (book.position_interpolation(book.rotary_frequencies(128), 4.0), "divided by 4"),
        (book.llama3(book.rotary_frequencies(128, 5e5), 32.0), "llama3: ×32 from 8192"),
        (book.yarn(book.rotary_frequencies(128), 16.0, original_length=4096), "yarn: ×16 from 409"),
        (book.proportional_frequencies(128, share=0.5), "slowest 32 of 64 pairs stand still"),
        (book.rotary_frequencies(128) ** 1.5 * 0.5 + 0.5 * book.rotary_frequencies(128), "no rule"),
        (book.rotary_frequencies(128).flip(0), "not recognised"),
    ],
)
def test_scaling_in_words(frequencies: Tensor, words: str) -> None:
    assert words in examine(rotary(frequencies=frequencies)).scaling


def spectrum_of(scaled: Tensor) -> tuple[float, str]:
    return recognise(scaled, 2 * len(scaled))[:2]


def test_bases_and_scales_are_round_numbers() -> None:
    assert spectrum_of(book.rotary_frequencies(64, 123_456.0)) == (123_500, "none")
    assert spectrum_of(book.rotary_frequencies(64) / math.pi) == (
        10_000,
        "linear: every angle divided by 3.14",
    )
    scaled = book.llama3(book.rotary_frequencies(64), math.pi, original_length=4096)
    assert spectrum_of(scaled) == (10_000, "llama3: ×3.14 from 4096")


def test_a_spectrum_needs_two_falling_frequencies() -> None:
    assert spectrum_of(torch.tensor([1.0, 0.01]).double()) == (10_000, "none")
    assert spectrum_of(torch.tensor([2.0, 1.0]).double()) == (
        4,
        "linear: every angle divided by 0.5",
    )
    for numbers in ([1.0], [1.0, 0.0], [1.0, 1.0, 0.5], [0.5, 1.0, 0.1]):
        base, words = spectrum_of(torch.tensor(numbers).double())
        assert math.isnan(base)
        assert words == "not recognised"


@pytest.mark.parametrize("length", [2**9, 2**12, 2**18])
def test_the_length_a_scaling_starts_from(length: int) -> None:
    """Three of four pairs make more than 4 turns over the length, the last less than one."""
    theta = book.rotary_frequencies(8, (length / (2 * math.pi * 4.2)) ** 2)
    scaled = book.llama3(theta, 1.5, original_length=length)
    assert spectrum_of(scaled)[1] == f"llama3: ×1.5 from {length}"


def test_no_length_beyond_a_quarter_of_a_million_is_tried() -> None:
    scaled = book.llama3(book.rotary_frequencies(64, 1e8), 8.0, original_length=2**19)
    assert spectrum_of(scaled)[1].endswith("by no rule known here")


def test_base_part_and_factor_as_measured() -> None:
    frequencies = book.rotary_frequencies(32, 70_000.0)
    report = examine(rotary(frequencies=frequencies, factor=1.25), head_dim=64)
    assert report.base == "70000"
    assert report.turned == "32 of 64 dimensions (50%), from dimension 0 on"
    assert report.factor == pytest.approx(1.25, abs=1e-6)
    assert not report.faults

    def trailing(x: Tensor, positions: Tensor) -> Tensor:
        return torch.cat((x[..., :32], turned(x[..., 32:], positions)), -1)

    behind = examine(trailing, head_dim=64)
    assert behind.turned.endswith("from dimension 32 on")
    assert behind.errors[2**20 - 1] <= 2e-6


def wrong_sign(x: Tensor, positions: Tensor) -> Tensor:
    return turned(x, -positions)


def late_by_one(x: Tensor, positions: Tensor) -> Tensor:
    return turned(x, positions + 1)


def cache_off_by_one(x: Tensor, positions: Tensor) -> Tensor:
    """Right for a whole sequence; with a cache, one too far."""
    return turned(x, positions + (positions[..., :1] > 0))


def offset_ignored(x: Tensor, positions: Tensor) -> Tensor:
    return turned(x, torch.arange(x.shape[-2]) if x.shape[-2] > 1 else positions)


def first_row_only(x: Tensor, positions: Tensor) -> Tensor:
    return turned(x, positions[0] if positions.ndim == 2 else positions)


def cache_off_by(by: int) -> Function:
    """Right for a whole sequence; behind a cache of more than 4 positions, `by` too far."""

    def function(x: Tensor, positions: Tensor) -> Tensor:
        return turned(x, positions + by * (positions[..., :1] > 4))

    return function


def first_row_only_slowly(x: Tensor, positions: Tensor) -> Tensor:
    slow = book.rotary_frequencies(x.shape[-1]) / 8
    return turned(x, positions[0] if positions.ndim == 2 else positions, frequencies=slow)


def opposite(q: Tensor, k: Tensor, positions: Tensor) -> tuple[Tensor, Tensor]:
    return turned(q, positions), turned(k, -positions)


def three_way(x: Tensor, positions: Tensor) -> Tensor:
    """Half-split in one part of the head, neighbours in the other."""
    first, second = x.chunk(2, -1)
    parts = turned(first, positions), turned(second, positions, layout="interleaved")
    return torch.cat(parts, -1)


@pytest.mark.parametrize(
    ("function", "fault"),
    [
        (wrong_sign, r"^sign: turned by −mθ"),
        (opposite, r"^sign: queries and keys turn in opposite"),
        (late_by_one, r"^shifted positions: position 0 is turned as position 1\.00"),
        (cache_off_by_one, r"^offset off by \+1"),
        (offset_ignored, r"^offset ignored or wrong"),
        (first_row_only, r"^batch: "),
        (rotary(change=lambda t: t.bfloat16().float()), r"^rounded table: .*bfloat16"),
        (rotary(change=lambda t: t.half().float()), r"^rounded table: .*float16"),
        (three_way, r"^no layout"),
        (opposite, r"^not relative"),
    ],
)
def test_planted_faults_are_named(function: Function, fault: str) -> None:
    report = examine(function)
    assert any(re.search(fault, text) for text in report.faults), str(report)
    assert not report.sound
    assert "FAULT" in str(report)


@pytest.mark.parametrize("by", [-2, -1, 1, 2])
def test_how_far_a_cache_is_off_is_named(by: int) -> None:
    (fault, *_) = examine(cache_off_by(by), head_dim=8).faults
    assert fault.startswith(
        f"offset off by {by:+d}: position m alone is turned as position m {by:+d}"
    )


def test_faults_are_those_of_the_function_alone() -> None:
    """One fault is not told as another."""
    report = examine(opposite, head_dim=8)
    assert [fault.partition(":")[0] for fault in report.faults] == ["sign", "not relative"]
    assert report.batch == "each row has its own positions"
    assert max(report.errors.values()) <= 2e-6
    (fault,) = examine(first_row_only_slowly, head_dim=8).faults
    assert fault.startswith("batch: ")


def test_a_sound_rotation_has_no_fault() -> None:
    for layout in ("half", "interleaved"):
        report = examine(rotary(layout=layout))
        assert report.faults == report.changes == report.notes == []
        assert report.layout == layout
        assert report.direction == "forward, by +mθ"
        assert report.relative.startswith("yes: a shift by 1000 moves scores by")
    assert examine(wrong_sign, head_dim=8).direction == "backward, by −mθ"
    assert examine(rotary(factor=1000.0), head_dim=8).relative.startswith("yes")


@pytest.mark.parametrize(("move", "word"), [(0.019, "yes"), (0.021, "NO")])
def test_scores_may_move_by_a_fiftieth(move: float, word: str) -> None:
    def growing(x: Tensor, positions: Tensor) -> Tensor:
        return turned(x, positions) * (1 + move * (positions.max() >= 1000)) ** 0.5

    assert examine(growing, head_dim=8).relative.startswith(word)


def test_a_factor_near_one_is_an_error_of_the_table() -> None:
    assert examine(rotary(factor=1.001), head_dim=8).errors[0] > 5e-4
    assert examine(rotary(factor=1.01), head_dim=8).errors[0] < 1e-5


@pytest.mark.parametrize(
    ("function", "family", "change"),
    [
        (of_family("Llama 3.1", layout="interleaved"), "Llama 3.1", "layout: interleaved to half"),
        (rotary(frequencies=book.rotary_frequencies(128, 5e5)), "Llama 3.1", "scaling: none was"),
        (of_family("Llama 2"), "Qwen3", "base: 10000 to 1e+06"),
        (
            of_family("Llama 2"),
            "GPT-NeoX",
            "turned part: 128 dimensions from 0 on, to the f",
        ),
        (of_family("gpt-oss", factor=1.0), "gpt-oss", "factor of the table: 1.0000 to 1.3466"),
        (wrong_sign, "Llama 2", "direction: turn the other way"),
        (of_family("Qwen3"), "Gemma 3 global", "scaling: none was measured, the family has linear"),
        (rotary(frequencies=book.rotary_frequencies(128, 500_500)), "Llama 3.1", "scaling: none w"),
    ],
)
def test_what_a_family_would_need(function: Function, family: str, change: str) -> None:
    report = examine(function, family=family)
    assert [text for text in report.changes if text.startswith(change)] == report.changes[:1]
    assert family not in report.matches


@pytest.mark.parametrize(
    ("have", "family", "changes"),
    [
        (
            "Llama 2",
            "Llama 3.1",
            [
                "base: 10000 to 500000",
                "scaling: none was measured, the family has llama3: ×8 from 8192",
            ],
        ),
        (
            "Gemma 3 global",
            "Llama 2",
            [
                "base: 1e+06 to 10000",
                "scaling: linear: every angle divided by 8 was measured, the family has none",
            ],
        ),
        ("Llama 2", "Qwen3", ["base: 10000 to 1e+06"]),
        ("Llama 3.1", "Llama 3.1", []),
        ("half a Gemma 4", "Gemma 4 global", ["base: 10000 to 1e+06"]),
    ],
)
def test_another_base_does_not_hide_another_scaling(
    have: str, family: str, changes: list[str]
) -> None:
    slower = rotary(frequencies=book.proportional_frequencies(512, 1e4, share=0.25))
    function = of_family(have) if have in FAMILIES else slower
    assert examine(function, family=family).changes == changes


def test_families_of_another_head_dim_do_not_match() -> None:
    assert "gpt-oss" not in examine(rotary()).matches


class TestWaysOfCalling:
    def test_queries_and_keys_with_tables_as_in_transformers(self) -> None:
        def apply(q, k, cos, sin, unsqueeze_dim=1):
            cos, sin = cos.unsqueeze(unsqueeze_dim), sin.unsqueeze(unsqueeze_dim)
            return q * cos + rotate_half(q) * sin, k * cos + rotate_half(k) * sin

        report = examine(apply)
        assert report.calling.startswith("f(q, k, cos, sin) with vectors (b, h, n, d)")
        assert report.layout == "half"
        assert "table that was given" in report.base
        assert report.matches == []
        assert examine(apply, family="Qwen3").sound
        assert examine(apply, family="GLM").changes[0].startswith("layout: half to interleaved")

    def test_neighbours_with_wide_tables(self) -> None:
        def apply(x, cos, sin):
            if cos.shape[-1] != x.shape[-1]:
                raise ValueError("width")
            return x * cos + rotate_neighbours(x) * sin

        report = examine(apply)
        assert report.layout == "interleaved"
        assert "neighbours alike" in report.calling

    def test_heads_behind_positions(self) -> None:
        def apply(x: Tensor, position_ids: Tensor) -> Tensor:
            if position_ids.ndim != 2:
                raise ValueError("(b, n) wanted")
            theta = book.rotary_frequencies(x.shape[-1])
            table = book.rotary_table(position_ids.expand(len(x), -1), theta)
            return book.rotate(x, table, layout="half", sequence_axis=-3)

        report = examine(apply)
        assert "(b, n, h, d), positions (b, n)" in report.calling
        assert not report.faults

    def test_an_offset(self) -> None:
        def apply(x: Tensor, offset: int = 0) -> Tensor:
            return turned(x, torch.arange(x.shape[-2]) + offset)

        report = examine(apply)
        assert report.calling.startswith("f(x, offset)")
        assert report.batch == "rows share their positions"
        assert not report.faults

    def test_a_second_parameter_of_any_name_is_the_position(self) -> None:
        def apply(vectors: Tensor, where: Tensor) -> Tensor:
            return turned(vectors, where)

        assert examine(apply).calling.startswith("f(x, where)")

    def test_no_positions_at_all(self) -> None:
        def apply(x: Tensor) -> Tensor:
            return turned(x, torch.arange(x.shape[-2]))

        report = examine(apply)
        assert report.offset.startswith("cannot be given")
        assert report.relative.startswith("not tested")
        assert report.errors == {}
        assert "Llama 2" in report.matches

    def test_positions_of_one_row_only(self) -> None:
        def apply(x: Tensor, positions: Tensor) -> Tensor:
            if positions.ndim != 1:
                raise ValueError("(n,) wanted")
            return turned(x, positions)

        assert "are refused (ValueError)" in examine(apply).batch

    def test_what_turns_nothing(self) -> None:
        def still(x: Tensor, positions: Tensor) -> Tensor:
            return x

        def other_shape(x: Tensor, positions: Tensor) -> Tensor:
            return x[..., :2]

        def still_with_tables(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
            return x

        with pytest.raises(ValueError, match=r"(?s)cos and sin \(1, n, …\).*def adapter"):
            examine(still_with_tables)
        for function, words in ((still, "depends on the position"), (other_shape, "ValueError")):
            with pytest.raises(ValueError, match=rf"(?s)turns nothing.*{words}.*def adapter"):
                examine(function)


def test_vectors_that_come_back_in_another_order() -> None:
    """DeepSeek's code turns neighbours and gives halves."""

    def reordered(x: Tensor, positions: Tensor) -> Tensor:
        return book.convert_layout(
            turned(x, positions, layout="interleaved", factor=1.5),
            source="interleaved",
            target="half",
        )

    report = examine(reordered)
    assert report.layout == "interleaved"
    assert "another order" in report.notes[0]
    assert not report.faults
    assert report.errors[2**20 - 1] <= 2e-6


def test_a_table_that_ends_and_angles_in_float32_are_noted() -> None:
    def short(x: Tensor, positions: Tensor) -> Tensor:
        if int(positions.max()) > 20_000:
            raise IndexError
        return turned(x, positions)

    assert examine(short).layout == "half"
    assert examine(short).notes == [
        "no answer in torch.float32 at position 131,071, the last is 16,383"
    ]

    def drifting(x: Tensor, positions: Tensor) -> Tensor:
        theta = book.rotary_frequencies(x.shape[-1]).float()
        angles = positions.float()[:, None] * theta
        return book.rotate(x.float(), (angles.cos(), angles.sin()), layout="half").to(x.dtype)

    report = examine(drifting)
    assert report.notes == ["the error grows with the position: angles are computed in float32"]
    assert report.errors[0] < 1e-6 < 1e-3 < report.errors[2**20 - 1]
    assert examine(drifting, dtype=torch.bfloat16).dtype == "bfloat16"


@pytest.mark.parametrize(
    ("last", "note"),
    [
        (15, "no answer in torch.float32 at position 1,000, the last is 0"),
        (200_000, "no answer in torch.float32 at position 1,048,575, the last is 131,071"),
    ],
)
def test_a_table_of_16_positions_is_enough(last: int, note: str) -> None:
    def short(x: Tensor, positions: Tensor) -> Tensor:
        if int(positions.max()) > last:
            raise IndexError
        return turned(x, positions)

    report = examine(short, head_dim=8)
    assert report.notes == [note]
    assert not report.faults
    assert report.relative.startswith("yes: a shift by ")


def test_a_function_that_refuses_a_dtype_has_no_errors_in_it() -> None:
    def choosy(x: Tensor, positions: Tensor) -> Tensor:
        assert x.dtype == torch.float32
        return turned(x, positions)

    report = examine(choosy, head_dim=8, dtype=torch.float16)
    assert report.errors == {}
    assert report.notes == ["no answer in torch.float16 at position 0, and at none before it"]


@pytest.mark.parametrize(
    ("last", "words"), [(500, "yes: a shift by 100"), (15, "yes: a shift by 8"), (7, "not tested")]
)
def test_a_short_table_is_measured_as_far_as_it_goes(last: int, words: str) -> None:
    def short(x: Tensor, positions: Tensor) -> Tensor:
        if x.shape[1] < 9 and int(positions.max()) > last:  # not for the matrices, one unit a head
            raise IndexError
        return turned(x, positions)

    report = examine(short)
    assert report.relative.startswith(words)
    assert report.layout == "half"
    assert report.base == "10000"


def test_frequencies_of_a_table_of_300_positions() -> None:
    def short(x: Tensor, positions: Tensor) -> Tensor:
        if int(positions.max()) > 300:
            raise IndexError
        return turned(x, positions)

    assert "Llama 2" in examine(short).matches


def test_errors_of_a_shifted_and_turned_back_rotation_are_small() -> None:
    assert max(examine(late_by_one).errors.values()) <= 2e-6
    assert max(examine(wrong_sign).errors.values()) <= 2e-6


def test_angles_in_half_precision_are_a_fault_there() -> None:
    def collapsing(x: Tensor, positions: Tensor) -> Tensor:
        theta = book.rotary_frequencies(x.shape[-1]).to(x.dtype)
        angles = (positions.to(x.dtype)[:, None] * theta).float()
        return book.rotate(x, (angles.cos(), angles.sin()), layout="half")

    assert not examine(collapsing).faults
    (fault,) = examine(collapsing, dtype=torch.bfloat16).faults
    assert fault.startswith("half angles: positions or angles are computed in torch.bfloat16")

    def off_by_one(x: Tensor, positions: Tensor) -> Tensor:
        return turned(x, positions) + (x.dtype != torch.float32)

    (fault,) = examine(off_by_one, head_dim=8, dtype=torch.float16).faults
    assert fault.startswith("half angles")


def test_unknown_family() -> None:
    with pytest.raises(ValueError, match=r"family must be one of Llama 2, .*; got 'Llama 5'"):
        examine(rotary(), family="Llama 5")


class TestCommandLine:
    def write(self, folder: Path, body: str) -> None:
        (folder / "mine.py").write_text(
            "import torch, attention_to_rope as book\n"
            "def apply(x, positions):\n"
            "    theta = book.rotary_frequencies(x.shape[-1])\n"
            f"    table = book.rotary_table({body}, theta, dtype=x.dtype)\n"
            "    return book.rotate(x, table, layout='half')\n"
            "number = 3\n",
            encoding="utf-8",
        )

    @pytest.fixture(autouse=True)
    def here(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr(sys, "path", list(sys.path))
        monkeypatch.delitem(sys.modules, "mine", raising=False)

    @pytest.mark.parametrize(("body", "code"), [("positions", 0), ("-positions", 1)])
    def test_exit_codes(self, tmp_path: Path, body: str, code: int, capsys) -> None:
        self.write(tmp_path, body)
        assert main(["mine:apply"]) == code
        lines = capsys.readouterr().out.splitlines()
        assert len(lines) <= 24  # one screen
        assert lines[1].split() == ["layout", "half"]
        assert main(["mine:apply", "--family", "Qwen3"]) == 1

    def test_options_reach_the_examination(self, tmp_path: Path, capsys) -> None:
        self.write(tmp_path, "positions")
        assert main(["mine:apply", "--head-dim", "8", "--dtype", "float16"]) == 0
        told = capsys.readouterr().out
        assert "8 of 8 dimensions (100%)" in told
        assert "largest entry off, in float16" in told

    @pytest.mark.parametrize(
        ("option", "value"), [("--head-dim", "many"), ("--dtype", "int8"), ("--family", "Llama 9")]
    )
    def test_options_that_are_not_known(self, option: str, value: str, capsys) -> None:
        with pytest.raises(SystemExit) as end:
            main(["mine:apply", option, value])
        assert end.value.code == 2
        assert f"argument {option}: invalid" in capsys.readouterr().err

    def test_help_has_words_for_everything(self, capsys) -> None:
        with pytest.raises(SystemExit) as end:
            main(["--help"])
        assert end.value.code == 0
        text = capsys.readouterr().out
        assert text.startswith("usage: python -m attention_to_rope.doctor [-h]")
        assert "[--vectors DIRECTORY]" in text
        # The module's words, line by line as they stand, and the meaning of the exit codes.
        assert "\n    python -m attention_to_rope.doctor --vectors DIRECTORY\n" in text
        assert "Exit code: 0 sound, 1 a fault" in text
        options = text.partition("positional arguments:")[2]
        words = r"(?m)^(?: {24}|  (?:function|-h, --help|--\S+(?: \S+)?)  +)\S.*$"
        assert len(re.findall(words, options)) == 6

    def test_the_folder_one_stands_in_comes_first(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        other = tmp_path / "other"
        other.mkdir()
        self.write(tmp_path, "positions")
        (other / "mine.py").write_text("", encoding="utf-8")
        monkeypatch.setattr(sys, "path", [str(other), *sys.path])
        assert load("mine:apply").__name__ == "apply"

    @pytest.mark.parametrize(
        ("name", "message"),
        [
            ("mine", "name the function as package.module:function, got 'mine'"),
            ("nowhere:f", "No module named 'nowhere'"),
            ("mine:other", "has no attribute 'other'"),
            ("mine:number", "the name mine:number is no function but of type int"),
        ],
    )
    def test_what_cannot_be_examined(self, tmp_path: Path, name: str, message: str, capsys) -> None:
        self.write(tmp_path, "positions")
        assert main([name]) == 2
        assert message in capsys.readouterr().err

    def test_vectors_and_usage(self, tmp_path: Path, capsys) -> None:
        assert main(["--vectors", str(tmp_path / "v")]) == 0
        files = list((tmp_path / "v").iterdir())
        assert capsys.readouterr().out == f"{len(files)} files in {tmp_path / 'v'}\n"
        assert main([]) == 2
        assert capsys.readouterr().out.startswith("usage:")

    def test_attributes_may_follow(self) -> None:
        assert load("math:pi.__add__") == math.pi.__add__

    def test_as_a_module(self, monkeypatch: pytest.MonkeyPatch, capsys) -> None:
        monkeypatch.setattr(sys, "argv", ["doctor", "--help"])
        monkeypatch.delitem(sys.modules, "attention_to_rope.doctor")
        with pytest.raises(SystemExit) as end:
            runpy.run_module("attention_to_rope.doctor", run_name="__main__")
        assert end.value.code == 0
        assert "Exit code: 0 sound" in capsys.readouterr().out


class TestStrangers:
    """Forms that people write, each with the fault it is known for."""

    def angles(self, positions: Tensor) -> Tensor:
        return positions[:, None].float() * book.rotary_frequencies(64).float()

    def both(self, positions: Tensor) -> Tensor:
        return torch.cat((self.angles(positions),) * 2, -1)

    @pytest.mark.parametrize("shape", ["(n, d/2)", "(1, n, 1, d/2)"])
    def test_a_table_of_complex_numbers(self, shape: str) -> None:
        def turn(x: Tensor, table: Tensor) -> Tensor:
            numbers = torch.view_as_complex(x.float().unflatten(-1, (-1, 2)))
            return torch.view_as_real(numbers * table).flatten(-2).type_as(x)

        def apply(xq: Tensor, xk: Tensor, freqs_cis: Tensor) -> tuple[Tensor, Tensor]:
            if shape == "(n, d/2)":
                freqs_cis = freqs_cis.view(1, xq.shape[1], 1, -1)
            elif freqs_cis.ndim != 4:
                raise ValueError("four axes, please")
            return turn(xq, freqs_cis), turn(xk, freqs_cis)

        report = examine(apply, head_dim=64)
        assert report.sound
        assert report.layout == "interleaved"
        assert report.calling == (
            f"f(q, k, freqs_cis) with vectors (b, n, h, d), cos + i sin {shape}"
        )
        assert report.base == "10000 (of the table that was given)"

    def test_a_module(self) -> None:
        both = self.both

        class Rope(torch.nn.Module):
            def forward(self, x: Tensor) -> Tensor:
                angles = both(torch.arange(x.shape[-2]))
                return x * angles.cos() + rotate_half(x) * angles.sin()

        report = examine(Rope(), head_dim=64)
        assert report.sound
        assert report.calling.startswith("f(x) with vectors (b, h, n, d)")

    def test_a_function_without_names_needs_an_adapter(self) -> None:
        with pytest.raises(ValueError, match=r"has a name to call it by\nWrap it: def"):
            examine(lambda *arguments: arguments[0])

    def test_keys_that_are_not_turned(self) -> None:
        def queries_only(q: Tensor, k: Tensor, positions: Tensor) -> tuple[Tensor, Tensor]:
            return turned(q, positions), k

        faults = examine(queries_only, head_dim=64).faults
        assert "keys not turned: the second result is the keys as they came" in faults

    def test_a_table_of_the_other_layout(self) -> None:
        def mixed(x: Tensor, positions: Tensor) -> Tensor:
            angles = self.angles(positions).repeat_interleave(2, -1)
            return x * angles.cos() + rotate_half(x) * angles.sin()

        assert examine(mixed, head_dim=64).faults[0].startswith("mixed layouts: the two dimen")

    def test_cos_and_sin_swapped(self) -> None:
        def swapped(x: Tensor, positions: Tensor) -> Tensor:
            angles = self.both(positions)
            return x * angles.sin() + rotate_half(x) * angles.cos()

        assert [fault.partition(":")[0] for fault in examine(swapped, head_dim=64).faults] == [
            "cos and sin swapped"
        ]

    def test_styles_without_a_fault(self) -> None:
        def hugging_face(q: Tensor, k: Tensor, position_ids: Tensor) -> tuple[Tensor, Tensor]:
            angles = torch.stack([self.both(row) for row in position_ids]).unsqueeze(1)
            cos, sin = angles.cos(), angles.sin()
            return q * cos + rotate_half(q) * sin, k * cos + rotate_half(k) * sin

        def heads_last(x: Tensor, start_pos: int) -> Tensor:
            at = torch.arange(start_pos, start_pos + x.shape[1])
            angles = self.angles(at).repeat_interleave(2, -1)[None, :, None]
            return x * angles.cos() + rotate_neighbours(x) * angles.sin()

        report = examine(hugging_face, head_dim=64)
        assert report.sound
        assert (report.layout, report.batch) == ("half", "each row has its own positions")
        report = examine(heads_last, head_dim=64)
        assert report.sound
        assert (report.layout, report.batch) == ("interleaved", "rows share their positions")


def test_a_scale_is_told_by_three_digits() -> None:
    measured = book.rotary_frequencies(64) / 8.003
    assert recognise(measured, 64).scaling == "linear: every angle divided by 8"


@pytest.mark.parametrize("kind", [torch.float16, torch.bfloat16, torch.float64])
def test_the_report_is_the_same_whatever_type_torch_has_by_default(kind: torch.dtype) -> None:
    expected = str(examine(of_family("Llama 3.1"), family="Llama 3.1"))
    before = torch.get_default_dtype()
    torch.set_default_dtype(kind)
    try:
        report = examine(of_family("Llama 3.1"), family="Llama 3.1")
    finally:
        torch.set_default_dtype(before)
    assert str(report) == expected


def test_errors_are_looked_at_up_to_the_last_of_2_to_the_20_positions() -> None:
    positions = [0, 1000, *(1024 * size - 1 for size in (4, 16, 128, 1024))]
    assert list(examine(rotary(), head_dim=8).errors) == positions


def test_a_stranger_s_function_gets_float32_whatever_type_torch_has_by_default() -> None:
    turn, kinds = of_family("Llama 3.1"), set()

    @functools.wraps(turn)
    def watched(x: torch.Tensor, *rest: object, **named: object) -> object:
        kinds.add(x.dtype)
        return turn(x, *rest, **named)

    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.bfloat16)
    try:
        examine(watched, family="Llama 3.1")
    finally:
        torch.set_default_dtype(before)
    assert kinds == {torch.float32}


def test_a_large_factor_does_not_overflow_in_the_type_that_torch_has_by_default() -> None:
    def large(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        first, second = x.chunk(2, -1)
        return 300 * (x * cos + torch.cat((-second, first), -1) * sin)

    expected = str(examine(large))
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float16)
    try:
        report = examine(large)
    finally:
        torch.set_default_dtype(before)
    assert str(report) == expected
