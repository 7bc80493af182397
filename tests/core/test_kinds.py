"""Which values fit which annotations, and these annotations in words."""

import os
from collections.abc import Callable, Hashable, Mapping, Sequence
from pathlib import Path
from typing import Any, ForwardRef, Literal, TypeVar

import numpy as np
import pytest

from trellis._core.kinds import check_arguments, check_callable, described, fits, shown
from trellis._core.typing import Array
from trellis.errors import ArgumentError, ArgumentTypeError

Free = TypeVar("Free")
Whole = TypeVar("Whole", bound=int)
VECTOR, ZERO_AXES = np.ones(2), np.array(1.5)


class Callee:
    def __call__(self):
        return 1


# annotation; values that fit; values that do not
ROWS = [
    (Any, [1, "a", None, VECTOR], []),
    ("a name", [1, None], []),
    (ForwardRef("int"), ["a"], []),
    (Free, [1, "a", None], []),
    (Whole, [1], ["a", 1.5, True]),
    (bool, [True, False, np.bool_(True)], [1, 0, None, "True"]),
    (int, [0, -3, np.int8(2), np.array(3)], [True, np.bool_(True), 1.0, "1", np.array([3]), None]),
    (float, [1, 1.5, np.float32(2), ZERO_AXES], [True, "1", 1j, VECTOR, None]),
    (complex, [1, 1j, np.complex64(2), ZERO_AXES], [True, "1", VECTOR, None]),
    (None, [None], [0, False, ""]),
    (Array, [VECTOR, np.float32(1), {"a": 1}], [1, [1], "a", None, np.float32]),
    (Hashable, ["a", 1, ()], [[], {}, VECTOR]),
    (str, ["a"], [b"a", 1]),
    (int | None, [1, None], ["a", 1.5]),
    (Literal["a", 2], ["a", 2], ["b", 3, None, VECTOR]),
    (Callable[[int], int], [len, Callee()], [1, "len"]),
    (Callee, [Callee(), len], [1, None]),
    (Path, [Path("a")], ["a", len]),
    (Mapping[str, int], [{}, {"a": "b"}], [[], 1, "a"]),
    (os.PathLike[str], [Path("a")], ["a", 1]),
    (tuple[int, ...], [(1, 2), [1, 2], (), VECTOR], [1, "ab", b"ab", {"a": 1}, (1, "a"), None]),
    (Sequence[str], [["a"], ()], ["ab", [1], 5]),
    (tuple, [(1, "a"), ()], [1, "a", [1]]),
]


@pytest.mark.parametrize("annotation, good, bad", ROWS, ids=[str(row[0]) for row in ROWS])
def test_what_fits(annotation, good, bad):
    assert [value for value in good if not fits(value, annotation)] == []
    assert [value for value in bad if fits(value, annotation)] == []


@pytest.mark.parametrize(
    "annotation, words",
    [
        (int, "an integer"),
        (bool | int, "True or False or an integer"),
        (int | float | None, "an integer, a number or None"),
        (bool | int | float | complex, "a number"),
        (bool | int | complex | Array, "an array"),
        (Whole | None, "an integer or None"),
        (Literal["a", 2], "'a' or 2"),
        (Callable[..., Any], "a function"),
        (Mapping[str, int], "a dict"),
        (os.PathLike[str], "a path"),
        (tuple[int, ...], "several integers"),
        (Sequence[Array], "several arrays"),
        (list[Literal["a"]], "several"),
        (tuple[()], "several values"),
        (Hashable, "a name"),
        (Callee, "a Callee"),
        (int | int | None, "an integer or None"),
    ],
    ids=str,
)
def test_annotations_in_words(annotation, words):
    assert described(annotation) == words


def test_values_in_errors():
    assert shown(np.zeros((2, 1), "int8")) == "an array of int8 of shape (2, 1)"
    assert shown("a" * 57) == f"'{'a' * 57}' (str)"  # 59 characters with the quotes
    assert shown("a" * 58) == "a str"

    class Lines:
        def __repr__(self):
            return "two\nlines"

    assert shown(Lines()) == "a Lines"


def example(x: Array, axis: int | None = None, mode: Literal["up", "down"] = "up", *more: int):
    """A function with arguments of several kinds."""


@pytest.mark.parametrize(
    "arguments, error, text",
    [
        ({"x": [1.0]}, ArgumentTypeError, r"an array for x, got \[1.0\] \(list\)\. Write trellis"),
        ({"x": "a"}, ArgumentTypeError, r"an array for x, got 'a' \(str\)\.$"),
        ({"axis": 1.5}, ArgumentTypeError, r"an integer or None for axis, got 1.5 \(float\)\.$"),
        ({"mode": "left"}, ArgumentError, r"'up' or 'down' for mode, got 'left' \(str\)\.$"),
        ({"mode": 3}, ArgumentTypeError, r"'up' or 'down' for mode, got 3 \(int\)\.$"),
        ({"more": (1, "a")}, ArgumentTypeError, r"an integer for more, got 'a' \(str\)\.$"),
        ({"axis": "a", "mode": 3}, ArgumentTypeError, "for axis"),
    ],
    ids=str,
)
def test_the_first_argument_of_a_wrong_kind_is_named(arguments, error, text):
    with pytest.raises(error, match=text) as caught:
        check_arguments(example, arguments)
    assert type(caught.value) is error and str(caught.value).startswith("example() expects ")


def test_arguments_that_fit_pass():
    check_arguments(example, {"x": VECTOR, "axis": None, "mode": "down", "more": (1, 2)})
    check_arguments(example, {"x": VECTOR, "of_the_caller": object()})  # locals() has more names


def test_defaults_fit_whatever_their_annotation():
    def odd(x: int = "unset"):  # type: ignore[assignment]
        """An annotation that its own default does not fit."""

    check_arguments(odd, {"x": "unset"})
    with pytest.raises(ArgumentTypeError, match="an integer for x"):
        check_arguments(odd, {"x": "a"})


def test_callables():
    check_callable("grad", len)
    with pytest.raises(ArgumentTypeError, match=r"grad\(\) expects a function, got 3 \(int\)\."):
        check_callable("grad", 3)
