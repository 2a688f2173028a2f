"use strict";
// Filters the matrix, shows an operator by data type and its cases by run. Everything that is shown is in the address, so that each cell has a link that
// can be sent. What a case says reaches the page as text nodes only.
(async () => {
  const PAGE = 50; // rows that one step shows
  const NAMES = { p: "pass", P: "unexpected_pass", f: "fail", e: "error", w: "waived", u: "unsupported", n: "not_run", ".": "missing" };
  const SIGNS = { pass: "✓", unexpected_pass: "±", fail: "✗", error: "!", waived: "~", unsupported: "–", not_run: "○", missing: "·", later: "·" };
  const WORSE = ["error", "fail", "unexpected_pass", "waived", "not_run", "pass", "unsupported"];
  const BAD = new Set(["error", "fail", "unexpected_pass", "waived"]);
  const FIELDS = ["q", "view", "type", "a", "b", "only"];
  const PLACES = ["operator", "run", "cause"];
  const $ = (id) => document.getElementById(id);

  async function inflate(text) {
    const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
    return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"))).text();
  }

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

  const number = (value) => value.toLocaleString("en");
  const plural = (value, noun) => `${number(value)} ${noun}${value === 1 ? "" : "s"}`;
  const state = (counts) => WORSE.find((status) => counts[status]) ?? "not_run";
  const bad = (counts) => Object.entries(counts).reduce((sum, [status, many]) => sum + (BAD.has(status) ? many : 0), 0);
  const countsText = (counts) => WORSE.filter((status) => counts[status]).map((status) => `${number(counts[status])} ${status.replace("_", " ")}`).join(", ");

  const data = JSON.parse(await inflate(packed));
  const keys = data.runs.map((run) => run.key);
  const operators = Object.keys(data.operators);
  const isOperator = (name) => name !== "api"; // the row of the API's promises
  const rows = [...$("matrix").tBodies[0].rows];
  const types = [...new Set(Object.values(data.operators).flatMap((row) => row.flatMap((cell) => Object.keys(cell.types ?? {}))))].sort();
  const cases = data.cases;
  let wanted = {};

  // ---- The address.

  function readAddress() {
    const parameters = new URLSearchParams(location.hash.slice(1));
    wanted = Object.fromEntries([...FIELDS, ...PLACES].map((name) => [name, parameters.get(name) ?? ""]));
    for (const name of FIELDS) {
      $(name).value = wanted[name];
      if ($(name).value !== wanted[name]) $(name).value = wanted[name] = ""; // a run that is not here any more
    }
  }

  function address(changes) {
    const parameters = new URLSearchParams();
    for (const [name, value] of Object.entries({ ...wanted, ...changes })) if (value) parameters.set(name, value);
    return `#${parameters}`;
  }

  let typing = false;

  function change(event) {
    const found = address(Object.fromEntries(FIELDS.map((name) => [name, $(name).value])));
    const letter = event.target === $("q");
    try {
      history[letter && typing ? "replaceState" : "pushState"](null, "", found);
    } catch {
      location.hash = found; // some browsers refuse the other for pages from the disk
    }
    typing = letter;
    show(false);
  }

  // ---- The matrix.

  /** What a cell is worth, in all data types or one: null if the run has nothing of it. */
  const worth = (operator, place) => {
    const cell = data.operators[operator][place];
    if (!cell.counts) return null;
    return wanted.type ? (cell.types[wanted.type] ?? null) : cell.counts;
  };

  const [left, right] = [() => keys.indexOf(wanted.a), () => keys.indexOf(wanted.b)];

  /** Whether two letters say something else; what one run lacks says nothing. */
  const differ = (one, other) => one !== other && one !== "." && other !== "." && one !== "n" && other !== "n";

  function shownOperators() {
    const words = wanted.q.toLowerCase().split(/\s+/).filter(Boolean);
    const [a, b, only] = [left(), right(), keys.indexOf(wanted.only)];
    const own = cases.filter((c) => !wanted.type || c.data_type === wanted.type);
    const different = new Set(a >= 0 && b >= 0 ? own.filter((c) => differ(c.letters[a], c.letters[b])).map((c) => c.operator) : []);
    const alone = new Set(only >= 0 ? own.filter((c) => isAlone(c, only)).map((c) => c.operator) : []);
    return operators.filter((operator) => {
      const cells = keys.map((_, place) => worth(operator, place));
      const values = cells.filter(Boolean).map((counts) => `${state(counts)} ${bad(counts)}`);
      if (!words.every((word) => operator.toLowerCase().includes(word)) || !values.length) return false;
      if (a >= 0 && b >= 0)
        return different.has(operator) || (cells[a] && cells[b] && `${state(cells[a])} ${bad(cells[a])}` !== `${state(cells[b])} ${bad(cells[b])}`);
      if (only >= 0) return alone.has(operator);
      if (wanted.view === "all" || wanted.q) return true;
      return wanted.view === "fails" ? cells.some((counts) => counts && bad(counts)) : new Set(values).size > 1;
    });
  }

  /** Whether a case fails in one run alone, and passes in another. */
  const isAlone = (one, place) => "few".includes(one.letters[place]) && [...one.letters].every((letter, at) => at === place || !"few".includes(letter)) && /[pP]/.test(one.letters);

  function paint(cell, counts, name) {
    const link = cell.querySelector("a");
    if (!link) return;
    const own = counts ?? {};
    cell.className = counts ? state(own) : "missing";
    link.textContent = counts ? SIGNS[state(own)] + (bad(own) ? ` ${number(bad(own))}` : "") : "·";
    link.title = counts ? `${name}: ${countsText(own)}` : `${name}: nothing in this data type`;
  }

  let shown = [];

  function show(jump) {
    readAddress();
    shown = shownOperators();
    const visible = new Set(shown);
    for (const row of rows) {
      const operator = operators[row.dataset.operator];
      row.hidden = !visible.has(operator);
      if (row.hidden) continue;
      row.cells[0].firstElementChild.href = address({ operator, run: "", cause: "" });
      for (const [place, key] of keys.entries()) {
        const cell = row.cells[place + 1];
        if (cell.querySelector("a")) cell.querySelector("a").href = address({ operator, run: key, cause: "" });
        paint(cell, worth(operator, place), key);
        cell.classList.toggle("chosen", wanted.operator === operator && wanted.run === key);
      }
    }
    for (const row of $("matrix").rows)
      for (const [place] of keys.entries()) row.cells[place + 1].hidden = left() >= 0 && right() >= 0 && place !== left() && place !== right();
    const counted = shown.filter(isOperator).length;
    const one = counted === 1;
    const what = { "": one ? "differs" : "differ", fails: `${one ? "fails" : "fail"} in some run`, all: "in all" }[wanted.view];
    const two = left() >= 0 && right() >= 0;
    const why = two ? `differ between ${wanted.a} and ${wanted.b}` : wanted.only ? `have cases that fail only in ${wanted.only}` : wanted.q ? "match" : what;
    $("found").textContent = `${counted} of ${plural(operators.filter(isOperator).length, "operator")} ${why}${wanted.type ? `, in ${wanted.type}` : ""}.`;
    detail(jump);
  }

  // ---- One operator, cause, pair of runs, or run.

  function chosenCases() {
    const [a, b, only, run] = [left(), right(), keys.indexOf(wanted.only), keys.indexOf(wanted.run)];
    return cases.filter(
      (c) =>
        (!wanted.operator || c.operator === wanted.operator) &&
        (!wanted.type || c.data_type === wanted.type) &&
        (wanted.cause === "" || String(c.cause) === wanted.cause) &&
        (only < 0 || isAlone(c, only)) &&
        (run < 0 || "fewuP".includes(c.letters[run])) &&
        (!(a >= 0 && b >= 0) || differ(c.letters[a], c.letters[b])),
    );
  }

  function letters(one) {
    return make(
      "td",
      { class: "letters" },
      ...[...one.letters].map((letter, place) =>
        make("b", { class: `symbol ${NAMES[letter]}`, title: `${keys[place]}: ${NAMES[letter].replace("_", " ")}`, role: "img", "aria-label": `${keys[place]}: ${NAMES[letter].replace("_", " ")}` }, SIGNS[NAMES[letter]]),
      ),
    );
  }

  function byType(operator) {
    const row = data.operators[operator];
    const own = types.filter((type) => row.some((cell) => cell.types?.[type]));
    const head = make("tr", {}, make("th", { scope: "col" }, "Data type"), ...keys.map((key) => make("th", { scope: "col" }, key)));
    const body = own.map((type) =>
      make(
        "tr",
        {},
        make("th", { scope: "row" }, make("a", { href: address({ operator, type }) }, type)),
        ...row.map((cell, place) => {
          const counts = cell.types?.[type];
          return counts
            ? make("td", { class: state(counts), title: `${keys[place]}: ${countsText(counts)}` }, SIGNS[state(counts)] + (bad(counts) ? ` ${number(bad(counts))}` : ""))
            : make("td", { class: "missing" }, "·");
        }),
      ),
    );
    return make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": `${operator} by data type and run` }, make("table", { class: "matrix" }, make("thead", {}, head), make("tbody", {}, ...body)));
  }

  function list(found) {
    const body = make("tbody");
    const more = (from) => {
      for (const c of found.slice(from, from + PAGE)) body.append(make("tr", {}, make("th", { scope: "row" }, c.case), letters(c), make("td", {}, c.message)));
      if (found.length > from + PAGE) {
        const button = make("button", { type: "button", class: "quiet", onclick: () => {
          button.remove();
          more(from + PAGE);
        } }, `Show ${number(Math.min(PAGE, found.length - from - PAGE))} more of ${number(found.length)}`);
        body.parentElement.after(button);
      }
    };
    const table = make("table", { class: "cases" }, body);
    const box = make("div", {}, table);
    more(0);
    return box;
  }

  function detail(jump) {
    const parts = [];
    const two = left() >= 0 && right() >= 0;
    const any = wanted.operator || wanted.cause !== "" || two || wanted.only;
    $("one").hidden = !any;
    if (!any) return;
    const cause = data.causes[wanted.cause];
    const about = cause ? cause.operators.join(", ") : wanted.operator || (wanted.only ? `Fails only in ${wanted.only}` : `${wanted.a} and ${wanted.b}`);
    $("one-title").textContent = [about, wanted.type && `in ${wanted.type}`, wanted.run && `in ${wanted.run}`].filter(Boolean).join(" ");
    if (cause) parts.push(make("p", { class: "says" }, `${cause.symptom}${cause.detail ? `: ${cause.detail}` : ""}; ${cause.when}.${cause.explanation ? ` As explained ${cause.explanation}.` : ""}`));
    if (wanted.operator && data.operators[wanted.operator]) {
      const place = keys.indexOf(wanted.run);
      const counts = place >= 0 ? worth(wanted.operator, place) : null;
      if (counts) parts.push(make("p", {}, `${wanted.run}: ${countsText(counts)}.`));
      parts.push(byType(wanted.operator));
      const causes = data.causes.map((each, at) => [each, at]).filter(([each]) => each.operators.includes(wanted.operator) && (!wanted.run || each.bad.includes(wanted.run)));
      if (causes.length)
        parts.push(make("ul", { class: "explanations" }, ...causes.map(([each, at]) => make("li", {}, make("a", { href: address({ operator: "", run: "", cause: String(at) }) }, each.symptom), `, ${plural(each.cases, "case")}: ${each.when}`))));
    }
    const found = chosenCases();
    parts.push(make("h3", {}, found.length ? plural(found.length, "case") : "No case that fails, is waived or is unsupported beside what is declared"));
    if (found.length) parts.push(list(found));
    if (data.cases_left_out) parts.push(make("p", { class: "hint" }, `${number(data.cases_left_out)} cases are in runs.json alone.`));
    $("one-body").replaceChildren(...parts);
    if (jump) {
      $("one").scrollIntoView({ block: "start" });
      $("one-title").focus({ preventScroll: true });
    }
  }

  // ---- JSON of what is shown.

  function save() {
    const places = keys.map((_, place) => place).filter((place) => !(left() >= 0 && right() >= 0) || place === left() || place === right());
    const found = {
      format: "dmlcts-runs-view-1",
      address: location.hash,
      runs: places.map((place) => data.runs[place]),
      operators: Object.fromEntries(shown.map((operator) => [operator, places.map((place) => worth(operator, place))])),
      cases: $("one").hidden ? [] : chosenCases().map((c) => ({ ...c, letters: places.map((place) => c.letters[place]).join("") })),
    };
    const link = make("a", { href: URL.createObjectURL(new Blob([JSON.stringify(found, null, 1)], { type: "application/json" })), download: "runs-view.json" });
    document.body.append(link);
    link.click();
    link.remove();
  }

  // ---- Light and dark, arrow keys in the matrix.

  function theme(name) {
    const dark = name ? name === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    if (name) document.documentElement.dataset.theme = name;
    $("theme").textContent = dark ? "Light" : "Dark";
    $("theme").setAttribute("aria-label", `Change to ${dark ? "light" : "dark"} colours`);
    $("theme").onclick = () => theme(dark ? "light" : "dark");
  }

  function arrows(table) {
    const link = (cell) => (cell && !cell.hidden ? cell.querySelector("a") : null);
    for (const each of table.querySelectorAll("tbody a")) each.tabIndex = -1;
    const first = () => table.querySelector("tbody tr:not([hidden]) a");
    const stop = (next) => {
      for (const each of table.querySelectorAll("tbody a[tabindex='0']")) each.tabIndex = -1;
      if (next) next.tabIndex = 0;
    };
    stop(first());
    table.closest(".scroll").addEventListener("focus", () => stop(first()));
    table.addEventListener("focusin", (event) => stop(event.target.closest("a")));
    table.addEventListener("keydown", (event) => {
      const [down, over] = { ArrowDown: [1, 0], ArrowUp: [-1, 0], ArrowRight: [0, 1], ArrowLeft: [0, -1] }[event.key] ?? [0, 0];
      if (!down && !over) return;
      event.preventDefault();
      const lines = [...table.tBodies[0].rows].filter((row) => !row.hidden);
      const cell = event.target.closest("th, td");
      let [y, x] = [lines.indexOf(cell.parentElement) + down, cell.cellIndex + over];
      while (lines[y]?.cells[x] && !link(lines[y].cells[x])) [y, x] = [y + down, x + over]; // over empty cells
      link(lines[y]?.cells[x])?.focus();
    });
  }

  for (const [name, choices] of [["type", types], ["a", keys], ["b", keys], ["only", keys]]) $(name).append(...choices.map((choice) => make("option", { value: choice }, choice)));
  for (const name of FIELDS) $(name).addEventListener(name === "q" ? "input" : "change", change);
  $("q").addEventListener("blur", () => (typing = false));
  $("filter").addEventListener("submit", (event) => event.preventDefault());
  $("reset").addEventListener("click", () => (location.hash = "all"));
  $("json").addEventListener("click", save);
  const hidden = [...document.querySelectorAll(".failing > details[hidden]")];
  if (hidden.length) {
    const button = make("button", { type: "button", class: "quiet", onclick: () => {
      for (const each of hidden) each.hidden = false;
      button.remove();
      hidden[0].querySelector("summary").focus();
    } }, `Show ${number(hidden.length)} more`);
    hidden[0].before(button);
  }
  theme("");
  addEventListener("hashchange", () => show(true));
  show(Boolean(location.hash));
  arrows($("matrix"));
  $("filter").hidden = $("theme").hidden = false;
})();
