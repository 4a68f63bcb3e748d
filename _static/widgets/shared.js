// What all interactive figures share: drawing in SVG text, controls, and the loading of a figure's
// own script when its place comes near the window. A classic script, since a page opened from disk
// may not load modules. Without a document (in the tests) only the arithmetic and drawing exist.
"use strict";
(() => {
  // What readers see in words is tagged; another language has a dictionary in the place of this.
  const phrase = globalThis.bookPhrase ?? String.raw;
  // The names of the figures' colours, in their order; _static/book.css says what they are.
  const CYCLE = ["blue", "orange", "green", "red", "purple", "grey"];

  // The page's colour for a name of the palette, or the n-th of it.
  function colour(name) {
    const key = typeof name === "number" ? CYCLE[name % CYCLE.length] : name;
    return `var(--figure-${key})`;
  }

  function escape(text) {
    return String(text).replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/"/g, "&quot;");
  }

  // Words in which d_k is a letter with its index. In a drawing the letters after it rise again.
  const INDEXED = /\b([A-Za-z])_([A-Za-z0-9])\b/g;
  const inDrawing = (words) =>
    escape(words).replace(INDEXED, '$1<tspan dy="0.25em" font-size="0.85em">$2</tspan><tspan dy="-0.2125em">\u200b</tspan>');
  const inLine = (words) => escape(words).replace(INDEXED, "<i>$1</i><sub>$2</sub>");

  // A number for people: fixed digits, a true minus sign, no "−0".
  function number(value, digits = 2) {
    const text = Math.abs(value).toFixed(digits);
    return value < 0 && Number(text) !== 0 ? `−${text}` : text;
  }

  // Three significant digits or the whole number: 0.1, 6.28, 62,832, 1.2 × 10⁻⁸.
  function significant(value) {
    const size = Math.abs(value);
    if (size === 0) return "0";
    const sign = value < 0 ? "−" : "";
    if (size >= 1e7 || size < 1e-4) {
      const [digits, power] = size.toExponential(1).split("e");
      const raised = [...power.replace("+", "")].map((c) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[c] ?? "⁻").join("");
      return `${sign}${digits} × 10${raised}`;
    }
    const decimals = Math.max(0, 2 - Math.floor(Math.log10(size)));
    const [whole, part] = size.toFixed(decimals).split(".");
    const grouped = whole.replace(/\B(?=(\d{3})+$)/g, ",");
    const kept = part?.replace(/0+$/, "");
    return sign + (kept ? `${grouped}.${kept}` : grouped);
  }

  function tag(name, attributes, content = "") {
    const written = Object.entries(attributes)
      .filter(([, value]) => value !== undefined)
      .map(([key, value]) => {
        const plain = typeof value === "number" ? Math.round(value * 100) / 100 : value;
        return ` ${key}="${escape(plain)}"`;
      });
    return `<${name}${written.join("")}>${content}</${name}>`;
  }

  function text(x, y, words, attributes = {}) {
    return tag("text", { x, y, "text-anchor": "middle", ...attributes }, inDrawing(words));
  }

  function path(points, attributes) {
    const corners = points.map(([x, y]) => `${x.toFixed(1)} ${y.toFixed(1)}`);
    return tag("path", { d: `M${corners.join("L")}`, fill: "none", ...attributes });
  }

  function arrow([x0, y0], [x1, y1], stroke, width = 3) {
    const length = Math.hypot(x1 - x0, y1 - y0);
    if (length < 1) return "";
    const [a, b] = [(x1 - x0) / length, (y1 - y0) / length];
    const head = Math.min(length, 4 * width);
    const [x, y] = [x1 - head * a, y1 - head * b];
    const half = 0.4 * head;
    const tip = [[x1, y1], [x - half * b, y + half * a], [x + half * b, y - half * a]];
    return (
      path([[x0, y0], [x, y]], { stroke, "stroke-width": width }) +
      tag("path", { d: `M${tip.map((p) => p.map((c) => c.toFixed(1)).join(" ")).join("L")}Z`, fill: stroke })
    );
  }

  // Axes of a panel: functions x and y from numbers to places, and the drawing of lines and ticks.
  // `log: "y"` (or "x", "xy") makes an axis logarithmic; ticks are [value, words] or values.
  function axes({ width, height, x, y, xTicks, yTicks, xLabel, yLabel = "", log = "" }) {
    // A phone shows a panel of 300 with letters of 22, and a wide one with letters of 17.
    const box = { left: 46, right: width - 12, top: 40, bottom: height - 50 };
    const scale = (range, from, to, logarithmic) => {
      const measure = logarithmic ? Math.log : (value) => value;
      const [low, high] = range.map(measure);
      return (value) => from + ((measure(value) - low) / (high - low)) * (to - from);
    };
    const across = scale(x, box.left, box.right, log.includes("x"));
    const up = scale(y, box.bottom, box.top, log.includes("y"));
    const named = (tick) => (Array.isArray(tick) ? tick : [tick, String(tick).replace("-", "−")]);
    const faint = { stroke: "currentColor", "stroke-opacity": 0.2 };
    let drawing = "";
    for (const [value, words] of xTicks.map(named)) {
      drawing += path([[across(value), box.top], [across(value), box.bottom]], faint);
      drawing += text(across(value), box.bottom + 20, words);
    }
    for (const [value, words] of yTicks.map(named)) {
      drawing += path([[box.left, up(value)], [box.right, up(value)]], faint);
      drawing += text(box.left - 6, up(value) + 5, words, { "text-anchor": "end" });
    }
    const corner = [[box.left, box.top], [box.left, box.bottom], [box.right, box.bottom]];
    drawing += path(corner, { stroke: "currentColor" });
    drawing += text((box.left + box.right) / 2, height - 6, xLabel);
    drawing += text(4, 16, yLabel, { "text-anchor": "start" });
    return { x: across, y: up, box, drawing };
  }

  // A part of a drawing that moves a control: a reader may drag it, or move it by keys.
  function handle(name, drawing) {
    return tag("g", { class: "handle", "data-handle": name }, drawing);
  }

  // One picture of a figure; `label` says in a sentence what it shows now.
  function panel(width, height, label, drawing) {
    const attributes = { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label };
    return tag("svg", { class: "book-panel", ...attributes }, drawing);
  }

  const widgets = {
    kit: { arrow, axes, colour, handle, inLine, number, panel, path, phrase, significant, tag, text },
    define(name, widget) {
      widgets[name] = widget;
      if (globalThis.document) mountAll(name);
    },
    initial(name) {
      return Object.fromEntries(widgets[name].controls.map((control) => [control.name, control.value]));
    },
    picture(name, state = widgets.initial(name)) {
      return widgets[name].draw(state, widgets[name].compute(state), true).join("");
    },
  };
  globalThis.bookWidgets = widgets;
  if (!globalThis.document) return;

  const folder = document.currentScript.src.replace(/[^/]*$/, "");
  let count = 0;

  function element(name, attributes = {}, ...children) {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    made.append(...children);
    return made;
  }

  // Words for readers, with their symbols.
  function worded(name, words, attributes) {
    const made = element(name, attributes);
    made.innerHTML = inLine(words);
    return made;
  }

  // A slider over whole steps, or over the listed `values`; returns {element, set}. `limit` says how
  // far it goes in a state.
  function slider(control, id, changed) {
    const { name, label, values, min = 0, max = values?.length - 1, step = 1 } = control;
    const show = control.show ?? ((value) => String(value).replace("-", "−"));
    const input = element("input", { type: "range", id, name, min, max, step });
    const output = element("output", { for: id });
    const set = (value, state) => {
      if (control.limit) input.max = control.limit(state);
      input.value = values ? values.indexOf(value) : value;
      output.value = show(values ? value : Number(input.value));
      input.setAttribute("aria-valuetext", output.value);
    };
    input.addEventListener("input", () => changed(values ? values[input.value] : Number(input.value)));
    const words = worded("label", label, { for: id });
    return { element: element("div", { class: "control" }, words, input, output), set };
  }

  function choice(control, id, changed) {
    const set = (value) => {
      for (const input of box.querySelectorAll("input")) input.checked = input.value === String(value);
    };
    const box = element("fieldset", { class: "control" }, worded("legend", control.label));
    for (const [value, words] of control.options) {
      const input = element("input", { type: "radio", name: id, value });
      input.addEventListener("change", () => changed(value));
      box.append(element("label", {}, input, " ", worded("span", words)));
    }
    return { element: box, set };
  }

  // A button that moves one control to and fro by itself, until it is pressed again. It goes in whole
  // steps, so that what is shown beside the drawing is what was computed. It waits out of sight, and
  // while the reader holds something.
  function player(control, speed, current, moved, live) {
    const button = element("button", { type: "button", class: "play" }, phrase`Play`);
    const { values, min = 0, max = values?.length - 1, step = 1 } = control;
    const place = (value) => (values ? values.indexOf(value) : value);
    let held = false;
    let direction = 1;
    let next;
    const waits = () => {
      const { top, bottom } = button.closest("[data-widget]").getBoundingClientRect();
      return held || bottom <= 0 || top >= innerHeight;
    };
    const frame = (now) => {
      if (next === undefined || !button.isConnected) return;
      if (now >= next) {
        next = now + 1000 / speed;
        if (!waits()) {
          const wished = place(current()) + direction * step;
          const near = Math.min(max, Math.max(min, wished));
          const kept = place(moved(values ? values[near] : near));
          if (Math.abs(kept - wished) > 1e-9) direction = -direction;
        }
      }
      requestAnimationFrame(frame);
    };
    button.addEventListener("click", () => {
      const start = next === undefined;
      next = start ? performance.now() : undefined;
      button.textContent = start ? phrase`Pause` : phrase`Play`;
      button.toggleAttribute("data-playing", start);
      live.setAttribute("aria-live", start ? "off" : "polite");
      if (start) requestAnimationFrame(frame);
    });
    addEventListener("pointerdown", ({ target }) => (held = button.closest("[data-widget]")?.contains(target)));
    for (const end of ["pointerup", "pointercancel"]) addEventListener(end, () => (held = false));
    return button;
  }

  // Lets readers drag the handles of a drawing, or move them by the arrow keys, as a slider does. The
  // drawing is made anew at each step, so what was held is held by its name.
  function dragging(panels, widget, state, update) {
    const control = (name) => widget.controls.find((candidate) => candidate.name === name);
    const inRange = ({ min, max }, value) => Math.min(max, Math.max(min, value));
    const nameAt = (target) => target.closest?.("[data-handle]")?.dataset.handle;
    const point = (svg, { clientX, clientY }) => {
      const { x, y } = new DOMPoint(clientX, clientY).matrixTransform(svg.getScreenCTM().inverse());
      return [x, y];
    };
    // A finger that moves to the side need not hit a handle: it takes the one that is nearest to it.
    const nearest = (event) => {
      const svg = event.target.closest("svg");
      const far = (name) => Math.abs(widget.drag(state, name, point(svg, event)) - state[name]);
      const names = [...(svg?.querySelectorAll("[data-handle]") ?? [])].map((part) => part.dataset.handle);
      return names.sort((a, b) => far(a) - far(b))[0];
    };
    let held;
    let undecided; // where a finger came down beside the handles: it may want to scroll the page

    const focus = () => panels.querySelector(`[data-handle="${held}"]`).focus({ preventScroll: true });
    panels.addEventListener("pointerdown", (event) => {
      const hit = nameAt(event.target);
      held = hit ?? (event.pointerType === "touch" ? nearest(event) : undefined);
      undecided = held && !hit ? [event.clientX, event.clientY] : undefined;
      if (!held) return;
      event.preventDefault();
      panels.setPointerCapture(event.pointerId);
      if (hit) focus();
    });
    // On a handle a finger moves the handle, and nothing else.
    panels.addEventListener("touchstart", (event) => nameAt(event.target) && event.preventDefault(), { passive: false });
    panels.addEventListener("pointermove", (event) => {
      if (!held) return;
      if (undecided) {
        const [x, y] = undecided;
        if (Math.abs(event.clientY - y) > Math.abs(event.clientX - x)) held = undefined;
        else focus();
        undecided = undefined;
        if (!held) return;
      }
      const svg = panels.querySelector(`[data-handle="${held}"]`).closest("svg");
      const value = inRange(control(held), widget.drag(state, held, point(svg, event)));
      if (value !== state[held]) update(held, value);
    });
    for (const end of ["pointerup", "pointercancel"]) panels.addEventListener(end, () => (held = undefined));
    panels.addEventListener("keydown", (event) => {
      const name = nameAt(event.target);
      if (!name) return;
      const { min, max, step = 1 } = control(name);
      const steps = { ArrowRight: step, ArrowUp: step, ArrowLeft: -step, ArrowDown: -step, Home: min - max, End: max - min };
      if (!(event.key in steps)) return;
      event.preventDefault();
      update(name, inRange(control(name), state[name] + steps[event.key]));
    });

    // Called after each drawing.
    return (focused) => {
      for (const part of panels.querySelectorAll("[data-handle]")) {
        const name = part.dataset.handle;
        const { label, min, max } = control(name);
        const said = { role: "slider", tabindex: 0, "aria-label": label, "aria-valuemin": min, "aria-valuemax": max };
        for (const [key, value] of Object.entries({ ...said, "aria-valuenow": state[name] })) part.setAttribute(key, value);
        // A picture holds nothing that can be reached, a group does. A finger that moves up or down beside
        // the handles scrolls the page; browsers ask this of the whole drawing only.
        part.closest("svg").setAttribute("role", "group");
        part.closest("svg").style.touchAction = "pan-y";
        if (name === focused) part.focus({ preventScroll: true });
      }
    };
  }

  // The state of a figure, with what the address of the page says of it: ?rotation.m=3&rotation.n=8.
  function fromAddress(name) {
    const state = widgets.initial(name);
    const asked = new URLSearchParams(location.search);
    for (const { name: part, options, values, min, max, step = 1 } of widgets[name].controls) {
      const text = asked.get(`${name}.${part}`);
      const listed = options?.map(([value]) => value) ?? values;
      const onStep = Number((min + step * Math.round((Number(text) - min) / step)).toFixed(9));
      const value = listed ? listed.find((one) => String(one) === text) : onStep;
      if (text && (listed ? value !== undefined : value >= min && value <= max)) state[part] = value;
    }
    widgets[name].link?.(state, state);
    return state;
  }

  // Puts what differs from the first state into the address, so that a link shows the same.
  function toAddress(name, state) {
    const address = new URL(location);
    for (const { name: part, value } of widgets[name].controls) {
      const own = `${name}.${part}`;
      if (state[part] === undefined || state[part] === value) address.searchParams.delete(own);
      else address.searchParams.set(own, state[part]);
    }
    address.hash = `interactive-${name}`;
    history.replaceState(history.state, "", address);
  }

  // A question about the first state. The drawing shows what it asks for when it is answered; a link
  // to another state, and paper, do not ask.
  function question({ ask, answers, right, because }, result, answered) {
    const box = element("div", { class: "guess" });
    const verdict = element("p", { class: "verdict", "aria-live": "polite" });
    const buttons = answers.map((answer, place) => {
      const button = worded("button", answer, { type: "button", "aria-pressed": "false" });
      button.addEventListener("click", () => {
        for (const other of buttons) other.setAttribute("aria-pressed", String(other === button));
        const good = place === right(result);
        box.dataset.result = good ? "right" : "wrong";
        verdict.innerHTML = `${good ? phrase`Right.` : phrase`No.`} ${inLine(because(result))}`;
        answered();
      });
      return button;
    });
    box.append(worded("p", phrase`Guess first: ${ask}`), ...buttons, verdict);
    addEventListener("beforeprint", answered);
    return box;
  }

  function mount(container) {
    const name = container.dataset.widget;
    const widget = widgets[name];
    const state = fromAddress(name);
    const asks = widget.guess && !location.search.includes(`${name}.`);
    let known = !asks;
    const abouts = container.querySelectorAll(".about");
    const id = `interactive-${++count}`;
    const panels = element("div", { class: "panels" });
    const list = element("dl");
    const numbers = element("div", { class: "numbers", "aria-live": "polite" }, list);
    const controls = {};
    let writing;
    const drawn = widget.drag && dragging(panels, widget, state, update);

    function update(changedName, value) {
      const previous = { ...state };
      state[changedName] = value;
      widget.link?.(state, previous, changedName);
      show();
      keep();
      return state[changedName];
    }

    // Browsers refuse many changes of the address in a short time.
    function keep() {
      clearTimeout(writing);
      writing = setTimeout(toAddress, 300, name, state);
    }

    function show() {
      for (const control of widget.controls) {
        const { set, element: place } = controls[control.name];
        set(state[control.name], state);
        // What changes nothing in this state is not offered.
        place.hidden = control.used ? !control.used(state) : false;
      }
      const result = widget.compute(state);
      const focused = panels.contains(document.activeElement) && document.activeElement.dataset.handle;
      panels.innerHTML = widget.draw(state, result, known).join("");
      for (const part of [...abouts, numbers, box]) part.hidden = !known;
      drawn?.(focused);
      list.innerHTML = widget
        .numbers(state, result)
        .map(([key, label, shown]) => `<div><dt>${inLine(label)}</dt><dd data-value="${key}">${escape(shown)}</dd></div>`)
        .join("");
    }

    const box = element("div", { class: "controls" });
    const buttons = element("div");
    widget.controls.forEach((control, place) => {
      const make = control.options ? choice : slider;
      const made = make(control, `${id}-${place}`, (value) => update(control.name, value));
      controls[control.name] = made;
      box.append(made.element);
    });
    if (widget.play) {
      const [moving, speed] = widget.play;
      const control = widget.controls.find((candidate) => candidate.name === moving);
      buttons.append(player(control, speed, () => state[moving], (value) => update(moving, value), numbers), " ");
    }
    const reset = element("button", { type: "button" }, phrase`Reset`);
    reset.addEventListener("click", () => {
      buttons.querySelector("[data-playing]")?.click();
      Object.assign(state, widgets.initial(name));
      show();
      keep();
    });
    buttons.append(reset);
    box.append(buttons);
    container.querySelector(".panels")?.remove();
    container.setAttribute("role", "group");
    container.setAttribute("aria-label", phrase`Interactive figure: ${widget.title}`);
    // The drawing and its numbers first: a phone then shows them together with what moves them.
    container.append(panels, numbers, box);
    const answered = () => {
      known = true;
      show();
    };
    if (asks) container.prepend(question(widget.guess, widget.compute(state), answered));
    show();
    container.dataset.ready = "";
  }

  function mountAll(name) {
    for (const container of document.querySelectorAll(`.interactive[data-widget="${name}"]:not([data-ready])`)) {
      mount(container);
    }
  }

  const asked = new Set();
  const near = new IntersectionObserver(
    (entries) => {
      for (const { target, isIntersecting } of entries) {
        if (!isIntersecting) continue;
        near.unobserve(target);
        const name = target.dataset.widget;
        if (widgets[name]) mountAll(name);
        else if (!asked.has(name)) document.head.append(element("script", { src: `${folder}${name}.js` }));
        asked.add(name);
      }
    },
    { rootMargin: "600px" },
  );
  for (const container of document.querySelectorAll(".interactive")) near.observe(container);
})();
