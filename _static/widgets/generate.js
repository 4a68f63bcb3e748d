// An encoder–decoder writes four words: what each pass computes, what it keeps, and what is masked.
"use strict";
(() => {
  const { colour, panel, path, phrase, tag, text } = bookWidgets.kit;
  const SOURCE = [phrase`Beijing`, phrase`Nanjing`, phrase`Shanghai`];
  const TARGET = [phrase`start`, phrase`Shanghai`, phrase`Nanjing`, phrase`Beijing`, phrase`end`];
  const STEPS = 4;
  const MODES = { write: phrase`writes, keeps only the memory E`, cache: phrase`writes, with a cache`, train: phrase`learns: the target is known` };
  const side = (anchor) => ({ "text-anchor": anchor });

  // Rows are token vectors that go through the decoder; those of a pass, and of all passes so far.
  function compute({ mode, step }) {
    const sums = { write: (step * (step + 1)) / 2, cache: step, train: STEPS };
    const passes = { write: step, cache: 1, train: 1 }; // that compute keys of the source
    const length = mode === "train" ? STEPS : step;
    const first = mode === "cache" ? step - 1 : 0;
    const seen = Array.from({ length: length - first }, (_, row) => Array.from({ length }, (_, n) => n <= first + row));
    return { encoder: SOURCE.length, now: length - first, total: sums[mode], keys: passes[mode] * SOURCE.length, seen };
  }

  const across = (column) => 212 + 40 * column;
  const down = (row) => 92 + 29 * row;

  // Filled: computed in this pass; a ring: in an earlier one; a cross: computed, and hidden by the mask.
  function sign(row, column, shape, paint, when) {
    const [x, y] = [across(column), down(row)];
    if (when === "hidden") return path([[x - 5, y - 5], [x + 5, y + 5]], { stroke: colour("grey"), "stroke-width": 2 }) + path([[x - 5, y + 5], [x + 5, y - 5]], { stroke: colour("grey"), "stroke-width": 2 });
    const look = { fill: when === "now" ? colour(paint) : "none", stroke: colour(paint), "stroke-width": 2 };
    if (shape === "circle") return tag("circle", { cx: x, cy: y, r: 8, ...look });
    if (shape === "square") return tag("rect", { x: x - 8, y: y - 8, width: 16, height: 16, ...look });
    return tag("path", { d: `M${x} ${y - 10}L${x + 10} ${y}L${x} ${y + 10}L${x - 10} ${y}Z`, ...look });
  }

  function draw({ mode, step }, { seen, now, total }, known) {
    const length = seen[0].length;
    const first = length - seen.length;
    const columns = [...SOURCE, ...TARGET.slice(0, length)];
    let drawing = "";
    columns.forEach((word, c) => {
      const [x, y] = [across(c) - 4, 76];
      drawing += text(x, y, word, { ...side("start"), transform: `rotate(-42 ${x} ${y})` });
    });
    SOURCE.forEach((word, row) => (drawing += text(188, down(row) + 5, word, side("end"))));
    for (let m = 0; m < length; m++) {
      const [row, next] = [3 + m, TARGET[m + 1]];
      const style = m === length - 1 && mode !== "train" ? `fill: ${colour("red")}; font-weight: 600` : undefined;
      drawing += text(188, down(row) + 5, `${TARGET[m]} → ${next}`, { ...side("end"), style });
    }
    const wall = { stroke: "currentColor", "stroke-opacity": 0.4 };
    drawing += path([[0, down(2) + 15], [480, down(2) + 15]], wall) + path([[across(2) + 20, 80], [across(2) + 20, down(2 + length) + 14]], wall);
    if (known) {
      for (let row = 0; row < 3; row++) for (let c = 0; c < 3; c++) drawing += sign(row, c, "square", "blue", mode === "train" || step === 1 ? "now" : "kept");
      for (let m = 0; m < length; m++) {
        for (let c = 0; c < 3; c++) drawing += sign(3 + m, c, "diamond", "orange", m < first ? "kept" : "now");
        for (let n = 0; n < length; n++) {
          const when = m < first ? (n <= m ? "kept" : "") : seen[m - first][n] ? "now" : "hidden";
          if (when) drawing += sign(3 + m, 3 + n, "circle", "green", when);
        }
      }
    }
    // Beside the encoder nothing is read: the names of the shapes.
    [["blue", phrase`encoder`], ["orange", phrase`cross-attention`], ["green", phrase`decoder`]].forEach(([paint, words], line) => {
      drawing += sign(line, 3.1, ["square", "diamond", "circle"][line], paint, "now") + text(across(3.5), down(line) + 5, words, side("start"));
    });
    [["now", phrase`in this pass`, 8], ["kept", phrase`earlier`, 178], ["hidden", phrase`masked`, 318]].forEach(([when, words, x]) => {
      const column = (x - across(0)) / 40;
      drawing += sign(7.2, column, "circle", "green", when) + text(x + 15, down(7.2) + 5, words, side("start"));
    });
    const words = known
      ? phrase`A pass computes ${now} rows of the decoder, ${total} so far. Row: the token that asks, and for the target the word that comes next. Column: the token that answers.`
      : phrase`Rows: the tokens that ask. Columns: the tokens that answer.`;
    return [panel(480, down(7.2) + 16, words, drawing).replace("book-panel", "book-panel wide")];
  }

  bookWidgets.define("generate", {
    title: phrase`what each pass computes`,
    guess: {
      ask: phrase`the model writes four words in four passes, and keeps only the memory of the encoder. How many rows, one for each token, does the decoder compute in all?`,
      answers: ["4", "10", "16"],
      right: ({ total }) => [4, 10, 16].indexOf(total),
      because: ({ total }) => phrase`It is ${total}: each pass reads all that is written, so 1 + 2 + 3 + 4. The encoder runs once.`,
    },
    controls: [
      { name: "mode", label: phrase`The model`, value: "write", options: Object.entries(MODES) },
      { name: "step", label: phrase`passes of the decoder`, value: STEPS, min: 1, max: STEPS, used: ({ mode }) => mode !== "train" },
    ],
    compute,
    draw,
    // Playing shows the writing.
    link(state, _previous, changed) {
      if (changed === "step" && state.mode === "train") state.mode = "write";
    },
    play: ["step", 1],
    numbers: (_state, { encoder, now, total, keys }) => [
      ["now", phrase`decoder rows in this pass`, String(now)],
      ["total", phrase`in all passes so far`, String(total)],
      ["encoder", phrase`encoder rows, computed once`, String(encoder)],
      ["keys", phrase`source keys for cross-attention so far`, String(keys)],
    ],
  });
})();
