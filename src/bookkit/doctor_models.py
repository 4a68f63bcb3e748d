"""The rotations of the table of models as the data file of the doctor, which needs no bookkit.

After a change of models.jsonl: `python -m bookkit.doctor_models`.
"""

import json
from pathlib import Path
from typing import Any

import rope_doctor
from bookkit.models import Model, read_models, rotated_layers

FILE = Path(rope_doctor.__file__).parent / "models.jsonl"


def rotations(model: Model) -> list[dict[str, Any]]:
    """Each rotation of a model once: name, length of a head, layout and rope parameters."""
    rows: list[dict[str, Any]] = []
    for group in rotated_layers(model):
        if group.get("learned"):  # the weights hold factors of the frequencies
            continue
        row = {
            "head_dim": group.get("rotary") or group["head_dim"],
            "latent": "rotary" in group,
            "layout": model["layout"],
            "rope": group["rope"],
            "window": group.get("window"),
        }
        alike = [{**other, "window": None} for other in rows]
        if {**row, "window": None} not in alike:
            rows.append(row)
    named = []
    for row in rows:
        window = row.pop("window")
        kind = "" if len(rows) == 1 else ", with a window" if window else ", without a window"
        named.append({"name": model["name"] + kind, **row})
    names = [row["name"] for row in named]
    if len(set(names)) < len(names):  # kinds of layers that only the base tells apart
        for row in named:
            row["name"] = f"{model['name']}, base {row['rope']['rope_theta']:g}"
    return named


def text() -> str:
    """The data file: one rotation a line."""
    rows = [row for model in read_models() for row in rotations(model)]
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


if __name__ == "__main__":
    FILE.write_text(text(), encoding="utf-8")
    print(FILE)
