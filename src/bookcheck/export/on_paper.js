// What happens inside a page that is as wide as the paper's text, under the name `paper`.
globalThis.paper = (() => {
  // Wide lines become smaller as long as they can be read; code that is wider still wraps. All is
  // measured before anything changes: each change would lay out the whole book again.
  function shrinkWhatIsWide() {
    const SMALLEST = 0.6;
    const SMALLEST_CODE = 0.75;
    const A_HAIR = 0.005;
    const all = (selector) => [...document.querySelectorAll(selector)];
    const codes = all("pre");
    for (const code of codes) code.style.whiteSpace = "pre";
    const measured = [
      ...all(".math-formula").map((box) => [box, box.clientWidth / box.scrollWidth]),
      ...codes.map((box) => {
        const margin = parseFloat(getComputedStyle(box).paddingRight);
        return [box, (box.clientWidth - margin) / box.scrollWidth];
      }),
      ...all("table").map((table) => [
        table,
        table.parentElement.clientWidth / table.getBoundingClientRect().width,
      ]),
    ];
    for (const [element, ratio] of measured.filter(([, ratio]) => ratio < 1)) {
      if (element.localName === "pre" && ratio < SMALLEST_CODE) element.style.whiteSpace = "";
      else element.style.zoom = Math.max(ratio, SMALLEST) - A_HAIR;
    }
  }

  // Kept together, a long code cell would leave much of a page empty.
  function letLongCodeBreak() {
    const LONG = 380;
    const cells = [...document.querySelectorAll(".cell_input")];
    for (const cell of cells.filter((cell) => cell.clientHeight > LONG)) {
      for (const box of [cell, ...cell.querySelectorAll("*")]) box.style.breakInside = "auto";
    }
  }

  function findWhatIsCut(selector) {
    const text = document.querySelector(selector);
    const faults = [];
    const body = text.getBoundingClientRect();
    const add = (element, what) => {
      const start = element.textContent.trim().slice(0, 60).replace(/\s+/g, " ");
      const chapter = element.closest(".print-chapter")?.id ?? "the document";
      faults.push(`${chapter}: <${element.localName}> ${what}: ${start}`);
    };
    // Formulas are measured as a whole: their parts have boxes larger than what is seen of them.
    const enter = (element) => {
      if (element.matches(".katex-mathml, [clip-path], defs")) return NodeFilter.FILTER_REJECT;
      return element.parentElement.matches(".katex-html > .base, .katex-display .base")
        ? NodeFilter.FILTER_REJECT
        : NodeFilter.FILTER_ACCEPT;
    };
    const elements = document.createTreeWalker(text, NodeFilter.SHOW_ELEMENT, enter);
    while (elements.nextNode()) {
      const element = elements.currentNode;
      // A group's box counts what a clip path of its parts hides.
      if (element.localName === "g") continue;
      const box = element.getBoundingClientRect();
      if (box.width <= 1 || box.height === 0) continue;
      const out = Math.max(box.right - body.right, body.left - box.left);
      if (out > 1) add(element, `sticks out of the text by ${Math.round(out)} px`);
      const hides = getComputedStyle(element).overflowX !== "visible";
      const hidden = element.scrollWidth - element.clientWidth;
      if (hides && element.clientWidth && hidden > 1) add(element, `hides ${hidden} px of its width`);
    }
    return faults;
  }

  function fillNumbers(numbers) {
    for (const place of document.querySelectorAll("[data-page].print-number")) {
      place.textContent = numbers[place.dataset.page] ?? "";
    }
  }

  return { fillNumbers, findWhatIsCut, letLongCodeBreak, shrinkWhatIsWide };
})();
