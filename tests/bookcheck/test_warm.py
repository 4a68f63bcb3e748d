"""A forked program is what a started one is: same words, same status, nothing left from others."""

import os
import signal
import subprocess
import sys
import time

import pytest

from bookcheck import warm

forking = pytest.mark.skipif(not warm.possible(), reason="programs are started the plain way here")
PROGRAM = """
import json, os, sys
print(json.dumps([os.getcwd(), sys.argv[1:], os.environ.get("WORD"), __name__]), flush=True)
print("a complaint", file=sys.stderr)
import json.tool
assert not hasattr(json, "left_behind")
json.left_behind = True
sys.exit(3)
"""


def test_a_fork_says_what_a_started_program_says_twice(tmp_path, monkeypatch):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM, encoding="utf-8")
    options = {"folder": tmp_path, "environment": os.environ | {"WORD": "ß"}}
    forked = [warm.run(program, "a", tmp_path, **options) for _ in range(2)]
    monkeypatch.setattr(warm, "possible", lambda: False)
    started = warm.run(program, "a", tmp_path, **options)
    for done in (*forked, started):
        assert (done.returncode, done.stderr) == (3, "a complaint\n")
        assert done.stdout == started.stdout
        assert '"\\u00df", "__main__"' in done.stdout


def test_a_module_runs_by_its_name():
    done = warm.run("bookcheck.notebooks.execute", "--help")
    assert done.returncode == 0
    assert "--values" in done.stdout
    assert warm.run("bookcheck.no_such_module").returncode != 0


TESTS = """
import os, sys, time
from pathlib import Path
from bookcheck import warm
from bookcheck.notebooks.forked import ForkedKernel
from jupyter_client.connect import write_connection_file
warm.PRELOADED.clear()  # they would take longer than the test
file, _ = write_connection_file(sys.argv[1])
kernel = ForkedKernel(["-f", file], os.getcwd(), dict(os.environ))
print(kernel.pid, flush=True)
time.sleep(600)
"""


def gone(number):
    try:
        return open(f"/proc/{number}/stat", "rb").read().rsplit(b")")[-1].split()[0] == b"Z"
    except FileNotFoundError:
        return True


@forking
def test_kernels_end_with_the_tests_that_were_killed(tmp_path):
    tests = subprocess.Popen(
        [sys.executable, "-c", TESTS, str(tmp_path / "kernel.json")], stdout=subprocess.PIPE
    )
    kernel = int(tests.stdout.readline())
    assert not gone(kernel)
    tests.send_signal(signal.SIGKILL)
    tests.wait()
    tests.stdout.close()
    limit = time.monotonic() + 120
    while not gone(kernel) and time.monotonic() < limit:
        time.sleep(0.2)
    assert gone(kernel)
