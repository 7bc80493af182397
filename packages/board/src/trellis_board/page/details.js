"use strict";
// The drawer of one cell: what is known of its latest result, its durations, its history.
Board.Details = class {
  constructor() {
    this.dialog = document.getElementById("details");
    this.body = document.getElementById("details-body");
  }

  async show(row, column) {
    const backend = Board.backends[column];
    document.getElementById("details-module").textContent = `${row.module.name} · ${backend.name}`;
    document.getElementById("details-title").textContent = row.name;
    this.body.replaceChildren(Board.make("p", { class: "hint" }, "Loading…"));
    if (!this.dialog.open) this.dialog.showModal();
    let content;
    try {
      content = await Board.load(`history-${row.module.id}`);
    } catch (error) {
      this.body.replaceChildren(Board.make("p", { role: "alert" }, error.message));
      return;
    }
    const history = content.results
      .filter(([test, of]) => test === row.id && of === backend.id)
      .map(([, , code, run, part, milliseconds, time, comparisons, attempts, message, link]) => ({
        outcome: Board.outcomes[code], run: Board.runById.get(run), part: content.parts[part],
        milliseconds, time, comparisons, attempts, message, link: link || content.parts[part].link,
      }));
    this.history = history;
    this.draw(0);
  }

  // Draw the drawer with one result of the history chosen; 0 is the latest.
  draw(chosen) {
    const result = this.history[chosen];
    this.body.replaceChildren(
      Board.make("p", { class: `verdict ${result.outcome}` },
        Board.make("span", { class: "pill" },
          Board.make("b", { "aria-hidden": "true" }, Board.GLYPHS[result.outcome]),
          Board.make("span", {}, result.outcome)),
        Board.make("span", {}, Board.meanings[result.outcome])),
      ...this.message(result), this.facts(result), ...this.plot(chosen), this.table(chosen));
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
    ];
    const list = Board.make("dl", { class: "facts" });
    for (const [name, value] of facts) {
      if (value) list.append(Board.make("div", {}, Board.make("dt", {}, name), Board.make("dd", {}, value)));
    }
    return list;
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
        Board.make("td", { class: result.outcome }, Board.make("span", { class: "pill" },
          Board.make("b", { "aria-hidden": "true" }, Board.GLYPHS[result.outcome]),
          Board.make("span", {}, result.outcome))),
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
