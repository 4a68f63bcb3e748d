"""The command `jupyter-book`, as where only the packages of requirements-book.txt are installed."""

import re
import sys
from importlib.metadata import packages_distributions
from pathlib import Path

LIST = Path(__file__).parents[2] / "requirements-book.txt"


def canonical(name):
    return re.sub(r"[-_.]+", "-", name).lower()


if __name__ == "__main__":
    names = re.findall(r"^([\w.-]+)==", LIST.read_text(encoding="utf-8"), re.MULTILINE)
    known = {*map(canonical, names), "pip", "setuptools"}
    absent = {
        module
        for module, owners in packages_distributions().items()
        if not {*map(canonical, owners)} & known
    }
    assert {"torch", "numpy", "matplotlib", "pytest"} <= absent
    # To import one of them is an error.
    sys.modules.update(dict.fromkeys(absent))
    from jupyter_book.cli.main import main

    main(prog_name="jupyter-book")
