"""Citations without a search of all installed packages for each.

pybtex 0.26 asks every installed package for its plugins whenever it sets an author's name or a
label, 240 times a build, which is a tenth of it. What is installed does not change meanwhile.
"""

import functools

import pybtex.plugin
from sphinx.application import Sphinx


def setup(_app: Sphinx) -> None:
    """Keep what the first search for a plugin found."""
    if not hasattr(pybtex.plugin.entry_points, "cache_info"):
        pybtex.plugin.entry_points = functools.cache(pybtex.plugin.entry_points)
