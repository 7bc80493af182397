"""The verdicts of `diff` on 200 replayed histories whose truth is known.

``pytest tests/test_verdicts.py -s`` prints precision and recall of each kind.
"""

from __future__ import annotations

import random
from collections import Counter

from trellis_board.diff import compare
from trellis_board.queries import runs
from trellis_board.recording import project_id, record_part
from trellis_board.records import Part, Result
from trellis_board.store import Store

HISTORIES = 200
# So many histories are modules of one project: a verdict is about a cell and its module, and each
# recorded run then costs a twentieth.
TOGETHER = 20
MODULES, TESTS, BACKENDS, RUNS = 3, 5, ("numpy", "torch"), 40
CELLS = [(m, t, b) for m in range(MODULES) for t in range(TESTS) for b in BACKENDS]


class History:
    """Runs of a main branch, and one of a pull request; `truth` is what became of each cell."""

    def __init__(self, seed):
        self.seed = seed
        self.chance = chance = random.Random(seed)
        cells = chance.sample(CELLS, len(CELLS))
        self.flakes = {cells.pop(): chance.uniform(0.15, 0.5) for _ in range(2)}
        self.reruns = chance.random() < 0.3
        self.always_red = {cells.pop()}
        # Broken by one commit of the branch, fixed by a later one.
        begin = chance.randrange(2, RUNS - 12)
        self.faults = {cells.pop(): range(begin, begin + chance.randrange(1, 6)) for _ in range(2)}
        # A machine or a module that was down: everything in it is red.
        self.outages = {
            number: chance.randrange(MODULES)
            for number in range(RUNS)
            if chance.random() < 0.06 or (number == RUNS - 1 and chance.random() < 0.15)
        }
        self.died = {n for n in range(RUNS) if chance.random() < 0.05}
        if chance.random() < 0.15:
            self.died.add(RUNS - 1)  # the base itself
        self.regressions = {cells.pop() for _ in range(chance.randrange(4))}
        self.hollow = {cells.pop() for _ in range(chance.randrange(2))}
        self.left_out = {cells.pop() for _ in range(chance.randrange(3))}
        self.fixes = chance.random() < 0.5
        self.head_dies = chance.random() < 0.15
        self.seen = {}

    def outcome(self, number, cell):
        if cell in self.flakes:
            red = self.chance.random() < self.flakes[cell]
            if red and self.reruns and self.chance.random() < 0.7:
                return "success", 2
            return ("failure" if red else "success"), 1
        if number is None:
            broken = cell in self.regressions or (cell in self.always_red and not self.fixes)
            return ("failure" if broken else "hollow" if cell in self.hollow else "success"), 1
        down = self.outages.get(number) == cell[0]
        broken = cell in self.always_red or number in self.faults.get(cell, ())
        return ("failure" if broken or down else "success"), 1

    def results(self, number):
        """Those of a run of the branch, or of the pull request; one that dies has a place where."""
        is_head = number is None
        dies = self.head_dies if is_head else number in self.died
        stop = self.chance.randrange(5, len(CELLS)) if dies else len(CELLS)
        results, found = [], {}
        for place, cell in enumerate(CELLS):
            if is_head and cell in self.left_out:
                continue
            outcome, attempts = self.outcome(number, cell)
            if place >= stop:
                outcome, attempts = "died", 1
            found[cell] = outcome
            module, test, backend = cell
            names = f"{self.seed} {module}", f"test{test}", backend
            results.append(Result(*names, outcome, attempts=attempts))
        if not is_head:
            self.seen.update({cell: out for cell, out in found.items() if out != "died"})
            self.base = found
        self.head = found
        return results

    def truth(self, cell):
        after, before = self.head.get(cell), self.seen.get(cell)
        if after is None:
            return None if self.base.get(cell) in (None, "died") else "not run"
        if after == "died":
            return "died"
        if cell in self.flakes:
            return "flaky" if after == "failure" else None
        if after == "failure":
            return "already red" if before == "failure" else "new failure"
        if after == "hollow":
            return "newly hollow"
        return "fixed" if before == "failure" else None


def run(histories, number):
    """One run of a project that has some histories; without a number, that of a pull request."""
    name, branch = ("head", "pull/1/x") if number is None else (str(number), "main")
    started = float(RUNS if number is None else number) + 1
    results = [result for history in histories for result in history.results(number)]
    return Part(name, "", started, name * 8, branch, results=results)


def test_two_hundred_histories(tmp_path):
    store = Store.open(tmp_path / "b.sqlite")
    right, said, true = Counter(), Counter(), Counter()
    for first in range(0, HISTORIES, TOGETHER):
        histories = [History(seed) for seed in range(first, first + TOGETHER)]
        with store.writing() as connection:
            project = project_id(connection, f"p{first}")
            for number in [*range(RUNS), None]:
                record_part(connection, project, run(histories, number))
            head, base, *_ = runs(connection, project)
            found = compare(connection, project, [base], [head])
        told = {
            (*map(int, c.module.split()), int(c.test[4:]), c.backend): c.kind
            for c in found.changes
            if c.kind not in ("newly passing", "slower")
        }
        for history in histories:
            for cell in CELLS:
                kind, truth = told.get((history.seed, *cell)), history.truth(cell)
                said[kind] += 1
                true[truth] += 1
                right[kind] += kind == truth
    kinds = ("new failure", "flaky", "already red", "died", "fixed", "newly hollow", "not run")
    assert all(true[kind] > 20 for kind in kinds), true
    figures = {
        kind: (round(right[kind] / said[kind], 3), round(right[kind] / true[kind], 3))
        for kind in kinds
    }
    for kind, (precision, recall) in figures.items():
        print(f"{kind}: {true[kind]} planted, precision {precision}, recall {recall}")
    assert min(min(pair) for pair in figures.values()) >= 0.98, figures
