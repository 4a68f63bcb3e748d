"""The counter of bytes, on operations whose traffic is known."""

import torch
from torch.utils.flop_counter import FlopCounterMode

from bookkit.traffic import Traffic, distinct_bytes, flops


def count(operation):
    with Traffic() as moved:
        operation()
    return moved.total, moved.operations


def test_copy_reads_and_writes_once():
    x = torch.zeros(3, 5, dtype=torch.bfloat16)
    assert count(x.clone) == (30 + 30, ["clone"])


def test_views_and_empty_memory_move_nothing():
    x = torch.zeros(4, 6)
    assert count(lambda: x.view(6, 4).transpose(0, 1)[1:, ::2].unsqueeze(0)) == (0, [])
    assert count(lambda: torch.empty(100)) == (0, [])
    assert count(lambda: x.detach()) == (0, [])
    # A product of three axes and two is one product of matrices between two views.
    assert count(lambda: torch.zeros(2, 3, 4) @ x)[1] == ["zeros", "mm"]


def test_a_repeated_axis_is_read_once():
    table = torch.zeros(1, 6)
    assert distinct_bytes(table.expand(4, 6)) == 24
    assert count(lambda: table.expand(4, 6) * 2.0) == (24 + 96, ["mul"])


def test_a_change_in_place_reads_what_it_writes():
    x, y = torch.zeros(4, 6), torch.zeros(6)
    assert count(lambda: x.addcmul_(y, y)) == (96 + 24 + 24 + 96, ["addcmul_"])


def test_an_out_argument_is_only_written():
    x, out = torch.zeros(4, 6), torch.zeros(4, 6)
    assert count(lambda: torch.mul(x, x, out=out)) == (96 + 96 + 96, ["mul"])


def test_several_tensors_are_all_counted():
    x = torch.zeros(4, 6)
    assert count(lambda: torch.cat((x, x))) == (192 + 192, ["cat"])
    assert Traffic().total == 0


def test_products_are_counted_as_pytorchs_own_counter_does_backward_too():
    x, W = torch.ones(3, 5, requires_grad=True), torch.ones(2, 5, 7)

    def compute():
        (torch.relu(x @ W) @ W.mT).sum().backward()

    with FlopCounterMode(display=False) as counter:
        compute()
    assert flops(compute) == counter.get_total_flops() > 4 * 2 * 3 * 5 * 7
    assert flops(lambda: x + x) == 0


def test_counting_leaves_the_operations_as_they_are():
    made = []
    flops(lambda: made.append(torch.ones(2, dtype=torch.int8)))
    assert made[0].dtype == torch.int8
