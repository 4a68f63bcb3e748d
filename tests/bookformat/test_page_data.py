"""Pages that read the same stored data are named."""

from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from bookformat.contents import book_pages
from bookformat.notebooks import stored_form
from bookformat.page_data import KIT, data_of, others_that_read, readers_of


def write(folder, name, *cells):
    path = folder / f"{name}.ipynb"
    path.write_text(stored_form(new_notebook(cells=list(cells))), encoding="utf-8")
    return path


def test_data_are_found_in_code_values_captions_and_checks(tmp_path):
    caption = {"mystnb": {"figure": {"caption": 'It is {value}`3 = reported("x", "y")`.'}}}
    cells = [
        new_markdown_cell('{value}`8 = read_model("phi-4")["heads"]` and {check}`book_model()`'),
        new_code_cell('CALLS = "speed/gpu-calls.jsonl"\nrows = recorded(CALLS)', metadata=caption),
    ]
    found = {file.relative_to(KIT).as_posix() for file in data_of(write(tmp_path, "1", *cells))}
    assert found == {
        "models.jsonl",
        "published.jsonl",
        "results/speed/gpu-calls.jsonl",
        "trained/model.safetensors",
    }


def test_other_pages_are_named_once_and_only_for_shared_data(tmp_path):
    write(tmp_path, "01-a", new_code_cell('recorded("x.jsonl")\nread_models()'))
    write(tmp_path, "02-b", new_code_cell('recorded("x.jsonl")\nrecorded("x.jsonl", seed=1)'))
    write(tmp_path, "03-c", new_code_cell('recorded("z.jsonl")'))
    said = "If you changed src/bookkit/results/x.jsonl, these pages show its numbers too; run:\n"
    assert others_that_read(["01-a"], tmp_path) == f"{said}  make check PAGE='02-b'"
    assert others_that_read(["01-a", "02-b"], tmp_path) == ""
    assert others_that_read(["03-c"], tmp_path) == ""


def test_a_new_model_concerns_the_chapter_that_counts_all_models():
    line = others_that_read(["models"]).splitlines()[1]
    assert "many-heads" in line  # by a value that counts
    assert "which-encoding" in line
    assert "deeper/keep-less" in line


def test_every_record_that_a_page_reads_is_found():
    assert [file for file in readers_of() if not file.is_file()] == []
    for path in book_pages():
        if "recorded(" in path.read_text(encoding="utf-8"):
            assert [file for file in data_of(path) if "results" in file.parts], path.name
