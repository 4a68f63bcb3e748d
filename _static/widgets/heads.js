// What the word "to" takes from the ticket: one head, two half heads, two query heads that share a key-value head.
"use strict";
(() => {
  const { axes, colour, number, panel, path, phrase, tag, text } = bookWidgets.kit;
  // The keys and values of the chapter.
  const TOKENS = [phrase`from`, phrase`Beijing`, phrase`to`, phrase`Shanghai`];
  const KEYS = [[0, 0], [1, 0], [0, 0], [0, 1]];
  const VALUES = [[0, 0], [7, -5], [0, 0], [12, 8]];
  const WANTED = [7, 8];
  const WAYS = { one: phrase`one head`, split: phrase`two heads, half of each key and value`, shared: phrase`two query heads, the same keys and values` };
  const side = (anchor) => ({ "text-anchor": anchor });
  const point = (parts, digits = 1) => `(${parts.map((part) => number(part, digits)).join(", ")})`;

  // One head: its query, and the numbers of each key and value that it reads.
  function attend(query, parts) {
    const scores = KEYS.map((key) => parts.reduce((sum, c) => sum + query[c] * key[c], 0) / Math.sqrt(parts.length));
    const exps = scores.map((score) => Math.exp(score - Math.max(...scores)));
    const total = exps.reduce((sum, part) => sum + part, 0);
    const weights = exps.map((part) => part / total);
    return { weights, result: parts.map((c) => weights.reduce((sum, weight, n) => sum + weight * VALUES[n][c], 0)) };
  }

  function compute({ way, origin, destination }) {
    const query = [origin, destination];
    const heads = {
      one: () => [attend(query, [0, 1])],
      split: () => [attend(query, [0]), attend(query, [1])],
      shared: () => [attend([origin, 0], [0, 1]), attend([0, destination], [0, 1])],
    }[way]();
    const results = heads.map((head) => head.result);
    // With two heads, the output matrix takes the hour from the first and the degrees from the second.
    const output = way === "one" ? results[0] : [results[0][0], results[1].at(-1)];
    const error = Math.max(...output.map((part, c) => Math.abs(part - WANTED[c])));
    return { weights: heads.map((head) => head.weights), results, output, error };
  }

  const across = (n) => 112 + 78 * n;

  function drawHeads({ way, origin, destination }, { weights, results }, known) {
    const [blue, red] = ["blue", "red"].map(colour);
    const queries = { one: [[origin, destination]], split: [[origin], [destination]], shared: [[origin, 0], [0, destination]] }[way];
    let drawing = text(0, 40, phrase`key k`, { ...side("start"), class: "is-k" }) + text(0, 62, phrase`value v`, { ...side("start"), class: "is-v" });
    drawing += text(480, 62, phrase`result`, { ...side("end"), style: `fill: ${red}; font-weight: 600` });
    TOKENS.forEach((token, n) => {
      drawing += text(across(n), 16, token, { style: "font-weight: 600" });
      drawing += text(across(n), 40, point(KEYS[n], 0), { class: "is-k" }) + text(across(n), 62, point(VALUES[n], 0), { class: "is-v" });
    });
    weights.forEach((row, j) => {
      const y = 78 + 52 * j;
      drawing += text(0, y + 18, phrase`head ${j}`, side("start")) + text(0, y + 38, point(queries[j], 0), { ...side("start"), class: "is-q" });
      row.forEach((weight, n) => {
        const cell = { x: across(n) - 37, y, width: 74, height: 42, rx: 4, stroke: blue };
        drawing += tag("rect", { ...cell, fill: blue, "fill-opacity": known ? 0.04 + 0.5 * weight : 0 });
        drawing += text(across(n), y + 27, known ? number(weight) : "?");
      });
      const told = known ? results[j].map((part) => number(part, 1)) : ["?"];
      told.forEach((part, c) => {
        // What goes into the output.
        const taken = known && (way !== "shared" || c === j);
        const style = taken ? `fill: ${red}; font-weight: 600` : undefined;
        drawing += text(480, y + (told.length > 1 ? 18 + 20 * c : 27), part, { ...side("end"), style });
      });
    });
    const height = 78 + 52 * weights.length;
    const said = weights.map((row, j) => `${phrase`head ${j}`}: ${TOKENS.map((token, n) => `${token} ${number(row[n])}`).join(", ")}`);
    const words = known ? phrase`The weights of the word “to”. ${said.join("; ")}.` : phrase`The words, their keys and values, and the queries of the heads.`;
    return panel(480, height, words, drawing).replace("book-panel", "book-panel wide");
  }

  function drawOutput(_state, { output }, known) {
    const [green, grey, red] = ["green", "grey", "red"].map(colour);
    const frame = axes({ width: 480, height: 200, x: [-0.5, 15], y: [-7, 11], xTicks: [0, 2, 4, 6, 8, 10, 12, 14], yTicks: [-5, 0, 5], xLabel: phrase`hour`, yLabel: phrase`degrees` });
    const place = ([x, y]) => [frame.x(x), frame.y(y)];
    const cities = [VALUES[1], VALUES[3]];
    let drawing = frame.drawing + path(cities.map(place), { stroke: grey, "stroke-width": 2 });
    cities.forEach((city, c) => {
      const [cx, cy] = place(city);
      drawing += tag("circle", { cx, cy, r: 6, fill: green }) + text(cx + 12, cy + 5, TOKENS[1 + 2 * c], { ...side("start"), class: "on-lines" });
    });
    const [wx, wy] = place(WANTED);
    drawing += tag("circle", { cx: wx, cy: wy, r: 11, fill: "none", stroke: "currentColor", "stroke-width": 2, "stroke-dasharray": "3 2" });
    drawing += text(wx - 17, wy + 5, phrase`wanted`, { ...side("end"), class: "on-lines" });
    if (known) {
      const [x, y] = place(output);
      drawing += tag("path", { d: `M${x} ${y - 8}L${x + 8} ${y}L${x} ${y + 8}L${x - 8} ${y}Z`, fill: red });
    }
    const words = known ? phrase`The output is at ${point(output)}; wanted is ${point(WANTED, 0)}.` : phrase`The values of the two cities, and what is wanted: ${point(WANTED, 0)}.`;
    return panel(480, 200, words, drawing).replace("book-panel", "book-panel wide");
  }

  bookWidgets.define("heads", {
    title: phrase`what “to” takes from the ticket`,
    guess: {
      ask: phrase`the two query heads below read the same keys and the same values, whole. Head 0 asks for the origin, head 1 for the destination. Can “to” get 7 o’clock and 8 degrees?`,
      answers: [phrase`Yes`, phrase`No, both get the same average`],
      right: ({ error }) => (error < 0.5 ? 0 : 1),
      because: () => phrase`Each head has weights of its own, and the output matrix takes the hour from head 0 and the degrees from head 1. The weights must differ; the keys and values may be shared.`,
    },
    controls: [
      { name: "way", label: phrase`Heads`, value: "shared", options: Object.entries(WAYS) },
      { name: "origin", label: phrase`asks for the origin`, value: 9, min: 0, max: 9 },
      { name: "destination", label: phrase`asks for the destination`, value: 9, min: 0, max: 9 },
    ],
    compute,
    draw: (state, result, known) => [drawHeads(state, result, known), drawOutput(state, result, known)],
    numbers: (_state, { output, error }) => [
      ["output", phrase`hour and degrees of the output`, point(output)],
      ["error", phrase`farthest from what is wanted`, number(error, 1)],
    ],
  });
})();
