// Runs functions of the interactive figures without a browser.
// Argument: the folder of the scripts. Input: JSON [{widget, call, arguments}]; output: the results.
"use strict";
const { readFileSync } = require("node:fs");
const { join } = require("node:path");
const { runInThisContext } = require("node:vm");

const folder = process.argv[2];

function load(name) {
  const file = join(folder, `${name}.js`);
  runInThisContext(readFileSync(file, "utf8"), { filename: file });
}

load("shared");
const answers = JSON.parse(readFileSync(0, "utf8")).map((request) => {
  const { widget } = request;
  if (!bookWidgets[widget]) load(widget);
  const holder = request.call === "picture" ? { picture: () => bookWidgets.picture(widget) } : bookWidgets[widget];
  return holder[request.call](...request.arguments);
});
process.stdout.write(JSON.stringify(answers));
