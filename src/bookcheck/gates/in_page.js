// What the browser run looks at inside a page. Each function returns what is wrong, in words.
// Read by browser.py, evaluated in the page under the name `inspect`.
globalThis.inspect = (() => {
  const TEXT_CONTRAST = 4.5;
  const LARGE_TEXT_CONTRAST = 3;
  const FIGURE_CONTRAST = 3;
  const SMALLEST_LETTER = 10.5; // pixels, on a phone
  const LARGEST_MARKER = 0.08; // of the figure's width
  const MARKS = "path, use, text, rect, circle, ellipse, line, polyline, polygon, image";

  const short = (element, length = 100) =>
    element.outerHTML.slice(0, length).replace(/\s+/g, " ");
  const isVisible = (element) => element.checkVisibility({ visibilityProperty: true });

  // Colours: {r, g, b, a}, the first three from 0 to 1.

  function parseColour(text) {
    if (!text || text === "none" || text === "transparent") return null;
    const numbers = text.match(/-?[\d.]+(?:e-?\d+)?%?/g)?.map((number) => parseFloat(number));
    if (text.startsWith("rgb")) {
      const [r, g, b, a = 1] = numbers;
      return { r: r / 255, g: g / 255, b: b / 255, a };
    }
    if (text.startsWith("color(srgb")) {
      const [r, g, b, a = 1] = numbers;
      return { r, g, b, a };
    }
    throw new Error(`a colour that the inspection cannot read: ${text}`);
  }

  function over(top, below) {
    const mix = (key) => top.a * top[key] + (1 - top.a) * below[key];
    return { r: mix("r"), g: mix("g"), b: mix("b"), a: 1 };
  }

  function luminance({ r, g, b }) {
    const linear = [r, g, b].map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2];
  }

  function contrast(one, other) {
    const [low, high] = [luminance(one), luminance(other)].sort((a, b) => a - b);
    return (high + 0.05) / (low + 0.05);
  }

  const hex = ({ r, g, b }) =>
    `#${[r, g, b].map((c) => Math.round(255 * c).toString(16).padStart(2, "0")).join("")}`;

  // What lies behind an element's content: the colours of its ancestors and its own, one on another.
  function backgroundOf(element, known = new Map()) {
    if (!element) return { r: 1, g: 1, b: 1, a: 1 };
    if (!known.has(element)) {
      const own = parseColour(getComputedStyle(element).backgroundColor);
      if (own?.a === 1) known.set(element, own);
      else {
        const below = backgroundOf(element.parentElement, known);
        known.set(element, own ? over(own, below) : below);
      }
    }
    return known.get(element);
  }

  function opacityOf(element, top, known = new Map()) {
    if (!element || element === top) return 1;
    if (!known.has(element)) {
      const own = parseFloat(getComputedStyle(element).opacity);
      known.set(element, own * opacityOf(element.parentElement, top, known));
    }
    return known.get(element);
  }

  // Opens all folds, lays out what is out of sight, and lets nothing move: a fold that is fading in
  // has faint text. What a page says without scripts was read as elements, and would be hidden now
  // that the inspection runs.
  function prepare() {
    const still = new CSSStyleSheet();
    still.replaceSync(
      "*, *::before, *::after { animation: none !important; transition: none !important } " +
        "* { content-visibility: visible !important }",
    );
    document.adoptedStyleSheets.push(still);
    for (const fold of document.querySelectorAll("details")) fold.open = true;
    for (const words of document.body.querySelectorAll("noscript:has(*)")) {
      words.replaceWith(...words.childNodes);
    }
  }

  // A reader who chose nothing gets what the machine is set to, also when that changes.
  async function findOtherScheme(scheme) {
    await new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
    const { mode, theme, content_root: root } = document.documentElement.dataset;
    // Without scripts a page of the book is light.
    if (mode ? mode !== "auto" : root !== undefined) return [];
    if (theme === undefined || theme === scheme) return [];
    return [`the machine is set to ${scheme} and the page is ${theme}`];
  }

  // Interactive figures load when they come near the window.
  async function wakeWidgets(patience) {
    const faults = [];
    for (const place of document.querySelectorAll(".interactive[data-widget], .quiz")) {
      place.scrollIntoView();
      const end = performance.now() + patience;
      while (!("ready" in place.dataset) && performance.now() < end) {
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
      if (!("ready" in place.dataset)) {
        faults.push(`not ready ${patience} ms after it came into view: ${short(place)}`);
      }
    }
    scrollTo(0, 0);
    return faults;
  }

  function findOverflow() {
    const width = document.documentElement.clientWidth;
    if (document.documentElement.scrollWidth <= width) return [];
    const scrolls = (element) =>
      ["auto", "scroll", "hidden", "clip"].includes(getComputedStyle(element).overflowX);
    const tooWide = [...document.body.querySelectorAll("*")].filter((element) => {
      const box = element.getBoundingClientRect();
      const textSticksOut = !element.children.length && box.left + element.scrollWidth > width;
      if (box.right <= width && !textSticksOut) return false;
      for (let up = element.parentElement; up && up !== document.body; up = up.parentElement) {
        if (scrolls(up)) return false;
      }
      return true;
    });
    const names = tooWide.slice(0, 3).map((element) => short(element));
    return [
      `the page is ${document.documentElement.scrollWidth} px wide in a window of ${width}: ` +
        (names.join(" | ") || "no single element found"),
    ];
  }

  function findBadFormulas() {
    const faults = [];
    for (const error of document.querySelectorAll(".katex-error, mjx-merror, merror")) {
      faults.push(`KaTeX shows an error: ${error.textContent.slice(0, 80)}`);
    }
    for (const formula of document.querySelectorAll(".math")) {
      if (!formula.querySelector(".katex-html")) {
        faults.push(`not rendered: ${formula.textContent.trim().slice(0, 80)}`);
      }
    }
    const rawTex = /\$\$|\\[([]|\\[A-Za-z]{2,}|(?<![\w$])\$[^\s$][^$]*\$(?!\w)/;
    const skipped = "code, pre, script, style, noscript, textarea, .katex";
    const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (texts.nextNode()) {
      const text = texts.currentNode;
      if (rawTex.test(text.data) && !text.parentElement.closest(skipped)) {
        faults.push(`raw TeX in the text: ${text.data.trim().slice(0, 80)}`);
      }
    }
    return faults;
  }

  function findHeadingFaults() {
    const headings = [...document.querySelectorAll("h1, h2, h3, h4, h5, h6")].filter(isVisible);
    const titles = headings.filter((heading) => heading.tagName === "H1").length;
    const faults = titles === 1 ? [] : [`a page has one h1, this one has ${titles}`];
    let before = 0;
    for (const heading of headings) {
      const level = Number(heading.tagName[1]);
      if (level > before + 1) {
        const found = before ? `h${before}` : "nothing";
        faults.push(`h${level} comes after ${found}: ${heading.textContent.trim().slice(0, 60)}`);
      }
      before = level;
    }
    return faults;
  }

  function textsIn(root, skipped) {
    const accept = (node) => {
      if (node.nodeType === Node.ELEMENT_NODE) {
        return node.matches(skipped) ? NodeFilter.FILTER_REJECT : NodeFilter.FILTER_SKIP;
      }
      return /[^\s\u200b]/.test(node.data) ? NodeFilter.FILTER_ACCEPT : NodeFilter.FILTER_REJECT;
    };
    const walker = document.createTreeWalker(
      root,
      NodeFilter.SHOW_ELEMENT | NodeFilter.SHOW_TEXT,
      accept,
    );
    const texts = [];
    while (walker.nextNode()) texts.push(walker.currentNode);
    return texts;
  }

  // Letters against what is behind them. Each pair of colours is reported once.
  function findFaintText() {
    const [backgrounds, opacities, judged, faults] = [new Map(), new Map(), new Set(), []];
    const manyParts = ".katex-html, pre";
    const skipped = "svg, script, style, noscript, :disabled, [aria-disabled=true]";

    function look(element) {
      const style = getComputedStyle(element);
      const size = parseFloat(style.fontSize);
      return {
        colour: style.color,
        visible: style.visibility === "visible",
        large: size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700),
        opacity: opacityOf(element, null, opacities),
        below: backgroundOf(element, backgrounds),
      };
    }

    function judge(text) {
      const element = text.parentElement;
      const { colour, visible, large, opacity, below } = look(element);
      const key = `${colour} ${hex(below)} ${opacity} ${large}`;
      if (!visible || opacity === 0 || judged.has(key) || !isVisible(element)) return;
      judged.add(key);
      const ink = parseColour(colour) ?? { ...below, a: 0 };
      const shown = over({ ...ink, a: ink.a * opacity }, below);
      const reached = contrast(shown, below);
      if (reached < (large ? LARGE_TEXT_CONTRAST : TEXT_CONTRAST)) {
        faults.push(
          `"${text.data.trim().slice(0, 20)}" in ${hex(shown)} on ${hex(below)} ` +
            `has contrast ${reached.toFixed(2)}: ${short(element)}`,
        );
      }
    }

    for (const text of textsIn(document.body, `${skipped}, ${manyParts}`)) judge(text);

    // Formulas and code have thousands of parts of a few kinds: one of each kind is looked at. Two
    // parts are of one kind if they have the same classes and styles, and so have those around them.
    const kinds = new Map();
    const kindOf = (words) => {
      if (!kinds.has(words)) kinds.set(words, { number: kinds.size, seen: false });
      return kinds.get(words);
    };
    for (const root of document.querySelectorAll(manyParts)) {
      const { colour, visible, large, opacity, below } = look(root);
      const rootWords = `${root.tagName} ${colour} ${hex(below)} ${opacity} ${large}`;
      if (!visible || opacity === 0 || !isVisible(root)) continue;
      const known = new Map([[root, kindOf(rootWords)]]);
      const kindOfPart = (part) => {
        if (!known.has(part)) {
          const around = kindOfPart(part.parentElement).number;
          const style = part.getAttribute("style") ?? "";
          known.set(part, kindOf(`${around} ${part.tagName} ${part.className} ${style}`));
        }
        return known.get(part);
      };
      for (const text of textsIn(root, skipped)) {
        const kind = kindOfPart(text.parentElement);
        if (!kind.seen) judge(text);
        kind.seen = true;
      }
    }
    return faults;
  }

  // A link among words is told from them by a line, a shade or the weight of its letters, or else by
  // its colour. One of each kind is looked at.
  function findLinksLikeText() {
    const [backgrounds, seen, faults] = [new Map(), new Set(), []];
    const kindOf = sorter(({ tagName, attributes }) =>
      [tagName, attributes.class?.value, attributes.style?.value].join(),
    );
    for (const link of document.querySelectorAll("main a[href]")) {
      const around = link.parentElement;
      const words = [...around.childNodes].some(
        (node) => node.nodeType === Node.TEXT_NODE && /\p{L}/u.test(node.data),
      );
      if (!words || seen.has(kindOf(link)) || !link.textContent.trim() || !isVisible(link)) continue;
      seen.add(kindOf(link));
      const [own, other] = [getComputedStyle(link), getComputedStyle(around)];
      const below = backgroundOf(around, backgrounds);
      const marked =
        own.textDecorationLine.includes("underline") ||
        (own.borderBottomStyle !== "none" && parseFloat(own.borderBottomWidth) > 0) ||
        own.fontWeight !== other.fontWeight ||
        hex(backgroundOf(link, backgrounds)) !== hex(below);
      const shown = [own, other].map(({ color }) => over(parseColour(color) ?? { ...below, a: 0 }, below));
      const reached = contrast(...shown);
      if (!marked && reached < 3) {
        faults.push(
          `a link in ${hex(shown[0])} among words in ${hex(shown[1])} ` +
            `has contrast ${reached.toFixed(2)} to them and no line: ${short(link)}`,
        );
      }
    }
    return faults;
  }

  // A property of a mark; what <use> points to may set its own.
  function paintOf(mark, property) {
    if (mark.tagName === "use") {
      const target = document.getElementById(mark.href.baseVal.slice(1));
      const sets = target && (target.style[property] || target.hasAttribute(property));
      if (sets) return getComputedStyle(target)[property];
    }
    return getComputedStyle(mark)[property];
  }

  // A hatched area has the colour of its lines, which lie on top of its ground.
  function colourOfPattern(address, opacity) {
    const pattern = document.getElementById(address.match(/#([^"')]+)/)?.[1]);
    const parts = [...(pattern?.querySelectorAll(MARKS) ?? [])];
    const colours = parts.flatMap((part) => ["fill", "stroke"].map((k) => colourOf(part, k, opacity)));
    const seen = colours.filter((colour) => colour?.a);
    if (!seen.length) throw new Error(`a paint that the inspection cannot read: ${address}`);
    return seen.at(-1);
  }

  function colourOf(mark, kind, opacity) {
    const paint = paintOf(mark, kind);
    if (paint.startsWith("url(")) return colourOfPattern(paint, opacity);
    const colour = parseColour(paint);
    if (!colour || (kind === "stroke" && !parseFloat(paintOf(mark, "stroke-width")))) return null;
    return { ...colour, a: colour.a * parseFloat(paintOf(mark, `${kind}-opacity`)) * opacity };
  }

  // The lines behind a drawing help to read it and are meant to be faint.
  function isGridLine(mark, stroke) {
    if (mark.tagName !== "path" || stroke.a > 0.35) return false;
    const corners = mark.getAttribute("d").match(/-?[\d.]+/g)?.map(Number) ?? [];
    const [x0, y0, x1, y1] = corners;
    return corners.length === 4 && (x0 === x1 || y0 === y1);
  }

  function isLetter(mark) {
    if (mark.tagName === "text") return true;
    if (mark.tagName !== "use") return false;
    // Matplotlib writes letters as outlines on a grid of 64 units.
    const target = document.getElementById(mark.href.baseVal.slice(1));
    return target?.getAttribute("transform") === "scale(0.015625)";
  }

  // The size of the line that a letter stands in, in pixels of the window; an exponent is smaller.
  function sizeOfLine(mark) {
    const line = mark.tagName === "text" ? mark : mark.parentElement;
    const { a, b } = line.getScreenCTM();
    // Matplotlib draws letters of size 100 and shrinks the whole line.
    const drawn = mark.tagName === "text" ? parseFloat(getComputedStyle(mark).fontSize) : 100;
    return drawn * Math.hypot(a, b);
  }

  function findSmallLetters() {
    const faults = [];
    for (const figure of document.querySelectorAll("svg.book-figure, svg.book-panel")) {
      if (!isVisible(figure)) continue;
      const letters = [...figure.querySelectorAll("text, use")].filter(isLetter);
      const smallest = Math.min(...letters.map(sizeOfLine));
      if (smallest < SMALLEST_LETTER) {
        const label = figure.getAttribute("aria-label")?.slice(0, 60);
        faults.push(
          `letters are ${smallest.toFixed(1)} px high, ${SMALLEST_LETTER} are needed, in "${label}"`,
        );
      }
    }
    return faults;
  }

  // Places beside which a mark's colour stands, in the coordinates of the window: both sides of a
  // line at five places, or the middle of anything else.
  function placesOf(mark, box, alongLine) {
    if (alongLine && mark.getTotalLength?.()) {
      const [length, matrix] = [mark.getTotalLength(), mark.getScreenCTM()];
      const at = (share) => mark.getPointAtLength(share * length).matrixTransform(matrix);
      return [0.1, 0.3, 0.5, 0.7, 0.9].map((share) => {
        const [here, next] = [at(share), at(share + 0.02)];
        const [x, y] = [next.x - here.x, next.y - here.y];
        const step = 3 / (Math.hypot(x, y) || 1);
        return [1, -1].map((side) => new DOMPoint(here.x - side * step * y, here.y + side * step * x));
      });
    }
    return [[new DOMPoint((box.left + box.right) / 2, (box.top + box.bottom) / 2)]];
  }

  function covers(area, point) {
    const { left, right, top, bottom } = area.box;
    if (point.x < left || point.x > right || point.y < top || point.y > bottom) return false;
    return area.marker || area.mark.isPointInFill(point.matrixTransform(area.inverse));
  }

  // Lines, markers, letters and solid areas of the palette in figures, against what is below them.
  // Cells of a heat map show their number by their colour, and shades are there to be faint.
  function findFaintMarks() {
    const faults = new Map();
    for (const figure of document.querySelectorAll("svg.book-figure, svg.book-panel")) {
      if (!isVisible(figure)) continue;
      const [page, opacities, areas] = [backgroundOf(figure), new Map(), []];
      const largest = LARGEST_MARKER * figure.getBoundingClientRect().width;
      for (const mark of figure.querySelectorAll(MARKS)) {
        if (mark.closest("defs, clipPath, mask, symbol, pattern") || !isVisible(mark)) continue;
        const box = mark.getBoundingClientRect();
        const opacity = opacityOf(mark, figure, opacities);
        const letter = isLetter(mark);
        const stroke = mark.tagName === "image" ? null : colourOf(mark, "stroke", opacity);
        const fill = mark.tagName === "image" ? null : colourOf(mark, "fill", opacity);
        const own = mark.getAttribute("style") + mark.getAttribute("fill");
        const mustShow =
          letter ||
          (stroke && !isGridLine(mark, stroke)) ||
          (mark.tagName === "use" && Math.max(box.width, box.height) <= largest) ||
          (fill?.a > 0.9 && /--figure-|currentColor|url\(/.test(own));
        if (mustShow && (stroke || fill)) {
          const againstBelow = (place) => {
            let below = page;
            for (const area of areas) {
              if ((letter || !area.marker) && covers(area, place)) below = over(area.colour, below);
            }
            const paints = [stroke, fill].filter(Boolean);
            const best = Math.max(...paints.map((paint) => contrast(over(paint, below), below)));
            return { best, below };
          };
          const byContrast = (one, other) => one.best - other.best;
          // A line at the edge of an area is seen from the other side; one that crosses a small
          // dark thing is seen in most of its length.
          const places = placesOf(mark, box, stroke && !fill).map(
            (sides) => sides.map(againstBelow).sort(byContrast).at(-1),
          );
          const { best, below } = places.sort(byContrast)[Math.floor(places.length / 2)];
          if (best < FIGURE_CONTRAST - 0.005) {
            const kind = letter ? "letters" : stroke && !fill ? "a line" : "a mark";
            const shown = hex(over(stroke ?? fill, below));
            const words =
              `${kind} ${shown} on ${hex(below)}: contrast ${best.toFixed(2)}, ` +
              `${FIGURE_CONTRAST} is needed, in "${figure.getAttribute("aria-label")?.slice(0, 60)}"`;
            faults.set(words, (faults.get(words) ?? 0) + 1);
          }
        }
        // What others stand on. Markers may lie on markers; letters in one are read against it.
        if (fill?.a && !letter && box.width && box.height) {
          const inverse = mark.getScreenCTM().inverse();
          areas.push({ mark, box, inverse, colour: fill, marker: mark.tagName === "use" });
        }
      }
    }
    return [...faults].map(([words, count]) => `${words} (${count} times)`);
  }

  // Numbers of elements that are alike: `own` tells what of an element counts, and what is around
  // it counts as well, up to the body: above it stands what the whole page is, dark for example.
  function sorter(own) {
    const known = new Map();
    return function kindOf(element) {
      if (!element || element === document.body) return "";
      if (!known.has(element)) {
        const words = `${kindOf(element.parentElement)} ${own(element)}`;
        // A short name for the words, the same in every load of the page.
        let name = 0;
        for (let place = 0; place < words.length; place++) {
          name = (Math.imul(name, 31) + words.charCodeAt(place)) | 0;
        }
        known.set(element, name);
      }
      return known.get(element);
    };
  }

  const STOPS =
    "a[href], area[href], button, input, select, textarea, summary, iframe, [tabindex], [contenteditable]";

  // What scrolls sideways inside the page must let the keyboard in.
  function findUnreachableBoxes() {
    return [...document.querySelectorAll("main *:not(.katex *, svg *)")]
      .filter((box) => {
        if (box.scrollWidth <= box.clientWidth + 1 || box.clientWidth === 0) return false;
        if (!["auto", "scroll"].includes(getComputedStyle(box).overflowX)) return false;
        const ways = [box, ...box.querySelectorAll(STOPS)];
        return isVisible(box) && ways.every((way) => way.tabIndex < 0);
      })
      .map((box) => `scrolls, and the keyboard cannot reach it: ${short(box)}`);
  }

  // What is wider than its box must show at the box's edge that there is more: a shade.
  function findCutWithoutSign() {
    return [...document.querySelectorAll("main *:not(.katex *, svg *)")]
      .filter((box) => {
        if (box.scrollWidth <= box.clientWidth + 1 || box.clientWidth < 20) return false;
        const { overflowX, backgroundImage } = getComputedStyle(box);
        return overflowX !== "visible" && !backgroundImage.includes("gradient") && isVisible(box);
      })
      .map((box) => `is cut, with no sign at its edge: ${short(box)}`);
  }

  // On a wide screen a line of code is seen whole, unless a reader has to open it first.
  function findCutCode() {
    return [...document.querySelectorAll(".cell_input pre, .cell_output pre")]
      .filter((code) => code.scrollWidth > code.clientWidth + 1 && !code.closest("details") && isVisible(code))
      .map((code) => {
        const lines = code.textContent.split("\n").sort((a, b) => b.length - a.length);
        return `a line of ${lines[0].length} columns is cut: ${lines[0].trim().slice(0, 60)}`;
      });
  }

  function lookOf(element) {
    const style = getComputedStyle(element);
    const { backgroundColor, borderColor, boxShadow, textDecorationLine } = style;
    const outline = style.outlineStyle !== "none" && parseFloat(style.outlineWidth) > 0;
    const colour = outline && style.outlineStyle !== "auto" ? parseColour(style.outlineColor) : null;
    const changes = [backgroundColor, borderColor, boxShadow, textDecorationLine].join();
    return { outline, colour, changes };
  }

  // Whether something around a stop, a card for example, looks different while the stop has the focus.
  function seenAround(stop) {
    const around = [];
    for (let up = stop.parentElement; up && around.length < 4; up = up.parentElement) around.push(up);
    const looks = () => around.map((element) => JSON.stringify(lookOf(element)));
    stop.blur();
    const before = looks();
    stop.focus({ preventScroll: true });
    return looks().some((look, place) => look !== before[place] && isVisible(around[place]));
  }

  const isOutside = ({ left, right, width, height }) =>
    right <= 0 || left >= innerWidth || width * height < 2;

  // Every stop of the Tab key must be seen when it has the focus. A page has hundreds of a few kinds:
  // where each is gets asked of all, how it looks with the focus of one of each kind.
  function findUnseenFocus() {
    const [faults, backgrounds, seen] = [[], new Map(), new Set()];
    // An attribute that changes by the script (open, aria-expanded) has its rules in the theme.
    const names = ["class", "style", "role", "type", "aria-expanded", "aria-current", "open"];
    const kindOf = sorter((element) =>
      [element.tagName, ...names.map((name) => element.getAttribute(name))].join(";"),
    );
    const stops = [...document.querySelectorAll(STOPS)].filter(
      (stop) => stop.tabIndex >= 0 && !stop.disabled && !stop.closest("[inert]") && isVisible(stop),
    );
    const chosen = stops.filter((stop) => {
      const kind = `${kindOf(stop)} ${stop.id}`;
      const alike = seen.has(kind) && !isOutside(stop.getBoundingClientRect());
      seen.add(kind);
      return !alike;
    });
    for (const stop of chosen) {
      const before = lookOf(stop);
      stop.focus({ preventScroll: true });
      if (document.activeElement !== stop) continue;
      const after = lookOf(stop);
      const outside = () => isOutside(stop.getBoundingClientRect());
      if (outside()) stop.scrollIntoView({ inline: "nearest" });
      let fault = "";
      if (outside()) fault = "has the focus out of sight";
      else if (!after.outline && after.changes === before.changes) {
        fault = "looks the same with the focus";
      } else if (after.colour && after.changes === before.changes) {
        const below = backgroundOf(stop.parentElement, backgrounds);
        const reached = contrast(over(after.colour, below), below);
        if (reached < 3) fault = `its outline has contrast ${reached.toFixed(2)}`;
      }
      if (fault && !seenAround(stop)) faults.push(`${fault}: ${short(stop)}`);
    }
    document.activeElement?.blur();
    scrollTo(0, 0);
    return faults;
  }

  // Without JavaScript nothing may ask for it, unless a page says so.
  function findDeadControls() {
    const controls =
      "button, [role=button], input, select, textarea, [onclick], a[href^='javascript:']";
    const ways = [...document.querySelectorAll("nav a[href]")];
    const lost = ways.length && !ways.some(isVisible);
    const faults = lost ? ["no link of the navigation is visible without JavaScript"] : [];
    const dead = [...document.querySelectorAll(controls)]
      .filter((control) => {
        if (!isVisible(control) || control.closest("form[action]")) return false;
        // A choice shows what belongs to it by style rules alone.
        return !["radio", "checkbox", "hidden"].includes(control.type);
      })
      .map((control) => `does nothing without JavaScript: ${short(control)}`);
    return [...faults, ...dead];
  }

  // How many letters a reader sees, apart from what JavaScript draws.
  function countLetters() {
    const main = document.querySelector("main");
    const letters = (element) => element.innerText.replace(/\s+/g, "").length;
    const drawn = [...main.querySelectorAll(".interactive, .quiz, noscript")].filter(isVisible);
    return letters(main) - drawn.reduce((sum, element) => sum + letters(element), 0);
  }

  function countBytes() {
    const entries = [
      ...performance.getEntriesByType("navigation"),
      ...performance.getEntriesByType("resource"),
    ];
    return entries.reduce((sum, entry) => sum + entry.decodedBodySize, 0);
  }

  // Takes away what has been looked at already and what axe would look at for minutes: the parts of
  // formulas, of which the words that are read out stay, the inside of figures (labelled images),
  // the colours of code. Nothing that axe has a rule for is touched but the width of formulas: which
  // of them scroll has been seen before, by `findUnreachableBoxes`. Without `frame` the contents at
  // the side go too: they are the same on every page, and axe has looked at them on some.
  function lighten(frame) {
    if (!frame) document.querySelector(".bd-sidebar-primary")?.replaceChildren();
    const stops = "a, button, input, [tabindex], [role], [title], [aria-label]";
    for (const formula of document.querySelectorAll(`.katex:not(:has(${stops}))`)) {
      formula.textContent = (formula.querySelector("math") ?? formula).textContent;
      Object.assign(formula.style, { whiteSpace: "normal", overflowWrap: "anywhere" });
    }
    for (const figure of document.querySelectorAll(`svg.book-figure:not(:has(${stops}))`)) {
      figure.replaceChildren();
    }
    for (const code of document.querySelectorAll(`pre:not(:has(${stops}))`)) {
      code.textContent = code.textContent;
    }
  }

  const COLOUR_RULES = ["color-contrast", "link-in-text-block"];

  async function violationsOf(context, options) {
    const { violations } = await axe.run(context, {
      ...options,
      resultTypes: ["violations"],
      preload: false, // style sheets are fetched for a rule that is off
    });
    return violations.flatMap((rule) =>
      rule.nodes.map((node) => {
        const why = [...node.any, ...node.all, ...node.none].map((check) => check.message)[0] ?? "";
        const html = node.html.slice(0, 120).replace(/\s+/g, " ");
        return `${rule.id}: ${node.target.join(" ")} (${why}) ${html}`;
      }),
    );
  }

  // The parts of the article (of the page, if it has none) that are visible, but for the inside of
  // formulas, figures and code, by names that are the same in every load and mode: where they stand.
  function namedParts() {
    const article = document.querySelector("article.bd-article") ?? document.body;
    const look = (element) => `${element.tagName} ${element.id} ${element.getAttribute("class")}`;
    const nameOf = sorter((element) => {
      let place = 0;
      for (let one = element.previousElementSibling; one; one = one.previousElementSibling) {
        if (look(one) === look(element)) place++;
      }
      return `${look(element)} ${place}`;
    });
    const parts = [...article.querySelectorAll("*:not(.katex *, svg *, pre *)")].filter(isVisible);
    return new Map(parts.map((part) => [String(nameOf(part)), part]));
  }

  // In one word: a list of thousands goes to Python and back number by number.
  const visibleParts = () => [...namedParts().keys()].join(" ");

  // Axe's rules for some parts, by their names, or for the whole page. Those about colours are a
  // second opinion, for one text of each kind: the book's own checks of contrast look at all of them,
  // on every page in every mode.
  async function findViolations(names, colourRules) {
    const structure = { rules: Object.fromEntries(COLOUR_RULES.map((id) => [id, { enabled: false }])) };
    if (names) {
      const parts = namedParts();
      const fresh = new Set(names.split(" ").map((name) => parts.get(name)).filter(Boolean));
      const roots = [...fresh].filter((element) => !fresh.has(element.parentElement));
      return roots.length ? violationsOf({ include: roots }, structure) : [];
    }
    const found = await violationsOf(document, structure);
    if (!colourRules) return found;
    const kindOfLook = sorter(({ tagName, attributes }) =>
      [tagName, attributes.class?.value, attributes.style?.value].join(),
    );
    const hasText = ({ childNodes }) =>
      [...childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.data.trim());
    const texts = [...document.querySelectorAll("body *")].filter((e) => hasText(e) && isVisible(e));
    const one = new Map(texts.map((element) => [kindOfLook(element), element]));
    const colours = { runOnly: { type: "rule", values: COLOUR_RULES } };
    return one.size ? [...found, ...(await violationsOf({ include: [...one.values()] }, colours))] : found;
  }

  return {
    countBytes,
    countLetters,
    findBadFormulas,
    findCutCode,
    findCutWithoutSign,
    findDeadControls,
    findFaintMarks,
    findFaintText,
    findHeadingFaults,
    findLinksLikeText,
    findOtherScheme,
    findOverflow,
    findSmallLetters,
    findUnreachableBoxes,
    findUnseenFocus,
    findViolations,
    lighten,
    prepare,
    visibleParts,
    wakeWidgets,
  };
})();
