// Runs functions of the interactive figures without a browser.
// Arguments: the folder of the scripts, and in a translated book the file of its words.
// Input: JSON [{widget, call, arguments}]; output: the results.
"use strict";
const { readFileSync } = require("node:fs");
const { join } = require("node:path");
const { runInThisContext } = require("node:vm");

const [folder, ...words] = process.argv.slice(2);

function run(file) {
  runInThisContext(readFileSync(file, "utf8"), { filename: file });
}

const load = (name) => run(join(folder, `${name}.js`));

words.forEach(run);
load("shared");
const answers = JSON.parse(readFileSync(0, "utf8")).map((request) => {
  const { widget } = request;
  if (!bookWidgets[widget]) load(widget);
  const figure = bookWidgets[widget];
  const first = {
    picture: () => bookWidgets.picture(widget),
    rightAnswer: () => figure.guess.right(figure.compute(bookWidgets.initial(widget))),
  };
  return { ...figure, ...first }[request.call](...request.arguments);
});
process.stdout.write(JSON.stringify(answers));
