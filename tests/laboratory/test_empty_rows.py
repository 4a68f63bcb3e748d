"""Cases of attention with queries that see no key: what is measured, and how a file continues."""

import torch

from bookkit.records import recorded
from laboratory import empty_rows
from laboratory.empty_rows import MASKS, added, compared, exact, main, options, seen_keys, summary

CASE = {"backend": "default", "dtype": "float32", "length": 12, "d_k": 64}


def measured(**changed):
    return empty_rows.measure(
        CASE | {"mask": "boolean", "gradient": "padding ignored"} | changed, "cpu"
    )


def test_the_reference_gives_zero_and_finite_gradients_without_keys():
    q, k, v = (torch.randn(2, 1, 6, 4, dtype=torch.float64).requires_grad_() for _ in range(3))
    out = exact(q, k, v, seen_keys(6, 2, "cpu"))
    assert (out[1, :, :2] == 0).all()
    assert torch.equal(out[1, :, 2], v[1, :, 2])
    out.sum().backward()
    assert all(x.grad.isfinite().all() for x in (q, k, v))


def test_padding_is_hidden_by_every_mask_but_is_causal():
    for mask in MASKS[:4]:
        assert measured(mask=mask)["output, other rows differ"] < 1e-5
    assert measured(mask="is_causal")["output, other rows differ"] > 0.1


def test_a_finite_number_lets_a_row_without_keys_see_all_of_them():
    assert measured()["output, padding rows"] == 0
    assert measured(mask="float, finfo.min")["output, padding rows"] > 0.1


def test_nan_is_counted_in_padding_rows_and_in_others():
    wanted = {"q": torch.ones(2, 1, 3, 2)}
    found = {"q": wanted["q"].clone()}
    found["q"][1, 0, 0] = torch.nan
    found["q"][1, 0, 2, 0] = 1.5
    row = compared(found, wanted, torch.tensor([[False] * 3, [True, False, False]]))
    assert row["q, padding rows not finite"] == 2
    assert row["q, other rows not finite"] == 0
    assert row["q, other rows differ"] == 0.5


def test_a_mask_of_numbers_has_the_dtype_of_the_query():
    seen = seen_keys(4, 1, "cpu")
    assert added(seen, torch.bfloat16, -torch.inf).dtype == torch.bfloat16
    assert options("float, -inf", seen, torch.float16)["attn_mask"].dtype == torch.float16


def test_a_file_is_continued(tmp_path, monkeypatch):
    monkeypatch.setattr(empty_rows, "measure", lambda case, device: case)
    file = tmp_path / "rows.jsonl"
    main([str(file), "--lengths", "8"])
    first = len(recorded(file))
    assert first == 2 * 3 * 6 * 2 * 5
    file.write_text("".join(file.read_text().splitlines(keepends=True)[:100]))
    main([str(file), "--lengths", "8"])
    rows = recorded(file)
    assert len(rows) == first
    assert len({tuple(row[name] for name in empty_rows.CASE) for row in rows}) == first


def test_the_summary_keeps_the_largest_numbers_and_the_lengths_that_fail(tmp_path, monkeypatch):
    same = {"backend": "a", "dtype": "b", "mask": "c", "gradient": "d", "d_k": 64, "padding": 1}
    rows = [
        same | {"length": 8, "q, padding rows": 0.5, "q, padding rows not finite": 0},
        same | {"length": 9, "q, padding rows": 0.2, "q, padding rows not finite": 3},
        same | {"length": 8, "mask": "other", "refused": "why"},
    ]
    first, second = summary(rows)
    assert first["lengths"] == [8, 9]
    assert first["q, padding rows"] == 0.5
    assert first["q, padding rows not finite"] == [9]
    assert second["refused"] == "why"


def test_the_record_has_every_backend_dtype_mask_and_gradient_and_its_origin():
    rows = recorded("empty_rows.jsonl")
    assert len(rows) == 5 * 3 * len(MASKS) * 2
    assert all(row[fact] for row in rows for fact in ("date", "device", "torch", "command"))
