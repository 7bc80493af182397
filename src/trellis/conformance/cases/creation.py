import numpy as np

import trellis

from .case import NO_FLOATS, PYTHON, Case, numbers

x = numbers(3, 4)
LITERAL = "no array goes in"
FILLED = "the result does not depend on the values"

CASES = [
    Case("arange", (5,), [0, 1, 2, 3, 4], gradient=LITERAL),
    Case("arange", (1, 10, 3), [1, 4, 7], about="step", gradient=LITERAL),
    Case("arange", (5, 0, -2), [5, 3, 1], about="downwards", gradient=LITERAL),
    Case("arange", (3, 3), np.zeros(0, int), about="empty", gradient=LITERAL),
    Case(
        "arange",
        (0.0, 1.0, 0.25),
        [0.0, 0.25, 0.5, 0.75],
        about="floats",
        gradient=LITERAL,
        dtypes=("float32",),
    ),
    Case(
        "arange",
        (3,),
        np.array([0, 1, 2], "int32"),
        about="dtype",
        kwargs={"dtype": "int32"},
        gradient=LITERAL,
    ),
    Case("asarray", ([[1, 2], [3, 4]],), [[1, 2], [3, 4]], gradient=LITERAL),
    Case("asarray", ([1, 2.5],), [1, 2.5], about="floats", gradient=LITERAL, dtypes=("float32",)),
    Case("asarray", ([True, False],), [True, False], about="bools", gradient=LITERAL),
    Case("asarray", (2.5,), 2.5, about="number", gradient=LITERAL, dtypes=("float32",)),
    Case("asarray", ([1 + 2j],), [1 + 2j], about="complex", gradient=LITERAL, dtypes=("float32",)),
    Case("asarray", (x,), x, about="array"),
    Case(
        "asarray",
        (np.array([1.7, -1.7]),),
        np.array([1, -1], "int32"),
        about="array and dtype",
        kwargs={"dtype": trellis.int32},
        gradient="what comes out is not a float",
    ),
    Case(
        "empty", ((2, 3),), (2, 3), then=lambda x: tuple(x.shape), gradient=LITERAL, compiled=PYTHON
    ),
    Case(
        "empty_like", (x,), (3, 4), then=lambda x: tuple(x.shape), gradient=FILLED, compiled=PYTHON
    ),
    Case("eye", (3,), np.eye(3), gradient=LITERAL, dtypes=("float32",)),
    Case(
        "eye",
        (2, 4),
        np.eye(2, 4, 1),
        about="wide, above",
        kwargs={"k": 1},
        gradient=LITERAL,
        dtypes=("float32",),
    ),
    Case(
        "eye",
        (3, 2),
        np.eye(3, 2, -1, dtype="int32"),
        about="tall, below",
        kwargs={"k": -1, "dtype": "int32"},
        gradient=LITERAL,
    ),
    Case(
        "from_dlpack",
        (x,),
        x,
        gradient="memory is passed, not values",
        compiled="memory is passed outside compiled code",
    ),
    Case("full", ((2, 2), 7), [[7, 7], [7, 7]], gradient=LITERAL),
    Case("full", (3, 1.5), [1.5, 1.5, 1.5], about="float", gradient=LITERAL, dtypes=("float32",)),
    Case("full", ((2,), True), [True, True], about="bool", gradient=LITERAL),
    Case(
        "full",
        ((), 2),
        np.array([2], "int8")[0],
        about="no axes",
        kwargs={"dtype": "int8"},
        gradient=LITERAL,
    ),
    Case("full_like", (x, 2), np.full((3, 4), 2.0), gradient=FILLED),
    Case(
        "full_like",
        (x,),
        np.full((3, 4), 3, "int32"),
        about="dtype",
        kwargs={"fill_value": 3, "dtype": "int32"},
        gradient=FILLED,
    ),
    Case("linspace", (0, 1, 5), [0.0, 0.25, 0.5, 0.75, 1.0], gradient=LITERAL, dtypes=("float32",)),
    Case(
        "linspace",
        (0.0, 1.0),
        [0.0, 0.25, 0.5, 0.75],
        about="open",
        gradient=LITERAL,
        kwargs={"num": 4, "endpoint": False},
        dtypes=("float32",),
    ),
    Case(
        "linspace",
        (2, 3),
        [2.0],
        about="one",
        kwargs={"num": 1},
        gradient=LITERAL,
        dtypes=("float32",),
    ),
    Case(
        "meshgrid",
        (np.array([1.0, 2.0, 3.0]), np.array([4.0, 5.0])),
        ([[1.0, 2.0, 3.0]] * 2, [[4.0] * 3, [5.0] * 3]),
        then=tuple,
    ),
    Case(
        "meshgrid",
        (np.array([1, 2, 3]), np.array([4, 5])),
        ([[1, 1], [2, 2], [3, 3]], [[4, 5]] * 3),
        about="ij",
        kwargs={"indexing": "ij"},
        then=tuple,
        gradient=NO_FLOATS,
    ),
    Case(
        "one_hot",
        (np.array([[2, 0], [1, 3]]), 3),
        [[[0.0, 0, 1], [1, 0, 0]], [[0, 1, 0], [0, 0, 0]]],
        gradient=NO_FLOATS,
        dtypes=("float32",),
    ),
    Case(
        "one_hot",
        (np.array([2, 0], "uint8"), 3),
        np.array([[0, 1], [0, 0], [1, 0]], "int32"),
        about="first axis",
        kwargs={"axis": 0, "dtype": "int32"},
        gradient=NO_FLOATS,
    ),
    Case("ones", ((2, 3),), np.ones((2, 3)), gradient=LITERAL, dtypes=("float32",)),
    Case("ones", (2,), [True, True], about="bool", kwargs={"dtype": "bool"}, gradient=LITERAL),
    Case("ones_like", (x,), np.ones((3, 4)), gradient=FILLED),
    Case("tril", (x,), np.tril),
    Case(
        "tril", (numbers(2, 3, 3),), lambda x: np.tril(x, 1), about="stack, above", kwargs={"k": 1}
    ),
    Case("triu", (x,), np.triu),
    Case(
        "triu",
        (numbers(2, 3, 3),),
        lambda x: np.triu(x, -1),
        about="stack, below",
        kwargs={"k": -1},
    ),
    Case("zeros", (3,), np.zeros(3), gradient=LITERAL, dtypes=("float32",)),
    Case(
        "zeros",
        ((0, 2),),
        np.zeros((0, 2), "int32"),
        about="empty",
        kwargs={"dtype": "int32"},
        gradient=LITERAL,
    ),
    Case("zeros_like", (x,), np.zeros((3, 4)), gradient=FILLED),
    Case(
        "zeros_like",
        (x,),
        np.zeros((3, 4), bool),
        about="dtype",
        kwargs={"dtype": "bool"},
        gradient=FILLED,
    ),
]
