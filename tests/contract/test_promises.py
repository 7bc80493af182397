"""What the pages promise about versions is what pyproject.toml and the measurements say."""

import json
import re
import sys
import tomllib
from pathlib import Path

import trellis
from trellis._core.versions import NEWEST_TESTED, numbers

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "requirements"))

import lowest  # noqa: E402
import versions  # noqa: E402

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
PAGE = (ROOT / "docs" / "stability.md").read_text()
MEASURED = json.loads((ROOT / "docs" / "data" / "versions.json").read_text())


def test_the_lowest_versions_of_the_page_are_those_of_the_metadata():
    stated = dict(re.findall(r"^\| (\w+) \| ([\d.]+) \| ", PAGE, flags=re.M))
    assert stated == {
        "Python": PROJECT["requires-python"].removeprefix(">="),
        "NumPy": lowest.lowest()["numpy"],
        "PyTorch": lowest.lowest("torch")["torch"],
        "JAX": lowest.lowest("jax")["jax"],
        "TensorFlow": lowest.lowest("tensorflow")["tensorflow"],
    }


def test_classifiers_name_the_pythons_that_are_tested():
    named = [re.fullmatch(r".*Python :: (3\.\d+)", line) for line in PROJECT["classifiers"]]
    assert tuple([found[1] for found in named if found]) == versions.PYTHONS


def test_the_lowest_versions_were_measured():
    for name in ("numpy", "torch", "jax", "tensorflow"):
        found = [x["version"] for x in MEASURED if x["backend"] == name and x["kind"] == "lowest"]
        floor = lowest.lowest(name)[name]
        assert [x for x in found if numbers(x)[: len(numbers(floor))] == numbers(floor)], name


def test_the_newest_tested_versions_were_measured():
    """In the matrix of versions, or as pins by every run of the suite."""
    pins = (ROOT / "requirements" / "pins.txt").read_text().replace("tensorflow_cpu", "tensorflow")
    for name, newest in NEWEST_TESTED.items():
        key = "numpy_version" if name == "numpy" else "version"
        released = [x for x in MEASURED if x["kind"] != "pre"]
        found = {numbers(x[key])[:2] for x in released if name in ("numpy", x["backend"])}
        pinned = re.search(rf"^{name}==([\d.]+)", pins, flags=re.M)
        assert max({*found, numbers(pinned[1])[:2]}) == numbers(newest), name


def test_the_pages_show_what_was_measured():
    for page, table in versions.pages(MEASURED).items():
        assert page.read_text() == versions.filled(page.read_text(), table), page.name


def test_the_citation_has_the_version():
    assert f"\nversion: {trellis.__version__}\n" in (ROOT / "CITATION.cff").read_text()
