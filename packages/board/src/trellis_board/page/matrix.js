"use strict";
// The matrix: only the rows in sight are in the document, whatever their number.
Board.Matrix = class {
  constructor(open) {
    this.open = open; // called with a test and the id of a backend when a cell is opened
    this.grid = document.getElementById("grid");
    this.head = document.getElementById("grid-head");
    this.body = document.getElementById("grid-body");
    this.items = []; // rows, lines of several rows, and the headings of sections between them
    this.columns = [];
    this.folded = new Map(); // sections that the reader folded or unfolded
    this.unfolded = new Set(); // lines whose tests are shown
    this.focus = { item: 0, column: 0 };
    this.pending = false;
    this.grid.addEventListener("scroll", () => this.schedule(), { passive: true });
    this.grid.addEventListener("keydown", (event) => this.key(event));
    this.grid.addEventListener("click", (event) => this.click(event));
    this.grid.addEventListener("focus", () => this.mark());
    new ResizeObserver(() => this.schedule()).observe(this.grid);
  }

  // Show these rows and columns. With headings, rows stand below the name of their section, and
  // tests that share a row are one line; a reader who searches is shown what is folded otherwise.
  show(rows, columns, headings, searching) {
    Object.assign(this, { rows, columns, headings, searching });
    const unfold = searching && rows.length <= 100;
    this.items = [];
    let heading = null;
    let line = null;
    for (const row of rows) {
      if (!headings) {
        this.items.push({ row });
        continue;
      }
      if (heading?.section !== row.section) {
        heading = { section: row.section, rows: [] };
        line = null;
        this.items.push(heading);
      }
      heading.rows.push(row);
      if (this.isFolded(row.section)) continue;
      if (row.line === null) {
        this.items.push({ row });
        continue;
      }
      if (line?.line !== row.line) {
        line = { line: row.line, key: `${row.section.key} ${row.line}`, rows: [] };
        this.items.push(line);
      }
      line.rows.push(row);
      if (unfold || this.unfolded.has(line.key)) this.items.push({ row, member: true });
    }
    this.focus.item = Math.min(this.focus.item, Math.max(0, this.items.length - 1));
    this.focus.column = Math.min(this.focus.column, columns.length);
    const style = getComputedStyle(this.grid);
    this.height = parseFloat(style.getPropertyValue("--row"));
    this.room = parseFloat(style.getPropertyValue("--characters")) || Infinity;
    this.body.style.height = `${this.items.length * this.height}px`;
    this.grid.style.setProperty("--columns", columns.length);
    this.grid.setAttribute("aria-rowcount", this.items.length + 1);
    this.grid.setAttribute("aria-colcount", columns.length + 1);
    this.drawHead();
    this.grid.hidden = this.items.length === 0;
    this.draw();
  }

  isFolded(section) {
    if (this.folded.has(section.key)) return this.folded.get(section.key);
    return section.folded && !this.searching;
  }

  // Columns of one framework ("torch 2.6", "torch 2.13") stand under its name.
  drawHead() {
    const family = (column) => Board.backends[column]?.label.split(" ")[0];
    const shared = (column) => Board.backends[column].label.includes(" ")
      && this.columns.filter((other) => family(other) === family(column)).length > 1;
    const some = this.columns.some(shared);
    this.head.classList.toggle("families", some);
    const cells = this.columns.map((column, i) => {
      const { name, label } = Board.backends[column];
      const cell = Board.make("div", { role: "columnheader", "aria-colindex": i + 2, title: name });
      if (!shared(column)) {
        cell.append(label);
        return cell;
      }
      const begins = family(this.columns[i - 1]) !== family(column);
      cell.classList.toggle("begins", begins);
      cell.append(Board.make("span", { class: begins ? "family" : "hidden" }, `${family(column)} `),
        Board.make("span", { class: "version" }, label.slice(family(column).length + 1)));
      return cell;
    });
    this.head.replaceChildren(
      Board.make("div", { role: "columnheader", class: "name", "aria-colindex": 1 }, "Test"), ...cells);
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
    const element = item.section ? this.drawHeading(item)
      : item.line ? this.drawLine(item) : this.drawRow(item.row, item.member);
    element.setAttribute("role", "row");
    element.setAttribute("aria-rowindex", index + 2);
    element.dataset.item = index;
    element.style.transform = `translateY(${index * this.height}px)`;
    return element;
  }

  // The first cell of something that folds.
  foldable(name, count, folded) {
    return Board.make("div", { role: "rowheader", class: "name", "aria-colindex": 1, "aria-expanded": !folded,
      "data-column": 0, title: name },
    Board.make("span", { class: "fold", "aria-hidden": "true" }, folded ? "▸" : "▾"),
    this.text(name),
    Board.make("span", { class: "tests count" }, `${count}`));
  }

  drawHeading({ section, rows }) {
    const element = Board.make("div", { class: "row module" },
      this.foldable(section.name, rows.length, this.isFolded(section)));
    const joint = Board.joint(rows);
    if (Board.width > 1 && joint.of) {
      element.firstChild.append(Board.make("span", { class: "tests", title: "green on all backends" },
        `${joint.green}/${joint.of}`, Board.make("span", { class: "hidden" }, " green on all backends")));
    }
    if (section.plain) {
      element.append(this.share(rows, Board.width, 0, "without a backend"));
      element.lastChild.setAttribute("aria-colspan", this.columns.length);
      element.lastChild.classList.add("wide");
    } else {
      this.columns.forEach((column, i) => element.append(this.share(rows, column, i, Board.backends[column].label)));
    }
    return element;
  }

  // How much of a section is green in one column: cards and badges count the same way.
  share(rows, column, i, where) {
    const counts = Board.count(rows, [column]);
    const score = Board.score(counts);
    const cell = Board.make("div", { role: "gridcell", class: "share", "aria-colindex": i + 2, "data-column": i + 1 });
    if (score.ran) {
      cell.append(Board.make("span", { class: "ratio" }, `${score.green}/${score.of}`),
        Board.make("span", { class: "hidden" }, ` green, ${where}`), Board.bar(counts.slice(0, -1), score.ran));
    } else cell.append(Board.make("span", { class: "hidden" }, `never run, ${where}`));
    return cell;
  }

  // Tests that share a row, as one line: the worst of them, and how many are green.
  drawLine(item) {
    const single = item.rows.length === 1;
    const folded = !this.unfolded.has(item.key);
    const name = single ? this.rowName(item.line, item.rows[0]) : this.foldable(item.line, item.rows.length, folded);
    const element = Board.make("div", { class: single ? "row" : "row line" }, name);
    this.columns.forEach((column, i) => {
      if (single) {
        element.append(this.drawCell(item.rows[0], column, i));
        return;
      }
      const counts = Board.count(item.rows, [column]);
      const score = Board.score(counts);
      // A skipped test says nothing about the others, so it speaks only where all are skipped.
      const skipped = Board.outcomes.indexOf("skipped");
      const worst = score.of ? counts.slice(0, -1).findLastIndex((count, code) => count > 0 && code !== skipped)
        : score.ran ? skipped : Board.NEVER;
      const cell = Board.make("div", { role: "gridcell", "aria-colindex": i + 2, "data-column": i + 1 });
      const label = Board.backends[column].label;
      if (worst < 0) {
        cell.className = "cell never";
        cell.append(Board.make("span", { class: "hidden" }, `${label}: never run`));
      } else {
        cell.className = `cell ${Board.outcomes[worst]}`;
        cell.append(Board.make("span", { class: "hidden" }, `${label}: `), Board.pill(Board.outcomes[worst]),
          Board.make("span", { class: "age" }, score.of ? `${score.green}/${score.of}` : ""));
      }
      element.append(cell);
    });
    return element;
  }

  rowName(text, row) {
    const name = Board.make("div", { role: "rowheader", class: "name", "aria-colindex": 1,
      "data-column": 0, title: `${row.module.name} :: ${row.name}` });
    if (!this.headings || row.plain) name.append(Board.make("span", { class: "of" }, row.module.name));
    name.append(this.text(text));
    const span = Board.spans.get(row.test.id);
    if (span && !row.plain) name.append(Board.make("span", { class: "tests", title: span }, span));
    return name;
  }

  // A name. Where there is little room its middle is left out: names of tests differ at their ends.
  text(name) {
    const most = this.room;
    if (name.length <= most) return Board.make("span", { class: "text" }, name);
    const begin = Math.floor(most / 3);
    return Board.make("span", { class: "text" },
      Board.make("span", { "aria-hidden": "true" }, `${name.slice(0, begin)}…${name.slice(begin + 1 - most)}`),
      Board.make("span", { class: "hidden" }, name));
  }

  drawRow(row, member = false) {
    const element = Board.make("div", { class: member ? "row member" : "row" }, this.rowName(row.name, row));
    if (row.plain) {
      element.append(this.drawCell(row, Board.width, 0));
      element.lastChild.setAttribute("aria-colspan", this.columns.length);
      element.lastChild.classList.add("wide");
    } else this.columns.forEach((column, i) => element.append(this.drawCell(row, column, i)));
    return element;
  }

  drawCell(row, column, i) {
    const at = Board.at(row, column);
    const code = Board.outcome[at];
    const label = row.plain ? "without a backend" : Board.backends[column].label;
    const cell = Board.make("div", { role: "gridcell", "aria-colindex": i + 2, "data-column": i + 1 });
    if (code < 0) {
      cell.className = "cell never";
      const words = code === Board.NEVER ? "never run" : "no such test";
      cell.append(Board.make("span", { class: "hidden" }, `${label}: ${words}`));
      return cell;
    }
    const outcome = Board.outcomes[code];
    const age = Board.age(Board.time[at]);
    const issue = Board.issueOf.get(`${row.test.id}/${Board.backendId(row, column)}`);
    cell.className = `cell ${outcome}`;
    cell.title = `${label}: ${outcome}\n${issue ? `known issue: ${issue.title}\n` : ""}${Board.meanings[outcome]}`
      + `\n${Board.date(Board.time[at])}\n${Board.commit(Board.runById.get(Board.run[at])?.commit)}`;
    cell.append(Board.make("span", { class: "hidden" }, `${label}: `), Board.pill(outcome));
    if (issue) {
      cell.append(Board.make("span", { class: "issue" }, Board.make("span", { "aria-hidden": "true" }, "#"),
        Board.make("span", { class: "hidden" }, " known issue")));
    }
    cell.append(Board.make("span", { class: "age" }, age));
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
    const room = this.grid.clientHeight - this.head.offsetHeight;
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
    if (item.section) this.folded.set(item.section.key, !this.isFolded(item.section));
    else if (item.line && item.rows.length > 1) {
      if (!this.unfolded.delete(item.key)) this.unfolded.add(item.key);
    } else {
      const row = item.row ?? item.rows[0];
      const backend = row.plain ? Board.width : this.columns[column - 1];
      if (column > 0 && Board.outcome[Board.at(row, backend)] >= 0) {
        this.open(row.test, Board.backendId(row, backend));
      }
      return;
    }
    this.show(this.rows, this.columns, this.headings, this.searching);
  }
};

// An outcome as a sign and a word.
Board.pill = (outcome) => Board.make("span", { class: "pill" },
  Board.make("b", { "aria-hidden": "true" }, Board.GLYPHS[outcome]), Board.make("span", {}, outcome));

Board.backendId = (row, column) => (row.plain ? Board.plain : Board.backends[column].id);

// A green share, and the target if there is one, which is a line across the bar; the numbers are
// beside it.
Board.targetBar = ({ green, of }) => {
  const bar = Board.make("span", { class: "bar target", "aria-hidden": "true" }, Board.make("i", { class: "success" }));
  bar.firstChild.style.width = `${of ? (100 * green) / of : 0}%`;
  if (Board.target !== null) {
    const line = Board.make("b");
    line.style.left = `${Board.target}%`;
    bar.append(line);
  }
  return bar;
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
