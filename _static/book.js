// What is wider than the page scrolls inside its box; the keyboard must be able to reach it, and need
// not stop at the others. A box is looked at when the browser has laid it out, and again when its size
// or the letters change: to ask for the width of one far below would make the browser lay it out now.
function letKeyboardIntoWideBoxes() {
  const phrase = globalThis.bookPhrase ?? String.raw;
  const boxes = document.querySelectorAll(
    ".math-formula, .figure-box, pre, .cell_output > .output, .pst-scrollable-table-container",
  );
  const observer = new ResizeObserver((entries) => {
    // All is read before anything is written: a change between two readings would lay the page out anew.
    const seen = entries.map(({ target }) => target);
    const wide = seen.map((box) => box.scrollWidth > box.clientWidth);
    seen.forEach((box, place) => {
      const what = box.matches(".figure-box") ? phrase`Wide figure, scrolls` : box.matches(".math-formula") ? phrase`Wide formula, scrolls` : "";
      if (wide[place]) {
        box.tabIndex = 0;
        if (what) box.setAttribute("role", "group");
        if (what) box.setAttribute("aria-label", what);
      } else {
        box.removeAttribute("tabindex");
        for (const name of what ? ["role", "aria-label"] : []) box.removeAttribute(name);
      }
    });
  });
  const look = () => {
    observer.disconnect();
    for (const box of boxes) observer.observe(box);
  };
  document.fonts.addEventListener("loadingdone", look);
  look();
}

// What the style sheet leaves out until it comes near the window is laid out part by part while nothing else
// is to be done, so that places in the page are known before a reader jumps to one. The letters come first:
// each face that came later would lay out anew what is laid out already. Then a part is left out again with the
// size that it has, which the browser remembers: else each frame would draw all that was laid out before it.
async function layOutTheRest() {
  const { allFaces = "" } = document.querySelector("script[data-all-faces]")?.dataset ?? {};
  const faces = allFaces.split(", ").filter(Boolean);
  const letters = [...new Set(document.querySelector(".bd-article")?.textContent)].join(""); // a face has a file for Greek
  await Promise.allSettled(faces.map((face) => document.fonts.load(face, letters)));
  const LEFT_OUT = ".bd-article :is(section > section, .figure-box, .citation, .glossary dd, dl.py, #symbols tbody tr)";
  // Those that stand in no other one, of the page or of a part of it.
  const outermost = (box) => [...box.querySelectorAll(LEFT_OUT)].filter((part) => {
    const around = part.parentElement.closest(LEFT_OUT);
    return around === null || around === box;
  });
  const parts = outermost(document);
  // What is in a large section that no one has seen waits for its own turn.
  const isHidden = (section) => section.lastElementChild?.checkVisibility?.({ contentVisibilityAuto: true }) === false;
  const isFar = (part) => {
    const { top, bottom } = part.getBoundingClientRect();
    return bottom < -2 * innerHeight || top > 3 * innerHeight;
  };
  // A reader who presses a key meanwhile is not kept waiting, on a slow machine either.
  const BRIEF = 8; // milliseconds of a step
  const LARGE = 200; // elements that are laid out at once
  const BEGINNING = 40; // to begin with a part costs as much as so many elements
  let known = [];
  const step = () => {
    if ("whole" in document.documentElement.dataset) return;
    const start = performance.now();
    for (const part of known) delete part.dataset.laid;
    known = [];
    while (parts.length && performance.now() - start < BRIEF) {
      for (let load = 0; parts.length && load < LARGE; ) {
        const [part] = parts;
        const elements = part.getElementsByTagName("*").length;
        if (load && load + elements > LARGE) break;
        load += elements + BEGINNING;
        parts.shift();
        part.dataset.laid = "";
        const inner = outermost(part);
        if (elements > LARGE && part.matches("section") && isHidden(part)) {
          part.dataset.parts = "";
          parts.unshift(...part.children);
        } else if (elements > LARGE && inner.length) {
          parts.unshift(...inner);
        } else {
          for (const one of part.querySelectorAll(LEFT_OUT)) one.dataset.laid = "";
          known.push(part);
        }
      }
      document.body.getBoundingClientRect();
    }
    known = known.filter(isFar);
    // The browser remembers sizes when it draws.
    if (parts.length || known.length) requestAnimationFrame(() => requestIdleCallback(step));
  };
  globalThis.requestIdleCallback?.(step);
}

// What has come near the window stays laid out, and may from then on be drawn beyond its edges.
document.addEventListener("contentvisibilityautostatechange", ({ target, skipped }) => {
  if (!skipped) target.dataset.laid = "";
}, true);

// A link to something inside a folded block opens the block.
function openFoldOfTarget() {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  for (let fold = target?.closest("details"); fold; fold = fold.parentElement.closest("details")) {
    fold.open = true;
  }
  // What was not laid out above it would move it later.
  document.documentElement.dataset.whole = "";
  target?.scrollIntoView();
}

// The theme gives the sidebar the place that it had on the page before, where the current page's entry
// may be out of sight.
function showCurrentEntry() {
  const entry = document.querySelector(".bd-docs-nav a.current");
  const box = entry?.closest(".bd-sidebar-primary");
  if (!box?.checkVisibility()) return;
  const place = entry.getBoundingClientRect().top - box.getBoundingClientRect().top;
  if (place < 0 || place > 0.8 * box.clientHeight) box.scrollTop += place - box.clientHeight / 2;
}

window.addEventListener("load", () => {
  letKeyboardIntoWideBoxes();
  showCurrentEntry();
  // On a narrow screen the sidebar opens only now.
  document.querySelector(".primary-toggle")?.addEventListener("click", showCurrentEntry);
  document.querySelector(".bd-search-container input")?.focus();
  if (location.hash) openFoldOfTarget();
  else layOutTheRest();
});
window.addEventListener("hashchange", openFoldOfTarget);
