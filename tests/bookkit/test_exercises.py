"""Exercises that ask for code: stored solutions pass their checks, wrong ones are told why."""

import ast
import re

import pytest
import torch

from bookformat.contents import main_line, page_name
from bookformat.notebooks import chapter_notebooks, read
from bookkit.exercises import CHECKS, check, verdict

# The stored solution, spoilt: what is replaced by what, and the property that the verdict names.
SINK = "softmax(torch.cat([S, column], dim=-1))[:, :-1]"
SPOILT = {
    "attend_with_sink": [
        ("K.shape[-1] ** 0.5", "K.shape[-1]", "do not fit the scores"),
        ("[:, :-1] @ V", "[:, :-1] @ V + 0.01", "the weights of a row sum to 1.050"),
        ("torch.full((len(S), 1), b)", "torch.full((len(S), 1), -torch.inf)", "must sum to 0.927"),
        ("return ", "", "it gave None"),
        # These overflow: with large scores, with low ones, or where b is far from them.
        (
            SINK,
            "(S.exp() / (column.exp() + S.exp().sum(-1, keepdim=True)))",
            "in the thousands, b = 0, the output contains NaN or infinity",
        ),
        (
            SINK,
            "((S - b).exp() / (1 + (S - b).exp().sum(-1, keepdim=True)))",
            "b = -inf, the output contains NaN or infinity",
        ),
        # Its outputs are right, since dividing by infinity gives 0.
        (
            SINK,
            "((S - S.amax(-1, keepdim=True)).exp() / ((b - S.amax(-1, keepdim=True)).exp()"
            " + (S - S.amax(-1, keepdim=True)).exp().sum(-1, keepdim=True)))",
            "the output is right, but the gradient of the queries contains NaN",
        ),
        (SINK, SINK + ".detach()", "no gradient reaches the queries"),
    ],
    "clip": [
        ("W_Q * factor**0.5, W_K * factor**0.5", "W_Q * factor, W_K", "by the same number"),
        ("if largest > threshold else 1.0", "", "nothing may change, and a matrix has changed"),
        ("return W_Q * factor**0.5, W_K * factor**0.5", "return W_Q", "a tuple of 2 things"),
        ("W_K * factor**0.5", "W_K", "the largest score is now 6.90, not the threshold"),
        (
            "largest_score(W_Q, W_K, X)",
            "float(((X @ W_Q) @ (X @ W_K).T / 2).max())",
            "the largest score is now 3.56, not the threshold",
        ),
        (
            "largest_score(W_Q, W_K, X)",
            "max(largest_score(W_Q, W_K, X), largest_score(-W_Q, W_K, X))",
            "the largest score is now 3.20, not the threshold",
        ),
        (
            "W_Q * factor**0.5, W_K",
            "W_Q.clamp(-factor, factor), W_K",
            "queries or keys change direction",
        ),
    ],
    "copying": [
        ("1 - period", "-period", "must get 1, and it gets 0.00"),
        ("[..., 1:]", "", "not over the positions of the repetition: 4 to 10"),
        (".mean(-1)", ".mean()", "one number for each head"),
        (".mean(-1)", ".sum(-1) / A.shape[-1]", "must get 1, and it gets 0.64"),
        ("1 - period", "-1", "must get 1, and it gets 0.00"),
    ],
    "cache_gib": [
        ("min(window, N)", "window", "keep 100 tokens together, and they must keep 60"),
        ("bytes_per_number / 2**30", "2 / 2**30", "twice as much as with 2 bytes"),
        ("2**30", "1e9", "there are 2^30 bytes, which is 1 GiB"),
        ("layers * N + sum(", "(layers + len(windows)) * N + 0 * sum(", "must keep 200"),
    ],
    "groups_as_latents": [
        ("* g // h", "% g", "head 1 must get the keys of group 0"),
        ("select[g + group]", "select[group]", "head 0 must get the values of group 0"),
        ("(*W_K, *W_V)", "(*W_V, *W_K)", "head 0 must get the keys of group 0"),
        ("return down, select[group]", "return down.T, select[group]", "can be multiplied"),
        (
            "return down, select[group], select[g + group]",
            "pad = torch.nn.functional.pad\n    up = pad(select, (0, 0, 0, 1))\n"
            "    return pad(down, (0, 1)), up[group], up[g + group]",
            "the length of a row is 13, and keys and values need 12",
        ),
        ("select[group], select", "select[group].mT, select", "can be multiplied"),
        (", select[g + group]", "", "a tuple of 3 things"),
    ],
    "rms_norm_gradient": [
        ("(gradient - along * y) / r", "gradient / r", "must be perpendicular to the token"),
        ("(gradient - along * y) / r", "gradient - along * y", "must be 100 times as small"),
        ("(gradient * y).mean", "(gradient * y).sum", "must be perpendicular to the token"),
        ("x.square().mean(-1, keepdim=True)", "x.square().mean()", "than it gets alone"),
        (") / r", ") / r / 2", "each number is 0.5 times what it must be"),
    ],
    "product_layer": [
        (" / 4", "", "must be 1 where both features are 1, and it is 4"),
        ("[-1.0], [-1.0]", "[1.0], [1.0]", "must be 0 where a feature is 0"),
        ("[1.0, -1.0, -1.0, 1.0]", "[1.0, -1.0, 1.0, -1.0]", "where both features are 1"),
        ("[1.0, -1.0, 1.0, -1.0]", "[1.0, 0.0, 1.0, 0.0]", "must change its sign with one feature"),
        ("-1.0, 1.0, -1.0], [1.0, -1.0", "0.0, 1.0, -1.0], [1.0, 0.0", "where a feature is 0"),
        ("return W_1, W_2", "return W_1.T, W_2", "shapes (2, 4) and (4, 1)"),
    ],
    "document_mask": [
        ("same.tril()", "same", "token 0 sees token 1, which comes later"),
        ("same.tril()", "same.tril(-1)", "token 0 does not see itself"),
        ("==", ">=", "token 2 sees token 0, which is in another document"),
        ("==", "<=", "token 3 sees token 0, which is in another document"),
        ("same.tril()", "same.tril() & same.triu(-1)", "does not see token 2, an earlier one"),
    ],
    "best_keys": [
        ("S.masked_fill(~causal, -torch.inf)", "S", "query 0 keeps 0 keys, and it must keep 1"),
        ("chosen & causal", "chosen", "query 0 keeps key 4, which comes later"),
        ("min(count, len(S))", "count", "N = 3 and the 4 best keys, it raised"),
        ("min(count, len(S))", "min(count, 1)", "query 1 keeps 1 keys, and it must keep 2"),
        ("S.masked_fill", "(-S).masked_fill", "leaves out a key with a larger score"),
    ],
    "linear_attention": [
        (".tril()", "", "the outputs of earlier tokens change: they see the future"),
        (".tril()", ".tril(-1)", "the last token does not change: it misses itself"),
        (".tril()", ".tril() / K.shape[-1] ** 0.5", "its output is not (q · k) v"),
        (".tril()", ".tril().softmax(-1)", "they see the future"),
    ],
    "relative": [
        ("gram[1:, 1:], gram[:-1, :-1]", "gram[1:2, 1:2], gram[:1, :1]", "and it says True"),
        ("code(N) @ code(N).T", "code(40) @ code(40).T", "the same dot product, and it says False"),
        ("gram[1:, 1:], gram[:-1, :-1]", "gram.diag()[1:], gram.diag()[:-1]", "and it says True"),
        (
            "gram[1:, 1:], gram[:-1, :-1]",
            "gram.diag(1)[1:], gram.diag(1)[:-1]",
            "some pairs with the same offset have other dot products",
        ),
    ],
    "sinusoids_2017": [
        ("(d // 2 - 1)", "(d // 2)", "pair 1 of 4 rotates by 0.1 per position"),
        (
            "[np.sin(angles), np.cos(angles)]",
            "[np.cos(angles), np.sin(angles)]",
            "the first half of a row must be sines and the second cosines",
        ),
        ("b=10000.0", "b=1000.0", "the slowest pair must rotate by 1/10000 per position"),
        ("concatenate([np.sin(angles), np.cos(angles)], axis=1)", "sin(angles)", "shape (5, 8)"),
        ("np.cos(angles)]", "np.cos(2 * angles)]", "the sine and the cosine of one angle"),
    ],
    "largest_change": [
        (".abs().max()", ".max()", "every score falls by tau, so the largest change is tau"),
        (".abs().max()", ".abs().mean()", "change by different amounts up to 4 tau"),
        (".abs().max()", ".abs()[0, 0]", "change by different amounts up to 4 tau"),
        ("scores(x, at + tau) - scores(x, at)", "scores(x, at)", "no score changes"),
    ],
    "offset_score": [
        ("z.conj()", "z", "nothing is rotated, so the score must be q · k"),
        (
            "delta * theta",
            "-delta * theta",
            "the score of the offset -5: the direction is reversed",
        ),
        (
            "delta * theta",
            "abs(delta) * theta",
            "At the offset -5, it gives the score of the offset 5",
        ),
        ("[..., 0::2], q[..., 1::2]", "[..., :3], q[..., 3:]", "the score must be q · k"),
        (".sum(-1)", ".sum(-1) / q.shape[-1] ** 0.5", "the score must be q · k"),
        ("delta * theta", "delta * theta[0]", "it is not the dot product of the query and the key"),
    ],
    "rotate_patch": [
        ("[row, column]", "[column, row]", "pair 0 must be rotated by the row"),
        ("torch.exp(1j", "torch.exp(-1j", "pair 0 must be rotated by the row times its frequency"),
        (".flatten()", "", "shape (8,)"),
        ("own * theta", "theta", "pair 0 must stay as it is, since its row is 0"),
        ("torch.exp(1j", "torch.exp(1", "pair 0 must keep its length"),
    ],
    "detect": [
        ('"forward" if angles[0] > 0', '"forward" if angles[0] < 0', "the direction 'backward'"),
        ("angles.abs()", "angles.abs() * 2", "the frequencies, each number is 2 times"),
        ("if partner == 1", "if partner != d_k // 2", "it gives the layout 'interleaved'"),
        (
            "    partner =",
            "    f(y, torch.ones(d_k, dtype=torch.long))\n    partner =",
            "f was called 2 times, and one call must be enough",
        ),
    ],
    "lead_for": [
        ("(N - 1)", "N", "with the lead 0.693 gets the weight 0.667"),
        ("math.log(", "math.exp(", "gets the weight 0.938"),
        (" / (1 - weight)", "", "gets the weight 0.333"),
        ("math.log(", "-math.log(", "gets the weight 1e-06"),
    ],
    "step": [
        ("< 2 * math.pi", "> 2 * math.pi", "the pair with 30 turns must keep its frequency"),
        ("< 2 * math.pi", "< 1", "the pair with 0.99 turns must be slowed down by s"),
        ("theta / s, theta)", "theta / s, theta)[:3]", "shape (4,)"),
        ("theta / s", "theta / 4", "s = 16, the pair with 0.99 turns must be slowed down by s"),
    ],
    "join_finished": [
        (
            "torch.logaddexp(lam1, lam2)",
            "(lam1.exp() + lam2.exp()).log()",
            "near 4000, the results contain NaN or infinity",
        ),
        (
            "torch.logaddexp(lam1, lam2)",
            "torch.maximum(lam1, lam2)",
            "the logarithm is not that of",
        ),
        ("(lam2 - lam).exp() * o2", "o2", "the output is not the average of all values"),
        (
            "(lam1 - lam).exp() * o1 + (lam2 - lam).exp() * o2",
            "(o1 + o2) / 2",
            "both parts get the weight 1/2",
        ),
    ],
    "sign_test": [
        ("value >= seen - 1e-12", "value > seen + 1e-12", "far from 0, and it counts 0"),
        ("abs(np.mean(y * signs))", "np.mean(y * signs)", "far from 0, and it counts 1"),
        ("seen = abs(np.mean(differences))", "seen = np.mean(differences)", "and it counts 8"),
        ("y = np.abs(differences)", "y = np.sign(differences)", "and it counts 0"),
    ],
    "tokens_at_the_ridge": [
        ("share / rest if", "share if", "which is not the ridge"),
        ("ridge * w / 2", "ridge", "which is not the ridge"),
        ("- share / d_out", "", "which is not the ridge"),
        (' if rest > 0 else float("inf")', "", "no number of vectors reaches it"),
    ],
    "rotate_in_place": [
        (".mul_(phases)", ".mul(phases)", "must overwrite"),
        (".mul_(phases)", ".mul_(phases.conj())", "rotated in the opposite direction"),
        (".mul_(phases)", ".mul_(phases**2)", "not x with each pair (2i, 2i + 1) multiplied"),
        (
            "torch.view_as_complex(x.unflatten(-1, (-1, 2))).mul_(phases)",
            "y = torch.view_as_complex(x.unflatten(-1, (-1, 2))) * phases\n"
            "    x.copy_(torch.view_as_real(y).flatten(-2))",
            "second tensor",
        ),
    ],
    "window_mask": [
        ("every.tril(N_k - N) & ", "", "sees position 1, which comes later"),
        ("- W + 1", "- W", "sees position 0, outside of its window of 2 tokens"),
        ("tril(N_k - N)", "tril()", "does not see itself"),
        ("triu(N_k - N - W", "triu(-W", "sees position 0, outside of its window of 3 tokens"),
        ("- W + 1", "- W + 2", "does not see position 0, inside of its window of 2 tokens"),
    ],
}
ASKED = re.compile(r"\bWrite (?:it: )?`(\w+)\(|, `(\w+)\(x\)`, which")


def solutions():
    """For each function, the code of its page: imports and functions up to its solution."""
    found = {}
    for path in chapter_notebooks():
        kept = []
        for cell in read(path).cells:
            if cell.cell_type != "code":
                continue
            lines = cell.source.splitlines()
            definitions = (ast.Import, ast.ImportFrom, ast.FunctionDef)
            kept += [
                "\n".join(lines[node.lineno - 1 : node.end_lineno])
                for node in ast.parse(cell.source).body
                if isinstance(node, definitions)
            ]
            for name in re.findall(r'^check\("(\w+)"\)', cell.source, re.MULTILINE):
                found[name] = (page_name(path), list(kept))
    return found


SOLUTIONS = solutions()


def with_page(name, *others):
    """The parameters of a test; its id names the page too, so that `make check PAGE=…` runs it."""
    page, _code = SOLUTIONS.get(name, ("no-page", []))
    return pytest.param(name, *others, id="-".join([page, name, *others]))


EACH = [with_page(name) for name in sorted(CHECKS)]


@pytest.fixture(autouse=True)
def in_double_precision():
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(before)


def needed_for(name, code):
    """The imports, and the functions that the named one uses, in their order."""
    needed, kept = {name}, []
    for piece in reversed(code):
        defined = re.match(r"def (\w+)", piece)
        if defined and defined[1] not in needed:
            continue
        if defined:
            needed.update(re.findall(r"\w+", piece))
        kept.insert(0, piece)
    return kept


def function_of(name, old="", new=""):
    """The stored solution, with `old` replaced by `new` in it."""
    _page, code = SOLUTIONS[name]
    names = {}
    own = [piece for piece in code if piece.startswith(f"def {name}(")][-1]
    for piece in needed_for(name, code):
        if piece == own:
            spoilt = own.replace(old, new) if old else own
            assert not old or spoilt != own, f"{old!r} is not in the solution:\n{own}"
            piece = spoilt
        exec(piece, names)
    return names[name]


@pytest.mark.parametrize("name", EACH)
def test_the_stored_solution_passes(name):
    assert verdict(name, function_of(name)) == f"{name}: right."


@pytest.mark.parametrize(
    ("name", "old", "new", "word"),
    [with_page(name, *one) for name, several in SPOILT.items() for one in several],
)
def test_a_wrong_solution_is_told_why(name, old, new, word):
    told = verdict(name, function_of(name, old, new))
    assert told.startswith(f"{name}: not right yet. ")
    assert word in told


# What a verdict must not be: two numbers and a place, without the property that distinguishes them.
PAIR = re.compile(r"expected \S+(?: at \[[\d, ]*\])?, got|expected shape")


@pytest.mark.parametrize("name", EACH)
def test_three_wrong_solutions_or_more_are_told_a_property(name):
    told = [verdict(name, function_of(name, old, new)) for old, new, _word in SPOILT[name]]
    properties = set()
    for one in told:
        assert not PAIR.search(one), f"name the property, not a pair of numbers: {one}"
        ran = ", it raised " not in one and "it gave None" not in one
        if ran and "the result must " not in one:  # neither a crash nor a wrong shape
            properties.add(one)
    assert len(properties) >= 3, f"fewer than three properties are told for {name}: {properties}"


def off(result):
    """A result that is nearly right; of several parts the first one is off."""
    if isinstance(result, tuple):
        return off(result[0]), *result[1:]
    if isinstance(result, str):
        return result.upper()
    if isinstance(result, bool) or getattr(result, "dtype", None) == torch.bool:
        return ~torch.as_tensor(result)
    return None if result is None else result * 1.01 + 0.01


@pytest.mark.parametrize("name", EACH)
def test_every_check_refuses_a_result_that_is_off_and_a_function_that_does_nothing(name):
    solution = function_of(name)
    assert ": not right yet." in verdict(name, lambda *arguments, **named: None)
    if name != "rotate_in_place":  # its result is its argument
        spoilt = verdict(name, lambda *arguments, **named: off(solution(*arguments, **named)))
        assert ": not right yet." in spoilt


def test_every_check_has_its_solution_on_a_page():
    alone = sorted(CHECKS.keys() - SOLUTIONS.keys())
    assert not alone, f"end the solution on its page with check(name) for {alone}, or remove these"
    assert CHECKS.keys() == SOLUTIONS.keys()
    gone = sorted(SPOILT.keys() ^ CHECKS.keys())
    assert not gone, f"SPOILT needs wrong solutions for every exercise, and for no others: {gone}"


@pytest.mark.parametrize("path", main_line(), ids=page_name)
def test_a_chapter_with_exercises_asks_for_code_and_checks_it(path):
    checked = {name for name, (page, _code) in SOLUTIONS.items() if page == page_name(path)}
    text = "\n".join(cell.source for cell in read(path).cells if cell.cell_type == "markdown")
    asked = {a or b for a, b in ASKED.findall(text)}
    different = sorted(checked ^ asked)
    assert not different, (
        f"{different}: ask for it with “Write `name(arguments)`” and end its solution with "
        'check("name")'
    )
    assert bool(asked) == ("{exercise-start}" in text), "let one of the exercises ask for code"


def test_a_function_that_raises_is_told_for_which_input():
    told = verdict("lead_for", lambda weight, n: 1 / 0)
    assert told == (
        "lead_for: not right yet. With the weight 0.5 among 2 keys, "
        "it raised ZeroDivisionError: division by zero"
    )


def test_a_result_that_is_no_number_is_told_what_was_expected():
    told = verdict("lead_for", lambda weight, n: "a word")
    words = "the result must be numbers of shape () (one number), and it is a str."
    assert told.endswith(f" among 2 keys, {words}")


def test_a_name_that_no_exercise_asks_for_is_refused():
    with pytest.raises(
        ValueError, match=r"no exercise asks for 'lead'.*a function of its name in src"
    ):
        verdict("lead", None)


def test_check_looks_in_the_notebook_that_calls_it(capsys):
    exec('check("lead_for")', {"check": check})
    exec("def lead_for(weight, N):\n    return 0\ncheck('lead_for')", {"check": check})
    first, second = capsys.readouterr().out.splitlines()
    assert first.startswith("lead_for: not there yet.")
    assert second.startswith("lead_for: not right yet.")
