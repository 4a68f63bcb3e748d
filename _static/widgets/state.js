// Three sentences written into a state of fixed size by four rules, and what is read back.
"use strict";
(() => {
  const { colour, number, panel, path, phrase, tag, text } = bookWidgets.kit;
  // The sentences of the chapter: what they are about, and which colour they give it.
  const THINGS = [phrase`door`, phrase`roof`];
  const COLOURS = [phrase`red`, phrase`blue`, phrase`green`];
  const SENTENCES = [[0, 0], [1, 1], [0, 2]];
  const RULES = { sum: phrase`plain sum`, decay: phrase`decay`, delta: phrase`delta rule`, gated: phrase`gated delta rule` };
  const side = (anchor) => ({ "text-anchor": anchor });
  const keysOf = (overlap) => [[1, 0], [overlap, Math.sqrt(1 - overlap ** 2)]];
  const reads = (key, state) => COLOURS.map((_, c) => key.reduce((sum, part, i) => sum + part * state[i][c], 0));

  function compute({ rule, read, overlap, alpha, beta }) {
    const keys = keysOf(overlap);
    const kept = rule === "decay" || rule === "gated" ? alpha : 1;
    const corrects = rule === "delta" || rule === "gated";
    let state = [[0, 0, 0], [0, 0, 0]];
    const truth = [[0, 0, 0], [0, 0, 0]];
    for (const [thing, shade] of SENTENCES.slice(0, read)) {
      state = state.map((row) => row.map((entry) => kept * entry));
      const value = COLOURS.map((_, c) => (c === shade ? 1 : 0));
      // The delta rule writes what the state gets wrong, the others write the value.
      const said = reads(keys[thing], state);
      const write = corrects ? value.map((entry, c) => beta * (entry - said[c])) : value;
      state = state.map((row, i) => row.map((entry, c) => entry + keys[thing][i] * write[c]));
      truth[thing] = value;
    }
    const [door, roof] = keys.map((key) => reads(key, state));
    const error = (found, right) => Math.max(...found.map((entry, c) => Math.abs(entry - right[c])));
    return { state, door, roof, doorError: error(door, truth[0]), roofError: read > 1 ? error(roof, truth[1]) : 0, numbers: 6, cache: 5 * read };
  }

  const across = (c) => 172 + 98 * c;
  const point = (parts) => `(${parts.map((part) => number(part)).join(", ")})`;

  // Three numbers, and a frame around the one that should be 1.
  function drawRow(y, entries, paint, known, right) {
    return entries
      .map((entry, c) => {
        const cell = { x: across(c) - 45, y, width: 90, height: 32, rx: 4, stroke: paint };
        const filled = { fill: paint, "fill-opacity": known ? 0.05 + 0.45 * Math.min(1, Math.abs(entry)) : 0 };
        const frame = right === c ? { "stroke-width": 3, "stroke-dasharray": "6 3" } : { "stroke-opacity": 0.6 };
        return tag("rect", { ...cell, ...filled, ...frame }) + text(across(c), y + 22, known ? number(entry) : "?");
      })
      .join("");
  }

  function draw({ read, overlap }, { state, door, roof, doorError, roofError }, known) {
    const [grey, red] = ["grey", "red"].map(colour);
    const keys = keysOf(overlap);
    let drawing = "";
    SENTENCES.forEach(([thing, shade], n) => {
      const [x, newest] = [161 * n, n === read - 1];
      const box = { x: x + 1, y: 1, width: 156, height: 46, rx: 6, fill: grey, "fill-opacity": newest ? 0.25 : 0, stroke: grey, "stroke-width": newest ? 2 : 1 };
      const faint = n < read ? {} : { opacity: 0.75 };
      drawing += tag("rect", { ...box, "stroke-dasharray": n < read ? undefined : "3 3" });
      drawing += text(x + 79, 19, `${THINGS[thing]}: ${COLOURS[shade]}`, faint);
      drawing += text(x + 79, 40, `k = ${point(keys[thing])}`, { class: "is-k", ...faint });
    });
    COLOURS.forEach((words, c) => (drawing += text(across(c), 72, words, { class: "is-v" })));
    drawing += text(0, 102, phrase`state, row 0`, side("start")) + text(0, 138, phrase`row 1`, side("start"));
    drawing += drawRow(80, state[0], grey, known) + drawRow(116, state[1], grey, known);
    drawing += text(480, 152, phrase`error`, side("end"));
    drawing += path([[0, 159], [480, 159]], { stroke: "currentColor", "stroke-opacity": 0.4 });
    const rightOf = (thing) => SENTENCES.slice(0, read).findLast(([about]) => about === thing)?.[1];
    const said = [[door, doorError], [roof, roofError]].map(([found, error], thing) => {
      const y = 170 + 38 * thing;
      const told = rightOf(thing) !== undefined;
      drawing += text(0, y + 22, phrase`${THINGS[thing]} reads`, side("start"));
      drawing += drawRow(y, found, red, known, rightOf(thing));
      drawing += text(480, y + 22, !known || !told ? "" : error < 1e-9 ? "✓" : number(error), { ...side("end"), style: "font-weight: 600" });
      return `${phrase`${THINGS[thing]} reads`} ${point(found)}`;
    });
    const words = known ? phrase`After ${read} of 3 sentences: ${said.join("; ")}.` : phrase`Three sentences, and a state whose numbers are hidden until you have guessed.`;
    return [panel(480, 244, words, drawing).replace("book-panel", "book-panel wide")];
  }

  const tenths = (value) => number(value, 1);
  bookWidgets.define("state", {
    title: phrase`what a state answers`,
    guess: {
      ask: phrase`the keys of door and roof overlap more than above, 0.6. The delta rule with rate 1 writes all three sentences. Which question does the state then answer exactly?`,
      answers: [phrase`only the door`, phrase`only the roof`, phrase`both`],
      right: ({ doorError, roofError }) => (doorError > 1e-9 ? 1 : roofError > 1e-9 ? 0 : 2),
      because: () => phrase`The key that was written last reads its value exactly. Writing for the door also changed what the roof reads, because their keys overlap.`,
    },
    controls: [
      { name: "rule", label: phrase`Rule of writing`, value: "delta", options: Object.entries(RULES) },
      { name: "read", label: phrase`sentences written`, value: 3, min: 1, max: 3 },
      { name: "overlap", label: phrase`overlap of the two keys`, value: 0.6, values: [0, 0.28, 0.6, 0.8, 0.96], show: String },
      { name: "alpha", label: phrase`α, decay`, value: 0.5, min: 0, max: 1, step: 0.1, show: tenths, used: ({ rule }) => rule === "decay" || rule === "gated" },
      { name: "beta", label: phrase`β, rate`, value: 1, min: 0, max: 1, step: 0.1, show: tenths, used: ({ rule }) => rule === "delta" || rule === "gated" },
    ],
    compute,
    draw,
    play: ["read", 1],
    numbers: ({ read }, { doorError, roofError, numbers, cache }) => [
      ["doorError", phrase`error of the door`, number(doorError)],
      ...(read > 1 ? [["roofError", phrase`error of the roof`, number(roofError)]] : []),
      ["numbers", phrase`numbers in the state`, String(numbers)],
      ["cache", phrase`numbers in a cache`, String(cache)],
    ],
  });
})();
