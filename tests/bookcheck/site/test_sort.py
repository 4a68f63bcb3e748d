"""The script that sorts a table: by number, by word, with what is missing last, and back."""

import json
import subprocess

import pytest

from bookcheck.paths import ROOT

# A table in the few words that the script uses of a page.
PAGE = """
const cell = (textContent) => ({
  textContent, attributes: {},
  getAttribute(name) { return this.attributes[name]; },
  setAttribute(name, value) { this.attributes[name] = value; },
  removeAttribute(name) { delete this.attributes[name]; },
  replaceChildren(button) { this.button = button; },
});
const body = { rows: INPUT.map((row) => ({ cells: row.map(cell) })) };
body.append = (row) => { body.rows = [...body.rows.filter((one) => one !== row), row]; };
const heads = INPUT[0].map((_, i) => cell(`column ${i}`));
const table = { tHead: { rows: [{ cells: heads }] }, tBodies: [body] };
let whole = !EARLY;  // a script in the head runs before the table is there
let prepared = () => {};
globalThis.document = {
  readyState: EARLY ? "loading" : "complete",
  addEventListener(name, act) { if (name === "DOMContentLoaded") prepared = act; },
  querySelectorAll: (what) => (whole && what === "table.sortable" ? [table] : []),
  createElement: () => ({ style: {}, addEventListener(_, act) { this.click = act; } }),
};
require(SCRIPT);
whole = true;
prepared();
for (const column of CLICKS) heads[column].button.click();
console.log(JSON.stringify([
  body.rows.map((row) => row.cells[0].textContent),
  heads.map((head) => head.attributes["aria-sort"] || ""),
]));
"""
ROWS = [["b", "1,024"], ["a", "–"], ["d", "9 of 64"], ["c", "100"]]


def after(*clicks, early):
    script = str(ROOT / "_static" / "sort.js")
    values = {"INPUT": ROWS, "SCRIPT": script, "CLICKS": clicks, "EARLY": early}
    code = "".join(f"const {name} = {json.dumps(value)};\n" for name, value in values.items())
    done = subprocess.run(
        ["node", "-e", code + PAGE], capture_output=True, text=True, encoding="utf-8", check=True
    )
    order, sorts = json.loads(done.stdout)
    return "".join(order), sorts


@pytest.mark.parametrize("early", [True, False])
@pytest.mark.parametrize(
    ("clicks", "order", "sorts"),
    [
        ((), "badc", ["", ""]),
        ((0,), "abcd", ["ascending", ""]),
        ((0, 0), "dcba", ["descending", ""]),
        ((1,), "dcba", ["", "ascending"]),
        ((1, 1), "bcda", ["", "descending"]),
        ((1, 0), "abcd", ["ascending", ""]),
    ],
)
def test_a_click_sorts(clicks, order, sorts, early):
    assert after(*clicks, early=early) == (order, sorts)
