"""What the page says of many models: every value is filled in, and the build writes the same."""

import json
import re

import pytest
from random_configurations import configuration
from reader import RULES

from bookkit.models import read_model
from bookkit.seconds import cache_bytes
from booksite.read_model import run_reports, worked_html

HOLE = re.compile(r"undefined|NaN|\[object|\{\w+\}")
CODE = re.compile(r"<pre.*?</pre>|<code.*?</code>", re.DOTALL)
TABLE = [row["name"] for row in json.loads(RULES.read_text(encoding="utf-8"))["table"]]


def check(requests):
    for request, answer in zip(requests, run_reports(requests, {}, []), strict=True):
        said = CODE.sub("", answer["html"])
        assert len(said) > 20
        assert not HOLE.search(said), (request, HOLE.findall(said))


@pytest.mark.parametrize("length", [1, 4_000_000])
def test_of_the_table_every_value_is_filled_in(length):
    wanted = {"length": length, "weights_bytes": 7e10, "gpus": 4}
    check([{"name": name, "wanted": wanted, "settings": True} for name in TABLE])


def test_of_random_configurations_every_value_is_filled_in():
    wanted = {"length": 500_000, "weights_bytes": 7e10}
    configs = [configuration(number) for number in range(300)]
    check([{"config": one, "wanted": wanted, "settings": True} for one in configs])


def test_an_encoder_sees_both_sides_and_keeps_nothing():
    (answer,) = run_reports([{"name": "ModernBERT-base", "wanted": {}}], {}, [])
    assert "all tokens, earlier and later" in answer["html"]
    assert "a window of 128 tokens around it" in answer["html"]
    for wrong in ("Keeps of one text", "earlier tokens and itself", "FlashAttention counts"):
        assert wrong not in answer["html"]


def test_compressed_keys_reach_back_to_the_first_token():
    (answer,) = run_reports([{"name": "DeepSeek-V4-Flash", "wanted": {}}], {}, [])
    first, *_ = answer["html"].split("sliding window, 2 layers</h5>")
    assert "never look farther" not in first
    assert "routed_scaling_factor" not in answer["html"]  # it concerns the experts


def test_a_name_is_no_markup():
    request = {"config": {"model_type": "<b>", "rope_theta": 1.0, "head_dim": 2}, "wanted": {}}
    (answer,) = run_reports([request], {}, [])
    assert "<b>" not in answer["html"]
    assert "&lt;b&gt;" in answer["html"]


def test_a_worked_model_has_the_numbers_of_the_library():
    html = worked_html(["Gemma 3-27B: 32768"], {}, [])
    expected = cache_bytes(read_model("Gemma 3-27B")["layers"], 32768)
    assert f"<strong>{expected / 1e9:.3g} GB</strong> <span>32,768 tokens</span>" in html
    assert "sliding window, 52 layers" in html
    assert html.count('<svg class="book-panel') == 2
