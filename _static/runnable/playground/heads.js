// The heads of the playground: a small map of each, and the chosen one with its tokens.
"use strict";
(() => {
  const phrase = globalThis.bookPhrase ?? String.raw;
  const { button, make } = globalThis.bookForms;
  const { HEADS, LAYERS, drawLarge, drawSmall, isHead, letter } = globalThis.playground;
  const { named, percent, rowAt, section, strength } = globalThis.playground;
  const ARROWS = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };
  const MOST = 4; // tokens that are named in words

  // A table of buttons, one for each head: one stop of the Tab key, and arrows between them.
  function buildSmall(parent, choose) {
    const box = make(parent, "div", { className: "small-maps", role: "group" });
    box.ariaLabel = phrase`Heads of all layers`;
    const buttons = [];
    make(box, "span");
    for (let head = 0; head < HEADS; head += 1) make(box, "span", { className: "quiet", textContent: head });
    for (let layer = 0; layer < LAYERS; layer += 1) {
      make(box, "span", { className: "quiet", textContent: layer });
      for (let head = 0; head < HEADS; head += 1) {
        const one = button(box, "", () => choose(layer, head));
        make(one, "canvas");
        one.onkeydown = (event) => {
          const [down, right] = ARROWS[event.key] ?? [0, 0];
          const other = [layer + down, head + right];
          if (!(event.key in ARROWS) || !isHead(other)) return;
          event.preventDefault();
          choose(...other);
          buttons[other[0] * HEADS + other[1]].focus();
        };
        buttons.push(one);
      }
    }
    make(box, "span", { className: "quiet axes", textContent: phrase`rows: layers, columns: heads` });
    return buttons;
  }

  // Returns a function that shows a state and what the model found: {tokens, maps}, or nothing yet.
  function buildHeads(place, change, choose) {
    const box = section(place, phrase`What each head looks at`, "heads");
    make(box, "p", {
      className: "quiet",
      textContent: phrase`In each map a row is a token that looks, and a column one that it looks at. The stronger the colour, the larger the weight.`,
    });
    const both = make(box, "div", { className: "both" });
    const buttons = buildSmall(both, (layer, head) => choose({ layer, head }));
    const large = make(both, "div", { className: "large-map" });
    const bar = make(large, "div", { className: "bar" });
    const title = make(bar, "h3");
    const label = make(bar, "label");
    const off = make(label, "input", { type: "checkbox" });
    label.append(` ${phrase`switch this head off`}`);
    const scroller = make(large, "div", { className: "scroller", tabIndex: 0, role: "group" });
    scroller.ariaLabel = phrase`Map of this head, scrolls`;
    const canvas = make(scroller, "canvas", { role: "img" });
    const who = make(large, "label", { className: "who" });
    make(who, "span", { textContent: phrase`Token that looks` });
    const slider = make(who, "input", { type: "range", min: 0, value: 0 });
    const strip = make(large, "p", { className: "strip", ariaHidden: "true" });
    const said = make(large, "output", { className: "said" });
    let shown = { tokens: [], maps: new Float32Array() };
    let current = {};

    off.onchange = () => {
      const { layer, head, heads } = current;
      const others = heads.filter((one) => one[0] !== layer || one[1] !== head);
      change({ heads: off.checked ? [...others, [layer, head]] : others });
    };
    slider.oninput = () => choose({ token: Number(slider.value) });
    canvas.onclick = ({ clientY }) => {
      const height = clientY - canvas.getBoundingClientRect().top;
      choose({ token: rowAt(height, shown.tokens.length, scroller.clientWidth) });
    };

    const mapOf = (layer, head) => {
      const size = shown.tokens.length ** 2;
      const start = (layer * HEADS + head) * size;
      return shown.maps.subarray(start, start + size);
    };

    function showSmall({ layer, head, heads }) {
      buttons.forEach((one, index) => {
        const [row, column] = [Math.floor(index / HEADS), index % HEADS];
        const chosen = row === layer && column === head;
        const isOff = heads.some((other) => other[0] === row && other[1] === column);
        one.ariaPressed = String(chosen);
        one.tabIndex = chosen ? 0 : -1;
        one.classList.toggle("is-off", isOff);
        one.ariaLabel = isOff ? phrase`layer ${row}, head ${column}, switched off` : phrase`layer ${row}, head ${column}`;
        if (shown.tokens.length) drawSmall(one.firstChild, mapOf(row, column), shown.tokens.length);
      });
    }

    function showLarge({ layer, head, heads, token }) {
      const { tokens } = shown;
      const count = tokens.length;
      const chosen = token < 0 || token >= count ? count - 1 : token;
      const map = mapOf(layer, head);
      const row = [...map.subarray(chosen * count, (chosen + 1) * count)];
      title.textContent = phrase`Layer ${layer}, head ${head}`;
      off.checked = heads.some((one) => one[0] === layer && one[1] === head);
      slider.max = Math.max(count - 1, 0);
      slider.value = chosen;
      if (!count) return; // nothing is computed yet
      drawLarge(canvas, map, tokens, chosen, scroller.clientWidth);
      slider.ariaValueText = `${chosen}: ${named(tokens[chosen])}`;
      strip.replaceChildren();
      tokens.forEach((one, index) => {
        const cell = make(strip, "span", { textContent: letter(one), className: index === chosen ? "looks" : "" });
        cell.style.setProperty("--strength", `${Math.round(100 * strength(row[index]))}%`);
      });
      const best = row.map((weight, index) => [weight, index]).sort((a, b) => b[0] - a[0]);
      const names = best.slice(0, MOST).map(([weight, index]) => `${named(tokens[index])} (${index}) ${percent(weight)}`);
      said.textContent = phrase`Token ${chosen}, ${named(tokens[chosen])}, looks at: ${names.join(", ")}`;
      canvas.ariaLabel = said.textContent;
    }

    return (state, found) => {
      const isNew = found !== shown;
      const moved = ["layer", "head", "heads"].some((name) => state[name] !== current[name]);
      shown = found;
      current = { ...state };
      if (isNew || moved) showSmall(state);
      showLarge(state);
    };
  }

  Object.assign(globalThis.playground, { buildHeads });
})();
