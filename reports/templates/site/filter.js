"use strict";
// Filters the rows of a page by its form, and keeps what is chosen in the address, so that a view can be sent. Without a script all rows are there.
(() => {
  const form = document.getElementById("filter"), found = document.getElementById("found");
  const rows = [...document.querySelectorAll("[data-text]")], groups = [...document.querySelectorAll("[data-group]")];
  const fields = [...form.elements].filter((field) => field.name);
  const value = (field) => (field.type === "checkbox" ? (field.checked ? field.value : "") : field.value);

  function read() {
    const wanted = new URLSearchParams(location.hash.slice(1));
    for (const field of fields) {
      const text = wanted.get(field.name) ?? "";
      if (field.type === "checkbox") field.checked = text === field.value;
      else field.value = text;
      if (field.selectedIndex === -1) field.value = ""; // what is not on this page
    }
  }

  function show() {
    const wanted = Object.fromEntries(fields.map((field) => [field.name, value(field)]));
    const words = wanted.q.toLowerCase().split(/\s+/).filter(Boolean), most = Number(wanted.level || Infinity);
    let shown = 0;
    for (const row of rows) {
      const fits =
        words.every((word) => row.dataset.text.includes(word)) &&
        (!wanted.level || Number(row.dataset.level) <= most) &&
        (!wanted.family || row.dataset.family === wanted.family) &&
        (!wanted.faults || row.dataset.faults !== "0");
      row.hidden = !fits;
      shown += fits;
      for (const cell of row.querySelectorAll("td[data-level]")) cell.classList.toggle("beyond-level", Number(cell.dataset.level) > most);
    }
    for (const group of groups) group.hidden = ![...group.querySelectorAll("[data-text]")].some((row) => !row.hidden);
    document.body.dataset.show = wanted.show ?? "both";
    found.textContent = `${shown} of ${rows.length}`;
  }

  function change(event) {
    const wanted = new URLSearchParams(fields.map((field) => [field.name, value(field)]).filter(([, text]) => text));
    try {
      history[event.type === "input" ? "replaceState" : "pushState"](null, "", `#${wanted}`);
    } catch {
      location.hash = `${wanted}`; // some browsers refuse the other for pages from the disk
    }
    show();
  }

  form.addEventListener("input", change);
  form.addEventListener("submit", (event) => event.preventDefault());
  addEventListener("hashchange", () => (read(), show()));
  form.hidden = false;
  read();
  show();
})();
