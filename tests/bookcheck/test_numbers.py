"""The list of what the pages say: what is in it, and which misprints it shows."""

import pytest
from nbformat.v4 import new_code_cell, new_notebook

from bookcheck import numbers
from bookcheck.numbers import (
    beside_pages,
    changes,
    main,
    quantities_of,
    sentences_of,
    sentences_of_data,
    sentences_of_page,
    texts_of,
    texts_of_styles,
)
from bookformat.notebooks import stored_form
from bookformat.paths import SOURCES


def quantities(markdown):
    return [one.words for text in texts_of(markdown) for one in quantities_of(text)]


def sentences(markdown, place="cell [1]"):
    return [one for text in texts_of(markdown) for one in sentences_of(text, place)]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("It has two heads.", ["two"]),
        ("Two thirds of 1.3 million tokens.", ["two thirds", "1.3 million"]),
        ("A two-dimensional *and* **8-bit** one", ["two-dimensional", "8-bit"]),
        ("From 16 to 512 (twice).", ["16", "512 twice"]),
        ("Tenfold, halved once and tripled.", ["tenfold halved once", "tripled"]),
        (
            "{value}`3 = x` layers and {value}`4 = y` of $n$ bytes",
            ["{value}`3 = x`", "layers", "{value}`4 = y`", "$n$"],
        ),
        ("It is $0.30$ in `a[3, 4]`, or `b`.", ["0.30", "`a[3, 4]`"]),
        ("So $q \\cdot k$, with $n = 4$ bytes", ["$q \\cdot k$", "$n = 4$"]),
        ("| Symbol (chapters) |\n|---|\n| the width (21) |", ["21"]),
        ("| Llama 3 8B | 8 heads |\n|---|---|\n| a | 17 |", ["3 8B 8", "17"]),
        ("[3, Heads](heads.ipynb) and [chapter 4](x.ipynb) by {eq}`eq-8`", []),
        ("[After 200 steps](x.ipynb) and [200 more](x.ipynb)", ["200", "200"]),
        ("One head, the first of both, is no number.", []),
        ("```{quiz}\nWhy?\n\n- [x] Two\n  > It is 0.7.\n```", ["two", "0.7"]),
        (":::{figure} a.png\n:alt: x\n\nAll 19 of them.\n:::", ["19"]),
    ],
)
def test_numbers_are_found(text, found):
    assert quantities(text) == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Never. By {eq}`eq-a`, *so* it $x  + y$\nis. $x$ is.",
         ["Never.", "By {eq}`eq-a`, *so* it $x + y$ is.", "$x$ is."]),
        ("| a | $b$ |\n|---|---|\n| It is. Not | 2 |", ["a | $b$", "It is.", "Not | 2"]),
        ("[3, Heads](heads.ipynb) and the [proof](deeper/x.md)",
         [", Heads <heads.ipynb> and the proof <deeper/x.md>"]),
        ("The {term}`keys <key>` in `f(x)`", ["The keys <key> in `f(x)`"]),
        ("```{quiz}\nWhy?\n\n- [x] Up\n  > So.\n- [ ] Down\n```",
         ["{quiz}", "Why?", "- [x] Up", "> So.", "- [ ] Down"]),
        ("```{prf:theorem} Of rows\n:label: a\n\nAll.\n```",
         ["{prf:theorem} Of rows", ":label: a", "All."]),
        ("# Rows\n\n## Of 2\n\n![It falls](a.png)", ["# Rows", "## Of 2", "It falls <a.png>"]),
        ("3. Is it\n   so?\n4. It is. So\n\n   it is.\n\n- So.",
         ["3. Is it so?", "4. It is.", "So", "it is.", "- So."]),
        ("**Of 2.** It [^b].\n\n> It\n\n[^b]: So.", ["**Of 2.**", "It [^b].", "> It", "[^b]: So."]),
        ("---\na: 1\n---\n\n```python\nfor n in m:\n    x = 8  # Two. (b)\n\n\ty = 9\n```",
         ["a: 1", "for n in m:", "    x = 8  # Two. (b)", "    y = 9"]),
        ("<p>\nOf html.\n</p>", ["<p>", "Of html.", "</p>"]),
        ("```{raw} html\n<p>\n```", ["{raw} html", "<p>"]),
    ],
)  # fmt: skip
def test_all_that_is_said_is_listed(text, found):
    assert [one.text for one in sentences(text)] == found


def test_kinds():
    text = (
        "In float32, 2017 texts of 8 heads have two lengths, {value}`1 = x` nats of $b$, $a = b$."
    )
    kinds = "name constant word value unit formula relation"
    assert [one.kinds for one in sentences(f"Yes. {text}")] == ["prose", kinds]


def lines(markdown):
    return [one.text for one in sentences(markdown) if one.kinds == "line"]


def test_files_that_a_page_shows_are_listed_line_by_line():
    file = "attention_to_rope/scaled_dot_product.py"
    whole = lines(f"```{{annotated}} {file}\n```")
    code = (SOURCES / file).read_text(encoding="utf-8").splitlines()
    assert whole == [line for line in code if line]
    part = lines(f"```{{literalinclude}} ../src/{file}\n:pyobject: without_nan\n```")
    first = whole.index(part[0])
    assert whole[first : first + len(part)] == part


def test_the_reference_is_read_where_no_page_shows_the_file():
    told = lines("```{api}\nmerge rope fast.ring\n```")
    for module, is_listed in (("merge", True), ("rope", False), ("fast/ring", True)):
        text = (SOURCES / "attention_to_rope" / f"{module}.py").read_text(encoding="utf-8")
        assert (text.splitlines()[0] in told) is is_listed


def test_numbers_of_a_list_and_of_code_are_no_numbers_of_a_sentence():
    text = "1. Of two.\n2. So.\n\n```python\nx = 8\n```"
    assert [one.kinds for one in sentences(text)] == ["word", "prose", "line"]


TEXT = (
    "It has two heads, from 16 to 512 keys; {value}`3 = x` GB of 1.3 million tokens, by $d_k$. "
    "So $a = b$ for $d_k$ of two heads, and then $c = d$ at last; {value}`4 = y` GB. "
    "By {eq}`eq-sum` each row of $A$ is *never* negative ([proof](bounds.ipynb)). So it grows.\n\n"
    "```{quiz}\nWhy?\n\n- [x] Up\n- [ ] Down\n```\n\n## Of x\n\n3. First\n4. Then\n\n"
    "```python\nup = 2  # W_1\ndown = 2  # W_2\nfor n in m:\n    y = 3\n```"
)


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("*never*", "never"),
        # The number with which a list begins, the depth of a title, a line of code.
        ("3. First", "2. First"),
        ("## Of x", "### Of x"),
        ("up = 2  # W_1\ndown = 2  # W_2", "down = 2  # W_1\nup = 2  # W_2"),
        ("    y = 3", "y = 3"),
        ("has two", "has four"),
        ("has two", "has one"),
        ("two heads, from", "two tokens, from"),
        ("16 to 512", "512 to 16"),
        ("x` GB of", "x` MB of"),
        ("million", "billion"),
        ("1.3", "1.8"),
        ("by $d_k$", "by $d_v$"),
        # What the text has elsewhere too, and what changes places.
        ("for $d_k$ of", "for $d$ of"),
        ("y` GB.", "y` tokens."),
        ("$c = d$", "$a = b$"),
        ("So $a = b$ for $d_k$ of two heads, and then $c = d$",
         "So $c = d$ for $d_k$ of two heads, and then $a = b$"),
        # Values: another one, another expression.
        ("`3 = x`", "`4 = y`"),
        ("`3 = x`", "`3 = z`"),
        ("`4 = y`", "`4.0 = y`"),
        # Words beside a formula and without one, references, the answer of a quiz.
        ("negative", "positive"),
        ("is *never*", "is"),
        ("each row", "each column"),
        ("it grows", "it falls"),
        ("eq-sum", "eq-row"),
        ("bounds.ipynb", "cases.ipynb"),
        ("[x] Up\n- [ ] Down", "[ ] Up\n- [x] Down"),
    ],
)  # fmt: skip
def test_a_misprint_is_told(right, wrong):
    known = [(one.text, one.kinds) for one in sentences(TEXT)]
    assert [*changes("a-page", sentences(TEXT), known)] == []
    assert TEXT.count(right) == 1
    assert [*changes("a-page", sentences(TEXT.replace(right, wrong)), known)]


def test_a_message_names_the_cell_and_the_words():
    texts = ["From 16 keys. So $a = b$ never falls.", "And $c = d$ there. From 16 keys."]
    read = [one for n, text in enumerate(texts, start=1) for one in sentences(text, f"cell [{n}]")]
    known = [(one.text, one.kinds) for one in read]
    (told,) = changes(
        "a-page", sentences("From 16 keys. So $a = c$ always falls.") + read[2:], known
    )
    assert told == (
        "a-page, cell [1]: “b$ never” → “c$ always” in “So $a = c$ always falls.”: correct it, or, "
        "if this is meant and true, python -m bookcheck.numbers --list a-page"
    )
    (gone,) = changes("a-page", read[:-1], known)
    assert gone.startswith("a-page, cell [2]: no longer said here: “From 16 keys.”: correct it")
    (new,) = changes("a-page", read, known[1:])
    assert new.startswith("a-page, cell [1]: new: “From 16 keys.”: correct it, or, if this is")


def test_kinds_that_are_not_those_of_the_list_are_told():
    read = sentences("From 16 keys.")
    (told,) = changes("a-page", read, [("From 16 keys.", "word")])
    assert told.startswith("a-page, cell [1]: “From 16 keys.” has constant, and not word: python")


def test_displays_and_listings_of_a_page_are_listed_at_their_place(tmp_path):
    page = tmp_path / "a.md"
    text = "See:\n\n$$\na =\nb\n$$ (eq-a)\n\nThen:\n\n```bash\nhint 1  2\n```\n\nSo.\n"
    page.write_text(text, encoding="utf-8")
    assert [(one.text, one.kinds) for one in sentences_of_page(page)] == [
        ("See:", "prose"),
        ("$$ a = b $$ (eq-a)", "display"),
        ("Then:", "prose"),
        ("hint 1  2", "line"),
        ("So.", "prose"),
    ]


def test_a_cell_is_listed_with_its_head_its_caption_and_its_code(tmp_path):
    page = tmp_path / "a.ipynb"
    figure = {"mystnb": {"figure": {"caption": "All 9. So.", "name": "fig-a"}}}
    code = "axes.plot(x, 'o-', color=BLUE)\n\nshow(x, alt='It falls.')  # (b, n)"
    cells = [
        new_code_cell(code, metadata={**figure, "tags": ["hide-input"]}),
        new_code_cell("y = 2"),
    ]
    page.write_text(stored_form(new_notebook(cells=cells)), encoding="utf-8")
    assert [(one.text, one.kinds, one.place) for one in sentences_of_page(page)] == [
        ("{code-cell} hide-input fig-a", "line", "cell [1]"),
        ("All 9.", "constant", "cell [1]"),
        ("So.", "prose", "cell [1]"),
        ("axes.plot(x, 'o-', color=BLUE)", "line", "cell [1]"),
        ("show(x, alt='It falls.')  # (b, n)", "line", "cell [1]"),
        ("{code-cell}", "line", "cell [2]"),
        ("y = 2", "line", "cell [2]"),
    ]


@pytest.mark.parametrize("moved", ["$$\na = b\n$$ (eq-a)", "```bash\nmake\n```"])
def test_what_moves_below_another_sentence_is_told(tmp_path, moved):
    page = tmp_path / "a.md"
    page.write_text(f"This adds:\n\n{moved}\n\nThat divides:\n", encoding="utf-8")
    known = [(one.text, one.kinds) for one in sentences_of_page(page)]
    page.write_text(f"This adds:\n\nThat divides:\n\n{moved}\n", encoding="utf-8")
    assert [*changes("a", sentences_of_page(page), known)]


def test_the_command_writes_the_list_of_one_page(tmp_path, monkeypatch, capsys):
    page, file = tmp_path / "a.md", tmp_path / "numbers.tsv"
    page.write_text("It has two heads. It has 5 keys. It has two heads.", encoding="utf-8")
    file.write_text("a\tIt has three heads.\tword\nb\tOf 5 keys.\tconstant\n", encoding="utf-8")
    monkeypatch.setattr(numbers, "pages", lambda: {"a": page, "b": page})
    monkeypatch.setattr(numbers, "beside_pages", dict)
    monkeypatch.setattr(numbers, "listed", lambda: numbers.listed_in(file))
    monkeypatch.setattr(numbers, "NUMBERS", file)
    assert main(["a"]) == 1
    message = capsys.readouterr().out
    assert "a: new: “It has two heads.”: correct it, or, if this is meant and true, " in message
    assert "python -m bookcheck.numbers --list a" in message
    assert "a: no longer said here: “It has three heads.”" in message
    assert main(["--list", "a"]) == 0
    shown = capsys.readouterr().out.splitlines()
    assert shown[0] == "a: no longer said here: “It has three heads.”"
    assert shown[1:] == [
        f"a: new: “It has {what}.”" for what in ("two heads", "5 keys", "two heads")
    ]
    two = "a\tIt has two heads.\tword\n"
    stored = two + "a\tIt has 5 keys.\tconstant\n" + two + "b\tOf 5 keys.\tconstant\n"
    assert file.read_text(encoding="utf-8") == stored
    assert main(["a"]) == 0
    told = "4 sentences and 0 lines of code and data are listed; 0 sentences have no number and"
    assert told in capsys.readouterr().out


def test_a_name_that_nothing_has_is_told(capsys):
    with pytest.raises(SystemExit):
        main(["--list", "widgets/rotations"])
    message = capsys.readouterr().err
    assert (
        "there is no page 'widgets/rotations'; a page is named like deeper/clocks, and an"
        in message
    )


def test_what_an_interactive_figure_says_is_listed():
    lines = [one.text for one in sentences_of_page(beside_pages()["widgets/rotation"])]
    assert [line for line in lines if "`k R((n − m)θ) = (1, 2) R((${n} − ${m}) · " in line]
    script = beside_pages()["widgets/cache"]
    code = script.read_text(encoding="utf-8").splitlines()
    assert [one.text for one in sentences_of_page(script)] == [line for line in code if line]


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("_toc.yml", "- caption: Rotary position embedding"),
        ("_config.yml", "nb_code_prompt_show: Code"),
        ("CITATION.cff", "title: From Attention to RoPE"),
        ("subjects.tsv", "attention#the-formula"),
        ("book.css", '& td:nth-child(4)::before { content: var(--chapters, "Chapters: ") }'),
        ("booksite/templates/search.html", '<h1>{{ _("Search") }}</h1>'),
        ("booksite/quiz.py", 'verdict = _("Right.") if answer.right else _("Not yet.")'),
        ("bookkit/workshop/probes.py", 'yield call("temperature 2", "probabilities", LOGITS, 2.0)'),
        ("bookkit/workshop/skeleton.py", 'help="how many it writes (300)"'),
        ("rope_doctor/comparison.py", "rotate the other way (change the sign of sin)"),
        ("rope_doctor/README", "rope-doctor"),
        ("rope_doctor/pyproject.toml", "description ="),
        ("Makefile", "## Print this list"),
        ("bookkit/workshop/signatures", "it sums over the wrong axis: over the queries (axis -2)"),
    ],
)
def test_what_speaks_to_a_reader_beside_pages_is_listed(name, line):
    assert any(line in one.text for one in sentences_of_page(beside_pages()[name]))


def test_what_style_sheets_write_and_colour_is_listed_behind_its_rule():
    styles = (
        '/* A "name": */ td { color: red; & p::before { content: var(--of, "Of: "); } }\n'
        'html { --of: "von: "; --face: "A B", serif; } p { content: ""; content: none; }'
        ".is-q { fill: var(--role-q); width: 2px } html { --figure-blue: #1f6fb2; }"
    )
    assert [*texts_of_styles(styles)] == [
        '& p::before { content: var(--of, "Of: ") }',
        'html { --of: "von: " }',
        ".is-q { fill: var(--role-q) }",
        "html { --figure-blue: #1f6fb2 }",
    ]


def test_data_that_pages_print_are_listed():
    models = [one.text for one in sentences_of_page(beside_pages()["bookkit/models"])]
    (falcon,) = [line for line in models if line.startswith('{"name": "Falcon-7B"')]
    assert '"context": 2048' in falcon
    entries = [one.text for one in sentences_of_page(beside_pages()["references"])]
    assert "@inproceedings{vaswani2017attention," in entries
    rules = [one.text for one in sentences_of_page(beside_pages()["read-model/rules"])]
    assert any(
        one.startswith("remarks factor_below_one text: The factor {factor}") for one in rules
    )
    assert not any("Falcon-7B" in one for one in rules)


def test_of_data_texts_of_one_word_are_left_out():
    data = {"a": {"note": "It grows.", "kind": "yarn"}, "b": ["one word", 3], "table": "two words"}
    assert [*sentences_of_data(data)] == ["a note: It grows.", "b: one word"]
