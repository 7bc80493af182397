"use strict";
// The page itself: filters, cards, keys and the address, which remembers what is shown.
(() => {
  const $ = (id) => document.getElementById(id);
  const { make } = Board;
  const state = { words: "", statuses: new Set(), hidden: new Set(), module: "", age: "", sort: "" };
  const VIEWS = ["matrix", "compare", "health"];
  let matrix, details, compare, health, view = "matrix", ready = false;

  const narrow = matchMedia("(max-width: 760px)"); // as in board.css
  // A phone shows few columns: there those come first that have most red cells.
  const columns = () => {
    const shown = Board.backends.map((_, index) => index).filter((index) => !state.hidden.has(index));
    return narrow.matches ? shown.sort((a, b) => Board.redIn(b) - Board.redIn(a) || a - b) : shown;
  };

  function refresh() {
    const begun = performance.now();
    const shown = columns();
    const rows = Board.sort(Board.filter({ ...state, question: understood(), columns: shown }), state.sort, shown);
    const searching = Boolean(state.words || state.statuses.size || state.module || state.age);
    matrix.show(rows, shown, state.sort === "", searching);
    drawChips(rows, shown);
    drawCards();
    const all = Board.rows.length;
    $("count").textContent = rows.length === all ? `${all.toLocaleString("en")} tests`
      : `${rows.length.toLocaleString("en")} of ${all.toLocaleString("en")} tests`;
    $("nothing").hidden = rows.length > 0;
    $("reset").hidden = !(state.words || state.statuses.size || state.hidden.size || state.module || state.age);
    remember();
    document.documentElement.dataset.refreshMs = (performance.now() - begun).toFixed(1);
    document.documentElement.dataset.rows = rows.length;
  }

  // What was typed, as a question. While it is none, its words are looked for, and the page says why.
  function understood() {
    $("question-problem").hidden = true;
    try {
      return Board.question(state.words);
    } catch (error) {
      $("question-problem").textContent = error.message;
      $("question-problem").hidden = false;
      const words = state.words.toLowerCase().split(/\s+/).filter(Boolean);
      return (row) => words.every((word) => row.words.includes(word));
    }
  }

  // The joint score: rows that are green on all backends.
  function jointCard() {
    if (Board.width < 2) return [];
    const score = Board.totals().joint;
    const target = Board.target === null ? "" : `, target ${Board.target}%`;
    const card = make("a", { class: "card joint", href: "#q=not+is%3Agreen", title: "Show the tests that are not green on all backends" },
      make("span", { class: "card-name" }, "All backends"), make("span", { class: "card-share" }, Board.percent(score)),
      Board.targetBar(score),
      make("span", { class: "card-text" }, score.of ? `${score.green.toLocaleString("en")} of ${score.of.toLocaleString("en")} tests green on all${target}`
        : "no test on two backends"));
    return [make("li", {}, card)];
  }

  // A card per backend: how much of it is green, whatever is filtered. Pressed cards are columns.
  function drawCards() {
    const focused = document.activeElement?.dataset?.backend;
    $("cards").replaceChildren(...jointCard(), ...Board.backends.map((backend, index) => {
      const counts = Board.totals().counts[index];
      const score = Board.score(counts);
      const text = score.of ? `${score.green.toLocaleString("en")} of ${score.of.toLocaleString("en")} green`
        : score.ran ? "all skipped" : "never run";
      const button = make("button", { class: "card", "aria-pressed": !state.hidden.has(index),
        "data-backend": index, title: `Show or hide ${backend.label}` },
      make("span", { class: "card-name" }, backend.label),
      make("span", { class: "card-share" }, Board.percent(score)),
      Board.bar(counts.slice(0, -1), score.ran || 1),
      make("span", { class: "card-text" }, text));
      button.addEventListener("click", () => {
        if (!state.hidden.delete(index)) state.hidden.add(index);
        if (state.hidden.size === Board.width) state.hidden.clear();
        refresh();
      });
      return make("li", {}, button);
    }));
    if (focused !== undefined) $("cards").querySelector(`[data-backend="${focused}"]`)?.focus();
  }

  function drawChips(rows, shown) {
    const focused = document.activeElement?.dataset?.status;
    const counts = Board.count(rows, shown);
    const names = [...Board.outcomes, "never run"];
    $("chips").replaceChildren(...names.map((name, index) => {
      const code = index === Board.outcomes.length ? Board.NEVER : index;
      const chip = make("button", { class: `chip ${code === Board.NEVER ? "never" : name}`,
        "aria-pressed": state.statuses.has(code), "data-status": name,
        title: Board.meanings[name] || "no run has this cell" },
      make("b", { "aria-hidden": "true" }, Board.GLYPHS[name] || " "), make("span", {}, name),
      make("span", { class: "number" }, counts[index].toLocaleString("en")));
      chip.addEventListener("click", () => {
        if (!state.statuses.delete(code)) state.statuses.add(code);
        refresh();
      });
      return chip;
    }));
    if (focused) $("chips").querySelector(`[data-status="${focused}"]`)?.focus();
  }

  // The address after "#" holds all that is chosen, so that a view can be sent to somebody.
  function remember() {
    if (!ready) return;
    const words = new URLSearchParams();
    if (Board.branch !== Board.defaultBranch) words.set("branch", Board.branch);
    if (state.words) words.set("q", state.words);
    if (state.statuses.size) words.set("status", [...state.statuses].map((c) => (c < 0 ? "never" : Board.outcomes[c])).join(","));
    if (state.hidden.size) words.set("hide", [...state.hidden].map((i) => Board.backends[i].name).join(","));
    for (const key of ["module", "age", "sort"]) if (state[key]) words.set(key, state[key]);
    if (view === "compare") { words.set("base", compare.base.value); words.set("head", compare.head.value); }
    if (view === "health") words.set("view", "time");
    if (details.cell) {
      words.set("of", details.cell.test.module.name);
      words.set("test", details.cell.test.name);
      words.set("on", details.cell.backend.name);
    }
    history.replaceState(null, "", words.size ? `#${words}` : location.pathname + location.search);
  }

  // Show what the address says.
  async function recall() {
    ready = false;
    const words = new URLSearchParams(location.hash.slice(1));
    await readBranch(words.get("branch"));
    const list = (key) => (words.get(key) || "").split(",").filter(Boolean);
    state.words = words.get("q") || "";
    state.statuses = new Set(list("status").map((name) => Board.outcomes.indexOf(name)));
    state.hidden = new Set(list("hide").map((name) => Board.backends.findIndex((b) => b.name === name)).filter((i) => i >= 0));
    for (const key of ["module", "age", "sort"]) state[key] = words.get(key) || "";
    $("search").value = state.words;
    for (const key of ["module", "age", "sort"]) $(key).value = state[key];
    compare.choose(words.get("base"), words.get("head"));
    refresh();
    show(words.has("base") || words.has("head") ? "compare" : words.get("view") === "time" ? "health" : "matrix");
    const test = words.has("test") && Board.tests.find((one) => one.name === words.get("test") && one.module.name === words.get("of"));
    const backend = [...Board.backendById.values()].find((one) => one.name === words.get("on"));
    ready = true;
    if (test && backend) openCell(test, backend.id);
    else if (words.has("test")) complain(new Error(`This board has no cell ${words.get("test")} on ${words.get("on")}.`));
    else if (details.dialog.open) details.dialog.close();
  }

  function show(name) {
    view = name;
    for (const each of VIEWS) {
      $(`view-${each}`).hidden = each !== name;
      $(`tab-${each}`).setAttribute("aria-selected", String(each === name));
      $(`tab-${each}`).tabIndex = each === name ? 0 : -1;
    }
    if (name === "compare") compare.draw().catch(complain);
    else if (name === "health") health.draw().catch(complain);
    else matrix.draw();
    remember();
  }

  const openCell = (test, backend) => details.show(test, backend);

  // Read the board of a branch, the default one if it has none of this name.
  async function readBranch(name) {
    const chosen = Board.branches?.find((branch) => branch.name === name);
    const overview = await Board.load(chosen?.id ? `overview-${chosen.id}` : "overview");
    if (overview !== Board.shown) Board.read(overview); // a large one takes its time
    Board.shown = overview;
    document.title = `${Board.title} · board`;
    $("project").textContent = Board.title;
    const [newest] = Board.runs;
    $("subtitle").textContent = newest
      ? `${Board.rows.length.toLocaleString("en")} tests · ${Board.width} backend${Board.width === 1 ? "" : "s"} · `
        + `${Board.branch}, latest run ${Board.date(newest.started)} at ${Board.commit(newest.commit)}`
      : "Nothing has been recorded yet.";
    const reached = newest && Board.died.get(newest.id);
    $("died").hidden = reached === undefined;
    $("died").textContent = reached === undefined ? ""
      : `The latest run died at ${reached} %. Cells that it did not reach show older runs, or that it died.`;
    $("broken-modules").hidden = Board.broken === null;
    $("broken-modules").textContent = Board.broken === null ? "" : `${Board.broken}.`;
    $("branches").hidden = Board.branches.length < 2;
    $("branch").replaceChildren(...Board.branches.map((branch) => make("option", {}, branch.name)));
    $("branch").value = Board.branch;
    const options = (some) => some.map(([value, text]) => make("option", { value }, text));
    const groups = Board.sections.filter(({ key }) => key.startsWith("group:")).map(({ key, name: of }) => [key, of]);
    const used = new Set(Board.rows.map((row) => row.module));
    const modules = Board.modules.filter((module) => used.has(module)).map(({ name: of }) => [of, of]);
    $("module-label").textContent = groups.length ? "Group" : "Module";
    $("module").replaceChildren(...options([["", groups.length ? "all groups" : "all modules"]]), ...(groups.length
      ? [make("optgroup", { label: "Groups" }, ...options(groups)), make("optgroup", { label: "Modules" }, ...options(modules))]
      : options(modules)));
  }

  function reset() {
    Object.assign(state, { words: "", statuses: new Set(), hidden: new Set(), module: "", age: "" });
    for (const id of ["search", "module", "age"]) $(id).value = "";
    refresh();
    $("search").focus();
  }

  function drawBadges() {
    const file = (name) => name.replace(/[^\p{L}\p{N}._-]/gu, ".").replace(/^\.+|\.+$/g, "").slice(0, 150) || "unnamed";
    const entry = (path, name) => make("li", {}, make("img", { src: `badges/${path}`, alt: `${name} badge`, loading: "lazy" }),
      make("code", {}, `![${name}](${new URL(`badges/${path}`, location.href).href.split("#")[0]})`));
    const groups = Board.sections.filter(({ key }) => key.startsWith("group:"));
    const joint = Board.totals().joint.of ? [entry("joint.svg", "All backends")] : [];
    $("badge-list").replaceChildren(entry("all.svg", Board.title), ...joint,
      ...Board.backends.map(({ name, label }) => entry(`backend.${file(name)}.svg`, label)),
      ...groups.map(({ name }) => entry(`group.${file(name)}.svg`, name)),
      ...Board.modules.map(({ name }) => entry(`module.${file(name)}.svg`, name)));
    $("badges").showModal();
  }

  // Questions that everybody asks, as links: the address after "#q=" is the question.
  function drawPresets() {
    $("presets").replaceChildren(...Board.presets.map(([name, question]) => {
      const link = make("a", { href: `#${new URLSearchParams({ q: question })}`, title: question }, name);
      return make("li", {}, link);
    }));
  }

  function drawLegend() {
    const entries = [...Board.outcomes.map((name) => [name, Board.meanings[name]]), ["never run", "the cell stays empty"]];
    $("legend").replaceChildren(...entries.map(([name, meaning]) => make("div", { class: name === "never run" ? "never" : name },
      make("dt", {}, make("span", { class: "pill" }, make("b", { "aria-hidden": "true" }, Board.GLYPHS[name] || " "), make("span", {}, name))),
      make("dd", {}, meaning))));
  }

  function keys(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
    const typing = event.target.matches("input, select, textarea");
    if (event.key === "Escape" && event.target === $("search") && state.words) {
      event.preventDefault();
      $("search").value = state.words = "";
      refresh();
    }
    if (typing) {
      if (event.target === $("search") && event.key === "ArrowDown") { event.preventDefault(); $("grid").focus(); }
      return;
    }
    const actions = {
      "/": () => { show("matrix"); $("search").focus(); $("search").select(); },
      m: () => show("matrix"), c: () => show("compare"), t: () => show("health"), d: () => window.toggleTheme(), "?": () => $("help").showModal(),
    };
    if (event.key in actions) { event.preventDefault(); actions[event.key](); }
  }

  function complain(error) {
    $("problem").textContent = error.message;
    $("problem").hidden = false;
  }

  async function start() {
    Board.shown = await Board.load("overview");
    Board.read(Board.shown);
    details = new Board.Details(remember);
    matrix = new Board.Matrix(openCell);
    compare = new Board.Compare(openCell, remember);
    health = new Board.Health(openCell, (run) => { compare.choose(null, `run:${run}`); show("compare"); });
    drawLegend();
    drawPresets();
    await recall();
    narrow.addEventListener("change", refresh);
    $("search").addEventListener("input", (event) => { state.words = event.target.value; refresh(); });
    for (const key of ["module", "age", "sort"]) {
      $(key).addEventListener("change", (event) => { state[key] = event.target.value; refresh(); });
    }
    $("branch").addEventListener("change", (event) => {
      state.hidden.clear();
      state.module = "";
      readBranch(event.target.value).then(refresh).catch(complain);
    });
    $("reset").addEventListener("click", reset);
    $("show-badges").addEventListener("click", drawBadges);
    $("show-help").addEventListener("click", () => $("help").showModal());
    $("theme").addEventListener("click", () => window.toggleTheme());
    VIEWS.forEach((name, index) => {
      $(`tab-${name}`).addEventListener("click", () => show(name));
      $(`tab-${name}`).addEventListener("keydown", (event) => {
        const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
        if (!step) return;
        const other = VIEWS[(index + step + VIEWS.length) % VIEWS.length];
        show(other);
        $(`tab-${other}`).focus();
      });
    });
    for (const dialog of document.querySelectorAll("dialog")) {
      dialog.querySelector(".close")?.addEventListener("click", () => dialog.close());
      dialog.addEventListener("click", (event) => { if (event.target === dialog && dialog.id !== "ask-token") dialog.close(); });
    }
    document.addEventListener("keydown", keys);
    window.addEventListener("hashchange", () => recall().catch(complain));
    document.documentElement.dataset.ready = "true";
  }

  start().catch(complain);
})();
