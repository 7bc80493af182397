"""docs/dtypes.md says what the four frameworks do now: the script that made it is run again."""

import importlib.util
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.needs("jax", "torch", "tensorflow")
def test_the_page_of_data_types_is_true():
    spec = importlib.util.spec_from_file_location("dtypes_page", ROOT / "tools" / "dtypes_page.py")
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    assert (ROOT / "docs" / "dtypes.md").read_text() == script.page(), (
        "run: python tools/dtypes_page.py"
    )
