"""The model in one file continues texts as `transformers` does, and reads what it has written."""

from pathlib import Path

import pytest
import torch
from torch.nn.functional import pad
from transformers import (
    LlamaConfig,
    LlamaForCausalLM,
    PreTrainedModel,
    Qwen3Config,
    Qwen3ForCausalLM,
)

from one_file.llama import generate, load_checkpoint

SIZES = {
    "vocab_size": 97,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 8,
}
FAMILIES = {"llama": (LlamaForCausalLM, LlamaConfig), "qwen3": (Qwen3ForCausalLM, Qwen3Config)}
LENGTHS = (9, 4, 1, 6)
COUNT = 16


def released(family: str, **options: object) -> PreTrainedModel:
    """A model of theirs with random weights that tell tokens apart."""
    model_type, config_type = FAMILIES[family]
    torch.manual_seed(0)
    model = model_type(config_type(**(SIZES | {"pad_token_id": None} | options)))
    for weight in model.parameters():
        weight.data.copy_(torch.randn_like(weight) * 0.3 + (weight.dim() == 1))
    return model.eval().requires_grad_(False)


def padded_prompts() -> tuple[torch.Tensor, torch.Tensor]:
    torch.manual_seed(1)
    prompts = [torch.randint(3, 97, (length,)) for length in LENGTHS]
    longest = max(LENGTHS)
    tokens = torch.stack([pad(one, (longest - len(one), 0)) for one in prompts])
    mask = torch.stack([pad(torch.ones_like(one), (longest - len(one), 0)) for one in prompts])
    return tokens, mask


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("padding", [None, 0])
@pytest.mark.parametrize("several", [False, True])
def test_padded_prompts_continue_to_the_same_end(
    family: str, padding: int | None, several: bool, tmp_path: Path
) -> None:
    model = released(family)
    tokens, mask = padded_prompts()
    options = {"attention_mask": mask, "max_new_tokens": COUNT, "do_sample": False}
    free = model.generate(tokens, **options, eos_token_id=None, pad_token_id=0)[:, max(LENGTHS) :]
    # Tokens that end some rows early and others not; as in a released generation_config.json.
    end = [int(free[0, 3]), int(free[1, 5])] if several else int(free[0, 3])
    model.generation_config.eos_token_id = end
    model.generation_config.pad_token_id = padding
    model.save_pretrained(tmp_path)
    theirs = model.generate(tokens, **options)
    ours = load_checkpoint(tmp_path)
    assert torch.equal(generate(ours, tokens, COUNT, mask, temperature=0), theirs)
    assert not torch.equal(theirs[:, max(LENGTHS) :], free[:, : theirs.shape[1] - max(LENGTHS)])


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
def test_shards_in_half_precision_load(
    family: str, tied: bool, dtype: torch.dtype, tmp_path: Path
) -> None:
    model = released(family, tie_word_embeddings=tied).to(dtype)
    model.save_pretrained(tmp_path, max_shard_size="8KB")
    assert len([*tmp_path.glob("model-*.safetensors")]) > 2
    ours = load_checkpoint(tmp_path)
    assert {weight.dtype for weight in ours.parameters()} == {dtype}
    tokens, mask = padded_prompts()
    found = ours(tokens, mask=mask)[0][mask.bool()].double()
    # Both round differently, so each is compared with the exact logits of the same weights.
    exact = load_checkpoint(tmp_path, torch.float64)(tokens, mask=mask)[0][mask.bool()]
    theirs = model(tokens, attention_mask=mask).logits[mask.bool()].double()
    our_error = (found - exact).norm()
    their_error = (theirs - exact).norm()
    assert their_error < 0.1 * exact.norm()
    assert our_error < 1.5 * their_error
