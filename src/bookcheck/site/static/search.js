// The search page: sections ranked by MiniSearch, with the words that readers use for things.
"use strict";
(() => {
  // What is written on the left, in lower case, is also looked for as on the right.
  const CALLED = [
    [/√\s*d(_k)?|sqrt\(?d(_k)?\)?|sqrt d(_k)?|root of d|scaling factor/g, " divide root √d "],
    [/\bgqa\b|grouped[- ]query/g, " grouped-query heads cache "],
    [/\bmqa\b|multi[- ]query/g, " multi-query heads cache "],
    [/\bmla\b/g, " latent attention cache heads "],
    [/\bmha\b|multi[- ]?head/g, " many heads "],
    [/\bkv[- ]?cache\b|key[- ]value cache/g, " cache keys values heads "],
    [/causal mask|attention mask/g, " masks look whom "],
    [/deriv(e|ation|ing)\b/g, " deriving "],
    [/\bmoe\b/g, " mixture experts feed-forward "],
    [/\bffn\b|\bmlp\b/g, " feed-forward "],
    [/flash[- ]?attention|online softmax/g, " flashattention blocks merge beyond "],
    [/\bpre-?norm\b|\bpost-?norm\b|\bpre-?ln\b|\bpost-?ln\b/g, " norm residuals placement $& "],
    [/layernorm|layer norm/g, " layernorm norms "],
    [/rmsnorm/g, " rmsnorm norms "],
    [/\bntk\b/g, " ntk-aware longer contexts "],
    [/context length|context window|extend context|long context/g, " longer contexts "],
    [/rotate_half|rotate half/g, " layout half implementing "],
    [/interleaved/g, " interleaved layout "],
    [/position interpolation|\bpi\b/g, " interpolation longer contexts "],
    [/\bnope\b|no positional/g, " nope position order "],
    [/sinusoidal?( positional encodings?)?/g, " sinusoids clocks "],
    [/top[- ]?[kp]\b|temperature|sampling/g, " sampling $& decoder "],
    [/speed|fast|benchmark|triton/g, " speed $& "],
    [/exercises? solutions?/g, " exercises "],
  ];
  const SMALL = new Set("a an and are as at be by do does for from how i in is it of on or the to vs what when which with".split(" "));
  const WEIGHT = { page: 1.6, section: 1.2, question: 0.9, deeper: 0.75, exercises: 0.4, entry: 0.8, reference: 0.55, back: 0.45 };

  function words(text) {
    return text
      .toLowerCase()
      .normalize("NFKC")
      .split(/[^\p{L}\p{N}_√²-]+/u)
      .flatMap((word) => (word.includes("-") ? [word, ...word.split("-")] : [word]))
      .filter((word) => word && !SMALL.has(word));
  }

  const stem = (word) => (word.length > 4 ? word.replace(/(ies|es|s)$/, "") : word);

  function makeSearch(MiniSearch, sections) {
    const index = new MiniSearch({
      fields: ["title", "chapter", "snippet", "words"],
      tokenize: words,
      processTerm: stem,
    });
    const documents = sections.map(([page, anchor, title, chapter, kind, snippet, rest], id) => ({
      id, page, anchor, title, chapter, kind, snippet, words: rest,
    }));
    index.addAll(documents);
    return function find(query) {
      let asked = query.toLowerCase().normalize("NFKC");
      for (const [called, name] of CALLED) asked = asked.replace(called, (all) => ` ${all} ${name.replace("$&", all)} `);
      const options = {
        boost: { title: 5, chapter: 2.5, snippet: 1.2 },
        prefix: (term) => term.length > 3,
        fuzzy: (term) => (term.length > 6 ? 0.15 : false),
        boostDocument: (id) => WEIGHT[documents[id].kind],
      };
      const found = index.search(asked, options).map(({ id, score }) => ({ ...documents[id], score }));
      // Who types the very name of a symbol, a term or a function wants that.
      const named = ({ kind, title }) => (kind === "entry" || kind === "reference") && title.toLowerCase().split("(")[0].trim() === query.trim().toLowerCase();
      return [...found.filter(named), ...found.filter((one) => !named(one))];
    };
  }

  globalThis.bookSearch = { makeSearch };
  if (!globalThis.document) return;

  addEventListener("DOMContentLoaded", () => {
    const field = document.querySelector(".bd-search-container input[type=search]");
    const place = document.getElementById("search-results");
    if (!field || !place) return;
    const find = makeSearch(MiniSearch, bookSections);
    const status = document.createElement("p");
    status.setAttribute("role", "status");
    const list = document.createElement("ol");
    list.className = "search-found";
    place.replaceChildren(status, list);

    function show() {
      const query = field.value.trim();
      const found = query ? find(query).slice(0, 30) : [];
      status.textContent = query ? (found.length ? `${found.length === 30 ? "The best 30" : found.length} results` : `Nothing was found for “${query}”. Try one word of it, or the glossary.`) : "";
      list.replaceChildren(
        ...found.map(({ page, anchor, title, chapter, snippet }) => {
          const item = document.createElement("li");
          const link = document.createElement("a");
          link.href = `${page}.html${anchor ? `#${anchor}` : ""}`;
          link.textContent = title;
          item.append(link);
          if (chapter !== title) {
            const where = document.createElement("span");
            where.className = "search-where";
            where.textContent = chapter;
            item.append(" ", where);
          }
          if (snippet) {
            const text = document.createElement("p");
            text.textContent = snippet;
            item.append(text);
          }
          return item;
        }),
      );
    }
    field.value = new URLSearchParams(location.search).get("q") ?? "";
    field.addEventListener("input", show);
    field.form?.addEventListener("submit", (event) => {
      event.preventDefault();
      history.replaceState(null, "", `?q=${encodeURIComponent(field.value)}`);
      show();
    });
    show();
  });
})();
