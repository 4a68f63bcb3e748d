// Search while typing: sections ranked by MiniSearch, with the words that readers use for things.
"use strict";
(() => {
  const phrase = globalThis.bookPhrase ?? String.raw;
  // Other writings of one name, which are one name in texts and queries.
  const WRITINGS = [
    [/\bmla\b|(multi[- ]head )?latent attention/g, "mla latent"],
    [/\bmqa\b|multi[- ]query( attention)?/g, "mqa"],
    [/\bgqa\b|grouped[- ]quer(y|ies)( attention)?/g, "gqa"],
    [/\bmha\b|multi[- ]?head( attention)?/g, "mha heads"],
    [/\bmoe\b|mixture[- ]of[- ]experts/g, "moe experts"],
    [/\bffn\b|\bmlps?\b|feed[- ]?forward/g, "ffn"],
    [/flash[- ]?att?ention/g, "flashattention"],
    [/\b(key[- ]value|kv)[- ]?cache/g, "kv cache"],
    [/\brotary (posit\w+ )?(embedding|encoding)/g, "rope"],
    [/\bposit\w+ (encoding|embedding)/g, "positional encoding"],
    [/\bsoft[- ]?cap(s|ping|ped)?\b/g, "softcap"],
    [/\b(pre|post)[- ]?(norm|ln)\b/g, "$1 norm"],
    [/\blayer[- ]?norm(alization)?\b/g, "layernorm norm"],
    [/\bqk[- ]?(layer)?norm/g, "qk norm"],
    [/\bdelta[- ]?net\b/g, "delta net"],
  ];
  // What is written on the left, in lower case, is also looked for as on the right.
  const CALLED = [
    [/soft-?cap(s|ping|ped)?|soft cap/g, " soft cap soft-capping attn_logit_softcapping "],
    [/\bunique(ness)?\b/g, " unique rotation forced theorem anything "],
    [/context length|context window|extend context|long context|extrapolat\w*|rope scaling/g, " longer contexts "],
    [/\b(logits|outputs?|results?)\b.*\bdiffer(s|ent|ence)?\b|\bdifferent (logits|outputs?|results?)\b/g, " $& same text logits digits "],
    [/\b(need|without) (a )?posit\w+( (encodings?|embeddings?))?/g, " order equivariance $& "],
    [/\bcompress\w*.*\b(kv|cache|keys)\b|\b(kv|cache)\b.*\bcompress\w*/g, " latent row $& "],
    [/\bload(ing)?\b.*\b(checkpoints?|weights)\b/g, " read released checkpoint $& "],
    [/\b(generat\w+|decod\w+|inference)\b.*\bslow\w*|\bslow\w*\b.*\b(generat\w+|decod\w+|inference)\b/g, " decoding slower seconds prompts "],
    ...(globalThis.bookCalled ?? []),
  ];
  const SMALL = new Set("a an and are as at be by between can could did difference do does each else every explain explained for from get gets had has have how i in instead intuitively interview is it its just me mean means my need needs not of on or our question should simple simply so some something terms than that the their them there these this those to up us versus vs was we were what when where which while why will with work works would you your 为什 什么 是什 么是 怎么 怎样 如何".split(" "));
  const WEIGHT = { page: 1.6, section: 1.2, question: 0.9, symptom: 1.1, key: 1.2, sheet: 0.9, deeper: 0.95, exercises: 0.4, summary: 0.6, entry: 0.7, model: 0.7, reference: 0.5, back: 0.4 };
  // Who types several words asks something: pages that explain come before lists of names.
  const LISTS = new Set(["entry", "model", "reference"]);
  const LISTED = new Set([...LISTS, "key"]);
  const ONE_BY_ONE = new Set([...LISTED, "question", "symptom"]);

  // Chinese has no spaces between its words: there, two neighbouring characters are a term.
  const CHINESE = /\p{Script=Han}/u;
  const NUMBER = /^[\d.,]+[kmb]?$/;
  const pairs = (run) => (run.length > 2 && CHINESE.test(run) ? [...run].slice(1).map((letter, i) => run[i] + letter) : [run]);

  // The one place where a text becomes terms.
  function words(text) {
    return WRITINGS.reduce((other, [writing, name]) => other.replace(writing, name), text.toLowerCase().normalize("NFKC"))
      .replace(/(?<=\d),(?=\d{3})/g, "")
      .replace(/sqrt[\s(]*(?=[a-z])/g, "√")
      .split(/[^\p{L}\p{N}_√²^.-]+/u)
      .map((word) => word.replace(/^[.^-]+|[.^-]+$/g, ""))
      .flatMap((word) => word.match(/\p{Script=Han}+|\P{Script=Han}+/gu) ?? [])
      .flatMap(pairs)
      .flatMap((word) => (/[-.]/.test(word) && !NUMBER.test(word) ? [word, ...word.split(/[-.]/)] : [word]))
      .filter((word) => word && !SMALL.has(word));
  }

  // Words of one meaning, the first of each for all.
  const SAME = new Map(
    ["nonsense garbage gibberish garbled rubbish incoherent", "flops flop operations operation", "sin sine", "cos cosine", "memory vram"].flatMap((row) => {
      const [first, ...others] = row.split(" ");
      return others.map((other) => [other, first]);
    }),
  );

  // "values", "valued" and "value" are one term, and so are "query" and "queries".
  function stem(typed) {
    const word = SAME.get(typed) ?? typed;
    if (word.length < 4 || word.includes("_")) return word;
    const singular = word.replace(/ies$/, "y").replace(/es$|(?<=[^sui])s$/, "");
    let root = singular.replace(/(?<=.{3})(ing|ed)$/, "").replace(/(?<=.{2})e$/, "");
    // "saturation" and "saturated", "derivation" and "deriving", "positional" and "position".
    for (let before = ""; before !== root; ) {
      before = root;
      root = root.replace(/(?<=.{4})(i[sz]?ation|ation|ition|i[sz]|at|ion|al|anc|ant|enc|ent|iv|ity|ment|ly)$/, "");
    }
    return root.replace(/(?<=.{3}([bdgmnprt]))\1$/, "");
  }

  // "Why" and "which" are no terms, but who asks why wants what says why.
  const opening = (text) => text.match(/^(why|which|how)\b/i)?.[0].toLowerCase();

  // How many letters were mistyped: added, left out, changed, or two neighbours exchanged.
  function mistakes(typed, word, most) {
    if (Math.abs(typed.length - word.length) > most) return most + 1;
    let before = [];
    let last = [...Array(word.length + 1).keys()];
    for (let i = 1; i <= typed.length; i++) {
      const row = [i];
      for (let j = 1; j <= word.length; j++) {
        const changed = last[j - 1] + (typed[i - 1] === word[j - 1] ? 0 : 1);
        row[j] = Math.min(changed, last[j] + 1, row[j - 1] + 1);
        const exchanged = i > 1 && j > 1 && typed[i - 1] === word[j - 2] && typed[i - 2] === word[j - 1];
        if (exchanged) row[j] = Math.min(row[j], before[j - 2] + 1);
      }
      before = last;
      last = row;
    }
    return last[word.length];
  }

  // Most anchors repeat the title; search.py has a star in its place.
  const slug = (title) => title.toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-|-$/g, "");

  const NEAR = 8; // among so many of the others, the home of a named term comes before its entry
  // What a section is called may weigh as much as twice the best of the words alone, and the nearer
  // a query is to it the more. Between what is asked and the name, the first counts a little more.
  const NAMED = 2;
  const POWER = 3;
  const ASKED = 0.6;
  const SURE = 0.9; // so near is a query that says the name
  const byScore = (a, b) => b.score - a.score;

  // Words that were typed side by side belong together: "linear attention", "attention sink".
  function raiseCouples(found, typed) {
    const couples = typed.slice(1).map((term, i) => `${typed[i]} ${term} `);
    for (const one of found) {
      const title = `${words(one.title).map(stem).join(" ")} `;
      const text = `${title}${words(one.text).map(stem).join(" ")} `;
      one.score *= 1 + 0.3 * couples.filter((couple) => text.includes(couple)).length;
      if (typed.length && title.startsWith(`${typed[0]} `)) one.score *= 1.15;
    }
  }

  // After the best result of a page, those of other pages have their turn.
  function takeTurns(found) {
    const seen = new Map();
    for (const one of found) {
      const before = seen.get(one.page) ?? 0;
      one.score *= (ONE_BY_ONE.has(one.kind) ? 0.7 : 0.9) ** before;
      seen.set(one.page, before + 1);
    }
  }

  // Indexing takes a phone a second; after so many milliseconds the page can do other things.
  const LONGEST = 10;
  const pause = () => new Promise((done) => setTimeout(done));
  async function forEach(many, act) {
    let began = performance.now();
    for (const [place, one] of many.entries()) {
      act(one, place);
      if (performance.now() - began > LONGEST) {
        await pause();
        began = performance.now();
      }
    }
  }

  async function makeSearch(MiniSearch, pages) {
    const sections = new Map(); // by term: how many sections have it
    // Every text is cut into terms once, for the index and for counting.
    const cut = new Map();
    function termsOf(text) {
      if (!cut.has(text)) cut.set(text, words(text).map(stem));
      return cut.get(text);
    }
    const index = new MiniSearch({
      fields: ["title", "chapter", "text", "words", "called"],
      tokenize: termsOf,
      processTerm: (term) => term,
    });
    const documents = Object.entries(pages).flatMap(([page, [chapter, found]]) =>
      // A page's own title counts once.
      found.map(([anchor, title, kind, text, rest, called = ""]) => ({ page, anchor: anchor.replace("*", () => slug(title)), title, chapter: title === chapter ? "" : chapter, kind, text, words: rest, called })),
    );
    await forEach(documents, (one, id) => {
      one.id = id;
      const terms = new Set([one.title, one.text, one.words, one.called].flatMap(termsOf));
      terms.forEach((term) => sections.set(term, (sections.get(term) ?? 0) + 1));
    });
    await forEach(documents, (one) => index.add(one));
    const known = [...sections.keys()];
    const rarity = (term) => Math.log(1 + documents.length / (sections.get(term) ?? documents.length));

    const homes = Object.entries(globalThis.bookTerms ?? {}).map(([title, [page, anchor]]) => ({ title, page, anchor }));

    // What each section is called: its title, and what readers type for its subject.
    // Titles that many sections have, "In practice", name none of them.
    const titled = new Map();
    for (const { title } of documents) titled.set(title, (titled.get(title) ?? 0) + 1);
    const names = [];
    await forEach(documents, (one, id) => {
      const title = titled.get(one.title) > 3 ? [] : [one.title];
      const all = [...title, ...one.called.split(";")].filter(Boolean);
      for (const name of all) names.push(nameOf(name, id));
    });
    for (const { title, page, anchor } of homes) {
      const id = documents.findIndex((one) => one.page === page && one.anchor === anchor && !LISTED.has(one.kind));
      if (id >= 0) names.push(nameOf(title, id));
    }
    cut.clear();
    function nameOf(name, id) {
      const terms = [...new Set(termsOf(name))];
      return { id, terms, length: length(terms), opens: opening(name) };
    }
    function length(terms) {
      return Math.hypot(...terms.map(rarity));
    }
    // How near a query is to a name: 1 for the same rare words, 0 for none in common.
    function nearest(typed, query) {
      const asked = new Set(typed);
      const own = length([...asked]);
      const near = new Map();
      for (const { id, terms, length, opens } of names) {
        const common = terms.filter((term) => asked.has(term)).reduce((sum, term) => sum + rarity(term) ** 2, 0);
        const same = opens && opening(query) ? (opens === opening(query) ? 1.1 : 0.9) : 1;
        const nearness = same * (common / own ** 2) ** ASKED * (common / length ** 2) ** (1 - ASKED);
        if (common) near.set(id, Math.max(near.get(id) ?? 0, nearness));
      }
      return near;
    }

    // A word that the book does not have: its parts, or the known word with the fewest mistakes.
    function meant(term, isLast) {
      if (sections.has(term) || CHINESE.test(term) || NUMBER.test(term) || term.length < 4) return [term];
      // A part of an identifier, or its beginning.
      const longer = known.filter((word) => word.includes("_") && (word.startsWith(`${term}_`) || word.split("_").includes(term)));
      if (longer.length) return longer;
      const parts = term.split(/[_^]/).filter((part) => part.length > 1);
      if (parts.length > 1) return parts.map(stem).filter((part) => sections.has(part));
      // The last word may not be finished yet.
      if (isLast && known.some((word) => word.startsWith(term))) return [term];
      const most = term.length > 7 ? 2 : 1;
      const near = known.filter((word) => word[0] === term[0] && mistakes(term, word, most) <= most);
      near.sort((a, b) => mistakes(term, a, most) - mistakes(term, b, most) || sections.get(b) - sections.get(a));
      if (near.length || !isLast) return near.slice(0, 1);
      // Its ending may not be finished: "positiona" for "positional", which is here without it.
      const begun = known.filter((word) => word.length > 3 && term.startsWith(word));
      return begun.sort((a, b) => b.length - a.length).slice(0, 1);
    }

    // Whether a result is the section that the entry of a term names.
    function homeOf({ kind, title: named }) {
      const home = kind === "entry" ? homes.find(({ title }) => title === named) : undefined;
      return ({ page, anchor }) => page === home?.page && anchor === home?.anchor;
    }

    function explainedFirst(found) {
      for (const entry of found.slice(0, NEAR)) {
        const place = found.indexOf(entry);
        const home = found.slice(place, place + NEAR).find(homeOf(entry));
        if (home) found.splice(place, 0, ...found.splice(found.indexOf(home), 1));
      }
      return found;
    }

    // A compound that the book has, "gpt-oss", is one word of a question; of others the parts count.
    function wordsOf(query) {
      const compounds = new Set(words(query).filter((word) => /[-.]/.test(word) && !NUMBER.test(word)));
      const parts = new Set([...compounds].filter((word) => sections.has(stem(word))).flatMap((word) => word.split(/[-.]/)));
      return words(query).filter((word) => !parts.has(word));
    }

    return function find(query) {
      // A mistyped word is looked for as the one that was meant.
      let called = query.toLowerCase().normalize("NFKC");
      for (const word of wordsOf(query)) {
        const [better] = meant(stem(word), called.endsWith(word));
        if (better && better !== stem(word) && !word.includes("_")) called = called.replace(word, better);
      }
      // Letters of a formula say little beside words.
      const all = wordsOf(called);
      const long = all.filter((word) => word.length > 1 || CHINESE.test(word));
      const typed = (long.length > 2 ? long : all).map(stem);
      const last = typed.at(-1) ?? "";
      const spelled = new Map(typed.map((term) => [term, meant(term, term === last)]));
      // What is called by another name is looked for by its names in the book, too.
      let rest = called;
      const names = [];
      for (const [pattern, name] of CALLED) {
        for (const [found] of called.matchAll(pattern)) names.push(...words(name.replace("$&", found)).map(stem));
        rest = rest.replace(pattern, " ");
      }
      // Of several words, a section should have all; those that it may call otherwise do not count,
      // and those that the book does not have are looked for by the other name alone.
      const left = words(rest).map(stem);
      const needed = left.flatMap((term) => spelled.get(term) ?? []);
      const own = new Set(typed.filter((term) => sections.has(term) || [term, ...spelled.get(term)].some((one) => left.includes(one))).flatMap((term) => spelled.get(term)));
      const terms = [...new Set([...own, ...names])];
      // Chinese has more terms than words.
      const asks = (CHINESE.test(query) ? query.trim().split(/\s+/).length : own.size) > 2;
      // A number beside several words is an example.
      const weight = (term) => rarity(term) * (asks && NUMBER.test(term) ? 0.3 : 1);
      const sum = (some) => some.reduce((total, term) => total + weight(term), 0);
      const share = (matched) => (needed.length ? sum(needed.filter((term) => matched.includes(term))) / sum(needed) : 1);
      const options = {
        tokenize: (text) => text.split("\n"),
        processTerm: (term) => term,
        boost: { title: 2, chapter: 1.5, called: 2 },
        // A title with a common word is no better than others that have it.
        boostTerm: (term) => Math.min(1, weight(term) / 4) * (asks && !own.has(term) ? 0.8 : 1),
        prefix: (term) => term.length > 3 || ((term.length > 1 || CHINESE.test(term)) && term === last),
        boostDocument: (id) => WEIGHT[documents[id].kind] * (asks && LISTS.has(documents[id].kind) ? 0.5 : 1),
      };
      const found = (terms.length ? index.search(terms.join("\n"), options) : [])
        .map(({ id, score, queryTerms, terms: matched }) => ({ ...documents[id], matched, score: score * (0.7 + share(queryTerms) ** 2.5) }))
        .sort(byScore);
      const said = typed.flatMap((term) => spelled.get(term).slice(0, 1));
      raiseCouples(found.slice(0, 40), said);
      found.sort(byScore);
      const most = found[0]?.score ?? 0;
      const near = nearest(said, query);
      for (const one of found) one.score += NAMED * most * WEIGHT[one.kind] * (near.get(one.id) ?? 0) ** POWER;
      takeTurns(found.sort(byScore));
      found.sort(byScore);
      // Who types the very name of a symbol, a term, a key or a function wants that.
      // "scaled dot product attention" is "scaled dot-product attention".
      const bare = (text) => words(text.replace(/-/g, " ")).map(stem).join(" ");
      const asked = bare(query);
      const isQuestion = query.trim().split(/\s+/).length > typed.length + 1;
      const isNamed = ({ kind, title }) => LISTED.has(kind) && !(isQuestion && kind === "reference") && (title.toLowerCase() === query.trim().toLowerCase() || bare(title.split("(")[0]) === asked);
      // What explains a name comes before the function that has it.
      const isFunction = (one) => Number(one.kind === "reference");
      const [named, ...alsoNamed] = found.filter(isNamed).sort((a, b) => isFunction(a) - isFunction(b));
      if (!named) return explainedFirst(found);
      // What explains a term comes before its entry: the section that is called so, or the one that
      // the entry names, if it is near. Others of that name, a function beside a term, come soon after.
      const isHome = homeOf(named);
      const others = found.filter((one) => !isNamed(one));
      const subject = named.kind === "entry" && others.find((one) => near.get(one.id) > SURE);
      const before = subject || others.slice(0, NEAR).find(isHome);
      const after = documents.find((one) => isHome(one) && one.id !== before?.id);
      const both = [...(before ? [before] : []), named, ...(after ? [{ matched: typed, ...after }] : [])];
      const next = others.filter((one) => !both.some(({ id }) => id === one.id));
      return [...both, ...next.slice(0, 3), ...alsoNamed, ...next.slice(3)];
    };
  }

  // The part of a text that has most of the matched terms, cut into words that match and what is between.
  // Where it has none, `rest`, further words of the section, may have them: then these come last.
  const SHOWN = 170; // letters
  const FURTHER = 4; // words
  function snippet(text, matched, rest = "") {
    const terms = new Set(matched);
    const piece = /(?:(?!\p{Script=Han})[\p{L}\p{N}_√²^])+(?:[.-](?:(?!\p{Script=Han})[\p{L}\p{N}_])+)*/gu;
    const hits = [];
    if (CHINESE.test(text)) {
      for (const term of terms) {
        for (let at = text.indexOf(term); at >= 0 && CHINESE.test(term); at = text.indexOf(term, at + 1)) hits.push([at, at + term.length, term]);
      }
    }
    for (const one of text.matchAll(piece)) {
      const term = words(one[0]).map(stem).find((part) => terms.has(part));
      if (term) hits.push([one.index, one.index + one[0].length, term]);
    }
    for (const [writing] of WRITINGS) {
      for (const one of text.toLowerCase().matchAll(writing)) {
        const term = words(one[0]).map(stem).find((part) => terms.has(part));
        if (term) hits.push([one.index, one.index + one[0].length, term]);
      }
    }
    hits.sort((a, b) => a[0] - b[0] || b[1] - a[1]);
    // The window that shows most different terms, as early as possible.
    const variety = (from) => new Set(hits.filter(([start, end]) => start >= from && end <= from + SHOWN).map(([, , term]) => term)).size;
    let from = 0;
    for (const [start] of hits) if (variety(start) > variety(from)) from = start;
    // It begins with a sentence, if one begins shortly before, and ends with a word.
    const opening = text.slice(Math.max(0, from - 70), from);
    const sentence = opening.search(/(?<=[.?!:] |[。？！：])[^.?!:。？！：]*$/u);
    if (from > 0 && from <= 70) from = 0;
    else if (sentence >= 0) from = Math.max(0, from - 70) + sentence;
    from = Math.max(0, Math.min(from, text.length - SHOWN));
    if (from > 0 && !/\s|[。？！：，]/u.test(text[from - 1])) from = text.indexOf(" ", from) + 1 || from;
    let to = Math.min(text.length, from + SHOWN);
    const space = text.lastIndexOf(" ", to);
    if (to < text.length && space > from + SHOWN / 2) to = space;
    const parts = [from > 0 ? "… " : ""];
    let place = from;
    for (const [start, end] of hits) {
      if (start < place || end > to) continue;
      parts.push(text.slice(place, start), { mark: text.slice(start, end) });
      place = end;
    }
    const end = text.slice(place, to);
    const further = place > from ? [] : [...new Set(rest.split(/[ ;]/))].filter((word) => words(word).map(stem).some((part) => terms.has(part)));
    if (further.length === 0) return [...parts, end, to < text.length ? " …" : ""];
    // One ellipsis is enough between the text, which may end with its own, and a word from further down.
    parts.push(end.replace(/(?: …)+$/u, ""));
    further.slice(0, FURTHER).forEach((word) => parts.push(" … ", { mark: word }));
    return parts;
  }

  globalThis.bookSearch = { makeSearch, snippet };
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

  // The text of a formula has its indices and powers as x_m and x^2.
  const RAISED = /(?<![\p{L}\p{N}_^])(\p{L}|\([^()]*\))([_^])(\{[^{}]*\}|[\p{L}\p{N}*⊤]{1,3})(?![\p{L}\p{N}_])/gu;
  function withIndices(text) {
    const parts = [];
    let place = 0;
    for (const one of text.matchAll(RAISED)) {
      const [whole, letter, sign, small] = one;
      parts.push(text.slice(place, one.index) + letter, element(sign === "_" ? "sub" : "sup", {}, small.replace(/[{}]/g, "")));
      place = one.index + whole.length;
    }
    return [...parts, text.slice(place)];
  }

  function marked(text, matched, rest) {
    return snippet(text, matched, rest).flatMap((part) => (part.mark ? element("mark", {}, ...withIndices(part.mark)) : withIndices(part)));
  }

  function item({ page, anchor, title, chapter, text, words: rest, called, matched }) {
    const link = element("a", { href: `${folder}../${page}.html${anchor ? `#${anchor}` : ""}` }, ...marked(title, matched));
    const where = chapter === "" ? [] : [" ", element("span", { className: "search-where" }, ...marked(chapter, matched))];
    return element("li", {}, link, ...where, ...(text ? [element("p", {}, ...marked(text, matched, `${rest} ${called}`))] : []));
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
      if (found.length > most) {
        const all = `${folder}../search.html?q=${encodeURIComponent(query)}`;
        const more = element("a", { href: all }, phrase`Show more`);
        more.addEventListener("click", (event) => {
          if (!location.pathname.endsWith("/search.html")) return;
          event.preventDefault(); // this page is the one that the link leads to
          const first = most;
          most += 30;
          show().then(() => list.querySelectorAll("a")[first]?.focus());
        });
        status.append(" ", more);
      }
      list.replaceChildren(...found.slice(0, most).map(item));
      place.scrollTop = 0;
    }

    // The arrow keys go through the results to the link that shows more, and back to the field.
    function step(event) {
      const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
      if (!by) return;
      const stops = [field, ...list.querySelectorAll("a"), ...status.querySelectorAll("a")];
      const next = stops[stops.indexOf(document.activeElement) + by];
      if (!next) return;
      event.preventDefault();
      next.focus();
    }

    // Enter opens the first result, once what was typed has been looked for.
    async function open(event) {
      event.preventDefault();
      await show();
      list.querySelector("a")?.click();
    }

    field.addEventListener("focus", load, { once: true });
    field.addEventListener("input", show);
    field.addEventListener("keydown", step);
    place.addEventListener("keydown", step);
    field.form?.addEventListener("submit", open);
    return show;
  }

  const onPage = document.querySelector(".bd-search-container input[type=search]");
  const dialog = document.getElementById("pst-search-dialog");
  if (onPage) {
    const show = connect(onPage, document.getElementById("search-results"), 30);
    onPage.value = new URLSearchParams(location.search).get("q") ?? "";
    onPage.addEventListener("input", () => history.replaceState(null, "", `?q=${encodeURIComponent(onPage.value)}`));
    show();
  } else if (dialog) {
    const place = element("div", { id: "search-results", className: "empty" });
    dialog.append(place);
    connect(dialog.querySelector("input"), place, 8);
    // A result on this page closes the box, too.
    place.addEventListener("click", (event) => event.target.closest("a") && dialog.close());
  }
})();
