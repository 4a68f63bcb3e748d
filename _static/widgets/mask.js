// One query of the ticket: scores, their exponentials, the weights and the output, under a mask.
"use strict";
(() => {
  const { colour, number, panel, path, phrase, significant, tag, text } = bookWidgets.kit;
  // Queries, keys and values are the vectors of bookkit.tickets.
  const TOKENS = [phrase`from`, phrase`Beijing`, phrase`to`, phrase`Shanghai`];
  const X = [[0, -1], [2, 1], [0, 1], [2, -1]];
  // Padding: the last token is filler.
  const MASKS = { none: phrase`no mask`, causal: phrase`causal`, padding: phrase`padding` };
  const MOST = 3; // the largest factor
  // Whether the query at position m may see the key at position n.
  const SEES = { none: () => true, causal: (m, n) => n <= m, padding: (m, n) => n < 3 };

  function compute({ m, factor, mask }) {
    const seen = X.map((_, n) => SEES[mask](m, n));
    const scores = X.map((k) => (factor * (X[m][0] * k[0] + X[m][1] * k[1])) / Math.SQRT2);
    const parts = scores.map((score, n) => (seen[n] ? Math.exp(score) : 0));
    const total = parts.reduce((sum, part) => sum + part, 0);
    const weights = parts.map((part) => part / total);
    return {
      seen,
      scores,
      parts,
      total,
      weights,
      sum: weights.reduce((sum, weight) => sum + weight, 0),
      output: [0, 1].map((c) => weights.reduce((sum, weight, n) => sum + weight * X[n][c], 0)),
    };
  }

  const point = (parts, digits) => `(${parts.map((part) => number(part, digits)).join(", ")})`;
  // What the mask hides is exactly 0.
  const shown = (weight, seen) => (seen ? number(weight) : "0");
  const side = (anchor) => ({ "text-anchor": anchor });

  function bar(from, to, y, paint, seen = true) {
    const inside = { x: Math.min(from, to), y, width: Math.max(1, Math.abs(to - from)), height: 16 };
    const dashes = { fill: "none", stroke: paint, "stroke-dasharray": "3 3" };
    return tag("rect", { ...inside, ...(seen ? { fill: paint } : dashes) });
  }

  function drawSteps({ m, factor }, { seen, scores, parts, total, weights, sum }) {
    const [blue, grey, purple] = ["blue", "grey", "purple"].map(colour);
    const row = (n) => 62 + 28 * n;
    // The exponentials are drawn against the largest of the row, seen or not: a mask moves none.
    const largest = Math.exp(Math.max(...scores));
    // The scores have room for this query's largest and smallest at the largest factor.
    const ends = compute({ m, factor: MOST, mask: "none" }).scores;
    const room = [Math.min(...ends), Math.max(...ends)];
    const zero = 162 - (76 * room[0]) / (room[1] - room[0]);
    const across = (score) => zero + (76 * score) / (room[1] - room[0]);
    let drawing = text(0, 16, phrase`${TOKENS[m]} asks, q = ${point(X[m], 0)}`, { ...side("start"), class: "is-q" });
    drawing += text(0, 44, phrase`key`, { ...side("start"), class: "is-k" });
    drawing += text(166, 44, phrase`score × ${number(factor)}`, { class: "is-s" }) + text(310, 44, "exp") + text(430, 44, phrase`weight`);
    TOKENS.forEach((token, n) => {
      const y = row(n);
      drawing += text(0, y + 5, token, { ...side("start"), style: seen[n] ? undefined : "text-decoration: line-through" });
      drawing += text(152, y + 5, number(scores[n]), side("end"));
      drawing += bar(zero, across(scores[n]), y - 8, purple, seen[n]);
      drawing += text(308, y + 5, seen[n] ? significant(parts[n]) : "0", side("end"));
      drawing += seen[n] ? bar(315, 315 + (38 * parts[n]) / largest, y - 8, grey) : "";
      drawing += text(404, y + 5, shown(weights[n], seen[n]), side("end"));
      drawing += seen[n] ? bar(410, 410 + 68 * weights[n], y - 8, blue) : "";
    });
    drawing += path([[zero, 50], [zero, row(3) + 12]], { stroke: "currentColor" });
    drawing += path([[0, row(3) + 16], [479, row(3) + 16]], { stroke: "currentColor" });
    const y = row(4) + 4;
    drawing += text(0, y + 5, phrase`sum`, side("start")) + text(308, y + 5, significant(total), side("end"));
    drawing += text(404, y + 5, number(sum), side("end"));
    // The whole weight, cut where one key's share ends.
    let end = 410;
    weights.forEach((weight, n) => {
      if (seen[n]) drawing += bar(end, end + 68 * weight - 1, y - 8, blue);
      end += 68 * weight;
    });
    const said = TOKENS.map((token, n) => (seen[n] ? `${token} ${number(weights[n])}` : phrase`${token} 0, masked`));
    const words = phrase`${TOKENS[m]} asks; scores times ${number(factor)}. Weights: ${said.join("; ")}. Their sum is ${number(sum)}.`;
    return panel(480, 190, words, drawing).replace("book-panel", "book-panel wide");
  }

  // The values as corners, the output between those that are seen.
  function drawOutput(state, { seen, weights, output }) {
    const [left, top, size] = [165, 14, 112];
    const place = ([x, y]) => [left + (x / 2) * size, top + ((1 - y) / 2) * size];
    const [cx, cy] = place(output);
    // Once around the rectangle.
    const around = [0, 3, 1, 2].filter((n) => seen[n]).map((n) => place(X[n]).join(" "));
    const faint = { fill: colour("green"), "fill-opacity": 0.15, stroke: colour("green"), "stroke-width": 1 };
    let drawing = tag("path", { d: `M${around.join("L")}Z`, ...faint });
    X.forEach((v, n) => {
      const [x, y] = place(v);
      if (seen[n]) drawing += path([[x, y], [cx, cy]], { stroke: colour("grey"), "stroke-width": 1 + 6 * weights[n] });
      const paint = seen[n] ? { fill: colour("green") } : { fill: "none", stroke: colour("green"), "stroke-dasharray": "2 2" };
      drawing += tag("circle", { cx: x, cy: y, r: 6, ...paint });
      const [away, anchor] = v[0] ? [13, "start"] : [-13, "end"];
      const line = v[1] > 0 ? y + 2 : y - 15;
      drawing += text(x + away, line, `${TOKENS[n]} ${point(v, 0)}`, side(anchor));
      drawing += text(x + away, line + 19, phrase`weight ${shown(weights[n], seen[n])}`, side(anchor));
    });
    const corners = [[cx, cy - 8], [cx + 8, cy], [cx, cy + 8], [cx - 8, cy]].map((corner) => corner.join(" "));
    drawing += tag("path", { d: `M${corners.join("L")}Z`, fill: colour("red") });
    drawing += text(left + size / 2, top + size + 26, phrase`output ${point(output, 2)}`, { style: `fill: ${colour("red")}; font-weight: 600` });
    const words = phrase`The values are four corners; the output lies between those that are seen, at ${point(output, 2)}.`;
    return panel(480, 158, words, drawing).replace("book-panel", "book-panel wide");
  }

  bookWidgets.define("mask", {
    title: phrase`the weights of one query, with and without a mask`,
    controls: [
      { name: "m", label: phrase`The token that asks`, value: 2, options: TOKENS.map((token, m) => [m, token]) },
      { name: "mask", label: phrase`Mask`, value: "none", options: Object.entries(MASKS) },
      { name: "factor", label: phrase`factor on all scores`, value: 1, min: 0, max: MOST, step: 0.25, show: number },
    ],
    compute,
    draw: (state, result) => [drawSteps(state, result), drawOutput(state, result)],
    numbers: (state, { seen, weights, sum, output }) => [
      ["weights", phrase`weights`, weights.map((weight, n) => shown(weight, seen[n])).join("  ")],
      ["sum", phrase`their sum`, number(sum)],
      ["output", phrase`output`, point(output, 2)],
    ],
  });
})();
