// Judges answers in the page. They are kept in this browser only, until the reader forgets them.
"use strict";
(() => {
  // "6,283" groups thousands; any other comma is a decimal one.
  function parse(text) {
    const plain = text.trim().replace(/[−–]/, "-");
    return Number(/^-?\d{1,3}(,\d{3})+$/.test(plain) ? plain.replace(/,/g, "") : plain.replace(",", "."));
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
    const { answer, tolerance } = form.dataset;
    let right = false;
    verdict.replaceChildren();
    if (given(form).trim() === "") {
      verdict.textContent = answer === undefined ? "Choose an answer first." : "Write a number first.";
    } else if (answer === undefined) {
      const choice = form.querySelector("input:checked").closest(".choice");
      right = "right" in choice.dataset;
      verdict.append(...choice.querySelector(".why").cloneNode(true).childNodes);
    } else if (Number.isNaN(parse(given(form)))) {
      verdict.textContent = "Write one number, such as 0.25.";
    } else {
      right = Math.abs(parse(given(form)) - Number(answer)) <= Number(tolerance) * (1 + 1e-9);
      const word = document.createElement("strong");
      word.textContent = right ? "Right. " : "Not yet. ";
      verdict.append(word);
      if (right) verdict.append(...form.querySelector("details > p > span").cloneNode(true).childNodes);
      else verdict.append("Try again, or open the answer.");
    }
    form.dataset.result = right ? "right" : "open";
    return right;
  }

  for (const quiz of document.querySelectorAll(".quiz")) {
    const forms = [...quiz.querySelectorAll("form")];
    const key = `quiz ${quiz.dataset.page}`;
    const line = quiz.querySelector(".progress-line");
    let answers = recall(key);

    const tell = () => {
      const right = forms.filter((form) => form.dataset.result === "right").length;
      line.firstElementChild.textContent = `${right} of ${forms.length} right.`;
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
