"""The checks of the workshop pass what is right and name what is wrong."""

import inspect
import linecache
import random
import textwrap

import numpy as np
import pytest

from bookformat.paths import ROOT
from bookkit.workshop import skeleton, solution
from bookkit.workshop.checking import (
    check_function,
    check_step,
    hint,
    is_alike,
    is_done,
    names_in,
    progress,
    report,
)
from bookkit.workshop.comparing import agree
from bookkit.workshop.probes import STEPS, functions_of, probes_of
from bookkit.workshop.signatures import all_stored
from bookkit.workshop.steps import CHAPTERS, HINTS
from bookkit.workshop.texts import names_of_texts
from laboratory.workshop.changing import names_with
from laboratory.workshop.mistakes import ALL
from laboratory.workshop.signatures import all_signatures, right_outputs, wrong_outputs

FIRST_OF_EACH = {mistake.function: mistake for mistake in reversed(ALL)}


def written(source):
    """The names of a file that has the solution, with functions that are written in another way."""
    names = {"__name__": "my_model"}
    exec(inspect.getsource(solution), names)
    exec(textwrap.dedent(source), names)
    return names


def test_the_solution_passes_every_step():
    assert progress(vars(solution)) == [True] * 12


def test_every_function_of_the_skeleton_belongs_to_a_step_and_has_hints():
    asked = [function for step in range(1, 13) for function in functions_of(step)]
    functions = inspect.getmembers(skeleton, inspect.isfunction)
    assert sorted(asked) == sorted(name for name, _ in functions)
    assert list(HINTS) == asked
    for step in range(1, 13):
        for function in functions_of(step):
            empty = getattr(skeleton, function)
            nothing = [0] * len(inspect.signature(empty).parameters)
            with pytest.raises(NotImplementedError, match=f"^step {step}: {function}$"):
                empty(*nothing)


def test_an_empty_file_is_told_what_to_write():
    names = vars(skeleton)
    for step, (title, _) in enumerate(STEPS, 1):
        verdicts = check_step(step, names)
        function = functions_of(step)[0]
        assert report(step, verdicts) == [
            f"Step {step}: {title}",
            f"  · {function}: It is not written yet.",
        ]
        assert hint(step, 1, names) == f"{function}: {HINTS[function][0]}"
        assert hint(step, 3, names) == f"{function}: {HINTS[function][1]}"


def test_the_chapters_of_hints_exist_and_have_these_titles():
    for chapter in CHAPTERS:
        text = (ROOT / f"{chapter.file}.ipynb").read_text(encoding="utf-8")
        assert f'"# {chapter.title}\\n"' in text


@pytest.mark.parametrize("mistake", FIRST_OF_EACH.values(), ids=FIRST_OF_EACH)
def test_a_mistake_is_named(mistake):
    verdict = check_function(mistake.function, names_with(mistake))
    assert verdict.state == "wrong"
    assert mistake.says in verdict.says
    assert verdict.tried.startswith("Tried: ")


@pytest.mark.slow
def test_every_mistake_is_named():
    unsure = []
    for mistake in ALL:
        verdict = check_function(mistake.function, names_with(mistake))
        assert verdict.state == "wrong", mistake
        assert mistake.says in verdict.says, verdict
        if not verdict.sure:
            unsure.append(mistake.says)
    assert len(unsure) < 0.05 * len(ALL)


@pytest.mark.slow
def test_of_two_mistakes_one_is_named_or_none_for_sure():
    chance = random.Random(0)
    wrong_names = 0
    tried = 0
    while tried < 200:
        first = chance.choice(ALL)
        second = chance.choice([other for other in ALL if other.function == first.function])
        if second == first:
            continue  # applied twice, a mistake may undo itself
        try:
            names = names_with(first, second)
        except (ValueError, SyntaxError):
            continue  # they change the same place
        tried += 1
        verdict = check_function(first.function, names)
        assert verdict.state == "wrong", (first, second)
        if verdict.sure and first.says not in verdict.says and second.says not in verdict.says:
            wrong_names += 1
    assert wrong_names <= 0.05 * tried


def test_stored_numbers_are_those_of_the_solution():
    for function, stored in all_stored().items():
        pairs = zip(right_outputs(function), stored["right"], probes_of(function), strict=True)
        for now, then, probe in pairs:
            assert agree(now, then, probe.tolerance), (function, probe.words)


def test_stored_mistakes_are_those_of_the_list():
    for function, stored in all_stored().items():
        listed = [(one.says, one.look) for one in ALL if one.function == function]
        assert [(one["says"], one["look"]) for one in stored["mistakes"]] == listed
    for function, mistake in FIRST_OF_EACH.items():
        stored = all_stored()[function]
        now = wrong_outputs(mistake, stored["right"])
        then = stored["mistakes"][0]["outputs"]
        assert now.keys() == then.keys()
        tolerances = [probe.tolerance for probe in probes_of(function)]
        for number, output in now.items():
            assert agree(output, then[number], tolerances[int(number)]), (function, number)


@pytest.mark.slow
def test_all_stored_numbers_are_up_to_date():
    now = all_signatures()
    for function, stored in all_stored().items():
        tolerances = [probe.tolerance for probe in probes_of(function)]
        for ours, theirs in zip(now[function]["mistakes"], stored["mistakes"], strict=True):
            assert ours["outputs"].keys() == theirs["outputs"].keys(), ours["says"]
            for number, output in ours["outputs"].items():
                expected = theirs["outputs"][number]
                assert agree(output, expected, tolerances[int(number)]), ours["says"]


IN_OTHER_WORDS = [
    (
        1,
        """
        def softmax(x):
            x = np.asarray(x, dtype=np.float32)
            e = np.exp(x - np.max(x, -1)[..., None])
            return e / np.sum(e, -1)[..., None]
        """,
    ),
    (
        2,
        """
        def attend(q, k, v):
            scores = np.einsum("...qd,...kd->...qk", q, k) * q.shape[-1] ** -0.5
            return np.einsum("...qk,...kd->...qd", softmax(scores), v)
        """,
    ),
    (
        3,
        """
        def causal_mask(N, N_k):
            return np.tril(np.ones((N, N_k), dtype=bool), N_k - N)

        def masked_attend(q, k, v, mask):
            scores = q @ np.moveaxis(k, -1, -2) / np.sqrt(q.shape[-1])
            return softmax(scores + np.where(mask, 0, -1e30)) @ v
        """,
    ),
    (
        7,
        """
        def rope_table(positions, frequencies, factor=1.0):
            turns = np.exp(1j * np.asarray(positions)[:, None] * frequencies) * factor
            return np.array([turns.real, turns.imag])

        def rotate(x, table):
            cos, sin = (np.tile(part, 2) for part in table)
            first, second = np.split(x, 2, axis=-1)
            return x * cos + np.concatenate((-second, first), axis=-1) * sin
        """,
    ),
    (
        9,
        """
        def encode(text):
            return list(map(int, np.array([256] + list(bytes(text, "utf8")))))
        """,
    ),
    (
        11,
        """
        def sample(logits, random, temperature=1.0, top_k=0, top_p=1.0):
            p = probabilities(logits, temperature, top_k, top_p)
            return np.searchsorted(np.cumsum(p), random.random(), side="right")

        def generate(tokens, count, weights, config, rope, random, temperature=1.0, **others):
            text = list(tokens)
            while len(text) < len(tokens) + count:
                logits = forward(text, weights, config, rope)
                text.append(sample(logits[-1], random, temperature, **others))
                yield text[-1]
        """,
    ),
]


@pytest.mark.parametrize(("step", "source"), IN_OTHER_WORDS)
def test_other_ways_to_write_it_are_right(step, source):
    verdicts = check_step(step, written(source))
    assert is_done(step, verdicts), report(step, verdicts)


def test_a_later_step_says_which_earlier_one_is_wrong():
    names = written("def softmax(x):\n    return np.exp(x) / 3")
    verdict = check_step(2, names)[-1]
    assert verdict.says.startswith("Look at step 1 first: `softmax` is not right yet")


def test_only_an_earlier_function_that_is_called_is_blamed():
    names = written("def attend(q, k, v):\n    return v\ndef split_heads(x, heads):\n    return x")
    assert check_step(4, names)[-1].says.startswith("It is not right yet")
    project = inspect.getsource(solution.project).replace("_proj", "_prok")
    exec("from typing import Any\n" + project, names)
    says = check_step(8, names)[-1].says
    assert says.startswith("Look at step 4 first: `split_heads` is not right yet, and `project`")
    # Through a function of the reader's own, and inside another function.
    names = written(
        """
        def softmax(x):
            return x

        def weights_of(q, k):
            return (lambda scores: softmax(scores))(q @ k.mT)

        def attend(q, k, v):
            return weights_of(q, k) @ v
        """
    )
    says = check_step(2, names)[-1].says
    assert says.startswith("Look at step 1 first: `softmax` is not right yet, and `attend` calls")


def test_what_is_unknown_is_described():
    names = written("def causal_mask(N, N_k):\n    return np.ones((N_k, N, 1), dtype=bool)")
    verdict = check_function("causal_mask", names)
    assert verdict.tried == (
        "Tried: 4 queries and 4 keys. The shape must be (4, 4), yours is (4, 4, 1)."
    )


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("pass", "It returned nothing. Is there a `return`?"),
        ("x *= 2; return x", "It changed one of its arguments."),
        ("return x.shapes", "AttributeError"),
        ("return 'text'", "It must return numbers, yours returned text."),
    ],
)
def test_what_went_wrong_is_told(body, words):
    verdict = check_function("softmax", written(f"def softmax(x):\n    {body}"))
    assert words in verdict.tried


@pytest.mark.parametrize(("kind", "type_"), [("np.array", "ndarray"), ("tuple", "tuple")])
def test_tokens_are_a_list(kind, type_):
    source = f"def encode(text):\n    return {kind}([START, *text.encode()])"
    verdict = check_function("encode", written(source))
    assert verdict.says == "Not right yet: a list of integers is asked for."
    assert f"It must return a list, yours returned {type_}." in verdict.tried


def test_changed_arguments_and_missing_results_are_named():
    verdict = check_function("softmax", written("def softmax(x):\n    x *= 2\n    return x"))
    assert verdict.says.startswith("Not right yet: it changes one of its arguments.")
    verdict = check_function("attend", written("def attend(q, k, v):\n    scores = q @ k.mT"))
    assert verdict.says == "Not right yet: it returns nothing. Is there a `return`?"
    source = inspect.getsource(solution.cached_block).replace("x = x + mix", "x += mix")
    verdict = check_function("cached_block", written(source))
    assert verdict.says.startswith("Not right yet: it changes one of its arguments.")


def test_a_cache_may_keep_more():
    source = inspect.getsource(solution.cached_block)
    more = source.replace('kept["v"] = v', 'kept["v"] = v\n    kept["length"] = v.shape[1]')
    assert check_function("cached_block", written(more)).state == "right"


HALVES = """
def rotate(x, table):
    cos, sin = table
    half = x.shape[-1] // 2
    a, b = x[..., :half], x[..., half:]
    result = np.empty_like(x)
    result[..., :half] = a * cos - b * sin
    result[..., half:] = b * cos + a * sin
    return result
"""


@pytest.mark.parametrize(("old", "new"), [("groups", "heads"), ("heads", "d_k")])
def test_a_wrong_number_of_heads_is_told_whatever_rotate_makes_of_it(old, new):
    source = inspect.getsource(solution.project)
    wrong = source.replace(f'config["{old}"])', f'config["{new}"])')
    assert wrong != source
    for rotate in ("", HALVES):
        verdict = check_function("project", written(rotate + "\nfrom typing import Any\n" + wrong))
        assert verdict.state == "wrong"
        assert "config['groups']" in verdict.says
        if verdict.says.startswith("Not right yet: two arrays do not fit"):
            assert "Perhaps the number of heads is wrong" in verdict.says
            assert "shapes" in verdict.tried


def test_other_names_in_the_cache_are_told():
    source = inspect.getsource(solution.cached_block)
    for k, v, shown in (
        ("keys", "values", "'keys', 'values'"),
        ("k", "values", "'k', 'values'"),
        ("K", "V", "'K', 'V'"),
    ):
        named = source.replace('kept["k"]', f'kept["{k}"]').replace('kept["v"]', f'kept["{v}"]')
        names = written(named)
        verdict = check_function("cached_block", names)
        says = f'Not right yet: `kept` must have the names "k" and "v". Yours has {shown}'
        assert verdict.says.startswith(says)
        assert 'kept["k"] and kept["v"]' in hint(10, 3, names)


def test_an_error_names_the_line_of_the_reader(tmp_path):
    file = tmp_path / "my_model.py"
    file.write_text("def softmax(x):\n    a = 1\n    return x / missing\n")
    names = dict(vars(solution))
    exec(compile(file.read_text(), str(file), "exec"), names)
    verdict = check_function("softmax", names)
    assert "NameError: name 'missing' is not defined (line 3: return x / missing)" in verdict.tried


def test_an_error_in_an_earlier_step_says_in_which(tmp_path):
    file = tmp_path / "my_model.py"
    source = "def rope_table(positions, frequencies, factor=1.0):\n    return factor / nothing"
    file.write_text(source)
    names = written("")
    exec(compile(file.read_text(), str(file), "exec"), names)
    verdict = check_step(9, names)[-1]
    assert "(step 7, `rope_table`, line 2: return factor / nothing)" in verdict.tried


def test_a_line_of_python_itself_is_not_shown_as_one_of_the_reader(tmp_path):
    # In the browser the file of a module of Python lies in an archive.
    file = "/lib/python313.zip/json/__init__.py"
    source = "def loads(text):\n    return text + 1\n"
    linecache.cache[file] = len(source), None, source.splitlines(keepends=True), file
    library = {"__name__": "json"}
    exec(compile(source, file, "exec"), library)
    own = tmp_path / "my_model.py"
    own.write_text("def encode(text):\n\n    return loads(text)\n")
    names = written("") | {"loads": library["loads"]}
    exec(compile(own.read_text(), str(own), "exec"), names)
    tried = check_function("encode", names).tried
    assert "(line 3: return loads(text))" in tried
    assert "text + 1" not in tried


def test_a_name_that_is_not_there_is_told_with_those_that_are(tmp_path):
    file = tmp_path / "my_model.py"
    source = inspect.getsource(solution.project).replace("self_attn.q_proj.weight", "q_proj")
    file.write_text("from typing import Any\nimport numpy as np\n" + source)
    names = written("")
    exec(compile(file.read_text(), str(file), "exec"), names)
    verdict = check_function("project", names)
    assert "KeyError: 'q_proj'" in verdict.tried
    assert "`layer` has these names: 'input_layernorm.weight', " in verdict.tried
    assert "'self_attn.q_proj.weight'" in verdict.tried
    many = {f"layers.{number}.norm.weight": 0 for number in range(30)}
    assert names_in("weights", list(many), "layers.2.").count("layers.2.") == 1


def test_two_mistakes_in_two_results_are_named_one_by_one():
    source = inspect.getsource(solution.yarn).replace("length)\n    st", "length * scale)\n    st")
    source = source.replace("np.log(", "np.log10(")
    verdict = check_function("yarn", written(source))
    assert verdict.says == (
        "Not right yet. Perhaps the new length is taken for the length in training."
    )
    assert "Look at the first result." in verdict.tried


def test_what_a_cache_lacks_is_no_missing_return():
    source = inspect.getsource(solution.cached_block)
    for name in ("k", "v"):
        source = source.replace(f'kept["{name}"] = {name}', f'kept = {{"{name}": {name}}}')
    verdict = check_function("cached_block", written(source))
    assert "Look at `k`. It is missing, or it is None." in verdict.tried


def test_hints_follow_the_mistake():
    names = written("def softmax(x):\n    e = np.exp(x)\n    return e / e.sum()")
    assert hint(1, 1, names) == f"softmax: {HINTS['softmax'][0]}"
    assert "Attention is a weighted average" in hint(1, 2, names)
    assert "Without an axis, NumPy sums the whole array." in hint(1, 3, names)
    assert hint(1, 1, vars(solution)) == "Step 1 is done. It needs no hint."


def test_infinite_numbers_are_equal_to_themselves():
    description = {"kind": "numbers", "shape": [2], "values": [float("inf"), float("nan")]}
    assert agree(description, description, 1e-4)
    other = {"kind": "numbers", "shape": [2], "values": [float("inf"), 0.0]}
    assert not agree(description, other, 1e-4)
    assert np.isnan(description["values"][1])


HEADS = inspect.getsource(solution.split_heads)
ATTEND = inspect.getsource(solution.attend)


@pytest.mark.parametrize("text", ["", "x = 1", "def Softmax(x):\n    return x"])
def test_the_book_does_not_stand_in_for_the_step_that_is_checked(text):
    names = names_of_texts([(1, text)], checked=1)
    verdicts = check_step(1, names)
    assert not is_done(1, verdicts)
    says = "Your code has no function of this name."
    says += " It has `Softmax`." if text.startswith("def") else ""
    assert [(one.state, one.says) for one in verdicts] == [("missing", says)]
    assert hint(1, 1, names) == f"softmax: {HINTS['softmax'][0]}"
    # In a later step the book's function takes its place, and a model writes with none of both.
    assert is_done(2, check_step(2, names_of_texts([(1, text), (2, ATTEND)], checked=2)))
    with pytest.raises(NotImplementedError, match=r"^step 1: softmax$"):
        names_of_texts([(1, text)])


def test_every_function_that_is_not_there_is_told():
    names = names_of_texts([(4, f"import numpy as np\n{HEADS}\nmergeheads = len")], checked=4)
    verdicts = check_step(4, names)
    assert [(one.function, one.state) for one in verdicts] == [
        ("split_heads", "right"),
        ("merge_heads", "missing"),
        ("repeat_groups", "missing"),
    ]
    assert verdicts[1].says == "Your code has no function of this name. It has `mergeheads`."
    assert verdicts[2].says == "Your code has no function of this name."
    wrong = HEADS.replace("swapaxes(0, 1)", "swapaxes(0, 2)")
    verdicts = check_step(4, names_of_texts([(4, f"{wrong}\nmerge_heads = 3")], checked=4))
    assert [one.state for one in verdicts] == ["wrong", "missing", "missing"]
    assert verdicts[1].says == "In your code `merge_heads` is no function."
    assert "Neighbouring" not in hint(4, 1, {"split_head": len})


def test_names_are_alike_up_to_one_letter():
    for name in ("Softmax", "soft_max", "softmx", "softmaxx", "sotfmax", "softmix"):
        assert is_alike(name, "softmax"), name
    for name in ("softer", "max", "mix", "sfotamx", "softmaxed"):
        assert not is_alike(name, "softmax"), name


def test_a_notebook_does_not_pass_with_the_functions_of_the_book(capsys):
    cells = "from bookkit.workshop.page import check, hint\n"
    exec(cells + "from bookkit.workshop.solution import attend, softmax\ncheck(2)\nhint(2)", {})
    printed = capsys.readouterr().out
    assert "· attend: Your code has no function of this name." in printed
    assert "Right" not in printed
    exec(cells + "from bookkit.workshop.solution import *\n" + ATTEND + "\ncheck(2)", {})
    assert "✓ attend: Right" in capsys.readouterr().out
