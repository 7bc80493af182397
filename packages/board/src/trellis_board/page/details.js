"use strict";
// The drawer of one cell: what is known of its latest result, its durations, its history.
Board.Details = class {
  constructor(changed) {
    this.changed = changed; // called when another cell is opened, or the drawer is closed
    this.cell = null;
    this.dialog = document.getElementById("details");
    this.body = document.getElementById("details-body");
    this.dialog.addEventListener("close", () => { this.cell = null; this.changed(); });
  }

  // Open the cell of a test and a backend, given by its id.
  async show(test, backendId) {
    this.cell = { test, backend: Board.backendById.get(backendId) };
    const { backend } = this.cell;
    const column = Board.backends.find(({ id }) => id === backendId);
    const where = backendId === Board.plain ? "without a backend" : column?.label ?? backend.name;
    document.getElementById("details-module").textContent = `${test.module.name} · ${where}`;
    document.getElementById("details-title").textContent = test.name;
    this.body.replaceChildren(Board.make("p", { class: "hint" }, "Loading…"));
    if (!this.dialog.open) this.dialog.showModal();
    this.changed();
    let content;
    try {
      content = await Board.load(Board.ofBranch(`history-${test.module.id}`));
    } catch (error) {
      this.body.replaceChildren(Board.make("p", { role: "alert" }, error.message));
      return;
    }
    this.history = content.results
      .filter(([of, on]) => of === test.id && on === backendId)
      .map(([, , code, run, part, milliseconds, time, comparisons, attempts, message, link]) => ({
        outcome: Board.outcomes[code], run: Board.runById.get(run) ?? { name: String(run) },
        part: content.parts[part], milliseconds, time, comparisons, attempts, message,
        link: link || content.parts[part].link,
      }));
    if (this.history.length) this.draw(0);
    else this.body.replaceChildren(Board.make("p", { class: "hint" }, `No result on branch ${Board.branch}.`));
  }

  // Draw the drawer with one result of the history chosen; 0 is the latest.
  draw(chosen) {
    const result = this.history[chosen];
    this.body.replaceChildren(
      Board.make("p", { class: `verdict ${result.outcome}` }, Board.pill(result.outcome),
        Board.make("span", {}, Board.meanings[result.outcome])),
      ...this.issue(chosen), ...this.message(result), this.facts(result), ...this.plot(chosen), this.table(chosen));
  }

  // What is known about the latest result, if it is not green.
  issue(chosen) {
    const issue = Board.issueOf.get(`${this.cell.test.id}/${this.cell.backend.id}`);
    if (!issue || chosen !== 0) return [];
    return [Board.make("p", { class: "known" }, "Known issue: ",
      Board.make("a", { href: issue.link, rel: "noopener noreferrer", target: "_blank" }, issue.title))];
  }

  message(result) {
    if (!result.message) return [];
    const broken = result.outcome === "failure" || result.outcome === "error";
    return [Board.make("h3", {}, broken ? "Error" : "Reason"),
      Board.make("pre", { class: broken ? "error-text" : "reason", tabindex: 0 }, result.message)];
  }

  facts(result) {
    const { run, part } = result;
    const age = Board.age(result.time);
    const versions = Object.entries(part.versions).map(([name, version]) => `${name} ${version}`);
    const facts = [
      ["When", `${Board.date(result.time)} (${age === "now" ? "just now" : `${age} ago`})`],
      ["Commit", run.commit ? Board.make("code", {}, run.commit) : null],
      ["Source", this.source(result)],
      ["Branch", run.branch],
      ["Run", run.name],
      ["Shard", /^[0-9a-f]{12}$/.test(part.shard) ? null : part.shard],
      ["Link", result.link ? Board.make("a", { href: result.link, rel: "noopener noreferrer", target: "_blank" },
        result.link) : "none"],
      ["Duration", Board.duration(result.milliseconds ?? NaN) || null],
      ["Comparisons", result.comparisons === null ? "not known" : String(result.comparisons)],
      ["Attempts", result.attempts > 1 ? String(result.attempts) : null],
      ["Versions", versions.length ? versions.join(", ") : null],
      ["Python", part.python],
      ["Platform", part.platform],
      ["Permalink", Board.make("a", { href: location.href, id: "permalink" }, "Link to this cell")],
    ];
    const list = Board.make("dl", { class: "facts" });
    for (const [name, value] of facts) {
      if (value) list.append(Board.make("div", {}, Board.make("dt", {}, name), Board.make("dd", {}, value)));
    }
    return list;
  }

  // The file of the test, at the commit of the result: as board.toml says, or where CI ran it.
  source({ run, link }) {
    const { name, module } = this.cell.test;
    const commit = run.commit?.replace(/-dirty$/, "");
    const file = /\.\w+$/.test(module.name) ? module.name : `${module.name}.py`;
    const words = { commit: commit ?? "HEAD", file, test: name.replace(/\[.*$/s, "").split("::").at(-1) };
    const [, github] = /^(https:\/\/[^/]+\/[^/]+\/[^/]+)\/actions\/runs\//.exec(link ?? "") ?? [];
    const [, gitlab] = /^(https:\/\/.+?)\/-\/(?:jobs|pipelines)\//.exec(link ?? "") ?? [];
    const found = github ? `${github}/blob/{commit}/{file}` : gitlab ? `${gitlab}/-/blob/{commit}/{file}` : null;
    // A marker may name the module after anything; only what looks like a file of tests is taken for one.
    const template = Board.source ?? (commit && /\/|^test_|_test$/.test(module.name) ? found : null);
    if (!template) return null;
    const href = template.replace(/\{(commit|file|test)\}/g,
      (_, word) => encodeURIComponent(words[word]).replaceAll("%2F", "/"));
    return Board.make("a", { href, id: "source", rel: "noopener noreferrer", target: "_blank" }, file);
  }

  // Durations from left (oldest) to right (latest); a dot opens its result.
  plot(chosen) {
    const points = this.history.map((result, index) => ({ ...result, index }))
      .filter((result) => Number.isFinite(result.milliseconds)).reverse();
    if (points.length < 2) return [];
    const [width, height, left, edge] = [560, 130, 58, 12];
    const most = Math.max(...points.map((point) => point.milliseconds), 0.01);
    const x = (i) => left + (i * (width - left - edge)) / Math.max(1, points.length - 1);
    const y = (milliseconds) => height - 14 - (milliseconds / most) * (height - 14 - edge);
    const svg = Board.make("svg", { viewBox: `0 0 ${width} ${height}`, class: "plot", role: "img",
      "aria-label": `Durations of the last ${points.length} runs, from ${Board.duration(points[0].milliseconds)} to ${Board.duration(points.at(-1).milliseconds)}` });
    for (const share of [0, 0.5, 1]) {
      const at = y(most * share);
      svg.append(Board.make("line", { x1: left, x2: width - edge, y1: at, y2: at, class: "rule" }),
        Board.make("text", { x: left - 8, y: at + 4 }, Board.duration(most * share)));
    }
    svg.append(Board.make("path", { class: "trend",
      d: points.map((point, i) => `${i ? "L" : "M"}${x(i)} ${y(point.milliseconds)}`).join("") }));
    points.forEach((point, i) => {
      const dot = Board.make("circle", { cx: x(i), cy: y(point.milliseconds), r: point.index === chosen ? 6 : 4,
        class: point.outcome }, Board.make("title", {},
        `${point.outcome}, ${Board.duration(point.milliseconds)}, ${Board.date(point.time)}`));
      dot.addEventListener("click", () => this.draw(point.index));
      svg.append(dot);
    });
    return [Board.make("h3", {}, "Durations"), svg];
  }

  table(chosen) {
    const body = Board.make("tbody");
    this.history.forEach((result, index) => {
      const button = Board.make("button", { class: "quiet", "aria-pressed": index === chosen },
        Board.date(result.time));
      button.addEventListener("click", () => {
        this.draw(index);
        this.body.querySelector('tbody button[aria-pressed="true"]').focus();
      });
      body.append(Board.make("tr", { class: index === chosen ? "chosen" : null },
        Board.make("td", {}, button),
        Board.make("td", { class: result.outcome }, Board.pill(result.outcome)),
        Board.make("td", {}, Board.make("code", {}, Board.commit(result.run.commit))),
        Board.make("td", { class: "number" }, Board.duration(result.milliseconds ?? NaN))));
    });
    const head = Board.make("tr");
    for (const name of ["When", "Outcome", "Commit", "Duration"]) {
      head.append(Board.make("th", { scope: "col" }, name));
    }
    return Board.make("section", {}, Board.make("h3", {}, `History (${this.history.length})`),
      Board.make("table", { class: "history" }, Board.make("thead", {}, head), body));
  }
};
