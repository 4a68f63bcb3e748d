// The two times of a matrix product, and the roof above them.
"use strict";
(() => {
  const { axes, colour, number, panel, path, phrase, significant, tag, text } = bookWidgets.kit;
  // Operations per second in bfloat16 and bytes per second, of src/bookkit/gpus.jsonl.
  const GPUS = { h200: ["H200", 989e12, 4.8e12], a100: ["A100", 312e12, 2.039e12], rtx: ["RTX 4090", 165e12, 1.008e12] };
  // The matrix of the chapter: 4,096 × 14,336.
  const [D, OUT] = [4096, 14336];
  const COUNTS = Array.from({ length: 15 }, (_, power) => 2 ** power);
  const WIDTHS = { 2: phrase`2 bytes (bfloat16)`, 1: phrase`1 byte, vectors in 2` };

  function compute({ gpu, N, width }) {
    const [, peak, bandwidth] = GPUS[gpu];
    const operations = 2 * N * D * OUT;
    const bytes = Number(width) * D * OUT + 2 * N * (D + OUT);
    const arithmetic = (1e6 * operations) / peak;
    const memory = (1e6 * bytes) / bandwidth;
    const least = Math.max(arithmetic, memory);
    return { intensity: operations / bytes, ridge: peak / bandwidth, arithmetic, memory, least, rate: operations / least / 1e6 };
  }

  function drawRoof(state, { intensity, rate }) {
    const [name, peak, bandwidth] = GPUS[state.gpu];
    const { x, y, drawing } = axes({
      width: 300,
      height: 270,
      x: [0.5, 8192],
      y: [1e12, 2e15],
      xTicks: [1, 10, 100, [1000, "10³"]],
      yTicks: [[1e12, "1"], [1e13, "10"], [1e14, "100"], [1e15, "10³"]],
      xLabel: phrase`operations per byte`,
      yLabel: phrase`TFLOP/s, at most`,
      log: "xy",
    });
    const ridge = peak / bandwidth;
    const lowest = Math.max(0.5, 1e12 / bandwidth);
    const roof = [[lowest, lowest * bandwidth], [ridge, peak], [8192, peak]].map(([a, b]) => [x(a), y(b)]);
    const dot = tag("circle", { cx: x(intensity), cy: y(rate * 1e12), r: 7, fill: colour("red") });
    const label = text(x(ridge), y(peak) - 10, name, { class: "on-lines" });
    const words = phrase`The roof of the ${name}. With ${state.N} vectors the product does ${significant(intensity)} operations per byte and reaches at most ${significant(rate)} TFLOP/s.`;
    return panel(300, 270, words, drawing + path(roof, { stroke: colour("blue"), "stroke-width": 3 }) + label + dot);
  }

  // The two times side by side, against the longer one.
  function drawTimes(state, { arithmetic, memory, least }) {
    const bars = [[phrase`arithmetic`, arithmetic, "orange"], [phrase`memory`, memory, "green"]];
    let drawing = text(4, 16, phrase`microseconds, at least`, { "text-anchor": "start" });
    bars.forEach(([words, time, paint], place) => {
      const height = Math.max(1, (160 * time) / least);
      const left = 60 + 110 * place;
      const limits = time === least;
      drawing += tag("rect", { x: left, y: 226 - height, width: 70, height, fill: colour(paint), "fill-opacity": limits ? 1 : 0.5 });
      drawing += text(left + 35, 218 - height, significant(time)) + text(left + 35, 246, words, { style: limits ? "font-weight: 600" : undefined });
    });
    drawing += path([[40, 226], [260, 226]], { stroke: "currentColor" });
    const limit = arithmetic > memory ? bars[0][0] : bars[1][0];
    const words = phrase`Arithmetic takes ${significant(arithmetic)} microseconds and memory ${significant(memory)}; the limit is ${limit}.`;
    return panel(300, 270, words, drawing);
  }

  bookWidgets.define("roofline", {
    title: phrase`arithmetic or memory, which takes longer`,
    controls: [
      { name: "N", label: phrase`N, number of vectors`, value: 16, values: COUNTS, show: (value) => value.toLocaleString("en") },
      { name: "gpu", label: phrase`GPU`, value: "h200", options: Object.entries(GPUS).map(([gpu, [name]]) => [gpu, name]) },
      { name: "width", label: phrase`A number of the matrix takes`, value: "2", options: Object.entries(WIDTHS) },
    ],
    compute,
    draw: (state, result) => [drawRoof(state, result), drawTimes(state, result)],
    numbers: (_state, { intensity, ridge, arithmetic, memory, rate }) => [
      ["intensity", phrase`operations per byte`, significant(intensity)],
      ["ridge", phrase`ridge of the GPU`, significant(ridge)],
      ["arithmetic", phrase`arithmetic, microseconds`, significant(arithmetic)],
      ["memory", phrase`memory, microseconds`, significant(memory)],
      ["rate", phrase`TFLOP/s, at most`, significant(rate)],
    ],
  });
})();
