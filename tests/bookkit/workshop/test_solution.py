"""The solution of the workshop is the book's model, and fills exactly what the skeleton leaves."""

import ast
import inspect

import numpy as np
import pytest
import torch

from bookkit import book_model
from bookkit.trained import STORED, held_out
from bookkit.workshop import skeleton, solution
from one_file import llama

ROPE = (solution.rope_frequencies(32), 1.0)


@pytest.fixture(scope="module")
def weights():
    return solution.read_weights(STORED.read_bytes())


def functions(module):
    tree = ast.parse(inspect.getsource(module))
    return [part.name for part in tree.body if isinstance(part, ast.FunctionDef)]


def test_solution_and_skeleton_have_the_same_functions():
    assert functions(solution) == functions(skeleton)
    for name in functions(skeleton):
        empty = inspect.signature(getattr(skeleton, name))
        assert inspect.signature(getattr(solution, name)) == empty, name


def test_solution_has_the_constants_of_the_skeleton():
    assert solution.CONFIG == skeleton.CONFIG
    assert solution.START == skeleton.START


def test_solution_is_the_model_in_one_file(weights):
    tokens = held_out(256)
    with torch.no_grad():
        expected = book_model()(tokens)[0][0].numpy()
    logits = solution.forward(tokens[0].tolist(), weights, solution.CONFIG, ROPE)
    assert logits.dtype == np.float32
    np.testing.assert_array_equal(logits.argmax(-1), expected.argmax(-1))
    np.testing.assert_allclose(logits, expected, rtol=0, atol=1e-3)


def test_greedy_text_has_the_same_bytes(weights):
    prompt = held_out(32)
    expected = llama.generate(book_model(), prompt, 60, temperature=0)[0, 32:].tolist()
    random = np.random.default_rng(0)
    prompt = prompt[0].tolist()
    made = solution.generate(prompt, 60, weights, solution.CONFIG, ROPE, random, temperature=0)
    assert list(made) == expected
