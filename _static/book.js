// What is wider than the page scrolls inside its box; the keyboard must be able to reach it, and need
// not stop at the others. A box is looked at when the browser has laid it out, and again when its size
// or the letters change: to ask for the width of one far below would make the browser lay it out now.
function letKeyboardIntoWideBoxes() {
  const boxes = document.querySelectorAll(
    ".math-formula, .figure-box, pre, .cell_output > .output, .pst-scrollable-table-container",
  );
  const observer = new ResizeObserver((entries) => {
    // All is read before anything is written: a change between two readings would lay the page out anew.
    const seen = entries.map(({ target }) => target);
    const wide = seen.map((box) => box.scrollWidth > box.clientWidth);
    seen.forEach((box, place) => {
      const what = box.matches(".figure-box") ? "figure" : box.matches(".math-formula") ? "formula" : "";
      if (wide[place]) {
        box.tabIndex = 0;
        if (what) box.setAttribute("role", "group");
        if (what) box.setAttribute("aria-label", `Wide ${what}, scrolls`);
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

// A link to something inside a folded block opens the block.
function openFoldOfTarget() {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  for (let fold = target?.closest("details"); fold; fold = fold.parentElement.closest("details")) {
    fold.open = true;
  }
  target?.scrollIntoView();
}

// Pointing at a query, or touching it, lights all queries of the page up; so do keys, values, scores.
function lightRoles() {
  const page = document.documentElement;
  const ROLES = ".is-q, .is-k, .is-v, .is-s";
  const light = ({ target, clientX, clientY }) => {
    // Inside a formula boxes lie over one another.
    const covered = target.closest?.(".katex-html") ? document.elementsFromPoint(clientX, clientY) : [];
    const found = target.closest?.(ROLES) ?? covered.find((element) => element.matches(ROLES));
    const role = found?.getAttribute("class").match(/\bis-([qkvs])\b/)[1];
    if (page.dataset.lit === role) return;
    if (role) page.dataset.lit = role;
    else delete page.dataset.lit;
  };
  document.addEventListener("pointerover", (event) => event.pointerType === "mouse" && light(event));
  document.addEventListener("click", light);
}

window.addEventListener("load", () => {
  lightRoles();
  letKeyboardIntoWideBoxes();
  document.querySelector(".bd-search-container input")?.focus();
  if (location.hash) openFoldOfTarget();
});
window.addEventListener("hashchange", openFoldOfTarget);

// What a symbol or a word means, beside it: under the mouse, at a tap, or when a link has the focus. One
// script holds all meanings of the site; it is loaded when a reader first asks.
(() => {
  const folder = document.currentScript.src.replace(/[^/]*$/, "");
  const TERM = 'a[href*="#term-"]';
  const MARK = ".eqno a";
  const LOW = 120;
  let loading;
  let box;
  let owner;
  let timer;

  function load() {
    loading ??= new Promise((resolve, reject) => {
      const script = document.createElement("script");
      script.src = `${folder}meanings.js`;
      script.addEventListener("load", resolve);
      script.addEventListener("error", reject);
      document.head.append(script);
    });
    return loading;
  }

  const keyOf = (element) => [...element.classList].find((name) => /^sy\d+$/.test(name));

  // The symbol or term under the pointer. Inside a formula, boxes lie over one another: the bar of
  // a fraction covers what stands below it.
  function askedAt({ target, clientX, clientY }) {
    const term = target.closest(TERM);
    if (term || !target.closest(".katex-html")) return term;
    return document.elementsFromPoint(clientX, clientY).find(keyOf);
  }

  // The keyboard reaches the links beside a formula: they stand for all its symbols.
  async function entries(element) {
    await load();
    const { symbols, terms } = globalThis.bookMeanings;
    if (element.matches(TERM)) return [terms[decodeURIComponent(element.hash.slice(1))]];
    const inside = element.matches(MARK) ? element.closest(".math").querySelectorAll(".katex-html *") : [element];
    return [...new Set([...inside].map(keyOf))].map((key) => symbols[key]);
  }

  // Above the element, or below it where there is no room; what is too long for both scrolls on the
  // larger side. The rest of a low formula stays in view.
  function place() {
    const space = 8;
    const width = document.documentElement.clientWidth;
    box.style.maxHeight = "";
    const { offsetWidth, offsetHeight } = box;
    const symbol = owner.getBoundingClientRect();
    const formula = owner.closest(".katex")?.getBoundingClientRect();
    const kept = formula && formula.height < LOW ? formula : symbol;
    const middle = symbol.left + symbol.width / 2 - offsetWidth / 2;
    box.style.left = `${Math.max(space, Math.min(middle, width - offsetWidth - space))}px`;
    const above = kept.top - 2 * space;
    const below = innerHeight - kept.bottom - 2 * space;
    const up = (!owner.matches(MARK) && offsetHeight < above) || (offsetHeight > below && above > below);
    const room = up ? above : below;
    if (offsetHeight > room) box.style.maxHeight = `${room}px`;
    box.style.top = `${up ? kept.top - Math.min(offsetHeight, room) - space : kept.bottom + space}px`;
  }

  function hide() {
    clearTimeout(timer);
    if (!owner) return;
    owner.removeAttribute("aria-describedby");
    delete owner.dataset.asked;
    owner = undefined;
    if (box) box.hidden = true;
  }

  async function show(element) {
    hide();
    owner = element;
    const texts = (await entries(element)).filter(Boolean);
    if (owner !== element) return;
    if (!texts.length) {
      owner = undefined;
      return;
    }
    if (!box) {
      box = document.createElement("div");
      box.id = "meaning";
      box.setAttribute("role", "tooltip");
      (document.querySelector("main") ?? document.body).append(box);
    }
    box.innerHTML = texts.map((text) => `<div>${text}</div>`).join("");
    box.scrollTop = 0;
    box.hidden = false;
    element.dataset.asked = "";
    if (element.matches("a")) element.setAttribute("aria-describedby", box.id);
    place();
  }

  function soon(action, milliseconds) {
    clearTimeout(timer);
    timer = setTimeout(action, milliseconds);
  }

  // The pointer may cross the gap to the box, and rest on it.
  let under;
  document.addEventListener("pointermove", (event) => {
    if (event.pointerType !== "mouse") return;
    const element = box?.contains(event.target) ? owner : askedAt(event);
    if (element === under) return;
    under = element;
    if (element && element === owner) clearTimeout(timer);
    else if (element) soon(() => show(element), 200);
    else soon(hide, 300);
  });
  let pressedInBox = false;
  document.addEventListener("pointerdown", ({ target }) => {
    pressedInBox = Boolean(box?.contains(target));
  });
  document.addEventListener("click", (event) => {
    const element = askedAt(event);
    if (element && !element.matches("a")) show(element);
    else if (!box?.contains(event.target)) hide();
  });
  document.addEventListener("focusin", (event) => {
    if (event.target.matches(`${TERM}, ${MARK}`) && event.target.matches(":focus-visible")) show(event.target);
  });
  document.addEventListener("focusout", () => pressedInBox || hide());
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") hide();
  });
  // The browser scrolls to what gets the focus, after the focus.
  const follow = () => owner && box && !box.hidden && place();
  document.addEventListener("scroll", follow, { capture: true, passive: true });
})();
