"use strict";
// Two runs or two commits side by side: what turned red, hollow, green, slow, or silent.
Board.Compare = class {
  constructor(open, changed) {
    this.open = open; // called with a row and a column when a change is clicked
    this.changed = changed; // called when another pair is chosen
    this.base = document.getElementById("base");
    this.head = document.getElementById("head");
    this.status = document.getElementById("compare-status");
    this.out = document.getElementById("changes");
    for (const select of [this.base, this.head]) {
      select.append(this.group("Runs", Board.comparable.map((run) =>
        [`run:${run.name}`, `${Board.date(run.started)} · ${Board.commit(run.commit)} · ${run.name}`])));
      const commits = [...new Set(Board.comparable.map((run) => run.commit).filter(Boolean))];
      select.append(this.group("Commits", commits.map((commit) => [`commit:${commit}`, Board.commit(commit)])));
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

  // Choose a pair; without one, the newest run against the one before.
  choose(base, head) {
    const [newest, before] = Board.comparable;
    this.head.value = head || (newest ? `run:${newest.name}` : "");
    this.base.value = base || (before ? `run:${before.name}` : this.head.value);
  }

  // The cells of a run or commit; where a commit has several runs, the newest one that has the cell.
  async cells(ref) {
    const split = ref.indexOf(":");
    const [kind, name] = [ref.slice(0, split), ref.slice(split + 1)];
    const runs = Board.comparable.filter((run) => (kind === "run" ? run.name : run.commit) === name);
    const size = Board.rows.length * Board.width;
    const outcome = new Int8Array(size).fill(Board.NEVER);
    const milliseconds = new Float64Array(size).fill(NaN);
    for (const run of [...runs].reverse()) {
      const { cells } = await Board.load(`run-${run.id}`);
      for (let i = 0; i < cells.length; i += 4) {
        const at = Board.rowById.get(cells[i]) * Board.width + Board.columnById.get(cells[i + 1]);
        outcome[at] = cells[i + 2];
        milliseconds[at] = cells[i + 3] ?? NaN;
      }
    }
    return { outcome, milliseconds };
  }

  // The same rules as kind_of_change in diff.py.
  kind(before, after) {
    const [old, now] = [before, after].map((code) => (code === Board.NEVER ? null : Board.outcomes[code]));
    const red = (outcome) => outcome === "failure" || outcome === "error";
    if (old === now) return null;
    if (now === null) return "gone";
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
    const found = { red: [], hollow: [], skipped: [], green: [], slower: [], gone: [] };
    for (let at = 0; at < before.outcome.length; at += 1) {
      let kind = this.kind(before.outcome[at], after.outcome[at]);
      const [old, now] = [before.milliseconds[at], after.milliseconds[at]];
      if (!kind && now > 2 * old && now - old > 100) kind = "slower";
      if (kind) found[kind].push({ at, old, now, from: before.outcome[at], to: after.outcome[at] });
    }
    this.out.replaceChildren(
      this.section("Newly red", "failure", found.red),
      this.section("Newly hollow", "hollow", found.hollow),
      this.section("Newly skipped", "skipped", found.skipped),
      this.section("Newly green", "success", found.green),
      this.section("Slower", "xfailed", found.slower, true),
      this.section("No longer run", "never", found.gone));
    const regressions = found.red.length
      + found.hollow.filter((change) => change.from < change.to).length;
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
    const row = Board.rows[Math.floor(change.at / Board.width)];
    const column = change.at % Board.width;
    const name = (code) => (code === Board.NEVER ? "not run" : Board.outcomes[code]);
    const button = Board.make("button", { class: "quiet" },
      Board.make("span", { class: "of" }, row.module.name),
      Board.make("span", { class: "text" }, row.name),
      Board.make("span", { class: "backend" }, Board.backends[column].name),
      Board.make("span", { class: "step" }, slower
        ? `${Board.duration(change.old)} → ${Board.duration(change.now)}`
        : `${name(change.from)} → ${name(change.to)}`));
    button.addEventListener("click", () => this.open(row, column));
    return Board.make("li", {}, button);
  }
};
