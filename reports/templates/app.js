"use strict";
// Lists the cases, and fills in what fails. data/cases.js has every case and is loaded at once, so that a search looks at nothing but memory;
// the details of an operator's failures are loaded when somebody looks at them. What a case says reaches the page as text nodes only.
(() => {
  const PAGE = 50; // rows that one step shows
  const FEW = 5; // rows of a group that are shown at first
  const OPEN = 30; // so many cases are opened unasked
  const PAUSE = 60; // milliseconds without a key before a search begins
  const index = JSON.parse(document.getElementById("index").textContent);
  const statuses = index.statuses.map(([key, symbol, words, plural, rank]) => ({ key, symbol, words, plural, rank }));
  const operators = index.operators.map(([name, file, page, spec]) => ({ name, file, page, spec, cases: [] }));
  const $ = (id) => document.getElementById(id);

  /** Gives an element attributes, listeners (on...) and children; strings become text nodes. */
  function fill(element, attributes, children) {
    for (const [name, value] of Object.entries(attributes)) {
      if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
      else if (value !== false && value !== null && value !== undefined) element.setAttribute(name, value === true ? "" : value);
    }
    element.append(...children.filter((child) => child !== null && child !== undefined));
    return element;
  }

  const make = (tag, attributes = {}, ...children) => fill(document.createElement(tag), attributes, children);
  const draw = (tag, attributes = {}, ...children) => fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
  const symbol = (status) => make("b", { class: `symbol ${status.key}`, "aria-hidden": "true" }, status.symbol);
  const number = (value) => value.toLocaleString("en");
  const plural = (value, noun) => `${number(value)} ${noun}${value === 1 ? "" : "s"}`;

  const ulps = (value) => (value === null ? "" : `${value < 1e5 ? value : value.toExponential(2)} ULP`);

  // ---- The data.

  const scripts = new Map();

  /** Loads a script once: a page from the disk may not fetch. */
  function load(file) {
    if (!scripts.has(file))
      scripts.set(
        file,
        new Promise((resolve, reject) => {
          const onerror = () => reject(new Error(`${file} could not be loaded; it belongs beside index.html`));
          document.head.append(make("script", { src: file, onload: resolve, onerror }));
        }),
      );
    return scripts.get(file);
  }

  async function inflate(text) {
    const packed = atob(text);
    const bytes = new Uint8Array(packed.length);
    for (let i = 0; i < packed.length; i++) bytes[i] = packed.charCodeAt(i);
    return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"))).text();
  }

  let shared = [];
  let every = [];

  /** Every case, in the order of the matrix. */
  async function unpack() {
    await load("data/cases.js");
    const data = JSON.parse(await inflate(window.dmlcts.cases));
    shared = data.shared.map(([status, type, kind, basis, level, grade, matched, message, waiver, repro]) => ({
      status: statuses[status], type, kind, basis, level, grade, matched, message, waiver, repro,
      text: `${message} ${waiver} ${matched} ${grade}`.toLowerCase(),
    }));
    for (const [i, [ids, common, milliseconds, ulps]] of data.operators.entries()) {
      const operator = operators[i];
      operator.cases = ids.map((short, row) => {
        const id = short.startsWith("/") ? operator.name + short : short;
        return { id, row, operator, short: short.startsWith("/") ? short.slice(1) : short, text: id.toLowerCase(), common: common[row], milliseconds: milliseconds[row], ulp: ulps[row] };
      });
    }
    every = operators.flatMap((operator) => operator.cases);
  }

  const ready = unpack();

  /** The details of an operator's cases by row, and its groups of failures as lists of rows. */
  async function details(operator) {
    if (!operator.file) return { details: {}, groups: [] };
    await load(operator.file);
    return window.dmlcts[`/${operator.name}`];
  }

  // ---- What is looked for: kept in the address, so that Back undoes a filter, and a view can be bookmarked and sent.

  const FIELDS = ["operator", "type", "kind", "basis"];
  let wanted = {};

  function readAddress() {
    const parameters = new URLSearchParams(location.hash.slice(1));
    wanted = Object.fromEntries([...FIELDS, "q", "case"].map((name) => [name, parameters.get(name) ?? ""]));
    const keys = parameters.get("status");
    wanted.status = new Set(keys === null ? statuses.map((s) => s.key) : keys.split(","));
    return [...FIELDS, "q", "case", "status"].some((name) => parameters.has(name));
  }

  function address() {
    const parameters = new URLSearchParams();
    if (statuses.some((s) => !wanted.status.has(s.key))) parameters.set("status", [...wanted.status].join(","));
    for (const name of [...FIELDS, "q"]) if (wanted[name]) parameters.set(name, wanted[name]);
    return `#${parameters}`;
  }

  let typing = false; // the letters of one search are one entry of the history

  function change(event) {
    for (const name of [...FIELDS, "q"]) wanted[name] = $(name).value;
    wanted.status = new Set([...$("status").querySelectorAll("input:checked")].map((input) => input.value));
    wanted.case = "";
    const letter = event.target === $("q");
    try {
      history[letter && typing ? "replaceState" : "pushState"](null, "", address());
    } catch {
      location.hash = address(); // some browsers refuse the other for pages from the disk
    }
    typing = letter;
    show();
  }

  /** Shows what the address says; ``jump``: and goes there. */
  function follow(jump) {
    typing = false;
    const looking = readAddress();
    for (const name of [...FIELDS, "q"]) $(name).value = wanted[name];
    for (const input of $("status").querySelectorAll("input")) input.checked = wanted.status.has(input.value);
    show();
    if (jump && looking) $("cases").focus();
  }

  /** The cases that fit, in the order of the matrix. */
  function fitting() {
    const words = wanted.q.toLowerCase().split(/\s+/).filter(Boolean);
    const seen = shared.map(
      (s) =>
        wanted.status.has(s.status.key) &&
        (!wanted.type || wanted.type === (s.type || "none")) &&
        (!wanted.kind || wanted.kind === s.kind) &&
        (!wanted.basis || wanted.basis === s.basis) &&
        words.map((word) => s.text.includes(word)),
    );
    return every.filter((one) => {
      const has = seen[one.common];
      if (!has || (wanted.case && wanted.case !== one.id) || (wanted.operator && wanted.operator !== one.operator.name)) return false;
      for (let i = 0; i < words.length; i++) if (!has[i] && !one.text.includes(words[i])) return false;
      return true;
    });
  }

  // ---- The list of cases.

  async function show() {
    try {
      await ready;
    } catch (error) {
      $("found").textContent = error.message;
      return;
    }
    const all = fitting();
    const of = plural(every.length, "case");
    if (all.length === every.length && all.length > PAGE) {
      $("groups").replaceChildren();
      $("found").textContent = `${of}. Search, or choose a status, an operator or a cell of the matrix, to list them.`;
      return;
    }
    const found = new Map();
    for (const one of all) {
      if (!found.has(one.operator)) found.set(one.operator, []);
      found.get(one.operator).push(one);
    }
    let shown = 0;
    const lists = [...found].map(([operator, cases]) => {
      const list = group(operator, cases, shown < OPEN);
      shown += cases.length;
      return list;
    });
    $("groups").replaceChildren(...lists);
    const further = wanted.status.size < statuses.length ? "; tick more statuses to look further" : "";
    $("found").textContent = all.length ? `${number(all.length)} of ${of}, in ${plural(found.size, "operator")}` : `None of ${of}${further}`;
  }

  function group(operator, cases, open) {
    const amounts = new Map();
    for (const one of cases) amounts.set(shared[one.common].status, (amounts.get(shared[one.common].status) ?? 0) + 1);
    const counts = [...amounts].sort(([a], [b]) => a.rank - b.rank).map(([status, amount]) =>
      make("span", { class: "some" }, symbol(status), ` ${number(amount)} `, make("span", { class: "word" }, amount === 1 ? status.words : status.plural)),
    );
    const body = make("div", { class: "rows" });
    return unfolding(make("details", { class: "operator", open }, make("summary", {}, make("h3", {}, operator.name), ...counts), body), () => {
      const links = [["Spec", operator.spec], ["Microsoft's page", operator.page]].filter(([, address]) => address);
      if (links.length) body.append(make("p", { class: "links" }, ...links.map(([text, href]) => make("a", { href }, text))));
      more(body, [...cases].sort((a, b) => shared[a.common].status.rank - shared[b.common].status.rank), 0);
    });
  }

  /** ``element``, of class details, that runs ``fill`` once, when it is first open. */
  function unfolding(element, fill) {
    let done = false;
    const opened = () => {
      if (!element.open || done) return;
      done = true;
      fill();
    };
    element.addEventListener("toggle", opened);
    opened();
    return element;
  }

  /** Adds the next rows, and a button for those after them. */
  function more(body, cases, from, amount = PAGE) {
    const rows = cases.slice(from, from + amount).map((one) => row(one, wanted.case === one.id));
    body.append(...rows);
    const left = cases.length - from - amount;
    if (left <= 0) return rows;
    const button = make("button", { type: "button", class: "quiet more", onclick: () => {
      button.remove();
      more(body, cases, from + amount)[0].querySelector("summary").focus();
    } }, left > PAGE ? `Show ${PAGE} more of ${number(left)}` : `Show ${left} more`);
    body.append(button);
    return rows;
  }

  function row(one, open) {
    const { status, message, waiver, kind, basis, grade } = shared[one.common];
    const tail = [grade, kind, basis === "documented" ? "" : basis, ulps(one.ulp)].filter(Boolean).join(" · ");
    const summary = make(
      "summary",
      {},
      symbol(status),
      make("span", { class: "hidden" }, status.words),
      make("code", {}, one.short),
      make("span", { class: "message" }, message || waiver),
      make("span", { class: "tail" }, tail),
    );
    const element = make("details", { class: "case", open }, summary);
    return unfolding(element, async () => {
      try {
        const found = (await details(one.operator)).details[one.row] ?? {};
        element.append(whole({ ...shared[one.common], ...one, ...found, waiver, message }));
        for (const pre of element.querySelectorAll("pre, .wide")) if (pre.scrollHeight > pre.clientHeight || pre.scrollWidth > pre.clientWidth) pre.tabIndex = 0;
      } catch (error) {
        element.append(make("p", { class: "note" }, error.message));
      }
    });
  }

  // ---- A case.

  const short = (value) => String(value).length <= 60 && !String(value).includes("\n") && (value === null || typeof value !== "object");

  function whole(one) {
    const found = Object.entries(one.evidence ?? {});
    const repro = one.repro.replaceAll("\0", () => one.id);
    return make(
      "div",
      { class: "whole" },
      one.message ? make("p", { class: "says" }, one.message) : null,
      one.waiver ? make("p", { class: "says" }, "Waiver: ", ...linked(one.waiver)) : null,
      one.drawing ? make("div", { class: "drawing", tabindex: "0", role: "region", "aria-label": `graph ${one.id}` }, pictured(one.drawing)) : null,
      one.maps ? make("div", { class: "pictures" }, ...one.maps.flatMap((map) => [errorMap(...map), histogram(...map)])) : null,
      wrong(one),
      repro ? copied("Run it again", repro) : null,
      one.model ? download(one) : null,
      make("dl", { class: "facts" }, ...facts(one, found.filter(([, value]) => short(value)))),
      ...found.filter(([, value]) => !short(value)).map(evidence),
      one.desc ? copied("Operator desc", pretty(one.desc)) : null,
    );
  }

  /** A text whose addresses are links. */
  const linked = (text) => text.split(/(https?:\/\/[^\s()<>"]+)/).map((part, i) => (i % 2 ? make("a", { href: part }, part) : part));

  function facts(one, others) {
    const entries = [
      ["Case", make("a", { href: `#case=${encodeURIComponent(one.id)}` }, one.id)],
      ["Status", `${one.status.symbol} ${one.status.words}`],
      ["Basis", one.basis],
      ["Matched answer", one.matched],
      ["Kind", one.kind],
      ["Data type", one.type],
      ["Feature level", one.level.replace("_", ".")],
      ["Largest error", ulps(one.ulp)],
      ["Grade", one.grade],
      ["Took", one.milliseconds ? `${one.milliseconds} ms` : ""],
      ...others.map(([name, value]) => [name, String(value)]),
    ];
    return entries.filter(([, value]) => value).map(([label, value]) => make("div", {}, make("dt", {}, label), make("dd", {}, value)));
  }

  /** A drawing: an element's name, its attributes, and what is in it. */
  const pictured = ([name, attributes, ...inside]) => draw(name, attributes, ...inside.map((each) => (Array.isArray(each) ? pictured(each) : each)));

  function download(one) {
    const save = () => {
      const address = URL.createObjectURL(new Blob([one.model], { type: "application/json" }));
      make("a", { href: address, download: `${one.id.replace(/[^A-Za-z0-9_.-]+/g, "-")}.json` }).click();
      setTimeout(() => URL.revokeObjectURL(address), 10_000);
    };
    return make("p", {}, make("button", { type: "button", onclick: save }, "Download as a DxDispatch model"));
  }

  // ---- Pictures of the errors.

  const figure = (caption, picture) => make("figure", {}, make("figcaption", {}, caption), picture);

  /** The index of the element at a place of some axes. */
  function unravel(place, sizes) {
    const found = [];
    for (const size of [...sizes].reverse()) {
      found.unshift(place % size);
      place = Math.floor(place / size);
    }
    return found;
  }

  const axes = (from, to) => (to - from === 0 ? "" : to - from === 1 ? ` (axis ${from})` : ` (axes ${from} to ${to - 1})`);

  /** Where the wrong elements lie: the darker a cell, the more of its elements are wrong. */
  function errorMap(tensor, sizes, split, cells) {
    const product = (list) => list.reduce((a, b) => a * b, 1);
    const [rows, columns] = [product(sizes.slice(0, split)), product(sizes.slice(split))];
    const [height, width] = [cells.length, cells[0].length];
    const side = Math.max(8, Math.min(20, Math.floor(256 / Math.max(width, height))));
    const place = (y, x) => `[${[...unravel(y, sizes.slice(0, split)), ...unravel(x, sizes.slice(split))].join(", ")}]`;
    const at = (i, size, parts) => Math.floor((i * size) / parts);
    const drawn = [...cells].flatMap((line, y) =>
      [...line].map((share, x) => {
        const first = place(at(y, rows, height), at(x, columns, width));
        const last = place(at(y + 1, rows, height) - 1, at(x + 1, columns, width) - 1);
        const title = first === last ? `${first} ${share > 0 ? "is wrong" : "is right"}` : `${first} to ${last}: ${share > 0 ? `up to ${Math.round((share * 100) / 9)} % wrong` : "none wrong"}`;
        const shape = { x: x * side, y: y * side, width: side - 1, height: side - 1, class: share > 0 ? "wrong" : "right", "fill-opacity": share > 0 ? 0.25 + share / 12 : 1 };
        return draw("rect", shape, draw("title", {}, title));
      }),
    );
    const size = { viewBox: `0 0 ${width * side} ${height * side}`, width: width * side, height: height * side };
    const text = `Wrong elements of ${tensor}: ${plural(rows, "row")}${axes(0, split)}, ${plural(columns, "column")}${axes(split, sizes.length)}`;
    return figure(text, draw("svg", { ...size, role: "img", "aria-label": text }, ...drawn));
  }

  const binLabels = () => [...index.ulps.map((end) => (end === 0.5 ? "½" : end >= 2 ** 20 ? `${end / 2 ** 20}M` : end >= 1024 ? `${end / 1024}k` : String(end))), "more", "none"];

  /** How many elements have which error: each bin up to its label, included. */
  function histogram(tensor, sizes, split, cells, right, wrong) {
    if (!right.length) return null;
    const [step, tall] = [24, 96];
    const most = Math.max(...right.map((amount, i) => amount + wrong[i]));
    const high = (amount) => (amount ? Math.max(2, (amount / most) * tall) : 0);
    const bars = binLabels().flatMap((label, i) => {
      const [good, bad] = [high(right[i]), high(wrong[i])];
      const at = { x: i * step + 2, width: step - 4 };
      const middle = { x: i * step + step / 2, "text-anchor": "middle" };
      const amount = right[i] + wrong[i];
      return [
        draw("rect", { ...at, y: 12 + tall - good, height: good, class: "fine" }),
        draw("rect", { ...at, y: 12 + tall - good - bad, height: bad, class: "wrong" }),
        amount ? draw("text", { ...middle, y: 9 + tall - good - bad }, number(amount)) : null,
        draw("text", { ...middle, y: tall + 24, class: "label" }, label),
      ].filter(Boolean);
    });
    const width = step * (index.ulps.length + 2);
    const line = draw("line", { x1: 0, x2: width, y1: tall + 12.5, y2: tall + 12.5 });
    const sum = (list) => list.reduce((a, b) => a + b, 0);
    const text = `Errors in ULP, up to each label: ${plural(sum(wrong), "wrong element")}, ${number(sum(right))} right`;
    return figure(text, draw("svg", { class: "bars", viewBox: `0 -2 ${width} ${tall + 30}`, width, height: tall + 30, role: "img", "aria-label": text }, line, ...bars));
  }

  function wrong(one) {
    if (!one.wrong && !one.mismatches) return null;
    const shown = one.mismatches ?? [];
    const amount = one.elements ? `${number(one.wrong ?? 0)} of ${plural(one.elements, "element")}` : plural(one.wrong ?? 0, "element");
    const first = shown.length && shown.length < one.wrong ? `; the first ${shown.length}` : "";
    if (!shown.length) return make("p", {}, `${amount} wrong`);
    const tensors = [...new Set(shown.map(([tensor]) => tensor))];
    // A column without information would push the others off a narrow screen.
    const columns = [
      ["Tensor", tensors.length > 1, ([tensor]) => tensor],
      ["Index", true, ([, place]) => `[${place.join(", ")}]`],
      ["Expected", true, ([, , expected]) => expected],
      ["Actual", true, ([, , , actual]) => actual],
      ["Error in ULP", shown.some(([, , , , ulp]) => ulp !== null), ([, , , , ulp]) => (ulp === null ? "" : Number(ulp.toPrecision(4)))],
      ["Allowed", true, ([, , , , , allowed]) => allowed],
    ].filter(([, informs]) => informs);
    const head = columns.map(([name]) => make("th", { scope: "col" }, name));
    const rows = shown.map((row) => make("tr", {}, ...columns.map(([, , text]) => make("td", {}, String(text(row))))));
    const text = `${amount} wrong${first}${tensors.length > 1 ? "" : ` (${tensors[0]})`}`;
    const table = make("table", {}, make("caption", {}, text), make("thead", {}, make("tr", {}, ...head)), make("tbody", {}, ...rows));
    return make("div", { class: "wide" }, table);
  }

  const evidence = ([name, value]) => figure(name, make("pre", {}, typeof value === "string" ? value : pretty(value)));

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
    const code = make("pre", {}, text);
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

  // ---- What fails: the page has its groups; their cases are filled in when one is opened.

  function failing() {
    const named = new Map(operators.map((operator) => [operator.name, operator]));
    for (const element of document.querySelectorAll(".failing details.group")) {
      const operator = named.get(element.dataset.operator);
      const body = element.querySelector(".rows");
      unfolding(element, async () => {
        try {
          await ready;
          const rows = (await details(operator)).groups[element.dataset.group];
          const shown = more(body, rows.map((row) => operator.cases[row]), 0, FEW);
          shown[0].open = true;
        } catch (error) {
          body.append(make("p", { class: "note" }, error.message));
        }
      });
    }
    for (const list of document.querySelectorAll(".failing, .failing .body")) {
      const rest = [...list.children].filter((child) => child.hidden);
      if (!rest.length) continue;
      const button = make("button", { type: "button", class: "quiet more", onclick: () => {
        for (const child of rest) child.hidden = false;
        button.remove();
        rest[0].querySelector("summary").focus();
      } }, `Show ${number(rest.length)} more`);
      rest[0].before(button);
    }
    const first = document.querySelector(".failing details.group");
    if (first) first.open = true;
  }

  // ---- The matrix: one stop for the Tab key; arrow keys move within.

  function matrix(table) {
    const link = (cell) => cell?.querySelector("a");
    let current = null;
    const move = (next) => {
      if (current) current.tabIndex = -1;
      current = next;
      current.tabIndex = 0;
    };
    for (const each of table.querySelectorAll("tbody a")) each.tabIndex = -1;
    move(table.querySelector("tbody a"));
    table.closest(".scroll").removeAttribute("tabindex");
    table.addEventListener("focusin", (event) => move(event.target));
    table.addEventListener("keydown", (event) => {
      const [down, right] = { ArrowDown: [1, 0], ArrowUp: [-1, 0], ArrowRight: [0, 1], ArrowLeft: [0, -1] }[event.key] ?? [0, 0];
      if (!down && !right) return;
      event.preventDefault();
      const rows = table.tBodies[0].rows;
      const cell = event.target.closest("th, td");
      let [y, x] = [cell.parentElement.sectionRowIndex + down, cell.cellIndex + right];
      while (rows[y]?.cells[x] && !link(rows[y].cells[x])) [y, x] = [y + down, x + right]; // over empty cells
      link(rows[y]?.cells[x])?.focus();
    });
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
    for (const name of FIELDS) $(name).addEventListener("change", change);
    let timer = 0;
    $("q").addEventListener("input", (event) => {
      clearTimeout(timer);
      timer = setTimeout(change, PAUSE, event);
    });
    $("q").addEventListener("blur", () => (typing = false));
    $("filter").addEventListener("submit", (event) => event.preventDefault());
    $("reset").addEventListener("click", () => (location.hash = "all"));
    const command = document.querySelector(".command");
    if (command) command.append(copyButton(command.querySelector("code"), "the command of this run"));
    $("filter").hidden = $("theme").hidden = false;
  }

  /** The choices of the filter, known once all cases are there. */
  function choices() {
    const among = (name) => [...new Set(shared.map((s) => s[name] || "none"))].sort();
    const found = { operator: operators.map((o) => o.name).sort(), type: among("type"), kind: among("kind"), basis: among("basis") };
    for (const name of FIELDS) {
      $(name).append(make("option", { value: "" }, "any"), ...found[name].map((choice) => make("option", { value: choice }, choice)));
      $(name).value = wanted[name];
    }
  }

  let kept = "";
  try {
    kept = localStorage.getItem("dmlcts-theme") ?? "";
  } catch {
    // As above.
  }
  theme(kept);
  controls();
  readAddress();
  ready.then(choices, () => {});
  failing();
  const table = document.querySelector(".matrix");
  if (table) matrix(table);
  let clicked = false;
  document.addEventListener("click", (event) => {
    const link = event.target.closest?.('a[href^="#"]');
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
    if (link.dataset.focus) {
      event.preventDefault();
      $(link.dataset.focus).focus();
    } else if (link.hash === location.hash) follow(true);
    else clicked = true;
  });
  addEventListener("hashchange", () => {
    follow(clicked);
    clicked = false;
  });
  follow(true);
})();
