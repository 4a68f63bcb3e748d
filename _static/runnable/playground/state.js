// The state of the playground. What differs from the first state is in the fragment of the address, so
// that a link shows the same.
"use strict";
(() => {
  const phrase = globalThis.bookPhrase ?? String.raw;
  const LAYERS = 6;
  const HEADS = 6;
  const LONGEST = 127; // bytes of a prompt that are read
  const LARGEST_SHIFT = 100_000;
  const LENGTHS = [512, 1024, 2048, 4096]; // of the text whose loss is measured
  const RULES = {
    none: phrase`as trained`,
    linear: phrase`linear`,
    ntk: phrase`NTK-aware`,
    dynamic: phrase`dynamic NTK, at its end`,
    parts: phrase`NTK by parts`,
    yarn: phrase`YaRN`,
    llama3: phrase`Llama 3`,
  };
  // What the model computes with.
  const UNCHANGED = {
    mask: true,
    rotation: true,
    heads: [], // those that are off: [layer, head]
    shift: 0,
    half: false,
    rule: "none",
    length: LENGTHS[0],
  };
  const FIRST = {
    prompt: "def mean(values):\n    return sum(",
    ...UNCHANGED,
    layer: 0,
    head: 1,
    token: -1, // the one that looks; −1 is the last
    seed: 0,
  };

  const isHead = ([layer, head]) => layer >= 0 && layer < LAYERS && head >= 0 && head < HEADS;
  const whole = (text, low, high) => Math.max(low, Math.min(high, Math.trunc(Number(text)) || 0));

  // The state that an address names; what the model does not have is left out.
  function fromAddress() {
    const asked = new URLSearchParams(location.hash.slice(1));
    const state = { ...FIRST };
    const take = (name, low, high) => {
      if (asked.has(name)) state[name] = whole(asked.get(name), low, high);
    };
    if (asked.has("prompt")) state.prompt = asked.get("prompt");
    state.mask = asked.get("mask") !== "off";
    state.rotation = asked.get("rotation") !== "off";
    state.half = asked.get("half") === "yes";
    const heads = asked.get("heads")?.match(/\d+\.\d+/g) ?? [];
    state.heads = heads.map((text) => text.split(".").map(Number)).filter(isHead);
    if (Object.hasOwn(RULES, asked.get("rule"))) state.rule = asked.get("rule");
    if (LENGTHS.includes(Number(asked.get("length")))) state.length = Number(asked.get("length"));
    take("shift", -LARGEST_SHIFT, LARGEST_SHIFT);
    take("layer", 0, LAYERS - 1);
    take("head", 0, HEADS - 1);
    take("token", -1, LONGEST);
    take("seed", 0, 1_000_000);
    return state;
  }

  // The address of the page with a state.
  function addressOf(state) {
    const written = new URLSearchParams();
    const words = { mask: "off", rotation: "off", half: "yes" };
    for (const [name, value] of Object.entries(state)) {
      if (String(value) === String(FIRST[name])) continue;
      written.set(name, name === "heads" ? value.map((one) => one.join(".")).join() : (words[name] ?? value));
    }
    const address = new URL(location);
    address.hash = written.toString();
    return address.href;
  }

  const switchesOf = (state) => Object.fromEntries(Object.keys(UNCHANGED).map((name) => [name, state[name]]));

  // Whether the model is as it was trained; the length alone belongs to the text that is measured.
  function isUnchanged({ mask, rotation, heads, shift, rule }) {
    return mask && rotation && heads.length === 0 && shift === 0 && rule === "none";
  }

  Object.assign(globalThis.playground, { HEADS, LARGEST_SHIFT, LAYERS, LENGTHS, LONGEST, RULES, UNCHANGED });
  Object.assign(globalThis.playground, { addressOf, fromAddress, isHead, isUnchanged, switchesOf, whole });
})();
