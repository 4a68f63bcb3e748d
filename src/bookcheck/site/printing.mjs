// Prints an HTML file as a tagged PDF and prints a JSON list of what does not fit on the paper.
// Takes one JSON argument: {document, pdf, chromium, modules}.
import { createRequire } from "node:module";
import { join } from "node:path";

const settings = JSON.parse(process.argv[2]);
const require = createRequire(join(settings.modules, "x.js"));
const { chromium } = require("playwright-core");

const LONGEST_WAIT = 300_000;

// The next two run inside the page, which is as wide as the paper's text.

// Wide lines become smaller as long as they can be read; code that is wider still wraps.
function shrinkWhatIsWide() {
  const SMALLEST = 0.6;
  const SMALLEST_CODE = 0.75;
  const A_HAIR = 0.005;
  for (const box of document.querySelectorAll(".math-formula")) {
    const ratio = box.clientWidth / box.scrollWidth;
    if (ratio < 1) box.style.fontSize = `${100 * (Math.max(ratio, SMALLEST) - A_HAIR)}%`;
  }
  for (const box of document.querySelectorAll("pre")) {
    const size = parseFloat(getComputedStyle(box).fontSize);
    box.style.whiteSpace = "pre";
    const ratio = box.clientWidth / box.scrollWidth;
    if (ratio < 1 && ratio >= SMALLEST_CODE) box.style.fontSize = `${size * (ratio - A_HAIR)}px`;
    else if (ratio < 1) box.style.whiteSpace = "";
  }
  for (const table of document.querySelectorAll("table")) {
    const ratio = table.parentElement.clientWidth / table.getBoundingClientRect().width;
    if (ratio < 1) table.style.zoom = Math.max(ratio, SMALLEST) - A_HAIR;
  }
}

function findWhatIsCut() {
  const faults = [];
  const body = document.body.getBoundingClientRect();
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
  const elements = document.createTreeWalker(document.body, NodeFilter.SHOW_ELEMENT, enter);
  while (elements.nextNode()) {
    const element = elements.currentNode;
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

const browser = await chromium.launch({
  executablePath: settings.chromium,
  args: ["--disable-gpu", "--no-sandbox", "--disable-background-networking"],
});
try {
  const page = await browser.newPage();
  page.setDefaultTimeout(LONGEST_WAIT);
  await page.emulateMedia({ media: "print", colorScheme: "light" });
  await page.goto(settings.document, { waitUntil: "load" });
  await page.evaluate(() => document.fonts.ready);
  await page.evaluate(shrinkWhatIsWide);
  const faults = await page.evaluate(findWhatIsCut);
  await page.pdf({
    path: settings.pdf,
    preferCSSPageSize: true,
    printBackground: true,
    tagged: true,
    outline: true,
  });
  console.log(JSON.stringify(faults));
} finally {
  await browser.close();
}
