// Runs the built site's own search without a browser.
// Argument: the folder of the site. Input: JSON list of queries; output: for each the results, the
// best first, as [page, title, anchor].
"use strict";
const { readFileSync } = require("node:fs");
const { join } = require("node:path");
const { createContext, runInContext } = require("node:vm");

const site = process.argv[2];
const context = createContext({});
for (const file of ["minisearch.js", "search-data.js", "search.js"]) {
  runInContext(readFileSync(join(site, "_static", file), "utf8"), context, { filename: file });
}
const find = runInContext("bookSearch.makeSearch(MiniSearch, bookSections)", context);
const answers = JSON.parse(readFileSync(0, "utf8")).map((query) =>
  find(query).map(({ page, title, anchor }) => [page, title, anchor ? `#${anchor}` : ""]),
);
process.stdout.write(JSON.stringify(answers));
