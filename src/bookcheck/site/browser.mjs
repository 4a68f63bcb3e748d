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

const WIDGET_PATIENCE = 5000;
const PAGE_PATIENCE = 90_000;
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

// Looks at one page in one mode; returns {letters, bytes}.
async function look(page, origin, name, { width, scheme, javascript, mode }, add, stopListening) {
  // Pages ran without scripts; the inspection needs them.
  const session = await page.context().newCDPSession(page);
  const allowScripts = (value) =>
    session.send("Emulation.setScriptExecutionDisabled", { value: !value });
  if (!javascript) await allowScripts(false);
  const height = width < 600 ? 844 : 900;
  await timed("load", open(page, `${origin}/${name}`, width, height, scheme));
  if (!javascript) await allowScripts(true);
  await page.evaluate(inspection);
  const collect = async (kind, step, ...values) => {
    const call = ([step, values]) => inspect[step](...values);
    const found = await timed(step, page.evaluate(call, [step, values]));
    for (const detail of found) add(kind, detail);
  };
  await timed("fonts", page.evaluate(() => document.fonts.ready.then(() => {})));
  if (settings.screenshots) {
    const file = `${name.replaceAll("/", "_")}-${mode.replace(/\W+/g, "-")}.png`;
    await page.screenshot({ path: join(settings.screenshots, file), fullPage: true });
  }
  await page.evaluate(() => inspect.prepare());
  if (javascript) await collect("widget", "wakeWidgets", WIDGET_PATIENCE);
  else await collect("control", "findDeadControls");
  await collect("overflow", "findOverflow");
  await collect("formula", "findBadFormulas");
  await collect("heading", "findHeadingFaults");
  await collect("contrast", "findFaintText");
  await collect("figure", "findFaintMarks");
  const letters = await timed("countLetters", page.evaluate(() => inspect.countLetters()));
  const bytes = await page.evaluate(() => inspect.countBytes());
  // Only after a key was pressed does the browser show where the focus is.
  await page.keyboard.press("Tab");
  await collect("focus", "findUnseenFocus");
  await timed("lighten", page.evaluate(() => inspect.lighten()));
  // axe puts style elements into the page, which the site's policy refuses: its complaint, not ours.
  stopListening();
  await timed("axe", page.evaluate(axe));
  // The schemes differ in colours alone, and these hardly with the width.
  await collect("axe", "findViolations", {
    allRules: scheme === settings.schemes[0],
    contrast: width === settings.widths[0] && javascript === settings.javascript[0],
  });
  await session.detach();
  return { letters, bytes };
}

async function checkPage(contexts, origin, name) {
  const start = performance.now();
  const letters = {};
  let count = 0;
  let bytes = 0;
  for (const javascript of settings.javascript) {
    const page = await contexts[javascript].newPage();
    for (const width of settings.widths) {
      for (const scheme of settings.schemes) {
        const mode = `${width} ${scheme}${javascript ? "" : ", no JavaScript"}`;
        const add = (kind, detail) => {
          count += 1;
          print({ page: name, mode, kind, detail });
        };
        const stop = listen(page, origin, javascript, add);
        try {
          const kind = { width, scheme, javascript, mode };
          const found = await look(page, origin, name, kind, add, stop);
          bytes = Math.max(bytes, found.bytes);
          const other = (letters[`${width} ${scheme}`] ??= found.letters);
          if (found.letters < 0.97 * other) {
            add("script", `shows ${found.letters} letters without JavaScript, ${other} with it`);
          }
        } finally {
          stop();
        }
      }
    }
    await page.close();
  }
  print({ done: name, seconds: (performance.now() - start) / 1000, faults: count, bytes });
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
