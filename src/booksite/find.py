"""Search the built site from the command line, exactly as its search box does.

    python -m booksite.find "kv cache size" "why sqrt d"
    python -m booksite.find --queries queries.json --top 3 --json
    python -m booksite.find --site _build/html/zh 键值缓存

A file of queries is a JSON list of texts, or has one query a line. The first three results of each
query are printed, with the address of the section that each leads to; `--json` prints a list with
`query` and `results` instead: `title`, `chapter`, `place`, `kind`, the text that is `shown`, and
the words that are `marked`. The site is built with `make book`; the scripts and the data are its
own, so nothing else is ranked or shown.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from bookformat.paths import BUILD
from booksite.node.packages import NODE

RUNNER = Path(__file__).with_name("find.mjs")
SITE = BUILD / "html"


def find(queries: list[str], site: Path = SITE) -> list[list[dict[str, Any]]]:
    """All results of each query, best first, as the box of this site ranks them."""
    folder = site / "_static"
    if not (folder / "search-data.js").is_file():
        raise FileNotFoundError(f"{site} is no built site: run make book, or name it with --site")
    done = subprocess.run(
        [NODE, RUNNER],
        input=json.dumps({"folder": str(folder.resolve()), "queries": queries}),
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"the search of {site} failed:\n{done.stderr.strip()}")
    answers: list[list[dict[str, Any]]] = json.loads(done.stdout)
    return answers


def place(result: dict[str, Any]) -> str:
    """Where a result leads to, as a link of the site's opening page has it."""
    anchor = f"#{result['anchor']}" if result["anchor"] else ""
    return f"{result['page']}.html{anchor}"


def read_queries(file: Path) -> list[str]:
    """A JSON list of texts, or the lines of a file that are not empty."""
    text = file.read_text(encoding="utf-8")
    if not text.lstrip().startswith("["):
        return [line.strip() for line in text.splitlines() if line.strip()]
    queries = json.loads(text)
    if not all(isinstance(query, str) for query in queries):
        raise ValueError(f"{file}: expected a JSON list of texts, [“kv cache”, …]")
    return list(queries)


def main(arguments: list[str] | None = None) -> None:
    """Print the first results of each query."""
    parser = argparse.ArgumentParser(prog="python -m booksite.find", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("query", nargs="*", help="what a reader types")
    parser.add_argument("--queries", type=Path, help="a file of queries")
    parser.add_argument("--top", type=int, default=3, help="how many results of each query")
    parser.add_argument("--site", type=Path, default=SITE, help="the folder of the built site")
    parser.add_argument("--json", action="store_true", help="print JSON")
    given = parser.parse_args(arguments)
    queries = [*given.query, *(read_queries(given.queries) if given.queries else [])]
    if not queries:
        parser.error("there is no query")
    try:
        answers = find(queries, given.site)
    except FileNotFoundError as error:
        sys.exit(str(error))
    kept = ("title", "chapter", "kind", "shown", "marked")
    rows = [
        {
            "query": query,
            "results": [
                {"place": place(one), **{key: one[key] for key in kept}}
                for one in found[: given.top]
            ],
        }
        for query, found in zip(queries, answers, strict=True)
    ]
    if given.json:
        print(json.dumps(rows, ensure_ascii=False, indent=1))
        return
    for row in rows:
        print(row["query"])
        for number, one in enumerate(row["results"], 1):
            chapter = f"  [{one['chapter']}]" if one["chapter"] else ""
            print(f"  {number}. {one['title']}{chapter}  {one['place']}")
        if not row["results"]:
            print("  nothing")


if __name__ == "__main__":
    main()
