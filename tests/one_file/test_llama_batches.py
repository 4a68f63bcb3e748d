"""Batches for the model in one file: padding, end tokens, compiled and exported forms."""

from typing import Any

import pytest
import torch
from torch.nn.functional import pad

from one_file.llama import Config, Model, generate, visible_tokens

LENGTHS = (7, 4, 1)


def model(**changes: Any) -> Model:
    """In float64, so that equal means equal; with matrices that tell tokens apart."""
    sizes = {"vocab_size": 23, "hidden_size": 24, "intermediate_size": 40, "num_hidden_layers": 1}
    heads = {"num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 10}
    torch.manual_seed(0)
    one = Model(Config(**(sizes | heads | {"rope_parameters": {"rope_theta": 500.0}} | changes)))
    for weight in one.parameters():
        if weight.dim() == 2:
            torch.nn.init.normal_(weight, std=0.3)
    return one.double()


def padded() -> tuple[list[torch.Tensor], torch.Tensor, torch.Tensor]:
    """Prompts, (1, N) each, and all of them padded on the left with a token that also occurs."""
    torch.manual_seed(1)
    prompts = [torch.randint(23, (1, length)) for length in LENGTHS]
    tokens = torch.cat([pad(one, (7 - one.shape[1], 0), value=5) for one in prompts])
    mask = torch.cat([pad(one * 0 + 1, (7 - one.shape[1], 0)) for one in prompts])
    return prompts, tokens, mask


@pytest.mark.parametrize("dtype", [torch.bool, torch.int64, torch.uint8], ids=str)
def test_a_padded_batch_writes_what_each_prompt_alone_does(dtype: torch.dtype) -> None:
    decoder = model()
    prompts, tokens, mask = padded()
    written = generate(decoder, tokens, 9, mask.to(dtype), temperature=0)
    for row, prompt in zip(written, prompts, strict=True):
        alone = generate(decoder, prompt, 9, temperature=0)
        assert torch.equal(row[-9:], alone[0, -9:])
    # Without the mask, padding is read like any other token.
    assert not torch.equal(generate(decoder, tokens, 9, temperature=0), written)


def test_padding_sees_itself_and_nobody_sees_padding() -> None:
    mask = torch.tensor([[False, True, True], [True, True, True]])
    visible = visible_tokens(2, 3, mask, mask.device)
    assert visible.int().tolist() == [[[[0, 1, 0], [0, 1, 1]]], [[[1, 1, 0], [1, 1, 1]]]]
    whole = visible_tokens(3, 3, mask, mask.device)
    assert whole[0, 0].int().tolist() == [[1, 0, 0], [0, 1, 0], [0, 1, 1]]
    assert visible_tokens(2, 3, None, mask.device).int().tolist() == [[1, 1, 0], [1, 1, 1]]


def in_parts(decoder: Any, tokens: torch.Tensor, *masks: torch.Tensor | None) -> torch.Tensor:
    """Logits of the tokens 0 to 4, 5, and 6 to the end, each part with its own mask."""
    rows, caches = [], ()
    for part, mask in zip((slice(0, 5), slice(5, 6), slice(6, None)), masks, strict=True):
        logits, caches = decoder(tokens[:, part], caches, mask)
        rows.append(logits)
    return torch.cat(rows, dim=1)


def test_a_cache_keeps_the_mask_of_its_tokens() -> None:
    """So nobody can continue it with another one: padding stays padding, and text stays text."""
    decoder = model()
    tokens = torch.cat((padded()[1], torch.tensor([[1, 2], [3, 4], [5, 6]])), dim=1)  # (3, 9)
    mask = pad(padded()[2], (0, 2), value=1)
    whole = decoder(tokens, mask=mask)[0]
    for masks in ((mask[:, :5], mask[:, 5:6], mask[:, 6:]), (mask[:, :5], mask[:, 5:6], None)):
        found = in_parts(decoder, tokens, *masks)
        torch.testing.assert_close(found[mask.bool()], whole[mask.bool()], rtol=0, atol=1e-12)


def test_a_cache_without_padding_can_be_continued_with_some() -> None:
    decoder = model()
    _, tokens, _ = padded()
    mask = torch.ones_like(tokens)
    mask[1:, 6] = 0  # the second and the third text end before
    whole = decoder(tokens, mask=mask)[0]
    found = in_parts(decoder, tokens, None, None, mask[:, 6:])
    torch.testing.assert_close(found[mask.bool()], whole[mask.bool()], rtol=0, atol=1e-12)
    _, caches = decoder(tokens[:, :6])
    assert caches[0].mask is None
    _, caches = decoder(tokens[:, 6:], caches, mask[:, 6:])
    assert torch.equal(caches[0].mask, mask.bool())


def test_padding_has_gradients_and_no_influence() -> None:
    decoder = model()
    _, tokens, mask = padded()
    logits, _ = decoder(tokens, mask=mask)
    logits[mask.bool()].sum().backward()
    gradients = [weight.grad.clone() for weight in decoder.parameters()]
    assert all(gradient.isfinite().all() for gradient in gradients)
    decoder.zero_grad()
    other = tokens.where(mask.bool(), 11)
    changed, _ = decoder(other, mask=mask)
    changed[mask.bool()].sum().backward()
    torch.testing.assert_close(changed[mask.bool()], logits[mask.bool()], rtol=0, atol=1e-12)
    for weight, gradient in zip(decoder.parameters(), gradients, strict=True):
        torch.testing.assert_close(weight.grad, gradient, rtol=0, atol=1e-10)


@pytest.mark.parametrize(
    ("mask", "message"),
    [
        (
            torch.ones(3, 6, dtype=torch.bool),
            r"expected the shape \(B, N\) of the new tokens, \(3, 7\), got \(3, 6",
        ),
        (
            torch.tensor([7, 4, 1]),
            r"expected the shape \(B, N\) of the new tokens, \(3, 7\), got \(3,\)",
        ),
        (
            torch.ones(1, 7, dtype=torch.bool),
            r"expected the shape \(B, N\) of the new tokens, \(3, 7\), got \(1, 7",
        ),
        (torch.zeros(3, 7), "expected Booleans or integers, got torch.float32"),
        (torch.arange(21).view(3, 7), r"expected only 0 and 1, got \[0, 1, 2"),
        (torch.ones(3, 7).long().tril(), "expected padding on the left, got a prompt that ends"),
    ],
)
def test_a_mask_that_means_something_else_is_refused(mask: torch.Tensor, message: str) -> None:
    with pytest.raises(ValueError, match=f"^mask: {message}"):
        generate(model(), padded()[1], 1, mask)


def test_a_mask_covers_the_new_tokens_only() -> None:
    decoder = model()
    _, tokens, mask = padded()
    _, caches = decoder(tokens, mask=mask)
    message = r"expected the shape \(B, N\) of the new tokens, \(3, 1\), got \(3, 8\)"
    with pytest.raises(ValueError, match=message):
        decoder(tokens[:, :1], caches, pad(mask, (0, 1), value=1))


def test_tokens_and_caches_of_other_shapes_are_refused() -> None:
    decoder = model()
    for shape in ((7,), (1, 0), (1, 1, 7)):
        with pytest.raises(ValueError, match=r"^tokens: expected a shape \(B, N\) with N > 0"):
            decoder(torch.zeros(shape, dtype=torch.long))
    _, caches = decoder(torch.zeros(1, 3, dtype=torch.long))
    with pytest.raises(ValueError, match="longer"):
        decoder(torch.zeros(1, 1, dtype=torch.long), caches * 2)


def test_sizes_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ValueError, match=r"^head_dim: expected an even number, got 9"):
        model(head_dim=9)
    with pytest.raises(
        ValueError, match=r"^num_attention_heads: expected a multiple of .*, 3, got"
    ):
        model(num_key_value_heads=3)


# -- end tokens ----


def test_a_row_ends_alone_and_the_last_one_ends_the_loop() -> None:
    decoder = model()
    _, tokens, mask = padded()
    free = generate(decoder, tokens, 12, mask, end=(), temperature=0)[:, 7:]
    end = (int(free[0, 2]), int(free[1, 4]))
    written = generate(decoder, tokens, 12, mask, end=end, temperature=0)[:, 7:]
    firsts = []
    for row, ended in zip(free, written, strict=True):
        places = torch.isin(row, torch.tensor(end)).nonzero()
        first = int(places[0]) if len(places) else len(row)
        firsts.append(first)
        assert torch.equal(ended[: first + 1], row[: min(first + 1, ended.shape[0])])
        assert (ended[first + 1 :] == end[0]).all()  # the padding, if no other is named
    assert firsts[0] <= 2
    assert firsts[1] <= 4
    assert written.shape[1] == min(max(firsts) + 1, 12)


def test_end_tokens_of_the_configuration_and_their_padding() -> None:
    prompt = padded()[0][0]
    free = generate(model(), prompt, 8, temperature=0)[0, 7:].tolist()
    end = free[3]
    stop = free.index(end) + 1
    configured = model(eos_token_id=(end,), pad_token_id=22)
    assert generate(configured, prompt, 8, temperature=0)[0, 7:].tolist() == free[:stop]
    assert generate(configured, prompt, 8, end=(), temperature=0)[0, 7:].tolist() == free
    assert generate(model(), prompt, 8, end=end, temperature=0)[0, 7:].tolist() == free[:stop]
    two = torch.cat((prompt, prompt.flip(1)))
    expected = []
    for row in generate(model(), two, 8, temperature=0)[:, 7:].tolist():
        stop = row.index(end) + 1 if end in row else 8
        expected.append(row[:stop] + [22] * (8 - stop))
    assert expected[0].count(22) != expected[1].count(22)
    longest = 8 - min(row.count(22) for row in expected)
    found = generate(configured, two, 8, temperature=0)[:, 7:]
    assert found.tolist() == [row[:longest] for row in expected]


def test_a_count_below_zero_is_refused() -> None:
    prompt = padded()[0][0]
    assert torch.equal(generate(model(), prompt, 0), prompt)
    with pytest.raises(ValueError, match=r"^count: expected 0 or more, got -1"):
        generate(model(), prompt, -1)


def test_token_number_zero_can_end_a_text() -> None:
    decoder = model()
    decoder.lm_head.weight.data.zero_()  # all logits are equal, so the first token is taken
    prompt = torch.ones(1, 2, dtype=torch.long)
    assert generate(decoder, prompt, 5, end=0, temperature=0).tolist() == [[1, 1, 0]]


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ({"top_p": 0.0}, "top_p: expected a number above 0 and at most 1, got 0.0"),
        ({"top_p": 1.5}, "top_p: expected a number above 0 and at most 1, got 1.5"),
        ({"top_p": float("nan")}, "top_p: expected a number above 0 and at most 1, got nan"),
        ({"top_k": -1}, r"top_k: expected 0 \(all\) to 23, got -1"),
        ({"top_k": 24}, r"top_k: expected 0 \(all\) to 23, got 24"),
    ],
)
def test_a_tail_that_means_nothing_is_refused(option: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=f"^{message}"):
        generate(model(), padded()[0][0], 1, **option)


# -- one graph ----


@pytest.mark.slow
def test_one_graph_serves_several_lengths() -> None:
    decoder = model()
    compiled = torch.compile(decoder, fullgraph=True, backend="eager")
    for length in (4, 7, 9):
        tokens = torch.arange(length)[None]
        torch.testing.assert_close(compiled(tokens)[0], decoder(tokens)[0])


@pytest.mark.slow
def test_one_graph_reads_a_padded_text_and_its_cache() -> None:
    decoder = model()
    compiled = torch.compile(decoder, fullgraph=True, backend="eager")
    _, tokens, mask = padded()
    masks = (mask[:, :5], mask[:, 5:6], None)
    found = in_parts(compiled, tokens, *masks)
    torch.testing.assert_close(found, in_parts(decoder, tokens, *masks))
    written = generate(compiled, tokens, 4, mask, temperature=0)
    assert torch.equal(written, generate(decoder, tokens, 4, mask, temperature=0))


@pytest.mark.slow
def test_an_exported_model_takes_any_length() -> None:
    decoder = model()
    tokens, mask = padded()[1:]
    length = torch.export.Dim("length", min=2, max=4096)
    shapes = {"tokens": {1: length}, "caches": (), "mask": {1: length}}
    exported = torch.export.export(decoder, (tokens, (), mask), dynamic_shapes=shapes).module()
    for part in (slice(3, None), slice(None)):
        found, _ = exported(tokens[:, part], (), mask[:, part])
        expected, _ = decoder(tokens[:, part], (), mask[:, part])
        torch.testing.assert_close(found, expected)
