// Before the page is drawn: light or dark, as the reader chose, or else as the machine is set; the
// language that the reader chose; whether a place far down is needed at once; and the fonts that the page
// needs first.
(() => {
  const { dataset } = document.documentElement;
  let kept = {};
  try {
    kept = localStorage;
  } catch {
    // A strict browser keeps nothing: the machine's setting holds.
  }
  const mode = kept.mode || "auto";
  const machine = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
  dataset.mode = mode;
  dataset.theme = mode === "auto" ? machine : mode;
  // Who follows a link to a place in the page, or comes back to one, finds it where it was.
  const [visit] = performance.getEntriesByType("navigation");
  if (location.hash || (visit && visit.type !== "navigate")) dataset.whole = "";
  // From the opening page, and from no other, the reader is led to the language that they last chose.
  const { translated } = document.currentScript.dataset;
  if (translated && kept.language && kept.language !== "en") {
    location.replace(translated + location.search + location.hash);
  }
  document.addEventListener("click", ({ target }) => {
    const link = target.closest("a[hreflang]");
    if (!link) return;
    kept.language = link.hreflang;
    // Sections and English terms have the same names in both languages: the reader stays where they read.
    const above = [...document.querySelectorAll("main :is(section, dt)[id]")].filter(
      ({ id }) => !/^term-\d+$/.test(id),
    ).filter((part) => part.getBoundingClientRect().top < innerHeight / 3);
    link.hash = location.hash || (scrollY > 0 && above.length ? `#${above.at(-1).id}` : "");
  });
  // Letters that come late would move the text. From a disk they come at once, and may not be asked for.
  const faces = (document.currentScript.dataset.faces || "").split(" ").filter(Boolean);
  for (const face of location.protocol.startsWith("http") ? faces : []) {
    const link = document.createElement("link");
    const href = new URL(`fonts/${face}.woff2`, document.currentScript.src).href;
    Object.assign(link, { rel: "preload", as: "font", type: "font/woff2", crossOrigin: "anonymous", href });
    document.head.append(link);
  }
})();
