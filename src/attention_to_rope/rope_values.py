"""Rows that are keys and values at once: turn the output back, and it sees distances alone."""

from torch import Tensor

from attention_to_rope.rope import Layout, RotaryTable, rotate, rotate_back
from attention_to_rope.scaled_dot_product import attention


def attention_over_turned_rows(
    q: Tensor,
    rows: Tensor,
    q_table: RotaryTable,
    k_table: RotaryTable,
    *,
    layout: Layout,
    rotary_dim: int | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    r"""Attention whose keys are also its values, with both turned (DeepSeek-V4).

    $o_m = \big(\sum_n A_{mn}\, u_n R_n\big) R_m^{-1} = \sum_n A_{mn}\, u_n R_{n-m}$

    A value that was turned as a key carries its absolute position; turning the output back by the
    query's position leaves the distance. q (..., N_q, d), rows u (..., N_k, d) → (..., N_q, d).
    """
    turned = rotate(rows, k_table, layout=layout, rotary_dim=rotary_dim)
    q = rotate(q, q_table, layout=layout, rotary_dim=rotary_dim)
    output = attention(q, turned, turned, mask=mask)
    return rotate_back(output, q_table, layout=layout, rotary_dim=rotary_dim)
