"""The report at the end of a run: what the backend has, and how much of the kit is green."""

import json
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import pytest

import trellis

from .exceptions import Exceptions

# The files of the kit, in the words of the report.
GROUPS = {
    "test_first": "interface",
    "test_rows": "rows",
    "test_gradients": "contract: gradients",
    "test_random": "contract: random numbers",
    "test_modules": "contract: modules",
    "test_dense": "contract: dense layers",
    "test_convolution": "contract: convolution",
    "test_attention": "contract: attention",
    "test_lstm": "contract: LSTM",
    "test_stored": "stored vectors",
    "test_training": "training curves",
    "test_bad_input": "bad input",
}


class Summary:
    """Counts what came of each test; registered as a plugin."""

    def __init__(
        self, backend: str, module: Any, exceptions: Exceptions, report: str | None = None
    ) -> None:
        self.backend, self.module, self.exceptions = backend, module, exceptions
        self.report = report  # a file for the same in JSON
        self.outcomes: dict[tuple[str, str], str] = {}  # by the file and the test in it
        self.seconds: dict[str, float] = defaultdict(float)  # by the file

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """A test is what the worst of its phases is."""
        is_expected = hasattr(report, "wasxfail") and report.outcome != "failed"
        found = "exception" if is_expected else report.outcome
        test = report.location[0], report.location[2]
        self.seconds[Path(test[0]).stem] += report.duration
        known = self.outcomes.get(test)
        if known in (None, "passed") and (report.when == "call" or found != "passed"):
            self.outcomes[test] = found

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        terminalreporter.section("conformance", "=")
        for line in self.lines():
            terminalreporter.write_line(line)

        if self.report is not None:
            text = json.dumps(self.as_data(), indent=1) + "\n"
            Path(self.report).write_text(text, encoding="utf-8")

    def as_data(self) -> dict[str, Any]:
        """The report as data: counts and seconds of each group, and the reasons of exceptions."""
        counts, seconds = self._counts(), {v: self.seconds[k] for k, v in GROUPS.items()}
        reasons = Counter([self.exceptions.reason(test) for _, test in self.outcomes])
        return {
            "backend": self.backend,
            "trellis": trellis.__version__,
            "functions": dict(Counter(self.module.MADE.values())),
            "groups": {
                label: {**found, "seconds": round(seconds[label], 1)}
                for label, found in counts.items()
            },
            "exceptions": {why: n for why, n in reasons.most_common() if why is not None},
        }

    def lines(self) -> list[str]:
        """The report."""
        made = Counter(self.module.MADE.values())
        missing = [name for name, how in self.module.MADE.items() if how == "missing"]
        named = f" ({', '.join(missing)})" if missing else ""
        table = self.exceptions
        return [
            f"{self.backend} with Trellis {trellis.__version__}",
            f"functions: {made['native']} native, {made['derived']} derived, {made['host']} on the "
            f"host, {made['missing']} missing{named}",
            *self._groups(),
            f"exceptions: {len(table.reasons)} in {table.path or 'no file'}",
        ]

    def _groups(self) -> list[str]:
        counts = self._counts()
        found = [line_of(label, group) for label, group in counts.items()]
        return [*found, line_of("all", sum(counts.values(), Counter()))]

    def _counts(self) -> dict[str, Counter[str]]:
        """Outcomes of the groups of which anything was run."""
        groups: dict[str, Counter[str]] = {label: Counter() for label in GROUPS.values()}
        for (file, _), outcome in self.outcomes.items():
            stem = Path(file).stem
            if stem in GROUPS:
                groups[GROUPS[stem]][outcome] += 1
        return {label: counts for label, counts in groups.items() if counts}


def line_of(label: str, counts: Counter[str]) -> str:
    """One line of the table.

    >>> line_of("rows", Counter({"passed": 97, "failed": 1, "exception": 2, "skipped": 4}))
    'rows                         97 of   100 green   97.0 %   2 exceptions, 1 failed, 4 skipped'
    """
    run = counts.total() - counts["skipped"]
    share = 100 * counts["passed"] / run if run else 0.0
    names = {"exception": "exceptions", "failed": "failed", "skipped": "skipped"}
    others = ", ".join([f"{counts[key]} {name}" for key, name in names.items() if counts[key]])
    return f"{label:24} {counts['passed']:>6} of {run:>5} green {share:>6.1f} %   {others}".rstrip()
