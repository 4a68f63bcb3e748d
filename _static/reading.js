// What this browser's reader has read, and where they were. Kept here only; without storage, nothing
// is shown. A page counts as read when its end and half of its headings have been in sight for a moment each.
"use strict";
(() => {
  const phrase = globalThis.bookPhrase ?? String.raw;
  const site = new URL(document.documentElement.dataset.content_root ?? "./", location.href).href;
  const KEY = `reading ${new URL(site).pathname}`;
  const pageOf = (address) => address.split(/[?#]/)[0].slice(site.length);
  const here = pageOf(location.href);

  function recall() {
    try {
      return { read: [], ...JSON.parse(localStorage.getItem(KEY)) };
    } catch {
      return { read: [] };
    }
  }

  function keep(change) {
    try {
      localStorage.setItem(KEY, JSON.stringify({ ...recall(), ...change }));
    } catch {
      // Nothing is kept, nothing is shown.
    }
  }

  // A dot behind each link of the contents that leads to a page that was read; ✓ is for executed equations.
  function mark() {
    const { read } = recall();
    for (const old of document.querySelectorAll(".read-mark")) old.remove();
    for (const link of document.querySelectorAll("#pst-primary-sidebar a.reference, .toctree-wrapper a.reference")) {
      if (!read.includes(pageOf(link.href))) continue;
      const sign = document.createElement("span");
      sign.className = "read-mark";
      sign.setAttribute("role", "img");
      sign.setAttribute("aria-label", phrase`read`);
      sign.textContent = "●";
      link.append(sign);
    }
  }

  function offerToGoOn() {
    const doors = document.querySelector(".doors");
    const { last, read } = recall();
    if (!doors || !(last || read.length)) return;
    const line = document.createElement("p");
    line.className = "go-on";
    if (last) {
      const link = document.createElement("a");
      link.href = new URL(last.address, site);
      link.textContent = last.words;
      line.append(phrase`Go on at `, link, phrase`.`);
    }
    const forget = document.createElement("button");
    forget.type = "button";
    forget.textContent = phrase`Forget what I have read`;
    forget.addEventListener("click", () => {
      localStorage.removeItem(KEY);
      line.remove();
      mark();
    });
    line.append(forget);
    doors.before(line);
  }

  // The words of a heading. KaTeX writes a formula twice, as MathML and for the eyes; the first is kept, with
  // signs for what its letters alone do not show: d_k, x^2, √d.
  function words(heading) {
    const copy = heading.cloneNode(true);
    for (const second of copy.querySelectorAll(".katex-html")) second.remove();
    for (const [part, sign] of [["msub > :last-child", "_"], ["msup > :last-child", "^"], ["msqrt", "√"]]) {
      for (const one of copy.querySelectorAll(part)) one.prepend(sign);
    }
    return copy.textContent.replace(/#$|[\u200b\u2060]/g, "").replace(/\s+/g, " ").trim();
  }

  function remember() {
    const heading = document.querySelector("article h1");
    const section = document.querySelector("#pst-page-toc-nav a.active");
    const address = here + (section?.hash ?? "");
    keep({ last: { address, words: section ? `${words(heading)}: ${words(section)}` : words(heading) } });
  }

  window.addEventListener("load", () => {
    mark();
    offerToGoOn();
    if (!document.querySelector('meta[name="chapter"]')) return;
    window.addEventListener("pagehide", remember);
    const end = document.querySelector(".prev-next-area") ?? document.querySelector("article")?.lastElementChild;
    const headings = document.querySelectorAll("article h2");
    const seen = new Set();
    const waiting = new Map();
    // Who only scrolls past has not read: what counts stays in sight for a while.
    const count = (place) => {
      seen.add(place);
      observer.unobserve(place);
      if (!seen.has(end) || 2 * (seen.size - 1) < headings.length) return;
      observer.disconnect();
      keep({ read: [...new Set([...recall().read, here])] });
      mark();
    };
    const observer = new IntersectionObserver((entries) => {
      for (const { target, isIntersecting } of entries) {
        clearTimeout(waiting.get(target));
        if (isIntersecting) waiting.set(target, setTimeout(count, 700, target));
      }
    });
    for (const place of end ? [end, ...headings] : []) observer.observe(place);
  });
})();
