// A binary counter, and six waves whose periods double in the same way.
"use strict";
(() => {
  const { colour, number, panel, path, phrase, tag, text } = bookWidgets.kit;
  const DIGITS = 6;

  function compute({ m }) {
    const digits = Array.from({ length: DIGITS }, (_, i) => i);
    return {
      bits: digits.map((i) => Math.floor(m / 2 ** i) % 2),
      waves: digits.map((i) => Math.sin(m / 2 ** i)),
    };
  }

  function drawBits({ m }, { bits }) {
    const cells = bits.map((bit, i) => {
      const y = 30 + 40 * i;
      const box = { x: 150, y, width: 34, height: 34, rx: 4, stroke: colour("blue"), "stroke-width": 2 };
      const ink = bit ? { style: "fill: var(--pst-color-background, #fff); font-weight: 700" } : {};
      return (
        text(130, y + 22, phrase`bit ${i}`, { "text-anchor": "end" }) +
        tag("rect", { ...box, fill: colour("blue"), "fill-opacity": bit }) +
        text(167, y + 22, bit, ink)
      );
    });
    const words = phrase`Position ${Math.floor(m)} in binary, lowest bit first: ${bits.join(" ")}.`;
    return panel(300, 280, words, text(150, 18, phrase`bits jump`) + cells.join(""));
  }

  function drawWaves({ m }, { waves }) {
    const place = (value) => 190 + 90 * value;
    const rows = waves.map((value, i) => {
      const y = 47 + 40 * i;
      return (
        text(84, y + 5, `sin(m/${2 ** i})`, { "text-anchor": "end" }) +
        path([[place(-1), y], [place(1), y]], { stroke: "currentColor", "stroke-opacity": 0.3, "stroke-width": 2 }) +
        path([[place(0), y - 8], [place(0), y + 8]], { stroke: "currentColor", "stroke-opacity": 0.5 }) +
        tag("circle", { cx: place(value), cy: y, r: 8, fill: colour("orange") })
      );
    });
    const words = phrase`Six waves at position ${Math.floor(m)}, between −1 and 1: ${waves.map((value) => number(value)).join(", ")}.`;
    return panel(300, 280, words, text(150, 18, phrase`waves slide`) + rows.join(""));
  }

  bookWidgets.define("counter", {
    title: phrase`a binary counter and six waves`,
    controls: [{ name: "m", label: phrase`m, position`, value: 5, min: 0, max: 63 }],
    play: ["m", 2],
    compute,
    draw: (state, result) => [drawBits(state, result), drawWaves(state, result)],
    numbers: (state, { bits, waves }) => [
      ["bits", phrase`bits, lowest first`, bits.join(" ")],
      ["waves", phrase`waves`, waves.map((value) => number(value)).join("  ")],
    ],
  });
})();
