// What a model keeps while it writes: heads that share keys and values, or one latent row.
"use strict";
(() => {
  const { colour, panel, path, phrase, significant, tag, text } = bookWidgets.kit;
  const D_R = 64; // the rotated key beside a latent row
  const WAYS = { heads: phrase`keys and values`, latent: phrase`one latent row (MLA)` };
  // As on the page of models, where every layer keeps the same.
  const MODELS = {
    "Llama 2-7B": { way: "heads", h: 32, g: 32, d_k: 128, L: 32 },
    "Llama 3.2-1B": { way: "heads", h: 32, g: 8, d_k: 64, L: 16 },
    "Llama 3.3-70B": { way: "heads", h: 64, g: 8, d_k: 128, L: 80 },
    "DeepSeek-V3": { way: "latent", h: 128, d_c: 512, d_k: 128, L: 61 },
  };
  const HERE = phrase`your choice`;
  const WIDTH = 480;
  const LAYERS = [1, 2, 4, 8, 12, 16, 24, 32, 40, 48, 61, 64, 80, 96, 112, 126];
  const POWERS = [1, 2, 4, 8, 16, 32, 64, 128];

  // Numbers kept for a token in a layer: as chosen, and if every head kept its own key and value.
  function kept({ way, h, g, d_k, d_c }) {
    return way === "latent" ? [d_c + D_R, h * (d_k + D_R + d_k)] : [2 * g * d_k, 2 * h * d_k];
  }

  function compute(state) {
    const { way, h, g, L, N, s } = state;
    const [numbers, alone] = kept(state);
    const models = Object.values(MODELS).map((model) => kept(model).map((each) => each * model.L * N * s));
    return {
      numbers,
      token: numbers * L * s,
      total: numbers * L * N * s,
      own: alone * L * N * s,
      ratio: alone / numbers,
      // What each query head attends to.
      group: Array.from({ length: h }, (_, j) => (way === "latent" ? 0 : Math.floor((j * g) / h))),
      models: models.map(([total]) => total),
      modelsOwn: models.map(([, own]) => own),
    };
  }

  function memory(bytes) {
    const units = [phrase`bytes`, "KiB", "MiB", "GiB", "TiB"];
    const step = Math.min(units.length - 1, Math.floor(Math.log2(bytes) / 10));
    return `${significant(bytes / 1024 ** step)} ${units[step]}`;
  }

  const count = (value) => significant(value);
  const start = { "text-anchor": "start" };
  const wide = (height, words, drawing) => panel(WIDTH, height, words, drawing).replace("book-panel", "book-panel wide");

  // Every query head above, what is stored below: its area is the count of numbers.
  function drawHeads({ way, h, g, d_k, d_c }, { group, numbers }) {
    const step = WIDTH / h;
    const gap = Math.min(3, 0.2 * step);
    const latent = way === "latent";
    const groups = latent ? 1 : g;
    const stored = latent ? (step * numbers) / (2 * d_k) : step;
    const middle = (i) => ((i + 0.5) * WIDTH) / groups;
    const boxes = (places, width, y, height) =>
      places.map((x) => `M${(x - width / 2).toFixed(2)} ${y}h${width.toFixed(2)}v${height}h${(-width).toFixed(2)}Z`).join("");
    const heads = group.map((_, j) => (j + 0.5) * step);
    const shared = Array.from({ length: groups }, (_, i) => middle(i));
    const lines = heads.map((x, j) => `M${x.toFixed(1)} 40L${middle(group[j]).toFixed(1)} 78`).join("");
    let drawing = text(0, 16, phrase`${h} query heads`, { ...start, class: "is-q" });
    drawing += tag("path", { d: boxes(heads, step - gap, 24, 16), fill: colour("blue") });
    drawing += tag("path", { d: lines, fill: "none", stroke: colour("grey"), "stroke-width": Math.min(1.5, 0.3 * step) });
    const name = latent ? phrase`latent (MLA)` : g === h ? phrase`multi-head (MHA)` : g === 1 ? phrase`multi-query (MQA)` : phrase`grouped-query (GQA)`;
    drawing += text(WIDTH, 16, name, { "text-anchor": "end" });
    let words;
    if (latent) {
      words = phrase`one row of ${count(d_c)}, one rotated key of ${D_R}`;
      drawing += tag("path", { d: boxes(shared, stored, 78, 24), fill: colour("red") });
    } else {
      words = g === 1 ? phrase`one key and one value for all heads` : g === h ? phrase`${g} keys and ${g} values, one each` : phrase`${g} keys and ${g} values, each for ${h / g} heads`;
      drawing += tag("path", { d: boxes(shared, stored - gap, 78, 12), fill: colour("orange") });
      drawing += tag("path", { d: boxes(shared, stored - gap, 90, 12), fill: colour("green") });
    }
    drawing += text(0, 122, phrase`kept: ${words}`, start);
    return wide(130, phrase`${h} query heads, ${name}; kept for each token in each layer: ${words}.`, drawing);
  }

  // One line for each cache, on a logarithmic scale: from what is kept to what all heads would keep.
  function drawSizes({ N, s }, { total, own, models, modelsOwn }) {
    const [low, high] = [17, 45];
    const x = (bytes) => 8 + ((WIDTH - 16) * (Math.log2(bytes) - low)) / (high - low);
    const rows = [[HERE, total, own], ...Object.keys(MODELS).map((name, i) => [name, models[i], modelsOwn[i]])];
    const bottom = 38 * rows.length + 2;
    let drawing = "";
    const ticks = [[20, "1 MiB"], [30, "1 GiB"], [40, "1 TiB"]].map(([power, words]) => [x(2 ** power), words]);
    for (const [place, words] of ticks) drawing += text(place, bottom + 18, words);
    rows.forEach(([name, few, many], i) => {
      const y = 38 * i + 30;
      const paint = i ? colour("grey") : colour("blue");
      const bold = i ? {} : { style: `fill: ${paint}; font-weight: 600` };
      drawing += text(0, y - 13, name, { ...start, ...bold });
      const amount = few === many ? memory(few) : phrase`${memory(few)} of ${memory(many)}`;
      drawing += text(WIDTH, y - 13, amount, { "text-anchor": "end", ...bold });
      const marks = ticks.map(([place]) => `M${place.toFixed(1)} ${y - 7}v14`).join("");
      drawing += tag("path", { d: `${marks}M8 ${y}h${WIDTH - 16}`, fill: "none", stroke: "currentColor", "stroke-opacity": 0.55 });
      drawing += path([[x(few), y], [x(many), y]], { stroke: paint, "stroke-width": 4 });
      drawing += tag("circle", { cx: x(many), cy: y, r: 5, fill: "var(--book-tint, #fff)", stroke: paint, "stroke-width": 2 });
      drawing += tag("circle", { cx: x(few), cy: y, r: 6, fill: paint });
    });
    const said = rows.map(([name, few, many]) => `${name} ${phrase`${memory(few)} of ${memory(many)}`}`);
    const words = phrase`The cache of one text of ${count(N)} tokens at ${s} bytes a number, and what it would be if every head kept its own: ${said.join("; ")}.`;
    return wide(bottom + 24, words, drawing);
  }

  // The model of which these are the sizes, if it is one.
  function named(state) {
    const fits = ([, model]) => Object.entries(model).every(([key, value]) => state[key] === value);
    return Object.entries(MODELS).find(fits)?.[0];
  }

  bookWidgets.define("cache", {
    title: phrase`heads, what they share, and the size of the cache`,
    controls: [
      { name: "model", label: phrase`Start from`, value: "Llama 3.3-70B", options: Object.keys(MODELS).map((name) => [name, name]) },
      { name: "way", label: phrase`Each layer keeps`, value: "heads", options: Object.entries(WAYS) },
      { name: "h", label: phrase`h, query heads`, value: 64, values: POWERS },
      { name: "g", label: phrase`g, key-value heads`, value: 8, values: POWERS, limit: ({ h }) => POWERS.indexOf(h), used: ({ way }) => way === "heads" },
      { name: "d_c", label: phrase`d_c, latent row`, value: 512, values: [64, 128, 256, 512, 1024], show: count, used: ({ way }) => way === "latent" },
      { name: "d_k", label: phrase`d_k, per head`, value: 128, values: [32, 64, 80, 96, 128, 192, 256] },
      { name: "L", label: phrase`L, layers`, value: 80, values: LAYERS },
      { name: "N", label: phrase`N, tokens`, value: 2 ** 17, values: Array.from({ length: 11 }, (_, i) => 2 ** (10 + i)), show: count },
      { name: "s", label: phrase`s, bytes a number`, value: 2, options: [[4, "4"], [2, "2"], [1, "1"]] },
    ],
    link(state, previous, changed) {
      if (changed === "model") Object.assign(state, MODELS[state.model]);
      state.g = Math.min(state.g, state.h);
      state.model = named(state);
    },
    compute,
    draw: (state, result) => [drawHeads(state, result), drawSizes(state, result)],
    numbers: ({ way, L, N, s }, { numbers, token, total, ratio }) => [
      ["numbers", way === "latent" ? phrase`numbers per token and layer, d_c + d_R =` : phrase`numbers per token and layer, 2 g d_k =`, count(numbers)],
      ["token", phrase`a token, all layers: × ${L} × ${s} bytes =`, memory(token)],
      ["total", phrase`one text: × ${count(N)} =`, memory(total)],
      ["ratio", phrase`every head its own: times`, significant(ratio)],
    ],
  });
})();
