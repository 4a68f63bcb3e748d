"""The test vectors stand where chapter 11 links to them, and say what the library computes."""

import json
import re
from types import SimpleNamespace

import pytest
import torch

import attention_to_rope as book
from attention_to_rope.rope_families import FAMILIES
from bookcheck.notebooks.files import read
from bookcheck.paths import CHAPTERS
from bookcheck.site.vectors import FOLDER, publish


def app(outdir, builder="html"):
    return SimpleNamespace(outdir=str(outdir), builder=SimpleNamespace(name=builder))


def test_every_family_has_its_file(tmp_path):
    publish(app(tmp_path), None)
    index = json.loads((tmp_path / FOLDER / "index.json").read_text(encoding="utf-8"))
    assert set(index) == set(FAMILIES)
    for name, file in index.items():
        stored = json.loads((tmp_path / FOLDER / file).read_text(encoding="utf-8"))
        frequencies = book.rotary_settings(stored["config"], layer_type=stored["layer_type"])[0]
        assert torch.equal(torch.tensor(stored["frequencies"], dtype=torch.float64), frequencies)
        assert stored["family"] == name


def test_the_links_of_the_chapter_lead_to_them(tmp_path):
    publish(app(tmp_path), None)
    cells = read(CHAPTERS / "11-implementing-rope.ipynb").cells
    text = "\n".join(cell.source for cell in cells if cell.cell_type == "markdown")
    links = re.findall(r'href="\.\./(_static/rope-vectors/[^"]+)"', text)
    assert len(links) == 2
    assert [link for link in links if not (tmp_path / link).is_file()] == []


@pytest.mark.parametrize(
    ("builder", "error"), [("html", ValueError("the build failed")), ("latex", None)]
)
def test_nothing_is_written_into_a_failed_or_another_build(tmp_path, builder, error):
    publish(app(tmp_path, builder), error)
    assert list(tmp_path.iterdir()) == []
