"""The page "Read my model": a reader pastes, opens files, chooses, and sends a link.

The page here is a small one with the scripts and styles of the site, opened from disk.
"""

import json
import re
import runpy

import pytest
from playwright.sync_api import expect

from bookformat.paths import NODE_ROOM, ROOT, STATIC
from bookkit.models import read_model
from bookkit.seconds import cache_bytes
from bookkit.weights import config_weights
from booksite.node.packages import ensure_packages
from booksite.read_model import live_html, read_rules, worked_html
from moments import wait_until_drawn

BROKEN = runpy.run_path(str(ROOT / "tests" / "read_model" / "broken_inputs.py"))["INPUTS"]
PAGE = """<!doctype html><html lang="en" data-theme="light"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width"><title>Read my model</title>
<link rel="stylesheet" href="_static/book.css"><link rel="stylesheet" href="_static/print.css">
<link rel="stylesheet" href="_static/widgets/widgets.css"></head>
<body style="background: var(--pst-color-background); color: var(--pst-color-text-base)">
<main class="bd-main"><article class="bd-article"><h1>Read my model</h1><h2>Your model</h2>{}
<h2>Worked</h2>{}</article></main></body></html>"""
CONFIG = {
    "model_type": "qwen3",
    "hidden_size": 4096,
    "intermediate_size": 12288,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "num_hidden_layers": 36,
    "head_dim": 128,
    "max_position_embeddings": 40960,
    "rope_theta": 1000000.0,
    "vocab_size": 151936,
    "tie_word_embeddings": False,
}
GROUP = {"count": 36, "kv_heads": 8, "head_dim": 128}
PHONE = 390
SLOW_PHONE = 4  # times as long as here


@pytest.fixture(scope="module")
def page_file(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    (folder / "_static").mkdir()
    for name in ("book.css", "print.css", "widgets", "forms", "read-model"):
        (folder / "_static" / name).symlink_to(STATIC / name)
    remarks = read_rules()["remarks"].values()
    places = {f"{one['page']}#{one['anchor']}": f"About {one['anchor']}" for one in remarks}
    models = ["Llama 3.1-8B", "Gemma 3-27B", "DeepSeek-V3"]
    text = PAGE.format(live_html("", places), worked_html(models, places, []))
    file = folder / "page.html"
    file.write_text(text, encoding="utf-8")
    return file


@pytest.fixture
def reader(open_page, page_file):
    def visit(fragment="", **options):
        page = open_page(page_file, **options)
        if fragment:
            page.goto(f"{page_file.as_uri()}{fragment}")
            page.reload()
        expect(page.locator(".read-model.live")).to_have_attribute("data-ready", "")
        return page

    return visit


def tile(page, name):
    return page.locator(".live .tile", has_text=name).first


def gigabytes(value):
    return f"{value / 1e9:.3g} GB"


def paste(page, text):
    page.get_by_label("or the text of a config.json").fill(text)


@pytest.mark.browser
def test_a_model_of_the_table_is_read_at_once(reader):
    page = reader()
    expected = cache_bytes(read_model("Llama 3.1-8B")["layers"], 131072)
    expect(tile(page, "Cache of one text")).to_contain_text(gigabytes(expected))
    page.get_by_label("A model of the table").select_option("Gemma 3-27B")
    expect(page.locator(".live h3")).to_have_text("Gemma 3-27B")
    expect(page.locator(".live .picture")).to_have_count(2)
    page.get_by_label("Tokens of one text").fill("32768")
    expected = cache_bytes(read_model("Gemma 3-27B")["layers"], 32768)
    expect(tile(page, "Cache of one text")).to_contain_text(gigabytes(expected))


@pytest.mark.browser
def test_a_pasted_file_gives_bytes_settings_and_a_link(reader):
    page = reader()
    paste(page, json.dumps(CONFIG))
    expect(page.locator(".live h3")).to_have_text("qwen3")
    weights = config_weights(CONFIG)
    expect(tile(page, "Weights")).to_contain_text(gigabytes(2 * weights.parameters))
    page.get_by_role("button", name="4 × as long").click()
    expected = cache_bytes([GROUP], 4 * 32768)
    expect(tile(page, "Cache of one text")).to_contain_text(gigabytes(expected))
    for name in ("transformers 5", "transformers 4"):
        block = page.locator("details[open] .copied", has_text=name).locator("code")
        entry = json.loads(block.inner_text())
        assert entry["max_position_embeddings"] == 4 * 32768
        scaling = entry.get("rope_parameters", entry.get("rope_scaling"))
        assert scaling["rope_type"] == "yarn"
        assert scaling["factor"] == 4
    expect(page.locator("details[open] .copied", has_text="vLLM")).to_contain_text("131072")
    page.wait_for_function("location.hash.includes('length=131072')")
    said = page.locator(".live .report").inner_text()

    other = reader(page.evaluate("location.hash"))
    expect(other.locator(".live .report")).to_have_text(re.compile("Settings for 131,072 tokens"))
    assert other.locator(".live .report").inner_text() == said
    field = other.get_by_label("or the text of a config.json")
    assert json.loads(field.input_value()) == CONFIG
    other.get_by_role("button", name="Start over").click()
    expect(other.locator(".live h3")).to_have_text("Llama 3.1-8B")


@pytest.mark.browser
def test_files_give_the_configuration_and_the_weights(reader, tmp_path):
    (tmp_path / "config.json").write_text(json.dumps(CONFIG | {"model_type": "new"}))
    index = {"metadata": {"total_size": 141_000_000_000}, "weight_map": {"a": "b"}}
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps(index))
    page = reader()
    paths = [tmp_path / "config.json", tmp_path / "model.safetensors.index.json"]
    page.locator("input[type=file]").set_input_files(paths)
    expect(page.get_by_label("Parameters, in billions")).to_have_value("70.5")
    expect(tile(page, "Memory")).to_contain_text("does not fit")
    page.get_by_label("GPU", exact=True).select_option("H100 SXM")
    page.get_by_label("How many").fill("4")
    expect(tile(page, "Memory")).to_contain_text("it fits")
    needed = 141e9 / 4 + cache_bytes([GROUP], 40960, tensor_ranks=4)
    expect(tile(page, "Memory")).to_contain_text(f"{gigabytes(needed)} of 80 GB")
    page.get_by_label("Memory of each, GB").fill("30")
    expect(tile(page, "Memory")).to_contain_text("does not fit")


@pytest.mark.browser
def test_a_file_that_is_dropped_is_read(reader):
    page = reader()
    drop = """(text) => {
      const dataTransfer = new DataTransfer();
      dataTransfer.items.add(new File([text], "config.json"));
      document.body.dispatchEvent(new DragEvent("drop", { dataTransfer, bubbles: true }));
    }"""
    page.evaluate(drop, json.dumps(CONFIG))
    expect(page.locator(".live h3")).to_have_text("qwen3")


@pytest.mark.browser
def test_broken_inputs_get_a_sentence_and_nothing_is_executed(reader):
    page = reader()
    assert len(BROKEN) >= 40
    field = page.get_by_label("or the text of a config.json")
    for name, (text, place, _) in BROKEN.items():
        if not isinstance(text, str) or not text.strip() or len(text) > 100_000:
            continue  # an empty field is no input, and a browser types for long
        # The text is set as a whole, and the page is asked when it has read it.
        page.evaluate("document.querySelector('.live .status').textContent = ''")
        field.fill(text)
        status = page.locator(".live .status")
        expect(status).not_to_be_empty()
        wrong = page.locator(".live").get_attribute("data-wrong")
        assert (wrong is not None) == (place == "error"), name
        said = status.inner_text() + page.locator(".live .report").inner_text()
        assert not re.search(r"undefined|\[object|\{\w+\}", said), name
    assert page.evaluate("typeof executed") == "undefined"
    assert page.locator(".live .report img").count() == 0


@pytest.mark.browser
def test_vectors_are_downloaded(reader):
    page = reader()
    paste(page, json.dumps(CONFIG))
    expect(page.locator(".live h3")).to_have_text("qwen3")
    with page.expect_download() as download:
        page.get_by_role("button", name="Download test vectors").click()
    vectors = json.loads(download.value.path().read_text(encoding="utf-8"))["vectors"]
    assert [one["rotary_dim"] for one in vectors] == [128]


@pytest.mark.browser
def test_an_address_that_makes_no_sense_shows_the_first_model(reader):
    page = reader("#config=xx%%&length=-3&gpus=many&gpu=none&model=none")
    expect(page.locator(".live h3")).to_have_text("Llama 3.1-8B")
    expect(page.locator(".live .status")).to_contain_text("cut")


@pytest.mark.browser
def test_by_keys_alone(reader):
    page = reader()
    page.get_by_label("A model of the table").focus()
    page.keyboard.press("Tab")
    page.keyboard.insert_text(json.dumps(CONFIG))
    for _ in range(2):  # past "Open files" to the length
        page.keyboard.press("Tab")
    page.keyboard.type("100000")
    expect(page.locator(".live h3")).to_have_text("qwen3")
    expect(tile(page, "Cache of one text")).to_contain_text("100,000 tokens")


# The sizes of letters as they are seen, also in drawings, and not those of hidden parts.
SIZES = """[...document.querySelectorAll(".read-model *")]
  .filter((one) => one.checkVisibility())
  .filter((one) => [...one.childNodes].some(({ nodeType, data }) => nodeType === 3 && data.trim()))
  .map((one) => {
    const drawing = one.ownerSVGElement;
    const scale = drawing ? drawing.getScreenCTM().a : 1;
    return parseFloat(getComputedStyle(one).fontSize) * scale;
  })"""


@pytest.mark.browser
@pytest.mark.parametrize("width", [PHONE, 1440])
def test_it_is_accessible_and_its_letters_are_large_enough(reader, width):
    page = reader(width=width)
    paste(page, json.dumps(CONFIG))
    page.get_by_role("button", name="4 × as long").click()
    expect(page.locator(".live details")).to_have_count(4)
    page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true })")
    assert page.evaluate("document.documentElement.scrollWidth") == width
    assert min(page.evaluate(SIZES)) >= 10
    ensure_packages(NODE_ROOM)
    page.evaluate((NODE_ROOM / "node_modules" / "axe-core" / "axe.min.js").read_text())
    for theme in ("light", "dark"):
        page.evaluate(f"document.documentElement.dataset.theme = '{theme}'")
        found = page.evaluate("axe.run('.bd-article', { preload: false })")["violations"]
        assert [(fault["id"], fault["nodes"][0]["html"]) for fault in found] == []


@pytest.mark.browser
def test_paper_has_the_report_and_no_form(reader):
    page = reader()
    page.emulate_media(media="print")
    expect(page.locator(".live form")).to_be_hidden()
    expect(page.locator(".live .report")).to_contain_text("on 1 × H200 SXM")


@pytest.mark.browser
def test_it_is_read_within_a_second_on_a_slow_phone(reader):
    page = reader(width=PHONE)
    session = page.context.new_cdp_session(page)
    # The time that the page's thread computes, so that other programs do not count.
    session.send("Performance.enable", {"timeDomain": "threadTicks"})
    page.reload()  # from here on it is counted
    expect(page.locator(".live[data-ready]")).to_be_visible()
    metrics = session.send("Performance.getMetrics")["metrics"]
    (seconds,) = [one["value"] for one in metrics if one["name"] == "TaskDuration"]
    assert 0 < SLOW_PHONE * seconds < 1


@pytest.mark.browser
@pytest.mark.parametrize("width", [PHONE, 1440])
def test_nothing_moves_while_form_and_report_are_built(reader, width):
    page = reader(width=width)
    page.add_init_script("""{
      let moved = 0;
      const add = (entries) => {
        for (const one of entries) moved += one.hadRecentInput ? 0 : one.value;
      };
      const observer = new PerformanceObserver((found) => add(found.getEntries()));
      observer.observe({ type: "layout-shift", buffered: true });
      globalThis.movedSoFar = () => {
        add(observer.takeRecords());
        return moved;
      };
    }""")
    page.reload()
    expect(page.locator(".read-model.live")).to_have_attribute("data-ready", "")
    wait_until_drawn(page)
    assert page.evaluate("movedSoFar()") < 0.05


@pytest.mark.browser
def test_an_error_is_seen_first(reader):
    page = reader()
    paste(page, json.dumps(CONFIG | {"rope_scaling": {"rope_type": "yarn", "factor": -4.0}}))
    expect(page.locator(".live .status")).to_contain_text("something in it is wrong")
    first = page.locator(".live .report section").first
    expect(first.locator("h4")).to_have_text("Error")
    expect(first).to_contain_text("factor must be a positive finite number")
    expect(page.locator(".live .report")).not_to_contain_text("nothing to add")
