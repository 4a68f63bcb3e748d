"""The key-value cache: what it holds, what it refuses."""

import dataclasses

import pytest
import torch

import attention_to_rope as book
from bookkit.randomness import normal

Z = torch.zeros


class TestKeyValueCache:
    def test_append_gives_a_new_cache(self) -> None:
        empty = book.KeyValueCache()
        keys, values = normal(2, 1, 3, 4, seed=0), normal(2, 1, 3, 5, seed=1)
        one = empty.append(keys, values)
        two = one.append(keys[:, :, :1], values[:, :, :1])
        assert (empty.length, one.length, two.length) == (0, 3, 4)
        assert torch.equal(two.keys, torch.cat((keys, keys[:, :, :1]), -2))
        assert torch.equal(two.values, torch.cat((values, values[:, :, :1]), -2))
        assert one.keys is keys
        with pytest.raises(dataclasses.FrozenInstanceError):
            one.keys = keys

    def test_errors(self) -> None:
        x = torch.zeros(2, 1, 3, 4)
        cache = book.KeyValueCache(x, x)
        with pytest.raises(
            ValueError, match=r"keys and values must agree.*\(2, 1, 3, 4\) and \(2, 1, 2"
        ):
            cache.append(x, x[:, :, :2])
        with pytest.raises(
            ValueError, match=r"new keys must agree.*\(1, 1, 3, 4\) after \(2, 1, 3, 4\)"
        ):
            cache.append(x[:1], x[:1])
        with pytest.raises(ValueError, match=r"new values must agree.*\(2, 1, 3, 5\) after"):
            cache.append(x, torch.zeros(2, 1, 3, 5))
        with pytest.raises(TypeError, match=r"cached keys and new keys must have the same dtype"):
            cache.append(x.half(), x.half())

    def test_equal_caches_may_differ_so_they_have_no_hash(self) -> None:
        with pytest.raises(TypeError, match="unhashable"):
            hash(book.KeyValueCache())

    def test_a_full_room_becomes_twice_as_large_and_no_larger(self) -> None:
        cache = book.KeyValueCache(capacity=3).append(Z(1, 1, 3, 4), Z(1, 1, 3, 4))
        assert cache.room.keys.shape[-2] == 6
        for _ in range(3):
            cache = cache.append(Z(1, 1, 1, 4), Z(1, 1, 1, 4))
        assert cache.room.keys.shape[-2] == 6
        cache = cache.append(Z(1, 1, 1, 4), Z(1, 1, 1, 4))
        assert cache.room.keys.shape[-2] == 14

    def test_its_room_is_not_shown(self) -> None:
        assert repr(book.KeyValueCache(capacity=3)) == "KeyValueCache(keys=None, values=None)"

    @pytest.mark.parametrize("learned", ["keys", "values"])
    def test_a_gradient_outlives_the_next_position(self, learned: str) -> None:
        """Room that is written again would spoil what the gradient needs."""
        new = {"keys": Z(1, 1, 2, 4), "values": Z(1, 1, 2, 4)}
        new[learned] = normal(1, 1, 2, 4, seed=0, dtype=torch.float32).requires_grad_()
        one = book.KeyValueCache(capacity=4).append(**new)
        squares = getattr(one, learned).square().sum()
        one.append(Z(1, 1, 1, 4), Z(1, 1, 1, 4))
        squares.backward()
        assert torch.equal(new[learned].grad, 2 * new[learned].detach())

    def test_what_inference_mode_made_goes_on_outside(self) -> None:
        with torch.inference_mode():
            one = book.KeyValueCache(capacity=4).append(Z(1, 1, 2, 4), Z(1, 1, 2, 4))
        two = one.append(torch.ones(1, 1, 1, 4), torch.ones(1, 1, 1, 4))
        assert two.keys[0, 0, :, 0].tolist() == [0, 0, 1]
