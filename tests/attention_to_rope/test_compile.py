"""One smoke test of compiling and exporting for each group of functions."""

import runpy
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).with_name("compiled.py")


@pytest.mark.parametrize("group", runpy.run_path(str(SCRIPT))["GROUPS"])
def test_compiled_and_exported_forms_agree(group):
    done = subprocess.run(
        [sys.executable, str(SCRIPT), group], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
