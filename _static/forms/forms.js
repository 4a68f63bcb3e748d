// What the pages with forms share: the playground, "Read my model", the listings that run and the workshop.
// It uses nothing of theirs; forms.css has the look.
"use strict";
(() => {
  // An element with these properties, behind what its parent has already.
  function make(parent, tag, properties = {}) {
    const element = Object.assign(document.createElement(tag), properties);
    parent.append(element);
    return element;
  }

  function button(parent, textContent, onclick) {
    return make(parent, "button", { type: "button", textContent, onclick });
  }

  // A box with a title, which is read out before each control in it.
  function group(parent, title, className = "") {
    const box = make(parent, "fieldset", { className });
    make(box, "legend", { textContent: title });
    return box;
  }

  globalThis.bookForms = { button, group, make };
})();
