// One formula a line: {"tex", "display"} in, {"html"} or {"error"} out.
"use strict";
const katex = require(process.argv[2]);
const readline = require("node:readline");

// The source of the formula in the hidden copy, which nobody sees or hears.
const SOURCE = /<annotation encoding="application\/x-tex">.*?<\/annotation>/s;

function render({ tex, display }) {
  try {
    const html = katex.renderToString(tex, { displayMode: display, strict: "error", throwOnError: true });
    return { html: html.replace(SOURCE, "") };
  } catch (error) {
    return { error: error.message };
  }
}

readline.createInterface({ input: process.stdin }).on("line", (line) => {
  process.stdout.write(JSON.stringify(render(JSON.parse(line))) + "\n");
});
