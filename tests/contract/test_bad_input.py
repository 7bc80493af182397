"""Every public function x every mistake of the table: the kit's tests, and whether the table is
whole.

`python tests/sweep_mistakes.py jax` runs the whole table on one framework and says how much of it
is clear.
"""

import pytest

import trellis
from trellis.conformance.mistakes import Mistake, outcome
from trellis.conformance.test_bad_input import *  # noqa: F403
from trellis.conformance.test_bad_input import CALLS

# The table is whole -------------------------------------------------------------------------------

# Without arguments, or what others are made of.
WITHOUT_MISTAKES = {
    "current_backend", "default_dtype", "no_grads", "unset_with_grads", "gradients.no_grads",
    "gradients.unset_with_grads", "Module", "DType",
    "TrellisError", "optim.Transformation", "train.Callback", "train.History", "nn.Module",
    "functional.KVCache", "train.RateFinding",
}  # fmt: skip
# Checked in their own tests: they compare, or import other packages.
ELSEWHERE = ("random.stream", "gradients.check_gradients", "train.accuracy")


def public_names():
    rooms = {"": trellis, **{room: getattr(trellis, room) for room in (
        "linalg", "fft", "random", "gradients", "functional", "nn", "optim", "train", "tree"
    )}}  # fmt: skip
    for room, module in rooms.items():
        for name in dir(module):
            value = getattr(module, name)
            owner = getattr(value, "__module__", "") or ""
            if not name.startswith("_") and callable(value) and owner.startswith("trellis"):
                yield f"{room}.{name}" if room else name


def test_table_is_whole():
    tried = {call.fn for call in CALLS.values()}
    missing = [
        name
        for name in public_names()
        if name not in {*CALLS, *WITHOUT_MISTAKES, *ELSEWHERE} and operator_of(name) not in tried
    ]
    assert missing == [], "write a good call in src/trellis/conformance/good_calls.py"


def operator_of(name):
    found = trellis
    for each in name.split("."):
        found = getattr(found, each)
    return found


@pytest.mark.parametrize("name", CALLS)
def test_good_call_answers(name):
    """The mistakes are made in calls that are right."""
    call = CALLS[name]
    found = outcome(call, Mistake("none", call.args, call.kwargs), "numpy", None)
    assert not isinstance(found, Exception), found
