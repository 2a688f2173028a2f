"use strict";
// Lists the cases: filters by what the index knows of them, and loads an operator's cases when somebody looks at them.
// What a case says reaches the page as text nodes only.
(() => {
  const PAGE = 50; // rows that one step shows
  const OPEN = 30; // so many cases are opened unasked
  const index = JSON.parse(document.getElementById("index").textContent);
  const statuses = index.statuses.map(([key, symbol, words, plural, rank]) => ({ key, symbol, words, plural, rank }));
  const total = (counts) => counts.reduce((sum, number, i) => (i % 2 ? sum + number : sum), 0);
  const operators = index.operators.map(([name, file, counts]) => ({ name, file, counts, total: total(counts) }));
  const $ = (id) => document.getElementById(id);

  /** An element with attributes, listeners (on...) and children; strings become text nodes. */
  function make(tag, attributes = {}, ...children) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
      else if (value !== false && value !== null && value !== undefined) element.setAttribute(name, value === true ? "" : value);
    }
    element.append(...children.filter((child) => child !== null && child !== undefined));
    return element;
  }

  const symbol = (status) => make("b", { class: `symbol ${status.key}`, "aria-hidden": "true" }, status.symbol);
  const number = (value) => value.toLocaleString("en");
  const plural = (value, noun) => `${number(value)} ${noun}${value === 1 ? "" : "s"}`;

  // ---- What is looked for: kept in the address, so that a view can be bookmarked and sent.

  const FIELDS = ["operator", "type", "kind", "basis"];
  const initial = () => {
    const there = new Set(operators.flatMap((o) => o.counts.filter((_, i) => i % 2 === 0).map((kind) => index.kinds[kind][0])));
    const failures = index.failures.filter((key) => there.has(key));
    return new Set(failures.length ? index.failures : statuses.map((s) => s.key));
  };
  let wanted = {};

  function readAddress() {
    const parameters = new URLSearchParams(location.hash.slice(1));
    wanted = Object.fromEntries(FIELDS.map((name) => [name, parameters.get(name) ?? ""]));
    wanted.q = parameters.get("q") ?? "";
    wanted.case = parameters.get("case") ?? "";
    const given = parameters.get("status");
    if (given === "all" || (wanted.case && !given)) wanted.status = new Set(statuses.map((s) => s.key));
    else wanted.status = given === null ? initial() : new Set(given.split(","));
    if (parameters.get("theme")) theme(parameters.get("theme"));
    return [...parameters.keys()].some((key) => key !== "theme");
  }

  function writeAddress() {
    const parameters = new URLSearchParams();
    const all = statuses.every((s) => wanted.status.has(s.key));
    const usual = initial();
    if (all) parameters.set("status", "all");
    else if (wanted.status.size !== usual.size || [...wanted.status].some((key) => !usual.has(key)))
      parameters.set("status", [...wanted.status].join(","));
    for (const name of [...FIELDS, "q"]) if (wanted[name]) parameters.set(name, wanted[name]);
    try {
      history.replaceState(null, "", `#${parameters}`);
    } catch {
      // Some browsers refuse this for pages from the disk; the filter works all the same.
    }
  }

  // ---- The data of an operator.

  const loading = new Map();

  /** Loads an operator's cases as a script: a page from the disk may not fetch. */
  function load(operator) {
    if (!loading.has(operator.name))
      loading.set(
        operator.name,
        new Promise((resolve, reject) => {
          const script = make("script", {
            src: operator.file,
            onload: () => resolve(unpack(operator, window.dmlcts[operator.name])),
            onerror: () => reject(new Error(`${operator.file} could not be loaded; it belongs beside index.html`)),
          });
          document.head.append(script);
        }),
      );
    return loading.get(operator.name);
  }

  function unpack(operator, { rows, strings, details }) {
    return rows.map((row, i) => {
      const [status, short, type, kind, basis, level, milliseconds, ulp, grade, matched, message, waiver, repro] = row;
      const id = short.startsWith("/") ? operator.name + short : short;
      return {
        id, ulp, milliseconds,
        short: short.startsWith("/") ? short.slice(1) : short,
        status: statuses[status],
        type: strings[type], kind: strings[kind], basis: strings[basis], level: strings[level], grade: strings[grade],
        matched: strings[matched], message: strings[message], waiver: strings[waiver],
        repro: strings[repro].replaceAll("\0", () => id),
        ...(details[i] ?? {}),
      };
    });
  }

  // ---- The filter.

  const fits = (status, type, kind, basis) =>
    wanted.status.has(status) &&
    (!wanted.type || wanted.type === (type || "none")) &&
    (!wanted.kind || wanted.kind === kind) &&
    (!wanted.basis || wanted.basis === basis);

  const words = () => wanted.q.toLowerCase().split(/\s+/).filter(Boolean);

  function matches(one, searched) {
    if (!fits(one.status.key, one.type, one.kind, one.basis)) return false;
    if (wanted.case && wanted.case !== one.id) return false;
    if (!searched.length) return true;
    const text = `${one.id} ${one.message} ${one.waiver} ${one.matched} ${one.grade}`.toLowerCase();
    return searched.every((word) => text.includes(word));
  }

  /** How many cases of each status an operator has under the filter, by the index alone: the search text is left out. */
  function tally(operator) {
    const found = new Map();
    for (let i = 0; i < operator.counts.length; i += 2) {
      const [status, type, kind, basis] = index.kinds[operator.counts[i]];
      if (fits(status, type, kind, basis)) found.set(status, (found.get(status) ?? 0) + operator.counts[i + 1]);
    }
    return found;
  }

  const sum = (found) => [...found.values()].reduce((a, b) => a + b, 0);

  let turn = 0; // a newer search ends an older one

  async function show() {
    const mine = ++turn;
    const groups = $("groups");
    groups.replaceChildren();
    const searched = words();
    const inside = searched.length > 0 || wanted.case !== "";
    const chosen = operators.filter((o) =>
      wanted.case ? wanted.case === o.name || wanted.case.startsWith(`${o.name}/`) : !wanted.operator || wanted.operator === o.name,
    );
    let cases = 0;
    let among = 0;
    for (const [done, operator] of chosen.entries()) {
      let found = tally(operator);
      if (!found.size) continue;
      if (inside) {
        $("found").textContent = `Searching: ${done + 1} of ${plural(chosen.length, "operator")}…`;
        try {
          found = new Map();
          for (const one of await load(operator))
            if (matches(one, searched)) found.set(one.status.key, (found.get(one.status.key) ?? 0) + 1);
        } catch (error) {
          groups.append(make("p", { class: "note" }, error.message));
          continue;
        }
        if (mine !== turn) return;
        if (!found.size) continue;
      }
      groups.append(group(operator, found, cases < OPEN, searched));
      cases += sum(found);
      among += 1;
    }
    const of = operators.reduce((all, o) => all + o.total, 0);
    const further = wanted.status.size < statuses.length ? "; tick more statuses to look further" : "";
    const found = cases ? `${number(cases)} of ${plural(of, "case")}, in ${plural(among, "operator")}` : `None of ${plural(of, "case")}${further}`;
    $("found").textContent = found;
  }

  // ---- What is shown.

  function group(operator, found, open, searched) {
    const counts = statuses.filter((s) => found.has(s.key)).map((s) =>
      make("span", { class: "some" }, symbol(s), ` ${number(found.get(s.key))} `, make("span", { class: "word" }, found.get(s.key) === 1 ? s.words : s.plural)),
    );
    const body = make("div", { class: "rows" });
    const details = make("details", { class: "group", open }, make("summary", {}, make("h3", {}, operator.name), ...counts), body);
    const fill = async () => {
      if (!details.open || body.childElementCount) return;
      body.append(make("p", { class: "hint" }, "Loading…"));
      try {
        const fitting = (await load(operator)).filter((one) => matches(one, searched)).sort((a, b) => a.status.rank - b.status.rank);
        body.replaceChildren();
        page(body, fitting, 0);
      } catch (error) {
        body.replaceChildren(make("p", { class: "note" }, error.message));
      }
    };
    details.addEventListener("toggle", fill);
    return details;
  }

  function page(body, fitting, from) {
    body.append(...fitting.slice(from, from + PAGE).map(row));
    const left = fitting.length - from - PAGE;
    if (left <= 0) return;
    const more = make("button", { type: "button", class: "quiet more", onclick: () => {
      const next = body.childElementCount - 1;
      more.remove();
      page(body, fitting, from + PAGE);
      body.children[next].querySelector("summary").focus();
    } }, `Show ${Math.min(left, PAGE)} more of ${number(left)}`);
    body.append(more);
  }

  function row(one) {
    const basis = one.basis === "documented" ? "" : one.basis;
    const tail = [one.grade, one.kind, basis, one.ulp === null ? "" : `${one.ulp} ULP`].filter(Boolean).join(" · ");
    const details = make(
      "details",
      { class: "case", open: wanted.case === one.id },
      make(
        "summary",
        {},
        symbol(one.status),
        make("span", { class: "hidden" }, one.status.words),
        make("code", {}, one.short),
        make("span", { class: "message" }, one.message || one.waiver),
        make("span", { class: "tail" }, tail),
      ),
    );
    const fill = () => details.open && details.childElementCount === 1 && details.append(whole(one));
    details.addEventListener("toggle", fill);
    return details;
  }

  const short = (value) => String(value).length <= 60 && !String(value).includes("\n") && (value === null || typeof value !== "object");

  function whole(one) {
    const found = Object.entries(one.evidence ?? {});
    return make(
      "div",
      { class: "whole" },
      one.message ? make("p", { class: "says" }, one.message) : null,
      wrong(one),
      one.repro ? copied("Run it again", one.repro) : null,
      make("dl", { class: "facts" }, ...facts(one, found.filter(([, value]) => short(value)))),
      ...found.filter(([, value]) => !short(value)).map(evidence),
      one.desc ? copied("Operator desc", pretty(one.desc)) : null,
    );
  }

  function facts(one, more) {
    const link = make("a", { href: `#case=${encodeURIComponent(one.id)}` }, one.id);
    const entries = [
      ["Case", link],
      ["Status", `${one.status.symbol} ${one.status.words}`],
      ["Basis", one.basis],
      ["Matched answer", one.matched],
      ["Kind", one.kind],
      ["Data type", one.type],
      ["Feature level", one.level.replace("_", ".")],
      ["Largest error", one.ulp === null ? "" : `${one.ulp} ULP`],
      ["Grade", one.grade],
      ["Waiver", one.waiver],
      ["Took", one.milliseconds ? `${one.milliseconds} ms` : ""],
      ...more.map(([name, value]) => [name, String(value)]),
    ];
    return entries.filter(([, value]) => value).map(([label, value]) => make("div", {}, make("dt", {}, label), make("dd", {}, value)));
  }

  function wrong(one) {
    if (!one.wrong && !one.mismatches) return null;
    const shown = one.mismatches ?? [];
    const amount = one.elements ? `${number(one.wrong ?? 0)} of ${plural(one.elements, "element")}` : plural(one.wrong ?? 0, "element");
    const text = `${amount} wrong${shown.length && shown.length < one.wrong ? `; the first ${shown.length}` : ""}`;
    if (!shown.length) return make("p", {}, text);
    const head = ["Tensor", "Index", "Expected", "Actual", "Error in ULP", "Allowed"].map((name) => make("th", { scope: "col" }, name));
    const rows = shown.map(([tensor, place, expected, actual, ulp, allowed]) =>
      make("tr", {}, ...[tensor, `[${place.join(", ")}]`, expected, actual, ulp === null ? "" : Number(ulp.toPrecision(4)), allowed].map((text) => make("td", {}, String(text)))),
    );
    const table = make("table", {}, make("caption", {}, text), make("thead", {}, make("tr", {}, ...head)), make("tbody", {}, ...rows));
    return make("div", { class: "wide" }, table);
  }

  const evidence = ([name, value]) =>
    make("figure", {}, make("figcaption", {}, name), make("pre", { tabindex: "0" }, typeof value === "string" ? value : pretty(value)));

  /** JSON with a line for each field of the outermost object: an operator desc reads like its struct. */
  function pretty(value) {
    const inline = (v) => {
      if (Array.isArray(v)) return `[${v.map(inline).join(", ")}]`;
      if (v && typeof v === "object") return `{${Object.entries(v).map(([k, e]) => `${JSON.stringify(k)}: ${inline(e)}`).join(", ")}}`;
      return JSON.stringify(v);
    };
    if (!value || typeof value !== "object" || Array.isArray(value)) return inline(value);
    return `{\n${Object.entries(value).map(([k, v]) => `  ${JSON.stringify(k)}: ${inline(v)}`).join(",\n")}\n}`;
  }

  function copied(label, text) {
    const code = make("pre", { tabindex: "0" }, text);
    return make("figure", { class: "copied" }, make("figcaption", {}, label, copyButton(code, label)), code);
  }

  function copyButton(code, label) {
    const button = make("button", { type: "button", class: "quiet copy", "aria-label": `Copy: ${label}` }, "Copy");
    button.addEventListener("click", async () => {
      let done = true;
      try {
        await navigator.clipboard.writeText(code.textContent);
      } catch {
        getSelection().selectAllChildren(code);
        done = document.execCommand("copy");
      }
      button.textContent = done ? "Copied" : "Press Ctrl+C";
      setTimeout(() => (button.textContent = "Copy"), 1500);
    });
    return button;
  }

  // ---- Light and dark.

  function theme(name) {
    const dark = name ? name === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    if (name) document.documentElement.dataset.theme = name;
    $("theme").textContent = dark ? "Light" : "Dark";
    $("theme").setAttribute("aria-label", `Change to ${dark ? "light" : "dark"} colours`);
    $("theme").onclick = () => {
      theme(dark ? "light" : "dark");
      try {
        localStorage.setItem("dmlcts-theme", dark ? "light" : "dark");
      } catch {
        // Not every browser keeps things for pages from the disk.
      }
    };
  }

  // ---- The controls.

  function controls() {
    for (const status of statuses)
      $("status").append(
        make("label", { class: "choice" }, make("input", { type: "checkbox", value: status.key, onchange: change }), symbol(status), ` ${status.words}`),
      );
    const kinds = (place) => [...new Set(index.kinds.map((kind) => kind[place] || "none"))].sort();
    const choices = { operator: operators.map((o) => o.name).sort(), type: kinds(1), kind: kinds(2), basis: kinds(3) };
    for (const name of FIELDS) {
      $(name).append(make("option", { value: "" }, "any"), ...choices[name].map((choice) => make("option", { value: choice }, choice)));
      $(name).addEventListener("change", change);
    }
    let timer = 0;
    $("q").addEventListener("input", () => {
      clearTimeout(timer);
      timer = setTimeout(change, 200);
    });
    $("filter").addEventListener("submit", (event) => event.preventDefault());
    $("reset").addEventListener("click", () => (location.hash = "reset"));
    const command = document.querySelector(".command");
    if (command) command.append(copyButton(command.querySelector("code"), "the command of this run"));
    $("filter").hidden = $("theme").hidden = false;
  }

  function change() {
    for (const name of [...FIELDS, "q"]) wanted[name] = $(name).value;
    wanted.status = new Set([...$("status").querySelectorAll("input:checked")].map((input) => input.value));
    wanted.case = "";
    writeAddress();
    show();
  }

  async function follow() {
    const looking = readAddress();
    for (const name of [...FIELDS, "q"]) $(name).value = wanted[name];
    for (const input of $("status").querySelectorAll("input")) input.checked = wanted.status.has(input.value);
    await show();
    if (looking) $("cases").scrollIntoView();
  }

  let kept = "";
  try {
    kept = localStorage.getItem("dmlcts-theme") ?? "";
  } catch {
    // As above.
  }
  theme(kept);
  controls();
  addEventListener("hashchange", follow);
  follow();
})();
