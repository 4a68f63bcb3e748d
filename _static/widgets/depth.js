// Signal and gradient through L random layers, connected in four ways: what theory predicts.
"use strict";
(() => {
  const { axes, colour, panel, path, phrase, significant, tag, text } = bookWidgets.kit;
  const WAYS = {
    plain: ["f(x)", "green"],
    residual: ["x + f(x)", "orange"],
    pre: ["x + f(norm(x))", "blue"],
    post: ["norm(x + f(x))", "red"],
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

  const raised = (power) => [...String(power)].map((c) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[c] ?? "⁻").join("");
  const power = (exponent) => [10 ** exponent, exponent ? `10${raised(exponent)}` : "1"];

  // The axes follow L, so that the curves fill them: over one layer f(x) falls by 0.151 decades and
  // x + f(x) grows by 0.088.
  function drawCurves(state, label, squares, end, words) {
    const down = Math.max(1, Math.ceil(0.151 * state.L));
    const up = Math.max(1, Math.ceil(0.089 * state.L));
    const middle = Math.ceil(down / 2);
    const { x, y, drawing } = axes({
      width: 300,
      height: 280,
      x: [0, state.L],
      y: [10 ** -down, 10 ** up],
      xTicks: state.L > 1 ? [0, Math.round(state.L / 2), state.L] : [0, 1],
      yTicks: [-down, ...(middle < down ? [-middle] : []), 0, up].map(power),
      xLabel: phrase`layer l`,
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

  // Both panels have the same lines; no name would find room beside four of them.
  function drawNames(state) {
    let drawing = "";
    Object.entries(WAYS).forEach(([way, [name, paint]], place) => {
      const left = [0, 72, 176, 322][place];
      const line = { stroke: colour(paint), "stroke-width": way === state.way ? 4 : 1.5 };
      drawing += path([[left, 12], [left + 16, 12]], { ...line, "stroke-dasharray": way === "post" ? "6 4" : undefined });
      drawing += text(left + 20, 17, name, { "text-anchor": "start", style: `fill: ${colour(paint)}` });
    });
    return panel(480, 24, phrase`The names of the lines: ${Object.values(WAYS).map(([name]) => name).join(", ")}.`, drawing).replace("book-panel", "book-panel wide");
  }

  bookWidgets.define("depth", {
    title: phrase`signal and gradient through many layers`,
    controls: [
      { name: "L", label: phrase`L, number of layers`, value: 40, min: 1, max: 100 },
      {
        name: "way",
        label: phrase`Each layer gives`,
        value: "plain",
        options: Object.entries(WAYS).map(([way, [name]]) => [way, name]),
      },
    ],
    compute,
    draw(state, { signal, first }) {
      const name = WAYS[state.way][0];
      const words = [
        phrase`Size of the signal over the layers; with ${name} it is ${significant(signal)} after ${state.L} layers.`,
        phrase`Size of the gradient over the layers; with ${name} it is ${significant(first)} before the first of ${state.L} layers.`,
      ];
      return [
        drawCurves(state, phrase`size of the signal`, SIGNAL, state.L, words[0]),
        drawCurves(state, phrase`size of the gradient`, GRADIENT, 0, words[1]),
        drawNames(state),
      ];
    },
    numbers: (state, { signal, first, last }) => [
      ["signal", phrase`signal after L layers`, significant(signal)],
      ["first", phrase`gradient before the first layer`, significant(first)],
      ["last", phrase`gradient after the last layer`, significant(last)],
    ],
  });
})();
