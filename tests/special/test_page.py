"""What is said of trellis.special is what was measured: page, numbers and bounds agree."""

import importlib.util
import json
import re
import tomllib
from pathlib import Path

from trellis import special

HERE = Path(__file__).parent
TOOLS = HERE.parents[1] / "tools" / "special"
spec = importlib.util.spec_from_file_location("special_page", TOOLS / "page.py")
page = importlib.util.module_from_spec(spec)
spec.loader.exec_module(page)

MEASURED = json.loads(page.DATA.read_text())
BOUNDS = tomllib.loads((TOOLS / "bounds.toml").read_text())
# `trellis.sinc` and sums over an axis have their own tests.
ELSEWHERE = {"sinc", "logsumexp"}


def test_every_function_is_measured_and_tested():
    stored = json.loads((HERE / "references.json").read_text())
    assert set(stored) == set(MEASURED)
    assert {re.match(r"\w+", row)[0] for row in MEASURED} == set(dir(special)) - ELSEWHERE


def test_the_page_shows_what_was_measured():
    text = page.PAGE.read_text()
    assert text == page.written(text, MEASURED)
    assert f"has {len(dir(special))} special functions" in text


def test_bounds_are_those_measured():
    assert set(BOUNDS) - {"usual"} <= set(MEASURED)
    for row, kinds in MEASURED.items():
        for kind, found in kinds.items():
            largest = max([found[who]["ulp"] for who in page.OWN])
            bound = BOUNDS.get(row, BOUNDS["usual"])[kind]
            assert largest <= bound, (row, kind)
            # A bound of its own is not wider than it has to be.
            assert row not in BOUNDS or bound <= max(1.15 * largest + 0.5, BOUNDS["usual"][kind])
