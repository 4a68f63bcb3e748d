// The sinusoidal encoding of one position as the hands of clocks.
"use strict";
(() => {
  const { colour, number, panel, path, phrase, significant, text } = bookWidgets.kit;
  // Single positions at first, where the fast hands move; then longer steps, which the slow ones need.
  const steps = (from, to, by) => Array.from({ length: (to - from) / by }, (_, place) => from + by * place);
  const POSITIONS = [...steps(0, 40, 1), ...steps(40, 100, 5), ...steps(100, 200, 10), ...steps(200, 2050, 50)];

  function compute({ m, d, base }) {
    const theta = Array.from({ length: d / 2 }, (_, i) => base ** ((-2 * i) / d));
    return {
      theta,
      wavelength: theta.map((angle) => (2 * Math.PI) / angle),
      row: theta.flatMap((angle) => [Math.sin(m * angle), Math.cos(m * angle)]),
    };
  }

  function draw({ m }, { theta, wavelength, row }) {
    const columns = Math.min(4, theta.length);
    const radius = 38;
    const height = 138 * Math.ceil(theta.length / columns);
    let drawing = "";
    theta.forEach((angle, i) => {
      const x = 400 * (((i % columns) + 0.5) / columns);
      const y = 8 + radius + 138 * Math.floor(i / columns);
      const paint = colour(i);
      const tip = [x + 0.92 * radius * row[2 * i], y - 0.92 * radius * row[2 * i + 1]];
      drawing += `<circle cx="${x}" cy="${y}" r="${radius}" fill="none" stroke="currentColor" stroke-opacity="0.5"/>`;
      drawing += path([[x, y - radius], [x, y - radius + 6]], { stroke: "currentColor" });
      drawing += path([[x, y], tip], { stroke: paint, "stroke-width": 4, "stroke-linecap": "round" });
      drawing += text(x, y + radius + 20, `θ ${significant(angle)}`);
      drawing += text(x, y + radius + 39, `λ ${significant(wavelength[i])}`);
    });
    const turns = theta.map((angle) => number((m * angle) / (2 * Math.PI)));
    const words = phrase`${theta.length} clocks at position ${Math.round(m)}; their hands have made ${turns.join(", ")} turns.`;
    return [panel(400, height, words, drawing).replace("book-panel", "book-panel wide")];
  }

  bookWidgets.define("clocks", {
    title: phrase`the sinusoidal encoding as the hands of clocks`,
    controls: [
      { name: "m", label: phrase`m, position`, value: 3, values: POSITIONS, show: (value) => value.toLocaleString("en") },
      { name: "d", label: phrase`d, dimension`, value: 8, options: [[4, "4"], [8, "8"], [16, "16"]] },
      {
        name: "base",
        label: phrase`base`,
        value: 10000,
        options: [[100, "100"], [10000, "10,000"], [500000, "500,000"]],
      },
    ],
    play: ["m", 6],
    compute,
    draw,
    numbers: (state, { row }) => [["row", phrase`the row P of this position`, row.map((value) => number(value)).join("  ")]],
  });
})();
