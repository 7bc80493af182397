"""build/benchmarks/*.json -> docs/benchmarks.md, with its plots in docs/benchmarks/. Nothing there
is written by hand."""

import json
from pathlib import Path
from statistics import geometric_mean

from harness import RESULTS, duration
from plots import bars, lines
from run import NAMES

DOCS = Path(__file__).resolve().parent.parent / "docs"
PICTURES = DOCS / "benchmarks"


def ratios(row):
    reference = next(iter(row["seconds"].values()))
    return {name: value / reference for name, value in row["seconds"].items()}


def limits(row):
    limit = row["limit"]
    return limit if isinstance(limit, dict) else ({} if limit is None else {"trellis": limit})


def table(document):
    """Rows with the same contestants share a table: time of the reference, then ratios to it."""
    text, columns = [], None
    for row in document["rows"]:
        names = list(row["seconds"])
        if len(names) > 6:
            text += ["", *tall(row), ""]
            columns = None
            continue
        if names != columns:
            columns = names
            text += ["", f"| | {names[0]} | " + " | ".join(names[1:]) + " | limit |"]
            text.append("|---" * (len(names) + 2) + "|")
        cells = [f"{duration(row['seconds'][names[0]])} ±{row['spread'][names[0]]:.0%}"]
        for name, ratio in list(ratios(row).items())[1:]:
            cells.append(f"{emphasised(name, ratio, row)} ±{row['spread'][name]:.0%}")
        allowed = ", ".join(f"{limit:g}" for limit in limits(row).values())
        text.append(f"| {row['what']} | " + " | ".join(cells) + f" | {allowed} |")
    return text


def tall(row):
    text = [f"| {row['what']} | time | ratio | limit |", "|---|---|---|---|"]
    for name, ratio in ratios(row).items():
        limit = limits(row).get(name)
        shown = emphasised(name, ratio, row)
        text.append(
            f"| {name} | {duration(row['seconds'][name])} | {shown} | "
            f"{'' if limit is None else limit} |"
        )
    return text


def emphasised(name, ratio, row):
    limit = limits(row).get(name)
    number = f"{ratio:.0f}" if ratio >= 100 else f"{ratio:.2f}"
    return f"**{number}** (over)" if limit is not None and ratio > limit else number


def pictures(documents):
    """{document: file name}"""
    PICTURES.mkdir(parents=True, exist_ok=True)
    made = {}
    if "training" in documents:
        rows = [
            (r["what"], ratios(r))
            for r in documents["training"]["rows"]
            if not r["what"].startswith("numpy")
        ]
        if rows:
            made["training"] = bars(
                "Training step: time as a multiple of hand-written native code", rows
            )
    if "dispatch" in documents:
        rows = [
            (r["what"], {k: v for k, v in ratios(r).items() if k != "native"})
            for r in documents["dispatch"]["rows"]
            if "trellis" in r["seconds"]
        ]
        made["dispatch"] = bars("A call on 4 elements, as a multiple of the native call", rows)
    if "growth" in documents:
        panels = {}
        for row in documents["growth"]["rows"]:
            what, size = row["what"].split()
            for name, value in row["seconds"].items():
                panels.setdefault(what, {}).setdefault(name, []).append((int(size), value))
        made["growth"] = lines(
            "Time of a call against its size, on torch (both axes logarithmic)", panels
        )
    for name, picture in made.items():
        (PICTURES / f"{name}.svg").write_text(picture)
    return made


def over_limit(documents):
    found = []
    for name, document in documents.items():
        for row in document["rows"]:
            for contestant, limit in limits(row).items():
                ratio = ratios(row).get(contestant, 0)
                if ratio > limit:
                    found.append(
                        f"| {name} | {row['what']} | {contestant} | {ratio:.2f} | {limit:g} |"
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
    head = ["", "Keras 3 beside Trellis, as multiples of our time:", ""]
    return [*head, "| backend | mode | mean | least | most |", "|---|---|---|---|---|", *text]


def main():
    documents = {}
    for name in NAMES:
        path = RESULTS / f"{name}.json"
        if path.exists():
            documents[name] = json.loads(path.read_text())
    made = pictures(documents)
    machine = next(iter(documents.values()))["machine"]
    versions = ", ".join(f"{k} {v}" for k, v in machine["versions"].items())
    text = [
        "# Benchmarks",
        "",
        "Written by `make bench`. Contestants take turns in one run; a number is the median, ± the "
        "spread between",
        "the quartiles; ratios are to the first column. Where it says so in the file, all run on "
        "one core and the time is that of",
        "the processor. Outputs were compared before anything was timed.",
        "",
        f"Machine: {machine['processor']}, {machine['cores']} cores, {machine['system']}, Python "
        f"{machine['python']}; {versions}.",
    ]
    over = over_limit(documents)
    text += ["", "## Over their limits", ""]
    if over:
        text += ["| benchmark | row | contestant | ratio | limit |", "|---|---|---|---|---|", *over]
    else:
        text.append("None.")
    for name, document in documents.items():
        text += [
            "",
            f"## {document['question']}",
            "",
            f"`benchmarks/{name}.py`" + (", short run" if document["quick"] else ""),
        ]
        if name in made:
            text += ["", f"![{document['question']}](benchmarks/{name}.svg)"]
        text += table(document)
        if name == "training":
            text += beside_keras(document)
        text += ["", *[f"- {note}" for note in document["notes"]]]
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
