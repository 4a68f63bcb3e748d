// Which pairs meet new angles in a longer text, and what a rule of stretching does to them.
"use strict";
(() => {
  const { axes, colour, panel, path, phrase, significant, tag, text } = bookWidgets.kit;
  const RULES = { none: phrase`as trained`, pi: "PI", ntk: "NTK-aware", parts: "NTK-by-parts", llama: "Llama 3", yarn: "YaRN" };
  const TURN = 2 * Math.PI;
  const WIDTH = 480;
  const count = (value) => value.toLocaleString("en");
  const cut = (value) => Math.min(1, Math.max(0, value));
  const powers = (first, last) => Array.from({ length: last - first + 1 }, (_, i) => 2 ** (first + i));

  // How much of its frequency each pair keeps: 1 all of it, 0 the part 1/s. `nu` counts rotations.
  function keep(rule, nu, step) {
    if (rule !== "yarn") return nu.map((rotations) => cut((rotations - 1) / ((rule === "llama" ? 4 : 32) - 1)));
    // As released: linear in the index, between whole indices.
    let [start, stop] = [Math.floor(Math.log(nu[0] / 32) / step), Math.ceil(Math.log(nu[0]) / step)];
    if (start >= nu.length) return nu.map(() => 1);
    [start, stop] = [Math.max(start, 0), Math.min(stop, 2 * nu.length - 1)];
    return nu.map((_, i) => 1 - cut((i - start) / (stop - start || 0.001)));
  }

  function compute({ rule, base, d_k, L_0, s }) {
    const pairs = d_k / 2;
    const nu = Array.from({ length: pairs }, (_, i) => (L_0 * base ** (-i / pairs)) / TURN);
    const factor = {
      none: () => nu.map(() => 1),
      pi: () => nu.map(() => s),
      ntk: () => nu.map((_, i) => s ** (i / (pairs - 1))),
    }[rule];
    const kappa = factor?.() ?? keep(rule, nu, Math.log(base) / pairs).map((kept) => 1 / (kept + (1 - kept) / s));
    const slow = kappa.filter((_, i) => nu[i] < 1);
    const fast = kappa.filter((_, i) => nu[i] >= 1);
    return {
      nu,
      kappa,
      // Rotations at the end of the longer text.
      reached: nu.map((rotations, i) => (rotations * s) / kappa[i]),
      slow: slow.length,
      unseen: slow.filter((one) => one < s * (1 - 1e-12)).length,
      // Without a slow pair no angle is new.
      safe: L_0 * Math.min(s, ...slow),
      fast: fast.reduce((sum, one) => sum + one, 0) / fast.length,
    };
  }

  const wide = (height, words, drawing) => panel(WIDTH, height, words, drawing).replace("book-panel", "book-panel wide");
  const ticks = (pairs) => [0, pairs / 4, pairs / 2, (3 * pairs) / 4, pairs - 1];

  // The circle of every pair, unrolled: what training covered, and what the longer text adds.
  function drawArcs({ d_k, s }, { nu, reached, slow, unseen }) {
    const pairs = d_k / 2;
    const { x, y, box, drawing } = axes({
      width: WIDTH,
      height: 190,
      x: [-0.7, pairs - 0.3],
      y: [0, 1],
      xTicks: ticks(pairs),
      yTicks: [0, 0.5, 1],
      xLabel: phrase`pair i, from fast to slow`,
    });
    const bars = (from, to, share, paint) => {
      const half = share * (x(0.5) - x(0));
      const boxes = from.map((low, i) => [i, cut(low), cut(to[i])]).filter(([, low, high]) => high > low);
      const d = boxes.map(([i, low, high]) => `M${(x(i) - half).toFixed(1)} ${y(low).toFixed(1)}h${(2 * half).toFixed(1)}V${y(high).toFixed(1)}h${(-2 * half).toFixed(1)}Z`);
      return tag("path", { d: d.join(""), fill: paint });
    };
    const seen = bars(nu.map(() => 0), nu, 0.8, colour("blue"));
    // Narrower, so that the colour is not needed to tell them apart.
    const added = bars(nu, reached, 0.4, colour("red"));
    const paint = (name) => ({ style: `fill: ${colour(name)}; font-weight: 600` });
    const names =
      text(4, 16, phrase`part of the circle seen in training`, { "text-anchor": "start", ...paint("blue") }) +
      text(box.right, 16, phrase`new with s = ${s}`, { "text-anchor": "end", ...paint("red") });
    const words = phrase`${slow} of ${pairs} pairs have covered only a part of their circle in training; in a text ${s} times as long, ${unseen} of them meet new angles.`;
    return wide(190, words, drawing + seen + added + names);
  }

  function drawFactors({ d_k, s, rule }, { nu, kappa, slow }) {
    const pairs = d_k / 2;
    const { x, y, box, drawing } = axes({
      width: WIDTH,
      height: 170,
      x: [-0.7, pairs - 0.3],
      y: [0.9, 1.1 * s],
      xTicks: ticks(pairs),
      yTicks: [1, Math.sqrt(s), s].filter((one, i, all) => all.indexOf(one) === i).map((one) => [one, significant(one)]),
      xLabel: phrase`pair i`,
      yLabel: phrase`stretch factor κ: ${RULES[rule]}`,
      log: "y",
    });
    const border = x(nu.filter((one) => one >= 1).length - 0.5);
    const line = slow ? path([[border, box.top], [border, box.bottom]], { stroke: "currentColor", "stroke-dasharray": "3 3" }) : "";
    const label = slow ? text(box.right, 16, phrase`slow pairs: right of the line`, { "text-anchor": "end" }) : "";
    const dots = kappa.map((one, i) => tag("circle", { cx: x(i), cy: y(one), r: 3.5, fill: colour("green") }));
    const words = phrase`The stretch factor of each pair with the rule ${RULES[rule]}: ${significant(kappa[0])} for the fastest pair, ${significant(kappa[pairs - 1])} for the slowest.`;
    return wide(170, words, drawing + line + label + dots.join(""));
  }

  bookWidgets.define("stretch", {
    title: phrase`angles that a longer text adds, under each rule`,
    controls: [
      { name: "rule", label: phrase`Rule`, value: "none", options: Object.entries(RULES) },
      { name: "s", label: phrase`s, times as long as in training`, value: 4, values: powers(0, 6) },
      { name: "L_0", label: phrase`L_0, training length`, value: 1024, values: powers(8, 17), show: count },
      { name: "base", label: phrase`b, base`, value: 10000, values: [1000, 10000, 50000, 100000, 500000, 1000000, 5000000], show: count },
      { name: "d_k", label: phrase`d_k, rotary dimensions`, value: 32, options: [[32, "32"], [64, "64"], [128, "128"]] },
    ],
    compute,
    draw: (state, result) => [drawArcs(state, result), drawFactors(state, result)],
    numbers: ({ d_k, L_0, s }, { slow, unseen, safe, fast }) => [
      ["slow", phrase`slow pairs`, phrase`${slow} of ${d_k / 2}`],
      ["unseen", phrase`slow pairs that meet new angles`, phrase`${unseen} of ${d_k / 2}`],
      ["safe", phrase`safe length (of ${count(s * L_0)})`, count(Math.round(safe))],
      ["fast", phrase`fast pairs slowed down, on average by`, significant(fast)],
    ],
  });
})();
