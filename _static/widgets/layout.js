// Which dimensions turn together in the two layouts of RoPE.
"use strict";
(() => {
  const { colour, number, panel, path, phrase, significant, tag, text } = bookWidgets.kit;

  function compute({ d, pair, m }) {
    const half = d / 2;
    const dimensions = Array.from({ length: d }, (_, j) => j);
    const theta = 10000 ** ((-2 * pair) / d);
    return {
      // The pair of each dimension.
      interleaved: dimensions.map((j) => Math.floor(j / 2)),
      half: dimensions.map((j) => j % half),
      // half-split vector = interleaved vector [permutation]
      permutation: dimensions.map((j) => (j < half ? 2 * j : 2 * (j - half) + 1)),
      interleavedPair: [2 * pair, 2 * pair + 1],
      halfPair: [pair, pair + half],
      theta,
      angle: m * theta,
    };
  }

  // A hand that shows how far the pair has turned.
  function dial(x, y, radius, angle) {
    const tip = [x + radius * Math.cos(angle), y - radius * Math.sin(angle)];
    return (
      tag("circle", { cx: x, cy: y, r: radius, fill: "none", stroke: "currentColor", "stroke-opacity": 0.5 }) +
      path([[x, y], tip], { stroke: "currentColor", "stroke-width": 3 }) +
      text(x - radius - 8, y + 5, phrase`rotated by mθ`, { "text-anchor": "end" })
    );
  }

  function draw({ d, pair }, { interleaved, half, permutation, interleavedPair, halfPair, angle }) {
    const width = 420;
    const step = width / d;
    const rows = { interleaved: 44, half: 190 };
    const middle = (j) => (j + 0.5) * step;
    let drawing = text(0, 16, phrase`interleaved: neighbours`, { "text-anchor": "start" });
    drawing += text(0, 263, phrase`half-split: half apart`, { "text-anchor": "start" });
    drawing += dial(width - 22, 258, 18, angle);
    permutation.forEach((source, j) => {
      const own = half[j] === pair;
      drawing += path([[middle(source), rows.interleaved + 48], [middle(j), rows.half - 2]], {
        stroke: colour(half[j]),
        "stroke-width": own ? 4 : 1.2,
        "stroke-opacity": own ? 1 : 0.85,
      });
    });
    for (const [layout, pairs] of [["interleaved", interleaved], ["half", half]]) {
      const y = rows[layout];
      pairs.forEach((owner, j) => {
        const own = owner === pair;
        drawing += tag("rect", {
          x: j * step + 2,
          y,
          width: step - 4,
          height: 46,
          rx: 4,
          fill: colour(owner),
          "fill-opacity": own ? 1 : 0.3,
          stroke: own ? "currentColor" : undefined,
          "stroke-width": own ? 2 : undefined,
        });
        const ink = own ? { style: "fill: var(--pst-color-background, #fff); font-weight: 700" } : {};
        drawing += text(middle(j), y + 29, j, ink);
      });
    }
    const [together, apart] = [interleavedPair, halfPair].map(([one, other]) => phrase`${one} and ${other}`);
    const words = phrase`Two rows of ${d} dimensions. Pair ${pair} is dimensions ${together} in the interleaved layout and ${apart} in the half-split layout.`;
    return [panel(width, 286, words, drawing).replace("book-panel", "book-panel wide")];
  }

  bookWidgets.define("layout", {
    title: phrase`the pairs of dimensions in both layouts`,
    controls: [
      { name: "d", label: phrase`d, dimension of the head`, value: 8, options: [[4, "4"], [8, "8"], [12, "12"]] },
      { name: "pair", label: phrase`i, pair`, value: 1, min: 0, max: 5, limit: ({ d }) => d / 2 - 1 },
      { name: "m", label: phrase`m, position`, value: 5, min: 0, max: 60 },
    ],
    link(state) {
      state.pair = Math.min(state.pair, state.d / 2 - 1);
    },
    compute,
    draw,
    numbers: (state, { interleavedPair, halfPair, permutation, theta, angle }) => [
      ["interleaved", phrase`interleaved`, interleavedPair.join(", ")],
      ["half", phrase`half-split`, halfPair.join(", ")],
      ["theta", phrase`both rotate by θ =`, significant(theta)],
      ["angle", phrase`at m: mθ =`, number(angle, 3)],
      ["permutation", phrase`half-split takes the interleaved dimensions`, permutation.join(" ")],
    ],
  });
})();
