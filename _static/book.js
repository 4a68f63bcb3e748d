// A formula wider than the page scrolls inside its box; the keyboard must be able to reach it.
function makeScrollingFormulasFocusable() {
  for (const box of document.querySelectorAll(".math-formula")) {
    if (box.scrollWidth > box.clientWidth) {
      box.tabIndex = 0;
      box.setAttribute("role", "group");
      box.setAttribute("aria-label", "Wide formula, scrolls");
    } else {
      box.removeAttribute("tabindex");
      box.removeAttribute("role");
      box.removeAttribute("aria-label");
    }
  }
}

// A link to something inside a folded block opens the block.
function openFoldOfTarget() {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  for (let fold = target?.closest("details"); fold; fold = fold.parentElement.closest("details")) {
    fold.open = true;
  }
  target?.scrollIntoView();
}

window.addEventListener("load", () => {
  makeScrollingFormulasFocusable();
  if (location.hash) openFoldOfTarget();
});
window.addEventListener("resize", makeScrollingFormulasFocusable);
window.addEventListener("hashchange", openFoldOfTarget);
document.addEventListener("toggle", makeScrollingFormulasFocusable, true);
