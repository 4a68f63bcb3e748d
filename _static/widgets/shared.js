// What all interactive figures share: drawing in SVG text, controls, and the loading of a figure's
// own script when its place comes near the window. A classic script, since a page opened from disk
// may not load modules. Without a document (in the tests) only the arithmetic and drawing exist.
"use strict";
(() => {
  // The palette of bookkit.figures.
  const COLOURS = {
    blue: "#1f6fb2",
    orange: "#c06000",
    green: "#00795a",
    red: "#9f1d2d",
    purple: "#5a2d82",
    grey: "#6b7280",
  };
  const CYCLE = Object.keys(COLOURS);

  // The page's colour for a name of the palette, or the n-th of it.
  function colour(name) {
    const key = typeof name === "number" ? CYCLE[name % CYCLE.length] : name;
    return `var(--figure-${key}, ${COLOURS[key]})`;
  }

  function escape(text) {
    return String(text).replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/"/g, "&quot;");
  }

  // Words in which d_k is a letter with its index. In a drawing the letters after it rise again.
  const INDEXED = /\b([A-Za-z])_([A-Za-z0-9])\b/g;
  const inDrawing = (words) =>
    escape(words).replace(INDEXED, '$1<tspan dy="0.25em" font-size="0.8em">$2</tspan><tspan dy="-0.2em">\u200b</tspan>');
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
    const box = { left: 46, right: width - 12, top: 34, bottom: height - 44 };
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
      drawing += text(across(value), box.bottom + 18, words);
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
    kit: { arrow, axes, colour, handle, inLine, number, panel, path, significant, tag, text },
    define(name, widget) {
      widgets[name] = widget;
      if (globalThis.document) mountAll(name);
    },
    initial(name) {
      return Object.fromEntries(widgets[name].controls.map((control) => [control.name, control.value]));
    },
    picture(name, state = widgets.initial(name)) {
      return widgets[name].draw(state, widgets[name].compute(state)).join("");
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
  // steps, so that what is shown beside the drawing is what was computed; out of sight it waits.
  function player(control, speed, current, moved, live) {
    const button = element("button", { type: "button", class: "play" }, "Play");
    const size = control.step ?? 1;
    let direction = 1;
    let next;
    const inSight = () => {
      const { top, bottom } = button.closest("[data-widget]").getBoundingClientRect();
      return bottom > 0 && top < innerHeight;
    };
    const frame = (now) => {
      if (next === undefined || !button.isConnected) return;
      if (now >= next) {
        next = now + 1000 / speed;
        if (inSight()) {
          const wished = current() + direction * size;
          const kept = moved(Math.min(control.max, Math.max(control.min, wished)));
          if (Math.abs(kept - wished) > 1e-9) direction = -direction;
        }
      }
      requestAnimationFrame(frame);
    };
    button.addEventListener("click", () => {
      const start = next === undefined;
      next = start ? performance.now() : undefined;
      button.textContent = start ? "Pause" : "Play";
      live.setAttribute("aria-live", start ? "off" : "polite");
      if (start) requestAnimationFrame(frame);
    });
    return button;
  }

  // Lets readers drag the handles of a drawing, or move them by the arrow keys, as a slider does. The
  // drawing is made anew at each step, so what was held is held by its name.
  function dragging(panels, widget, state, update) {
    const control = (name) => widget.controls.find((candidate) => candidate.name === name);
    const inRange = ({ min, max }, value) => Math.min(max, Math.max(min, value));
    const nameAt = (target) => target.closest?.("[data-handle]")?.dataset.handle;
    let held;

    panels.addEventListener("pointerdown", (event) => {
      held = nameAt(event.target);
      if (!held) return;
      event.preventDefault();
      panels.setPointerCapture(event.pointerId);
      panels.querySelector(`[data-handle="${held}"]`).focus({ preventScroll: true });
    });
    panels.addEventListener("pointermove", ({ clientX, clientY }) => {
      if (!held) return;
      const svg = panels.querySelector(`[data-handle="${held}"]`).closest("svg");
      const { x, y } = new DOMPoint(clientX, clientY).matrixTransform(svg.getScreenCTM().inverse());
      const value = inRange(control(held), widget.drag(state, held, [x, y]));
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
        // A picture holds nothing that can be reached, a group does.
        part.closest("svg").setAttribute("role", "group");
        if (name === focused) part.focus({ preventScroll: true });
      }
    };
  }

  function mount(container) {
    const name = container.dataset.widget;
    const widget = widgets[name];
    const state = widgets.initial(name);
    const id = `interactive-${++count}`;
    const panels = element("div", { class: "panels" });
    const list = element("dl");
    const numbers = element("div", { class: "numbers", "aria-live": "polite" }, list);
    const controls = {};
    const drawn = widget.drag && dragging(panels, widget, state, update);

    function update(changedName, value) {
      const previous = { ...state };
      state[changedName] = value;
      widget.link?.(state, previous, changedName);
      show();
      return state[changedName];
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
      panels.innerHTML = widget.draw(state, result).join("");
      drawn?.(focused);
      list.innerHTML = widget
        .numbers(state, result)
        .map(([key, label, shown]) => `<div><dt>${inLine(label)}</dt><dd data-value="${key}">${escape(shown)}</dd></div>`)
        .join("");
    }

    const box = element("div", { class: "controls" });
    widget.controls.forEach((control, place) => {
      const make = control.options ? choice : slider;
      const made = make(control, `${id}-${place}`, (value) => update(control.name, value));
      controls[control.name] = made;
      box.append(made.element);
    });
    if (widget.play) {
      const [moving, speed] = widget.play;
      const control = widget.controls.find((candidate) => candidate.name === moving);
      box.append(player(control, speed, () => state[moving], (value) => update(moving, value), numbers));
    }
    container.querySelector(".panels")?.remove();
    for (const about of container.querySelectorAll("[hidden]")) about.hidden = false;
    container.setAttribute("role", "group");
    container.setAttribute("aria-label", `Interactive figure: ${widget.title}`);
    // The drawing and its numbers first: a phone then shows them together with what moves them.
    container.append(panels, numbers, box);
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
