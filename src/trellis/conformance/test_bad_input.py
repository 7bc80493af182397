"""Every public function x every mistake of the table: a clear error, and the same on all backends.

`mistakes.py` makes the mistakes in the good calls of `good_calls.py`. A call must raise an error of
our tree (or Python's own about the signature), or answer; and where it raises on NumPy, it raises
on every framework. The slower ones run a part of the table, each function another one.
"""

import zlib

import numpy as np
import pytest

import trellis

from .good_calls import all_calls
from .mistakes import KNOWN, Mistake, is_clear, mistakes_in, outcome, scalars_in, values

CALLS = all_calls()
# Every n-th mistake: JAX compiles most calls that it answers.
STEP, OTHERS = {"numpy": 1, "jax": 8}, 3


def part(name, backend):
    """The mistakes in one function that run on a backend."""
    step = STEP.get(backend, OTHERS)
    found = mistakes_in(CALLS[name])[zlib.crc32(name.encode()) % step :: step]
    return [mistake for mistake in found if (name, mistake.where) not in KNOWN]


@pytest.mark.parametrize("name", CALLS)
def test_mistakes(name, backend, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # a wrong path may be a good one to write to
    call = CALLS[name]
    foreign = np.ones(3, "float32") if backend != "numpy" else None
    raw, divided = [], []
    for mistake in part(name, backend):
        if foreign is None and "other framework" in mistake.where:
            continue
        found = outcome(call, mistake, backend, foreign)
        if isinstance(found, Exception) and not is_clear(found):
            raw.append(f"{mistake.where}: {type(found).__name__}: {found}")
        if backend != "numpy" and "other framework" not in mistake.where:
            on_numpy = outcome(call, mistake, "numpy", None)
            if isinstance(found, Exception) != isinstance(on_numpy, Exception):
                divided.append(f"{mistake.where}: {found!r} here, {on_numpy!r} on NumPy")
    assert not raw, "\n".join(["these errors are not explained:", *raw])
    assert not divided, "\n".join(["one framework answers, another refuses:", *divided])


# Their values are not set, or are the user's own leaves.
BY_USER = ("empty", "tree.unflatten")


@pytest.mark.parametrize("name", [name for name in CALLS if name not in BY_USER])
def test_numpy_scalars_are_numbers(name, backend, tmp_path, monkeypatch):
    """A NumPy scalar in place of a Python number: the same answer, to the last bit."""
    monkeypatch.chdir(tmp_path)
    call, step = CALLS[name], STEP.get(backend, OTHERS)
    trials = scalars_in(call)[zlib.crc32(name.encode()) % step :: step]
    answers = []
    for trial in (Mistake("none", call.args, call.kwargs), *trials) if trials else ():
        trellis.seed(0)
        answers.append((trial.where, outcome(call, trial, backend, None, values)))
    differing = [answer for answer in answers if answer[1] != answers[0][1]]
    assert not differing, f"{answers[0]} became {differing}"
