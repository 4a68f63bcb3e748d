// The picture of a rotation: the wavelength of each pair against the trained and the wanted length,
// before and after a rule. Drawn as the interactive figures are, also without a document.
"use strict";
(() => {
  const { axes, colour, panel, path, phrase, significant, tag, text } = bookWidgets.kit;
  const WIDTH = 480;
  const HEIGHT = 310;

  const wavelengthOf = (frequency) => (frequency > 0 ? (2 * Math.PI) / frequency : null);

  // Powers of ten between two numbers, at most seven of them.
  function tens(low, high) {
    const first = Math.ceil(Math.log10(low));
    const last = Math.floor(Math.log10(high));
    const step = Math.ceil((last - first + 1) / 7);
    const shown = [];
    for (let power = first; power <= last; power += step) {
      const raised = [...String(power)].map((digit) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[digit]).join("");
      shown.push([10 ** power, power === 0 ? "1" : power === 1 ? "10" : `10${raised}`]);
    }
    return shown;
  }

  // A length across the drawing, with its name above or below the line.
  function level({ x, y, box }, { length, name, stroke, dashes, below }) {
    const place = y(length);
    const line = path([[box.left, place], [box.right, place]], { stroke, "stroke-width": 2, "stroke-dasharray": dashes });
    const words = text(box.left + 6, place + (below ? 17 : -6), name, { "text-anchor": "start", class: "on-lines", fill: stroke });
    return line + words;
  }

  function point(x, y, isComplete) {
    // Two shapes, so that the colour is not needed to tell them apart.
    if (isComplete) return tag("circle", { cx: x, cy: y, r: 3.2, fill: colour("blue") });
    return tag("rect", { x: x - 3.2, y: y - 3.2, width: 6.4, height: 6.4, fill: colour("orange") });
  }

  // levels: {length, name, stroke, dashes}, the shorter length first.
  function draw({ before, after, wanted, levels, label }) {
    const known = [...before, ...after].filter((value) => value !== null);
    const lengths = levels.map(({ length }) => length);
    const low = Math.min(...known, ...lengths) * 0.6;
    const high = Math.max(...known, ...lengths) * 2.5;
    const pairs = after.length;
    const quarter = Math.max(1, Math.round(pairs / 4));
    const xTicks = [...new Set([0, quarter, 2 * quarter, 3 * quarter, pairs - 1])].filter((pair) => pair < pairs);
    const places = axes({
      width: WIDTH,
      height: HEIGHT,
      x: [-1, Math.max(pairs, 2)],
      y: [low, high],
      xTicks,
      yTicks: tens(low, high),
      xLabel: phrase`pair i`,
      yLabel: phrase`wavelength, in tokens`,
      log: "y",
    });
    const { x, y } = places;
    const changed = before.some((value, pair) => value !== null && Math.abs(value / after[pair] - 1) > 1e-9);
    const corners = before.map((value, pair) => [x(pair), value && y(value)]).filter(([, height]) => height !== null);
    const dashed = { stroke: colour("grey"), "stroke-width": 2, "stroke-dasharray": "2 3" };
    const curve = changed && corners.length > 1 ? path(corners, dashed) : "";
    const points = after.map((value, pair) => (value === null ? "" : point(x(pair), y(value), value <= wanted)));
    const lines = levels.map((one, place) => level(places, { ...one, below: place === 0 && levels.length > 1 }));
    const drawing = places.drawing + curve + points.join("") + lines.join("");
    return panel(WIDTH, HEIGHT, label, drawing).replace("book-panel", "book-panel wide");
  }

  // What the shapes mean, in a line below the drawing.
  function legend(isChanged, before) {
    const shape = (drawing) => `<svg class="key" viewBox="0 0 16 10" aria-hidden="true">${drawing}</svg>`;
    const parts = [
      shape(point(8, 5, true)) + phrase`completes a rotation within the wanted length`,
      shape(point(8, 5, false)) + phrase`does not`,
    ];
    const line = path([[1, 5], [15, 5]], { stroke: colour("grey"), "stroke-width": 2, "stroke-dasharray": "2 3" });
    if (isChanged) parts.push(shape(line) + before);
    return `<p class="legend">${parts.map((part) => `<span>${part}</span>`).join(" ")}</p>`;
  }

  // frequencies: after the rule; unscaled: before it, called `beforeName`. trained may be null.
  function picture({ frequencies, unscaled, trained, wanted, beforeName }) {
    const after = frequencies.map(wavelengthOf);
    const before = unscaled.map(wavelengthOf);
    const complete = after.filter((value) => value !== null && value <= wanted).length;
    const isChanged = frequencies.some((value, pair) => Math.abs(value - unscaled[pair]) > 1e-12 * unscaled[pair]);
    const levels = [];
    if (trained !== null && trained !== wanted) {
      const name = phrase`trained: ${significant(trained)}`;
      levels.push({ length: trained, name, stroke: colour("green"), dashes: "7 4" });
    }
    const name = phrase`wanted: ${significant(wanted)}`;
    levels.push({ length: wanted, name, stroke: colour("purple"), dashes: undefined });
    levels.sort((one, other) => one.length - other.length);
    const longest = Math.max(...after.filter((value) => value !== null));
    const label = phrase`Wavelengths of ${after.length} pairs, up to ${significant(longest)} tokens; ${complete} complete a rotation within the wanted ${significant(wanted)} tokens.`;
    return draw({ before, after, wanted, levels, label }) + legend(isChanged, beforeName);
  }

  globalThis.modelPicture = picture;
})();
