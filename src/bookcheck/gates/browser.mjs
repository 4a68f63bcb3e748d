// Opens pages of a built site in Chromium and prints one JSON line for each fault it finds, one for
// each page that is done, and one with the seconds of each step.
// Takes one JSON argument: {site, pages, chromium, modules, widths, schemes, javascript, atOnce,
// screenshots, pictures}. A picture is {page, width, height, scheme, file}.
import { createServer } from "node:http";
import { readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { extname, join, normalize } from "node:path";

const settings = JSON.parse(process.argv[2]);
const require = createRequire(join(settings.modules, "x.js"));
const { chromium } = require("playwright-core");
const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");
const inspection = readFileSync(new URL("in_page.js", import.meta.url), "utf8");

const WIDGET_PATIENCE = 10_000;
const PAGE_PATIENCE = 90_000;
const PHONE = 600; // narrower windows are phones
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

const print = (record) => console.log(JSON.stringify(record));

const seconds = {};
async function timed(step, work) {
  const start = performance.now();
  try {
    return await work;
  } finally {
    seconds[step] = (seconds[step] ?? 0) + (performance.now() - start) / 1000;
  }
}

async function serve() {
  const server = createServer(async (request, response) => {
    const path = normalize(decodeURIComponent(new URL(request.url, "http://site").pathname));
    try {
      const body = await readFile(join(settings.site, path));
      response.writeHead(200, {
        "Content-Type": TYPES[extname(path)] ?? "application/octet-stream",
        "Cache-Control": "max-age=600",
      });
      response.end(body);
    } catch {
      response.writeHead(404).end();
    }
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return server;
}

function newContext(browser, javascript) {
  return browser.newContext({
    javaScriptEnabled: javascript,
    reducedMotion: "reduce",
    serviceWorkers: "block",
  });
}

async function open(page, address, width, height, scheme) {
  await page.setViewportSize({ width, height });
  await page.emulateMedia({ colorScheme: scheme });
  await page.goto(address, { waitUntil: "load", timeout: PAGE_PATIENCE });
}

// Reports what the page asks for and what it complains about; returns a function that stops it.
function listen(page, origin, javascript, add) {
  const listeners = {
    console(message) {
      // The failed request itself is reported below, with its address.
      if (message.type() === "error" && !message.text().startsWith("Failed to load resource")) {
        add("console", message.text());
      }
    },
    pageerror: (error) => add("console", error.message),
    request(request) {
      const url = new URL(request.url());
      if (url.origin !== origin && !["data:", "blob:"].includes(url.protocol)) {
        add("external", `asks another host: ${request.url()}`);
      }
    },
    requestfailed(request) {
      const wanted = javascript || request.resourceType() !== "script";
      if (wanted && request.url().startsWith(origin)) {
        add("request", `${request.failure()?.errorText} for ${request.url()}`);
      }
    },
    response(response) {
      if (response.status() >= 400) add("request", `${response.status()} for ${response.url()}`);
    },
  };
  for (const [event, listener] of Object.entries(listeners)) page.on(event, listener);
  return () => {
    for (const [event, listener] of Object.entries(listeners)) page.off(event, listener);
  };
}

// Looks at one page in one width, loaded in the first of the schemes and switched to the others.
// `add` gets a mode, a kind and words for each fault; returns {letters, bytes}.
async function look(page, origin, name, { width, schemes, javascript }, add) {
  const manner = javascript ? "" : ", no JavaScript";
  let scheme = schemes[0];
  const inScheme = (kind, detail) => add(`${width} ${scheme}${manner}`, kind, detail);
  const inWidth = (kind, detail) => add(`${width}${manner}`, kind, detail);
  const call = ([step, values]) => inspect[step](...values);
  const run = (step, ...values) => timed(step, page.evaluate(call, [step, values]));
  const collect = async (report, kind, step, ...values) => {
    for (const detail of await run(step, ...values)) report(kind, detail);
  };
  const switchTo = async (next) => {
    if (next === scheme) return;
    scheme = next;
    await page.emulateMedia({ colorScheme: scheme });
    await collect(inScheme, "scheme", "findOtherScheme", scheme);
  };

  const stop = listen(page, origin, javascript, inScheme);
  // The page loads without scripts, if that is asked for; the inspection needs them.
  const session = await page.context().newCDPSession(page);
  const allowScripts = (value) =>
    session.send("Emulation.setScriptExecutionDisabled", { value: !value });
  try {
    if (!javascript) await allowScripts(false);
    const height = width < PHONE ? 844 : 900;
    await timed("load", open(page, `${origin}/${name}`, width, height, scheme));
    if (!javascript) await allowScripts(true);
    await page.evaluate(inspection);
    await timed("fonts", page.evaluate(() => document.fonts.ready.then(() => {})));
    if (settings.screenshots) {
      const file = `${name.replaceAll("/", "_")}-${width}-${scheme}${javascript ? "" : "-no-js"}.png`;
      await page.screenshot({ path: join(settings.screenshots, file), fullPage: true });
    }
    await run("prepare");
    await collect(inScheme, "scheme", "findOtherScheme", scheme);
    if (javascript) await collect(inWidth, "widget", "wakeWidgets", WIDGET_PATIENCE);
    else await collect(inWidth, "control", "findDeadControls");
    await collect(inWidth, "overflow", "findOverflow");
    await collect(inWidth, "scroll", "findUnreachableBoxes");
    if (width < PHONE) await collect(inWidth, "letters", "findSmallLetters");
    await collect(inWidth, "formula", "findBadFormulas");
    await collect(inWidth, "heading", "findHeadingFaults");
    const letters = await run("countLetters");
    const bytes = await run("countBytes");
    // Only after a key was pressed does the browser show where the focus is.
    await page.keyboard.press("Tab");
    for (const next of schemes) {
      await switchTo(next);
      await collect(inScheme, "contrast", "findFaintText");
      await collect(inScheme, "figure", "findFaintMarks");
      await collect(inScheme, "focus", "findUnseenFocus");
    }
    await run("lighten");
    // axe puts style elements into the page, which the site's policy refuses: its complaint, not ours.
    stop();
    await timed("axe", page.evaluate(axe));
    // `findFaintText` has seen the colours in every mode; axe's slow rules about them look at each
    // scheme once, all its other rules at every mode.
    const colours = width === settings.widths[0] && javascript === settings.javascript[0];
    for (const next of [...schemes].reverse()) {
      await switchTo(next);
      await collect(inScheme, "axe", "findViolations", colours);
    }
    return { letters, bytes };
  } finally {
    stop();
    await session.detach();
  }
}

async function checkPage(contexts, origin, name) {
  const start = performance.now();
  const letters = {};
  let bytes = 0;
  const add = (mode, kind, detail) => print({ page: name, mode, kind, detail });
  for (const javascript of settings.javascript) {
    const page = await contexts[javascript].newPage();
    for (const [place, width] of settings.widths.entries()) {
      // Every second width starts with the other scheme, so that each of them is loaded.
      const schemes = place % 2 ? [...settings.schemes].reverse() : settings.schemes;
      const found = await look(page, origin, name, { width, schemes, javascript }, add);
      bytes = Math.max(bytes, found.bytes);
      const other = (letters[width] ??= found.letters);
      if (found.letters < 0.97 * other) {
        const words = `shows ${found.letters} letters without JavaScript, ${other} with it`;
        add(`${width}, no JavaScript`, "script", words);
      }
    }
    await page.close();
  }
  print({ done: name, seconds: (performance.now() - start) / 1000, bytes });
}

// A picture must not depend on the fonts of the machine: the page is drawn in the site's own.
const OWN_FONTS = `html {
  --book-sans: KaTeX_SansSerif !important;
  --book-mono: KaTeX_Typewriter !important;
}
* { caret-color: transparent !important; animation: none !important; transition: none !important }`;

async function takePicture(browser, origin, { page: name, width, height, scheme, file }) {
  const context = await newContext(browser, true);
  const page = await context.newPage();
  await open(page, `${origin}/${name}`, width, height, scheme);
  await page.evaluate(async (style) => {
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(style);
    document.adoptedStyleSheets.push(sheet);
    const faces = ["KaTeX_SansSerif", "KaTeX_Typewriter"].flatMap((name) => [
      `16px ${name}`,
      `bold 16px ${name}`,
      `italic 16px ${name}`,
    ]);
    await Promise.all(faces.map((face) => document.fonts.load(face)));
    await document.fonts.ready;
    await new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
  }, OWN_FONTS);
  // An interactive figure in view loads its script late.
  await page.waitForLoadState("networkidle");
  await page.screenshot({ path: file });
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
    "--font-render-hinting=none",
    // Requests to other hosts are reported, and get no further than this.
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
    "--no-first-run",
    "--no-sandbox",
  ],
});
try {
  for (const picture of settings.pictures) await takePicture(browser, origin, picture);
  const waiting = [...settings.pages];
  const workers = Array.from({ length: settings.atOnce }, async () => {
    const contexts = {};
    for (const javascript of settings.javascript) {
      contexts[javascript] = await newContext(browser, javascript);
    }
    while (waiting.length) await checkPage(contexts, origin, waiting.shift());
  });
  await Promise.all(workers);
  print({ steps: seconds });
} finally {
  await browser.close();
  server.close();
}
