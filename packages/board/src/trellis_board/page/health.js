"use strict";
// What becomes of the board over time: the green share of each backend, flaky cells, broken runs.
Board.Health = class {
  constructor(open, compare) {
    this.open = open; // called with a test and the id of a backend
    this.compare = compare; // called with the name of a run, to show what it broke
  }

  async draw() {
    const content = await Board.load("health");
    this.drawTrends(content);
    this.drawFlaky(content);
    this.drawRegressions(content);
  }

  // One small plot per backend: many lines in one would need a legend and sharp eyes.
  // A point is the board after a run: cells that the run did not have keep their last outcome.
  drawTrends({ runs, standing, joint, died }) {
    const counts = new Map();
    for (let i = 0; i < standing.length; i += 4) {
      const key = `${standing[i]}/${standing[i + 1]}`;
      if (!counts.has(key)) counts.set(key, new Array(Board.outcomes.length + 1).fill(0));
      counts.get(key)[standing[i + 2]] += standing[i + 3];
    }
    const reached = new Map(died);
    const oldestFirst = [...runs].reverse().map(([id, name, commit, , started]) =>
      ({ id, name, commit, started, died: reached.has(id) ? `, which died at ${reached.get(id)} %` : "" }));
    const items = Board.backends.map((backend) => {
      const points = oldestFirst.map((run) => ({ run, counts: counts.get(`${run.id}/${backend.id}`) }))
        .filter((point) => point.counts).map(({ run, counts: found }) => ({ run, ...Board.score(found) }))
        .filter((point) => point.of > 0);
      return Board.make("li", {}, ...this.trend(backend.label, points));
    });
    const joints = new Map(joint.map(([run, green, of]) => [run, { green, of }]));
    const points = oldestFirst.filter((run) => joints.get(run.id)?.of).map((run) => ({ run, ...joints.get(run.id) }));
    if (points.length) items.unshift(Board.make("li", { class: "joint" }, ...this.trend("All backends", points, Board.target)));
    document.getElementById("trends").replaceChildren(...items);
  }

  trend(label, points, target = null) {
    if (!points.length) return [Board.make("h3", {}, label), Board.make("p", { class: "hint" }, "no run yet")];
    const [width, height, edge] = [260, 48, 5];
    const share = ({ green, of }) => green / of;
    // The scale begins at the lowest point: from 98 % to 99 % is news.
    const lowest = Math.min(0.98, ...points.map(share), ...(target === null ? [] : [target / 100]));
    const x = (i) => edge + (i * (width - 2 * edge)) / Math.max(1, points.length - 1);
    const y = (point) => height - edge - ((share(point) - lowest) / (1 - lowest)) * (height - 2 * edge);
    const [first, last] = [points[0], points.at(-1)];
    const svg = Board.make("svg", { viewBox: `0 0 ${width} ${height}`, class: "plot small", role: "img",
      "aria-label": `${label}: green share over ${points.length} runs, from ${Board.percent(first)} to ${Board.percent(last)}` },
    Board.make("line", { x1: 0, x2: width, y1: edge, y2: edge, class: "rule" }),
    Board.make("path", { class: "trend", d: points.map((point, i) => `${i ? "L" : "M"}${x(i)} ${y(point)}`).join("") }));
    if (target !== null) {
      const at = y({ green: target, of: 100 });
      svg.append(Board.make("line", { x1: 0, x2: width, y1: at, y2: at, class: "target" }, Board.make("title", {}, `target: ${target}%`)));
    }
    points.forEach((point, i) => svg.append(Board.make("circle", { cx: x(i), cy: y(point), r: 3,
      class: point.green === point.of ? "success" : "hollow" },
    Board.make("title", {}, `${point.green} of ${point.of} green, ${Board.date(point.run.started)}, run ${point.run.name}${point.run.died}`))));
    return [Board.make("h3", {}, label),
      Board.make("p", { class: "now" }, Board.make("strong", {}, Board.percent(last)),
        Board.make("span", {}, `${last.green.toLocaleString("en")} of ${last.of.toLocaleString("en")}`
          + (target === null ? "" : `, target ${target}%`))), svg];
  }

  drawFlaky({ flaky }) {
    const rows = flaky.filter(([test]) => Board.testById.has(test))
      .map(([test, backend, turns, sameCommit, reruns, results, code, since, owner]) => {
        const found = Board.testById.get(test);
        const reasons = [
          turns ? `turned ${turns} time${turns === 1 ? "" : "s"} in ${results} runs` : "",
          sameCommit ? "green and red on one commit" : "",
          reruns ? `passed only when repeated, ${reruns} time${reruns === 1 ? "" : "s"}` : "",
          `since ${Board.days(since)}`,
          owner ? `owner ${owner}` : "no owner",
        ].filter(Boolean);
        const button = Board.make("button", { class: "quiet" },
          Board.make("span", { class: "of" }, found.module.name), Board.make("span", { class: "text" }, found.name),
          Board.make("span", { class: "backend" }, Board.backendById.get(backend).name),
          Board.make("span", { class: "step" }, reasons.join(", ")),
          Board.make("span", { class: Board.outcomes[code] }, Board.pill(Board.outcomes[code])));
        button.addEventListener("click", () => this.open(found, backend));
        return Board.make("li", {}, button);
      });
    document.getElementById("flaky").replaceChildren(...(rows.length ? rows.slice(0, 200)
      : [Board.make("li", { class: "hint" }, "No cell was flaky in the newest 30 runs.")]));
  }

  drawRegressions({ regressions, runs }) {
    const byId = new Map(runs.map((run) => [run[0], run]));
    const rows = regressions.filter(([run]) => byId.has(run)).map(([run, number]) => {
      const [, name, commit, , started] = byId.get(run);
      const button = Board.make("button", { class: "quiet" },
        Board.make("span", { class: "text" }, `${number} cell${number === 1 ? "" : "s"}`),
        Board.make("span", { class: "backend" }, `${Board.date(started)} · ${Board.commit(commit)}`),
        Board.make("span", { class: "step" }, `run ${name}`));
      button.addEventListener("click", () => this.compare(name));
      return Board.make("li", {}, button);
    });
    document.getElementById("broken").replaceChildren(...(rows.length ? rows
      : [Board.make("li", { class: "hint" }, "None of the newest 30 runs broke anything.")]));
  }
};
