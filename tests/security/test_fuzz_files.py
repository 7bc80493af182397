"""A slice of `make fuzz-files`: the same damaged files each time, some for every reader."""

import pytest
from files.targets import TARGETS
from files.watching import watch

# How many: those that need a framework take longer.
COUNTS = {"onnx": 150, "pt2": 20, "saved_model": 20, "keras": 20}
NEEDS = {"pt2": "torch", "saved_model": "tensorflow", "keras": "tensorflow", "pickle": "torch"}
EXTRAS = {"onnx": "onnx", "tokenizer": "tokenizers"}


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.needs(NEEDS[name])] if name in NEEDS else [])
        for name in TARGETS
    ],
)
def test_damaged_files(name):
    if name in EXTRAS:
        pytest.importorskip(EXTRAS[name], reason="an extra is not installed")
    found = watch(name, seed=0, count=COUNTS.get(name, 100))
    assert found.bad == []
    assert found.files == COUNTS.get(name, 100)
    assert found.share >= 0.99, found.bare
