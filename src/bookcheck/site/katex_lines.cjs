// One formula a line: {"tex", "display"} in, {"html"} or {"error"} out.
"use strict";
const katex = require(process.argv[2]);
const readline = require("node:readline");

// The source of the formula in the hidden copy, which nobody sees or hears.
const SOURCE = /<annotation encoding="application\/x-tex">.*?<\/annotation>/s;

// In a sentence, a line may end after a sign of the formula, but not inside its brackets. All elements
// are spans, so that what closes the last one closes the others too.
function keepBrackets(html) {
  let depth = 0;
  const kept = html.split('<span class="base">').reduce((before, base) => {
    const inside = depth > 0;
    for (const [, side, signs] of base.matchAll(/"m(open|close)[^>]*>([^<]*)/g)) {
      depth += (side === "open" ? 1 : -1) * (signs.length || 1);
    }
    const opened = depth > 0 && !inside ? '<span class="whole">' : "";
    return `${before}${opened}<span class="base">${base}${inside && depth <= 0 ? "</span>" : ""}`;
  });
  return depth > 0 ? `${kept}</span>` : kept;
}

function render({ tex, display }) {
  try {
    // On a narrow screen, two formulas of one display may stand on two lines.
    const parted = display ? tex.replaceAll("\\qquad", "\\qquad\\allowbreak ") : tex;
    const html = katex.renderToString(parted, { displayMode: display, strict: "error", throwOnError: true });
    const kept = html.replace(SOURCE, "");
    return { html: display ? kept : keepBrackets(kept) };
  } catch (error) {
    return { error: error.message };
  }
}

readline.createInterface({ input: process.stdin }).on("line", (line) => {
  process.stdout.write(JSON.stringify(render(JSON.parse(line))) + "\n");
});
