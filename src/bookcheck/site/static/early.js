// Before the page is drawn: light or dark, as the reader chose, or else as the machine is set; and the
// fonts that it needs first.
(() => {
  const { dataset } = document.documentElement;
  let mode = "auto";
  try {
    mode = localStorage.getItem("mode") || mode;
  } catch {
    // A strict browser keeps nothing: the machine's setting holds.
  }
  const machine = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
  dataset.mode = mode;
  dataset.theme = mode === "auto" ? machine : mode;
  // Letters that come late would move the text. From a disk they come at once, and may not be asked for.
  const faces = ["source-serif-4", "inter", "source-code-pro"].map((name) => `${name}-latin-400-normal`);
  faces.push("inter-latin-600-normal");
  if ("formulas" in document.currentScript.dataset) faces.push("KaTeX_Main-Regular", "KaTeX_Math-Italic");
  for (const face of location.protocol.startsWith("http") ? faces : []) {
    const link = document.createElement("link");
    const href = new URL(`fonts/${face}.woff2`, document.currentScript.src).href;
    Object.assign(link, { rel: "preload", as: "font", type: "font/woff2", crossOrigin: "anonymous", href });
    document.head.append(link);
  }
})();
