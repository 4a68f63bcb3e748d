// The workshop in the page. On a step: an editor for the reader's functions, checks, hints, and text by the
// reader's own model. On its first page: which steps are done. What readers write stays in this browser.
// Python comes from the site itself.
(() => {
  const phrase = globalThis.bookPhrase ?? String.raw;
  const { make } = globalThis.bookForms;
  const cell = document.querySelector(".cell.workshop");
  const note = document.querySelector(".workshop-note");
  // From a file no browser starts a worker; the note says what to do instead.
  if (!location.protocol.startsWith("http")) return;

  const scripts = new URL(".", document.currentScript.src);
  const python = new URL("../python/", scripts).href;
  const tools = new URL("../workshop-tools/", scripts).href;
  const step = note ? Number(note.dataset.step) : 0; // 0: the first page
  const allBytes = note ? Number(note.dataset.bytes) : 0;
  const policy = `default-src 'self' data: blob:; style-src 'self' 'unsafe-inline';
    script-src 'self' 'wasm-unsafe-eval'; worker-src blob:; object-src 'none'`;
  const PAGES = "softmax attend mask heads rmsnorm swiglu rope block model cache sampling longer".split(" ");
  const STEPS = PAGES.length;
  const FIRST_WITH_WEIGHTS = 9; // the step that reads the trained model
  const key = (number) => `workshop.step.${number}`;
  const keyOfDone = (number) => `workshop.done.${number}`; // the text that the check found right
  const numbers = PAGES.map((_, index) => index + 1);

  // Storage may be forbidden; then the text is kept as long as the page is open.
  function read(name) {
    try {
      return localStorage.getItem(name);
    } catch {
      return null;
    }
  }

  function keep(name, text) {
    try {
      if (text === null) localStorage.removeItem(name);
      else localStorage.setItem(name, text);
      return true;
    } catch {
      return false;
    }
  }

  const stored = (number) => read(key(number));
  const isDone = (number) => stored(number) !== null && stored(number) === read(keyOfDone(number));

  // One file that runs alone with NumPy: the skeleton, with the reader's steps in their places.
  async function download() {
    const skeleton = await (await fetch(`${tools}my_model.txt`)).text();
    const [head, ...parts] = skeleton.split(/^(?=# -+ (?:step \d+|afterwards): )/m);
    const filled = parts.map((part, index) => {
      const text = index < STEPS ? stored(index + 1) : null;
      const heading = part.slice(0, part.indexOf("\n"));
      return text === null ? part : `${heading}\n\n\n${text.trim()}\n\n\n`;
    });
    const file = new Blob([head + filled.join("")], { type: "text/x-python" });
    const link = make(document.body, "a", { href: URL.createObjectURL(file), download: "my_model.py" });
    link.click();
    link.remove();
  }

  function linkToWeights(parent) {
    return make(parent, "a", {
      href: `${tools}model.safetensors`,
      download: "model.safetensors",
      textContent: phrase`Download the weights, model.safetensors`,
    });
  }

  // What to do with the model when all steps are done.
  function showEnd(place) {
    place.replaceChildren();
    place.hidden = !numbers.every(isDone);
    if (place.hidden) return;
    make(place, "p").append(phrase`Congratulations: all twelve steps are done. You have written a language model.`);
    const files = make(place, "p");
    make(files, "button", { type: "button", textContent: phrase`Download my_model.py`, onclick: download });
    files.append(" ");
    linkToWeights(files);
    make(place, "p").append(phrase`With both files in one folder and NumPy installed, your file continues any text:`);
    make(place, "pre", { tabIndex: 0, textContent: 'python my_model.py "def mean("' });
  }

  // The first page: a mark at each step that is done, and where to go on.
  function markSteps() {
    const links = PAGES.map((page) => document.querySelector(`main ol a[href$="${page}.html"]`));
    if (links.includes(null)) return;
    for (const number of numbers) {
      const words = isDone(number) ? phrase`✓ done` : stored(number) !== null ? phrase`begun` : "";
      if (words) make(links[number - 1].parentElement, "strong", { textContent: ` ${words}` });
    }
    if (!numbers.some((number) => stored(number) !== null)) return;
    const list = links[0].closest("ol");
    const place = make(list.parentElement, "div", { className: "workshop-progress d-print-none" });
    list.before(place);
    const open = numbers.find((number) => !isDone(number));
    const count = numbers.filter(isDone).length;
    if (open) {
      const text = make(place, "p", { textContent: `${phrase`${count} of 12 steps are done.`} ` });
      make(text, "a", { href: links[open - 1].href, textContent: phrase`Go on with step ${open}` });
    } else showEnd(place);
  }

  if (!cell) {
    markSteps();
    return;
  }

  const code = cell.querySelector(".cell_input pre");
  const empty = code.textContent.trimEnd();
  let worker = null;
  let running = false;
  let stage = 0;
  let bytes = [];
  let prompt = "";

  function store(number, text) {
    if (keep(key(number), text)) return;
    say(phrase`This browser keeps nothing: save your code before you leave the page.`);
  }

  // The page speaks of notebooks: cells to run, imports, a stored check. Here the editor takes their place.
  for (const other of [...cell.parentElement.children]) {
    if (other !== cell && other.matches(".cell, p:not(.admonition-title)")) other.hidden = true;
  }
  for (const paragraph of document.querySelectorAll("main .admonition p")) {
    const first = paragraph.querySelector("code");
    if (first?.textContent.startsWith("hint(")) paragraph.hidden = true;
  }
  const task = document.createElement("p");
  task.textContent = phrase`Replace the last line of each function by your own code and press “Check”. The description inside a function says what it must compute. NumPy is there as np.`;
  if (step > 1) {
    task.textContent += ` ${phrase`Your functions of earlier steps are there too; where you have written none, the book’s take their place.`}`;
  }
  cell.before(task);

  // The editor, in the place of the code and with its letters.

  const editor = bookEditor(code, {
    ariaLabel: phrase`Your code of this step. Escape, then Tab leaves the editor.`,
    value: stored(step) ?? empty,
    wraps: true,
    run: () => running || ask("check"),
  });
  code.hidden = true;

  let leaving = false;
  editor.addEventListener("input", () => {
    stage = 0;
    store(step, editor.value === empty ? null : editor.value);
  });
  editor.addEventListener("keydown", (event) => {
    if (event.key === "Tab" && !leaving && !event.shiftKey) {
      event.preventDefault();
      document.execCommand("insertText", false, "    "); // the browser can undo it
    }
    leaving = event.key === "Escape";
  });

  // Below it: buttons, what is going on, and what came out.

  const bar = make(cell, "div", {
    className: "run-bar small d-flex flex-wrap gap-2 align-items-center my-2 d-print-none",
  });
  bar.style.fontFamily = "var(--book-sans)";
  const button = (textContent, onclick) => make(bar, "button", { type: "button", textContent, onclick });
  const check = button(phrase`Check`, () => (running ? stop() : ask("check")));
  const hint = button(phrase`Hint`, () => {
    stage = Math.min(stage + 1, 3);
    ask("hint");
  });
  const hasWeights = step >= FIRST_WITH_WEIGHTS;
  const write = hasWeights ? button(phrase`Let the model write`, () => ask("write")) : null;
  const compare = step === STEPS ? button(phrase`Read 2,048 bytes with and without YaRN`, () => ask("long")) : null;
  button(phrase`Download my_model.py`, download);
  const forget = button(phrase`Start over`, () => {
    if (!confirm(phrase`Forget what you wrote in this step?`)) return;
    editor.value = empty;
    editor.dispatchEvent(new Event("input"));
  });
  const progress = make(bar, "progress", { value: 0, ariaLabel: phrase`Loading Python` });
  progress.style.accentColor = "var(--pst-color-primary)";
  const status = make(bar, "span", { role: "status" });
  if (hasWeights) linkToWeights(bar);
  const settings = hasWeights ? addSettings() : null;
  const box = (className) => {
    const made = make(cell, "pre", { className, tabIndex: 0, hidden: true });
    made.style.whiteSpace = "pre-wrap";
    return made;
  };
  const output = box("workshop-output");
  const hinted = box("workshop-hint");
  const printed = box("workshop-printed");
  const end = make(cell, "div", { className: "workshop-end d-print-none", hidden: true });
  if (step === STEPS) showEnd(end);

  // What the model continues, and at which temperature.
  function addSettings() {
    const row = make(cell, "div", { className: bar.className });
    row.style.fontFamily = "var(--book-sans)";
    const labelled = (words, tag, properties) => {
      const label = make(row, "label", { textContent: `${words} ` });
      return make(label, tag, properties);
    };
    const text = labelled(phrase`It continues`, "textarea", { value: "def mean(values):\n    ", rows: 2, cols: 40 });
    Object.assign(text.style, { fontFamily: editor.style.fontFamily, verticalAlign: "middle", maxWidth: "100%" });
    text.spellcheck = false;
    const number = { type: "number", min: 0, max: 5, step: 0.1, value: 0.7 };
    const temperature = labelled(phrase`Temperature`, "input", number);
    return { text, temperature };
  }

  function say(text) {
    status.textContent = text;
  }

  function show(text, place = output) {
    place.hidden = text === "";
    place.textContent = text;
  }

  // Whose functions write: those of steps that the reader has not written are the book's.
  function whoWrote() {
    const others = numbers.filter((number) => stored(number) === null).join(", ");
    if (!others) return phrase`Written by your functions:`;
    return phrase`Written by your functions, and by the book’s for the steps ${others}:`;
  }

  // Python, in a worker that can be stopped. It begins to load when the page is opened.

  function startWorker() {
    if (!document.querySelector("meta[http-equiv=Content-Security-Policy]")) {
      make(document.head, "meta", { httpEquiv: "Content-Security-Policy", content: policy });
    }
    const names = ["private.js", "worker.js", "workshop_worker.js"];
    const files = names.map((name) => JSON.stringify(new URL(name, scripts).href));
    const given = { python, tools, language: document.documentElement.lang };
    const places = Object.entries(given).map(([name, value]) => `const ${name} = ${JSON.stringify(value)};`).join(" ");
    const source = `${places} importScripts(${files});`;
    const blob = URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
    worker = new Worker(blob);
    worker.onmessage = ({ data }) => receive(data);
    worker.onerror = () => receive({ broken: true });
    progress.hidden = false;
    say(phrase`Loading Python and NumPy, ${Math.round(allBytes / 1e6)} MB …`);
    worker.postMessage({ kind: "prepare", step, sources: [] });
  }

  // What the reader has written, in the order of the steps. Text is written by all of it, a check sees what
  // comes before its step.
  function sources(kind) {
    const all = [];
    for (let number = 1; number <= STEPS; number += 1) {
      const text = number === step ? editor.value : stored(number);
      if (text !== null && (number <= step || kind === "write" || kind === "long")) all.push([number, text]);
    }
    return all;
  }

  function ask(kind) {
    if (worker === null) startWorker();
    running = true;
    bytes = [];
    prompt = settings?.text.value ?? "";
    if (kind !== "hint") show("");
    show("", hinted);
    show("", printed);
    for (const one of [hint, write, compare, forget]) if (one) one.disabled = true;
    check.textContent = phrase`Stop`;
    say(phrase`Running …`);
    const temperature = Math.max(Number(settings?.temperature.value ?? 0), 0);
    worker.postMessage({ kind, step, sources: sources(kind), text: prompt, temperature, stage });
  }

  function finish() {
    running = false;
    check.textContent = phrase`Check`;
    for (const one of [hint, write, compare, forget]) if (one) one.disabled = false;
  }

  function stop() {
    worker?.terminate();
    worker = null;
    finish();
    say(phrase`Stopped. What you wrote is still there.`);
  }

  // After a check: the step is marked as done, or not.
  function sayDone(finished) {
    if (!finished) return phrase`Not yet:`;
    if (stored(step) === null) store(step, editor.value);
    keep(keyOfDone(step), editor.value);
    if (step < STEPS) return phrase`This step is done. The next one waits.`;
    showEnd(end);
    const open = numbers.filter((number) => !isDone(number)).join(", ");
    return open ? phrase`This step is done. Still open are the steps ${open}.` : phrase`This was the last step.`;
  }

  function receive({ bytes: arrived, ready, token, done, broken, kind, said, finished, printing }) {
    if (arrived) progress.value = Math.min(arrived / allBytes, 1);
    if (arrived >= allBytes) say(phrase`Starting Python …`);
    if (ready) {
      progress.hidden = true;
      if (running) say(phrase`Running …`);
      else say(isDone(step) ? phrase`This step is done. Python is ready.` : phrase`Python is ready.`);
    }
    if (token !== undefined) {
      bytes.push(token);
      const text = new TextDecoder().decode(new Uint8Array(bytes.filter((one) => one < 256)));
      show(prompt + text);
    }
    if (done) {
      if (kind === "hint") show(said, hinted);
      else if (said) show(said);
      if (printing) show(`${phrase`Printed by your code:`}\n${printing}`, printed);
      if (kind === "write") say(said ? phrase`The model cannot write yet:` : whoWrote());
      else if (kind === "long") say(finished ? whoWrote() : phrase`The model cannot write yet:`);
      else if (kind === "hint") say(phrase`Hint ${stage} of 3:`);
      else say(sayDone(finished));
      finish();
    }
    if (broken) {
      worker?.terminate();
      worker = null;
      finish();
      progress.hidden = true;
      say(phrase`Python could not be loaded here. The page “Write the model yourself” names other ways.`);
    }
  }

  note.remove();
  startWorker();
})();
