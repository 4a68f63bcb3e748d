"""A command that passed is left out while nothing that it reads has changed."""

import subprocess
import sys

import pytest

from bookcheck import step
from bookcheck.cache import files_below
from bookcheck.paths import CHAPTERS, ROOT, SOURCES

COUNTING = "import pathlib, sys; p = pathlib.Path(sys.argv[1]); p.write_text(p.read_text() + 'x')"


@pytest.fixture
def root(tmp_path, monkeypatch):
    for name in (*step.SETTINGS, "counted"):
        (tmp_path / name).write_text("", encoding="utf-8")
    (tmp_path / "rooms").mkdir()
    (tmp_path / "rooms" / "one.py").write_text("1", encoding="utf-8")
    monkeypatch.delenv("AGAIN", raising=False)
    return tmp_path


def do(root, code=COUNTING):
    """Run a step that counts how often it runs; return its status and the count."""
    counted = root / "counted"
    command = [sys.executable, "-c", code, str(counted)]
    status = step.main(["name", "rooms", "--", *command], root, root / "kept")
    return status, len(counted.read_text(encoding="utf-8"))


def test_what_passed_is_not_run_again(root, capsys):
    assert do(root) == (0, 1)
    assert do(root) == (0, 1)
    assert "passed before" in capsys.readouterr().out


@pytest.mark.parametrize("place", ["rooms/one.py", "rooms/two.py", "requirements.txt"])
def test_a_change_of_what_it_reads_runs_it_again(root, place):
    do(root)
    (root / place).write_text("2", encoding="utf-8")
    assert do(root) == (0, 2)


def test_a_file_that_moved_or_another_python_runs_it_again(root, monkeypatch):
    do(root)
    (root / "rooms" / "deep").mkdir()
    (root / "rooms" / "one.py").rename(root / "rooms" / "deep" / "one.py")
    assert do(root) == (0, 2)
    monkeypatch.setattr(step.platform, "python_version", lambda: "3.99.0")
    assert do(root) == (0, 3)


def test_what_is_installed_or_compiled_beside_the_sources_does_not_count(root):
    do(root)
    for name in (
        "__pycache__/one.pyc",
        "node/node_modules/katex/katex.js",
        "book.egg-info/PKG-INFO",
        "node/.installing.lock",
    ):
        path = root / "rooms" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("made", encoding="utf-8")
    assert do(root) == (0, 1)


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="only git knows what is made")
def test_what_git_ignores_does_not_count():
    places = [SOURCES, ROOT / "tests", CHAPTERS]
    names = "\0".join(str(path) for path in (*files_below(places), SOURCES / "book.egg-info/a"))
    asked = ["git", "check-ignore", "--no-index", "--stdin", "-z"]
    ignored = subprocess.run(
        asked, cwd=ROOT, input=names, capture_output=True, encoding="utf-8", check=True
    )
    # The last one is not there: it shows that git would have named what it ignores.
    assert ignored.stdout.split("\0")[:-1] == [str(SOURCES / "book.egg-info/a")]


def test_a_book_below_a_folder_of_packages_counts_all_the_same(tmp_path):
    source = tmp_path / "node_modules" / "book.py"
    source.parent.mkdir()
    source.touch()
    assert files_below([source.parent]) == [source]


def test_it_is_run_again_when_asked(root, monkeypatch):
    do(root)
    monkeypatch.setenv("AGAIN", "yes")
    assert do(root) == (0, 2)


def test_what_failed_is_run_again_and_its_status_told(root):
    failing = COUNTING + "; sys.exit(3)"
    assert do(root, failing) == (3, 1)
    assert do(root, failing) == (3, 2)


@pytest.mark.parametrize("words", [[], ["name", "rooms"], ["name", "rooms", "--"], ["name", "--"]])
def test_a_step_without_its_parts_is_told_what_is_expected(root, words):
    with pytest.raises(SystemExit, match=r"NAME FILE\.\.\. -- COMMAND"):
        step.main(words, root, root / "kept")


def test_a_place_that_is_not_there_is_named(root):
    with pytest.raises(SystemExit, match="there is no nowhere"):
        step.main(["name", "nowhere", "--", "true"], root, root / "kept")
