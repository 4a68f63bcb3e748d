"""The Transformer of 2017 in one file: as PyTorch's own modules, with a cache, and alone."""

import ast
import runpy
from pathlib import Path

import pytest
import torch
from torch import nn

from attention_to_rope import sinusoidal
from one_file import transformer_2017
from one_file.transformer_2017 import END, PAD, START, Transformer

FILE = Path(transformer_2017.__file__)
SOURCE = torch.tensor([[3, 5, 8, 4, 7], [6, 3, 4, PAD, PAD]])
TARGET = torch.tensor([[START, 7, 4, 8], [START, 4, 6, END]])


@pytest.fixture
def model():
    torch.manual_seed(1)
    model = Transformer(words=9, d=12, h=3, d_f=20, layers=2).double().eval()
    for name, weight in model.named_parameters():  # so that mixing up two norms is noticed
        if "norm" in name or name.endswith("bias"):
            nn.init.normal_(weight)
    return model


@torch.no_grad()
def in_pytorch(model):
    """PyTorch's own stacks with the same weights, and without their last norms."""
    theirs = nn.Transformer(12, 3, 2, 2, 20, batch_first=True).double().eval()
    theirs.encoder.norm = theirs.decoder.norm = None
    layers = [*theirs.encoder.layers, *theirs.decoder.layers]
    for ours, layer in zip([*model.encoder, *model.decoder], layers, strict=True):
        for name, theirs_name in (("attention", "self_attn"), ("cross", "multihead_attn")):
            if mine := getattr(ours, name, None):
                attention = getattr(layer, theirs_name)
                matrices = [mine.query.weight, mine.key.weight, mine.value.weight]
                attention.in_proj_weight.copy_(torch.cat(matrices))
                attention.out_proj.weight.copy_(mine.output.weight)
        layer.linear1, layer.linear2 = ours.feed_forward[0], ours.feed_forward[2]
        for name in ("norm_1", "norm_2", "norm_3"):
            setattr(layer, name.replace("_", ""), getattr(ours, name, None))
    return theirs


@torch.no_grad()
def test_it_is_pytorchs_transformer_and_padding_changes_nothing(model):
    logits, _ = model.decode(TARGET, model.encode(SOURCE))
    x = in_pytorch(model)(
        model.embed(SOURCE),
        model.embed(TARGET),
        tgt_mask=torch.ones(4, 4, dtype=torch.bool).triu(1),
        src_key_padding_mask=SOURCE == PAD,
        memory_key_padding_mask=SOURCE == PAD,
    )
    torch.testing.assert_close(logits, x @ model.embedding.weight.T)
    alone, _ = model.decode(TARGET[1:], model.encode(SOURCE[1:, :3]))
    torch.testing.assert_close(logits[1:], alone)


@torch.no_grad()
def test_positions_are_the_librarys_sinusoids(model):
    model.embedding.weight.data.zero_()
    expected = sinusoidal(torch.arange(5), 12)  # with the base 10,000
    torch.testing.assert_close(model.embed(SOURCE)[0], expected.to(torch.float64))


@torch.no_grad()
def test_tokens_may_come_in_parts(model):
    memory = model.encode(SOURCE)
    first, caches = model.decode(TARGET[:, :1], memory)
    rest, _ = model.decode(TARGET[:, 1:], memory, caches)
    expected, _ = model.decode(TARGET, memory)
    torch.testing.assert_close(torch.cat((first, rest), dim=1), expected)


def test_it_generates_what_it_predicts_and_ends(model):
    model.embedding.weight.data[END] *= 3  # a likely token
    written = model.generate(SOURCE, steps=30)
    assert written.shape == (len(SOURCE), 30)
    read = nn.functional.pad(written[:, :-1], (1, 0), value=START)
    predicted = model.decode(read, model.encode(SOURCE))[0].argmax(-1)
    ended = (read == END).cumsum(1) > 0
    assert ended.any()
    assert torch.equal(written, predicted.masked_fill(ended, PAD))


def test_it_runs_alone():
    text = FILE.read_text(encoding="utf-8")
    nodes = [n for n in ast.walk(ast.parse(text)) if isinstance(n, (ast.Import, ast.ImportFrom))]
    names = {getattr(node, "module", None) or node.names[0].name for node in nodes}
    assert names == {"torch", "torch.nn.functional"}
    assert "Transformer" in runpy.run_path(str(FILE))


@torch.no_grad()
def test_the_loss_is_the_mean_surprise_of_the_words_that_follow_without_padding(model):
    target = torch.tensor([[START, 7, 4, END], [START, 4, END, PAD]])
    logits, _ = model.decode(target[:, :-1], model.encode(SOURCE))
    surprise = -logits.log_softmax(-1)
    words = [surprise[0, 0, 7], surprise[0, 1, 4], surprise[0, 2, END]]
    words += [surprise[1, 0, 4], surprise[1, 1, END]]
    torch.testing.assert_close(model.loss(SOURCE, target), torch.stack(words).mean())
    to_all = torch.cat([surprise[0, :3], surprise[1, :2]]).mean()
    smoothed = 0.9 * torch.stack(words).mean() + 0.1 * to_all
    torch.testing.assert_close(model.loss(SOURCE, target, smoothing=0.1), smoothed)
    assert model.bfloat16().loss(SOURCE, target).dtype == torch.float32


def test_padding_before_a_word_is_refused(model):
    left = SOURCE.flip(1)
    with pytest.raises(ValueError, match=r"^source: expected PAD only at the end of a sequence"):
        model.generate(left, steps=1)
    with pytest.raises(ValueError, match=r"^target: expected PAD only at the end of a sequence"):
        model.loss(SOURCE, torch.tensor([[START, 7, 4, 8], [START, PAD, 6, END]]))


@torch.no_grad()
def test_a_source_without_a_word_gives_numbers_and_changes_no_other(model):
    expected, _ = model.decode(TARGET[:1], model.encode(SOURCE[:1]))
    source = torch.stack((SOURCE[0], torch.full((5,), PAD)))
    logits, _ = model.decode(TARGET[[0, 0]], model.encode(source))
    torch.testing.assert_close(logits[:1], expected)
    blank = torch.full((1, 5), PAD)
    shown = model.embed(blank)
    everything = torch.ones(1, 1, 1, 5, dtype=torch.bool)
    for block in model.encoder:
        shown = block(shown, everything)
    memory = [block.cross.project(shown) for block in model.decoder], everything
    torch.testing.assert_close(logits[1:], model.decode(TARGET[:1], memory)[0])


@pytest.mark.parametrize(("d", "h"), [(9, 3), (12, 5)])
def test_sizes_that_do_not_fit_are_refused(d, h):
    message = f"^d: expected an even number that is a multiple of h = {h}, got {d}$"
    with pytest.raises(ValueError, match=message):
        Transformer(words=9, d=d, h=h, d_f=20, layers=1)
