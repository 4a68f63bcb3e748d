"""What a reader wrote in the page, step by step, put together with the book's solution."""

import linecache
from collections.abc import Iterable
from pathlib import Path

from bookkit.workshop.probes import Names, functions_of

SOLUTION = Path(__file__).with_name("solution.py")


def names_of_texts(texts: Iterable[tuple[int, str]], checked: int = 0) -> Names:
    """The reader's functions; those of a step that they have not written are the book's.

    A check is of the reader's functions alone: where the text of the step that is `checked` has not
    all of them, none takes their place. Without a check (0) every text must have its functions.
    """
    names: Names = {"__name__": "my_model"}
    exec(SOLUTION.read_text(encoding="utf-8"), names)
    for step, text in texts:
        book = {function: names.pop(function, None) for function in functions_of(step)}
        file = f"step {step}"
        linecache.cache[file] = len(text), None, text.splitlines(keepends=True), file
        exec(compile(text, file, "exec"), names)
        lacking = [function for function in book if function not in names]
        if lacking and not checked:
            raise NotImplementedError(f"step {step}: {lacking[0]}")
        if step != checked:
            names.update({function: book[function] for function in lacking})
    return names
