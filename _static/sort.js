// A table marked "sortable" is sorted by a click on a heading, and a field above it shows only the rows
// that hold what is typed. Without scripts it stays as written. book.css draws the arrows and keeps the
// field's place, so that nothing moves when this script comes.
(() => {
  const phrase = globalThis.bookPhrase ?? String.raw;
  // Numbers by size, words by the alphabet, what is missing last.
  const key = (row, column) => {
    const text = row.cells[column].textContent.trim();
    const number = Number.parseFloat(text.replace(/,/g, ""));
    return { text, number, missing: text === "–" };
  };
  const compare = (a, b, sign) => {
    if (a.missing !== b.missing) return a.missing ? 1 : -1;
    if (!Number.isNaN(a.number) && !Number.isNaN(b.number)) return sign * (a.number - b.number);
    return sign * a.text.localeCompare(b.text, "en");
  };
  const sort = (table, column, sign) => {
    const body = table.tBodies[0];
    const rows = [...body.rows].map((row) => ({ row, key: key(row, column) }));
    rows.sort((a, b) => compare(a.key, b.key, sign));
    for (const { row } of rows) body.append(row);
  };
  const filter = (table) => {
    const line = document.createElement("div");
    line.className = "table-filter";
    const label = document.createElement("label");
    const field = document.createElement("input");
    field.type = "search";
    field.style.cssText =
      "width: 12rem; padding: 0.2rem 0.6rem; border: 1px solid; border-radius: 0.3rem; " +
      "background: transparent; color: inherit; font: inherit";
    const found = document.createElement("span");
    found.setAttribute("role", "status");
    field.addEventListener("input", () => {
      const wanted = field.value.trim().toLowerCase();
      const rows = [...table.tBodies[0].rows];
      for (const row of rows) row.hidden = !row.textContent.toLowerCase().includes(wanted);
      const shown = rows.filter((row) => !row.hidden).length;
      found.textContent = shown === rows.length ? "" : shown ? phrase` ${shown} of ${rows.length}` : phrase` No row has this.`;
    });
    label.append(phrase`Show rows with `, field);
    line.append(label, found);
    (table.closest(".output") ?? table).before(line);
  };
  const prepare = () => {
    for (const table of document.querySelectorAll("table.sortable")) {
      filter(table);
      const heads = [...table.tHead.rows[0].cells];
      for (const [column, head] of heads.entries()) {
        const button = document.createElement("button");
        button.type = "button";
        button.append(...head.childNodes);
        button.title = phrase`Sort by this column`;
        button.style.cssText =
          "font: inherit; color: inherit; letter-spacing: inherit; text-align: inherit; " +
          "background: none; padding: 0; border: 0; cursor: pointer; display: inline";
        // The whole cell can be clicked; the button in it is what the keyboard reaches.
        head.style.cursor = "pointer";
        head.addEventListener("click", () => {
          const way = head.getAttribute("aria-sort") === "ascending" ? -1 : 1;
          for (const other of heads) other.removeAttribute("aria-sort");
          head.setAttribute("aria-sort", way === 1 ? "ascending" : "descending");
          sort(table, column, way);
        });
        head.replaceChildren(button);
      }
    }
  };
  // The script may run before the page is whole.
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", prepare);
  else prepare();
})();
