import numpy as np

import trellis

from .case import NO_FLOATS, NOT_FLOAT, SHAPE, Case, numbers

x = np.array([[1.0, 5.0, 3.0], [7.0, 2.0, 7.0]])
ties = np.array([2, 1, 2, 1])
edges = np.array([1.0, 3.0, 3.0, 5.0])
values = np.array([[0.0, 3.0], [4.0, 9.0]])

CASES = [
    Case("argmax", (x,), 3, gradient=NOT_FLOAT),
    Case(
        "argmax",
        (x,),
        [[1], [0]],
        about="axis",
        kwargs={"axis": 1, "keepdims": True},
        gradient=NOT_FLOAT,
    ),
    Case("argmin", (x,), 0, gradient=NOT_FLOAT),
    Case("argmin", (ties,), 1, about="first of several", kwargs={"axis": 0}, gradient=NO_FLOATS),
    Case("count_nonzero", (np.array([[0, 1], [2, 0]]),), 2, gradient=NO_FLOATS),
    Case(
        "count_nonzero",
        (np.array([[0.0, 1.0], [2.0, 3.0]]),),
        [[1, 2]],
        about="axis",
        kwargs={"axis": 0, "keepdims": True},
        gradient=NOT_FLOAT,
    ),
    Case(
        "histogram",
        (x, 3),
        ([2, 1, 3], [1.0, 3.0, 5.0, 7.0]),
        about="range of the values",
        gradient=NOT_FLOAT,
    ),
    Case(
        "histogram",
        (values, 2),
        ([1, 2], [0.0, 2.0, 4.0]),
        kwargs={"range": (0, 4)},
        about="range",
        gradient=NOT_FLOAT,
    ),
    Case(
        "histogram",
        (np.array([0.0, 1.0, 2.5, 3.0, 9.0, np.nan]), np.array([0.0, 1.0, 3.0])),
        ([1, 3], [0.0, 1.0, 3.0]),
        about="edges",
        gradient=NOT_FLOAT,
    ),
    Case(
        "histogram",
        (numbers(7), numbers(7, seed=1)),
        lambda x, w: np.histogram(x, 3, (-1, 2), weights=w)[0],
        about="weights",
        call=lambda x, w: trellis.histogram(x, 3, range=(-1, 2), weights=w)[0],
    ),
    Case(
        "histogram",
        (np.array([2, 2, 2]), 2),
        ([0, 3], [1.5, 2.0, 2.5]),
        about="integers, one value",
        gradient=NO_FLOATS,
        dtypes=("float32",),
    ),
    Case(
        "nonzero",
        (np.array([[0, 1], [2, 0]]),),
        ([0, 1], [1, 0]),
        gradient=NO_FLOATS,
        compiled={"jax": SHAPE, "torch": SHAPE},
    ),
    Case("searchsorted", (edges, values), [[0, 1], [3, 4]], gradient=NOT_FLOAT),
    Case(
        "searchsorted",
        (edges, values),
        [[0, 3], [3, 4]],
        about="right",
        kwargs={"side": "right"},
        gradient=NOT_FLOAT,
    ),
    Case(
        "searchsorted",
        (np.array([3, 1, 2]), np.array([2, 0]), np.array([1, 2, 0])),
        [1, 0],
        about="sorter",
        gradient=NO_FLOATS,
        call=lambda x, v, s: trellis.searchsorted(x, v, sorter=s),
    ),
    Case(
        "topk",
        (x, 2),
        ([[5.0, 3.0], [7.0, 7.0]], [[1, 2], [0, 2]]),
        gradient="integers come out too",
    ),
    Case(
        "topk",
        (numbers(5), 3),
        lambda x, k: np.sort(x)[::-1][:3],
        about="values",
        then=lambda r: r[0],
    ),
    Case(
        "topk",
        (x, 1),
        ([[1.0, 2.0, 3.0]], [[0, 1, 0]]),
        about="smallest, first axis",
        kwargs={"axis": 0, "largest": False},
        gradient="integers come out too",
    ),
    Case("topk", (ties, 3), ([2, 2, 1], [0, 2, 1]), about="ties", gradient=NO_FLOATS),
    Case(
        "topk",
        (np.array([-0.0, 0.0, -np.nan, 1.0, -0.0, 0.0, np.nan], "float32"), 7),
        [2, 6, 3, 0, 1, 4, 5],
        about="places of nan and of zeros of both signs",
        then=lambda r: r[1],
        gradient="integers come out",
    ),
    Case(
        "where",
        (np.array([True, False]), numbers(2), numbers(2, seed=1)),
        lambda c, a, b: np.array([a[0], b[1]]),
    ),
    Case(
        "where",
        (np.array([[True], [False]]), numbers(3), 0),
        about="broadcast, number",
        expected=lambda c, a, b: np.stack([a, 0 * a]),
    ),
    Case(
        "where",
        (np.array([True, False]), np.array([1, 2], "int8"), np.array([300, 400], "int32")),
        np.array([1, 400], "int32"),
        about="promotion",
        gradient=NO_FLOATS,
    ),
    Case(
        "searchsorted",
        (np.array([[1.0, 3.0, 5.0], [2.0, 2.0, np.nan]]), np.array([[3.0, 9.0], [2.0, np.nan]])),
        [[1, 3], [0, 2]],
        about="stacks",
        gradient=NOT_FLOAT,
    ),
    Case(
        "searchsorted",
        (np.array([[1, 3, 3], [2, 2, 7]]), np.array([[3, 0], [2, 7]])),
        [[3, 0], [2, 3]],
        about="stacks, right",
        kwargs={"side": "right"},
        gradient=NO_FLOATS,
    ),
    Case("searchsorted", (edges, 3.0), 1, about="a number", gradient=NOT_FLOAT),
]
