"""What a chapter can import: the packages that the library's installation brings along, no others.

The book's own environment has hundreds more, and a chapter that leans on one of them would fail on
the machine of a reader who has installed what the chapter tells.
"""

import re
import sys
from collections.abc import Collection
from importlib import metadata
from typing import Any

LIBRARY = "attention-to-rope"
EXTRA = "pages"
AFTER_NAME = re.compile(r"[^\w.-]")


def normal_name(requirement: str) -> str:
    """The name of a package as packaging tools compare it."""
    return re.sub(r"[-_.]+", "-", AFTER_NAME.split(requirement, maxsplit=1)[0]).lower()


def needed_packages(library: str = LIBRARY, extra: str = EXTRA, *others: str) -> set[str]:
    """The packages that an installation of the library, and of others, brings along."""
    try:
        metadata.distribution(library)
    except metadata.PackageNotFoundError:
        raise RuntimeError(
            f"{library} is not installed here, so nobody knows what its readers have: "
            "pip install -r requirements.txt"
        ) from None
    found: set[str] = set()
    waiting = [library, *others]
    while waiting:
        package = waiting.pop()
        if package in found:
            continue
        found.add(package)
        try:
            requirements = metadata.requires(package) or []
        except metadata.PackageNotFoundError:
            continue  # for another system
        for requirement in requirements:
            _, _, marker = requirement.partition(";")
            if "extra" not in marker or (package == library and extra in marker):
                waiting.append(normal_name(requirement))
    return found


def refused_modules(*others: str) -> set[str]:
    """The importable names of all packages but the library's and others, and the book's checks."""
    needed = needed_packages(LIBRARY, EXTRA, *others)
    refused = {
        module
        for module, packages in metadata.packages_distributions().items()
        if not {normal_name(package) for package in packages} & needed
    }
    return refused - {"attention_to_rope", "bookkit"} | {"bookcheck"}


class Without:
    """A finder of modules that does not find the refused packages, as where they are missing."""

    def __init__(self, finder: Any, refused: Collection[str]) -> None:
        self.finder = finder
        self.refused = refused

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        """What the finder finds, and nothing for a refused package."""
        if name.partition(".")[0] in self.refused:
            return None
        return self.finder.find_spec(name, path, target)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.finder, name)


def refuse(modules: Collection[str]) -> None:
    """Put packages out of reach of this process, those too that it has imported already."""
    for name in [name for name in sys.modules if name.partition(".")[0] in modules]:
        del sys.modules[name]
    sys.meta_path[:] = [Without(finder, modules) for finder in sys.meta_path]
