"use strict";
// The matrix: only the rows in sight are in the document, whatever their number.
Board.Matrix = class {
  constructor(open) {
    this.open = open; // called with a row and a column when a cell is opened
    this.grid = document.getElementById("grid");
    this.head = document.getElementById("grid-head");
    this.body = document.getElementById("grid-body");
    this.items = []; // rows, and modules as headings between them
    this.columns = [];
    this.folded = new Set();
    this.focus = { item: 0, column: 0 };
    this.pending = false;
    this.grid.addEventListener("scroll", () => this.schedule(), { passive: true });
    this.grid.addEventListener("keydown", (event) => this.key(event));
    this.grid.addEventListener("click", (event) => this.click(event));
    this.grid.addEventListener("focus", () => this.mark());
    new ResizeObserver(() => this.schedule()).observe(this.grid);
  }

  // Show these rows and columns; with headings, a module's rows stand below its name.
  show(rows, columns, headings) {
    this.columns = columns;
    this.headings = headings;
    this.rows = rows;
    this.items = [];
    let module = null;
    for (const row of rows) {
      if (headings && row.module !== module) {
        module = row.module;
        this.items.push({ heading: module, rows: [] });
      }
      if (headings) this.lastHeading().rows.push(row);
      if (!headings || !this.folded.has(module.id)) this.items.push({ row });
    }
    this.focus.item = Math.min(this.focus.item, Math.max(0, this.items.length - 1));
    this.focus.column = Math.min(this.focus.column, columns.length);
    this.height = parseFloat(getComputedStyle(this.grid).getPropertyValue("--row"));
    this.body.style.height = `${this.items.length * this.height}px`;
    this.grid.style.setProperty("--columns", columns.length);
    this.grid.setAttribute("aria-rowcount", this.items.length + 1);
    this.grid.setAttribute("aria-colcount", columns.length + 1);
    this.head.replaceChildren(
      Board.make("div", { role: "columnheader", class: "name", "aria-colindex": 1 }, "Test"),
      ...columns.map((column, i) => Board.make("div",
        { role: "columnheader", "aria-colindex": i + 2, title: Board.backends[column].name },
        Board.backends[column].name)));
    this.grid.hidden = this.items.length === 0;
    this.draw();
  }

  lastHeading() {
    for (let i = this.items.length - 1; i >= 0; i -= 1) {
      if (this.items[i].heading) return this.items[i];
    }
    return null;
  }

  schedule() {
    if (this.pending) return;
    this.pending = true;
    requestAnimationFrame(() => { this.pending = false; this.draw(); });
  }

  draw() {
    const first = Math.max(0, Math.floor(this.grid.scrollTop / this.height) - 8);
    const last = Math.min(this.items.length,
      Math.ceil((this.grid.scrollTop + this.grid.clientHeight) / this.height) + 8);
    const drawn = [];
    for (let i = first; i < last; i += 1) drawn.push(this.drawItem(i));
    this.body.replaceChildren(...drawn);
    this.mark();
  }

  drawItem(index) {
    const item = this.items[index];
    const element = item.heading ? this.drawHeading(item, index) : this.drawRow(item.row);
    element.setAttribute("role", "row");
    element.setAttribute("aria-rowindex", index + 2);
    element.dataset.item = index;
    element.style.transform = `translateY(${index * this.height}px)`;
    return element;
  }

  drawHeading(item) {
    const folded = this.folded.has(item.heading.id);
    const element = Board.make("div", { class: "row module" },
      Board.make("div", { role: "rowheader", class: "name", "aria-colindex": 1, "aria-expanded": !folded,
        "data-column": 0, title: item.heading.name },
      Board.make("span", { class: "fold", "aria-hidden": "true" }, folded ? "▸" : "▾"),
      Board.make("span", { class: "text" }, item.heading.name),
      Board.make("span", { class: "tests" }, `${item.rows.length}`)));
    this.columns.forEach((column, i) => {
      const counts = Board.count(item.rows, [column]);
      const ran = item.rows.length - counts.at(-1);
      const text = ran ? `${counts[0]}/${ran}` : "";
      const cell = Board.make("div", { role: "gridcell", class: "share", "aria-colindex": i + 2,
        "data-column": i + 1, "aria-label": ran ? `${counts[0]} of ${ran} green on ${Board.backends[column].name}` : "never run" });
      if (ran) cell.append(Board.make("span", { class: "ratio" }, text), Board.bar(counts.slice(0, -1), ran));
      element.append(cell);
    });
    return element;
  }

  drawRow(row) {
    const name = Board.make("div", { role: "rowheader", class: "name", "aria-colindex": 1,
      "data-column": 0, title: `${row.module.name} :: ${row.name}` });
    if (!this.headings) name.append(Board.make("span", { class: "of" }, row.module.name));
    name.append(Board.make("span", { class: "text" }, row.name));
    const element = Board.make("div", { class: "row" }, name);
    this.columns.forEach((column, i) => element.append(this.drawCell(row, column, i)));
    return element;
  }

  drawCell(row, column, i) {
    const at = row.index * Board.width + column;
    const code = Board.outcome[at];
    const backend = Board.backends[column].name;
    const cell = Board.make("div", { role: "gridcell", "aria-colindex": i + 2, "data-column": i + 1 });
    if (code === Board.NEVER) {
      cell.className = "cell never";
      cell.setAttribute("aria-label", `${backend}: never run`);
      return cell;
    }
    const outcome = Board.outcomes[code];
    const age = Board.age(Board.time[at]);
    cell.className = `cell ${outcome}`;
    cell.setAttribute("aria-label", `${backend}: ${outcome}, ${age === "now" ? "just now" : `${age} ago`}`);
    cell.title = `${backend}: ${outcome}\n${Board.meanings[outcome]}\n${Board.date(Board.time[at])}`
      + `\n${Board.commit(Board.runById.get(Board.run[at])?.commit)}`;
    cell.append(Board.make("span", { class: "pill" },
      Board.make("b", { "aria-hidden": "true" }, Board.GLYPHS[outcome]),
      Board.make("span", {}, outcome)),
    Board.make("span", { class: "age", "aria-hidden": "true" }, age));
    return cell;
  }

  element(item, column) {
    return this.body.querySelector(`[data-item="${item}"] > [data-column="${column}"]`);
  }

  // The focus stays on the grid; aria-activedescendant says which cell it means.
  mark() {
    for (const old of this.body.querySelectorAll("#focused")) old.removeAttribute("id");
    const cell = this.element(this.focus.item, this.focus.column);
    if (cell) cell.id = "focused";
    if (cell) this.grid.setAttribute("aria-activedescendant", "focused");
    else this.grid.removeAttribute("aria-activedescendant");
  }

  move(item, column) {
    this.focus.item = Math.max(0, Math.min(this.items.length - 1, item));
    this.focus.column = Math.max(0, Math.min(this.columns.length, column));
    const top = this.focus.item * this.height;
    const room = this.grid.clientHeight - this.height; // the head covers one row
    if (top < this.grid.scrollTop) this.grid.scrollTop = top;
    if (top + this.height > this.grid.scrollTop + room) this.grid.scrollTop = top + this.height - room;
    this.draw();
    const cell = this.element(this.focus.item, this.focus.column);
    if (cell && this.focus.column > 0) cell.scrollIntoView({ block: "nearest", inline: "nearest" });
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const { item, column } = this.focus;
    const page = Math.max(1, Math.floor(this.grid.clientHeight / this.height) - 2);
    const moves = {
      ArrowUp: [item - 1, column], ArrowDown: [item + 1, column],
      ArrowLeft: [item, column - 1], ArrowRight: [item, column + 1],
      PageUp: [item - page, column], PageDown: [item + page, column],
      Home: [0, column], End: [this.items.length - 1, column],
    };
    if (event.key in moves) this.move(...moves[event.key]);
    else if (event.key === "Enter" || event.key === " ") this.enter(item, column);
    else return;
    event.preventDefault();
  }

  click(event) {
    const cell = event.target.closest("[data-column]");
    if (!cell) return;
    this.focus = { item: Number(cell.parentElement.dataset.item), column: Number(cell.dataset.column) };
    this.mark();
    this.enter(this.focus.item, this.focus.column);
  }

  enter(index, column) {
    const item = this.items[index];
    if (!item) return;
    if (item.heading) {
      if (!this.folded.delete(item.heading.id)) this.folded.add(item.heading.id);
      this.show(this.rows, this.columns, this.headings);
    } else if (column > 0) {
      const backend = this.columns[column - 1];
      if (Board.outcome[item.row.index * Board.width + backend] !== Board.NEVER) this.open(item.row, backend);
    }
  }
};

// A bar of coloured shares; the numbers beside it say the same in words.
Board.bar = (counts, total) => {
  const bar = Board.make("span", { class: "bar", "aria-hidden": "true" });
  counts.forEach((count, code) => {
    if (!count) return;
    const share = Board.make("i", { class: Board.outcomes[code] });
    share.style.flexGrow = count / total;
    bar.append(share);
  });
  return bar;
};
