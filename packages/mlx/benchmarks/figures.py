"""What was measured on MLX: docs/data/mlx.json, and the tables that are made of it.

    python packages/mlx/benchmarks/curves.py
    python packages/mlx/benchmarks/training.py
    pytest -p trellis.conformance --pyargs trellis.conformance --backend mlx \\
        --conformance-report kit.json
    python packages/mlx/benchmarks/figures.py --date 2026-01-31 --kit kit.json

`--array-api trellis DIR` takes the JSON reports of the public suite (one file for each of its
files), `--array-api mlx DIR` those of mlx.core alone. The tables are written into
packages/mlx/README.md and docs/backend_packages.md in every case.
"""

import argparse
import json
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[3]
sys.path.insert(0, str(ROOT / "tools"))

from page_tables import filled, table

FILE = ROOT / "docs" / "data" / "mlx.json"
README = ROOT / "packages" / "mlx" / "README.md"
PAGE = ROOT / "docs" / "backend_packages.md"


def read() -> dict[str, Any]:
    return json.loads(FILE.read_text("utf-8")) if FILE.exists() else {}


def store(section: str, value: Any) -> None:
    """Replace one section of the data."""
    found = dict(sorted({**read(), section: value}.items()))
    FILE.write_text(json.dumps(found, indent=1) + "\n", "utf-8")


def suite(folder: Path) -> dict[str, list[int]]:
    """Passed and run, for each file of the public suite."""
    found = {}
    for file in sorted(folder.glob("*test_*.json")):
        counts = json.loads(file.read_text("utf-8"))["summary"]
        run = counts["total"] - counts.get("skipped", 0)
        found[file.stem.partition("test_")[2].replace("_", " ")] = [counts.get("passed", 0), run]
    return found


# The tables ---------------------------------------------------------------------------------------


def kit_table(kit: dict[str, Any]) -> str:
    rows = []
    for label, counts in kit["groups"].items():
        run = counts["passed"] + counts.get("exception", 0) + counts.get("failed", 0)
        share = f"{100 * counts['passed'] / run:.1f} %"
        others = counts.get("exception", 0)
        rows.append([label, run, counts["passed"], share, others, f"{counts['seconds']:.0f} s"])
    sums = [sum([row[i] for row in rows]) for i in (1, 2, 4)]
    seconds = sum([counts["seconds"] for counts in kit["groups"].values()])
    share = f"{100 * sums[1] / sums[0]:.1f} %"
    rows.append(["all", sums[0], sums[1], share, sums[2], f"{seconds:.0f} s"])
    return table(["group", "tests", "green", "", "exceptions", "time"], rows)


def reason_table(kit: dict[str, Any]) -> str:
    return table(["tests", "why they cannot pass"], [[n, x] for x, n in kit["exceptions"].items()])


def suite_table(both: dict[str, dict[str, list[int]]]) -> str:
    names = list(both["trellis"])
    rows = [
        [name, *["{} / {}".format(*both[who][name]) for who in ("trellis", "mlx")]]
        for name in names
    ]
    sums = [[sum([both[who][n][i] for n in names]) for i in (0, 1)] for who in ("trellis", "mlx")]
    rows.append(["all", *["{} / {}".format(*each) for each in sums]])
    return table(["group", "Trellis on MLX", "mlx.core alone"], rows)


def curve_table(curves: dict[str, Any]) -> str:
    rows = [
        [f"{name}.py", found["float32"]["steps"]]
        + [f"{found[kind]['difference']:.1e}" for kind in ("float32", "float64")]
        for name, found in sorted(curves.items())
    ]
    return table(["example", "steps", "float32", "float64"], rows)


def speed_table(speed: dict[str, Any]) -> str:
    rows = [
        [name, f"{1e3 * x['by_hand']:.2f} ms", f"{1e3 * x['trellis']:.2f} ms",
         f"{x['trellis'] / x['by_hand']:.2f}"]
        for name, x in sorted(speed.items())
    ]  # fmt: skip
    return table(["a training step", "by hand", "with Trellis", "times"], rows)


def tables_of(data: dict[str, Any]) -> dict[str, str]:
    return {
        "kit": kit_table(data["kit"]),
        "reasons": reason_table(data["kit"]),
        "suite": suite_table(data["array_api"]),
        "curves": curve_table(data["curves"]),
        "speed": speed_table(data["speed"]),
        "measured": f"Measured on {data['date']} with MLX {data['mlx']}, on one core of a "
        "Linux machine.",
    }  # fmt: skip


def write_tables() -> None:
    tables = tables_of(read())
    for page in (README, PAGE):
        page.write_text(with_tables(page.read_text("utf-8"), tables), "utf-8")


def with_tables(text: str, tables: dict[str, str]) -> str:
    """A page with the tables that it has places for."""
    for name, content in tables.items():
        if f"<!-- mlx {name} -->" in text:
            text = filled(text, f"mlx {name}", content)
    return text


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--date", help="when: 2026-01-31")
    parser.add_argument("--kit", type=Path, help="the kit's report")
    parser.add_argument(
        "--array-api", nargs=2, action="append", default=[], metavar=("WHO", "DIR"),
        help="the suite's reports; WHO is trellis or mlx",
    )  # fmt: skip
    options = parser.parse_args()
    if options.date:
        store("date", options.date)
        store("mlx", version("mlx"))
    if options.kit:
        store("kit", json.loads(options.kit.read_text("utf-8")))
    for who, folder in options.array_api:
        store("array_api", {**read().get("array_api", {}), who: suite(Path(folder))})
    write_tables()


if __name__ == "__main__":
    main()
