// The prompt and the switches of the playground, each switch with a question to answer first.
"use strict";
(() => {
  const phrase = globalThis.bookPhrase ?? String.raw;
  const { button, group, make } = globalThis.bookForms;
  const { LARGEST_SHIFT, LENGTHS, LONGEST, RULES, UNCHANGED, whole } = globalThis.playground;

  function section(parent, title, className) {
    const box = make(parent, "section", { className });
    make(box, "h2", { textContent: title });
    return box;
  }

  // A box with a question, room for a switch, and a link to the chapter that answers it.
  function card(parent, question, address, title) {
    const box = group(parent, question);
    const row = make(box, "div", { className: "bar" });
    make(box, "a", { href: address, textContent: title });
    return row;
  }

  function check(row, words, changed) {
    const label = make(row, "label");
    const input = make(label, "input", { type: "checkbox", onchange: () => changed(input.checked) });
    label.append(` ${words}`);
    return input;
  }

  function select(row, words, options, changed) {
    const label = make(row, "label", { textContent: `${words} ` });
    const input = make(label, "select", { onchange: () => changed(input.value) });
    for (const [value, textContent] of options) make(input, "option", { value, textContent });
    return input;
  }

  // Both return a function that shows a state. `change` gets what the reader changed.

  function buildPrompt(place, change) {
    const box = section(place, phrase`Prompt`, "prompt");
    const prompt = make(box, "textarea", {
      rows: 3,
      spellcheck: false,
      autocapitalize: "off",
      ariaLabel: phrase`The text that the model reads`,
      oninput: () => change({ prompt: prompt.value, token: -1 }),
    });
    const cut = make(box, "p", { textContent: phrase`The model reads the last ${LONGEST} bytes of it.` });
    return (state) => {
      if (prompt.value !== state.prompt) prompt.value = state.prompt;
      cut.hidden = new TextEncoder().encode(state.prompt).length <= LONGEST;
    };
  }

  function buildSwitches(place, chapters, change, copy) {
    const box = section(place, phrase`Switch something, but guess first`, "switches");
    const maskRow = card(
      box,
      phrase`If every token may also look at later ones, what happens to the loss? And to a text that is written byte by byte?`,
      chapters("attention"),
      phrase`Chapter: Attention is a weighted average`,
    );
    const mask = check(maskRow, phrase`causal mask off`, (is) => change({ mask: !is }));

    const rotationRow = card(
      box,
      phrase`Without the rotation, no score depends on the distance of two tokens. Will the model still write words?`,
      chapters("why-position"),
      phrase`Chapter: Why position`,
    );
    const rotation = check(rotationRow, phrase`rotation off`, (is) => change({ rotation: !is }));

    const headRow = card(
      box,
      phrase`If one of the 36 heads is missing, will you notice it in the text? Choose a head above and switch it off.`,
      chapters("many-heads"),
      phrase`Chapter: Many heads`,
    );
    const missing = make(headRow, "span");
    const restore = button(headRow, phrase`All heads on`, () => change({ heads: [] }));

    const shiftRow = card(
      box,
      phrase`If all positions grow by the same number, what happens to the weights? And if only those in the second half do?`,
      chapters("implementing-rope"),
      phrase`Chapter: Implementing RoPE`,
    );
    const shiftLabel = make(shiftRow, "label", { textContent: `${phrase`add to positions`} ` });
    const shift = make(shiftLabel, "input", { type: "number", min: -LARGEST_SHIFT, max: LARGEST_SHIFT, step: 1 });
    shift.onchange = () => change({ shift: whole(shift.value, -LARGEST_SHIFT, LARGEST_SHIFT) });
    const half = check(shiftRow, phrase`only in the second half`, (is) => change({ half: is }));

    const stretchRow = card(
      box,
      phrase`The model was trained on texts of 1,024 tokens. What is its loss at the end of a longer one, and which rule repairs it?`,
      chapters("longer-contexts"),
      phrase`Chapter: Longer contexts`,
    );
    const sizes = LENGTHS.map((size) => [size, phrase`${size.toLocaleString("en")} bytes`]);
    const length = select(stretchRow, phrase`fixed text of`, sizes, (value) => change({ length: Number(value) }));
    const rules = Object.entries(RULES);
    const rule = select(stretchRow, phrase`frequencies`, rules, (value) => change({ rule: value }));
    const note = make(stretchRow, "span", { className: "quiet" });
    note.textContent = phrase`The rules change something for more than 1,024 bytes.`;

    const buttons = make(box, "div", { className: "bar" });
    button(buttons, phrase`All as trained`, () => change({ ...UNCHANGED }));
    button(buttons, phrase`Copy link`, copy).hidden = !navigator.clipboard; // only where the connection is safe

    return (state) => {
      mask.checked = !state.mask;
      rotation.checked = !state.rotation;
      const names = state.heads.map(([layer, head]) => phrase`layer ${layer}, head ${head}`);
      missing.textContent = names.length ? phrase`off: ${names.join("; ")}` : phrase`all heads are on`;
      restore.hidden = names.length === 0;
      if (document.activeElement !== shift || Number(shift.value) !== state.shift) shift.value = state.shift;
      half.checked = state.half;
      length.value = state.length;
      rule.value = state.rule;
      note.hidden = state.rule === "none" || state.length > 1024;
    };
  }

  Object.assign(globalThis.playground, { buildPrompt, buildSwitches, section });
})();
