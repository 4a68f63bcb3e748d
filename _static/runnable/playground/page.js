// The playground: the book's model in the page. The reader types a prompt, sees what each head looks at and
// what the model expects and writes, and switches parts of it. The model runs in a worker, with NumPy
// (bookkit.workshop.playground); the scripts here only show what it found.
"use strict";
(() => {
  const phrase = globalThis.bookPhrase ?? String.raw;
  const { button, make } = globalThis.bookForms;
  const { addressOf, buildHeads, buildPrompt, buildSwitches, fromAddress } = globalThis.playground;
  const { isUnchanged, letter, named, percent, section, switchesOf } = globalThis.playground;
  const place = document.querySelector(".playground");
  // From a file no browser starts a worker; the note says what to do instead.
  if (!place || !location.protocol.startsWith("http")) return;

  const scripts = new URL("../", document.currentScript.src);
  const allBytes = Number(document.currentScript.dataset.bytes);
  const policy = `default-src 'self' data: blob:; style-src 'self' 'unsafe-inline';
    script-src 'self' 'wasm-unsafe-eval'; worker-src blob:; object-src 'none'`;
  const COUNT = 120; // bytes that are written
  const PATIENCE = 3000; // milliseconds; a worker that has not stopped by then is ended
  const TYPING = 400; // milliseconds without a key before the model reads
  const UNIFORM = Math.log(257); // the loss of a model that gives all tokens the same probability

  let state = fromAddress();
  let found = { tokens: [], maps: new Float32Array() };
  let texts = { trained: [], changed: [] };
  let measured = null;
  let worker = null;
  let number = 0; // of the newest request
  let due = new Set(); // what is asked for and has not been finished: look, write, loss
  let ready = false;
  let asking;
  let keeping;
  let ending;

  // Building the page

  for (const name of ["../forms/forms.css", "playground/playground.css"]) {
    make(document.head, "link", { rel: "stylesheet", href: new URL(name, scripts).href });
  }
  const stills = [...place.children, document.getElementById("fig-playground")?.closest(".cell") ?? ""];
  const showStills = (are) => stills.filter(Boolean).forEach((one) => (one.hidden = !are));
  const box = make(place, "div", { className: "live book-form", role: "group", ariaLabel: phrase`Playground` });
  const chapters = (name) => new URL(`../../chapters/${name}.html`, scripts).href;
  const showPrompt = buildPrompt(box, change);
  const showHeads = buildHeads(box, change, choose);

  const nextBox = section(box, phrase`The next byte`, "next");
  const nextTable = make(nextBox, "table");

  const textBox = section(box, phrase`What it writes`, "texts");
  const textBar = make(textBox, "div", { className: "bar" });
  button(textBar, phrase`Write`, write);
  button(textBar, phrase`Draw another text`, () => {
    state.seed += 1;
    keep();
    write();
  });
  const textOf = (words) => {
    const figure = make(textBox, "div", { hidden: true });
    make(figure, "h3", { textContent: words });
    return make(figure, "pre", { tabIndex: 0, ariaLabel: words, role: "region" });
  };
  const shownTexts = { trained: textOf(phrase`As trained`), changed: textOf(phrase`With your switches`) };

  const showSwitches = buildSwitches(box, chapters, change, async () => {
    await navigator.clipboard.writeText(addressOf(state));
    say(phrase`The link is copied.`);
  });

  const lossBox = section(box, phrase`Loss on a fixed text`, "loss");
  const lossTable = make(lossBox, "table");
  const lossNote = make(lossBox, "p", { className: "quiet" });

  const foot = make(box, "div", { className: "foot" });
  const progress = make(foot, "progress", { value: 0, ariaLabel: phrase`Loading Python` });
  const status = make(foot, "span", { className: "status", role: "status" });
  const stopButton = button(foot, phrase`Stop`, stop);

  function say(text) {
    status.textContent = text;
  }

  // Showing

  function row(table, name, share, words, className = "") {
    const line = make(table, "tr", { className });
    make(line, "th", { scope: "row", textContent: name });
    const bar = make(make(line, "td", { className: "share" }), "span");
    bar.style.width = `${100 * Math.min(share, 1)}%`;
    for (const one of words) make(line, "td", { textContent: one });
  }

  function head(table, names) {
    table.replaceChildren();
    const line = make(make(table, "thead"), "tr");
    for (const textContent of names) make(line, textContent ? "th" : "td", { textContent });
    return make(table, "tbody");
  }

  function showNext({ next }) {
    const plain = isUnchanged(state);
    const names = [phrase`byte`, "", plain ? phrase`probability` : phrase`with switches`];
    const body = head(nextTable, plain ? names : [...names, phrase`as trained`]);
    for (const [token, now, before] of next) {
      const name = letter(token) === String.fromCharCode(token) ? letter(token) : named(token);
      row(body, name, now, plain ? [percent(now)] : [percent(now), percent(before)]);
    }
  }

  function showTexts() {
    for (const [which, tokens] of Object.entries(texts)) {
      const text = new TextDecoder().decode(new Uint8Array(tokens.filter((one) => one < 256)));
      const shown = shownTexts[which];
      shown.parentElement.hidden = tokens.length === 0;
      shown.replaceChildren();
      make(shown, "span", { className: "quiet", textContent: state.prompt });
      shown.append(text);
    }
  }

  const digits = (loss) => (Number.isNaN(loss) ? phrase`no number` : loss.toFixed(2));

  function showLoss({ trained, changed }) {
    const body = head(lossTable, ["", "", phrase`nats per byte`]);
    row(body, phrase`as trained`, trained / UNIFORM, [digits(trained)]);
    if (!isUnchanged(state)) row(body, phrase`with switches`, changed / UNIFORM, [digits(changed)], "changed");
    row(body, phrase`all tokens equally probable`, 1, [digits(UNIFORM)], "other");
    const last = state.length.toLocaleString("en");
    const first = (state.length - 255).toLocaleString("en");
    lossNote.textContent = phrase`Bytes ${first} to ${last} of the code that defines this model, which it has not seen in training.`;
  }

  // What the page says when everything is computed: the answer to the reader's guess.
  function summary({ trained, changed }) {
    if (isUnchanged(state)) return phrase`Loss ${digits(trained)}, as trained.`;
    return phrase`Loss ${digits(trained)} as trained, ${digits(changed)} with your switches.`;
  }

  function showAll() {
    showPrompt(state);
    showSwitches(state);
    showHeads(state, found);
  }

  // Changing

  function keep() {
    // Browsers refuse many changes of the address in a short time.
    clearTimeout(keeping);
    keeping = setTimeout(() => history.replaceState(history.state, "", addressOf(state)), 300);
  }

  // What needs no computation: another head, another token.
  function choose(changes) {
    state = { ...state, ...changes };
    showHeads(state, found);
    keep();
  }

  // What the model has to compute again; while the reader types, after a while.
  function change(changes) {
    state = { ...state, ...changes };
    if ("prompt" in changes) texts.trained = [];
    texts.changed = [];
    measured = null;
    showTexts();
    showAll();
    keep();
    due = new Set(["look", "loss"]);
    clearTimeout(asking);
    asking = setTimeout(send, "prompt" in changes ? TYPING : 0);
  }

  function write() {
    texts = { trained: [], changed: [] };
    showTexts();
    due.add("write");
    send();
  }

  // The worker

  function startWorker() {
    if (!document.querySelector("meta[http-equiv=Content-Security-Policy]")) {
      make(document.head, "meta", { httpEquiv: "Content-Security-Policy", content: policy });
    }
    const folders = { python: new URL("../python/", scripts), tools: new URL("../workshop-tools/", scripts) };
    const places = Object.entries(folders).map(([name, url]) => `const ${name} = ${JSON.stringify(url.href)};`);
    const names = ["private.js", "worker.js", "playground/worker.js"];
    const files = names.map((name) => JSON.stringify(new URL(name, scripts).href));
    const source = `${places.join(" ")} importScripts(${files});`;
    worker = new Worker(URL.createObjectURL(new Blob([source], { type: "text/javascript" })));
    worker.onmessage = ({ data }) => receive(data);
    worker.onerror = () => receive({ broken: true });
    ready = false;
    progress.hidden = false;
    progress.value = 0;
    say(phrase`Loading Python and NumPy, ${Math.round(allBytes / 1e6)} MB …`);
  }

  function send() {
    clearTimeout(asking);
    clearTimeout(ending);
    if (worker === null) startWorker();
    number += 1;
    const kinds = ["look", "write", "loss"].filter((kind) => due.has(kind));
    const { prompt, seed } = state;
    const jobs = kinds.map((kind) => ({ kind, prompt, switches: switchesOf(state), count: COUNT, seed }));
    worker.postMessage({ number, jobs });
    stopButton.disabled = false;
    if (ready) say(phrase`Computing …`);
  }

  function endWorker() {
    worker?.terminate();
    worker = null;
    progress.hidden = true;
    stopButton.disabled = true;
  }

  // First politely, between two parts of an answer; a computation without an end is ended.
  function stop() {
    clearTimeout(asking);
    due.clear();
    number += 1;
    if (ready) {
      worker.postMessage({ number, jobs: [] });
      ending = setTimeout(endWorker, PATIENCE);
    } else {
      endWorker();
    }
    stopButton.disabled = true;
    say(phrase`Stopped. What you typed is still there; any change goes on.`);
  }

  function show(event) {
    if (event.kind === "look") {
      const maps = new Float32Array(event.maps.slice().buffer);
      found = { tokens: event.tokens, maps };
      showHeads(state, found);
      showNext(event);
    } else if (event.kind === "token") {
      texts[event.trained ? "trained" : "changed"].push(event.token);
      showTexts();
    } else if (event.kind === "progress") {
      const done = Math.min(event.done, state.length).toLocaleString("en");
      const all = state.length.toLocaleString("en");
      if (event.trained) say(phrase`Loss as trained: read ${done} of ${all} bytes …`);
      else say(phrase`Loss with your switches: read ${done} of ${all} bytes …`);
    } else {
      measured = event;
      showLoss(event);
      say(summary(event));
    }
  }

  function receive({ bytes, ready: isReady, number: asked, event, finished, failed, idle, broken }) {
    if (bytes) progress.value = Math.min(bytes / allBytes, 1);
    if (bytes >= allBytes && !ready) say(phrase`Starting Python …`);
    if (isReady && !ready) {
      ready = true;
      progress.hidden = true;
      place.dataset.ready = "";
      if (due.size) say(phrase`Computing …`);
    }
    if (broken) {
      endWorker();
      showStills(true);
      say(phrase`Python could not be loaded here. The page “Write the model yourself” names other ways.`);
    }
    if (asked !== number) return;
    if (event) show(event);
    if (finished) due.delete(finished);
    if (finished === "write" && measured) say(summary(measured));
    if (failed) {
      due.clear();
      say(phrase`Python stopped with an error: ${failed}`);
    }
    if (idle) {
      clearTimeout(ending);
      stopButton.disabled = true;
    }
  }

  // A link to another state on this page, another size of the window, or dark in place of light.
  addEventListener("hashchange", () => {
    if (location.hash.includes("=")) change(fromAddress());
  });
  const redraw = () => {
    found = { ...found };
    showHeads(state, found);
  };
  new ResizeObserver(redraw).observe(place);
  new MutationObserver(redraw).observe(document.documentElement, { attributeFilter: ["data-theme"] });

  showStills(false);
  change({});
})();
