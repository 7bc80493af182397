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
  Board.died = new Map(overview.died);
  Board.runById = new Map([...Board.comparable, ...Board.runs].map((run) => [run.id, run]));
  Board.modules = overview.modules.map(([id, name]) => ({ id, name }));
  Board.testById = new Map();
  overview.modules.forEach(([, , tests], at) => {
    for (const [id, name, group, rank, line] of tests) {
      Board.testById.set(id, { id, name, module: Board.modules[at], order: Board.testById.size, group, rank, line });
    }
  });
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
  const [normal, plain] = [new Set(), new Set()];
  for (let i = 0; i < cells.length; i += 6) (cells[i + 1] === Board.plain ? plain : normal).add(cells[i]);
  const sections = groups.map(([name, folded], index) => ({ key: `group:${name}`, name, folded, order: index }));
  const ofModule = new Map(Board.modules.map((module, index) => [module,
    { key: `module:${module.name}`, name: module.name, folded: false, order: groups.length + index }]));
  const without = { key: "plain", name: "Tests without a backend", folded: true, order: Infinity, plain: true };
  const rows = [];
  for (const test of Board.testById.values()) {
    const { module, group, rank = 0, line = null } = test;
    const base = { test, name: test.name, module, words: `${module.name} ${test.name}`.toLowerCase() };
    if (normal.has(test.id)) {
      const section = group === undefined ? ofModule.get(module) : sections[group];
      const name = section.plain || group === undefined ? null : line;
      rows.push({ ...base, section, rank, line: name, plain: false,
        words: name ? `${base.words} ${name.toLowerCase()}` : base.words });
    }
    if (plain.has(test.id)) rows.push({ ...base, section: without, rank: 0, line: null, plain: true });
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

Board.readCells = (cells) => {
  const size = Board.rows.length * Board.stride;
  const rowOf = [new Map(), new Map()];
  for (const row of Board.rows) rowOf[Number(row.plain)].set(row.test.id, row);
  Board.rowOf = (test, backend) => rowOf[Number(backend === Board.plain)].get(test);
  Board.outcome = new Int8Array(size).fill(Board.NEVER);
  Board.run = new Int32Array(size);
  Board.milliseconds = new Float64Array(size).fill(NaN);
  Board.time = new Float64Array(size).fill(NaN);
  for (let i = 0; i < cells.length; i += 6) {
    const at = Board.at(Board.rowOf(cells[i], cells[i + 1]), Board.columnById.get(cells[i + 1]));
    Board.outcome[at] = cells[i + 2];
    Board.run[at] = cells[i + 3];
    if (cells[i + 4] !== null) Board.milliseconds[at] = cells[i + 4];
    Board.time[at] = cells[i + 5];
  }
  Board.findNoSuchCells();
};

// A run that had a row, and had its module on some backend, would have had the row there too.
Board.findNoSuchCells = () => {
  const key = (row, run, column) => `${row.module.id}/${run}/${column}`;
  const ran = new Set();
  const eachCell = (visit) => {
    for (const row of Board.rows) {
      if (row.plain) continue;
      for (let column = 0; column < Board.width; column += 1) visit(row, column, Board.at(row, column));
    }
  };
  let missing = 0;
  eachCell((row, column, at) => {
    if (Board.outcome[at] >= 0) ran.add(key(row, Board.run[at], column));
    else missing += 1;
  });
  if (!missing) return;
  eachCell((row, column, at) => {
    if (Board.outcome[at] >= 0) return;
    for (let other = 0; other < Board.width; other += 1) {
      const beside = Board.at(row, other);
      if (Board.outcome[beside] >= 0 && ran.has(key(row, Board.run[beside], column))) Board.outcome[at] = Board.NONE;
    }
  });
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
  const every = Board.backends.map((_, index) => index);
  const skipped = Board.outcomes.indexOf("skipped");
  let [green, of] = [0, 0];
  for (const row of rows) {
    if (row.plain) continue;
    const codes = every.map((column) => Board.outcome[Board.at(row, column)]).filter((code) => code !== Board.NONE);
    const ran = codes.filter((code) => code !== Board.NEVER);
    if (ran.length < 2 || ran.every((code) => code === skipped)) continue;
    of += 1;
    if (codes.every((code) => code === 0)) green += 1;
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
