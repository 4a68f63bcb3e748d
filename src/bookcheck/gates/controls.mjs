// Moves controls in Chromium and prints what the page then shows.
// Takes one JSON argument: {address, chromium, modules, width, height, scheme, javascript, screenshot,
// steps}. A step moves an interactive figure: {widget, set: {control: slider value or choice},
// press: {control: key}, click: words}; or anything: {act: [[method, selector, argument]], read: selector}.
// After a click the figure must move within PATIENCE milliseconds.
// Prints {errors, steps, text}: what went wrong, what each step showed (of a figure, with the scripts
// that had come by then), and the words on the page.
import { createRequire } from "node:module";
import { join } from "node:path";

const PATIENCE = 30_000;
const settings = JSON.parse(process.argv[2]);
const require = createRequire(join(settings.modules, "x.js"));
const { chromium } = require("playwright-core");

async function readFigure(figure) {
  return figure.evaluate((element) => ({
    numbers: Object.fromEntries(
      [...element.querySelectorAll("dd")].map((dd) => [dd.dataset.value, dd.textContent]),
    ),
    sliders: Object.fromEntries(
      [...element.querySelectorAll("input[type=range]")].map((input) => [input.name, input.value]),
    ),
    label: element.getAttribute("aria-label"),
    panels: [...element.querySelectorAll("svg")].map((svg) => svg.getAttribute("aria-label")),
  }));
}

const browser = await chromium.launch({
  executablePath: settings.chromium,
  args: ["--disable-gpu", "--no-sandbox", "--disable-background-networking"],
});
try {
  const page = await browser.newPage({
    viewport: { width: settings.width, height: settings.height },
    colorScheme: settings.scheme,
    javaScriptEnabled: settings.javascript ?? true,
  });
  const errors = [];
  page.on("pageerror", (error) => errors.push(error.message));
  page.on("console", (message) => message.type() === "error" && errors.push(message.text()));
  await page.goto(settings.address, { waitUntil: "load" });
  const steps = [];
  for (const { widget, set = {}, press = {}, click, act = [], read } of settings.steps) {
    for (const [method, selector, argument] of act) {
      if (method === "reload") await page.reload({ waitUntil: "load" });
      else await page.locator(selector).first()[method](argument);
    }
    if (read) steps.push(await page.locator(read).allInnerTexts());
    if (!widget) continue;
    const figure = page.locator(`.interactive[data-widget="${widget}"]`).first();
    await figure.evaluate((element) => element.scrollIntoView());
    await page.waitForSelector(`.interactive[data-widget="${widget}"][data-ready]`, { timeout: PATIENCE });
    const loaded = await page.evaluate(() => Object.keys(globalThis.bookWidgets));
    for (const [name, value] of Object.entries(set)) {
      const slider = figure.locator(`input[type=range][name="${name}"]`);
      if (await slider.count()) await slider.fill(String(value));
      else await figure.locator(`input[type=radio][value="${value}"]`).check();
    }
    for (const [name, key] of Object.entries(press)) {
      await figure.locator(`input[type=range][name="${name}"]`).press(key);
    }
    if (click) {
      const { panels } = await readFigure(figure);
      await figure.getByRole("button", { name: click }).click();
      await page.waitForFunction(
        ([widget, before]) =>
          [...document.querySelectorAll(`.interactive[data-widget="${widget}"] svg`)].some(
            (svg, place) => svg.getAttribute("aria-label") !== before[place],
          ),
        [widget, panels],
        { timeout: PATIENCE },
      );
    }
    steps.push({ loaded, ...(await readFigure(figure)) });
  }
  if (settings.screenshot) await page.screenshot({ path: settings.screenshot, fullPage: true });
  const text = await page.evaluate(() => document.body.innerText);
  console.log(JSON.stringify({ errors, steps, text }));
} finally {
  await browser.close();
}
