"""Which files of checks the run of misprints takes for a page."""

from bookcheck.equations.mutate import files_of


def test_the_checks_of_a_page_are_found_also_in_the_file_of_another_one():
    names = [path.name for path in files_of(["deeper/traffic"])]
    assert names == ["test_cost.py"]


def test_a_page_with_a_file_of_its_own_has_this_one():
    assert [path.name for path in files_of(["cost"])] == ["test_cost.py"]
