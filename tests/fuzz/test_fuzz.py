"""A fixed slice of the fuzzer: the same few calls of every public function in each run.

Compilers are left to the rows of `cases` and to `make fuzz`: they take longer than all the rest.
"""

import fnmatch

import pytest

import trellis
from fuzz import draws
from fuzz.allowed import ALLOWED
from fuzz.drawing import STRATEGIES
from fuzz.names import every_public_function
from fuzz.opinfo.rules import RULES
from fuzz.searching import Search

pytestmark = pytest.mark.needs("jax", "torch", "tensorflow")


@pytest.mark.slow
@pytest.mark.parametrize("op", sorted(STRATEGIES))
def test_four_frameworks_answer_alike(op):
    found = Search().run(op, seed=1, examples=2, modes=("eager", "gradient"), shrink=False)
    assert found is None, str(found)


def test_every_public_function_is_drawn_or_says_why_not():
    drawn, left_out = set(STRATEGIES), set(draws.NOT_DRAWN)
    assert drawn & left_out == set()
    assert drawn | left_out == set(every_public_function())


def test_every_allowed_difference_has_a_reason():
    names = [*STRATEGIES, *[f"torch:{name}" for name in RULES]]
    assert [entry for entry in ALLOWED if len(entry.reason.split()) <= 4] == []
    patterns = [pattern for entry in ALLOWED for pattern in entry.ops.split()]
    assert [pattern for pattern in patterns if not fnmatch.filter(names, pattern)] == []


FAULTS = {
    "values": lambda fn: lambda x: fn(x) + 1,
    "dtype": lambda fn: lambda x: trellis.astype(fn(x), "complex128"),
    "shape": lambda fn: lambda x: fn(x)[None],
    "divided": lambda fn: lambda x: [][0],
}


@pytest.mark.parametrize("kind", FAULTS)
def test_a_fault_of_one_framework_is_found(kind, monkeypatch):
    xp = trellis.namespace("torch")
    monkeypatch.setattr(xp, "square", FAULTS[kind](xp.square))
    found = Search().run("square", seed=0, examples=20, modes=("eager",), shrink=False)
    assert found is not None and found.kind == kind and found.backends == ("torch",)


def test_a_wrong_derivative_is_found(monkeypatch):
    xp = trellis.namespace("torch")
    whole = xp.square
    monkeypatch.setattr(xp, "square", lambda x: whole(x.detach()))
    found = Search().run("square", seed=0, examples=20, modes=("gradient",), shrink=False)
    assert found is not None and found.mode == "gradient" and found.backends == ("torch",)
