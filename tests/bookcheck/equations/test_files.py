"""Files of checks are loaded as they stand."""

import os

from bookcheck.equations.files import load


def test_a_file_that_changed_within_the_same_second_is_loaded_anew(tmp_path, monkeypatch):
    monkeypatch.setattr("sys.dont_write_bytecode", False)
    file = tmp_path / "shared_x.py"
    for number in (1, 2):
        file.write_text(f"NUMBER = {number}\n", encoding="utf-8")
        os.utime(file, (10**9, 10**9))
        assert number == load(file).NUMBER
