// Runs the built site's own search without a browser.
// Argument: the folder of the site. Input: JSON list of queries; output: for each the results, the
// best first, as [page, title, anchor].
"use strict";
const { readFileSync } = require("node:fs");
const { join } = require("node:path");
const { createContext, runInContext } = require("node:vm");

const site = process.argv[2];
const context = createContext({
  document: { getElementById: () => null },
  // What doctools.js and sphinx_highlight.js bring in a browser.
  _ready: () => {},
  _: (text) => text,
  SPHINX_HIGHLIGHT_ENABLED: false,
});
for (const file of ["_static/language_data.js", "_static/searchtools.js", "searchindex.js"]) {
  runInContext(readFileSync(join(site, file), "utf8"), context, { filename: file });
}
const search = runInContext("(query) => Search._performSearch(...Search._parseQuery(query))", context);
const answers = JSON.parse(readFileSync(0, "utf8")).map((query) =>
  search(query)
    .reverse()
    .map(([page, title, anchor]) => [page, title, anchor]),
);
process.stdout.write(JSON.stringify(answers));
