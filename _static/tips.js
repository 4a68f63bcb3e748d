// A box beside a link to a term, an equation or a source shows what the link leads to, when a pointer
// rests on the link or the keyboard reaches it. Escape closes it. tippy.js draws the box; it and the
// contents (booksite/tips.py) are loaded at the first such link. A finger follows the link, as before.
"use strict";
(() => {
  const LINKS = 'a[href*="#term-"], a[href*="#equation-"], a[href*="bibliography.html#"]';
  const folder = document.currentScript.src.replace(/[^/]*$/, "tips/");
  const root = new URL(document.documentElement.dataset.content_root ?? "./", location.href).href;
  const loads = new Map();
  const known = new Map();
  globalThis.bookTips = (page, places) => known.set(page, places);

  function load(name) {
    if (!loads.has(name)) {
      const script = document.createElement("script");
      script.src = folder + name;
      loads.set(name, new Promise((done) => (script.onload = script.onerror = done)));
      document.head.append(script);
    }
    return loads.get(name);
  }

  // What the link leads to: a place of this page, or of another one.
  async function contentOf(link) {
    const page = link.href.split("#")[0].slice(root.length);
    const anchor = decodeURIComponent(link.hash.slice(1));
    const box = document.createElement("div");
    box.className = "tip";
    if (link.href.split("#")[0] === location.href.split(/[?#]/)[0]) {
      const place = document.getElementById(anchor);
      const copy = (place?.matches("dt") ? place.nextElementSibling : place)?.cloneNode(true);
      if (!copy) return undefined;
      for (const part of [copy, ...copy.querySelectorAll("[id], [tabindex], .headerlink")]) {
        if (part.matches(".headerlink")) part.remove();
        for (const name of ["id", "tabindex"]) part.removeAttribute(name);
      }
      box.append(copy);
      return box;
    }
    await load(page.replaceAll("/", "-").replace(".html", ".js"));
    const html = known.get(page)?.[anchor];
    if (!html) return undefined;
    box.innerHTML = html;
    return box;
  }

  const seen = new WeakSet();
  async function prepare(link) {
    if (seen.has(link)) return;
    seen.add(link);
    await load("popper.min.js");
    await load("tippy.umd.min.js");
    const content = await contentOf(link);
    if (!content || !globalThis.tippy) return;
    // The browser's own tip would say the same.
    link.removeAttribute("title");
    const tip = tippy(link, { content, maxWidth: "min(34rem, 92vw)", delay: [250, 0], touch: false, theme: "book" });
    if (link.matches(":hover, :focus-visible")) tip.show();
  }

  for (const kind of ["pointerover", "focusin"]) {
    document.addEventListener(kind, ({ target, pointerType }) => {
      const link = pointerType === "touch" ? undefined : target.closest?.(LINKS);
      if (link?.closest("article") && !link.matches(".headerlink")) prepare(link);
    });
  }
  document.addEventListener("keydown", ({ key }) => key === "Escape" && globalThis.tippy?.hideAll());
})();
