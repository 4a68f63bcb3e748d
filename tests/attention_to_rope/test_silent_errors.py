"""What once gave a wrong answer without a word: now it is right, or an error says what to do.

Types are not checked here, as in a program that uses the library without the tests' hook.
"""

import pytest
import torch

import attention_to_rope as book

pytestmark = pytest.mark.usefixtures("unchecked")
SMALL = book.Architecture(d=16, heads=2, layers=2)


def rotary() -> book.Rotary:
    return book.Rotary(book.rotary_frequencies(8), layout="half")


def decoder() -> book.Decoder:
    return book.Decoder(11, SMALL, seed=0, scheme=rotary())


@pytest.mark.parametrize("assign", [False, True])
def test_a_model_from_meta_has_its_frequencies(assign):
    tokens = torch.tensor([[1, 2, 3, 4]])
    trained = decoder()
    with torch.device("meta"):
        empty = decoder()
    if not assign:
        empty = empty.to_empty(device="cpu")
    empty.load_state_dict(trained.state_dict(), assign=assign)
    assert torch.equal(empty(tokens), trained(tokens))


@pytest.mark.parametrize(
    "change",
    [
        lambda scheme: scheme.half(),
        lambda scheme: scheme.bfloat16().float(),
        lambda scheme: scheme.to(torch.float32),
        lambda scheme: scheme.to("meta").to_empty(device="cpu"),
        lambda scheme: torch.nn.ModuleList([scheme]).half()[0],
    ],
)
def test_frequencies_survive_every_change_of_a_module(change):
    assert torch.equal(change(rotary()).frequencies, book.rotary_frequencies(8))
    assert change(rotary()).frequencies.dtype == torch.float64


def test_frequencies_that_rotary_cannot_keep_are_refused():
    frequencies = book.rotary_frequencies(8)
    for rounded in (frequencies.float(), frequencies.half()):
        with pytest.raises(TypeError, match="must be float64"):
            book.Rotary(rounded, layout="half")
    with pytest.raises(ValueError, match="learned"):
        book.Rotary(frequencies.requires_grad_(), layout="half")
    with pytest.raises(ValueError, match="no numbers"):
        book.Rotary(torch.empty(4, dtype=torch.float64, device="meta"), layout="half")


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_angles_in_half_precision_are_refused(dtype):
    with pytest.raises(TypeError, match="neighbouring positions"):
        book.rotary_table(torch.arange(4), book.rotary_frequencies(8).to(dtype))
