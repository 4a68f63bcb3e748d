// The wavelength of every pair against the length of the context.
"use strict";
(() => {
  const { axes, colour, number, panel, path, phrase, significant, tag, text } = bookWidgets.kit;
  const LENGTHS = Array.from({ length: 12 }, (_, power) => 2 ** (power + 9));

  function compute({ d, base, length }) {
    const wavelength = Array.from({ length: d / 2 }, (_, i) => 2 * Math.PI * base ** ((2 * i) / d));
    const longest = wavelength[wavelength.length - 1];
    return {
      wavelength,
      longest,
      incomplete: wavelength.filter((value) => value > length).length,
      turns: length / longest,
    };
  }

  function draw({ d, length }, { wavelength, incomplete }) {
    const { x, y, box, drawing } = axes({
      width: 480,
      height: 300,
      x: [-1, d / 2],
      y: [1, 1e8],
      xTicks: [0, d / 8, d / 4, (3 * d) / 8, d / 2 - 1],
      yTicks: [[1, "1"], [100, "10²"], [1e4, "10⁴"], [1e6, "10⁶"], [1e8, "10⁸"]],
      xLabel: phrase`pair i`,
      yLabel: phrase`wavelength λ, in positions`,
      log: "y",
    });
    const dots = wavelength.map((value, i) => {
      const slow = value > length;
      // Two shapes, so that the colour is not needed to tell them apart.
      const place = { fill: colour(slow ? "orange" : "blue") };
      return slow
        ? tag("rect", { x: x(i) - 3.5, y: y(value) - 3.5, width: 7, height: 7, ...place })
        : tag("circle", { cx: x(i), cy: y(value), r: 3.5, ...place });
    });
    const line = path([[box.left, y(length)], [box.right, y(length)]], {
      stroke: colour("green"),
      "stroke-width": 2,
      "stroke-dasharray": "7 4",
    });
    const name = text(box.left + 8, y(length) - 7, phrase`context L = ${significant(length)}`, { "text-anchor": "start" });
    const words = phrase`The wavelength grows with the pair from 6.28 to ${significant(wavelength.at(-1))}; ${incomplete} of ${wavelength.length} pairs lie above the context of ${length} positions.`;
    return [panel(480, 300, words, drawing + dots.join("") + line + name).replace("book-panel", "book-panel wide")];
  }

  bookWidgets.define("wavelength", {
    title: phrase`wavelengths of the pairs against the context`,
    controls: [
      {
        name: "base",
        label: phrase`b, base`,
        value: 10000,
        values: [100, 1000, 10000, 100000, 500000, 1000000, 10000000],
        show: (value) => value.toLocaleString("en"),
      },
      {
        name: "length",
        label: phrase`L, length of the context`,
        value: 4096,
        values: LENGTHS,
        show: (value) => value.toLocaleString("en"),
      },
      { name: "d", label: phrase`d, dimension of the head`, value: 128, options: [[32, "32"], [64, "64"], [128, "128"]] },
    ],
    compute,
    draw,
    numbers: ({ d }, { longest, incomplete, turns }) => [
      ["longest", phrase`longest wavelength`, significant(longest)],
      ["incomplete", phrase`pairs without a full rotation`, phrase`${incomplete} of ${d / 2}`],
      ["turns", phrase`rotations of the slowest pair`, significant(turns)],
    ],
  });
})();
