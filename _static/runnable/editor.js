// An editor for Python, in the place of a listing: a text field whose own letters are not seen, over the same
// text in the colours of printed code. It is as high as its text. Enter keeps the indentation.
"use strict";
(() => {
  const TOKEN = new RegExp(
    [
      /(?<c1>#.*)/,
      /(?<s2>[rbfu]{0,2}(?:"""[^]*?(?:"""|$)|'''[^]*?(?:'''|$)|"(?:\\.|[^"\\\n])*"?|'(?:\\.|[^'\\\n])*'?))/,
      /(?<nd>(?<=^[ \t]*)@[\w.]+)/,
      /(?<mi>\b\d(?:e[-+]|[\w.])*)/,
      /(?<n>[a-z_]\w*)/,
      /(?<o>[-+*/%@=<>!&|^~]+)/,
    ]
      .map(({ source }) => source)
      .join("|"),
    "gim",
  );
  // The names that pygments gives to words.
  const KINDS = new Map(
    Object.entries({
      k: "as assert async await break class continue def del elif else except finally for global if lambda nonlocal pass raise return try while with yield",
      kn: "from import",
      kc: "False None True",
      ow: "and in is not or",
      nb: "abs all any bool bytes dict enumerate float int isinstance len list map max min next print range reversed round set sorted str sum super tuple type zip",
      bp: "self",
    }).flatMap(([kind, words]) => words.split(" ").map((word) => [word, kind])),
  );
  const NAMED = { def: "nf", class: "nc" };

  // Writes the code into a place, with a span around each part that has a colour.
  function paint(place, code) {
    place.replaceChildren();
    let end = 0;
    let before = "";
    for (const { 0: text, index, groups } of code.matchAll(TOKEN)) {
      const [found] = Object.entries(groups).find(([, part]) => part !== undefined);
      const span = document.createElement("span");
      span.className = found === "n" ? (NAMED[before] ?? KINDS.get(text) ?? "n") : found;
      span.textContent = text;
      place.append(code.slice(end, index), span);
      end = index + text.length;
      before = text;
    }
    // A line more than there is, to write in.
    place.append(`${code.slice(end)}\n\n`);
  }

  // `wraps`: a long line goes on below itself; otherwise it scrolls. Returns the text field.
  globalThis.bookEditor = (code, { ariaLabel, value, wraps = false, run }) => {
    const [box, shown, editor] = ["div", "pre", "textarea"].map((tag) => document.createElement(tag));
    const { fontFamily, fontSize, lineHeight, padding } = getComputedStyle(code);
    const letters = { fontFamily, fontSize, lineHeight, padding, tabSize: 4, whiteSpace: wraps ? "pre-wrap" : "pre" };
    const place = { gridArea: "1 / 1", margin: 0, border: 0, overflow: "hidden", overflowWrap: "anywhere" };
    Object.assign(box.style, { display: "grid", overflow: "auto hidden", background: "var(--pst-color-surface)" });
    box.style.gridTemplateColumns = wraps ? "minmax(0, 1fr)" : "minmax(100%, max-content)";
    Object.assign(shown.style, letters, place);
    Object.assign(editor.style, letters, place, { width: "100%", height: "100%", resize: "none", background: "none" });
    Object.assign(editor.style, { color: "var(--pst-color-text-base)", webkitTextFillColor: "transparent" });
    Object.assign(editor, { ariaLabel, value, spellcheck: false, autocapitalize: "off" });
    shown.ariaHidden = "true";
    const show = () => paint(shown, editor.value);
    editor.addEventListener("input", show);
    editor.addEventListener("keydown", (event) => {
      if (event.key !== "Enter") return;
      event.preventDefault();
      if (event.shiftKey || event.ctrlKey) {
        run();
        return;
      }
      const line = editor.value.slice(0, editor.selectionStart).split("\n").at(-1);
      const deeper = line.trimEnd().endsWith(":") ? "    " : "";
      // The browser can undo it.
      document.execCommand("insertText", false, `\n${line.match(/^ */)[0]}${deeper}`);
    });
    show();
    box.append(shown, editor);
    code.parentElement.append(box);
    return editor;
  };
})();
