// ReLU, GELU, its tanh form and Swish: value, slope and soft step at one point.
"use strict";
(() => {
  const { axes, colour, number, panel, path, phrase, significant, tag } = bookWidgets.kit;
  const NAMES = { relu: "ReLU", gelu: "GELU", tanh: phrase`GELU, tanh form`, swish: "Swish" };

  // The error function by a series of positive terms: no digits are lost.
  function erf(x) {
    let term = x;
    let sum = x;
    for (let n = 1; Math.abs(term) > 1e-17 * Math.abs(sum); n++) {
      term *= (2 * x * x) / (2 * n + 1);
      sum += term;
    }
    return (2 / Math.sqrt(Math.PI)) * Math.exp(-x * x) * sum;
  }

  // The soft step s and its slope; the activation is x s(x), its slope s + x s′.
  const STEPS = {
    relu: (x) => [x > 0 ? 1 : 0, 0],
    gelu: (x) => [(1 + erf(x / Math.SQRT2)) / 2, Math.exp((-x * x) / 2) / Math.sqrt(2 * Math.PI)],
    tanh: (x) => {
      const c = Math.sqrt(2 / Math.PI);
      const t = Math.tanh(c * (x + 0.044715 * x ** 3));
      return [(1 + t) / 2, ((1 - t * t) * c * (1 + 3 * 0.044715 * x * x)) / 2];
    },
    swish: (x, beta) => {
      const s = 1 / (1 + Math.exp(-beta * x));
      return [s, beta * s * (1 - s)];
    },
  };

  function compute({ f, x, beta }) {
    const [step, change] = STEPS[f](x, beta);
    return {
      step,
      value: x * step,
      slope: step + x * change,
      error: x * (STEPS.tanh(x)[0] - STEPS.gelu(x)[0]),
    };
  }

  function drawCurve(state, key, range, ticks, label, paint) {
    const { x, y, drawing } = axes({
      width: 300,
      height: 260,
      x: [-4, 3],
      y: range,
      xTicks: [-4, -2, 0, 2],
      yTicks: ticks,
      xLabel: "x",
      yLabel: label,
    });
    const points = [];
    for (let place = -4; place <= 3.001; place += 0.05) {
      points.push([x(place), y(compute({ ...state, x: place })[key])]);
    }
    const now = compute(state);
    const dot = tag("circle", { cx: x(state.x), cy: y(now[key]), r: 6, fill: paint });
    let tangent = "";
    if (key === "value") {
      const at = (place) => [x(place), y(now.value + now.slope * (place - state.x))];
      const ends = [Math.max(-4, state.x - 0.8), Math.min(3, state.x + 0.8)];
      tangent = path(ends.map(at), { stroke: colour("orange"), "stroke-width": 2 });
    }
    const words = phrase`The ${label} of ${NAMES[state.f]} over x; at ${number(state.x)} it is ${number(now[key], 3)}.`;
    return panel(300, 260, words, drawing + path(points, { stroke: paint, "stroke-width": 2 }) + tangent + dot);
  }

  bookWidgets.define("activation", {
    title: phrase`activations, their slopes and their steps`,
    controls: [
      { name: "x", label: "x", value: -1, min: -4, max: 3, step: 0.1, show: number },
      { name: "beta", label: phrase`β of Swish`, value: 1, min: 0, max: 5, step: 0.1, show: (value) => number(value, 1), used: ({ f }) => f === "swish" },
      { name: "f", label: phrase`Activation`, value: "gelu", options: Object.entries(NAMES) },
    ],
    compute,
    draw: (state) => [
      drawCurve(state, "value", [-0.6, 3], [0, 1, 2, 3], phrase`value`, colour("blue")),
      drawCurve(state, "slope", [-0.4, 1.4], [0, 0.5, 1], phrase`slope`, colour("purple")),
    ],
    numbers: (state, { value, slope, step, error }) => [
      ["value", "f(x)", number(value, 4)],
      ["slope", phrase`slope`, number(slope, 4)],
      ["step", phrase`step s(x), with f(x) = x s(x)`, number(step, 4)],
      ["error", phrase`tanh form − GELU`, significant(error)],
    ],
  });
})();
