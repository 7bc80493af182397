"""build/benchmarks/*.json -> docs/benchmarks.md, with its plots in docs/benchmarks/. Nothing there
is written by hand."""

import json
import tomllib
from fnmatch import fnmatchcase
from pathlib import Path
from statistics import geometric_mean

from harness import RESULTS, shown
from plots import bars, lines
from run import NAMES

DOCS = Path(__file__).resolve().parent.parent / "docs"
PICTURES = DOCS / "benchmarks"
RECORDED = Path(__file__).with_name("instructions.json")
BOUNDS = Path(__file__).with_name("bounds.toml")


def ratios(row):
    reference = next(iter(row["seconds"].values()))
    return {name: value / reference for name, value in row["seconds"].items()}


def shares(row):
    """What a limit is on: ratios to the reference; of exponents the difference."""
    if row["unit"] != "exponent":
        return ratios(row)
    reference = next(iter(row["seconds"].values()))
    return {name: value - reference for name, value in row["seconds"].items()}


def limits(row):
    limit = row["limit"]
    return limit if isinstance(limit, dict) else ({} if limit is None else {"trellis": limit})


def table(document):
    """Rows with the same contestants share a table: time of the reference, then ratios to it."""
    text, columns = [], None
    rows = document["rows"]
    if document["name"] == "growth":  # the other rows are the points of the plots
        rows = [row for row in rows if row["unit"] == "exponent"]
    if document["name"] == "working_sizes":  # times, memory, first calls; then by their columns
        kinds = list(dict.fromkeys([row["what"].partition(": ")[2] for row in rows]))
        rows = sorted(
            rows, key=lambda r: (kinds.index(r["what"].partition(": ")[2]), list(r["seconds"]))
        )
    if document["name"] == "training":  # torch compiled has no column of Keras
        columns_of = [list(row["seconds"]) for row in rows]
        rows = sorted(rows, key=lambda r: columns_of.index(list(r["seconds"])))
    for row in rows:
        names = list(row["seconds"])
        if len(names) > 6:
            text += ["", *tall(row), ""]
            columns = None
            continue
        if (names, row["unit"]) != columns:
            columns = names, row["unit"]
            text += ["", f"| | {names[0]} | " + " | ".join(names[1:]) + " | limit |"]
            text.append("|---" * (len(names) + 2) + "|")
        cells = [shown(row["seconds"][names[0]], row["unit"]) + spread(row, names[0])]
        for name in names[1:]:
            cells.append(emphasised(name, row) + spread(row, name))
        allowed = ", ".join(f"{limit:g}" for limit in limits(row).values())
        text.append(f"| {row['what']} | " + " | ".join(cells) + f" | {allowed} |")
    return text


def spread(row, name):
    """Nothing where a number was measured once."""
    return f" ±{row['spread'][name]:.0%}" if any(row["spread"].values()) else ""


def tall(row):
    text = [f"| {row['what']} | time | ratio | limit |", "|---|---|---|---|"]
    for name in row["seconds"]:
        limit = limits(row).get(name)
        text.append(
            f"| {name} | {shown(row['seconds'][name], row['unit'])} | {emphasised(name, row)} | "
            f"{'' if limit is None else limit} |"
        )
    return text


def emphasised(name, row):
    """The ratio, or the exponent itself, in bold where it is over its limit."""
    limit = limits(row).get(name)
    number = row["seconds"][name] if row["unit"] == "exponent" else ratios(row)[name]
    number = f"{number:.0f}" if number >= 100 else f"{number:.2f}"
    return f"**{number}** (over)" if limit is not None and shares(row)[name] > limit else number


def pictures(documents):
    """{document: [file names]}"""
    PICTURES.mkdir(parents=True, exist_ok=True)
    made = {}
    for name in ("training", "working_sizes"):
        rows = [
            (r["what"], ratios(r))
            for r in documents.get(name, {"rows": ()})["rows"]
            if not r["what"].startswith("numpy") and ":" not in r["what"]
        ]
        if rows:
            what = "Training step" if name == "training" else "A step at working sizes"
            title = f"{what}: time as a multiple of hand-written native code"
            made[name] = {name: bars(title, rows)}
    if "dispatch" in documents:
        rows = [
            (r["what"], {k: v for k, v in ratios(r).items() if k != "native"})
            for r in documents["dispatch"]["rows"]
            if "trellis" in r["seconds"]
        ]
        picture = bars("A call on 4 elements, as a multiple of the native call", rows)
        made["dispatch"] = {"dispatch": picture}
    if "growth" in documents:
        made["growth"] = growth_pictures(documents["growth"]["rows"])
    for path in PICTURES.glob("growth*.svg"):
        path.unlink()  # one for each framework that was measured
    for files in made.values():
        for file, picture in files.items():
            (PICTURES / f"{file}.svg").write_text(picture)
    return made


def growth_pictures(rows):
    """One for each framework, with a panel for each size that grows and its exponents."""
    panels, exponents = {}, {}
    for row in rows:
        backend, what = row["what"].replace(",", "").split()[:2]
        if row["unit"] == "exponent":
            words = [f"{name} {value:.2f}" for name, value in row["seconds"].items()]
            exponents[backend, what] = ", ".join(words)
            continue
        size = int(row["what"].split()[2])
        for name, value in row["seconds"].items():
            curves = panels.setdefault(backend, {}).setdefault(what, {})
            curves.setdefault(name, []).append((size, value))
    made = {}
    for backend, found in panels.items():
        marks = {what: exponents.get((backend, what), "") for what in found}
        title = f"{backend}: time of a call against its size, logarithmic, with exponents"
        made[f"growth-{backend}"] = lines(title, found, marks)
    return made


def why_over(bounds, name, what, ratio):
    """What bounds a row, from bounds.toml: the first entry that fits, as far as it goes."""
    for bound in bounds:
        fits = bound["benchmark"] == name and fnmatchcase(what, bound["row"])
        if fits and ratio <= bound["up_to"]:
            return bound["why"]
    return "**not explained yet**"


def over_limit(documents):
    bounds = tomllib.loads(BOUNDS.read_text())["bound"]
    found = []
    for name, document in documents.items():
        for row in document["rows"]:
            for contestant, limit in limits(row).items():
                ratio = shares(row).get(contestant, 0)
                if ratio > limit:
                    what = row["what"]
                    why = why_over(bounds, name, what, ratio)
                    found.append(
                        f"| {name} | {what} | {contestant} | {ratio:.2f} | {limit:g} | {why} |"
                    )
    return found


def beside_keras(document):
    """How many times as long Keras takes as we do, per backend and mode."""
    text = []
    groups = {}
    recompiling = [note.split(":")[0] for note in document["notes"] if "compiles" in note]
    for row in document["rows"]:
        if "keras" in row["seconds"] and row["what"] not in recompiling:
            backend, mode = row["what"].split()[0], row["what"].split()[-1]
            groups.setdefault((backend, mode), []).append(
                row["seconds"]["keras"] / row["seconds"]["trellis"]
            )
    for (backend, mode), factors in groups.items():
        text.append(
            f"| {backend} | {mode} | {geometric_mean(factors):.2f} | {min(factors):.2f} | "
            f"{max(factors):.2f} |"
        )
    if not text:
        return []
    head = ["", "Keras 3 compared with Trellis, as multiples of our time:", ""]
    return [*head, "| backend | mode | mean | least | most |", "|---|---|---|---|---|", *text]


def stamp(documents):
    """Which version was measured, and when: one run of one version, or else it says so."""
    versions = {d["machine"].get("trellis", "unknown") for d in documents.values()}
    times = sorted([d["machine"].get("at", "unknown") for d in documents.values()])
    text = [f"Trellis {', '.join(sorted(versions))}, measured {times[0]} to {times[-1]} (UTC)."]
    if len(versions) > 1:
        text += ["", "**These figures are of several versions.**"]
    return text


def instructions():
    """What is recorded in instructions.json; `make bench-compare` counts anew."""
    if not RECORDED.exists():
        return []
    document = json.loads(RECORDED.read_text())
    counts = document["instructions"]
    text = [
        "", "## Instructions a call, arrays of 4 elements", "",
        "`benchmarks/instructions.py`, counted by callgrind with Trellis "
        f"{document['versions']['trellis']}; `make bench-compare` counts again and compares.", "",
        "| | native | trellis | over native |", "|---|---|---|---|",
    ]  # fmt: skip
    for name, native in counts.items():
        row, _, who = name.partition(": ")
        if who == "native":
            ours = counts[f"{row}: trellis"]
            text.append(f"| {row} | {native:,} | {ours:,} | {ours - native:,} |")
    return text


def main():
    documents = {}
    for name in NAMES:
        path = RESULTS / f"{name}.json"
        if path.exists():
            documents[name] = json.loads(path.read_text())
            for row in documents[name]["rows"]:
                row.setdefault("unit", "s")
    made = pictures(documents)
    machine = next(iter(documents.values()))["machine"]
    versions = ", ".join(f"{k} {v}" for k, v in machine["versions"].items())
    text = [
        "# Benchmarks",
        "",
        "Written by `make bench`. Contestants take turns in one run; a number is the median, ± the "
        "spread between",
        "the quartiles; ratios are to the first column. Some benchmarks run on one core and count "
        "processor time; their files say so.",
        "Outputs were compared before anything was timed.",
        "",
        *stamp(documents),
        "",
        f"Machine: {machine['processor']}, {machine['cores']} cores, {machine['system']}, Python "
        f"{machine['python']}; {versions}.",
    ]
    over = over_limit(documents)
    text += ["", "## Over their limits", ""]
    if over:
        head = "| benchmark | row | contestant | ratio | limit | what bounds it |"
        text += [head, "|---" * 6 + "|", *over]
    else:
        text.append("None.")
    for name, document in documents.items():
        text += [
            "",
            f"## {document['question']}",
            "",
            f"`benchmarks/{name}.py`" + (", short run" if document["quick"] else ""),
        ]
        for file in made.get(name, ()):
            text += ["", f"![{document['question']}](benchmarks/{file}.svg)"]
        text += table(document)
        if name == "training":
            text += beside_keras(document)
        text += ["", *[f"- {note}" for note in document["notes"]]]
    text += instructions()
    (DOCS / "benchmarks.md").write_text("\n".join(text).rstrip() + "\n")
    print(
        "docs/benchmarks.md:",
        sum(len(d["rows"]) for d in documents.values()),
        "rows,",
        len(over),
        "over",
    )


if __name__ == "__main__":
    main()
