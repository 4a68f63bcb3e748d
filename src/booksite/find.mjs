// Searches the built site as its search box does, without a browser.
// Input: JSON {folder, queries}, the first with the site's scripts; output: for each query, all results.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { runInThisContext } from "node:vm";

const { folder, queries } = JSON.parse(readFileSync(0, "utf8"));
// The Chinese site has words.js, by which the search knows what Chinese readers call things.
for (const name of ["words.js", "minisearch.js", "search-data.js", "search.js"]) {
  const file = join(folder, name);
  if (name === "words.js" && !existsSync(file)) continue;
  // A library that finds no `module` is a global, as in a page.
  runInThisContext(readFileSync(file, "utf8"), { filename: file });
}
const find = await bookSearch.makeSearch(MiniSearch, bookSections);
const answers = queries.map((query) =>
  find(query).map(({ page, anchor, title, chapter, kind, text, words, called, matched }) => {
    const shown = bookSearch.snippet(text, matched, `${words} ${called}`);
    const parts = [title, chapter].flatMap((part) => bookSearch.snippet(part, matched)).concat(shown);
    const marked = parts.flatMap((part) => part.mark ?? []);
    return { page, anchor, title, chapter, kind, shown: shown.map((part) => part.mark ?? part).join(""), marked };
  }),
);
process.stdout.write(JSON.stringify(answers));
