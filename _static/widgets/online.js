// Softmax block by block: the state of the keys that were read, and what rescaling it is for.
"use strict";
(() => {
  const { colour, number, panel, path, phrase, significant, tag, text } = bookWidgets.kit;
  const S = [1, 3, 4, 3, 6, 2];
  const V = [10, 20, 40, 30, 50, 0];
  const WAYS = { merge: phrase`to the new maximum`, own: phrase`never: each block keeps its own` };
  const sum = (parts) => parts.reduce((total, part) => total + part, 0);

  // The state (c, ℓ, u) of some keys.
  function stateOf(places, top) {
    const parts = places.map((n) => Math.exp(S[n] - top));
    return { total: sum(parts), u: sum(parts.map((part, place) => part * V[places[place]])) };
  }

  function compute({ read, block, way }) {
    const places = S.map((_, n) => n).slice(0, Math.min(S.length, read * block));
    const blocks = [];
    for (let start = 0; start < places.length; start += block) blocks.push(places.slice(start, start + block));
    const top = Math.max(...places.map((n) => S[n]));
    const before = places.slice(0, (read - 1) * block);
    const earlier = before.length ? Math.max(...before.map((n) => S[n])) : -Infinity;
    const tops = blocks.map((keys) => (way === "merge" ? top : Math.max(...keys.map((n) => S[n]))));
    const states = blocks.map((keys, place) => stateOf(keys, tops[place]));
    const [total, u] = [sum(states.map((one) => one.total)), sum(states.map((one) => one.u))];
    const right = stateOf(places, top);
    return {
      c: way === "merge" ? top : tops.at(-1),
      factor: way === "merge" ? Math.exp(earlier - top) : 1,
      parts: places.map((n, place) => Math.exp(S[n] - tops[Math.floor(place / block)])),
      total,
      u,
      output: u / total,
      softmax: right.u / right.total,
    };
  }

  const across = (n) => 128 + 62 * n;

  function draw(state, { factor, parts, output, softmax }) {
    const { read, block, way } = state;
    const [blue, grey, red] = ["blue", "grey", "red"].map(colour);
    const start = { "text-anchor": "start" };
    let drawing = "";
    [[34, phrase`score s`], [60, phrase`value v`], [156, "exp(s − c)"]].forEach(([y, words]) => (drawing += text(0, y, words, start)));
    S.forEach((score, n) => {
      const seen = n < parts.length;
      const newest = Math.floor(n / block) === read - 1;
      if (newest) drawing += tag("rect", { x: across(n) - 31, y: 12, width: 62, height: 156, fill: blue, "fill-opacity": 0.12 });
      drawing += text(across(n), 34, score, { class: seen ? "is-s" : undefined }) + text(across(n), 60, V[n], { class: seen ? "is-v" : undefined });
      if (seen) {
        const height = Math.max(1, 60 * parts[n]);
        drawing += tag("rect", { x: across(n) - 16, y: 138 - height, width: 32, height, fill: newest ? blue : grey });
        drawing += text(across(n), 156, number(parts[n], parts[n] < 0.01 ? 3 : 2));
      }
      if (n % block === 0) drawing += path([[across(n) - 31, 8], [across(n) - 31, 170]], { stroke: "currentColor", "stroke-opacity": 0.4 });
    });
    drawing += path([[97, 138], [across(5) + 31, 138]], { stroke: "currentColor" });
    const told = read > 1 ? phrase`old sums times ${significant(factor)}, then add the block` : phrase`the first block`;
    drawing += text(0, 196, told, start);
    const wrong = Math.abs(output - softmax) > 1e-9;
    drawing += text(0, 224, phrase`u / ℓ = ${number(output)}`, { ...start, style: `font-weight: 600; fill: ${wrong ? red : "currentColor"}` });
    drawing += text(190, 224, phrase`softmax of these keys: ${number(softmax)}`, start);
    const words = phrase`${parts.length} of ${S.length} keys are read; the output so far is ${number(output)}, and softmax gives ${number(softmax)}.`;
    return [panel(480, 234, words, drawing).replace("book-panel", "book-panel wide")];
  }

  bookWidgets.define("online", {
    title: phrase`softmax block by block`,
    controls: [
      { name: "read", label: phrase`blocks that were read`, value: 1, min: 1, max: 6, limit: ({ block }) => S.length / block },
      { name: "block", label: phrase`keys in a block`, value: 2, values: [1, 2, 3, 6] },
      { name: "way", label: phrase`The sums are rescaled`, value: "merge", options: Object.entries(WAYS) },
    ],
    compute,
    draw,
    link(state) {
      state.read = Math.min(state.read, S.length / state.block);
    },
    play: ["read", 1],
    numbers: (_state, { c, factor, total, u, output, softmax }) => [
      ["c", "c", number(c, 0)],
      ["factor", phrase`factor of the old sums`, significant(factor)],
      ["total", "ℓ", number(total)],
      ["u", "u", number(u)],
      ["output", "u / ℓ", number(output)],
      ["softmax", phrase`softmax`, number(softmax)],
    ],
  });
})();
