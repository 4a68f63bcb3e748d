"""Exercises that ask for code: stored solutions pass their checks, wrong ones are told why."""

import ast
import re

import pytest
import torch

from bookformat.contents import main_line, page_name
from bookformat.notebooks import chapter_notebooks, read
from bookkit.exercises import CHECKS, check, verdict

# The stored solution, spoilt: what is replaced by what, and a word that the verdict must hold.
SPOILT = {
    "attend_with_sink": [
        ("K.shape[-1] ** 0.5", "K.shape[-1]", "b = -inf"),
        ("[:, :-1] @ V", "[:, :-1] @ V + 0.01", "b = -inf"),
        ("torch.full((len(S), 1), b)", "torch.full((len(S), 1), -torch.inf)", "b = 0"),
        ("return ", "", "None"),
        # These overflow: with large scores, with low ones, or where b is far from them.
        (
            "softmax(torch.cat([S, column], dim=-1))[:, :-1]",
            "(S.exp() / (column.exp() + S.exp().sum(-1, keepdim=True)))",
            "in the thousands",
        ),
        (
            "softmax(torch.cat([S, column], dim=-1))[:, :-1]",
            "((S - b).exp() / (1 + (S - b).exp().sum(-1, keepdim=True)))",
            "b = -inf",
        ),
    ],
    "clip": [
        ("W_Q * factor**0.5, W_K * factor**0.5", "W_Q * factor, W_K", "the first matrix"),
        ("if largest > threshold else 1.0", "", "the first matrix"),
        ("return W_Q * factor**0.5, W_K * factor**0.5", "return W_Q", "2 things"),
        ("largest_score(W_Q, W_K, X)", "float(((X @ W_Q) @ (X @ W_K).T / 2).max())", "matrix"),
        (
            "largest_score(W_Q, W_K, X)",
            "max(largest_score(W_Q, W_K, X), largest_score(-W_Q, W_K, X))",
            "the first matrix",
        ),
    ],
    "copying": [
        ("1 - period", "-period", "the period 4"),
        ("[..., 1:]", "", "the period 4"),
        (".mean(-1)", ".mean()", "shape (2,)"),
        (".mean(-1)", ".sum(-1) / A.shape[-1]", "the period 4"),
    ],
    "cache_gib": [
        ("min(window, N)", "window", "shorter than its window"),
        ("bytes_per_number / 2**30", "2 / 2**30", "4 bytes"),
        ("2**30", "1e9", "no windows"),
    ],
    "groups_as_latents": [
        ("* g // h", "% g", "6 heads in 2 groups, the keys"),
        ("select[g + group]", "select[group]", "6 heads in 2 groups, the values"),
        ("(*W_K, *W_V)", "(*W_V, *W_K)", "6 heads in 2 groups, the keys"),
        ("return down, select[group]", "return down.T, select[group]", "can be multiplied"),
        (
            "return down, select[group], select[g + group]",
            "pad = torch.nn.functional.pad\n    up = pad(select, (0, 0, 0, 1))\n"
            "    return pad(down, (0, 1)), up[group], up[g + group]",
            "the length of a row, expected 12",
        ),
        ("select[group], select", "select[group].mT, select", "can be multiplied"),
        (", select[g + group]", "", "3 things"),
    ],
    "rms_norm_gradient": [
        ("(gradient - along * y) / r", "gradient / r", "one token of 6"),
        ("(gradient - along * y) / r", "gradient - along * y", "one token of 6"),
        ("(gradient * y).mean", "(gradient * y).sum", "one token of 6"),
        ("x.square().mean(-1, keepdim=True)", "x.square().mean()", "2 × 3 tokens"),
    ],
    "product_layer": [
        (" / 4", "", "at [4, 0]"),
        ("[-1.0], [-1.0]", "[1.0], [1.0]", "at [0, 0]"),
        ("[1.0, -1.0, -1.0, 1.0]", "[1.0, -1.0, 1.0, -1.0]", "at [4, 0]"),
        ("[1.0, -1.0, 1.0, -1.0]", "[1.0, 0.0, 1.0, 0.0]", "at ["),
        ("-1.0, 1.0, -1.0], [1.0, -1.0", "0.0, 1.0, -1.0], [1.0, 0.0", "at [2, 0]"),
        ("return W_1, W_2", "return W_1.T, W_2", "shapes (2, 4), (4, 1)"),
    ],
    "document_mask": [
        ("same.tril()", "same", "documents [0, 0, 1, 1, 1]"),  # sees the future
        ("same.tril()", "same.tril(-1)", "documents [0, 0, 1, 1, 1]"),  # not itself
        ("==", ">=", "documents [0, 0, 1, 1, 1]"),  # sees earlier documents
        ("==", "<=", "documents [3, 3, 3, 1, 2, 2]"),  # right while the numbers grow
    ],
    "best_keys": [
        ("S.masked_fill(~causal, -torch.inf)", "S", "N = 6"),  # later keys take the places
        ("chosen & causal", "chosen", "N = 6"),  # the first rows have too few keys
        ("min(count, len(S))", "count", "N = 3 and the 4 best keys"),  # raises
        ("min(count, len(S))", "min(count, 1)", "N = 6"),
    ],
    "linear_attention": [
        (".tril()", "", "N = 5"),  # sees the future
        (".tril()", ".tril(-1)", "N = 5"),  # not itself
        (".tril()", ".tril() / K.shape[-1] ** 0.5", "N = 5"),
    ],
    "relative": [
        ("gram[1:, 1:], gram[:-1, :-1]", "gram[1:2, 1:2], gram[:1, :1]", "breaks at position"),
        ("code(N) @ code(N).T", "code(40) @ code(40).T", "N = 20"),
        ("gram[1:, 1:], gram[:-1, :-1]", "gram.diag()[1:], gram.diag()[:-1]", "back and forth"),
        ("gram[1:, 1:], gram[:-1, :-1]", "gram.diag(1)[1:], gram.diag(1)[:-1]", "back and forth"),
    ],
    "sinusoids_2017": [
        ("(d // 2 - 1)", "(d // 2)", "at [1, 1]"),
        ("[np.sin(angles), np.cos(angles)]", "[np.cos(angles), np.sin(angles)]", "at [0, 0]"),
        ("b=10000.0", "b=1000.0", "Without b"),
        ("concatenate([np.sin(angles), np.cos(angles)], axis=1)", "sin(angles)", "shape (5, 8)"),
    ],
    "largest_change": [
        (".abs().max()", ".max()", "(m + n)/2"),
        (".abs().max()", ".abs().mean()", "m(9 − n)"),
        (".abs().max()", ".abs()[0, 0]", "m(9 − n)"),
        ("scores(x, at + tau) - scores(x, at)", "scores(x, at)", "of distances"),
    ],
    "offset_score": [
        ("z.conj()", "z", "At the offset 0"),
        ("delta * theta", "-delta * theta", "At the offset 5"),
        ("delta * theta", "abs(delta) * theta", "At the offset -5"),
        ("[..., 0::2], q[..., 1::2]", "[..., :3], q[..., 3:]", "At the offset 0"),
        (".sum(-1)", ".sum(-1) / q.shape[-1] ** 0.5", "At the offset 0"),
    ],
    "rotate_patch": [
        ("[row, column]", "[column, row]", "row 2 and column 0"),
        ("torch.exp(1j", "torch.exp(-1j", "row 2 and column 0"),
        (".flatten()", "", "shape (8,)"),
    ],
    "detect": [
        ('"forward" if angles[0] > 0', '"forward" if angles[0] < 0', "the direction"),
        ("angles.abs()", "angles.abs() * 2", "the frequencies"),
        ("if partner == 1", "if partner != d_k // 2", "4 of 8 dimensions forward, the layout"),
        (
            "    partner =",
            "    f(y, torch.ones(d_k, dtype=torch.long))\n    partner =",
            "calls of f",
        ),
    ],
    "lead_for": [
        ("(N - 1)", "N", "among 2 keys"),
        ("math.log(", "math.exp(", "among 2 keys"),
        (" / (1 - weight)", "", "among 2 keys"),
        ("math.log(", "-math.log(", "among 1000 keys"),
    ],
    "step": [
        ("< 2 * math.pi", "> 2 * math.pi", "s = 4"),
        ("< 2 * math.pi", "< 1", "s = 4"),
        ("theta / s, theta)", "theta / s, theta)[:3]", "shape (4,)"),
        ("theta / s", "theta / 4", "s = 16"),
    ],
    "join_finished": [
        ("torch.logaddexp(lam1, lam2)", "(lam1.exp() + lam2.exp()).log()", "4000"),
        ("torch.logaddexp(lam1, lam2)", "torch.maximum(lam1, lam2)", "the logarithm"),
        ("(lam2 - lam).exp() * o2", "o2", "the output"),
        ("(lam1 - lam).exp() * o1 + (lam2 - lam).exp() * o2", "(o1 + o2) / 2", "the output"),
    ],
    "sign_test": [
        ("value >= seen - 1e-12", "value > seen + 1e-12", "[1.0, 2.0, 1.5]"),
        ("abs(np.mean(y * signs))", "np.mean(y * signs)", "expected 0.25, got 0.125"),
        ("seen = abs(np.mean(differences))", "seen = np.mean(differences)", "[-1.0, -2.0, -1.5]"),
        ("y = np.abs(differences)", "y = np.sign(differences)", "[1.0, 2.0, 1.5]"),
    ],
    "rotate_in_place": [
        (".mul_(phases)", ".mul(phases)", "must overwrite"),
        (".mul_(phases)", ".mul_(phases.conj())", "x afterwards"),
        (
            "torch.view_as_complex(x.unflatten(-1, (-1, 2))).mul_(phases)",
            "y = torch.view_as_complex(x.unflatten(-1, (-1, 2))) * phases\n"
            "    x.copy_(torch.view_as_real(y).flatten(-2))",
            "second tensor",
        ),
    ],
    "window_mask": [
        ("every.tril(N_k - N) & ", "", "N = 5, N_k = 5"),
        ("- W + 1", "- W", "at [2, 0]"),
        ("tril(N_k - N)", "tril()", "N = 2, N_k = 6"),
        ("triu(N_k - N - W", "triu(-W", "N = 2, N_k = 6"),
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
    gone = sorted(SPOILT.keys() - CHECKS.keys())
    assert not gone, f"remove {gone} from SPOILT: no exercise asks for them"


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
    assert told.endswith(" among 2 keys, expected numbers of shape (), got str.")


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
