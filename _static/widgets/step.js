// The least time of a decoding step: weights or arithmetic, and the caches on top.
"use strict";
(() => {
  const { axes, colour, panel, path, phrase, significant, tag, text } = bookWidgets.kit;
  // Operations per second in bfloat16, bytes per second and bytes of memory, of src/bookkit/gpus.jsonl.
  const GPUS = {
    h200: ["H200", 989e12, 4.8e12, 141e9],
    a100: ["A100 80 GB", 312e12, 2.039e12, 80e9],
    rtx: ["RTX 4090", 165e12, 1.008e12, 24e9],
  };
  // Llama 3.1 8B in bfloat16: all parameters, and those that a token is multiplied with.
  const [ALL, MULTIPLIED] = [8030261248, 7504924672];
  const TOKEN = 2 * 32 * 8 * 128 * 2; // bytes of cache
  const LENGTHS = Array.from({ length: 8 }, (_, power) => 1024 * 2 ** power);
  const READERS = [1, 2, 4, 8, 16, 32, 64, 128, 206, 256, 512];
  const GB = 1e9;
  const start = { "text-anchor": "start" };

  function compute({ gpu, N, B }) {
    const [, peak, bandwidth, memory] = GPUS[gpu];
    const own = N * TOKEN;
    const weights = (1e3 * 2 * MULTIPLIED) / bandwidth;
    const arithmetic = (1e3 * 2 * B * MULTIPLIED) / peak;
    const caches = (1e3 * B * own) / bandwidth;
    const step = Math.max(weights, arithmetic) + caches;
    const needed = (2 * ALL + B * own) / GB;
    return { weights, arithmetic, caches, step, rate: (1e3 * B) / step, needed, memory: memory / GB, fit: Math.floor((memory - 2 * ALL) / own) };
  }

  // The parts of a sum, side by side; what does not fit on the strip is cut off.
  function strip(y, parts, whole) {
    let [x, drawing] = [8, ""];
    for (const [size, paint, words] of parts) {
      const width = Math.max(1, Math.min((464 * size) / whole, 472 - x));
      drawing += tag("rect", { x, y, width, height: 30, fill: colour(paint) });
      // A phone's letters are wider.
      if (width > 12 * words.length) drawing += text(x + width / 2, y + 20, words, { style: "fill: var(--figure-paper); font-weight: 600" });
      x += width;
    }
    return drawing;
  }

  function drawBars(state, result, known) {
    const { weights, arithmetic, caches, step, needed, memory } = result;
    if (!known) return [text(8, 40, phrase`The times are hidden until you have guessed.`, start), phrase`The times are hidden until you have guessed.`];
    const busy = arithmetic > weights;
    const first = busy ? [arithmetic, "orange", phrase`arithmetic`] : [weights, "grey", phrase`weights`];
    const words = phrase`A step takes at least ${significant(step)} ms: ${first[2]} ${significant(first[0])}, caches ${significant(caches)}.`;
    let drawing = text(8, 20, words, start) + strip(28, [first, [caches, "green", phrase`caches`]], step);
    const kept = (2 * ALL) / GB;
    const full = needed > memory;
    const room = full ? phrase`The memory of ${memory} GB is too small for ${significant(needed)} GB.` : phrase`${significant(needed)} of ${memory} GB of memory are needed.`;
    drawing += text(8, 88, room, { ...start, style: full ? `fill: ${colour("red")}; font-weight: 600` : undefined });
    drawing += strip(96, [[kept, "grey", phrase`weights`], [needed - kept, full ? "red" : "green", phrase`caches`]], memory);
    drawing += tag("rect", { x: 8, y: 96, width: 464, height: 30, fill: "none", stroke: "currentColor" });
    return [drawing, `${words} ${room}`];
  }

  // All numbers of readers, up to those whose caches fit; a thin line beyond.
  function drawFrontier(state, { step, rate, fit }, known) {
    const { x, y, drawing } = axes({
      width: 480,
      height: 260,
      x: [1, 1000],
      y: [5, 60000],
      xTicks: [1, 10, 100],
      yTicks: [10, [100, "10²"], [1000, "10³"], [10000, "10⁴"]],
      xLabel: phrase`ms per token: how long each reader waits`,
      yLabel: phrase`tokens per second of all readers`,
      log: "xy",
    });
    if (!known) return [drawing, phrase`The times are hidden until you have guessed.`];
    const point = (B) => {
      const one = compute({ ...state, B });
      return [x(Math.min(1000, one.step)), y(one.rate)];
    };
    const up = (from, to) => Array.from({ length: 60 }, (_, i) => point(from * (to / from) ** (i / 59)));
    const last = Math.min(512, Math.max(1, fit));
    let all = drawing + path(up(1, last), { stroke: colour("blue"), "stroke-width": 3 });
    if (last < 512) all += path(up(last, 512), { stroke: colour("grey"), "stroke-dasharray": "4 4" });
    all += tag("circle", { cx: x(Math.min(1000, step)), cy: y(rate), r: 7, fill: colour("red") });
    const words = phrase`${state.B} readers: ${significant(step)} ms per token, ${significant(rate)} tokens per second in all. ${fit} readers fit.`;
    return [all, words];
  }

  bookWidgets.define("step", {
    title: phrase`what one step of writing costs`,
    guess: {
      ask: phrase`one conversation with Llama 3.1 8B on an H200 has grown to 131,072 tokens. In the step for the next token, what takes longer: reading the weights of the model, or reading the cache of this one conversation?`,
      answers: [phrase`the weights`, phrase`the cache`],
      right: ({ weights, caches }) => (caches > weights ? 1 : 0),
      because: ({ weights, caches }) => phrase`The cache takes ${significant(caches)} ms and the weights ${significant(weights)}: a long conversation outgrows the model that reads it.`,
    },
    controls: [
      { name: "N", label: phrase`N, tokens of each conversation`, value: 131072, values: LENGTHS, show: (value) => value.toLocaleString("en") },
      { name: "B", label: phrase`B, readers at the same time`, value: 1, values: READERS },
      { name: "gpu", label: phrase`GPU`, value: "h200", options: Object.entries(GPUS).map(([gpu, [name]]) => [gpu, name]) },
    ],
    compute,
    draw(state, result, known) {
      const wide = (height, [drawing, words]) => panel(480, height, words, drawing).replace("book-panel", "book-panel wide");
      return [wide(134, drawBars(state, result, known)), wide(260, drawFrontier(state, result, known))];
    },
    numbers: (_state, { weights, arithmetic, caches, step, rate, needed, fit }) => [
      ["weights", phrase`weights / bandwidth, ms`, significant(weights)],
      ["arithmetic", phrase`arithmetic, ms`, significant(arithmetic)],
      ["caches", phrase`caches / bandwidth, ms`, significant(caches)],
      ["step", phrase`step, ms, at least`, significant(step)],
      ["rate", phrase`tokens per second, at most`, significant(rate)],
      ["needed", phrase`memory that is needed, GB`, significant(needed)],
      ["fit", phrase`readers that fit`, String(fit)],
    ],
  });
})();
