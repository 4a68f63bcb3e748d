"""Move controls in Chromium and read what the page then shows."""

import json
import subprocess
from pathlib import Path
from typing import Any

from bookcheck.gates.browser import find_chromium
from bookcheck.node.packages import NODE, ensure_packages
from bookcheck.paths import NODE_ROOM

SCRIPT = Path(__file__).with_name("controls.mjs")


def move_controls(page: Path, steps: list[dict[str, Any]], **settings: Any) -> dict[str, Any]:
    """Open a page from disk, do the steps, and return what it showed after each.

    A step moves an interactive figure, {"widget": "rotation", "set": {"m": 3}}, or acts on any
    element, {"act": [["click", "button"]], "read": "p"}.
    """
    ensure_packages(NODE_ROOM)
    everything = {
        "address": page.resolve().as_uri(),
        "chromium": find_chromium(),
        "modules": str(NODE_ROOM),
        "width": 1280,
        "height": 900,
        "scheme": "light",
        "steps": steps,
        **settings,
    }
    result = subprocess.run(
        [NODE, SCRIPT, json.dumps(everything)], capture_output=True, text=True, check=False
    )
    if result.returncode:
        raise RuntimeError(f"the browser run ended early:\n{result.stderr.strip()}")
    shown: dict[str, Any] = json.loads(result.stdout)
    return shown
