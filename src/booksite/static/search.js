// Search while typing: sections ranked by MiniSearch, with the words that readers use for things.
"use strict";
(() => {
  const phrase = globalThis.bookPhrase ?? String.raw;
  // What is written on the left, in lower case, is also looked for as on the right.
  const CALLED = [
    [/\bmqa\b|multi[- ]query/g, " multi-query heads cache "],
    [/\bmha\b|multi[- ]?head/g, " many heads "],
    [/causal mask|attention mask/g, " masks look whom "],
    [/deriv(e|ation|ing)\b/g, " deriving "],
    [/\bmoe\b/g, " mixture experts feed-forward "],
    [/\bffn\b|\bmlp\b/g, " feed-forward "],
    [/\bpre-?norm\b|\bpost-?norm\b|\bpre-?ln\b|\bpost-?ln\b/g, " norm residuals placement $& "],
    [/\bntk\b/g, " ntk-aware longer contexts "],
    [/context length|context window|extend context|long context|extrapolat\w*|rope scaling/g, " longer contexts "],
    [/sinusoidal?( positional encodings?)?/g, " sinusoids clocks "],
    [/speed|fast|benchmark|triton/g, " speed $& "],
    [/\brotar(y|ies)?\b/g, " rotary deriving rope "],
    [/(rope_?)?theta(?=[ =]*\d)/g, " base "],
    ...(globalThis.bookCalled ?? []),
  ];
  const SMALL = new Set("a an and are as at be by do does for from how i in is it of on or the to vs what when which why with 为什 什么 是什 么是 怎么 怎样 如何".split(" "));
  const WEIGHT = { page: 1.6, section: 1.2, question: 0.9, deeper: 0.75, exercises: 0.4, entry: 0.8, reference: 0.55, back: 0.45 };

  // Chinese has no spaces between its words: there, two neighbouring characters are a term.
  const CHINESE = /\p{Script=Han}/u;
  const pairs = (run) => (run.length > 2 && CHINESE.test(run) ? [...run].slice(1).map((letter, i) => run[i] + letter) : [run]);

  // The one place where a text becomes terms.
  function words(text) {
    return text
      .toLowerCase()
      .normalize("NFKC")
      .replace(/(?<=\d),(?=\d{3})/g, "")
      .split(/[^\p{L}\p{N}_√²^.-]+/u)
      .map((word) => word.replace(/^[.-]+|[.-]+$/g, ""))
      .flatMap((word) => word.match(/\p{Script=Han}+|\P{Script=Han}+/gu) ?? [])
      .flatMap(pairs)
      .flatMap((word) => (/[-.]/.test(word) ? [word, ...word.split(/[-.]/)] : [word]))
      .filter((word) => word && !SMALL.has(word));
  }

  const stem = (word) => (word.length > 4 ? word.replace(/(ies|es|s)$/, "") : word);

  // Indexing takes a phone a second; in between, the page can do other things.
  async function makeSearch(MiniSearch, pages) {
    const index = new MiniSearch({
      fields: ["title", "chapter", "snippet", "words"],
      tokenize: words,
      processTerm: stem,
    });
    const documents = Object.entries(pages).flatMap(([page, [chapter, sections]]) =>
      sections.map(([anchor, title, kind, snippet, rest]) => ({ page, anchor, title, chapter, kind, snippet, words: rest })),
    );
    documents.forEach((one, id) => (one.id = id));
    await index.addAllAsync(documents, { chunkSize: 100 });
    return function find(query) {
      let asked = query.toLowerCase().normalize("NFKC");
      let rest = asked;
      for (const [called, name] of CALLED) {
        asked = asked.replace(called, (all) => ` ${all} ${name.replace("$&", all)} `);
        rest = rest.replace(called, " ");
      }
      const last = stem(words(query).at(-1) ?? "");
      // Of several words, a section should have all; those that it may call otherwise do not count.
      const needed = words(rest).map(stem);
      const share = (matched) => (needed.length ? needed.filter((word) => matched.includes(word)).length / needed.length : 1);
      const options = {
        boost: { title: 5, chapter: 2.5, snippet: 1.2 },
        // The last word may not be finished yet.
        prefix: (term) => term.length > 3 || ((term.length > 1 || CHINESE.test(term)) && term === last),
        fuzzy: (term) => (term.length > 6 ? 0.15 : false),
        boostDocument: (id) => WEIGHT[documents[id].kind],
      };
      const found = index
        .search(asked, options)
        .map(({ id, score, queryTerms }) => ({ ...documents[id], score: score * (0.4 + share(queryTerms)) }))
        .sort((a, b) => b.score - a.score);
      // Who types the very name of a symbol, a term or a function wants that.
      const named = ({ kind, title }) => (kind === "entry" || kind === "reference") && title.toLowerCase().split("(")[0].trim() === query.trim().toLowerCase();
      return [...found.filter(named), ...found.filter((one) => !named(one))];
    };
  }

  globalThis.bookSearch = { makeSearch };
  if (!globalThis.document) return;

  const folder = document.currentScript.src.replace(/[^/]*$/, "");
  let loading;

  function element(name, attributes, ...children) {
    const made = Object.assign(document.createElement(name), attributes);
    made.append(...children);
    return made;
  }

  // MiniSearch and the data come when a reader begins to search. From disk only scripts can be loaded.
  function load() {
    const script = (name) =>
      new Promise((onload, onerror) => document.head.append(element("script", { src: folder + name, onload, onerror })));
    loading ??= Promise.all(["minisearch.js", "search-data.js"].map(script)).then(() => makeSearch(MiniSearch, bookSections));
    return loading;
  }

  function item({ page, anchor, title, chapter, snippet }) {
    const link = element("a", { href: `${folder}../${page}.html${anchor ? `#${anchor}` : ""}` }, title);
    const where = chapter === title ? [] : [" ", element("span", { className: "search-where" }, chapter)];
    return element("li", {}, link, ...where, ...(snippet ? [element("p", {}, snippet)] : []));
  }

  // Shows what a field asks for in a place, at most so many results, while a reader types.
  function connect(field, place, most) {
    const status = element("p", { role: "status" });
    const list = element("ol", { className: "search-found" });
    place.replaceChildren(status, list);

    async function show() {
      const query = field.value.trim();
      const find = query && (await load());
      if (query !== field.value.trim()) return;
      const found = query ? find(query) : [];
      place.classList.toggle("empty", !query);
      const nothing = phrase`Nothing was found for “${query}”. Try one word of it, or the glossary.`;
      status.textContent = !query ? "" : found.length ? phrase`Results: ${found.length}` : nothing;
      list.replaceChildren(...found.slice(0, most).map(item));
      place.scrollTop = 0;
    }

    field.addEventListener("focus", load, { once: true });
    field.addEventListener("input", show);
    return show;
  }

  const onPage = document.querySelector(".bd-search-container input[type=search]");
  const dialog = document.getElementById("pst-search-dialog");
  if (onPage) {
    const show = connect(onPage, document.getElementById("search-results"), 30);
    onPage.value = new URLSearchParams(location.search).get("q") ?? "";
    onPage.form.addEventListener("submit", (event) => {
      event.preventDefault();
      history.replaceState(null, "", `?q=${encodeURIComponent(onPage.value)}`);
      show();
    });
    show();
  } else if (dialog) {
    const place = element("div", { id: "search-results", className: "empty" });
    dialog.append(place);
    connect(dialog.querySelector("input"), place, 8);
    // A result on this page closes the box, too.
    place.addEventListener("click", (event) => event.target.closest("a") && dialog.close());
  }
})();
