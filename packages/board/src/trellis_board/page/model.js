"use strict";
// The board's data: loading documents, the names, the latest cells, and which rows match a filter.
// Nothing here touches the page, except that a private board asks for its token.
const Board = { documents: new Map(), waiting: new Map() };

Board.NEVER = -1;
Board.GLYPHS = { success: "✓", skipped: "–", xfailed: "≈", hollow: "○", failure: "✕", error: "!" };

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

// Turn the overview into arrays that are fast to filter: cell (row, column) is at row * width + column.
Board.read = (overview) => {
  Board.project = overview.project;
  Board.outcomes = overview.outcomes.map(([name]) => name);
  Board.meanings = Object.fromEntries(overview.outcomes);
  Board.backends = overview.backends.map(([id, name]) => ({ id, name }));
  Board.runs = overview.runs.map(([id, name, commit, branch, started]) =>
    ({ id, name, commit, branch, started }));
  Board.runById = new Map(Board.runs.map((run) => [run.id, run]));
  Board.comparable = Board.runs.slice(0, overview.comparable);
  Board.modules = [];
  Board.rows = [];
  for (const [id, name, tests] of overview.modules) {
    const module = { id, name, index: Board.modules.length, rows: [] };
    for (const [testId, test] of tests) {
      const row = { id: testId, name: test, module, index: Board.rows.length,
        words: `${name} ${test}`.toLowerCase() };
      module.rows.push(row);
      Board.rows.push(row);
    }
    Board.modules.push(module);
  }
  const width = Board.width = Board.backends.length;
  const size = Board.rows.length * width;
  Board.rowById = new Map(Board.rows.map((row) => [row.id, row.index]));
  Board.columnById = new Map(Board.backends.map((backend, index) => [backend.id, index]));
  Board.outcome = new Int8Array(size).fill(Board.NEVER);
  Board.run = new Int32Array(size);
  Board.milliseconds = new Float64Array(size).fill(NaN);
  Board.time = new Float64Array(size).fill(NaN);
  const cells = overview.cells;
  for (let i = 0; i < cells.length; i += 6) {
    const at = Board.rowById.get(cells[i]) * width + Board.columnById.get(cells[i + 1]);
    Board.outcome[at] = cells[i + 2];
    Board.run[at] = cells[i + 3];
    if (cells[i + 4] !== null) Board.milliseconds[at] = cells[i + 4];
    Board.time[at] = cells[i + 5];
  }
};

Board.DAY = 86400;
Board.now = () => Date.now() / 1000;

// Rows of which at least one shown cell has a wanted status and a wanted age.
Board.filter = ({ words, statuses, columns, module, age }) => {
  const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
  const limit = age ? Board.now() - Number(age.slice(1)) * Board.DAY : 0;
  const young = age.startsWith("<");
  const free = statuses.size === 0 && !age && columns.length === Board.width;
  return Board.rows.filter((row) => {
    if (module && row.module.name !== module) return false;
    if (!wanted.every((word) => row.words.includes(word))) return false;
    if (free) return true;
    return columns.some((column) => {
      const at = row.index * Board.width + column;
      const code = Board.outcome[at];
      if (statuses.size ? !statuses.has(code) : code === Board.NEVER) return false;
      return !age || (young ? Board.time[at] >= limit : Board.time[at] < limit);
    });
  });
};

// The order of rows; the sort is stable, so equals stay in the order of their modules.
Board.sort = (rows, order, columns) => {
  const overCells = (row, values, combine, start) => columns.reduce((sum, column) => {
    const value = values[row.index * Board.width + column];
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
Board.count = (rows, columns) => {
  const counts = new Array(Board.outcomes.length + 1).fill(0);
  for (const row of rows) {
    for (const column of columns) {
      const code = Board.outcome[row.index * Board.width + column];
      counts[code === Board.NEVER ? Board.outcomes.length : code] += 1;
    }
  }
  return counts;
};

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
