"""A fixed slice of torch's own samples: values and derivatives on all four frameworks."""

import warnings
from collections import Counter

import pytest

from fuzz.allowed import reason_for
from fuzz.opinfo import samples
from fuzz.opinfo.rules import RULES

pytestmark = [pytest.mark.needs("jax", "torch", "tensorflow"), pytest.mark.slow]

# The long run takes all; here each rule is one of eight, and its first samples.
SLICE = sorted(RULES)[::8]


@pytest.fixture(scope="module")
def op_db():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return samples.op_db()


@pytest.mark.parametrize("name", SLICE)
def test_torchs_samples(name, op_db):
    found = []
    for mode in ("eager", "gradient"):
        for call, torchs in list(samples.calls(op_db[name][0], "float64", Counter()))[:2]:
            found += samples.compared(call, torchs, mode, Counter())
    assert [str(each) for each in found if reason_for(each, set()) is None] == []


def test_every_rule_belongs_to_an_op_of_torch(op_db):
    assert set(RULES) - set(op_db) == set()
