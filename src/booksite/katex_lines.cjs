// One formula a line: {"tex", "display"} in, {"html"} or {"error"} out.
"use strict";
const katex = require(process.argv[2]);
const readline = require("node:readline");

// The source of the formula in the hidden copy, which nobody sees or hears.
const SOURCE = /<annotation encoding="application\/x-tex">.*?<\/annotation>/s;

const [BASE, WHOLE, END] = ['<span class="base">', '<span class="whole">', "</span>"];
// Between the formulas of a display, where \qquad stands; the style sheet sets their distance.
const BETWEEN = /<span class="mspace" style="margin-right:2em;"><\/span><span class="mspace allowbreak">(<\/?span[^>]*>)*$/;
// The end of a row before one with sums, whose limits come close to it without an invisible rule.
const BEFORE_SUMS = /\\\\\n(?=.*\\sum)/g;
const AFTER_BINARY = 'margin-right:0.2222em;"></span></span>';

// A line ends where it must, and better not inside brackets. A display ends a line first between its
// formulas, then after a relation. All elements are spans, so what closes the last one closes them all.
function keepTogether(html, display) {
  const [head, ...bases] = html.split(BASE);
  let depth = 0;
  const parts = bases.map((base, place) => {
    const inside = depth > 0;
    for (const [, side, signs] of base.matchAll(/"m(open|close)[^>]*>([^<]*)/g)) {
      depth = Math.max(0, depth + (side === "open" ? 1 : -1) * (signs.length || 1));
    }
    const [opened, closed] = [depth > 0 && !inside ? WHOLE : "", inside && depth === 0 ? END : ""];
    const level = BETWEEN.test(base) ? 2 : Number(!base.endsWith(AFTER_BINARY));
    const ends = display && depth === 0 && place < bases.length - 1 ? level : 0;
    return opened + BASE + base.replace(BETWEEN, END) + closed + END.repeat(ends) + WHOLE.repeat(ends);
  });
  const around = display ? 2 : 0;
  return head + WHOLE.repeat(around) + parts.join("") + END.repeat(around + Number(depth > 0));
}

function render({ tex, display }) {
  try {
    const parted = display ? tex.replaceAll("\\qquad", "\\qquad\\allowbreak ").replace(BEFORE_SUMS, "$&\\rule{0em}{2.2em}") : tex;
    const html = katex.renderToString(parted, { displayMode: display, strict: "error", throwOnError: true });
    return { html: keepTogether(html.replace(SOURCE, ""), display) };
  } catch (error) {
    return { error: error.message };
  }
}

readline.createInterface({ input: process.stdin }).on("line", (line) => {
  process.stdout.write(JSON.stringify(render(JSON.parse(line))) + "\n");
});
