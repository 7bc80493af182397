"use strict";
// The board's data: loading documents, the names, the latest cells, and which rows match a filter.
// Nothing here touches the page, except that a private board asks for its token.
const Board = { documents: new Map(), waiting: new Map() };

Board.NEVER = -1; // no run has had this cell
Board.NONE = -2; // there is no such cell: the row ran together with this backend, but not on it
Board.GLYPHS = { success: "✓", skipped: "–", xfailed: "≈", hollow: "○", died: "†", failure: "✕", error: "!" };

// Files on a disk arrive as scripts that call this function; see static_page.py.
window.boardDocument = (name, content) => {
  Board.documents.set(name, content);
};

Board.load = async (name) => {
  if (Board.documents.has(name)) return Board.documents.get(name);
  if (!Board.waiting.has(name)) {
    const fetched = document.documentElement.dataset.source === "files"
      ? Board.fromFile(name)
      : Board.fromServer(name);
    Board.waiting.set(name, fetched.finally(() => Board.waiting.delete(name)));
  }
  return Board.waiting.get(name);
};

Board.fromFile = (name) => new Promise((resolve, reject) => {
  const script = document.createElement("script");
  script.src = `data/${name}.js`;
  script.onload = () => resolve(Board.documents.get(name));
  script.onerror = () => reject(new Error(`data/${name}.js is missing; run "trellis-board html" again`));
  document.head.append(script);
});

Board.fromServer = async (name) => {
  const token = Board.token();
  const headers = token ? { Authorization: `Bearer ${token}` } : {};
  const answer = await fetch(`data/${name}.json`, { headers });
  if (answer.status === 401 || answer.status === 403) {
    await Board.askToken();
    return Board.fromServer(name);
  }
  if (!answer.ok) throw new Error(`the server answered ${answer.status} for ${name}`);
  const content = await answer.json();
  Board.documents.set(name, content);
  return content;
};

Board.token = () => {
  try { return sessionStorage.getItem("board-token"); } catch { return null; }
};

Board.askToken = () => new Promise((resolve) => {
  const dialog = document.getElementById("ask-token");
  dialog.addEventListener("close", () => {
    sessionStorage.setItem("board-token", document.getElementById("token").value.trim());
    resolve();
  }, { once: true });
  dialog.showModal();
});

// Turn the overview into arrays that are fast to filter: a cell is at Board.at(row, column).
// Tests without a backend have rows of their own, with one cell in a column behind the others.
Board.read = (overview) => {
  Board.counted = null;
  Board.project = overview.project;
  Board.title = overview.title || overview.project;
  Board.source = overview.source;
  Board.branch = overview.branch;
  Board.defaultBranch = overview.default;
  Board.readBranches(overview);
  Board.outcomes = overview.outcomes.map(([name]) => name);
  Board.meanings = Object.fromEntries(overview.outcomes);
  Board.backendById = new Map(overview.backends.map(([id, name]) => [id, { id, name }]));
  Board.backends = overview.columns.map(([id, label]) => ({ ...Board.backendById.get(id), label }));
  Board.plain = overview.plain;
  const toRun = ([id, name, commit, branch, started]) => ({ id, name, commit, branch, started });
  Board.runs = overview.runs.map(toRun);
  Board.comparable = overview.comparable.map(toRun);
  Board.sessions = new Map(overview.sessions.flatMap((names) => names.map((name) => [name, names])));
  Board.died = new Map(overview.died);
  Board.broken = overview.broken;
  Board.runById = new Map([...Board.comparable, ...Board.runs].map((run) => [run.id, run]));
  Board.modules = overview.modules.map(([id, name]) => ({ id, name }));
  Board.tests = [];
  overview.modules.forEach(([, , tests], at) => {
    for (const [id, name, group, rank, line] of tests) {
      Board.tests.push({ id, name, module: Board.modules[at], order: Board.tests.length, group, rank, line });
    }
  });
  Board.testById = new Map(Board.tests.map((test) => [test.id, test]));
  Board.readRows(overview);
  Board.readCells(overview.cells);
  Board.readPasts(overview);
  Board.readIssues(overview);
};

// How many cells of a column are red.
Board.redIn = (column) => {
  let red = 0;
  for (const row of Board.rows) {
    const outcome = Board.outcomes[Board.outcome[Board.at(row, column)]];
    if (!row.plain && (outcome === "failure" || outcome === "error")) red += 1;
  }
  return red;
};

// A folder of files has only the newest branches besides the default one; a server has all.
Board.readBranches = ({ branches, default: usual, kept_branches: kept }) => {
  const others = branches.filter(([, name]) => name !== usual);
  const files = document.documentElement.dataset.source === "files";
  Board.branches = [{ id: null, name: usual },
    ...(files ? others.slice(0, kept) : others).map(([id, name]) => ({ id, name }))];
};

// The name of a document for the branch that is shown.
Board.ofBranch = (name) => {
  const { id } = Board.branches.find((branch) => branch.name === Board.branch) ?? { id: null };
  return id === null ? name : `${name}-${id}`;
};

// Rows in the order of the page: groups as they were set, then modules, then tests without backend.
Board.readRows = ({ cells, groups }) => {
  Board.width = Board.backends.length;
  Board.stride = Board.width + (Board.plain === null ? 0 : 1);
  const columns = new Map(Board.backends.map((backend, index) => [backend.id, index]));
  if (Board.plain !== null) columns.set(Board.plain, Board.width);
  Board.columnById = columns;
  const sections = groups.map(([name, folded], index) => ({ key: `group:${name}`, name, folded, order: index }));
  const ofModule = new Map(Board.modules.map((module, index) => [module,
    { key: `module:${module.name}`, name: module.name, folded: false, order: groups.length + index }]));
  const without = { key: "plain", name: "Tests without a backend", folded: true, order: Infinity, plain: true };
  const rows = [];
  for (const test of Board.tests) {
    const { module, group, rank = 0, line = null, order } = test;
    const base = { test, name: test.name, module, words: `${module.name} ${test.name}`.toLowerCase() };
    const signs = cells.outcomes.slice(order * Board.stride, (order + 1) * Board.stride);
    if (/[^.]/.test(signs.slice(0, Board.width))) {
      const section = group === undefined ? ofModule.get(module) : sections[group];
      const name = section.plain || group === undefined ? null : line;
      if (name) base.words += ` ${name.toLowerCase()}`;
      rows.push({ ...base, section, rank, line: name, plain: false });
    }
    if (/[^.]/.test(signs.slice(Board.width))) rows.push({ ...base, section: without, rank: 0, line: null, plain: true });
  }
  // Tests that share a row stand where the first of them stands.
  const first = new Map();
  for (const row of rows) {
    const key = row.line === null ? row : `${row.section.key} ${row.line}`;
    if (!first.has(key)) first.set(key, row.rank * 1e6 + row.test.order);
    row.place = first.get(key);
  }
  rows.sort((a, b) => (a.section === b.section ? a.place - b.place || a.test.order - b.test.order
    : a.section.order < b.section.order ? -1 : 1));
  rows.forEach((row, index) => { row.index = index; });
  Board.rows = rows;
  Board.sections = [...new Set(rows.map((row) => row.section))];
};

Board.at = (row, column) => row.index * Board.stride + column;

// The columns in which a row has a cell or could have one, of those that are shown.
Board.columnsOf = (row, shown) => (row.plain ? [Board.width] : shown);

// Long columns (packed.py): a sign for each column of each test; what else is known, of each cell
// that is there. Runs and times stand once for all cells in a row that share them.
Board.readCells = ({ outcomes, runs, times, durations }) => {
  const size = Board.rows.length * Board.stride;
  const rowOf = [new Array(Board.tests.length), new Array(Board.tests.length)];
  for (const row of Board.rows) rowOf[Number(row.plain)][row.test.order] = row;
  Board.rowOf = (test, backend) => rowOf[Number(backend === Board.plain)][Board.testById.get(test).order];
  Board.outcome = new Int8Array(size).fill(Board.NEVER);
  Board.run = new Int32Array(size);
  Board.milliseconds = new Float64Array(size).fill(NaN);
  Board.time = new Float64Array(size).fill(NaN);
  let [seen, run, runLeft, time, timeLeft] = [0, 0, 0, 0, 0];
  for (let order = 0, i = 0; order < Board.tests.length; order += 1) {
    for (let column = 0; column < Board.stride; column += 1, i += 1) {
      const sign = outcomes.charCodeAt(i);
      if (sign === 46) continue; // a point
      const row = rowOf[Number(column === Board.width)][order];
      const at = Board.at(row, column);
      if (runLeft === 0) runLeft = runs[run * 2 + 1];
      if (timeLeft === 0) timeLeft = times[time * 2 + 1];
      Board.outcome[at] = sign - 48;
      Board.run[at] = runs[run * 2];
      Board.time[at] = times[time * 2];
      if (durations[seen] >= 0) Board.milliseconds[at] = durations[seen] / 100;
      seen += 1;
      if ((runLeft -= 1) === 0) run += 1;
      if ((timeLeft -= 1) === 0) time += 1;
    }
  }
  Board.findNoSuchCells();
};

// A run that had a row, and had its module on some backend, would have had the row there too.
Board.findNoSuchCells = () => {
  const incomplete = Board.rows.filter((row) => {
    if (row.plain) return false;
    for (let column = 0; column < Board.width; column += 1) {
      if (Board.outcome[Board.at(row, column)] < 0) return true;
    }
    return false;
  });
  if (!incomplete.length) return;
  const modules = new Set(incomplete.map((row) => row.module));
  const ran = new Map([...modules].map((module) => [module, new Set()]));
  for (const row of Board.rows) {
    if (row.plain || !modules.has(row.module)) continue;
    const of = ran.get(row.module);
    for (let column = 0; column < Board.width; column += 1) {
      const at = Board.at(row, column);
      if (Board.outcome[at] >= 0) of.add(Board.run[at] * Board.width + column);
    }
  }
  for (const row of incomplete) {
    const of = ran.get(row.module);
    const begin = Board.at(row, 0);
    const runs = new Set();
    for (let at = begin; at < begin + Board.width; at += 1) if (Board.outcome[at] >= 0) runs.add(Board.run[at]);
    for (let column = 0; column < Board.width; column += 1) {
      const missing = Board.outcome[begin + column] < 0;
      if (missing && [...runs].some((run) => of.has(run * Board.width + column))) Board.outcome[begin + column] = Board.NONE;
    }
  }
};

// What questions ask of cells besides their outcome: see questions.js.
Board.readPasts = ({ pasts, presets, target, groups, spans }) => {
  Board.spans = new Map(spans);
  Board.presets = presets;
  Board.target = target;
  Board.groupOf = (test) => (test.group === undefined ? null : groups[test.group][0]);
  Board.redSince = new Map();
  Board.neverGreen = new Set();
  Board.flakyCells = new Set();
  for (let i = 0; i < pasts.length; i += 5) {
    const [test, backend, since, never, flaky] = pasts.slice(i, i + 5);
    const at = Board.at(Board.rowOf(test, backend), Board.columnById.get(backend));
    if (since) Board.redSince.set(at, since);
    if (never) Board.neverGreen.add(at);
    if (flaky) Board.flakyCells.add(at);
  }
};

// Rows that are green on all backends, as `joint_score` in rows.py counts them.
Board.joint = (rows) => {
  const skipped = Board.outcomes.indexOf("skipped");
  let [green, of] = [0, 0];
  for (const row of rows) {
    if (row.plain) continue;
    let [ran, skips, greens, missing] = [0, 0, 0, 0];
    const begin = Board.at(row, 0);
    for (let at = begin; at < begin + Board.width; at += 1) {
      const code = Board.outcome[at];
      if (code >= 0) ran += 1;
      if (code === 0) greens += 1;
      else if (code === skipped) skips += 1;
      else if (code === Board.NEVER) missing += 1;
    }
    if (ran < 2 || skips === ran) continue;
    of += 1;
    if (greens === ran && missing === 0) green += 1;
  }
  return { green, of };
};

Board.readIssues = ({ issues, linked }) => {
  Board.issueOf = new Map();
  for (let i = 0; i < linked.length; i += 3) {
    const [title, link] = issues[linked[i + 2]];
    Board.issueOf.set(`${linked[i]}/${linked[i + 1]}`, { title, link });
  }
};

Board.DAY = 86400;
Board.now = () => Date.now() / 1000;

// Rows that fit a question, and of which at least one shown cell has a wanted status and a wanted age.
Board.filter = ({ question, statuses, columns, module, age }) => {
  const limit = age ? Board.now() - Number(age.slice(1)) * Board.DAY : 0;
  const young = age.startsWith("<");
  const free = statuses.size === 0 && !age && columns.length === Board.width;
  return Board.rows.filter((row) => {
    if (module && row.section.key !== module && row.module.name !== module) return false;
    if (!question(row)) return false;
    if (free) return true;
    return Board.columnsOf(row, columns).some((column) => {
      const at = Board.at(row, column);
      const code = Board.outcome[at];
      if (statuses.size ? !statuses.has(code) : code < 0) return false;
      return !age || (young ? Board.time[at] >= limit : Board.time[at] < limit);
    });
  });
};

// The order of rows; the sort is stable, so equals stay in the order of their groups.
Board.sort = (rows, order, columns) => {
  const overCells = (row, values, combine, start) => Board.columnsOf(row, columns).reduce((sum, column) => {
    const value = values[Board.at(row, column)];
    return Number.isNaN(value) ? sum : combine(sum, value);
  }, start);
  const keys = {
    worst: (row) => -overCells(row, Board.outcome, Math.max, -1),
    slowest: (row) => -overCells(row, Board.milliseconds, Math.max, -1),
    oldest: (row) => overCells(row, Board.time, Math.min, Infinity),
    newest: (row) => -overCells(row, Board.time, Math.max, 0),
  };
  if (order === "name") return [...rows].sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
  if (!(order in keys)) return rows;
  const weights = new Map(rows.map((row) => [row, keys[order](row)]));
  return [...rows].sort((a, b) => weights.get(a) - weights.get(b) || 0);
};

// How many cells of some rows have each outcome; the last count is of cells that never ran.
Board.count = (rows, columns, plain = true) => {
  const counts = new Array(Board.outcomes.length + 1).fill(0);
  for (const row of rows) {
    if (row.plain && !plain) continue;
    for (const column of Board.columnsOf(row, columns)) {
      const code = Board.outcome[Board.at(row, column)];
      if (code !== Board.NONE) counts[code === Board.NEVER ? Board.outcomes.length : code] += 1;
    }
  }
  return counts;
};

// What the cards show: of all rows, so it stays the same whatever is asked.
Board.totals = () => {
  Board.counted ??= {
    joint: Board.joint(Board.rows),
    counts: Board.backends.map((_, index) => Board.count(Board.rows, [index], false)),
  };
  return Board.counted;
};

// Green cells out of those that could be green, as `score` in layout.py counts them.
Board.score = (counts) => {
  const ran = counts.slice(0, -1).reduce((sum, count) => sum + count, 0);
  return { green: counts[0], of: ran - counts[Board.outcomes.indexOf("skipped")], ran };
};

Board.percent = ({ green, of }) => (of ? `${Math.floor((100 * green) / of)}%` : "—");

Board.age = (time) => {
  const seconds = Math.max(0, Board.now() - time);
  for (const [unit, size] of [["y", 365 * 86400], ["d", 86400], ["h", 3600], ["min", 60]]) {
    if (seconds >= size) return `${Math.floor(seconds / size)} ${unit}`;
  }
  return "now";
};

Board.days = (time) => {
  const days = Math.max(0, Math.floor((Board.now() - time) / Board.DAY));
  return `${days} day${days === 1 ? "" : "s"}`;
};

Board.duration = (milliseconds) => {
  if (!Number.isFinite(milliseconds)) return "";
  if (milliseconds === 0) return "0 ms";
  if (milliseconds < 1) return `${milliseconds.toFixed(2)} ms`;
  return milliseconds < 1000 ? `${milliseconds.toFixed(0)} ms` : `${(milliseconds / 1000).toFixed(2)} s`;
};

Board.date = (time) => new Date(time * 1000).toISOString().slice(0, 16).replace("T", " ") + " UTC";

Board.commit = (commit) => (commit ? commit.slice(0, 10) + (commit.endsWith("-dirty") ? "*" : "") : "no commit");

// An element: make("a", { class: "x", href: "..." }, "text", child). Text is never parsed as HTML.
Board.make = (tag, attributes = {}, ...children) => {
  const svg = ["svg", "path", "circle", "line", "title", "text", "rect"].includes(tag);
  const element = svg ? document.createElementNS("http://www.w3.org/2000/svg", tag)
    : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== null && value !== undefined) element.setAttribute(name, value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
};
