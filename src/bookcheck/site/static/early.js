// Before the page is drawn: light or dark, as the reader chose, or else as the machine is set.
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
})();
