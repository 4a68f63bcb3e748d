"""Page on the keys of lengths: its equation and its sentences."""

from bookcheck.equations.checks import equation, sentences
from bookkit.models import query_scale, read_model


@equation("eq-query-scale", first_index=0)
def test_query_scale(rng):
    group = read_model("Ministral 3-8B")["layers"][0]
    given = group["query_scale"]
    # Its own rule, and others of this kind.
    changed = {
        "length": given["length"] // int(rng.integers(1, 9)),
        "strength": given["strength"] * float(rng.uniform(1, 4)),
    }
    rule = {**given, **changed}
    group = {**group, "query_scale": rule}
    between = int(rng.integers(0, 40 * rule["length"]))
    places = (between, int(rng.integers(0, 40)) * rule["length"])  # the second is a turn
    first, step = rng.normal(size=(2, 5))

    def query(position):
        return first + position * step

    def scaled(position):
        return query(position) * query_scale(group, position)

    known = {"L_0": rule["length"], r"\zeta": rule["strength"], "q": query, "q'": scaled}
    return [{"m": m, **known} for m in places]


test_sentences = sentences("deeper/lengths")(lambda rng: {})
