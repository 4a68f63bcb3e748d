// One formula a line: {"tex": ..., "display": ...} in, {"html": ...} or {"error": ...} out.
const katex = require(process.argv[2]);
const readline = require("node:readline");

function render({ tex, display }) {
  try {
    const html = katex.renderToString(tex, {
      displayMode: display,
      throwOnError: true,
      strict: "error",
      trust: false,
    });
    return { html };
  } catch (error) {
    return { error: error.message };
  }
}

readline.createInterface({ input: process.stdin }).on("line", (line) => {
  process.stdout.write(JSON.stringify(render(JSON.parse(line))) + "\n");
});
