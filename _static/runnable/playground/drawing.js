// How the playground draws attention weights: a small map of each head, and one with its tokens. The
// colours are those of the figures; 0 is the page itself, light or dark.
"use strict";
(() => {
  const phrase = globalThis.bookPhrase ?? String.raw;
  const START = 256; // the token before a text
  const FAINT = 0.04; // as in src/bookkit/figures.py
  const MARGIN = 18; // room for the letters at the edges of a map, in pixels
  const SMALLEST_CELL = 10;
  const LARGEST_CELL = 26;

  // The strength of a weight's colour. The root shows small weights, of which there are many.
  const strength = (weight) => FAINT + (1 - FAINT) * Math.sqrt(weight);

  // A token in one letter: of an ordinary byte its own, of others a sign.
  function letter(token) {
    if (token === START) return "●";
    if (token === 32) return "␣";
    if (token === 10) return "↵";
    if (token === 9) return "→";
    return token > 32 && token < 127 ? String.fromCharCode(token) : "·";
  }

  // The same in words.
  function named(token) {
    if (token === START) return phrase`start of the text`;
    if (token === 32) return phrase`space`;
    if (token === 10) return phrase`new line`;
    if (token === 9) return phrase`tab`;
    return token > 32 && token < 127 ? `“${String.fromCharCode(token)}”` : phrase`byte ${token}`;
  }

  const percent = (share) => (share > 0 && share < 0.005 ? "<\u00a01\u00a0%" : `${Math.round(100 * share)}\u00a0%`);
  const page = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

  // The numbers of a colour such as #1f6fb2.
  const channels = (colour) => [1, 3, 5].map((place) => parseInt(colour.slice(place, place + 2), 16));

  // One pixel for each weight; the style sheet enlarges it without blurring.
  function drawSmall(canvas, weights, count) {
    canvas.width = count;
    canvas.height = count;
    const context = canvas.getContext("2d");
    const image = context.createImageData(count, count);
    const [red, green, blue] = channels(page("--figure-blue"));
    weights.forEach((weight, place) => image.data.set([red, green, blue, 255 * strength(weight)], 4 * place));
    context.putImageData(image, 0, 0);
  }

  // The size of a cell, so that the map fits into a width if it can.
  const cellFor = (count, width) =>
    Math.max(SMALLEST_CELL, Math.min(LARGEST_CELL, Math.floor((width - MARGIN) / count)));

  // A map with its tokens: a row for each token that looks, a column for each that is looked at.
  function drawLarge(canvas, weights, tokens, chosen, width) {
    const count = tokens.length;
    const cell = cellFor(count, width);
    const side = MARGIN + count * cell;
    const ratio = window.devicePixelRatio;
    canvas.width = Math.round(side * ratio);
    canvas.height = Math.round(side * ratio);
    Object.assign(canvas.style, { width: `${side}px`, height: `${side}px` });
    const context = canvas.getContext("2d");
    context.scale(ratio, ratio);
    context.fillStyle = page("--figure-blue");
    for (let row = 0; row < count; row += 1) {
      for (let column = 0; column < count; column += 1) {
        context.globalAlpha = strength(weights[row * count + column]);
        context.fillRect(MARGIN + column * cell, MARGIN + row * cell, cell - 1, cell - 1);
      }
    }
    context.globalAlpha = 1;
    context.fillStyle = page("--pst-color-text-base");
    context.font = `${Math.min(cell, 12)}px ${page("--book-mono") || "monospace"}`;
    context.textAlign = "center";
    context.textBaseline = "middle";
    tokens.forEach((token, place) => {
      const middle = MARGIN + (place + 0.5) * cell;
      context.fillText(letter(token), middle, MARGIN - 8);
      context.fillText(letter(token), MARGIN - 8, middle);
    });
    context.strokeStyle = page("--figure-orange");
    context.lineWidth = 2;
    context.strokeRect(1, MARGIN + chosen * cell - 1, side - 2, cell + 1);
  }

  // The row of a map at a height, in pixels from its upper edge.
  function rowAt(height, count, width) {
    const row = Math.floor((height - MARGIN) / cellFor(count, width));
    return Math.max(0, Math.min(count - 1, row));
  }

  globalThis.playground = { drawLarge, drawSmall, letter, named, percent, rowAt, strength };
})();
