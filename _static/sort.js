// A table marked "sortable" is sorted by a click on a heading. Without scripts it stays as written.
(() => {
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
  const prepare = () => {
    for (const table of document.querySelectorAll("table.sortable")) {
      const heads = [...table.tHead.rows[0].cells];
      for (const [column, head] of heads.entries()) {
        const button = document.createElement("button");
        button.type = "button";
        button.textContent = head.textContent;
        button.title = "Sort by this column";
        button.style.cssText =
          "font: inherit; color: inherit; letter-spacing: inherit; text-align: inherit; " +
          "background: none; padding: 0; border: 0; cursor: pointer; display: inline";
        button.addEventListener("click", () => {
          const sign = head.getAttribute("aria-sort") === "ascending" ? -1 : 1;
          for (const other of heads) other.removeAttribute("aria-sort");
          head.setAttribute("aria-sort", sign === 1 ? "ascending" : "descending");
          sort(table, column, sign);
        });
        head.replaceChildren(button);
      }
    }
  };
  // The script may run before the page is whole.
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", prepare);
  else prepare();
})();
