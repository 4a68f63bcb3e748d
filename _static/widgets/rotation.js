// Two arrows turned by their positions: the score knows their offset only.
"use strict";
(() => {
  const { arrow, axes, colour, handle, number, panel, path, phrase, text } = bookWidgets.kit;
  const Q = [2, 1];
  const K = [1, 2];
  const LAST = 20;

  // Turns a row vector counter-clockwise: (x, y) R(angle).
  function turn([x, y], angle) {
    const [c, s] = [Math.cos(angle), Math.sin(angle)];
    return [x * c - y * s, x * s + y * c];
  }

  function compute({ m, n, theta }) {
    const q = turn(Q, m * theta);
    const k = turn(K, n * theta);
    const relative = turn(K, (n - m) * theta);
    return { q, k, relative, score: q[0] * k[0] + q[1] * k[1], offset: n - m };
  }

  const vector = (parts) => `(${parts.map((part) => number(part)).join(", ")})`;
  const size = 300;
  const place = ([x, y]) => [size / 2 + x * 50, size / 2 - y * 50];

  function drawArrows(state, { q, k, score }) {
    const centre = place([0, 0]);
    const faint = { stroke: "currentColor", "stroke-opacity": 0.25 };
    let drawing = path([[8, size / 2], [size - 8, size / 2]], faint);
    drawing += path([[size / 2, 8], [size / 2, size - 8]], faint);
    const arc = [];
    const begin = Math.atan2(q[1], q[0]);
    const between = Math.atan2(q[0] * k[1] - q[1] * k[0], score);
    for (let step = 0; step <= 24; step++) {
      const angle = begin + (between * step) / 24;
      arc.push(place([0.8 * Math.cos(angle), 0.8 * Math.sin(angle)]));
    }
    drawing += path(arc, { stroke: colour("green"), "stroke-width": 2.5 });
    for (const [start, now, name, moves, paint] of [[Q, q, "q", "m", colour("blue")], [K, k, "k", "n", colour("orange")]]) {
      drawing += path([centre, place(start)], { stroke: paint, "stroke-opacity": 0.85 });
      const [x, y] = place(now.map((part) => 1.15 * part));
      const label = text(x, y + 5, name, { class: `is-${name}` });
      drawing += handle(moves, path([centre, place(now)], { class: "grip" }) + arrow(centre, place(now), paint) + label);
    }
    const words = phrase`The query is rotated to (${number(q[0])}, ${number(q[1])}), the key to (${number(k[0])}, ${number(k[1])}).`;
    return panel(size, size, words, drawing);
  }

  // The position at which an arrow comes nearest to a point, in whole steps from where it stands.
  function drag(state, name, [x, y]) {
    const [a, b] = compute(state)[name === "m" ? "q" : "k"];
    const [u, v] = [x - size / 2, size / 2 - y];
    return state[name] + Math.round(Math.atan2(a * v - b * u, a * u + b * v) / state.theta);
  }

  function drawScores({ theta }, { offset, score }) {
    const { x, y, drawing } = axes({
      width: size,
      height: size,
      x: [-LAST, LAST],
      y: [-5.5, 5.5],
      xTicks: [-20, -10, 0, 10, 20],
      yTicks: [-5, 0, 5],
      xLabel: phrase`offset n − m`,
      yLabel: phrase`score`,
    });
    const curve = [];
    for (let step = -LAST; step <= LAST; step += 0.25) {
      curve.push([x(step), y(compute({ m: 0, n: step, theta }).score)]);
    }
    const dot = `<circle cx="${x(offset).toFixed(1)}" cy="${y(score).toFixed(1)}" r="6" fill="${colour("purple")}"/>`;
    const words = phrase`The score as a wave over the offset; at offset ${number(offset, 0)} it is ${number(score)}.`;
    return panel(size, size, words, drawing + path(curve, { stroke: colour("grey"), "stroke-width": 2 }) + dot);
  }

  const positions = { min: 0, max: LAST };
  bookWidgets.define("rotation", {
    title: phrase`a query and a key rotated by their positions`,
    controls: [
      { name: "m", label: phrase`m, position of the query`, value: 2, ...positions },
      { name: "n", label: phrase`n, position of the key`, value: 5, ...positions },
      { name: "theta", label: phrase`θ, angle per position`, value: 0.5, min: 0.05, max: 1, step: 0.05, show: number },
      {
        name: "lock",
        label: phrase`When one moves`,
        value: "difference",
        options: [["free", phrase`the other stays`], ["difference", phrase`keep n − m`], ["sum", phrase`keep n + m`]],
      },
    ],
    play: ["m", 2],
    // The other position follows, and both stay inside their range.
    link(state, previous, changed) {
      const other = { m: "n", n: "m" }[changed];
      if (!other || state.lock === "free") return;
      const sign = state.lock === "sum" ? -1 : 1;
      const moved = previous[other] + sign * (state[changed] - previous[changed]);
      state[other] = Math.min(LAST, Math.max(0, moved));
      state[changed] = previous[changed] + sign * (state[other] - previous[other]);
    },
    compute,
    drag,
    draw: (state, result) => [drawArrows(state, result), drawScores(state, result)],
    numbers: ({ m, n, theta }, { offset, relative, score }) => [
      ["score", phrase`score q R(mθ) · k R(nθ) = q · k R((n − m)θ)`, number(score, 4)],
      ["relative", `k R((n − m)θ) = (1, 2) R((${n} − ${m}) · ${number(theta)})`, vector(relative)],
      ["offset", "n − m", number(offset, 0)],
    ],
  });
})();
