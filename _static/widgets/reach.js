// Which tokens a position can know of, through layers with a window, and one layer without.
"use strict";
(() => {
  const { colour, handle, panel, path, phrase, tag, text } = bookWidgets.kit;
  const N = 16;
  const sees = (m, n, window) => n <= m && m - n < window;

  // The positions that count at each layer for the position m of the last, from the last layer down.
  function cone({ L, W, full, m }) {
    const known = [new Set([m])];
    for (let layer = L; layer > 0; layer--) {
      const window = layer === full ? N : W;
      const above = known[0];
      const below = new Set();
      for (let n = 0; n < N; n++) if ([...above].some((query) => sees(query, n, window))) below.add(n);
      known.unshift(below);
    }
    return known;
  }

  function compute(state) {
    const { L, W, full, m } = state;
    const [tokens] = cone(state);
    const pairs = (window) => Array.from({ length: N }, (_, query) => Math.min(query + 1, window)).reduce((a, b) => a + b);
    const scores = (L - (full ? 1 : 0)) * pairs(W) + (full ? pairs(N) : 0);
    return { known: Array.from({ length: N }, (_, n) => tokens.has(n)), reached: tokens.size, earlier: m + 1, scores, all: L * pairs(N) };
  }

  const across = (n) => 92 + 25 * n;

  function draw(state, { reached }) {
    const { L, W, full, m } = state;
    const known = cone(state);
    const up = (layer) => 30 + 38 * (L - layer);
    let lines = "";
    let dots = "";
    for (let layer = 0; layer <= L; layer++) {
      const label = layer ? (layer === full ? phrase`${layer}, full` : phrase`layer ${layer}`) : phrase`tokens`;
      dots += text(0, up(layer) + 5, label, { "text-anchor": "start" });
      for (let n = 0; n < N; n++) {
        const counts = known[layer].has(n);
        const box = { x: across(n) - 8, y: up(layer) - 8, width: 16, height: 16, rx: 3, stroke: colour(counts ? "red" : "grey") };
        let mark = tag("rect", { ...box, fill: counts ? colour("red") : colour("paper"), "stroke-opacity": counts ? 1 : 0.6 });
        if (layer === L && n === m) mark = handle("m", tag("rect", { ...box, x: box.x - 4, y: box.y - 4, width: 24, height: 24, fill: colour("red") }));
        dots += mark;
        if (layer && counts) {
          for (let key = 0; key < N; key++) {
            if (!sees(n, key, layer === full ? N : W)) continue;
            lines += path([[across(key), up(layer - 1) - 8], [across(n), up(layer) + 8]], { stroke: colour("purple"), "stroke-opacity": 0.5 });
          }
        }
      }
    }
    const last = up(0) + 30;
    for (const n of [0, 5, 10, 15]) dots += text(across(n), last, n);
    const words = phrase`Position ${m} after ${L} layers can know of ${reached} of the ${m + 1} tokens up to it.`;
    return [panel(480, last + 10, words, lines + dots).replace("book-panel", "book-panel wide")];
  }

  bookWidgets.define("reach", {
    title: phrase`what reaches a position through windows`,
    controls: [
      { name: "m", label: phrase`m, the position that asks`, value: 13, min: 0, max: N - 1 },
      { name: "W", label: phrase`W, window`, value: 3, min: 2, max: 8 },
      { name: "L", label: phrase`L, number of layers`, value: 3, min: 1, max: 5 },
      { name: "full", label: phrase`layer with full attention`, value: 0, min: 0, max: 5, limit: ({ L }) => L, show: (value) => (value ? String(value) : phrase`none`) },
    ],
    compute,
    draw,
    link(state) {
      state.full = Math.min(state.full, state.L);
    },
    drag: (_state, _name, [x]) => Math.round((x - 92) / 25),
    numbers: (_state, { reached, earlier, scores, all }) => [
      ["reached", phrase`tokens it can know of`, String(reached)],
      ["earlier", phrase`tokens up to it`, String(earlier)],
      ["scores", phrase`scores in all layers`, String(scores)],
      ["all", phrase`without windows`, String(all)],
    ],
  });
})();
