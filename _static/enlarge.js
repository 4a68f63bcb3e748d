// A figure over the whole screen, with letters that can be read. On a phone a figure stands in the page
// as a whole and its letters are small: the button below it, or a tap on it, moves the drawing into a
// dialog. There it is as large as its smallest letters need, and scrolls; a button turns it, so that a
// wide figure takes the long side of a phone that is held upright. Escape or a button closes the dialog.
"use strict";
(() => {
  const phrase = globalThis.bookPhrase ?? String.raw;
  // No letter is smaller, in pixels.
  const LEGIBLE = 10.5;

  function element(name, attributes, ...children) {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    made.append(...children);
    return made;
  }

  // The smallest letters of a drawing, in its own unit.
  function smallestLetters(drawing) {
    const sizes = [...drawing.querySelectorAll("text, tspan")]
      .filter((part) => part.tagName === "tspan" || !part.firstElementChild)
      .map((part) => parseFloat(part.style.fontSize))
      .filter((size) => size > 0);
    return Math.min(...sizes);
  }

  function open(box) {
    const drawing = box.querySelector("svg");
    const { width, height } = drawing.viewBox.baseVal;
    const needed = LEGIBLE / smallestLetters(drawing);
    const sheet = element("div", { class: "sheet" });
    const room = element("div", { class: "room", tabindex: 0, role: "group", "aria-label": phrase`Figure, scrolls` }, sheet);
    const turn = element("button", { type: "button", "aria-pressed": "false" }, phrase`Turn`);
    const close = element("button", { type: "button" }, phrase`Close`);
    const caption = box.closest("figure")?.querySelector("figcaption");
    const label = caption?.innerText ?? phrase`Figure`;
    const dialog = element("dialog", { class: "figure-view", "aria-label": label }, element("div", { class: "bar" }, turn, close), room);

    const fit = () => {
      const turned = turn.getAttribute("aria-pressed") === "true";
      const { clientWidth, clientHeight } = room;
      const [across, along] = turned ? [clientHeight, clientWidth] : [clientWidth, clientHeight];
      // As large as the window, and larger where the letters need it.
      const scale = Math.max(needed, Math.min(across / width, along / height));
      const [w, h] = [scale * width, scale * height];
      sheet.style.width = `${turned ? h : w}px`;
      sheet.style.height = `${turned ? w : h}px`;
      drawing.style.width = `${w}px`;
      drawing.style.height = `${h}px`;
      drawing.style.transform = turned ? `translateX(${h}px) rotate(90deg)` : "";
    };
    turn.addEventListener("click", () => {
      turn.setAttribute("aria-pressed", String(turn.getAttribute("aria-pressed") !== "true"));
      fit();
      room.scrollTo(turn.getAttribute("aria-pressed") === "true" ? room.scrollWidth : 0, 0);
    });
    close.addEventListener("click", () => dialog.close());
    dialog.addEventListener("close", () => {
      removeEventListener("resize", fit);
      drawing.removeAttribute("style");
      box.prepend(drawing);
      box.style.minHeight = "";
      dialog.remove();
    });
    // The drawing itself moves, since a copy would repeat its ids; its place stays free.
    box.style.minHeight = `${box.clientHeight}px`;
    sheet.append(drawing);
    document.body.append(dialog);
    dialog.showModal();
    addEventListener("resize", fit);
    fit();
  }

  // A tap on the drawing does the same as the button below it, where that is shown.
  document.addEventListener("click", ({ target }) => {
    const box = target.closest(".enlarge")?.previousElementSibling ?? target.closest(".figure-box");
    if (box?.nextElementSibling?.checkVisibility()) open(box);
  });
})();
