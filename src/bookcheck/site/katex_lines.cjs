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
    inserts.push([start, 1, -end, `\\htmlData{symbol=${name}}{`]);
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

// A wrapper's class goes to what it holds, so that a mark costs a few bytes.
function unwrap(node) {
  if (!node.children) return;
  node.children.forEach(unwrap);
  node.children = node.children.flatMap((child) => {
    const name = child.attributes?.["data-symbol"];
    if (!name) return [child];
    const [first, ...spaces] = child.children;
    if (!first.classes || !spaces.every((space) => space.classes?.includes("mspace"))) {
      child.classes = [name];
      delete child.attributes["data-symbol"];
      return [child];
    }
    first.classes.push(name);
    return child.children;
  });
}

const has = (node, name) => node.classes?.includes(name);
const isSpace = (node) => has(node, "mspace");
// A space as wide as \\quad stands between two formulas in one display.
const isGap = (node) => isSpace(node) && parseFloat(node.style?.marginRight) >= 1;
const lastSign = (base) => base.children.findLastIndex((part) => !isSpace(part));
const KINDS = ["mord", "mop", "mbin", "mrel", "mopen", "mclose", "mpunct", "minner"];
const span = (like, classes, children) => new like.constructor(classes, children);

// The box that gives a line its room, from what stands in the line: beside a matrix may stand a letter.
function strutOf(like, parts) {
  const strut = span(like, ["strut"], []);
  const [height, depth] = ["height", "depth"].map((key) => Math.max(0, ...parts.map((part) => part[key] ?? 0)));
  const em = (length) => `${Number(length.toFixed(4))}em`;
  strut.style.height = em(height + depth);
  if (depth) strut.style.verticalAlign = em(-depth);
  return strut;
}

// The boxes of a formula cut at its gaps: lists of boxes, one for each formula of the display.
function statements(bases) {
  const found = [[]];
  for (const base of bases) {
    const pieces = [[]];
    for (const part of base.children.slice(1)) {
      pieces.at(-1).push(part);
      if (isGap(part)) pieces.push([]);
    }
    pieces.forEach((piece, place) => {
      if (place) found.push([]);
      if (piece.length) found.at(-1).push(span(base, ["base"], [strutOf(base, piece), ...piece]));
    });
  }
  return found.filter((list) => list.length);
}

// The boxes of one formula cut before its relations: a line may begin with "=".
function sides(bases) {
  const found = [[]];
  bases.forEach((base, place) => {
    found.at(-1).push(base);
    const sign = lastSign(base);
    const next = bases[place + 1];
    if (!next || sign < 1 || !has(base.children[sign], "mrel")) return;
    next.children.splice(1, 0, ...base.children.splice(sign));
    found.push([]);
  });
  return found;
}

// Lets a display break where a person would: between its formulas, then before a relation. Style
// rules decide on which screens it does.
function breakable(html) {
  const bases = html.children;
  if (!bases.every((base) => has(base, "base"))) return;
  const lists = statements(bases).map(sides);
  if (lists.length === 1 && lists[0].length === 1) return;
  html.children = lists.map((list) => {
    const parts = list.map((boxes) => (list.length > 1 ? span(html, ["side"], boxes) : boxes)).flat();
    return lists.length > 1 ? span(html, ["statement"], parts) : parts;
  }).flat();
}

// Takes out elements that show nothing: an index of one letter has two where one can be.
function lighten(node) {
  if (!node.children) return;
  node.children = node.children.map((child) => {
    lighten(child);
    const [only, ...others] = child.children ?? [];
    const sized = has(child, "sizing") && !others.length && only?.text !== undefined;
    if (!sized || Object.keys(child.style).length) return child;
    only.classes = [...new Set([...only.classes, ...child.classes])];
    return only;
  });
  // A space behind a letter, or behind a letter with its index, can be a margin.
  node.children = node.children.filter((child, place, all) => {
    const before = all[place - 1];
    const spaced = before && !has(before, "sizing") && KINDS.some((kind) => has(before, kind));
    if (!isSpace(child) || !spaced) return true;
    if (Object.keys(child.style).join() !== "marginRight" || child.children.length) return true;
    const own = parseFloat(before.style.marginRight || before.italic || 0);
    before.style.marginRight = `${Math.round(1e4 * (own + parseFloat(child.style.marginRight))) / 1e4}em`;
    if (before.italic) before.italic = 0;
    return false;
  });
  const empty = (child) =>
    child.children?.length === 0 && !child.classes.length && !Object.keys(child.style).length;
  if (has(node, "vlist") && node.children.length === 1 && empty(node.children[0])) node.children = [];
}

const OPTIONS = { throwOnError: true, strict: "error", trust: false };
const MARKED = {
  throwOnError: true,
  strict: (code) => (code === "htmlExtension" ? "ignore" : "error"),
  trust: ({ command }) => command === "\\htmlData",
};

// The span that holds the two copies of a formula.
function copies(tree) {
  return tree.classes.includes("katex") ? tree : tree.children[0];
}

function render({ tex, display, symbols = [] }) {
  try {
    const tree = katex.__renderToDomTree(tex, { ...OPTIONS, displayMode: display });
    const found = symbols.length ? places(parse(tex, display), tex, symbols) : [];
    if (found.length) {
      const marked = katex.__renderToDomTree(wrapped(tex, found), { ...MARKED, displayMode: display });
      unwrap(marked);
      copies(tree).children[1] = copies(marked).children[1];
    }
    const visible = copies(tree).children[1];
    if (display) breakable(visible);
    lighten(visible);
    return { html: tree.toMarkup() };
  } catch (error) {
    return { error: error.message };
  }
}

readline.createInterface({ input: process.stdin }).on("line", (line) => {
  process.stdout.write(JSON.stringify(render(JSON.parse(line))) + "\n");
});
