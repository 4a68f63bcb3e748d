// The state of the page "Read my model": what is read, and for which length, batch and GPU. It is in the
// fragment of the address, which browsers send to no server, so that a link shows the same.
"use strict";
(() => {
  const FIRST = {
    config: "", // the text of a config.json; without it, the model of the table
    model: "Llama 3.1-8B",
    length: null, // tokens; null: what the model offers
    batch: 1,
    parameters: null, // in billions; null: counted where the family is known
    active: null, // in billions, of a model with experts
    weights: null, // bits; null: as the file says, otherwise 16
    cache: 16,
    gpu: "H200 SXM",
    gpus: 1,
    bandwidth: null, // TB/s; null: that of the GPU
    peak: null, // TFLOP/s
    memory: null, // GB
  };
  const NUMBERS = ["length", "batch", "parameters", "active", "weights", "cache", "gpus", "bandwidth", "peak", "memory"];
  // Longer addresses are cut by some programs.
  const LONGEST_ADDRESS = 30_000;

  // ------------------------------------------------------------------------ text in an address

  async function through(stream, given) {
    const response = new Response(new Blob([given]).stream().pipeThrough(stream));
    return new Uint8Array(await response.arrayBuffer());
  }

  function toLetters(given) {
    let letters = "";
    for (const one of given) letters += String.fromCharCode(one);
    return btoa(letters).replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");
  }

  function fromLetters(text) {
    const letters = atob(text.replace(/-/g, "+").replace(/_/g, "/"));
    return Uint8Array.from(letters, (letter) => letter.charCodeAt(0));
  }

  // A configuration without its blanks, if it is JSON.
  function short(text) {
    try {
      return JSON.stringify(JSON.parse(text));
    } catch {
      return text;
    }
  }

  async function packed(text) {
    const small = await through(new CompressionStream("deflate-raw"), new TextEncoder().encode(short(text)));
    return toLetters(small);
  }

  async function unpacked(letters) {
    const given = await through(new DecompressionStream("deflate-raw"), fromLetters(letters));
    const text = new TextDecoder().decode(given);
    try {
      return JSON.stringify(JSON.parse(text), null, 2);
    } catch {
      return text;
    }
  }

  // ------------------------------------------------------------------------ the address

  // The state that the address names; what makes no sense there is left out. null if it names none.
  async function fromAddress() {
    if (!location.hash.includes("=")) return null;
    const asked = new URLSearchParams(location.hash.slice(1));
    const state = { ...FIRST };
    for (const name of NUMBERS) {
      const value = Number(asked.get(name));
      if (asked.has(name) && value > 0 && value < 1e15) state[name] = value;
    }
    const names = globalThis.modelRules.table.map((row) => row.name);
    if (names.includes(asked.get("model"))) state.model = asked.get("model");
    const gpus = globalThis.modelRules.gpus.map((gpu) => gpu.name);
    if (gpus.includes(asked.get("gpu"))) state.gpu = asked.get("gpu");
    if (asked.has("config")) {
      try {
        state.config = await unpacked(asked.get("config"));
      } catch {
        state.broken = true; // the address was cut
      }
    }
    return state;
  }

  // The address of the page with a state; null if it would be too long.
  async function addressOf(state) {
    const written = new URLSearchParams();
    if (state.config) written.set("config", await packed(state.config));
    else if (state.model !== FIRST.model) written.set("model", state.model);
    for (const name of ["gpu", ...NUMBERS]) {
      if (state[name] !== null && state[name] !== FIRST[name]) written.set(name, state[name]);
    }
    const address = new URL(location);
    address.hash = written.toString();
    return address.href.length > LONGEST_ADDRESS ? null : address.href;
  }

  // ------------------------------------------------------------------------ what is asked of read_model.js

  function wantedOf(state) {
    const gpu = globalThis.modelRules.gpus.find((one) => one.name === state.gpu);
    const edited = [state.bandwidth, state.peak, state.memory].some((value) => value !== null);
    const asked = {
      batch: state.batch,
      cache_bytes: state.cache / 8,
      gpus: state.gpus,
      gpu: {
        bandwidth: state.bandwidth === null ? gpu.bandwidth : state.bandwidth * 1e12,
        peak: state.peak === null ? gpu.peak.bfloat16 : state.peak * 1e12,
        memory: state.memory === null ? gpu.memory : state.memory * 1e9,
      },
    };
    if (state.length !== null) asked.length = state.length;
    if (state.weights !== null) asked.weight_bytes = state.weights / 8;
    if (state.parameters !== null) asked.parameters = state.parameters * 1e9;
    if (state.active !== null) asked.active_parameters = state.active * 1e9;
    return { asked, gpuName: edited ? null : gpu.name };
  }

  Object.assign(globalThis.modelPage, { FIRST, addressOf, fromAddress, wantedOf });
})();
