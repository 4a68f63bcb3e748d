// The weights of one query for growing d_k, under three divisors, and the size of the Jacobian.
"use strict";
(() => {
  const { axes, colour, number, panel, path, phrase, significant, tag, text } = bookWidgets.kit;
  // Standard normal numbers, the stand-in for q · k / √d_k: normal(64, seed=2), rounded to 3 digits.
  const Z = [
    0.189, -0.523, -0.413, -2.441, 1.8, 1.144, -0.325, 0.774, 0.281, -0.554, 0.978, -0.311,
    -0.329, -0.792, 0.455, -0.099, 0.545, -0.607, 0.127, -0.892, 0.841, 0.188, 0.331, 0.411,
    -1.011, 0.783, 2.057, -1.638, -1.729, -1.505, 0.841, 0.129, 1.078, 0.722, 0.211, 0.284,
    -0.17, 0.868, -1.13, -0.422, 0.243, 1.801, -0.764, -1.079, -0.563, 0.969, -0.235, 1.324,
    -1.873, 1.129, 1.035, -1.419, 0.154, 1.216, 0.088, 1, 2.375, 0.274, -0.28, -0.771, 0.648,
    -0.197, -0.179, -0.105,
  ];
  const SIZES = [4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096];
  const DIVISORS = { one: () => 1, root: Math.sqrt, whole: (d) => d };
  const WORDS = { one: "1", root: "√d_k", whole: "d_k" };
  const PAINT = { one: colour("orange"), root: colour("blue"), whole: colour("green") };

  // The largest eigenvalue of diag(p) − pᵀp: the zero of Σ p / (p − λ) between the two largest
  // weights. Sorted weights, largest first.
  function spectralNorm(p) {
    let [high, low] = [p[0], p[1]];
    for (let step = 0; step < 200 && low < high; step++) {
      const middle = (low + high) / 2;
      if (middle === low || middle === high) break;
      const sum = p.reduce((total, weight) => total + weight / (weight - middle), 0);
      if (sum < 0) low = middle;
      else high = middle;
    }
    return high;
  }

  function compute({ d_k, N, divisor }) {
    const scores = Z.slice(0, N).map((z) => (z * Math.sqrt(d_k)) / DIVISORS[divisor](d_k));
    const top = Math.max(...scores);
    const parts = scores.map((score) => Math.exp(score - top));
    const total = parts.reduce((sum, part) => sum + part, 0);
    const weights = parts.map((part) => part / total).sort((a, b) => b - a);
    const rest = weights.slice(1).reduce((sum, weight) => sum + weight, 0);
    return {
      weights,
      largest: weights[0],
      rest,
      norm: spectralNorm(weights),
      lower: (N / (N - 1)) * rest * (1 - rest),
      upper: 2 * Math.max(...weights.map((weight) => weight * (1 - weight))),
    };
  }

  function drawWeights({ N, divisor }, { weights }) {
    const { x, y, drawing } = axes({
      width: 300,
      height: 270,
      x: [0, N],
      y: [0, 1],
      xTicks: [],
      yTicks: [0, 0.5, 1],
      xLabel: phrase`${N} keys, sorted by weight`,
      yLabel: phrase`weight`,
    });
    const bars = weights.map((weight, place) =>
      tag("rect", {
        x: x(place + 0.1),
        y: y(weight),
        width: x(place + 0.9) - x(place + 0.1),
        height: y(0) - y(weight),
        fill: PAINT[divisor],
      }),
    );
    const words = phrase`Sorted weights of ${N} keys: the largest is ${number(weights[0])}, the second ${number(weights[1])}.`;
    return panel(300, 270, words, drawing + bars.join(""));
  }

  // The name of a curve where it stands apart from the others.
  function named(divisor, points) {
    const [x, y] = points[{ one: 3, root: 8, whole: 8 }[divisor]];
    const below = { one: 0, root: -10, whole: 18 }[divisor];
    const side = divisor === "one" ? { "text-anchor": "end" } : {};
    const shift = divisor === "one" ? -16 : 0;
    return text(x + shift, y + below, phrase`by ${WORDS[divisor]}`, { ...side, class: "on-lines", style: `fill: ${PAINT[divisor]}` });
  }

  function drawNorms(state, { norm }) {
    const { x, y, drawing } = axes({
      width: 300,
      height: 270,
      x: [4, 4096],
      y: [0, 0.5],
      xTicks: [4, 32, 256, [2048, "2,048"]],
      yTicks: [0, 0.25, 0.5],
      xLabel: "d_k",
      yLabel: phrase`size of the Jacobian, ‖J‖₂`,
      log: "x",
    });
    const curves = Object.keys(DIVISORS).map((divisor) => {
      const points = SIZES.map((d_k) => [x(d_k), y(compute({ ...state, d_k, divisor }).norm)]);
      return (
        path(points, { stroke: PAINT[divisor], "stroke-width": divisor === state.divisor ? 3 : 1.2 }) +
        named(divisor, points)
      );
    });
    const dot = tag("circle", { cx: x(state.d_k), cy: y(norm), r: 6, fill: PAINT[state.divisor] });
    const words = phrase`The size of the Jacobian over d_k for three divisors; here, divided by ${WORDS[state.divisor]}, it is ${number(norm, 3)}.`;
    return panel(300, 270, words, drawing + curves.join("") + dot);
  }

  bookWidgets.define("softmax", {
    title: phrase`attention weights for three divisors`,
    controls: [
      { name: "d_k", label: phrase`d_k, length of query and key`, value: 64, values: SIZES },
      { name: "N", label: phrase`N, number of keys`, value: 8, min: 2, max: Z.length },
      {
        name: "divisor",
        label: phrase`Scores are divided by`,
        value: "one",
        options: Object.entries(WORDS),
      },
    ],
    compute,
    draw: (state, result) => [drawWeights(state, result), drawNorms(state, result)],
    numbers: (state, { largest, rest, norm, lower, upper }) => [
      ["largest", phrase`largest weight`, number(largest, 4)],
      ["rest", phrase`what it leaves, r`, significant(rest)],
      ["norm", "‖J‖₂", significant(norm)],
      ["lower", phrase`at least N/(N−1) · r(1−r) =`, significant(lower)],
      ["upper", phrase`at most 2 · max p(1−p) =`, significant(upper)],
    ],
  });
})();
