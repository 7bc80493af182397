"""The figures in the README are those of docs/benchmarks.md, and its links lead somewhere."""

import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tools" / "docs"))

import charts  # noqa: E402

README = (ROOT / "README.md").read_text(encoding="utf-8")
WORDS = " ".join(README.split())
BENCHMARKS = (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8")
UNITS = {"ns": 1e-3, "µs": 1.0, "ms": 1e3}


def over_native(section, row):
    """What a call costs over the native one, in µs."""
    text = BENCHMARKS.partition(f"\n## {section}")[2]
    native = re.search(rf"^\| {row} \| ([\d.]+) (ns|µs|ms)", text, re.MULTILINE)
    ratio = dict(charts.ratios(section))[row]["trellis"]
    return float(native[1]) * UNITS[native[2]] * (ratio - 1)


def numbers(pattern):
    found = re.search(pattern, WORDS)
    assert found, f"the README does not say: {pattern}"
    return [float(number) for number in found.groups()]


def test_cost_of_a_call():
    section = "Cost of a call over the native call, arrays of 4 elements"
    said = numbers(
        r"`exp\(x\)` costs ([\d.]+) and ([\d.]+) µs over the framework's own, one such as "
        r"`add\(x, y\)` ([\d.]+) and ([\d.]+) µs"
    )
    rows = ("numpy exp", "torch exp", "numpy add", "torch add")
    # One digit each: half a digit either way.
    assert said == pytest.approx([over_native(section, row) for row in rows], abs=0.05)


def training_rows():
    rows = charts.ratios("One training step with Adam, forward to update")
    return {
        label: row
        for label, row in rows
        if label.endswith((", eager", ", compiled")) and not label.startswith("numpy")
    }


def test_a_training_step_beside_native_code():
    low, high = numbers(r"takes ([\d.]+) to ([\d.]+) times hand-written native code")
    ours = [row["trellis"] for row in training_rows().values()]
    assert (low, high) == (min(ours), max(ours))


def test_a_training_step_beside_keras():
    low, high, most = numbers(
        r"Keras 3 takes ([\d.]+) to ([\d.]+) times as long as Trellis "
        r"\(an LSTM on eager JAX ([\d.]+) times\)"
    )
    rows = {label: row for label, row in training_rows().items() if "keras" in row}
    assert len(rows) == 20  # all but torch compiled
    ratios = {label: row["keras"] / row["trellis"] for label, row in rows.items()}
    assert round(ratios.pop("jax lstm, eager")) == most
    assert (round(min(ratios.values()), 1), round(max(ratios.values()), 1)) == (low, high)


def working_rows(ending):
    rows = charts.ratios("Working sizes: a step of a GPT, a ResNet-18 and an LSTM")
    rows = {label: row["trellis"] for label, row in rows if label.endswith(ending)}
    return {label: ratio for label, ratio in rows.items() if not label.startswith("numpy")}


def test_a_step_at_working_sizes():
    said = numbers(
        r"a step takes ([\d.]+) to ([\d.]+) times the best native code we know how to write, "
        r"and ([\d.]+) to ([\d.]+) times its memory "
        r"\(ResNet-18 on TensorFlow, [^)]* ([\d.]+) times\)"
    )
    times = working_rows((", eager", ", compiled")).values()
    memory = working_rows(": memory")
    most = [memory.pop(f"tensorflow resnet, {mode}: memory") for mode in ("eager", "compiled")]
    assert said == [min(times), max(times), min(memory.values()), max(memory.values()), max(most)]


def test_numpy_beside_torch():
    low, high, lstm = numbers(
        r"a training step takes ([\d.]+) to ([\d.]+) times as long \(an LSTM ([\d.]+) times\)"
    )
    rows = charts.ratios("One training step with Adam, forward to update")
    ours = {label: row["trellis"] for label, row in rows if label.startswith("numpy")}
    ours = {label: ratio for label, ratio in ours.items() if label.endswith(", eager")}
    assert round(ours.pop("numpy lstm, eager"), 1) == lstm
    assert (round(min(ours.values()), 1), round(max(ours.values()), 1)) == (low, high)


def test_what_is_over_its_limit_is_explained():
    table = BENCHMARKS.partition("\n## Over their limits\n")[2].partition("\n## ")[0]
    rows = [line for line in table.splitlines() if line.startswith("| ")][1:]
    assert rows
    for row in rows:
        assert len(row.strip("| ").split(" | ")) == 6, row
        assert "not explained" not in row


def test_links_lead_somewhere():
    targets = re.findall(r"\]\(([^)]+)\)", README) + re.findall(r'(?:src|srcset)="([^"]+)"', README)
    assert len(targets) > 20
    assert [t for t in targets if "://" not in t and not (ROOT / t).exists()] == []


def test_it_is_short():
    assert len(README.splitlines()) <= 130


def test_the_example_is_the_program():
    program = README.partition("```python\n")[2].partition("```")[0]
    example = (ROOT / "examples" / "four_backends.py").read_text(encoding="utf-8")
    assert program.partition("def train")[2].strip() in example
