"""How somebody else's function wants to be called, found out from its parameters' names.

The doctor's own form of every function is `turn(q, k, positions)` with vectors (b, h, n, d).
"""

import functools
import inspect
import itertools
import textwrap
import warnings
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from attention_to_rope import rotary_frequencies
from rope_doctor.tables import table_forms

Turn = Callable[[Tensor, Tensor, Tensor], tuple[Tensor, Tensor]]
QUERY_NAMES = ("q", "query", "queries", "xq", "query_states", "q_states", "x", "hidden_states")
KEY_NAMES = ("k", "key", "keys", "xk", "key_states", "k_states")
POSITION_NAMES = (
    "positions", "position_ids", "position", "pos", "input_pos", "pos_ids", "index", "m",
    "token_positions", "cache_position",
)  # fmt: skip
# How a function learns the positions → the names of the parameters for it, the surest first.
KINDS: dict[str, tuple[tuple[str, ...], ...]] = {
    "table": (
        ("cos", "cosine", "cos_cached", "cos_table", "freqs_cos"),
        ("sin", "sine", "sin_cached", "sin_table", "freqs_sin"),
    ),
    "complex": (("freqs_cis", "freqs_ci", "freqs_complex", "rope_cache"),),
    "angles": (("freqs", "angles", "rotary_pos_emb"),),
    "positions": (POSITION_NAMES,),
    "offset": (("offset", "start_pos", "seq_offset", "start"),),
}
TABLES = ("table", "complex", "angles")  # here the caller gives the frequencies, not the function
FREQUENCY_NAMES = ("inv_freq", "frequencies", "theta", "thetas")
VALUE_NAMES = ("v", "value", "values", "xv", "value_states")
BASE_NAMES = ("base", "rope_theta", "rope_base")
HEAD_DIM_NAMES = ("head_dim", "dim", "d", "rotary_dim", "d_head", "dim_head", "d_k")


ONE_HEAD = "(b, 1, n, d)"  # one head only: the others are rows of the batch


FIRST_LENGTHS = (9, 3)  # positions of the first call of a function, and of a module


class Form(NamedTuple):
    """An order of the axes: from (b, h, n, d) into it and back; one_by_one: a call per vector."""

    words: str
    into: Callable[[Tensor], Tensor]
    back: Callable[[Tensor, Tensor], Tensor]  # the result and the vectors (b, h, n, d)
    one_by_one: bool = False


def _same(y: Tensor, x: Tensor) -> Tensor:
    return y


def _unfolded(y: Tensor, x: Tensor) -> Tensor:
    return y.reshape(*x.shape[:2], *y.shape[1:])


def _without_batch(x: Tensor) -> Tensor:
    if x.shape[0] != 1:
        raise ValueError("vectors without a batch axis are of one row")
    return x[0].transpose(0, 1)


FORMS = (
    Form("(b, h, n, d)", lambda x: x, _same),
    Form("(b, n, h, d)", lambda x: x.transpose(1, 2), lambda y, x: y.transpose(1, 2)),
    Form("(n, h, d)", _without_batch, lambda y, x: y.transpose(0, 1)[None]),
    Form(
        "(b, n, d)", lambda x: x.flatten(0, 1), lambda y, x: y.reshape(*x.shape[:2], *y.shape[1:])
    ),
    Form("(n, b, h, d)", lambda x: x.permute(2, 0, 1, 3), lambda y, x: y.permute(1, 2, 0, 3)),
    Form("(n, d)", lambda x: x, _same, one_by_one=True),
    Form("(d,)", lambda x: x, _same, one_by_one=True),
    Form(ONE_HEAD, lambda x: x.flatten(0, 1)[:, None], lambda y, x: y.reshape(x.shape)),
)


class Calling(NamedTuple):
    """How a function wants to be called, and the function in the doctor's own form."""

    turn: Turn
    words: str
    kind: str  # of `KINDS`, or "none": positions are always 0 … n − 1
    both: bool  # it takes queries and keys; else one function serves both
    given: bool  # the caller gives table or frequencies
    width: int  # the dimensions for which a table is made
    remarks: set[str]  # what calls did beside rotating: "values", "inputs", "in place"

    def matrices(self, positions: Tensor, dim: int) -> tuple[Tensor, Tensor]:
        """The matrices of queries and keys, float64 (n, d, d): row j is the image of unit j."""
        # In float32 whatever torch's default is: a half type would look like a rounded table.
        units = torch.eye(dim, dtype=torch.float32)[None, :, None, :]
        units = units.repeat_interleave(positions.shape[-1], dim=2)
        # Other keys than queries, or a function that gives one for the other would not be seen.
        queries, keys = self.turn(units, units.flip(1), positions)
        return (
            queries[0].transpose(0, 1).double(),
            keys.flip(1)[0].transpose(0, 1).double(),
        )


def _told(
    kind: str, positions: Tensor, x: Tensor, form: Form, width: int
) -> dict[str, tuple[Any, ...]]:
    """What tells a function the positions, by the words that describe it."""
    if kind == "none":
        return {"; positions are always 0 … n − 1": ()}
    if kind == "offset" or form.words == "(d,)":
        return {"": (int(positions.flatten()[0]),)}
    if kind == "positions":
        rows = positions[None] if positions.ndim == 1 else positions
        return {", positions (n,)": (positions,), ", positions (b, n)": (rows,)}
    return table_forms(positions, width, kind, x.dtype)


def is_position(name: str) -> bool:
    """Whether a parameter of this name takes positions, such as `q_positions`."""
    name = name.lower()
    return name in POSITION_NAMES or "position" in name or name.endswith("_pos")


class Signature(NamedTuple):
    """The roles of a function's parameters: vectors, what tells positions, and what else."""

    vectors: list[str]
    kind: str
    told: list[str]
    others: list[str]


def _required(function: Callable[..., Any]) -> tuple[list[str], list[str]]:
    """The names of all parameters, and of those without a default."""
    # What a module is called with is in the signature of its forward.
    named = function.forward if isinstance(function, nn.Module) else function
    parameters = [
        parameter
        for parameter in inspect.signature(named).parameters.values()
        if parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
    ]
    names = [parameter.name for parameter in parameters]
    needed = [p.name for p in parameters if p.default is inspect.Parameter.empty]
    return names, needed


def read_signature(function: Callable[..., Any]) -> Signature | None:
    """Which parameter has which role; None if there is no parameter with a name."""
    names, needed = _required(function)
    if not names:
        return None
    queries = [name for name in names if name.lower() in QUERY_NAMES]
    first_positions = len(names) > 1 and is_position(names[0])
    first = queries[0] if queries else names[1 if first_positions else 0]
    vectors = [first]
    vectors += [name for name in names if name.lower() in KEY_NAMES and name != first][:1]
    rest = [name for name in names if name not in vectors]
    kind = "none"
    told = list[str]()
    for possible, groups in KINDS.items():
        found = [[name for name in rest if name.lower() in group][:1] for group in groups]
        if kind == "none" and all(found):
            kind = possible
            told = [name for (name,) in found]
    if kind in ("none", "positions"):  # all that take positions, such as those of q and of k
        given = [name for name in rest if is_position(name)]
        asked = [name for name in given if name in needed] or given[:1]
        kind = "positions" if asked else kind
        told = asked or told
    others = [name for name in needed if name not in vectors and name not in told]
    unknown = [name for name in others if _filling(name, torch.zeros(1, 1, 1, 2), "") is None]
    if kind == "none" and unknown:  # f(x, anything): it is the position
        kind = "positions"
        told = unknown[:1]
        others.remove(unknown[0])
    return Signature(vectors, kind, told, others)


def _filling(name: str, x: Tensor, kind: str) -> Any:
    """A value for a parameter that is neither vectors nor positions; None if none is known."""
    name = name.lower()
    batch, heads, length, dim = x.shape
    if is_position(name) and kind in TABLES:  # the table holds these positions only
        return torch.arange(length)[None]
    if name in FREQUENCY_NAMES:
        return rotary_frequencies(dim).float()
    if name in BASE_NAMES:
        return 10000.0
    if name in HEAD_DIM_NAMES:
        return dim
    if name in VALUE_NAMES:
        return x
    sizes = {"n_heads": heads, "num_heads": heads, "batch_size": batch}
    sizes |= {"seq_len": length, "seqlen": length, "n": length, "max_seq_len": 2**17}
    return sizes.get(name)


def _by_name(signature: Signature, told: tuple[Any, ...]) -> dict[str, Any]:
    """What tells positions, by the names of its parameters; several of them get the same."""
    values = told * len(signature.told) if len(told) == 1 else told
    copies = [value.clone() if torch.is_tensor(value) else value for value in values]
    return dict(zip(signature.told, copies, strict=True))


def _call(
    function: Callable[..., Any],
    signature: Signature,
    vectors: list[Tensor],
    told: tuple[Any, ...],
    x: Tensor,
    remarks: set[str],
) -> list[Tensor]:
    """One call: the rotated vectors, as many as were given; remarks take what else it did."""
    # The function may write into what it is given.
    arguments: dict[str, Any] = {}
    for name, vector in zip(signature.vectors, vectors, strict=True):
        arguments[name] = vector.clone(memory_format=torch.contiguous_format)
    others = {name: _filling(name, x, signature.kind) for name in signature.others}
    for name in others:
        if name.lower() in VALUE_NAMES:  # they do not rotate
            others[name] = vectors[-1].clone(memory_format=torch.contiguous_format)
    gradients = any(vector.requires_grad for vector in vectors)
    with torch.set_grad_enabled(gradients), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a form that does not fit, such as a tensor in NumPy
        result = function(**arguments, **_by_name(signature, told), **others)
    if result is None:  # it wrote into its arguments
        result = tuple(arguments.values())
    if isinstance(result, Mapping):
        result = tuple(result.values())
    if len(vectors) == 2 and torch.is_tensor(result) and result.shape[:1] == (2,):  # stacked
        result = tuple(result)
    results = list(result) if isinstance(result, tuple | list) else [result]
    if len(results) < len(vectors):
        raise ValueError(f"{len(results)} result for {len(vectors)} vectors")
    remarks |= _remarks(signature, vectors, arguments, results, others)
    return results[: len(vectors)]


def _remarks(
    signature: Signature,
    vectors: list[Tensor],
    arguments: Mapping[str, Tensor],
    results: list[Any],
    others: Mapping[str, Any],
) -> set[str]:
    """What a call did beside rotating: values that it changed, arguments that it wrote into."""
    found = set()
    values = [value for name, value in others.items() if name.lower() in VALUE_NAMES]
    more = results[len(vectors) :]
    if values and more and not torch.equal(more[0], vectors[-1]):
        found.add("values")
    kept = {result.untyped_storage().data_ptr() for result in results[: len(vectors)]}
    for name, vector in zip(signature.vectors, vectors, strict=True):
        argument = arguments[name]
        # To rotate in place is right if what comes back is the argument itself.
        in_place = argument.untyped_storage().data_ptr() in kept
        if not torch.equal(argument, vector):
            found.add("in place" if in_place else "inputs")
    return found


def _turn(
    function: Callable[..., Any],
    signature: Signature,
    form: Form,
    words: str,
    remarks: set[str],
    width: int,
) -> Turn:
    """The function in the doctor's own form, for one order of axes and one way to tell where."""

    def at_once(vectors: list[Tensor], positions: Tensor) -> list[Tensor]:
        x = vectors[0]
        if form.words in ("(b, n, d)", ONE_HEAD) and positions.ndim == 2:
            positions = positions.repeat_interleave(x.shape[1], 0)
        told = _told(signature.kind, positions, x, form, width)[words]
        some = [form.into(vector) for vector in vectors]
        results = _call(function, signature, some, told, x, remarks)
        return [form.back(result, vector) for result, vector in zip(results, vectors, strict=True)]

    def one_by_one(vectors: list[Tensor], positions: Tensor) -> list[Tensor]:
        x = vectors[0]
        results = [torch.empty_like(vector) for vector in vectors]
        single = form.words == "(d,)"
        for row in range(x.shape[0]):
            own = positions[row] if positions.ndim == 2 else positions
            for head in range(x.shape[1]):
                steps = range(x.shape[2]) if single else [slice(None)]
                for step in steps:
                    told = _told(signature.kind, own[step], x, form, width)[words]
                    some = [vector[row, head, step] for vector in vectors]
                    found = _call(function, signature, some, told, x, remarks)
                    for result, value in zip(results, found, strict=True):
                        result[row, head, step] = value
        return results

    def turn(q: Tensor, k: Tensor, positions: Tensor) -> tuple[Tensor, Tensor]:
        each = one_by_one if form.one_by_one else at_once
        if len(signature.vectors) == 2:
            rotated_q, rotated_k = each([q, k], positions)
        else:
            (rotated_q,) = each([q], positions)
            (rotated_k,) = each([k], positions)
        for vector, rotated in ((q, rotated_q), (k, rotated_k)):
            if rotated.shape != vector.shape:
                raise ValueError(f"shape {tuple(rotated.shape)} for {tuple(vector.shape)}")
        return rotated_q, rotated_k

    return turn


def _calls(function: Callable[..., Any], width: int) -> Iterator[Calling]:
    """Every way to call the function that its parameters' names allow, the likeliest first."""
    signature = read_signature(function)
    if signature is None:
        return
    both = len(signature.vectors) == 2
    given = signature.kind in TABLES or any(
        name.lower() in FREQUENCY_NAMES for name in signature.others
    )
    said = ", ".join(["q, k" if both else "x", *(name.lower() for name in signature.told)])
    for form in FORMS:
        if form.words == "(d,)" and signature.kind not in ("positions", "offset"):
            continue
        if form.words == "(n, d)" and signature.kind in TABLES:
            continue
        for words in _told(signature.kind, torch.arange(2), torch.zeros(1, 1, 2, 4), form, 4):
            text = f"f({said}) with vectors {form.words}{words}"
            remarks = set[str]()
            turn = _turn(function, signature, form, words, remarks, width)
            yield Calling(turn, text, signature.kind, both, given, width, remarks)


def is_orthogonal(matrices: Tensor) -> bool:
    """Whether each matrix rotates: all lengths change by one factor, all angles stay."""
    gram = matrices @ matrices.mT
    scale = gram.diagonal(dim1=-2, dim2=-1).mean(-1)[:, None, None]
    unit = torch.eye(matrices.shape[-1], dtype=scale.dtype) * scale
    return bool(((gram - unit).abs() < 0.02 * scale).all())


def with_arrays(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of NumPy arrays as one of tensors."""

    @functools.wraps(function)
    def wrapped(**arguments: Any) -> Any:
        arrays = {
            name: value.detach().numpy() if torch.is_tensor(value) else value
            for name, value in arguments.items()
        }
        result = function(**arrays)
        parts = result if isinstance(result, tuple | list) else (result,)
        tensors = tuple(torch.as_tensor(part, dtype=torch.float32) for part in parts)
        return tensors if len(tensors) > 1 else tensors[0]

    return wrapped


def _far(
    calling: Calling, dim: int, of_queries: Tensor, of_keys: Tensor
) -> tuple[Tensor, Tensor, float]:
    """Matrices of far positions, and by how much they differ from those of a near one."""
    moves = 0.0
    for position in (40, 700, 5000):
        try:
            far = calling.matrices(torch.tensor([position]), dim)
        except Exception:  # a table that ends before this position
            break
        near = (of_queries, of_keys)
        moves = max(float((a - b[:1]).abs().max()) for a, b in zip(far, near, strict=True))
        if not moves <= 1e-6:
            of_queries, of_keys = (torch.cat(two) for two in zip(near, far, strict=True))
            break
    return of_queries, of_keys, moves


def _positions_first(function: Callable[..., Any]) -> bool:
    """Whether positions come before vectors, as in vLLM, where one axis holds all tokens."""
    names, _ = _required(function)
    return bool(names) and is_position(names[0])


def _mixes_rows(calling: Calling, dim: int) -> bool:
    """Whether equal rows of a batch come back unequal, at the same positions."""
    x = torch.ones(3, 2, 5, dim, dtype=torch.float32)
    positions = torch.arange(5)
    rotated = calling.turn(x, x, positions)[0]
    return float((rotated - rotated[:1]).abs().max()) > 0.05


def find_calling(
    function: Callable[..., Any], head_dim: int, rotary_dim: int | None = None
) -> Calling:
    """The first way of calling under which the function rotates vectors, or an error that helps.

    rotary_dim: the width of a table, where a model rotates a part of each head.

    A wrong shape of a table may be broadcast to nonsense, so a way under which lengths stay is
    preferred to the first that depends on the position.
    """
    tried = []
    others = list[Calling]()
    one_axis = _positions_first(function)
    widths = [head_dim] if rotary_dim in (None, head_dim) else [rotary_dim or head_dim, head_dim]
    forms = [function] if isinstance(function, nn.Module) else [function, with_arrays(function)]
    ways = itertools.chain(*(_calls(form, width) for width in widths for form in forms))
    for calling in ways:
        if others and ONE_HEAD in calling.words:  # heads that differ would not be seen
            continue
        try:
            matrices, of_keys = calling.matrices(torch.arange(FIRST_LENGTHS[0]), head_dim)
        except Exception as error:  # whatever somebody else's function raises
            tried.append(f"{calling.words}: {type(error).__name__}: {str(error)[:120]}")
            continue
        moves = max(float((m[1:] - m[:1]).abs().max()) for m in (matrices, of_keys))
        if moves <= 1e-6 and calling.kind != "none":  # positions of one page may be alike
            matrices, of_keys, moves = _far(calling, head_dim, matrices[:1], of_keys[:1])
        if moves <= 1e-6:  # not so for nan
            tried.append(f"{calling.words}: the position changes nothing")
        elif is_orthogonal(matrices) or is_orthogonal(of_keys):
            if not (one_axis and " (b, " in calling.words and _mixes_rows(calling, head_dim)):
                return calling
            others.insert(0, calling)
        else:
            others.append(calling)
    if others:
        return others[0]
    indented = partial(textwrap.fill, width=100, initial_indent="  ", subsequent_indent="    ")
    raise ValueError(
        "the function rotates nothing in any way of calling that its parameters' names suggest.\n"
        + "\n".join(indented(line) for line in tried[:6] or ["it has no parameter with a name"])
        + "\nWrap it: def adapter(x, positions): ...  with x (b, h, n, d) and positions (n,), "
        "giving x rotated"
    )
