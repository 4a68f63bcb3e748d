"""The workshop in the page: a reader writes a step, is told what is wrong, and loses nothing.

The page here is a small one that a test writes, with the scripts, Python and the checks of the
site, so it needs no build of the book. It is skipped where Python for the browser is not installed
(`make workshop` installs it).
"""

import functools
import html
import re
import threading
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest
from playwright.sync_api import expect
from pygments.lexers import PythonLexer
from pygments.token import STANDARD_TYPES

from bookformat.contents import book_entries
from bookformat.notebooks import read
from bookformat.paths import CHAPTERS, NODE_ROOM, STATIC
from bookkit.workshop.probes import WEIGHTS
from booksite.node.packages import ensure_packages, installed
from booksite.runnable import FILES, FORMS, PYTHON, ROOM, SCRIPTS
from booksite.workshop import FOLDER, bytes_to_load, pack, step_of

LONGEST_WAIT = 180_000  # milliseconds, to load Python
needs_python = pytest.mark.skipif(not installed(ROOM), reason="no Python for the browser")

PAGE = """<!doctype html><html lang="en"><head><meta charset="utf-8"><title>A step</title></head>
<body><main><h1>A step</h1><div class="cell docutils container workshop"><div class="cell_input">
<div class="highlight"><pre>{code}</pre></div></div>
<p class="workshop-note" data-step="{step}" data-bytes="{size}">See other ways.</p></div></main>
<script defer src="_static/forms/forms.js"></script>
<script defer src="_static/runnable/editor.js"></script>
<script defer src="_static/runnable/workshop.js"></script></body></html>"""


def empty_cell(page):
    cells = read(CHAPTERS / "workshop" / f"{page}.ipynb").cells
    return next(cell.source for cell in cells if step_of(cell.source))


def steps_of_the_book():
    """The names of the twelve pages."""
    names = [entry.page for entry in book_entries()]
    first, last = names.index("workshop/softmax"), names.index("workshop/longer")
    return [name.removeprefix("workshop/") for name in names[first : last + 1]]


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """A folder that is served, with a page for some steps."""
    folder = tmp_path_factory.mktemp("site")
    (folder / "_static").mkdir()
    for name in (FORMS, SCRIPTS):
        (folder / "_static" / name).symlink_to(STATIC / name)
    (folder / "_static" / PYTHON).mkdir()
    for name, path in FILES.items():
        (folder / "_static" / PYTHON / name).symlink_to(ROOM / "node_modules" / path)
    pack(folder / "_static" / FOLDER)
    for name in ("softmax", "mask", "sampling", "longer"):
        code = empty_cell(name)
        step = step_of(code)
        page = PAGE.format(code=html.escape(code), step=step, size=bytes_to_load(step))
        (folder / f"{name}.html").write_text(page, encoding="utf-8")
    links = "".join(f'<li><a href="{page}.html">{page}</a></li>' for page in steps_of_the_book())
    first = (
        f'<main><ol>{links}</ol></main><script defer src="_static/forms/forms.js"></script>'
        '<script defer src="_static/runnable/workshop.js"></script>'
    )
    first = f'<!doctype html><meta charset="utf-8">{first}'
    (folder / "begin.html").write_text(first, encoding="utf-8")
    handler = functools.partial(QuietHandler, directory=folder)
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


class QuietHandler(SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@pytest.fixture
def reader(browser, site):
    """One reader's browser, which keeps what is written; requests to other hosts are counted."""
    context = browser.new_context()
    errors, elsewhere = [], []
    context.on("request", lambda one: elsewhere.append(one.url) if is_other(one.url) else None)

    def is_other(url):
        return not url.startswith((site, "blob:", "data:"))

    def visit(name):
        page = context.new_page()
        page.on("pageerror", lambda error: errors.append(error.message))
        page.on("dialog", lambda dialog: dialog.accept())
        page.goto(f"{site}/{name}.html")
        return page

    yield visit
    context.close()
    assert errors == []
    assert elsewhere == []


def said_after(page, button):
    """Click a button, and wait for what the page says in the end."""
    page.get_by_role("button", name=button).click()
    check = page.get_by_role("button", name=re.compile("Check|Stop"))
    expect(check).to_have_text("Check", timeout=LONGEST_WAIT)
    return page.get_by_role("status").inner_text()


RIGHT = """def softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)"""


@pytest.mark.browser
@pytest.mark.slow
@needs_python
def test_a_reader_writes_a_step_and_is_told_which_mistake_it_is(reader):
    page = reader("softmax")
    editor, output = page.locator("textarea"), page.locator(".workshop-output")
    assert said_after(page, "Check") == "Not yet:"
    expect(output).to_contain_text("softmax: It is not written yet.")

    editor.fill(RIGHT.replace("e.sum(axis=-1, keepdims=True)", "e.sum()"))
    assert said_after(page, "Check") == "Not yet:"
    expect(output).to_contain_text("it sums over all numbers at once, so all rows together sum to")
    words = ("Every row of the result sums to 1", "Attention is a weighted", "Look at the sum.")
    for stage, part in enumerate(words, 1):
        assert said_after(page, "Hint") == f"Hint {stage} of 3:"
        expect(page.locator(".workshop-hint")).to_contain_text(part)
        expect(output).to_contain_text("it sums over all numbers at once")  # it stays

    editor.fill("def softmax(x):\n    print('the shape is', x.shape)\n    return x")
    said_after(page, "Check")
    expect(page.locator(".workshop-printed")).to_contain_text("the shape is (3, 5)")
    editor.fill("def softmax(x):\n    print('a' * 10_000)\n    return x")
    said_after(page, "Check")
    assert len(page.locator(".workshop-printed").inner_text()) < 2_100

    # The book's function does not stand in for one that is not there.
    for text, words in (
        ("", "softmax: Your code has no function of this name."),
        (RIGHT.replace("softmax", "Softmax"), "no function of this name. It has `Softmax`."),
    ):
        editor.fill(text)
        assert said_after(page, "Check") == "Not yet:"
        expect(output).to_contain_text(words)

    editor.fill("def softmax(x)\n    return x")
    said_after(page, "Check")
    expect(output).to_have_text("Python cannot read step 1, line 1: expected ':'")

    # An endless program is stopped, and nothing is lost.
    editor.fill("def softmax(x):\n    while True:\n        pass")
    page.get_by_role("button", name="Check").click()
    expect(page.get_by_role("status")).to_have_text("Running …")
    page.get_by_role("button", name="Stop").click()
    expect(page.get_by_role("status")).to_have_text("Stopped. What you wrote is still there.")
    expect(editor).to_have_value(re.compile("while True"))

    editor.fill(RIGHT)
    assert said_after(page, "Check") == "This step is done. The next one waits."
    page.reload()
    expect(page.locator("textarea")).to_have_value(RIGHT)
    expect(page.get_by_role("status")).to_have_text(
        "This step is done. Python is ready.", timeout=LONGEST_WAIT
    )

    with page.expect_download() as waiting:
        page.get_by_role("button", name="Download my_model.py").click()
    names = {}
    exec(waiting.value.path().read_text(encoding="utf-8"), names)
    assert names["softmax"](names["np"].zeros(2)).tolist() == [0.5, 0.5]
    with pytest.raises(NotImplementedError, match="step 12: yarn"):
        names["yarn"](0, 0, 0)
    page.get_by_role("button", name="Start over").click()
    expect(page.locator("textarea")).to_have_value(re.compile("NotImplementedError"))


@pytest.mark.browser
@pytest.mark.slow
@needs_python
def test_text_streams_and_earlier_steps_are_those_of_the_reader(reader):
    first = reader("softmax")
    first.locator("textarea").fill("def softmax(x):\n    return x * 0 + 1")
    page = reader("sampling")
    page.get_by_role("button", name="Let the model write").click()
    status = page.get_by_role("status")
    expect(status).to_have_text("The model cannot write yet:", timeout=LONGEST_WAIT)
    solution = read(CHAPTERS / "workshop" / "sampling.ipynb").cells
    written = [cell.source for cell in solution if cell.source.startswith("def ")][1]
    page.get_by_label("Your code").fill(written)
    assert said_after(page, "Check") == "Not yet:"
    words = "Look at step 1 first: `softmax` is not right yet"
    expect(page.locator(".workshop-output")).to_contain_text(words)
    first.locator("textarea").fill(RIGHT)
    assert said_after(page, "Check") == "This step is done. The next one waits."
    page.get_by_label("It continues").fill("def median(")
    page.get_by_label("Temperature").fill("0")
    page.get_by_role("button", name="Let the model write").click()
    expect(page.locator(".workshop-output")).to_contain_text("def median(")
    words = "Written by your functions, and by the book’s for the steps"
    expect(status).to_contain_text(words, timeout=LONGEST_WAIT)
    assert len(page.locator(".workshop-output").inner_text()) > 200


@pytest.mark.browser
@pytest.mark.slow
@needs_python
def test_the_first_page_marks_what_is_done_and_the_last_step_ends_the_workshop(reader):
    page = reader("longer")
    steps = steps_of_the_book()
    written = {}
    for step, name in enumerate(steps, 1):
        cells = read(CHAPTERS / "workshop" / f"{name}.ipynb").cells
        written[step] = [cell.source for cell in cells if cell.source.startswith("def ")][1]
    keep = """written => { for (const [step, text] of Object.entries(written)) {
        localStorage.setItem(`workshop.step.${step}`, text);
        localStorage.setItem(`workshop.done.${step}`, text); } }"""
    page.evaluate(keep, {step: text for step, text in written.items() if step < 12})
    first = reader("begin")
    expect(first.locator("main")).to_contain_text("11 of 12 steps are done. Go on with step 12")
    assert first.locator("li").all_inner_texts() == [
        *(f"{name} ✓ done" for name in steps[:-1]),
        "longer",
    ]
    page.get_by_label("Your code").fill(written[12])
    assert said_after(page, "Check") == "This was the last step."
    expect(page.locator(".workshop-end")).to_contain_text("Congratulations: all twelve steps")
    weights = page.locator(".workshop-end").get_by_role("link")
    with page.expect_download() as waiting:
        weights.click()
    assert waiting.value.path().read_bytes() == WEIGHTS.read_bytes()
    assert said_after(page, re.compile("with and without YaRN")) == "Written by your functions:"
    text = page.locator(".workshop-output").inner_text()
    plain, stretched = (float(loss) for loss in re.findall(r": (\d+\.\d+) nats", text))
    assert stretched < plain - 0.5
    first.reload()
    expect(first.locator("main")).to_contain_text("Congratulations")


SAMPLE = """from math import pi as number

@cache
def softmax(x, *, axis=-1):
    '''Weights; "nothing" is no vector.'''
    if x is None or not len(x):  # it's empty
        return "no \\"x\\""
    return x * 2.5e-3 + 0x1F - number @ x[0]"""
# Kinds that have one colour, or none.
ALIKE = {"s1": "s2", "sd": "s2", "se": "s2", "mf": "mi", "mh": "mi", "nn": "n", "p": "", "w": ""}
PAINTED = """() => [...document.querySelectorAll("pre[aria-hidden] span")].map(
  (part) => [part.className, part.textContent])"""


def printed_parts(code):
    """Parts of code with the names of their colours, as pygments gives them to printed code."""
    parts = []
    for kind, text in PythonLexer().get_tokens(code):
        name = ALIKE.get(STANDARD_TYPES[kind], STANDARD_TYPES[kind])
        if parts and parts[-1][0] == name and name in ("s2", "o"):
            parts[-1][1] += text
        else:
            parts.append([name, text])
    return [part for part in parts if part[0]]


@pytest.mark.browser
@pytest.mark.slow
@needs_python
def test_code_that_is_written_has_the_colours_of_printed_code(reader):
    page = reader("softmax")
    editor, painted = page.locator("textarea"), page.locator("pre[aria-hidden]")
    editor.fill(SAMPLE)
    assert page.evaluate(PAINTED) == printed_parts(SAMPLE)
    assert {"k", "kn", "kc", "ow", "nb", "nf", "nd"} <= {name for name, _ in printed_parts(SAMPLE)}
    # Letters lie over letters, whatever is written, a string without its end too.
    editor.fill('x = "never ends\n' + "wide " * 99)
    assert painted.text_content() == editor.input_value() + "\n\n"
    assert painted.bounding_box() == editor.bounding_box()
    assert editor.evaluate("(one) => one.scrollHeight <= one.clientHeight")


@pytest.mark.browser
@pytest.mark.slow
@needs_python
def test_the_editor_is_accessible_and_keeps_indentation(reader):
    page = reader("mask")
    editor = page.locator("textarea")
    editor.fill("")
    editor.press_sequentially("def f():\nreturn 1")
    expect(editor).to_have_value("def f():\n    return 1")
    editor.press("Tab")
    expect(editor).to_have_value("def f():\n    return 1    ")
    editor.press("Escape")
    editor.press("Tab")
    expect(editor).not_to_be_focused()
    ensure_packages(NODE_ROOM)
    page.evaluate((NODE_ROOM / "node_modules" / "axe-core" / "axe.min.js").read_text())
    found = page.evaluate("axe.run('.workshop')")["violations"]
    assert [(fault["id"], fault["nodes"][0]["html"]) for fault in found] == []


def test_the_worker_does_not_let_the_book_stand_in_for_what_is_checked():
    script = (STATIC / SCRIPTS / "workshop_worker.js").read_text(encoding="utf-8")
    program = re.search("ANSWER = `(.*?)`", script, re.DOTALL)[1].replace("\\\\", "\\")
    worker = {}
    exec(program, worker)
    rest = ("", 0.0, 1, print)
    for text in ("", "x = 1", RIGHT.replace("softmax", "Softmax")):
        said, finished, _ = worker["answer"]("check", 1, [(1, text)], *rest)
        assert "softmax: Your code has no function of this name." in said
        assert not finished
        said, _, _ = worker["answer"]("hint", 1, [(1, text)], *rest)
        assert said.startswith("softmax: Every row")
        said, _, _ = worker["answer"]("write", 11, [(1, text)], *rest)
        assert said == "First finish step 1: softmax"
    said, finished, _ = worker["answer"]("check", 1, [(1, RIGHT)], *rest)
    assert finished
    assert said == "  ✓ softmax: Right: all 9 trials agree."


def test_the_worker_speaks_the_language_of_the_page(monkeypatch):
    script = (STATIC / SCRIPTS / "workshop_worker.js").read_text(encoding="utf-8")
    assert 'os.environ["BOOK_LANGUAGE"] = ${spoken}' in script
    program = re.search("ANSWER = `(.*?)`", script, re.DOTALL)[1].replace("\\\\", "\\")
    worker = {}
    exec(program, worker)
    monkeypatch.setenv("BOOK_LANGUAGE", "zh_CN")
    said, *_ = worker["answer"]("check", 1, [(1, RIGHT)], "", 0.0, 1, print)
    assert said == "  ✓ softmax：正确，全部 9 次测试都一致。"
    said, *_ = worker["answer"]("write", 11, [(1, "x = 1")], "", 0.0, 1, print)
    assert said == "请先写完第 1 步：softmax"


def test_only_cells_with_empty_functions_become_editors():
    assert step_of('    raise NotImplementedError("step 12: yarn")') == 12
    assert step_of("check(1)") is None
