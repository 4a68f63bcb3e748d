// Judges answers in the page. They are kept in this browser only, until the reader forgets them.
"use strict";
(() => {
  const phrase = globalThis.bookPhrase ?? String.raw;
  // Numbers as people write them: 0.25, −0,25, 1/4, ½, ２．５, 1e-3, 1·10^-3, 4,096,000, 4 096 000, 6'283.
  // "6,283" groups thousands, and "0,125" does not, since nobody groups after a zero.
  function one(text) {
    const power = text.replace(/\s*[×·*x]\s*10\^?([+-]?\d+)$/i, "e$1");
    const [, sign, digits, exponent] = /^([+-]?)\s*([\d.,'’\s]*\d[.,]?)(e[+-]?\d+)?$/i.exec(power) ?? [];
    if (digits === undefined) return NaN;
    const grouped = /^[1-9]\d{0,2}(?:([\s'’,.])\d{3})(?:\1\d{3})*([.,]\d+)?$/.exec(digits);
    // One point groups nothing: 1.234 is a little more than 1.
    const groups = grouped && (grouped[1] !== "." || digits.split(".").length > 2) && grouped[2]?.[0] !== grouped[1];
    const plain = groups ? digits.replaceAll(grouped[1], "") : digits;
    return Number(`${sign}${plain.replace(",", ".")}${exponent ?? ""}`);
  }

  function parse(text) {
    const plain = text.normalize("NFKC").trim().replace(/[−–—]/g, "-").replace("。", ".");
    const [above, below, ...more] = plain.split(/\s*[/⁄]\s*/);
    if (more.length || (below !== undefined && !one(below))) return NaN;
    return below === undefined ? one(above) : one(above) / one(below);
  }

  // How many digits a reader wrote behind the point; of quotients and powers nobody can say.
  function decimalsOf(text) {
    const plain = /^[-+−–—]?\d*(?:[.,。](\d*))?$/.exec(text.normalize("NFKC").trim());
    return plain ? (plain[1]?.length ?? 0) : Infinity;
  }

  // What kind of miss a number is: of sign, of size, or of rounding.
  function hint(text, answer, decimals, accepts) {
    const value = parse(text);
    if (accepts(-value)) return phrase`Right size, wrong sign.`;
    for (const factor of [10, 100, 1000]) {
      if (accepts(value * factor) || accepts(value / factor)) return factor === 10 ? phrase`Off by a factor of ten.` : phrase`Off by a factor of ${factor}.`;
    }
    if (value * answer < 0) return phrase`Look at the sign, then at the size.`;
    // Who rounded the right number too much, or did not round to the whole number, is told what is asked for.
    const given = decimalsOf(text);
    const rounded = given < decimals && value !== 0 && Math.abs(value - answer) <= 0.5 * 10 ** -given + 1e-9;
    const wanted = [phrase`a whole number`, phrase`one decimal`, phrase`two decimals`, phrase`three decimals`][decimals] ?? phrase`${decimals} decimals`;
    if (rounded || (decimals === 0 && Math.round(value) === answer)) return phrase`Close: give ${wanted}.`;
    if (Math.abs(value - answer) <= 0.1 * Math.abs(answer)) return phrase`Close, but not exact.`;
    return Math.abs(value) > Math.abs(answer) ? phrase`Too large.` : phrase`Too small.`;
  }

  // The reason of the typical mistake that leads to this number, if the page knows one.
  function slip(form, value) {
    const slips = [...form.querySelectorAll(".slip")];
    const found = slips.find((one) => Math.abs(value - one.dataset.number) <= Number(one.dataset.tolerance) + 1e-9 * Math.abs(value));
    return found?.querySelector("span").cloneNode(true).childNodes;
  }

  // A page opened from disk, or a strict browser, may have no storage: then nothing is kept.
  function recall(key) {
    try {
      return JSON.parse(localStorage.getItem(key)) ?? {};
    } catch {
      return {};
    }
  }

  function keep(key, answers) {
    try {
      if (Object.keys(answers).length) localStorage.setItem(key, JSON.stringify(answers));
      else localStorage.removeItem(key);
    } catch {
      // Nothing to do: the answers live as long as the page.
    }
  }

  function given(form) {
    if ("answer" in form.dataset) return form.querySelector("input").value;
    return form.querySelector("input:checked")?.value ?? "";
  }

  function give(form, value) {
    if ("answer" in form.dataset) form.querySelector("input").value = value;
    else for (const input of form.querySelectorAll("input")) input.checked = input.value === value;
  }

  // Says in the form whether its answer is right, and why.
  function judge(form) {
    const verdict = form.querySelector(".verdict");
    const { answer, tolerance, decimals } = form.dataset;
    // An answer that is missing or no number is not a wrong one.
    let result;
    verdict.replaceChildren();
    if (given(form).trim() === "") {
      verdict.textContent = answer === undefined ? phrase`Choose an answer first.` : phrase`Write a number first.`;
    } else if (answer === undefined) {
      const choice = form.querySelector("input:checked").closest(".choice");
      result = "right" in choice.dataset ? "right" : "wrong";
      verdict.append(...choice.querySelector(".why").cloneNode(true).childNodes);
    } else if (Number.isNaN(parse(given(form)))) {
      verdict.textContent = phrase`Write one number, such as 0.25 or 1/4.`;
    } else {
      const value = parse(given(form));
      const slack = 1e-9 * Math.abs(answer);
      const accepts = (number) => Math.abs(number - Number(answer)) <= Number(tolerance) + slack;
      result = accepts(value) ? "right" : "wrong";
      const word = document.createElement("strong");
      word.textContent = result === "right" ? phrase`Right.` : phrase`Not yet.`;
      verdict.append(word, " ");
      if (result === "right") verdict.append(...form.querySelector("details > p > span").cloneNode(true).childNodes);
      else verdict.append(...(slip(form, value) ?? [hint(given(form), Number(answer), Number(decimals), accepts)]));
    }
    if (result) form.dataset.result = result;
    else delete form.dataset.result;
  }

  for (const quiz of document.querySelectorAll(".quiz")) {
    const forms = [...quiz.querySelectorAll("form")];
    const key = `quiz ${location.pathname}`;
    const line = quiz.querySelector(".progress-line");
    let answers = recall(key);

    const tell = () => {
      const right = forms.filter((form) => form.dataset.result === "right").length;
      line.firstElementChild.textContent = phrase`${right} of ${forms.length} right.`;
    };

    for (const form of forms) {
      const name = form.dataset.question;
      for (const part of form.querySelectorAll("[hidden]")) part.hidden = false;
      if (name in answers) {
        give(form, answers[name]);
        judge(form);
      }
      form.addEventListener("submit", (event) => {
        event.preventDefault();
        judge(form);
        answers[name] = given(form);
        keep(key, answers);
        tell();
      });
    }
    line.querySelector("button").addEventListener("click", () => {
      answers = {};
      keep(key, answers);
      for (const form of forms) {
        form.reset();
        form.querySelector(".verdict").replaceChildren();
        delete form.dataset.result;
      }
      tell();
    });
    line.hidden = false;
    quiz.dataset.ready = "";
    tell();
  }
})();
