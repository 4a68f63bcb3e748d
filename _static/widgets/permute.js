// The words of the ticket in any order: what attention gives each of them, with and without positions.
"use strict";
(() => {
  const { colour, handle, number, panel, path, phrase, tag, text } = bookWidgets.kit;
  // Queries, keys and values are the vectors of bookkit.tickets.
  const WORDS = [phrase`from`, phrase`Beijing`, phrase`to`, phrase`Shanghai`];
  const NAMES = ["from", "beijing", "to", "shanghai"];
  const X = [[0, -1], [2, 1], [0, 1], [2, -1]];
  const WAYS = { none: phrase`nothing`, mask: phrase`a causal mask`, added: phrase`positions, added to the words` };
  const PAINT = ["blue", "orange", "green", "purple"].map(colour);
  const side = (anchor) => ({ "text-anchor": anchor });

  // The output of each word, when word w stands at places[w].
  function outputs(places, way) {
    // The sinusoidal position of two dimensions.
    const rows = X.map((x, w) => (way === "added" ? [x[0] + Math.sin(places[w]), x[1] + Math.cos(places[w])] : x));
    return rows.map((q, w) => {
      const parts = rows.map((k, other) =>
        way === "mask" && places[other] > places[w] ? 0 : Math.exp((q[0] * k[0] + q[1] * k[1]) / Math.SQRT2),
      );
      const total = parts.reduce((sum, part) => sum + part, 0);
      return [0, 1].map((c) => parts.reduce((sum, part, other) => sum + (part / total) * rows[other][c], 0));
    });
  }

  function compute({ way, ...places }) {
    const now = outputs(NAMES.map((name) => places[name]), way);
    const first = outputs([0, 1, 2, 3], way);
    const moved = now.map((y, w) => Math.hypot(y[0] - first[w][0], y[1] - first[w][1]));
    return { outputs: now, first, moved: Math.max(...moved) };
  }

  const point = (parts) => `(${parts.map((part) => number(part)).join(", ")})`;
  const across = (place) => 62 + 119 * place;

  function drawTicket(state) {
    let drawing = text(0, 15, phrase`Drag a word to another place`, side("start"));
    for (let place = 0; place < 4; place++) drawing += text(across(place), 92, phrase`position ${place}`);
    WORDS.forEach((word, w) => {
      const x = across(state[NAMES[w]]);
      const card = { x: x - 54, y: 28, width: 108, height: 46, rx: 6, fill: PAINT[w], "fill-opacity": 0.15, stroke: PAINT[w] };
      drawing += handle(NAMES[w], tag("rect", { ...card, "stroke-width": 2 }) + text(x, 57, word));
    });
    const order = [...WORDS].sort((a, b) => state[NAMES[WORDS.indexOf(a)]] - state[NAMES[WORDS.indexOf(b)]]);
    return panel(480, 100, phrase`The words in the order: ${order.join(" ")}.`, drawing).replace("book-panel", "book-panel wide");
  }

  // Rings: the outputs of "from Beijing to Shanghai". Dots: those of the order above.
  function drawOutputs(state, { outputs: now, first, moved }) {
    const place = ([x, y]) => [110 + 105 * x, 116 - 45 * y];
    const faint = { stroke: "currentColor", "stroke-opacity": 0.25 };
    const grid = [[[-0.3, 0], [3.2, 0]], [[0, -1.8], [0, 1.8]]];
    let drawing = grid.map((ends) => path(ends.map(place), faint)).join("");
    WORDS.forEach((word, w) => {
      const [a, b] = [place(first[w]), place(now[w])];
      drawing += tag("circle", { cx: a[0], cy: a[1], r: 9, fill: "none", stroke: PAINT[w], "stroke-width": 2 });
      drawing += path([a, b], { stroke: PAINT[w], "stroke-dasharray": "3 3" });
      drawing += tag("circle", { cx: b[0], cy: b[1], r: 5, fill: PAINT[w] });
      const below = first[w][1] < now[w][1] ? 24 : -14;
      drawing += text(a[0], a[1] + below, word, { class: "on-lines", style: `fill: ${PAINT[w]}` });
    });
    const words = phrase`The outputs of the four words. The farthest from where it is for “from Beijing to Shanghai” is ${number(moved)} away.`;
    return panel(480, 232, words, drawing).replace("book-panel", "book-panel wide");
  }

  bookWidgets.define("permute", {
    title: phrase`the ticket in any order`,
    controls: [
      { name: "way", label: phrase`What tells the order`, value: "none", options: Object.entries(WAYS) },
      ...WORDS.map((word, w) => ({ name: NAMES[w], label: phrase`place of “${word}”`, value: w, min: 0, max: 3 })),
    ],
    compute,
    draw: (state, result) => [drawTicket(state), drawOutputs(state, result)],
    // Two words exchange their places.
    link(state, previous, changed) {
      const places = NAMES.map((name) => state[name]);
      if (changed && changed !== "way") {
        const other = NAMES.find((name) => name !== changed && state[name] === state[changed]);
        if (other) state[other] = previous[changed];
      } else if (new Set(places).size < 4) NAMES.forEach((name, w) => (state[name] = w));
    },
    drag: (_state, _name, [x]) => Math.round((x - 62) / 119),
    numbers: (_state, { outputs: now, moved }) => [
      ["outputs", phrase`outputs of the four words`, now.map(point).map((one) => one.replace(" ", "\u00a0")).join("  ")],
      ["moved", phrase`largest change against “from Beijing to Shanghai”`, number(moved)],
    ],
  });
})();
