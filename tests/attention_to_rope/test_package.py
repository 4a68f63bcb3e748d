"""The package as a whole: names, doctests, and the recipes of its reference."""

import ast
import doctest
import importlib
import inspect
import json
import pkgutil
import pydoc
import re
import sys
from pathlib import Path

import pytest
import torch

import attention_to_rope as book

MODULES = sorted(one.name for one in pkgutil.walk_packages(book.__path__, "attention_to_rope."))
EXPORTED = {
    alias.name: node.module
    for node in ast.parse(Path(book.__file__).read_text(encoding="utf-8")).body
    if isinstance(node, ast.ImportFrom)
    for alias in node.names
}


def test_public_names_are_few_documented_and_in_the_packages_text():
    assert len(EXPORTED) <= 80, "leave names that few need in their modules"
    text = book.__doc__.replace(",", " ").replace(";", " ").split()
    for name in EXPORTED:
        assert inspect.getdoc(getattr(book, name)), f"say in a docstring what {name} is"
        assert name in text, f"name {name} in the text at the top of attention_to_rope/__init__.py"


def test_help_fits_on_two_screens():
    assert len(pydoc.plain(pydoc.render_doc(book)).splitlines()) <= 100


@pytest.mark.parametrize("name", MODULES)
def test_doctests(name):
    module = importlib.import_module(name)
    found = doctest.DocTestFinder().find(module, extraglobs={"torch": sys.modules["torch"]})
    for test in found:
        assert doctest.DocTestRunner().run(test).failed == 0, test.name


REFERENCE = Path(__file__).parents[2] / "chapters" / "api.md"
RECIPES = re.findall(r"^```python\n(.*?)^```", REFERENCE.read_text(encoding="utf-8"), re.M | re.S)


@pytest.mark.usefixtures("unchecked")
def test_the_recipes_of_the_reference_run(tmp_path, monkeypatch):
    """In their order, as a reader would; the checkpoint that one of them loads is a tiny Llama."""
    architecture = {"architectures": ["LlamaForCausalLM"], "model_type": "llama"}
    sizes = {"vocab_size": 11, "hidden_size": 8, "intermediate_size": 16, "head_dim": 4}
    heads = {"num_hidden_layers": 1, "num_attention_heads": 2, "num_key_value_heads": 2}
    others = {"rope_theta": 1e4, "rms_norm_eps": 1e-6, "hidden_act": "silu"}
    layer = "model.layers.0."
    shapes = {"model.embed_tokens": (11, 8), "lm_head": (11, 8), "model.norm": (8,)}
    shapes |= {f"{layer}self_attn.{name}_proj": (8, 8) for name in "qkvo"}
    shapes |= {f"{layer}mlp.{name}_proj": (16, 8) for name in ("gate", "up")}
    shapes |= {f"{layer}mlp.down_proj": (8, 16), f"{layer}input_layernorm": (8,)}
    shapes |= {f"{layer}post_attention_layernorm": (8,)}
    monkeypatch.chdir(tmp_path)
    (tmp_path / "model").mkdir()
    text = json.dumps(architecture | sizes | heads | others | {"tie_word_embeddings": False})
    (tmp_path / "model" / "config.json").write_text(text, encoding="utf-8")
    weights = {f"{name}.weight": torch.randn(shape) for name, shape in shapes.items()}
    torch.save(weights, tmp_path / "model" / "pytorch_model.bin")
    torch.manual_seed(0)
    namespace = {}
    for recipe in RECIPES:
        if "install_import_hook" not in recipe:  # the tests have it already
            exec(compile(recipe, "api.md", "exec"), namespace)
    assert namespace["tokens"].shape == (4, 33)
    assert len(RECIPES) >= 12


def test_every_public_name_has_an_example():
    for name in EXPORTED:
        thing = getattr(book, name)
        has_example = inspect.ismodule(thing) or ">>>" in inspect.getdoc(thing)
        assert has_example, f"the docstring of {name} needs an example that runs: >>> …"
