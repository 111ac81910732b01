"use strict";
for (const table of document.querySelectorAll("table.sortable")) {
  const body = table.tBodies[0];
  const given = [...body.rows];
  const heads = [...table.tHead.rows[0].cells];
  const collator = new Intl.Collator("en");
  const value = (row, column) => {
    const cell = row.cells[column];
    if (cell.dataset.text !== undefined) return cell.dataset.text;
    return cell.dataset.value === undefined ? null : Number(cell.dataset.value);
  };
  const compare = (a, b) => (typeof a === "string" ? collator.compare(a, b) : a - b);
  const outline = (asMeasured) => {
    table.classList.toggle("as-measured", asMeasured);
    let before = null;
    for (const row of body.rows) {
      row.classList.toggle("first", before !== null && before !== row.dataset.set);
      if (!row.hidden) before = row.dataset.set;
    }
  };
  const sort = (column, ascending) => {
    const rows = given.map((row) => [row, value(row, column)]);
    rows.sort(([, a], [, b]) => {
      if (a === null || b === null) return (a === null) - (b === null);
      return ascending ? compare(a, b) : compare(b, a);
    });
    body.append(...rows.map(([row]) => row));
    heads.forEach((head, i) => {
      const how = i === column ? (ascending ? "ascending" : "descending") : "none";
      head.setAttribute("aria-sort", how);
    });
    outline(heads[column].textContent.trim() === "Data set");
  };
  heads.forEach((head, column) => {
    head.querySelector("button").addEventListener("click", () => {
      const now = head.getAttribute("aria-sort");
      const first = head.classList.contains("text");
      sort(column, now === "none" ? first : now === "descending");
    });
  });
  const filter = table.closest("section").querySelector(".filter");
  if (filter) {
    filter.hidden = false;
    filter.addEventListener("change", (event) => {
      for (const row of given) {
        row.hidden = event.target.value !== "" && row.dataset.set !== event.target.value;
      }
    });
  }
  outline(true);
}
