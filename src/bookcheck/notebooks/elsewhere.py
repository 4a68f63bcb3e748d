"""Do the chapters hold on another processor? `python -m bookcheck.notebooks.elsewhere --salts 2`

Runs chapters again with the last bit of every matrix product and exponential changed, each salt
another way, and compares with the stored outputs. What differs rests on rounding: mend the claim.
A cell that cannot hold (it counts bytes or graphs, which the imitation disturbs) says so in its
metadata: `{"bookcheck": {"elsewhere": "the reason"}}`. A chapter that held is not run again while
chapter, code, packages and Python are the same.

`--record FILE` imitates nothing: it runs all chapters and the library's tests on this machine as it
is, and adds one line with date, versions and results to the file.
"""

import argparse
import json
import os
import platform
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree
from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

from bookcheck.cache import Notes, digest_of, files_below
from bookcheck.notebooks.files import page_name
from bookcheck.paths import CHAPTERS, KEPT, ROOT, SOURCES
from bookcheck.warm import PLAIN_VARIABLE

KERNEL = Path(__file__).parent / "elsewhere_kernel"
LIBRARY_TESTS = ROOT / "tests" / "attention_to_rope"
VERDICT = re.compile(r"(?:PASSED|FAILED|ERROR|SKIPPED)\S* (.+?)::")


class Result(NamedTuple):
    """What one run of a chapter or of a file of tests gave."""

    name: str
    salt: int
    passed: int
    failed: list[str]
    seconds: float

    def __str__(self) -> str:
        told = "holds" if not self.failed else "DIFFERS: " + ", ".join(self.failed)
        salt = f"salt {self.salt}, " if self.salt else ""
        return f"{self.name} ({salt}{self.passed} passed, {self.seconds:.0f} s) {told}"


def all_chapters() -> list[Path]:
    """Every chapter, the deeper ones too."""
    return sorted(CHAPTERS.rglob("*.ipynb"))


def chosen(names: list[str]) -> list[Path]:
    """The named chapters (`02` means both of that number), or all."""
    if not names:
        return all_chapters()
    found = []
    for name in names:
        fits = [p for p in all_chapters() if name in (p.stem, p.stem[:2], p.name, str(p))]
        fits = fits or [Path(name)] * Path(name).is_file()
        if not fits:
            known = ", ".join(path.stem for path in all_chapters())
            raise SystemExit(f"there is no chapter {name!r}; the chapters are: {known}")
        found += fits
    return found


def run(paths: Sequence[Path], salt: int = 0, jobs: int = 1) -> list[Result]:
    """Run chapters or files of tests; with a salt, on the imitated processor."""
    environment = dict(os.environ, OMP_NUM_THREADS="1")
    if salt:
        before = environment.get("PYTHONPATH", "")
        environment["PYTHONPATH"] = os.pathsep.join(filter(None, [str(KERNEL), before]))
        environment["ELSEWHERE_SALT"] = str(salt)
    else:
        # Each kernel starts from nothing, as a reader's does.
        environment[PLAIN_VARIABLE] = "yes"
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "report.xml")
        command = [sys.executable, "-m", "pytest", "-c", str(ROOT / "pyproject.toml"), "-v"]
        workers = min(jobs, len(paths))
        workers = 0 if workers == 1 else workers  # one at a time needs no second process
        command += ["-n", str(workers), "-p", "no:cacheprovider", f"--junitxml={report}"]
        # The older form of a report names the file of each test.
        command += ["-o", "junit_family=xunit1"]
        with subprocess.Popen(
            [*command, *map(str, paths)],
            cwd=ROOT,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
        ) as running:
            said = follow(running.stdout or [], len(paths))
        # 5: nothing to run, as where all tests of a file need a GPU.
        if running.returncode not in (0, 1, 5) or not report.exists():
            raise RuntimeError(f"pytest could not run the chapters:\n{said}")
        return read_report(report, paths, salt)


def follow(lines: Iterable[str], count: int) -> str:
    """Name each file when its first result is there; return all that was said."""
    said, begun = [], set()
    for line in lines:
        said.append(line)
        verdict = VERDICT.search(line)
        # nbval names its cells without the suffix, the values of prose have it.
        name = verdict[1].removesuffix(".ipynb") if verdict else None
        if name and name not in begun:
            begun.add(name)
            print(f"[{len(begun)}/{count}] {name} ...", file=sys.stderr, flush=True)
    return "".join(said)


def read_report(report: Path, paths: Sequence[Path], salt: int) -> list[Result]:
    """For each file what passed, and for each other test its name and the line that says why."""
    cases = defaultdict(list)
    for case in ElementTree.parse(report).iter("testcase"):
        cases[case.get("file")].append(case)
    results = []
    for path in paths:
        shown = Path(os.path.relpath(path, ROOT)).as_posix()
        passed, failed, seconds = 0, [], 0.0
        for case in cases[shown]:
            seconds += float(case.get("time", 0))
            problems = [child for child in case if child.tag in ("failure", "error")]
            if problems:
                why = problems[0].text or ""
                lines = [line.strip() for line in why.splitlines() if "the cell now" in line]
                failed.append(": ".join([case.get("name", "?"), *lines[:1]]))
            elif case.find("skipped") is None:
                passed += 1
        if path.suffix == ".ipynb" and not cases[shown]:
            raise RuntimeError(f"no cell of {shown} was run")
        name = shown if path.is_relative_to(ROOT) else path.name
        results.append(Result(name, salt, passed, failed, seconds))
    return results


def state_of(chapter: Path, salt: int) -> str:
    """Changes with everything on which an imitated run of a chapter depends."""
    rooms = ("attention_to_rope", "bookkit", "bookcheck/notebooks", "bookcheck/warm.py")
    settings = [ROOT / "pyproject.toml", ROOT / "requirements.txt"]
    facts = machine()
    del facts["date"]
    files = [chapter, *settings, *files_below(SOURCES / room for room in rooms)]
    return digest_of(files, str(salt), *facts.values())


def imitated(
    chapters: Sequence[Path], salt: int, jobs: int, folder: Path = KEPT / "elsewhere"
) -> list[Result]:
    """Run chapters on an imitated processor, but those that held before as they are now."""
    notes = Notes(folder / str(salt))
    names = {chapter: page_name(chapter).replace("/", "__") for chapter in chapters}
    states = {chapter: state_of(chapter, salt) for chapter in chapters}
    again = [chapter for chapter in chapters if not notes.holds(names[chapter], states[chapter])]
    results = run(again, salt, jobs) if again else []
    for chapter, result in zip(again, results, strict=True):
        if not result.failed:
            notes.note(names[chapter], states[chapter])
    return results


def machine() -> dict[str, str]:
    """Date, versions and processor."""
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "machine": platform.machine(),
        "system": platform.system(),
        "python": platform.python_version(),
        "torch": version("torch"),
        "numpy": version("numpy"),
    }


def record(file: Path, results: list[Result]) -> None:
    """Add one line: this machine, and what each chapter and the tests gave on it."""
    row: dict[str, Any] = {
        **machine(),
        "command": "python -m bookcheck.notebooks.elsewhere --record FILE",
        "results": {one.name: {"passed": one.passed, "failed": one.failed} for one in results},
    }
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("a", encoding="utf-8") as lines:
        lines.write(json.dumps(row, ensure_ascii=False) + "\n")


def main(arguments: list[str] | None = None) -> int:
    """Run everything asked for, print one line each; 1 if anything differs."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("chapter", nargs="*", help="02, 02-why-root-d or a path; all if none")
    parser.add_argument("--salts", type=int, default=1, help="imitated processors (default 1)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="chapters at a time")
    parser.add_argument("--record", type=Path, metavar="FILE", help="imitate nothing, add a row")
    given = parser.parse_args(arguments)
    chapters = chosen(given.chapter)
    results: list[Result] = []
    if given.record:
        tests = sorted(LIBRARY_TESTS.rglob("test_*.py"))
        results = run([*tests, *chapters], jobs=given.jobs)
        print(*results, sep="\n", flush=True)
        record(given.record, results)
    else:
        # Who names a chapter wants to see it run.
        look = run if given.chapter else imitated
        for salt in range(1, given.salts + 1):
            found = look(chapters, salt, given.jobs)
            print(*found, sep="\n", flush=True)
            results += found
        before = given.salts * len(chapters) - len(results)
        if before:
            print(f"{before} runs held before, with the same chapter, code and packages")
    differing = sum(bool(result.failed) for result in results)
    print(f"{len(results) - differing} of {len(results)} runs hold")
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
