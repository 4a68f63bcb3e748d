"""A chapter reaches what the library's installation brings along, and nothing else.

That it is caught is tested in `test_plugin`, which runs chapters anyway.
"""

import pytest

from bookcheck.notebooks.reach import needed_packages, refused_modules


def test_the_needed_packages_are_those_of_the_wheel():
    needed = needed_packages()
    assert {"attention-to-rope", "torch", "numpy", "matplotlib", "ipython", "scipy"} <= needed
    assert not needed & {"sphinx", "jupyterlab", "nbformat"}
    refused = refused_modules()
    assert {"sphinx", "yaml", "bookcheck", "ipykernel"} <= refused
    assert "ipykernel" not in refused_modules("ipykernel")


def test_a_library_that_is_not_installed_is_named():
    with pytest.raises(RuntimeError, match="no-such-library is not installed here"):
        needed_packages("no-such-library")
