// Opens pages of a built site in Chromium and prints one JSON line for each fault it finds.
// Takes one JSON argument: {site, pages, chromium, modules, widths, schemes, screenshots}.
import { createServer } from "node:http";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { extname, join, normalize } from "node:path";

const settings = JSON.parse(process.argv[2]);
const require = createRequire(join(settings.modules, "x.js"));
const { chromium } = require("playwright-core");
const axePath = require.resolve("axe-core/axe.min.js");

const PAGES_AT_ONCE = 2;
const TYPES = {
  ".css": "text/css",
  ".html": "text/html; charset=utf-8",
  ".ipynb": "application/json",
  ".js": "text/javascript",
  ".json": "application/json",
  ".png": "image/png",
  ".svg": "image/svg+xml",
  ".woff2": "font/woff2",
};

async function serve() {
  const server = createServer(async (request, response) => {
    const path = normalize(decodeURIComponent(new URL(request.url, "http://site").pathname));
    try {
      const body = await readFile(join(settings.site, path));
      response.writeHead(200, { "Content-Type": TYPES[extname(path)] ?? "application/octet-stream" });
      response.end(body);
    } catch {
      response.writeHead(404).end();
    }
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return server;
}

// The next four run inside the page.

function openFolds() {
  for (const fold of document.querySelectorAll("details")) fold.open = true;
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
  const names = tooWide.slice(0, 3).map((e) => e.outerHTML.slice(0, 100).replace(/\s+/g, " "));
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

async function findViolations(colourOnly) {
  // Half the work of axe would go into the inside of figures (a labelled image's parts are not
  // read) and the visible copy of formulas (hidden from readers, in the colour of the text).
  const exclude = [["svg.book-figure > *"], [".katex-html:not(:has([style*='color']))"]];
  const options = { resultTypes: ["violations"] };
  if (colourOnly) options.runOnly = ["color-contrast", "link-in-text-block"];
  const { violations } = await axe.run({ exclude }, options);
  return violations.flatMap((rule) =>
    rule.nodes.map((node) => {
      const why = [...node.any, ...node.all, ...node.none].map((check) => check.message)[0] ?? "";
      const html = node.html.slice(0, 120).replace(/\s+/g, " ");
      return `${rule.id}: ${node.target.join(" ")} (${why}) ${html}`;
    }),
  );
}

async function checkPage(page, origin, name, mode) {
  const faults = [];
  const add = (kind, detail) => faults.push({ page: name, mode, kind, detail });
  const onConsole = (message) => {
    // The failed request itself is reported below, with its address.
    if (message.type() === "error" && !message.text().startsWith("Failed to load resource")) {
      add("console", message.text());
    }
  };
  const onError = (error) => add("console", error.message);
  const onResponse = (response) => {
    if (response.status() >= 400) add("request", `${response.status()} for ${response.url()}`);
  };
  const onRequest = (request) => {
    const url = new URL(request.url());
    if (url.origin !== origin && !["data:", "blob:"].includes(url.protocol)) {
      add("external", `asks another host: ${request.url()}`);
    }
  };
  const onFailed = (request) => {
    if (request.url().startsWith(origin)) {
      add("request", `${request.failure()?.errorText} for ${request.url()}`);
    }
  };
  const listeners = {
    console: onConsole,
    pageerror: onError,
    request: onRequest,
    requestfailed: onFailed,
    response: onResponse,
  };
  for (const [event, listener] of Object.entries(listeners)) page.on(event, listener);
  try {
    await page.goto(`${origin}/${name}`, { waitUntil: "load" });
    await page.evaluate(() => document.fonts.ready);
    if (settings.screenshots) {
      const file = `${name.replaceAll("/", "_")}-${mode.replace(" ", "-")}.png`;
      await page.screenshot({ path: join(settings.screenshots, file), fullPage: true });
    }
    await page.evaluate(openFolds);
    for (const detail of await page.evaluate(findOverflow)) add("overflow", detail);
    for (const detail of await page.evaluate(findBadFormulas)) add("formula", detail);
    await page.addScriptTag({ path: axePath });
    // The two schemes differ in colours alone: the other rules need one of them.
    const colourOnly = mode.endsWith("dark") && settings.schemes.includes("light");
    for (const detail of await page.evaluate(findViolations, colourOnly)) add("axe", detail);
  } finally {
    for (const [event, listener] of Object.entries(listeners)) page.off(event, listener);
  }
  return faults;
}

async function checkMode(browser, origin, width, scheme) {
  const context = await browser.newContext({
    viewport: { width, height: width < 600 ? 844 : 900 },
    colorScheme: scheme,
    reducedMotion: "reduce",
    serviceWorkers: "block",
  });
  await context.route(
    (url) => url.origin !== origin,
    (route) => route.abort(),
  );
  const page = await context.newPage();
  for (const name of settings.pages) {
    for (const fault of await checkPage(page, origin, name, `${width} ${scheme}`)) {
      console.log(JSON.stringify(fault));
    }
  }
  await context.close();
}

const server = await serve();
const origin = `http://127.0.0.1:${server.address().port}`;
const browser = await chromium.launch({
  executablePath: settings.chromium,
  args: [
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-gpu",
    "--disable-quic",
    "--disable-sync",
    "--no-first-run",
    "--no-sandbox",
  ],
});
try {
  const modes = settings.widths.flatMap((width) => settings.schemes.map((scheme) => [width, scheme]));
  const workers = Array.from({ length: PAGES_AT_ONCE }, async () => {
    while (modes.length) await checkMode(browser, origin, ...modes.shift());
  });
  await Promise.all(workers);
} finally {
  await browser.close();
  server.close();
}
