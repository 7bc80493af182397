"""The checks before a call: what passes them, and what each raises."""

import numpy as np
import pytest

import trellis
from trellis._core import guards
from trellis._core.guards import WrongKind
from trellis.errors import ArgumentError, DtypeError, ShapeError

XP = trellis.namespace("numpy")
ONE, TWO = np.array(1), np.array([1, 2])
HUGE = 2**40


class Index:
    """An integer that is no int, as a framework may have."""

    def __index__(self):
        return 1


# check; arguments that pass; arguments that raise `WrongKind`
ROWS = [
    (guards.check_flag, [(True,), (False,)], [(1,), (0,), (None,), (np.True_,)]),
    (
        guards.check_axis,
        [(0,), (None,), ((0, None),), ([0, -1],), (Index(),), (ONE,), ((),)],
        [(True,), (1.0,), ("a",), ((0, True),), (TWO,), (np.int64(1),)],
    ),
    (
        guards.check_over,
        [(0,), (None, True), ((0, 1), True, False), (Index(), False)],
        [(1.0,), (0, 1), (0, True, None), (0, False, 0), (None, True, 1), (True,)],
    ),
    (guards.check_one_axis, [(0,), (Index(),), (ONE,)], [((0,),), (None,), (True,), (TWO,)]),
    (
        guards.check_whole,
        [(3,), ((3, 4),), ([3],), (ONE,), (Index(),), ((),)],
        [(1.5,), ((3, 1.5),), (True,), (TWO,), ("a",), (None,), (np.int64(3),)],
    ),
    (
        guards.check_within,
        [(3,), (HUGE,), (-HUGE,), (Index(),), (ONE,)],
        [(1.5,), ((3,),), ([3],), (True,), (TWO,), (np.int64(3),)],
    ),
    (
        guards.check_scalar,
        [(1,), (1.5,), (1j,), (True,), (ONE,), (TWO,)],
        [("a",), (None,), ([1],)],
    ),
    (guards.check_array, [(TWO,), ({"a": 1},)], [(1,), ([1],), (None,)]),
    (
        guards.check_number,
        [(1,), (1.5,), (np.array(1.5),)],
        [(True,), (1j,), ("a",), (TWO,), (np.float64(1),), (None,)],
    ),
    (guards.check_numbers, [(), (1.5,), (1.5, 2)], [(1.5, "a"), ("a", 1.5), (True,)]),
    (guards.check_tolerances, [("f", 0.0, 1), ("f", 1, 0.0)], [("f", "a", 0.0), ("f", 0.0, "a")]),
]


@pytest.mark.parametrize("check, good, bad", ROWS, ids=lambda x: getattr(x, "__name__", ""))
def test_what_passes(check, good, bad):
    for arguments in good:
        check(*arguments)
    for arguments in bad:
        with pytest.raises(WrongKind):
            check(*arguments)


def test_numbers_that_no_array_could_count():
    for value in (HUGE + 1, -HUGE - 1):
        with pytest.raises(OverflowError, match="more than any array has elements"):
            guards.check_within(value)


def test_one_axis_twice():
    guards.check_axes((0, 1))
    guards.check_axes(0)
    guards.check_axes(None)
    for axes in ((0, 0), [1, 0, 1]):
        with pytest.raises(ShapeError, match="name one axis twice"):
            guards.check_axes(axes)
    with pytest.raises(WrongKind):
        guards.check_axes((0, 1.0))


def test_tolerances_are_not_negative():
    for pair in ((-0.5, 0.0), (0.0, -0.5), (float("nan"), 0.0)):
        with pytest.raises(ArgumentError, match=r"isclose\(\) needs tolerances of at least 0"):
            guards.check_tolerances("isclose", *pair)


@pytest.mark.parametrize("dtype", ["int8", "int64", "uint8", "uint64"])
def test_integers(dtype):
    guards.check_integers(XP, "take", np.ones(2, dtype))


def test_no_integers():
    for dtype in ("float32", "bool", "complex64"):
        with pytest.raises(
            DtypeError, match=rf"take\(\) expects integers, got an array of {dtype}"
        ):
            guards.check_integers(XP, "take", np.ones(2, dtype))
    with pytest.raises(WrongKind):
        guards.check_integers(XP, "take", [1])


def test_ranks():
    guards.check_rank("inv", np.ones((1, 1)), 2)
    guards.check_rank("inv", np.ones((1, 1, 1)), 2)
    with pytest.raises(ShapeError, match=r"inv\(\) needs an array of 2 axes or more, got .*\(1,\)"):
        guards.check_rank("inv", np.ones(1), 2)


def test_real_floats():
    x = np.ones(2, "float16")
    assert guards.real_floats(XP, "erf", x) is x
    assert guards.real_floats(XP, "erf", np.ones(2, "int8")).dtype == "float32"
    with trellis.using_default_dtype("float64"):
        assert guards.real_floats(XP, "erf", np.ones(2, "int8")).dtype == "float64"
    for dtype in ("bool", "complex64"):
        with pytest.raises(DtypeError, match=rf"erf\(\) expects real numbers, got .* {dtype}"):
            guards.real_floats(XP, "erf", np.ones(2, dtype))


def test_segments():
    ids = np.array([0, 1])
    guards.check_segments("segment_sum", XP, np.ones((2, 3)), ids)
    for x, wrong_ids, error in (
        (np.ones(2), np.ones(2), DtypeError),
        (np.array(1.0), ids, ShapeError),
        (np.ones(2, "bool"), ids, DtypeError),
        (np.ones((1, 2)), ids[None], ShapeError),
        (np.ones(3), ids, ShapeError),
    ):
        with pytest.raises(error, match="segment_sum"):
            guards.check_segments("segment_sum", XP, x, wrong_ids)


def test_matrices_that_cannot_be_inverted():
    assert "positive definite" in str(guards.singular("cholesky"))
    for name in ("inv", "solve"):
        assert str(guards.singular(name)).startswith(f"{name}() needs matrices that can be inv")
