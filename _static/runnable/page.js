// Listings that run in the page: buttons, an editor, and a comparison with the printed output.
// Python comes from the site itself, when a reader first asks for it, and stays in a worker.
(() => {
  const phrase = globalThis.bookPhrase ?? String.raw;
  const { make } = globalThis.bookForms;
  const note = document.querySelector(".run-note");
  // From a file no browser starts a worker; the note says what to do instead.
  if (!location.protocol.startsWith("http")) return;

  const scripts = new URL(".", document.currentScript.src);
  const python = new URL("../python/", scripts).href;
  const allBytes = Number(note.dataset.bytes);
  const megabytes = Math.round(allBytes / 1e6);
  // From the first run on, whatever a listing does, nothing is loaded from another host.
  const policy = `default-src 'self' data:; style-src 'self' 'unsafe-inline';
    script-src 'self' 'wasm-unsafe-eval'; worker-src blob:; object-src 'none'`;
  let worker = null;
  let active = null; // the listing that runs

  function startWorker() {
    if (!document.querySelector("meta[http-equiv=Content-Security-Policy]")) {
      make(document.head, "meta", { httpEquiv: "Content-Security-Policy", content: policy });
    }
    // A worker that starts from a blob, and no other, obeys the policy of its page.
    const files = ["private.js", "worker.js"].map((name) => JSON.stringify(new URL(name, scripts).href));
    const source = `const python = ${JSON.stringify(python)}; importScripts(${files});`;
    const blob = URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
    const started = new Worker(blob);
    started.onmessage = ({ data }) => receive(data);
    started.onerror = () => receive({ broken: true });
    return started;
  }

  function stopWorker() {
    worker?.terminate();
    worker = null;
  }

  function receive({ bytes, running, done, broken, ...result }) {
    if (!active) return;
    if (bytes) active.progress.value = bytes / allBytes;
    if (bytes >= allBytes) active.say(phrase`Starting Python …`);
    if (running) active.say(phrase`Running …`);
    if (done) active.show(result);
    if (broken) {
      stopWorker();
      active.say(phrase`Python could not be loaded here; see “Run this chapter” at the top of the page.`);
    }
    if (done || broken) finish();
  }

  function start(listing) {
    active = listing;
    const loaded = worker !== null;
    worker ??= startWorker();
    for (const { run } of listings) run.disabled = run !== listing.run;
    listing.run.textContent = phrase`Stop`;
    listing.progress.hidden = loaded;
    listing.progress.value = 0;
    listing.output.replaceChildren();
    listing.say(loaded ? phrase`Running …` : phrase`Loading Python and NumPy, ${megabytes} MB …`);
    // Earlier listings define what this one uses, so they run first, as the page shows them.
    const sources = listings
      .slice(0, listings.indexOf(listing) + 1)
      .map(({ code, editor }) => editor?.value ?? code.textContent);
    worker.postMessage(sources);
  }

  function stop() {
    stopWorker();
    active.say(phrase`Stopped.`);
    finish();
  }

  function finish() {
    active.run.textContent = phrase`Run`;
    active.progress.hidden = true;
    for (const { run } of listings) run.disabled = false;
    active = null;
  }

  // The lines of an output; those that do not follow in the printed one are marked.
  function writeOutput(place, lines, printed) {
    const box = make(make(place, "div", { className: "output stream" }), "div", { className: "highlight" });
    const text = make(box, "pre", { tabIndex: 0 });
    let next = 0;
    for (const line of lines) {
      const found = printed.indexOf(line, next);
      if (found < 0) make(text, "mark", { textContent: line || " " }).style.padding = 0;
      else text.append(line);
      text.append("\n");
      next = Math.max(next, found + 1);
    }
  }

  function addControls(cell) {
    const code = cell.querySelector(".cell_input pre");
    const linesOf = (text) => (text ? text.trimEnd().split("\n") : []);
    const stored = [...cell.querySelectorAll(".cell_output pre")].map((part) => part.textContent);
    const printed = linesOf(stored.join(""));

    const bar = make(cell, "div", {
      className: "run-bar small d-flex flex-wrap gap-2 align-items-center my-2 d-print-none",
    });
    bar.style.fontFamily = "var(--book-sans)";
    const button = (textContent) => make(bar, "button", { type: "button", textContent });
    const [run, edit] = [button(phrase`Run`), button(phrase`Edit`)];
    const progress = make(bar, "progress", { hidden: true, value: 0, ariaLabel: phrase`Loading Python` });
    progress.style.accentColor = "var(--pst-color-primary)";
    const status = make(bar, "span", { role: "status" });
    const output = make(cell, "div", { className: "cell_output docutils container" });

    const say = (text) => {
      status.textContent = text;
    };
    const listing = { code, editor: null, run, progress, output, say };

    listing.show = ({ number, failed, output: text }) => {
      const lines = linesOf(text);
      const same = !failed && lines.join("\n") === printed.join("\n");
      if (text) writeOutput(output, lines, failed ? lines : printed);
      const missing = printed.length - lines.length;
      const fewer = missing > 0 ? phrase`, and ${missing} of the printed lines are missing` : "";
      if (failed && listings[number - 1] !== listing) say(phrase`An earlier listing, which runs first, failed:`);
      else if (failed) say(phrase`Python reports an error:`);
      else if (same) say(text ? phrase`The same as printed:` : phrase`It ran without an error; it prints nothing.`);
      else say(phrase`Not as printed; new and changed lines are marked${fewer}:`);
    };

    run.onclick = () => {
      if (active) stop();
      else start(listing);
    };
    edit.onclick = () => {
      const { editor } = listing;
      code.hidden = !editor;
      edit.textContent = editor ? phrase`Edit` : phrase`Restore`;
      editor?.parentElement.remove();
      const value = code.textContent.trimEnd();
      const again = () => active ?? run.click();
      listing.editor = editor ? null : bookEditor(code, { ariaLabel: phrase`Code of this listing`, value, run: again });
      listing.editor?.focus();
    };
    return listing;
  }

  const listings = [...document.querySelectorAll(".cell.runnable")].map(addControls);
  note.remove();
})();
