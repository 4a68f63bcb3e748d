// What the page says of a model: HTML text, made of the answer of read_model.js. It needs no document,
// so the build writes the worked models of the page with it.
"use strict";
(() => {
  const phrase = globalThis.bookPhrase ?? String.raw;
  const { significant } = bookWidgets.kit;

  function escape(text) {
    return String(text).replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;").replace(/"/g, "&quot;");
  }

  // ------------------------------------------------------------------------ numbers for people

  const grouped = (value) => String(value).replace(/\B(?=(\d{3})+$)/g, ",");
  const count = (value) => (Number.isInteger(value) ? grouped(value) : significant(value));
  // The sentence for one thing, or that for several.
  const counted = (value, one, several) => (value === 1 ? one : several);
  const tokens = (value) => counted(value, phrase`1 token`, phrase`${count(value)} tokens`);

  function withUnit(value, units) {
    const fitting = units.findLast(([size]) => value >= size) ?? units[0];
    return `${significant(value / fitting[0])} ${fitting[1]}`;
  }

  const bytes = (value) => withUnit(value, [[1, "B"], [1e3, "kB"], [1e6, "MB"], [1e9, "GB"], [1e12, "TB"], [1e15, "PB"]]);
  const seconds = (value) => withUnit(value, [[1e-6, "µs"], [1e-3, "ms"], [1, "s"], [60, "min"], [3600, "h"]]);
  const parameters = (value) => withUnit(value, [[1, ""], [1e6, phrase`million`], [1e9, phrase`billion`]]);

  // Values that are words of the rules, and no part of a configuration.
  const OF_THE_RULES = ["what", "where", "why"];

  // A sentence of the rules, in the reader's language, with its values.
  function sentence(english, values = {}) {
    const words = phrase({ raw: [english] });
    return words.replace(/\{(\w+)\}/g, (all, name) => {
      if (!Object.hasOwn(values, name)) return all;
      const value = values[name];
      if (typeof value === "number") return count(value);
      return OF_THE_RULES.includes(name) ? phrase({ raw: [value] }) : String(value);
    });
  }

  // ------------------------------------------------------------------------ the layers

  const ROLES = {
    full: phrase`full attention`,
    window: phrase`sliding window`,
    chunk: phrase`chunks`,
    compressed: phrase`compressed keys`,
    recurrent: phrase`recurrent`,
    none: phrase`no attention`,
  };

  function seenKeys({ role, attention }, { causal }) {
    if (attention === null) return role === "none" ? "" : phrase`a state of fixed size, and no cache`;
    const { window, chunk, compress, index } = attention;
    const parts = [];
    if (chunk) parts.push(phrase`earlier tokens of its own chunk of ${count(window)}`);
    else if (!causal) parts.push(window === undefined ? phrase`all tokens, earlier and later` : phrase`a window of ${tokens(window)} around it`);
    else if (window === 1) parts.push(phrase`its own token alone`);
    else if (window !== undefined) parts.push(phrase`the last ${tokens(window)}, its own included`);
    else parts.push(phrase`all earlier tokens and itself`);
    if (compress !== undefined) parts.push(phrase`one compressed row per ${tokens(compress)}`);
    if (index) parts.push(phrase`of which an indexer chooses ${count(index.keys)}`);
    return parts.join(phrase`; `);
  }

  function headsOf({ attention }) {
    if (attention === null || !attention.heads) return "";
    const { heads, kv_heads, latent, rotary, same_key_value } = attention;
    const queries = counted(heads, phrase`1 query head`, phrase`${count(heads)} query heads`);
    if (latent !== undefined) return phrase`${queries}; one latent of ${count(latent)} numbers and ${count(rotary)} rotary ones for all`;
    if (!kv_heads) return queries;
    const same = same_key_value ? phrase`; the key is the value` : "";
    if (kv_heads === heads) return counted(heads, phrase`1 head`, phrase`${count(heads)} heads, each with its own keys and values`) + same;
    if (kv_heads === 1) return phrase`${queries}, all with one key-value head` + same;
    return phrase`${queries} in groups of ${count(heads / kv_heads)}: ${count(kv_heads)} key-value heads` + same;
  }

  function headDim({ attention }) {
    if (!attention?.key_dim) return "";
    const { key_dim, value_dim } = attention;
    return value_dim ? phrase`${count(key_dim)} (values: ${count(value_dim)})` : count(key_dim);
  }

  // The number whose root divides the scores, if the scale is such a root and the number is small.
  function rootOf(scale) {
    const square = Math.round(1 / scale ** 2);
    return square > 1 && square <= 2048 && Math.abs(scale * Math.sqrt(square) - 1) < 1e-6 ? square : null;
  }

  // What multiplies q · k, and why: 1/√128 = 0.0884; 1/√168 = 0.0772; 1.87/√192 = 0.135.
  function softmaxScale({ attention }) {
    if (!attention?.scale) return "";
    const { scale, plain_scale: plain = scale, scale_key: key, key_dim } = attention;
    const factor = scale / plain;
    const root = key === "attention_multiplier" ? null : rootOf(plain);
    const isChanged = Math.abs(factor - 1) > 1e-9;
    const above = isChanged ? significant(factor) : "1";
    const parts = [];
    if (root !== null) parts.push(`${above}/√${count(root)} = ${significant(scale)}`);
    else parts.push(isChanged ? `${above} × ${significant(plain)} = ${significant(scale)}` : significant(scale));
    if (key) parts.push(phrase`from ${key}, not 1/√${count(key_dim)}`);
    else if (root !== key_dim) parts.push(phrase`and not 1/√${count(key_dim)}`);
    if (isChanged) parts.push(phrase`${above}: the square of mscale_all_dim's factor`);
    return parts.join(phrase`; `);
  }

  function scores({ attention }) {
    if (!attention) return "";
    const { softcap, sink, query_scale, shared } = attention;
    const parts = [];
    if (softcap) parts.push(phrase`soft cap ${significant(softcap)}`);
    if (sink) parts.push(phrase`a learned sink per head`);
    if (query_scale) parts.push(phrase`queries grow with the position`);
    if (shared) parts.push(phrase`keys and values of an earlier layer`);
    return parts.join(phrase`; `);
  }

  const POSITIONS = {
    rope: phrase`rotation (RoPE)`,
    none: phrase`none (NoPE)`,
    "several axes": phrase`rotation by several axes (M-RoPE)`,
    recurrent: phrase`the order of the state`,
    bias: phrase`a bias on the scores`,
  };

  const turns = (layer) => Boolean(layer.rotation?.rotates);

  function layout(layer) {
    if (!turns(layer)) return "";
    const { layout: kind, rotary_dim } = layer.rotation;
    if (kind === "half") return phrase`half: dimension i with i + ${count(rotary_dim / 2)}`;
    if (kind === "interleaved") return phrase`interleaved: dimension 2i with 2i + 1`;
    return phrase`not known`;
  }

  const evidence = (layer) => (turns(layer) ? sentence(globalThis.modelRules.evidence[layer.rotation.evidence.key], layer.rotation.evidence.values) : "");

  function rotated(layer) {
    if (!turns(layer)) return "";
    const { rotary_dim, head_dim } = layer.rotation;
    const still = layer.rotation.pairs.still;
    const key = layer.attention?.key_dim ?? head_dim;
    const whole = rotary_dim === key ? phrase`all ${count(key)}` : phrase`${count(rotary_dim)} of ${count(key)}`;
    return still ? phrase`${whole}; pairs that do not move: ${count(still)}, the slowest` : whole;
  }

  const RULES = {
    default: phrase`none`,
    linear: phrase`linear (position interpolation)`,
    dynamic: phrase`dynamic NTK`,
    ntk: phrase`NTK-aware (a larger base)`,
    yarn: "YaRN",
    llama3: "Llama 3",
    longrope: "LongRoPE",
    proportional: phrase`proportional`,
  };

  function rule(layer) {
    if (!turns(layer)) return "";
    const { rule: kind, factor, trained_length, pairs } = layer.rotation;
    const name = RULES[kind] ?? kind;
    if (kind === "default" || (kind === "proportional" && factor === 1)) return name;
    const isToldLength = !["linear", "proportional"].includes(kind) && trained_length !== null;
    const from = isToldLength ? phrase`, from ${tokens(trained_length)}` : "";
    return phrase`${name}, factor ${count(factor)}${from}; pairs kept: ${count(pairs.kept)}, slowed: ${count(pairs.slowed)}`;
  }

  function factors(layer) {
    if (!turns(layer)) return "";
    const { attention_factor, score_factor } = layer.rotation;
    const parts = [];
    if (attention_factor !== 1) {
      const both = significant(attention_factor ** 2);
      parts.push(phrase`cos and sin × ${significant(attention_factor)}, so rotated parts of the scores × ${both}`);
    }
    if (score_factor !== 1 && !layer.attention?.scale) parts.push(phrase`the scale of the scores includes × ${significant(score_factor)}`);
    return parts.join(phrase`; `);
  }

  function kept(layer, { causal }) {
    const { cache } = layer;
    if (!cache || cache.bytes === null || !causal) return "";
    if (layer.attention?.shared) return phrase`nothing of its own`;
    if (!cache.rows) return phrase`nothing that grows`;
    return phrase`${count(cache.rows)} × ${count(cache.numbers_per_row)} numbers per layer: ${bytes(cache.bytes)}`;
  }

  function positions(layer) {
    if (layer.rotation?.refused) return phrase`not read: ${reason(layer.rotation.refused)}`;
    return POSITIONS[layer.positions] ?? "";
  }

  // The numbers of the layers, from 0 on: 0–4, 6–10, … or all of them, if they are few.
  function which({ indices }, { layers }) {
    if (layers.length < 2 || !indices.length) return "";
    const parts = [];
    for (const index of indices) {
      const last = parts.at(-1);
      if (last && index === last[1] + 1) last[1] = index;
      else parts.push([index, index]);
    }
    const longest = indices.length === parts.length ? 16 : 6;
    const shown = parts.slice(0, longest).map(([first, last]) => (first === last ? String(first) : `${first}–${last}`));
    const more = parts.length > longest ? phrase`, … ${indices.at(-1)}` : "";
    return shown.join(", ") + more;
  }

  const ROWS = [
    [phrase`Layers, counted from 0`, which],
    [phrase`Sees`, seenKeys],
    [phrase`Heads`, headsOf],
    [phrase`Head dimension`, headDim],
    [phrase`Scale of the softmax`, softmaxScale],
    [phrase`Scores`, scores],
    [phrase`Positions`, positions],
    [phrase`Pairs (layout)`, layout],
    [phrase`How we know`, evidence],
    [phrase`Dimensions that rotate`, rotated],
    [phrase`Base`, (layer) => (turns(layer) ? count(layer.rotation.base) : "")],
    [phrase`Rule for long texts`, rule],
    [phrase`Factors`, factors],
    [phrase`Keeps of one text`, kept],
  ];

  function kindName(layer) {
    const name = ROLES[layer.role] ?? phrase`all layers`;
    return layer.count === null ? name : counted(layer.count, phrase`${name}, 1 layer`, phrase`${name}, ${count(layer.count)} layers`);
  }

  function layerTable(result) {
    const { layers } = result;
    const head = layers.map((layer) => `<th scope="col">${escape(kindName(layer))}</th>`).join("");
    const rows = ROWS.map(([name, tell]) => [name, layers.map((layer) => tell(layer, result))]).filter(([, told]) => told.some(Boolean));
    const lines = rows.map(([name, told]) => {
      const alike = told.length > 1 && told.every((one) => one === told[0]);
      const shown = alike ? [`<td colspan="${told.length}">${escape(told[0])}</td>`] : told.map((one) => `<td>${escape(one)}</td>`);
      return `<tr><th scope="row">${escape(name)}</th>${shown.join("")}</tr>`;
    });
    const place = phrase`Kinds of layers`;
    return `<div class="scroller pst-scrollable-table-container" tabindex="0" role="group" aria-label="${place}"><table class="kinds"><thead><tr><td></td>${head}</tr></thead><tbody>${lines.join("")}</tbody></table></div>`;
  }

  // The order of the layers: a bar for each, whose height and colour say the kind.
  function strip(layers) {
    const all = layers.flatMap((layer, kind) => layer.indices.map((index) => [index, layer.role, kind]));
    if (layers.length < 2 || !all.length) return "";
    all.sort(([one], [other]) => one - other);
    const heights = { full: 22, compressed: 16, window: 11, chunk: 11, recurrent: 6, none: 3 };
    const heightOf = (role) => heights[role] ?? 22;
    const [tallest] = [...layers].sort((one, other) => heightOf(other.role) - heightOf(one.role));
    const step = Math.max(3, Math.min(12, 480 / all.length));
    const bars = all.map(([index, role, kind], place) => {
      const height = heightOf(role);
      const width = Math.max(1.5, step - 1.5);
      return `<rect class="kind-${kind % 4}" x="${(place * step).toFixed(1)}" y="${24 - height}" width="${width.toFixed(1)}" height="${height}"><title>${index}: ${escape(ROLES[role] ?? "")}</title></rect>`;
    });
    const label = phrase`The order of ${count(all.length)} layers; the tallest bars are ${kindName(tallest)}`;
    return `<svg class="strip" role="img" aria-label="${escape(label)}" viewBox="0 0 ${Math.ceil(all.length * step)} 24">${bars.join("")}</svg>`;
  }

  // ------------------------------------------------------------------------ pictures

  function pictures(result) {
    const seen = new Set();
    const drawn = [];
    for (const layer of result.layers.filter(turns)) {
      const { frequencies, unscaled_frequencies: unscaled, trained_length: trained, pairs } = layer.rotation;
      const key = JSON.stringify(frequencies);
      if (seen.has(key)) continue;
      seen.add(key);
      const wanted = result.wanted.length;
      const sight = layer.attention?.compress === undefined ? layer.attention?.window : undefined;
      const told = [phrase`Pairs that complete a rotation within ${tokens(wanted)}: ${count(pairs.complete_wanted)} of ${count(frequencies.length)}.`];
      if (pairs.complete_trained !== null && trained !== wanted) told.push(phrase`Within ${tokens(trained)} it was ${count(pairs.complete_trained)}.`);
      if (sight !== undefined && sight < wanted) told.push(phrase`These layers never look farther than ${tokens(sight)}, whatever the length.`);
      const name = result.layers.length > 1 ? `<h5>${escape(kindName(layer))}</h5>` : "";
      const svg = modelPicture({ frequencies, unscaled, trained, wanted, beforeName: phrase`without the rule` });
      drawn.push(`<div class="picture">${name}${svg}<p>${escape(told.join(phrase` `))}</p></div>`);
    }
    if (!drawn.length) return "";
    return `<section><h4>${phrase`Wavelengths`}</h4><div class="pictures">${drawn.join("")}</div></section>`;
  }

  // ------------------------------------------------------------------------ bytes and seconds

  function tile(name, value, note, state = "") {
    return `<div class="tile ${state}"><dt>${escape(name)}</dt><dd><strong>${escape(value)}</strong> <span>${escape(note)}</span></dd></div>`;
  }

  function tiles(result) {
    const { cache, weights, memory, step, prefill, wanted } = result;
    const shown = [];
    if (cache) {
      const name = counted(wanted.batch, phrase`Cache of one text`, phrase`Cache of ${count(wanted.batch)} texts`);
      const each = counted(wanted.batch, tokens(wanted.length), phrase`${tokens(wanted.length)} each; one takes ${bytes(cache.text_bytes)}`);
      shown.push(tile(name, bytes(cache.batch_bytes), each));
      const note = cache.first_token_bytes === cache.bytes_per_token ? phrase`in all layers` : phrase`in the mean; the first takes ${bytes(cache.first_token_bytes)}`;
      shown.push(tile(phrase`Cache per token`, bytes(cache.bytes_per_token), note));
    }
    if (weights) {
      const note = weights.source === "computed" ? phrase`counted: ${parameters(weights.parameters)} parameters` : phrase`as you say: ${parameters(weights.parameters)} parameters`;
      shown.push(tile(phrase`Weights`, bytes(weights.bytes), note));
    }
    if (memory) {
      const note = phrase`${bytes(memory.needed)} of ${bytes(memory.capacity)} on each GPU`;
      shown.push(tile(phrase`Memory`, memory.fits ? phrase`it fits` : phrase`does not fit`, note, memory.fits ? "good" : "bad"));
    }
    if (step) {
      const [first] = step;
      const note = first.batch === 1 ? phrase`at least, for one text: ${significant(first.tokens_per_second)} tokens/s` : phrase`at least, for ${count(first.batch)} texts`;
      shown.push(tile(phrase`One token`, seconds(first.seconds), note));
      shown.push(tile(phrase`Reading the text`, seconds(prefill.seconds), phrase`at least, limited by ${LIMITS[prefill.limit]}`));
    }
    return shown.length ? `<dl class="tiles">${shown.join("")}</dl>` : "";
  }

  const LIMITS = { memory: phrase`memory traffic`, arithmetic: phrase`arithmetic` };

  function assumed({ wanted }) {
    const { gpu } = wanted;
    const name = wanted.gpu_name ?? gpuName(gpu);
    const texts = counted(wanted.batch, phrase`one text of ${tokens(wanted.length)}`, phrase`${count(wanted.batch)} texts of ${tokens(wanted.length)} each`);
    const rates = phrase`${significant(gpu.bandwidth / 1e12)} TB/s, ${significant(gpu.peak / 1e12)} TFLOP/s and ${bytes(gpu.memory)} each`;
    return phrase`For ${texts}, with ${count(8 * wanted.weight_bytes)} bits per weight and ${count(8 * wanted.cache_bytes)} per number of the cache, on ${count(wanted.gpus)} × ${name} (${rates}). 1 GB is 10⁹ bytes.`;
  }

  function gpuName(gpu) {
    const known = globalThis.modelRules?.gpus.find((one) => one.bandwidth === gpu.bandwidth && one.memory === gpu.memory);
    return known?.name ?? phrase`a GPU of your own`;
  }

  // The first few numbers of GPUs.
  function numbers(possible) {
    if (possible.length <= 6) return possible.map(count).join(", ");
    return `${possible.slice(0, 5).map(count).join(", ")}, … ${count(possible.at(-1))}`;
  }

  // On how many GPUs it fits, and why not on as few as the bytes alone would need.
  function fewest({ fewest_gpus: needed, by_bytes: bound, possible }) {
    if (needed === null) return [phrase`No number of such GPUs is enough, because each keeps a whole copy of what all heads share.`];
    const parts = [counted(needed, phrase`All of it fits on one such GPU.`, phrase`All of it fits on ${count(needed)} such GPUs.`)];
    if (needed === bound) return parts;
    if (possible.includes(bound)) parts.push(phrase`By bytes alone ${count(bound)} would do, but what all heads share stands on each GPU.`);
    else parts.push(phrase`By bytes alone ${count(bound)} would do, but the heads must divide by the number: ${numbers(possible)}.`);
    return parts;
  }

  function memoryWords({ memory, wanted }) {
    if (!memory) return "";
    const held = phrase`Each GPU holds ${bytes(memory.weights_bytes)} of weights and ${bytes(memory.cache_bytes)} of cache, ${bytes(memory.needed)} together.`;
    const parts = [held];
    if (memory.fits) {
      parts.push(phrase`That fits into its ${bytes(memory.capacity)}, but activations and the engine's own buffers need room, too.`);
      const most = memory.largest_batch;
      if (most !== null) parts.push(counted(most, phrase`At most one such text fits at a time.`, phrase`At most ${count(most)} such texts fit at a time.`));
    } else {
      parts.push(phrase`That does not fit into its ${bytes(memory.capacity)}.`);
      if (memory.longest_text > 0) {
        const batch = wanted.batch === 1 ? phrase`One text` : phrase`A batch of ${count(wanted.batch)}`;
        parts.push(phrase`${batch} would fit up to a length of ${tokens(memory.longest_text)}.`);
      }
      parts.push(...fewest(memory));
    }
    if (!memory.shares) parts.unshift(phrase`${count(memory.gpus)} GPUs cannot have equally many heads, and most engines refuse this number: possible are ${numbers(memory.possible)}.`);
    return `<p class="${memory.fits ? "good" : "bad"}">${escape(parts.join(phrase` `))}</p>`;
  }

  function stepTable({ step, memory, cache, wanted }) {
    if (!step) return "";
    const heads = [phrase`Texts at a time`, phrase`One step`, phrase`Tokens/s, all`, phrase`Tokens/s, each`, phrase`Limit`, phrase`Cache`];
    const lines = step.map((one) => {
      const all = bytes(one.batch * cache.text_bytes);
      const fits = !memory || memory.largest_batch === null || one.batch <= memory.largest_batch;
      const shown = [seconds(one.seconds), significant(one.tokens_per_second), significant(1 / one.seconds), LIMITS[one.limit]];
      const held = fits ? all : phrase`${all}, too much`;
      const cells = [...shown, held].map((word) => `<td>${escape(word)}</td>`).join("");
      return `<tr${fits ? "" : ' class="over"'}><th scope="row">${count(one.batch)}</th>${cells}</tr>`;
    });
    const head = heads.map((word) => `<th scope="col">${escape(word)}</th>`).join("");
    const place = phrase`Step time over batch sizes`;
    const about = phrase`Writing: the least time of one step, in which each text gets a token, at ${tokens(wanted.length)}.`;
    return `<p>${escape(about)}</p><div class="scroller pst-scrollable-table-container" tabindex="0" role="group" aria-label="${place}"><table class="steps"><thead><tr>${head}</tr></thead><tbody>${lines.join("")}</tbody></table></div>`;
  }

  function costs(result, { settings }) {
    const { cache, weights, prefill, wanted } = result;
    const parts = [];
    if (!cache) {
      const why = result.refused ? phrase`The kinds of layers could not be told apart, so bytes and seconds are not computed.` : phrase`This model keeps no cache, or the table does not have its numbers.`;
      parts.push(`<p>${escape(why)}</p>`);
    } else {
      parts.push(`<p class="quiet">${escape(assumed(result))}</p>`);
      const live = settings !== false;
      if (!weights && !live) parts.push(`<p>${escape(phrase`The weights of this family are not counted, so memory and seconds are not computed here.`)}</p>`);
      if (!weights && live) parts.push(`<p>${escape(phrase`The weights are not counted for this family: type the number of parameters above, or drop model.safetensors.index.json, and the page also computes memory and seconds.`)}</p>`);
      parts.push(memoryWords(result), stepTable(result));
      if (prefill) {
        const words = phrase`Reading a text of ${tokens(wanted.length)} at once takes at least ${seconds(prefill.seconds)}; ${LIMITS[prefill.limit]} is the limit.`;
        const bound = phrase`All times are lower bounds: every byte at the full bandwidth or every operation at the peak, and nothing for what GPUs send each other. Real engines need more.`;
        parts.push(`<p>${escape(words)}</p><p class="quiet">${escape(bound)}</p>`);
      }
    }
    return `<section><h4>${phrase`Bytes and seconds`}</h4>${parts.join("")}</section>`;
  }

  // ------------------------------------------------------------------------ what to look at twice

  // options.link(page, anchor): the address and the title of a place in the book.
  function remark(one, { link }) {
    const { href, title } = link(one.page, one.anchor);
    const words = sentence(globalThis.modelRules.remarks[one.key].text, one.values);
    return `${escape(words)} <a href="${escape(href)}">${escape(title)}</a>`;
  }

  // What is wrong or cannot be read stands above all that is computed without it.
  function faults(result, options) {
    const refused = result.layers.filter((layer) => layer.rotation?.refused);
    const said = new Set(refused.map(({ rotation }) => phrase`The rotation is not read: ${reason(rotation.refused)}`));
    if (result.refused) said.add(phrase`The kinds of layers are not read: ${reason(result.refused)}`);
    const items = [...said].map(escape);
    items.push(...result.warnings.filter(({ fault }) => fault).map((one) => remark(one, options)));
    if (!items.length) return "";
    const list = items.map((item) => `<li class="fault">${item}</li>`).join("");
    return `<section class="faults"><h4>${phrase`Error`}</h4><ul>${list}</ul></section>`;
  }

  function warnings(result, options) {
    const said = result.warnings.filter(({ fault }) => !fault);
    const items = said.map((one) => `<li>${remark(one, options)}</li>`);
    const unknown = result.unknown.map(({ key, value, what }) => {
      const said = what ? `: ${phrase({ raw: [what] })}` : "";
      return `<li><code>${escape(key)}</code> = <code>${escape(value)}</code>${escape(said)}</li>`;
    });
    if (!items.length && !unknown.length) return "";
    const list = items.length ? `<ul class="warnings">${items.join("")}</ul>` : "";
    const words = phrase`These keys may change attention, and this page does not know them or does not compute with them. Look for them in the model's code:`;
    const others = unknown.length ? `<p>${escape(words)}</p><ul class="unknown">${unknown.join("")}</ul>` : "";
    return `<section><h4>${phrase`What to look at twice`}</h4>${list}${others}</section>`;
  }

  // ------------------------------------------------------------------------ settings to copy

  function block(name, code, language) {
    return `<div class="copied"><div class="bar"><span>${escape(name)}</span><button type="button" data-copy>${phrase`Copy`}</button></div><pre tabindex="0"><code class="${language}">${escape(code)}</code></pre></div>`;
  }

  function withoutKeys({ remove }) {
    return remove.length ? phrase`; take out ${remove.join(", ")}` : "";
  }

  const WHEN = {
    linear: phrase`divides all frequencies by the factor. It needs further training; without it, near tokens blur.`,
    ntk: phrase`raises the base, so that slow pairs slow down most. It reaches less than the factor says.`,
    yarn: phrase`slows only pairs with long wavelengths, and sharpens the scores. The usual choice without, or before, further training.`,
    llama3: phrase`slows only pairs with long wavelengths, and leaves the scores alone. Meant for further training, as in Llama 3.1.`,
  };

  function ruleSettings(entry, result, open) {
    const name = escape(RULES[entry.rule]);
    if (entry.refused) return `<details><summary>${name}</summary><p>${escape(reason(entry.refused))}</p></details>`;
    const { wanted, settings } = result;
    const notes = entry.notes.map((one) => `<p>${escape(note(one))}</p>`).join("");
    const turning = result.layers.find(turns);
    const svg = modelPicture({
      frequencies: entry.frequencies,
      unscaled: turning.rotation.frequencies,
      trained: settings.trained_length,
      wanted: wanted.length,
      beforeName: phrase`as the file is now`,
    });
    const json = (value) => JSON.stringify(value, null, 2);
    const temperature = entry.attention_factor === 1 ? "" : `<p>${escape(phrase`cos and sin are multiplied by ${significant(entry.attention_factor)}.`)}</p>`;
    const blocks = [
      block(phrase`In config.json, for transformers 5${withoutKeys(entry.transformers5)}`, json(entry.transformers5.add), "json"),
      block(phrase`In config.json, for transformers 4${withoutKeys(entry.transformers4)}`, json(entry.transformers4.add), "json"),
      block("vLLM", `vllm serve MODEL ${entry.vllm}`, "bash"),
    ];
    if (entry.llama_cpp) blocks.push(block("llama.cpp", `llama-server -m MODEL.gguf ${entry.llama_cpp}`, "bash"));
    return `<details${open ? " open" : ""}><summary><strong>${name}</strong> ${escape(WHEN[entry.rule])}</summary>${temperature}${notes}${blocks.join("")}<div class="picture">${svg}</div></details>`;
  }

  const note = ({ key, values }) => sentence(globalThis.modelRules.settings.notes[key], values);

  function settings(result, { link }) {
    const found = result.settings;
    const title = `<h4>${phrase`Settings for ${tokens(result.wanted.length)}`}</h4>`;
    if (!found) return `<section>${title}<p>${escape(phrase`The table does not have all that settings need: paste the model's config.json.`)}</p></section>`;
    const notes = found.notes.map((one) => `<p>${escape(note(one))}</p>`).join("");
    if (!found.rules.length) return `<section>${title}${notes}</section>`;
    const { href, title: chapter } = link("longer-contexts", "what-to-set");
    const first = phrase`The factor is ${count(result.wanted.length)} / ${count(found.trained_length)} = ${significant(found.factor)}. Use one rule, test it on short and on long texts, and keep in mind that it changes short texts, too:`;
    const how = phrase`Put the entries of a block among those of your config.json. One that is there already is replaced as a whole, with all that stands in its braces; the other entries of the file stay.`;
    const entries = found.rules.map((entry) => ruleSettings(entry, result, entry.rule === "yarn"));
    return `<section>${title}${notes}<p>${escape(first)} <a href="${escape(href)}">${escape(chapter)}</a></p><p>${escape(how)}</p>${entries.join("")}</section>`;
  }

  // ------------------------------------------------------------------------ the whole report

  function reason({ reason: name, text, values }) {
    const rules = globalThis.modelRules;
    const english = rules.reasons[name] ?? rules.failures[name];
    return english ? sentence(english, values ?? {}) : text;
  }

  function facts(result) {
    const { model_type, layer_count, width, heads, context, trained_length } = result;
    const parts = [];
    if (model_type) parts.push(escape(model_type));
    if (layer_count) parts.push(counted(layer_count, phrase`1 layer`, phrase`${count(layer_count)} layers`));
    if (width) parts.push(phrase`width ${count(width)}`);
    if (heads) parts.push(counted(heads, phrase`1 head`, phrase`${count(heads)} heads`));
    if (context) parts.push(phrase`offers ${tokens(context)}`);
    // What a rule calls the original length is not the last one of training.
    const isStretched = result.layers.some(({ rotation }) => !["default", "none", undefined].includes(rotation?.rule));
    const start = isStretched ? phrase`its rule starts from ${count(trained_length)}` : phrase`trained on ${tokens(trained_length)}`;
    if (trained_length && trained_length !== context) parts.push(start);
    return parts.join(" · ");
  }

  function layerSection(result) {
    const said = result.note ? `<p class="quiet">${escape(phrase({ raw: [result.note] }))}</p>` : "";
    return `<section><h4>${phrase`Layers`}</h4>${strip(result.layers)}${layerTable(result)}${said}</section>`;
  }

  // The report of what readModel or readTableModel returned. options.link is described above; without
  // options.settings the report ends with the warnings, as that of a worked model.
  function report(result, options) {
    if (result.error) return `<p class="bad">${escape(reason(result.error))}</p>`;
    const name = `<h3 class="name">${escape(result.name || phrase`Your model`)}</h3><p class="facts">${facts(result)}</p>`;
    const parts = [options.named === false ? `<p class="facts">${facts(result)}</p>` : name, faults(result, options), tiles(result), layerSection(result), pictures(result), costs(result, options)];
    parts.push(warnings(result, options));
    if (options.settings !== false) parts.push(settings(result, options));
    return parts.join("");
  }

  // A line about a model: its kinds of layers, and its cache.
  function summary({ layers, cache, wanted }) {
    const kinds = layers.map(kindName).join("; ");
    return cache ? phrase`${kinds}; ${bytes(cache.text_bytes)} of cache for ${tokens(wanted.length)}` : kinds;
  }

  globalThis.modelReport = { bytes, count, escape, kindName, parameters, counted, reason, report, seconds, summary };
})();
