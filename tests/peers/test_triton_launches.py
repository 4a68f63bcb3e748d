"""Triton still finds its machine code anew at each call; else the launchers of RoPE can go."""

import inspect

import pytest

pytest.importorskip("triton", reason="Triton is for Linux; tests/peers/requirements.txt has it")

from triton.runtime.jit import JITFunction

ADVICE = "attention_to_rope.fast.rope_triton: compare with and without _launchers (make bench)"


def test_each_call_binds_its_arguments_and_looks_for_the_machine_code():
    call = inspect.getsource(JITFunction.run)
    before, found, _launching = call.partition("kernel_cache.get(key")
    assert found, ADVICE
    # What decides which machine code runs is worked out in Python from all arguments.
    assert "binder(*args, **kwargs)" in before, ADVICE
    assert "compute_cache_key(" in before, ADVICE
    # And nothing returns before that.
    assert "return" not in before, ADVICE
