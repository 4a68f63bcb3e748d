// The page "Read my model": a form, and below it the report of read_model.js. Nothing that a reader gives
// leaves the browser.
"use strict";
(() => {
  const phrase = globalThis.bookPhrase ?? String.raw;
  const { button, group, make } = globalThis.bookForms;
  const { FIRST, addressOf, fromAddress, wantedOf } = globalThis.modelPage;
  const { readModel, readTableModel, testVectors, weightBits } = globalThis.modelReader;
  const { count, counted, reason, report } = globalThis.modelReport;
  const rules = globalThis.modelRules;
  const place = document.querySelector(".read-model.live");
  const LENGTHS = [4096, 8192, 32768, 131072, 1048576];
  const LARGEST_FILE = 50_000_000; // an index of a large model has tens of megabytes

  // ------------------------------------------------------------------------ parts of a form

  // A control with its name above it.
  function field(parent, words, tag, properties = {}) {
    fields += 1;
    const id = `read-model-${fields}`;
    const box = make(parent, "div", { className: "field" });
    make(box, "label", { htmlFor: id, textContent: words });
    return make(box, tag, { ...properties, id });
  }

  // A field for a number; nothing, or what is no number, is null.
  function numberField(parent, words, name, options = {}) {
    const input = field(parent, words, "input", { type: "number", min: options.min ?? 0, step: options.step ?? "any" });
    input.placeholder = options.placeholder ?? "";
    input.oninput = () => {
      const value = input.valueAsNumber;
      change({ [name]: Number.isFinite(value) && value > 0 ? value : FIRST[name] });
    };
    shows.push((state) => {
      if (document.activeElement === input) return;
      input.value = state[name] ?? "";
      input.placeholder = options.usual?.(state) ?? input.placeholder;
    });
  }

  function choice(parent, words, options, name, changed) {
    const input = field(parent, words, "select");
    for (const [value, textContent] of options) make(input, "option", { value, textContent });
    input.onchange = () => changed(input.value);
    shows.push((state) => {
      input.value = name(state);
    });
  }

  // ------------------------------------------------------------------------ the form

  let fields = 0;
  const shows = []; // functions that show a state in the form
  let state = { ...FIRST };
  let answer = null;

  const form = make(place, "form", { className: "inputs", onsubmit: (event) => event.preventDefault() });
  // What was read is said below the text, and what became of a copy or a file beside the buttons.
  const said = statusLine("status");
  const noted = statusLine("noted");
  const output = make(place, "div", { className: "report" });

  function statusLine(className) {
    const line = Object.assign(document.createElement("p"), { className });
    line.setAttribute("role", "status");
    return line;
  }

  function buildModel() {
    const box = group(form, phrase`Which model`, "model");
    const table = rules.table.map((row) => [row.name, row.name]).sort(([one], [other]) => one.localeCompare(other));
    const options = [["", phrase`— the file below —`], ...table];
    const chosen = (current) => (current.config ? "" : current.model);
    choice(box, phrase`A model of the table`, options, chosen, (model) => {
      if (model) change({ ...cleared(), model });
      else text.focus();
    });
    const usual = { rows: 6, spellcheck: false, autocapitalize: "off" };
    const text = field(box, phrase`or the text of a config.json`, "textarea", usual);
    text.placeholder = phrase`Paste it here, or drop the file anywhere on this page.`;
    text.oninput = () => change({ ...cleared(), config: text.value });
    shows.push((current) => {
      if (document.activeElement !== text && text.value !== current.config) text.value = current.config;
    });
    const bar = make(box, "div", { className: "bar" });
    const file = make(bar, "input", { type: "file", multiple: true, hidden: true, accept: ".json,application/json" });
    file.onchange = () => takeFiles(file.files);
    button(bar, phrase`Open files`, () => file.click());
    make(bar, "span", { className: "quiet", textContent: phrase`config.json, and model.safetensors.index.json for the weights` });
    box.append(said);
    button(box, phrase`Show the answer`, () => output.scrollIntoView()).className = "onward";
  }

  // What belongs to another model goes with it.
  const cleared = () => ({ config: "", length: null, parameters: null, active: null });

  // The length from which a longer one is counted: that of training, unless a rule stretches it already.
  function longest() {
    const isStretched = answer?.layers?.some((layer) => !["default", "none", undefined].includes(layer.rotation?.rule));
    return (isStretched ? answer.context : answer?.trained_length) ?? answer?.context ?? 4096;
  }

  function buildWishes() {
    const box = group(form, phrase`What you want`, "wishes");
    const context = () => (answer?.context ? count(answer.context) : "");
    numberField(box, phrase`Tokens of one text`, "length", { min: 1, step: 1, usual: context });
    const bar = make(box, "div", { className: "bar lengths" });
    for (const length of LENGTHS) button(bar, count(length), () => change({ length }));
    button(bar, phrase`4 × as long`, () => change({ length: 4 * longest() }));
    numberField(box, phrase`Texts at the same time (batch)`, "batch", { min: 1, step: 1 });
    const bits = [[16, phrase`16 bits`], [8, phrase`8 bits`], [4, phrase`4 bits`]];
    choice(box, phrase`Numbers of the cache`, bits, (current) => current.cache, (value) => change({ cache: Number(value) }));
    const weights = [["", phrase`as the file says`], ...bits];
    choice(box, phrase`Weights`, weights, (current) => current.weights ?? "", (value) => change({ weights: Number(value) || null }));
    const usualCount = () => (answer?.weights?.source === "computed" ? phrase`${(answer.weights.parameters / 1e9).toFixed(2)}, counted` : phrase`not known`);
    numberField(box, phrase`Parameters, in billions`, "parameters", { usual: usualCount });
    numberField(box, phrase`of which one token uses (experts)`, "active", { placeholder: phrase`all` });
  }

  function buildGpu() {
    const box = group(form, phrase`On which GPU`, "gpu");
    const gpus = rules.gpus.map((gpu) => [gpu.name, gpu.name]);
    const none = { bandwidth: null, peak: null, memory: null };
    choice(box, phrase`GPU`, gpus, (current) => current.gpu, (gpu) => change({ gpu, ...none }));
    numberField(box, phrase`How many`, "gpus", { min: 1, step: 1 });
    const chosen = (current) => rules.gpus.find((gpu) => gpu.name === current.gpu);
    numberField(box, phrase`Memory of each, GB`, "memory", { usual: (current) => String(chosen(current).memory / 1e9) });
    numberField(box, phrase`Bandwidth, TB/s`, "bandwidth", { usual: (current) => String(chosen(current).bandwidth / 1e12) });
    numberField(box, phrase`Peak in 16 bits, TFLOP/s`, "peak", { usual: (current) => String(chosen(current).peak.bfloat16 / 1e12) });
    make(box, "p", { className: "quiet", textContent: phrase`Type over the grey numbers to change them.` });
  }

  function buildButtons() {
    const bar = make(form, "div", { className: "bar foot" });
    const link = button(bar, phrase`Copy link`, () => copyLink(link));
    button(bar, phrase`Download test vectors`, download);
    button(bar, phrase`Print`, () => print());
    button(bar, phrase`Start over`, () => {
      state = { ...FIRST };
      document.activeElement?.blur();
      change({});
    });
    make(bar, "span", { className: "quiet", textContent: phrase`Nothing you give leaves this browser.` });
    bar.append(noted);
  }

  // ------------------------------------------------------------------------ files

  // Parameters of an index of weights, in billions, if the type of the numbers is that of `config`.
  function parametersOf(index, config) {
    let size = 2; // bytes of each; the weights are taken to have 16 bits
    try {
      const read = JSON.parse(config);
      const stored = weightBits(read)?.bits;
      if (stored) size = stored / 8;
      else if ((read.torch_dtype ?? read.dtype) === "float32") size = 4;
    } catch {
      // what is wrong with the text is said elsewhere
    }
    return index.metadata.total_size / size / 1e9;
  }

  async function takeFiles(files) {
    let config = null;
    let index = null;
    for (const file of files) {
      const text = file.size > LARGEST_FILE ? "" : await file.text();
      try {
        const read = JSON.parse(text);
        if (read?.weight_map && Number.isFinite(read.metadata?.total_size)) index = read;
        else config = text;
      } catch {
        config = text || " ".repeat(5_000_001); // the reader says what is wrong with it
      }
    }
    document.activeElement?.blur();
    const changes = config === null ? {} : { ...cleared(), config };
    if (index) changes.parameters = Number(parametersOf(index, config ?? state.config).toPrecision(6));
    change(changes);
  }

  function letDrop() {
    addEventListener("dragover", (event) => {
      if (!event.dataTransfer?.types.includes("Files")) return;
      event.preventDefault();
      place.classList.add("over");
    });
    addEventListener("dragleave", () => place.classList.remove("over"));
    addEventListener("drop", (event) => {
      place.classList.remove("over");
      if (!event.dataTransfer?.files.length) return;
      event.preventDefault();
      takeFiles(event.dataTransfer.files);
    });
  }

  // ------------------------------------------------------------------------ what leaves the page

  async function copyLink(pressed) {
    const address = await addressOf(state);
    if (address === null) {
      noted.textContent = phrase`This configuration is too long for a link.`;
      return;
    }
    history.replaceState(history.state, "", address);
    await copy(address, pressed);
  }

  // The button that was pressed says for a moment what came of it.
  async function copy(text, pressed) {
    const name = pressed.dataset.name ?? pressed.textContent;
    pressed.dataset.name = name;
    try {
      await navigator.clipboard.writeText(text);
      pressed.textContent = phrase`Copied.`;
    } catch {
      pressed.textContent = phrase`Not allowed`;
      noted.textContent = phrase`The browser does not let this page copy; select the text, or take the address of the page.`;
    }
    setTimeout(() => (pressed.textContent = name), 2000);
  }

  // What is only good news is small.
  function say(words, isQuiet = false) {
    said.textContent = words;
    said.classList.toggle("quiet", isQuiet);
  }

  function download() {
    const config = state.config || tableConfig();
    const vectors = config === null ? null : testVectors(config, wantedOf(state).asked);
    if (!vectors || vectors.error || !vectors.vectors.length) {
      noted.textContent = vectors?.error ? reason(vectors.error) : phrase`Test vectors need a config.json with a rotation that can be read.`;
      return;
    }
    const blob = new Blob([JSON.stringify(vectors, null, 1)], { type: "application/json" });
    const link = make(document.body, "a", { href: URL.createObjectURL(blob), download: "rope-vectors.json" });
    link.click();
    link.remove();
    URL.revokeObjectURL(link.href);
    const kinds = vectors.vectors.length;
    noted.textContent = counted(kinds, phrase`Test vectors of one kind of layer: rope-vectors.json.`, phrase`Test vectors of ${count(kinds)} kinds of layers: rope-vectors.json.`);
  }

  // The rotation of a model of the table as a configuration, if all its layers have one.
  function tableConfig() {
    const row = rules.table.find((one) => one.name === state.model);
    const turning = row.layers.filter((layer) => layer.rope);
    const kinds = new Set(turning.map((layer) => JSON.stringify(layer.rope)));
    if (kinds.size !== 1 || turning[0].learned) return null;
    const [{ rope, rotary, head_dim }] = turning;
    return {
      _name_or_path: row.name,
      max_position_embeddings: row.context,
      num_attention_heads: row.heads,
      num_hidden_layers: turning.length,
      head_dim: rotary || head_dim,
      rope_parameters: rope,
    };
  }

  // ------------------------------------------------------------------------ reading

  function link(page, anchor) {
    const title = globalThis.modelPlaces[`${page}#${anchor}`] ?? phrase`Read more`;
    return { href: `${page}.html#${anchor}`, title };
  }

  function read() {
    const { asked, gpuName } = wantedOf(state);
    answer = state.config ? readModel(state.config, asked) : readTableModel(state.model, asked);
    if (!answer.error) answer.wanted.gpu_name = gpuName;
    const opened = [...output.querySelectorAll("details")].map((one) => one.open);
    output.innerHTML = answer.error ? "" : report(answer, { link }); // what is wrong is said above
    const folds = [...output.querySelectorAll("details")];
    if (folds.length === opened.length) folds.forEach((one, index) => (one.open = opened[index]));
    place.toggleAttribute("data-wrong", Boolean(answer.error));
    for (const show of shows) show(state);
    const name = answer.error ? "" : answer.name || phrase`Your model`;
    const layers = answer.layer_count ?? 0;
    if (answer.error) say(reason(answer.error));
    else if (answer.faulty) say(phrase`${name}: something in it is wrong or cannot be read; see the error below.`);
    else say(counted(layers, phrase`${name}: 1 layer was read.`, phrase`${name}: ${count(layers)} layers were read.`), true);
  }

  let writing;
  let reading;
  let changes = 0;

  function change(part) {
    Object.assign(state, part);
    clearTimeout(reading);
    reading = setTimeout(read, part.config ? 150 : 0);
    clearTimeout(writing);
    writing = setTimeout(write, 400);
  }

  // Browsers refuse many changes of the address in a short time.
  async function write() {
    changes += 1;
    const now = changes;
    const address = await addressOf(state);
    if (now === changes && address !== null) history.replaceState(history.state, "", address);
  }

  async function start() {
    const asked = await fromAddress();
    if (asked === null && answer) return; // a link to a section
    state = asked ?? { ...FIRST };
    read();
    if (state.broken) say(phrase`The address was cut, so the configuration in it cannot be read.`);
    place.dataset.ready = "";
  }

  buildModel();
  buildWishes();
  buildGpu();
  buildButtons();
  letDrop();
  output.addEventListener("click", ({ target }) => {
    const pressed = target.closest("[data-copy]");
    if (pressed) copy(pressed.closest(".copied").querySelector("code").textContent, pressed);
  });
  addEventListener("hashchange", start);
  start();
})();
