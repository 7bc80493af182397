"""Lines and branches that the tests run, for each package: into docs/data/coverage.json, and from
there into the table of docs/tests.md. `make coverage` writes build/coverage.json and starts this.

    python tools/coverage_table.py --date 2026-01-31 --tests 'the whole suite'
"""

import argparse
import json
from pathlib import Path

from page_tables import ROOT, filled, table

KEPT = ROOT / "docs" / "data" / "coverage.json"
PAGE = ROOT / "docs" / "tests.md"
COUNTS = ("num_statements", "covered_lines", "num_branches", "covered_branches")


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--tests", required=True, help="which tests were run")
    parser.add_argument("--date", required=True, help="when: 2026-01-31")
    parser.add_argument("--report", default=ROOT / "build" / "coverage.json", type=Path)
    options = parser.parse_args()
    packages = by_package(json.loads(options.report.read_text())["files"])
    kept = {"tests": options.tests, "date": options.date, "packages": packages}
    KEPT.write_text(json.dumps(kept, indent=1) + "\n")
    PAGE.write_text(filled(PAGE.read_text(), "coverage", shown(kept)))


def by_package(files):
    """The counts of coverage.py, summed over the files of each package.

    >>> counts = {"num_statements": 4, "covered_lines": 3, "num_branches": 2, "covered_branches": 1}
    >>> by_package({f"src/trellis/{name}": {"summary": counts} for name in ("nn/a.py", "nn/b.py")})
    {'nn': [8, 6, 4, 2]}
    >>> by_package({"src/trellis/cli.py": {"summary": counts}})
    {'(modules)': [4, 3, 2, 1]}
    >>> by_package({"packages/board/src/trellis_board/pages/a.py": {"summary": counts}})
    {'trellis_board': [4, 3, 2, 1]}
    """
    found = {}
    for file, measured in sorted(files.items()):
        package = package_of(Path(file).parts)
        counts = found.setdefault(package, [0] * len(COUNTS))
        for i, name in enumerate(COUNTS):
            counts[i] += measured["summary"][name]
    return dict(sorted(found.items()))


def package_of(parts):
    """The package that a file is in; the board is one line."""
    if "trellis_board" in parts:
        return "trellis_board"
    below = parts[len(parts) - parts[::-1].index("trellis") :]
    return below[0] if len(below) > 1 else "(modules)"


def shown(kept):
    """The sentence that says what was measured, and the table."""
    whole = [sum(column) for column in zip(*kept["packages"].values(), strict=True)]
    rows = [[f"`{name}`", *row(counts)] for name, counts in kept["packages"].items()]
    head = ["package", "lines", "run", "branches", "taken"]
    text = table(head, [*rows, ["all", *row(whole)]])
    return f"Measured on {kept['date']} with {kept['tests']}.\n\n{text}"


def row(counts):
    """The four cells of a package.

    >>> row([1200, 600, 0, 0])
    ['1,200', '50.0 %', '0', '']
    """
    lines, run, branches, taken = counts
    return [f"{lines:,}", percent(run, lines), f"{branches:,}", percent(taken, branches)]


def percent(part, whole):
    return f"{100 * part / whole:.1f} %" if whole else ""


if __name__ == "__main__":
    main()
