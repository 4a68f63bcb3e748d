// Signal and gradient through L random layers, connected in four ways: what theory predicts.
"use strict";
(() => {
  const { axes, colour, panel, path, significant, tag } = bookWidgets.kit;
  const WAYS = {
    plain: ["f(x)", "red"],
    residual: ["x + f(x)", "orange"],
    pre: ["x + f(norm(x))", "blue"],
    post: ["norm(x + f(x))", "green"],
  };
  // Mean square of the signal after l layers, and of the gradient there in a stack of L.
  const SIGNAL = {
    plain: (l) => 2 ** -l,
    residual: (l) => 1.5 ** l,
    pre: (l) => 1 + l / 2,
    post: () => 1,
  };
  const GRADIENT = {
    plain: (l, L) => 2 ** (l - L),
    residual: (l, L) => 1.5 ** (L - l),
    // Behind the final norm the gradient has mean square 1.
    pre: (l) => 1 / (1 + l / 2),
    post: () => 1,
  };

  const PARTS = Array.from({ length: 21 }, (_, step) => step / 20);

  function compute({ L, way }) {
    return {
      signal: Math.sqrt(SIGNAL[way](L)),
      first: Math.sqrt(GRADIENT[way](0, L)),
      last: Math.sqrt(GRADIENT[way](L, L)),
    };
  }

  function drawCurves(state, label, squares, end, words) {
    const { x, y, drawing } = axes({
      width: 300,
      height: 280,
      x: [0, 100],
      y: [1e-16, 1e16],
      xTicks: [0, 50, 100],
      yTicks: [[1e-16, "10⁻¹⁶"], [1e-8, "10⁻⁸"], [1, "1"], [1e8, "10⁸"], [1e16, "10¹⁶"]],
      xLabel: "layer l",
      yLabel: label,
      log: "y",
    });
    const place = (way, l) => [x(l), y(Math.sqrt(squares[way](l, state.L)))];
    const curves = Object.entries(WAYS).map(([way, [, paint]]) =>
      path(PARTS.map((part) => place(way, part * state.L)), {
        stroke: colour(paint),
        "stroke-width": way === state.way ? 4 : 1.5,
        "stroke-dasharray": way === "post" ? "6 4" : undefined,
      }),
    );
    const [cx, cy] = place(state.way, end);
    const dot = tag("circle", { cx, cy, r: 6, fill: colour(WAYS[state.way][1]) });
    return panel(300, 280, words, drawing + curves.join("") + dot);
  }

  bookWidgets.define("depth", {
    title: "signal and gradient through many layers",
    controls: [
      { name: "L", label: "L, number of layers", value: 40, min: 1, max: 100 },
      {
        name: "way",
        label: "Each layer gives",
        value: "plain",
        options: Object.entries(WAYS).map(([way, [name]]) => [way, name]),
      },
    ],
    compute,
    draw(state, { signal, first }) {
      const name = WAYS[state.way][0];
      const words = [
        `Size of the signal over the layers; with ${name} it is ${significant(signal)} after ${state.L} layers.`,
        `Size of the gradient over the layers; with ${name} it is ${significant(first)} before the first of ${state.L} layers.`,
      ];
      return [
        drawCurves(state, "size of the signal", SIGNAL, state.L, words[0]),
        drawCurves(state, "size of the gradient", GRADIENT, 0, words[1]),
      ];
    },
    numbers: (state, { signal, first, last }) => [
      ["signal", "signal after L layers", significant(signal)],
      ["first", "gradient before the first layer", significant(first)],
      ["last", "gradient after the last layer", significant(last)],
    ],
  });
})();
