"""Arithmetic of shapes and axes: the answer of every function at its borders, and its errors."""

import numpy as np
import pytest

from trellis._core import shapes
from trellis.errors import ArgumentError, ArgumentTypeError, AxisError, ShapeError

HUGE = 2**40


class Index:
    def __init__(self, value):
        self.value = value

    def __index__(self):
        return self.value

    def __int__(self):
        return self.value

    def __le__(self, other):
        return self.value <= other

    def __lt__(self, other):
        return self.value < other

    def __ge__(self, other):
        return self.value >= other

    def __gt__(self, other):
        return self.value > other


# function, arguments, answer
ANSWERS = [
    (shapes.normal_axis, (0, 1), 0),
    (shapes.normal_axis, (2, 3), 2),
    (shapes.normal_axis, (-3, 3), 0),
    (shapes.normal_axis, (-1, 3), 2),
    (shapes.normal_axis, (Index(-1), 3), 2),
    (shapes.normal_axis, (np.int64(-2), 3), 1),
    (shapes.normal_axes, (None, 0), ()),
    (shapes.normal_axes, (None, 3), (0, 1, 2)),
    (shapes.normal_axes, (-1, 3), (2,)),
    (shapes.normal_axes, (Index(1), 3), (1,)),
    (shapes.normal_axes, ([-1, 0], 3), (2, 0)),
    (shapes.normal_axes, ((), 3), ()),
    (shapes.split_axes, ((2, 0), 4), ([0, 2], [1, 3])),
    (shapes.split_axes, ((), 2), ([], [0, 1])),
    (shapes.new_axes, ((-1, 0), 1), [0, 2]),
    (shapes.new_axes, ((1,), 2), [1]),
    (shapes.permutation, ((-1, 0, 1), 3), (2, 0, 1)),
    (shapes.permutation, ([], 0), ()),
    (shapes.only_axis, ("take", 0), 0),
    (shapes.only_axis, ("take", 1), 0),
    (shapes.broadcast_shapes, (), ()),
    (shapes.broadcast_shapes, ((), (3,)), (3,)),
    (shapes.broadcast_shapes, ((3, 1), (1, 4), (4,)), (3, 4)),
    (shapes.broadcast_shapes, ((2, 3), (2, 3)), (2, 3)),
    (shapes.broadcast_shapes, ((0,), (1,)), (0,)),
    (shapes.broadcast_shapes, ((5, 4), (None, 1)), (5, 4)),
    (shapes.broadcast_shapes, ((None,), (1,)), (None,)),
    (shapes.broadcast_shapes, ((None,), (None,)), (None,)),
    (shapes.pad_pairs, (2, (5, 5), "edge"), [(2, 2), (2, 2)]),
    (shapes.pad_pairs, ((1, 2), (5, 5, 5), "wrap"), [(1, 2)] * 3),
    (shapes.pad_pairs, (((1, 2),), (5, 5), "reflect"), [(1, 2), (1, 2)]),
    (shapes.pad_pairs, (((1, 2), (0, 3)), (5, 5), "constant"), [(1, 2), (0, 3)]),
    (shapes.pad_pairs, ([[1, 2], [0, 3]], (5, 5), "constant"), [(1, 2), (0, 3)]),
    (shapes.pad_pairs, (1, (0,), "constant"), [(1, 1)]),
    (shapes.pad_pairs, (0, (0,), "edge"), [(0, 0)]),
    (shapes.pad_pairs, ((HUGE, HUGE), (1,), "edge"), [(HUGE, HUGE)]),
]
# Checks: what passes
PASSES = [
    (shapes.one_of, ("qr", "mode", "full", ("full", "thin"))),
    (shapes.check_points, (1,)),
    (shapes.check_order, (0,)),
    (shapes.check_order, (2**31 - 1,)),
    (shapes.check_new_axis, (2, 2)),
    (shapes.check_new_axis, (-3, 2)),
    (shapes.check_squeezable, ((0, 2), (1, 5, 1))),
    (shapes.check_squeezable, ((0,), (None, 5))),
    (shapes.check_three, (3, 3)),
    (shapes.check_three, (None, 3)),
    (shapes.check_three, (3, None)),
    (shapes.check_lengths, ("dot", "x", 3, 3)),
    (shapes.check_lengths, ("dot", "x", None, 3)),
    (shapes.check_lengths, ("dot", "x", 3, None)),
    (shapes.check_window, (1, 1, 1)),
    (shapes.check_window, (5, 2, 5)),
    (shapes.check_window, (5, 2, None)),
    (shapes.check_count, ("topk", 0, 0)),
    (shapes.check_count, ("topk", 3, 3)),
    (shapes.check_count, ("topk", 3, None)),
]
# function, arguments, error, a part of its text
ERRORS = [
    (shapes.one_of, ("f", "how", "c", ("a", "b")), ArgumentError, "how to be 'a' or 'b', got 'c'"),
    (shapes.one_of, ("f", "n", 4, (1, 2, 3)), ArgumentError, "n to be 1, 2 or 3, got 4"),
    (shapes.normal_axis, (3, 3), AxisError, "axis 3 is out of range for an array of 3"),
    (shapes.normal_axis, (-4, 3), AxisError, "axis -4"),
    (shapes.normal_axis, (0, 0), AxisError, "axis 0"),
    (shapes.normal_axis, (True, 3), ArgumentTypeError, "got True of type bool"),
    (shapes.normal_axis, (1.0, 3), ArgumentTypeError, "got 1.0 of type float"),
    (shapes.normal_axes, ((0, -3), 3), ShapeError, r"The axes \(0, -3\) name one axis twice"),
    (shapes.normal_axes, ("ab", 3), ArgumentTypeError, "An axis is an integer"),
    (shapes.new_axes, ((0, -4), 2), ShapeError, "twice"),
    (shapes.new_axes, ((4,), 2), AxisError, "axis 4"),
    (shapes.permutation, (1, 2), ArgumentTypeError, r"got 1. Write for example \(1, 0\)"),
    (shapes.permutation, ((0, 0), 2), ShapeError, "each of them once"),
    (shapes.permutation, ((0,), 2), ShapeError, "each of them once"),
    (shapes.permutation, ((0, 1, -1), 2), ShapeError, "each of them once"),
    (shapes.check_points, (0,), ArgumentError, "got n=0"),
    (shapes.check_order, (-1,), ArgumentError, "got n=-1"),
    (shapes.check_order, (2**31,), ArgumentError, "got n="),
    (shapes.check_new_axis, (3, 2), AxisError, "at -3 to 2"),
    (shapes.check_new_axis, (-4, 2), AxisError, "at -3 to 2"),
    (shapes.only_axis, ("take", 2), ShapeError, r"take\(\) of an array of 2 dimensions"),
    (shapes.check_squeezable, ((0, 1), (1, 5)), ShapeError, r"axis 1 of shape \(1, 5\) has 5"),
    (shapes.check_squeezable, ((0,), (0,)), ShapeError, "has 0"),
    (shapes.check_three, (2, 3), ShapeError, "got 2 and 3"),
    (shapes.check_three, (None, 4), ShapeError, "got None and 4"),
    (shapes.check_lengths, ("dot", "x", 3, 4), ShapeError, r"dot\(\) needs x .* got 3 and 4"),
    (shapes.broadcast_shapes, ((2,), (3,)), ShapeError, r"These shapes do not .*\(2,\), \(3,\)"),
    (shapes.broadcast_shapes, ((0,), (2,)), ShapeError, "broadcast"),
    (shapes.broadcast_shapes, ((2, 3), (None, 1), (3, 3)), ShapeError, "broadcast"),
    (shapes.pad_pairs, (1, (5,), "zeros"), ArgumentError, r"pad\(\) expects mode"),
    (shapes.pad_pairs, (((1, 2), (3, 4)), (5,) * 3, "edge"), ShapeError, "2 pairs for .* 3 dim"),
    (shapes.pad_pairs, ((0, HUGE + 1), (5,), "edge"), ArgumentError, f"cannot add {HUGE + 1}"),
    (shapes.pad_pairs, ((HUGE + 1, 0), (5,), "edge"), ArgumentError, f"cannot add {HUGE + 1}"),
    (shapes.pad_pairs, ((-1, 0), (5,), "edge"), ArgumentError, r"pair \(-1, 0\)"),
    (shapes.pad_pairs, ((0, -1), (5,), "edge"), ArgumentError, r"pair \(0, -1\)"),
    (shapes.pad_pairs, ((1, 0), (0,), "edge"), ShapeError, "nothing to repeat"),
    (shapes.pad_pairs, ((0, 1), (2, 0), "wrap"), ShapeError, "nothing to repeat"),
    (shapes.check_window, (0, 1, 5), ShapeError, "A window of 0 with step 1"),
    (shapes.check_window, (1, 0, 5), ShapeError, "A window of 1 with step 0"),
    (shapes.check_window, (6, 1, 5), ShapeError, "an axis of 5"),
    (shapes.check_window, (0, 1, None), ShapeError, "an axis of None"),
    (shapes.check_count, ("topk", -1, 3), ArgumentError, "0 to 3 elements .* got -1"),
    (shapes.check_count, ("topk", 4, 3), ArgumentError, r"topk\(\) can take"),
    (shapes.check_count, ("topk", -1, None), ArgumentError, "got -1"),
]


def name_of(x):
    return getattr(x, "__name__", "")


@pytest.mark.parametrize("fn, arguments, answer", ANSWERS, ids=name_of)
def test_answers(fn, arguments, answer):
    found = fn(*arguments)
    assert found == answer and type(found) is type(answer)


@pytest.mark.parametrize("fn, arguments", PASSES, ids=name_of)
def test_checks_that_pass(fn, arguments):
    fn(*arguments)


@pytest.mark.parametrize("fn, arguments, error, text", ERRORS, ids=name_of)
def test_errors(fn, arguments, error, text):
    with pytest.raises(error, match=text) as caught:
        fn(*arguments)
    assert type(caught.value) is error


def test_the_function_is_named_where_it_is_known():
    with pytest.raises(ShapeError, match=r"^add\(\) got shapes that do not broadcast together"):
        shapes.broadcast_shapes((2,), (3,), function="add")
