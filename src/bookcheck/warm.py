"""Programs that need not import torch: forks of one process that has the large packages loaded.

Starting Python and importing torch, Sphinx or Jupyter's kernel takes seconds of work, and the tests
start about eighty programs. On Linux each is a fork of a process that has imported them and done
nothing else, so modules, random numbers and settings are those of a fresh start. Other systems
start programs the plain way.
"""

import gc
import multiprocessing
import os
import runpy
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from bookcheck.paths import ROOT

# What every chapter imports, its kernel, and torch's compiler, which optimisers load. None of them
# starts a thread, which a fork would lose. Who forks other programs adds to it before the first.
PRELOADED = [
    "bookcheck", "torch", "torch._dynamo", "attention_to_rope", "bookkit.figures",
    "bookkit.tables", "ipykernel.kernelapp", "ipykernel.ipkernel",
    "matplotlib_inline.backend_inline",
]  # fmt: skip


def possible() -> bool:
    """Whether programs are forked here."""
    return sys.platform == "linux"


def start(target: Callable[..., None], *arguments: Any) -> BaseProcess:
    """Call a function in a fork of the loaded process, which the first call starts."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(PRELOADED)
    process = context.Process(target=target, args=arguments)
    process.start()
    return process


def settle(folder: str, environment: Mapping[str, str]) -> None:
    """Give this fork the folder, the variables and the places of modules of a fresh start."""
    # What it was born with stays to its end: looking for garbage there would copy all of it.
    gc.freeze()
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    added = environment.get("PYTHONPATH", "").split(os.pathsep)
    # What `python -m pytest` has put there for itself goes.
    sys.path[:] = [p for p in sys.path if p not in ("", str(ROOT)) or p in added]


def _run(
    program: str | Path,
    arguments: list[str],
    folder: str,
    environment: Mapping[str, str],
    said: Sequence[str],
) -> None:
    # Who kills its group kills what it has started, and not the tests.
    os.setsid()
    for stream, file in zip((sys.stdout, sys.stderr), said, strict=True):
        os.dup2(os.open(file, os.O_WRONLY), stream.fileno())
    settle(folder, environment)
    sys.argv = [str(program), *arguments]
    if isinstance(program, Path):
        runpy.run_path(str(program), run_name="__main__")
    else:
        runpy.run_module(program, run_name="__main__", alter_sys=True)


def begin(
    program: str | Path,
    *arguments: str | Path,
    folder: Path = ROOT,
    environment: Mapping[str, str] = os.environ,
    said: Sequence[str] = (os.devnull, os.devnull),
) -> BaseProcess:
    """Start a program in a fork, as the leader of its group; its words go to two files."""
    words = [str(argument) for argument in arguments]
    return start(_run, program, words, str(folder), dict(environment), said)


def run(
    program: str | Path,
    *arguments: str | Path,
    folder: Path = ROOT,
    environment: Mapping[str, str] = os.environ,
) -> subprocess.CompletedProcess[str]:
    """`python -m program arguments`, or `python program …` for a path; what it said is kept."""
    by_name = ["-m"] if isinstance(program, str) else []
    command = [sys.executable, *by_name, str(program), *map(str, arguments)]
    if not possible():
        return subprocess.run(
            command, cwd=folder, env=dict(environment), capture_output=True, encoding="utf-8",
            check=False,
        )  # fmt: skip
    with tempfile.TemporaryDirectory() as place:
        said = [Path(place, name) for name in ("stdout", "stderr")]
        for file in said:
            file.touch()
        names = [str(file) for file in said]
        process = begin(program, *arguments, folder=folder, environment=environment, said=names)
        process.join()
        stdout, stderr = (file.read_text(encoding="utf-8") for file in said)
    return subprocess.CompletedProcess(command, process.exitcode or 0, stdout, stderr)
