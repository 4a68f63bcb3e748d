// One formula a line: {"tex", "display", "symbols"} in, {"html"} or {"error"} out.
// `symbols` is a list of [TeX, class]: where one of them stands in the formula, the visible copy of
// the formula gets its class. The hidden copy, which screen readers read, stays as it is.
"use strict";
const katex = require(process.argv[2]);
const readline = require("node:readline");

// Letters that count something: a subscript made of them leaves a symbol what it is.
const POSITIONS = new Set(["m", "n", "t"]);
const INDICES = new Set([...POSITIONS, "i", "j"]);
// A coordinate of a query is the query's, and so on.
const ROWS = new Set(["q", "k", "v"]);
const COORDINATES = new Set(["a", "c", "0", "1"]);
// Letters inside these are parts of a word, or change their meaning: \operatorname{softmax}, \hat{p}.
const CLOSED = new Set(["accent", "font", "op", "operatorname", "raw", "text", "color"]);
const parse = (tex, display = false) => katex.__parse(tex, { displayMode: display, strict: "error", trust: false });

// A tree without places, and without braces around one thing.
function plain(node) {
  if (Array.isArray(node)) return node.map(plain);
  if (node === null || typeof node !== "object") return node;
  if (node.type === "ordgroup" && node.body.length === 1) return plain(node.body[0]);
  const entries = Object.entries(node).filter(([key]) => key !== "loc");
  return Object.fromEntries(entries.map(([key, value]) => [key, plain(value)]));
}

const same = (a, b) => JSON.stringify(a ?? null) === JSON.stringify(b ?? null);
const isIndex = (node) => node.type === "mathord" && INDICES.has(node.text);
const isLetter = (node) => node.type === "mathord" && /^[A-Za-z]$/.test(node.text);
const isIndices = (node) =>
  isIndex(node) ||
  (node.type === "ordgroup" && node.body.every((part) => isIndex(part) || ["atom", "textord"].includes(part.type)));

// A power or a transpose leaves a symbol what it is; a prime or a star makes another one.
function keepsMeaning(sup) {
  return sup === undefined || !/\\prime|"\*"|\\ast|\\text|"\("/.test(JSON.stringify(sup));
}

// Whether `node` is the symbol, perhaps with another index, or a power.
function matches(symbol, node) {
  if (same(symbol, node)) return true;
  if (node.type !== "supsub") return false;
  const { base, sub, sup } = symbol.type === "supsub" ? symbol : { base: symbol };
  if (!same(base, node.base)) return false;
  if (sup !== undefined ? !same(sup, node.sup) : !keepsMeaning(node.sup)) return false;
  if (same(sub, node.sub)) return true;
  if (node.sub === undefined) return false;
  // A for A_{mn}; q_m for q at any position, and d_k for nothing else. Latin letters are used for many
  // things, so q_i is no q_m; a θ is a θ with any index.
  if (sub === undefined) return isIndices(node.sub) || (ROWS.has(base.text) && COORDINATES.has(node.sub.text));
  if (!isIndex(sub)) return false;
  return !isLetter(base) || POSITIONS.has(node.sub.text);
}

// Letters above a letter are a name, as in W^{DKV}: no keys and values of their own.
const isName = (sup) => sup?.type === "ordgroup" && sup.body.every((part) => part.type === "mathord" && /^[A-Z]$/.test(part.text));

// Where a node begins and ends in the text, or undefined.
function extent(node, tex) {
  if (node.type === "font") {
    const inner = extent(node.body, tex);
    const command = inner && /\\math[a-z]+\s*(\{\s*)?$/.exec(tex.slice(0, inner[0]));
    if (!command) return undefined;
    const closing = command[1] ? /^\s*\}/.exec(tex.slice(inner[1])) : [""];
    return closing && [command.index, inner[1] + closing[0].length];
  }
  if (node.loc) return [node.loc.start, node.loc.end];
  if (node.type !== "supsub") return undefined;
  const parts = [node.base, node.sub, node.sup].filter(Boolean).map((part) => extent(part, tex));
  if (parts.includes(undefined)) return undefined;
  return [Math.min(...parts.map(([start]) => start)), Math.max(...parts.map(([, end]) => end))];
}

const parsed = new Map();
function symbolTree(tex) {
  if (!parsed.has(tex)) parsed.set(tex, plain(parse(tex)[0]));
  return parsed.get(tex);
}

// The places of all symbols: [start, end, class]. Only members of a list are marked: a lone argument,
// as in \sqrt d or x_m, would need braces of its own.
function places(tree, tex, symbols) {
  const found = [];
  const visit = (node, inList) => {
    if (Array.isArray(node)) {
      for (const part of node) visit(part, true);
    } else if (node !== null && typeof node === "object" && "type" in node) {
      const bare = plain(node);
      const symbol = inList && symbols.find(([candidate]) => matches(symbolTree(candidate), bare));
      const place = symbol && extent(node, tex);
      if (place && same(bare, plain(parse(tex.slice(...place))[0]))) found.push([...place, symbol[1]]);
      // d_k is one name: its k is no letter of its own.
      if (place && (node.type !== "supsub" || symbolTree(symbol[0]).type === "supsub")) return;
      if (CLOSED.has(node.type)) return;
      for (const [key, value] of Object.entries(node)) {
        if (key === "loc" || (key === "sup" && isName(value))) continue;
        if (value !== null && typeof value === "object") visit(value, false);
      }
    }
  };
  visit(tree, false);
  return found;
}

// The formula's text with a wrapper around each place; outer wrappers open first and close last.
function wrapped(tex, found) {
  const inserts = [];
  for (const [start, end, name] of found) {
    inserts.push([start, 1, -end, `\\htmlClass{${name}}{`]);
    inserts.push([end, 0, -start, "}"]);
  }
  inserts.sort((a, b) => a[0] - b[0] || a[1] - b[1] || a[2] - b[2]);
  let text = "";
  let done = 0;
  for (const [place, , , addition] of inserts) {
    text += tex.slice(done, place) + addition;
    done = place;
  }
  return text + tex.slice(done);
}

const OPTIONS = {
  throwOnError: true,
  strict: (code) => (code === "htmlExtension" ? "ignore" : "error"),
  trust: ({ command }) => command === "\\htmlClass",
};
// The source of the formula in the hidden copy, which nobody sees or hears.
const SOURCE = /<annotation encoding="application\/x-tex">.*?<\/annotation>/s;

function render({ tex, display, symbols = [] }) {
  try {
    const found = symbols.length ? places(parse(tex, display), tex, symbols) : [];
    const html = katex.renderToString(wrapped(tex, found), { ...OPTIONS, displayMode: display });
    return { html: html.replace(SOURCE, "") };
  } catch (error) {
    return { error: error.message };
  }
}

readline.createInterface({ input: process.stdin }).on("line", (line) => {
  process.stdout.write(JSON.stringify(render(JSON.parse(line))) + "\n");
});
