"""What is kept is kept whole, and is computed again when its files changed."""

import contextlib
import multiprocessing

from bookcheck import cache


def test_what_is_kept_depends_on_the_content_of_its_files(tmp_path):
    source, folder = tmp_path / "source", tmp_path / "kept"
    asked = []

    def value(text):
        source.write_text(text, encoding="utf-8")
        digest = cache.digest_of([source], "word")
        return cache.kept("name", digest, lambda: asked.append(text) or text, folder)

    assert [value(text) for text in ("a", "a", "b", "b", "a")] == ["a", "a", "b", "b", "a"]
    assert asked == ["a", "b", "a"]
    assert cache.digest_of([source], "word") != cache.digest_of([source], "other")


def test_a_writer_that_is_stopped_leaves_what_was_there(tmp_path):
    path = tmp_path / "file"
    cache.write_whole(path, "whole")
    with contextlib.suppress(KeyboardInterrupt), cache.whole_file(path) as temporary:
        temporary.write_text("ha", encoding="utf-8")
        raise KeyboardInterrupt
    assert path.read_text(encoding="utf-8") == "whole"
    assert list(tmp_path.iterdir()) == [path]


def write_often(path, letter):
    for _ in range(50):
        cache.write_whole(path, letter * 100_000)


def test_two_writers_at_once_leave_the_work_of_one(tmp_path):
    path = tmp_path / "file"
    cache.write_whole(path, "a" * 100_000)
    writers = [multiprocessing.Process(target=write_often, args=(path, letter)) for letter in "ab"]
    for writer in writers:
        writer.start()
    while any(writer.is_alive() for writer in writers):
        text = path.read_text(encoding="utf-8")
        assert len(text) == 100_000
        assert len(set(text)) == 1
    for writer in writers:
        writer.join()
        assert writer.exitcode == 0
    assert list(tmp_path.iterdir()) == [path]


def test_a_kept_file_that_was_cut_short_is_computed_again(tmp_path):
    """As a full disk, or a version without `whole_file`, may leave it."""
    (tmp_path / "name.json").write_text('{"digest": "d", "val', encoding="utf-8")
    assert cache.kept("name", "d", lambda: 7, tmp_path) == 7
