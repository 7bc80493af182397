"use strict";
// Two runs or two commits side by side: what turned red, hollow, green, slow, or silent.
Board.Compare = class {
  constructor(open, changed) {
    this.open = open; // called with a test and the id of a backend when a change is clicked
    this.changed = changed; // called when another pair is chosen
    this.base = document.getElementById("base");
    this.head = document.getElementById("head");
    this.status = document.getElementById("compare-status");
    this.out = document.getElementById("changes");
    const branches = [...new Set(Board.comparable.map((run) => run.branch).filter(Boolean))];
    const commits = [...new Set(Board.comparable.map((run) => run.commit).filter(Boolean))];
    const told = (run) => `${Board.date(run.started)} · ${Board.commit(run.commit)} · ${run.branch ?? "no branch"}`;
    const sessions = Board.comparable.filter((run) => Board.sessions.get(run.name)?.[0] === run.name);
    for (const select of [this.base, this.head]) {
      select.append(
        this.group("Newest run of a branch", branches.map((branch) => [`branch:${branch}`, branch])),
        ...(sessions.length ? [this.group("Sessions of one suite", sessions.map((run) =>
          [`sessions:${run.name}`, `${told(run)} · ${Board.sessions.get(run.name).length} sessions`]))] : []),
        this.group("Runs", Board.comparable.map((run) => [`run:${run.name}`, `${told(run)} · ${run.name}`])),
        this.group("Commits", commits.map((commit) => [`commit:${commit}`, Board.commit(commit)])));
      select.addEventListener("change", () => { this.changed(); this.draw(); });
    }
    document.getElementById("swap").addEventListener("click", () => {
      [this.base.value, this.head.value] = [this.head.value, this.base.value];
      this.changed();
      this.draw();
    });
    this.choose(null, null);
  }

  group(label, options) {
    const group = Board.make("optgroup", { label });
    for (const [value, text] of options) group.append(Board.make("option", { value }, text));
    return group;
  }

  // Choose a pair; without one, the newest run of the default branch against the one before. The
  // sessions of a suite that is run once for each backend count as one run.
  choose(base, head) {
    const ofBoard = Board.comparable.filter(({ branch }) => !branch || branch === Board.defaultBranch);
    const newest = this.runs(head ?? "")[0] ?? ofBoard[0] ?? Board.comparable[0];
    const own = newest ? Board.sessions.get(newest.name) ?? [] : [];
    const before = ofBoard.find((run) => newest && run.started < newest.started && !own.includes(run.name));
    const option = ({ name }) => (Board.sessions.has(name) ? `sessions:${Board.sessions.get(name)[0]}` : `run:${name}`);
    this.head.value = head || (newest ? option(newest) : "");
    this.base.value = base || (before ? option(before) : this.head.value);
  }

  // The runs that an option stands for, newest first.
  runs(ref) {
    const split = ref.indexOf(":");
    const [kind, name] = [ref.slice(0, split), ref.slice(split + 1)];
    const key = { run: "name", sessions: "name", commit: "commit", branch: "branch" }[kind];
    const found = Board.comparable.filter((run) => run[key] === name);
    if (kind === "run" || kind === "commit" || !found.length) return found;
    const together = Board.sessions.get(found[0].name) ?? [found[0].name];
    return Board.comparable.filter((run) => together.includes(run.name));
  }

  // Cells by test and backend; where a commit has several runs, of the newest that has the cell.
  async cells(ref) {
    const found = new Map();
    for (const run of this.runs(ref).reverse()) {
      const { cells } = await Board.load(`run-${run.id}`);
      for (let i = 0; i < cells.length; i += 4) {
        found.set(`${cells[i]}/${cells[i + 1]}`, { outcome: cells[i + 2], milliseconds: cells[i + 3] ?? NaN });
      }
    }
    return found;
  }

  // The same rules as kind_of_change in diff.py.
  kind(before, after) {
    const [old, now] = [before, after].map((code) => (code === Board.NEVER ? null : Board.outcomes[code]));
    const red = (outcome) => outcome === "failure" || outcome === "error";
    if (old === now) return null;
    if (now === null) return "gone";
    if (now === "died") return "died";
    if (red(now)) return red(old) ? null : "red";
    if (now === "hollow") return "hollow";
    if (now === "success") return "green";
    return old === null ? null : "skipped";
  }

  async draw() {
    if (!this.base.value || !this.head.value) {
      this.status.textContent = "There is no run to compare yet.";
      return;
    }
    this.status.textContent = "Comparing…";
    const [before, after] = await Promise.all([this.cells(this.base.value), this.cells(this.head.value)]);
    const found = { red: [], died: [], hollow: [], skipped: [], green: [], slower: [], gone: [] };
    const nothing = { outcome: Board.NEVER, milliseconds: NaN };
    for (const cell of new Set([...before.keys(), ...after.keys()])) {
      const [old, now] = [before.get(cell) ?? nothing, after.get(cell) ?? nothing];
      let kind = this.kind(old.outcome, now.outcome);
      if (old.outcome === now.outcome && now.milliseconds > 2 * old.milliseconds
        && now.milliseconds - old.milliseconds > 100) kind = "slower";
      if (!kind) continue;
      const [test, backend] = cell.split("/").map(Number);
      found[kind].push({ test: Board.testById.get(test), backend: Board.backendById.get(backend),
        old: old.milliseconds, now: now.milliseconds, from: old.outcome, to: now.outcome });
    }
    for (const changes of Object.values(found)) {
      changes.sort((a, b) => a.test.order - b.test.order || a.backend.id - b.backend.id);
    }
    this.out.replaceChildren(
      this.section("Newly red", "failure", found.red),
      this.section("Not run: pytest died", "died", found.died),
      this.section("Newly hollow", "hollow", found.hollow),
      this.section("Newly skipped", "skipped", found.skipped),
      this.section("Newly green", "success", found.green),
      this.section("Slower", "xfailed", found.slower, true),
      this.section("No longer run", "never", found.gone));
    const regressions = found.red.length;
    const total = Object.values(found).reduce((sum, changes) => sum + changes.length, 0);
    this.status.textContent = total
      ? `${regressions} regression${regressions === 1 ? "" : "s"}, ${total} change${total === 1 ? "" : "s"}`
      : "No difference between these two.";
  }

  section(title, tone, changes, slower = false) {
    const shown = changes.slice(0, 300);
    const list = Board.make("ul");
    for (const change of shown) list.append(this.change(change, slower));
    if (changes.length > shown.length) {
      list.append(Board.make("li", { class: "hint" }, `and ${changes.length - shown.length} more`));
    }
    const section = Board.make("details", { class: `change ${tone}` },
      Board.make("summary", {}, Board.make("span", { class: "number" }, String(changes.length)),
        Board.make("span", {}, title)), list);
    section.open = changes.length > 0 && changes.length <= 50;
    return section;
  }

  change(change, slower) {
    const { test, backend } = change;
    const name = (code) => (code === Board.NEVER ? "not run" : Board.outcomes[code]);
    const button = Board.make("button", { class: "quiet" },
      Board.make("span", { class: "of" }, test.module.name),
      Board.make("span", { class: "text" }, test.name),
      Board.make("span", { class: "backend" }, backend.name),
      Board.make("span", { class: "step" }, slower
        ? `${Board.duration(change.old)} → ${Board.duration(change.now)}`
        : `${name(change.from)} → ${name(change.to)}`));
    button.addEventListener("click", () => this.open(test, backend.id));
    return Board.make("li", {}, button);
  }
};
