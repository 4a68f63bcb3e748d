// Inside the document that `make downloads` prints: joins the pages, which stand in <template> elements.
globalThis.book = (() => {
  const phrase = globalThis.bookPhrase ?? String.raw;
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];

  // Ids begin with the page's key, and links lead to places in the one document; a link to a file
  // that is not printed loses its address and stays as text.
  function move(article, key, address, keys) {
    const named = /^(id|for|aria-labelledby|aria-describedby)$/;
    for (const element of all("*", article)) {
      for (const { name, value } of [...element.attributes]) {
        const set = (moved) => element.setAttribute(name, moved);
        if (named.test(name)) set(value.split(" ").map((one) => `${key}-${one}`).join(" "));
        else if (name === "src") set(new URL(value, address).href);
        else if (name === "href" || name === "xlink:href") {
          const [file, anchor] = new URL(value, address).href.split("#");
          if (keys.has(file)) set(`#${keys.get(file)}${anchor ? `-${anchor}` : ""}`);
          else if (file.startsWith("file:")) element.removeAttribute(name);
        } else if (value.includes("url(#")) set(value.replaceAll("url(#", `url(#${key}-`));
      }
    }
    for (const heading of all("h5, h4, h3, h2, h1", article)) {
      const lower = document.createElement(`h${Number(heading.tagName[1]) + 1}`);
      lower.append(...heading.childNodes);
      heading.replaceWith(lower);
    }
  }

  // Answers stand at the end of their chapter, not below their questions.
  function gatherAnswers(article) {
    const forms = all(".quiz form", article);
    if (!forms.length) return;
    article.insertAdjacentHTML("beforeend", `<h2>${phrase`Answers to the questions`}</h2><ol></ol>`);
    for (const form of forms) {
      const right = form.querySelector(".choice[data-right]");
      const answer = document.createElement("li");
      if (right) answer.append(`${right.querySelector("label > span").textContent}. `);
      answer.append(...(right?.querySelector(".why") ?? form.querySelector("details p")).childNodes);
      article.lastElementChild.append(answer);
    }
  }

  // A style sheet that is missing ends the printing: the book would look wrong.
  function loaded(link) {
    return new Promise((done, fail) => {
      link.onload = done;
      link.onerror = () => fail(new Error(`${link.href} is missing: build the book again`));
    });
  }

  async function join(site, title) {
    const pages = all("template").map(({ content, dataset: { path, part } }) => {
      const key = path.replace(/\.html$/, "").replaceAll("/", "-");
      return { content, part, key, address: new URL(path, site).href };
    });
    const keys = new Map(pages.map(({ address, key }) => [address, key]));
    const [sheets, heads] = [new Set(), []];
    const add = (place, html) => document.querySelector(place).insertAdjacentHTML("beforeend", html);
    add(".print-contents h2", phrase`Contents`);
    for (const { content, part, key, address } of pages) {
      const article = content.querySelector("article.bd-article");
      const name = article?.querySelector("h1");
      if (!name) throw new Error(`${address} has no article with a title: build it again`);
      for (const link of all("link[rel=stylesheet]", content)) {
        sheets.add(new URL(link.getAttribute("href").split("?")[0], address).href);
      }
      for (const extra of all("script, link, .headerlink, .downloads", article)) extra.remove();
      gatherAnswers(article);
      for (const fold of all("details", article)) fold.open = true;
      if (key === "index") {
        const whole = (em) => em.textContent === em.parentElement.textContent;
        add(".print-question", all("p > em", article).find(whole)?.innerHTML ?? "");
        name.textContent = phrase`About this book`;
      }
      if (part) add(".print-contents ul", `<li class="print-part">${part}</li>`);
      add(".print-contents ul", `<li><a href="#${key}">${name.innerHTML}</a></li>`);
      heads.push(`@page ${key} { @top-left { content: ${JSON.stringify(title)} }
        @top-right { content: ${JSON.stringify(name.textContent.trim())} } }`);
      move(article, key, address, keys);
      add("main", `<section class="print-chapter" id="${key}" style="page: ${key}">
        ${part ? `<h1 class="print-part">${part}</h1>` : ""}</section>`);
      document.getElementById(key).append(article);
    }
    add("head", [...sheets].map((sheet) => `<link rel="stylesheet" href="${sheet}">`).join(""));
    add("head", `<style>${heads.join("\n").replaceAll("<", "\\3c ")}</style>`);
    await Promise.all(all("link").map(loaded));
    await document.fonts.ready;
  }

  // Wide lines become smaller as long as they can be read; code that is wider still wraps. All is
  // measured before anything changes: each change would lay out the whole book again.
  function fit() {
    const room = (box) => box.clientWidth - parseFloat(getComputedStyle(box).paddingRight);
    const drawn = (box) => box.getBoundingClientRect().width;
    for (const code of all("pre")) code.style.whiteSpace = "pre";
    const measured = [
      ...all(".math-formula").map((box) => [box, box.clientWidth / box.scrollWidth]),
      ...all("pre").map((box) => [box, room(box) / box.scrollWidth]),
      ...all("table").map((box) => [box, box.parentElement.clientWidth / drawn(box)]),
    ];
    for (const [box, ratio] of measured.filter(([, ratio]) => ratio < 1)) {
      if (box.localName === "pre" && ratio < 0.75) box.style.whiteSpace = "";
      else box.style.zoom = Math.max(ratio, 0.6) - 0.005;
    }
  }

  function faults() {
    const edge = document.body.getBoundingClientRect().right + 1;
    const wide = all("pre, table, img, svg, .katex-html > .base, article div, svg text").filter(
      (box) => box.checkVisibility() && box.getBoundingClientRect().right > edge);
    const place = (box) => `${box.closest(".print-chapter")?.id}: ${box.outerHTML.slice(0, 80)}`;
    const target = (link) => document.getElementById(decodeURIComponent(link.hash.slice(1)));
    const dead = all('a[href^="#"]').filter((link) => !target(link));
    return [
      ...wide.map((box) => `does not fit on the paper: ${place(box)}`),
      ...dead.map((link) => `a link leads nowhere: ${place(link)}`),
    ];
  }

  return { faults, fit, join };
})();
