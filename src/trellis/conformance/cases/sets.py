import numpy as np

from .case import NO_FLOATS, NOT_FLOAT, SHAPE, Case

x = np.array([[3, 1], [3, 2]])
floats = np.array([2.0, np.nan, 1.0, 2.0, np.nan])
ordered = np.array([2.0, -1.0, 0.5])
options = {"gradient": NO_FLOATS, "compiled": SHAPE, "then": tuple}

CASES = [
    Case("unique_all", (x,), ([1, 2, 3], [1, 3, 0], [[2, 0], [2, 1]], [1, 1, 2]), **options),
    Case("unique_counts", (x,), ([1, 2, 3], [1, 1, 2]), **options),
    Case("unique_inverse", (x,), ([1, 2, 3], [[2, 0], [2, 1]]), **options),
    Case("unique_values", (x,), [1, 2, 3], gradient=NO_FLOATS, compiled=SHAPE),
    Case(
        "unique_values",
        (floats,),
        [1.0, 2.0, np.nan, np.nan],
        about="every nan by itself",
        gradient=NOT_FLOAT,
        compiled=SHAPE,
    ),
    Case(
        "unique_counts",
        (floats,),
        ([1.0, 2.0, np.nan, np.nan], [1, 2, 1, 1]),
        about="every nan by itself",
        gradient=NOT_FLOAT,
        compiled=SHAPE,
        then=tuple,
    ),
    Case(
        "unique_values",
        (ordered,),
        [-1.0, 0.5, 2.0],
        about="floats, with a gradient",
        compiled=SHAPE,
    ),
    Case("isin", (x, np.array([3, 7, 1])), [[True, True], [True, False]], gradient=NO_FLOATS),
    Case(
        "isin",
        (floats, np.array([np.nan, 2.0, -1.0])),
        lambda x, y: np.isin(x, y, invert=True),
        kwargs={"invert": True},
        about="nan, inverted",
        gradient=NOT_FLOAT,
    ),
    Case("isin", (x, 3), [[True, False], [True, False]], about="a number", gradient=NO_FLOATS),
    Case(
        "isin",
        (np.array([1j, 2.0]), np.array([[1j, 3.0]])),
        [True, False],
        about="complex",
        gradient=NOT_FLOAT,
    ),
    Case("setdiff1d", (x, np.array([2])), [1, 3], gradient=NO_FLOATS, compiled=SHAPE),
    Case(
        "setdiff1d",
        (np.array([4.0, 1.0, 3.0]), np.array([1.0])),
        [4.0, 3.0],
        kwargs={"assume_unique": True},
        about="all in their order",
        gradient=SHAPE,
        compiled=SHAPE,
    ),
    Case(
        "setdiff1d",
        (ordered, np.array([4.0, 3.0])),
        [-1.0, 0.5, 2.0],
        about="floats, with a gradient",
        compiled=SHAPE,
    ),
    Case("union1d", (x, np.array([7, 2])), [1, 2, 3, 7], gradient=NO_FLOATS, compiled=SHAPE),
    Case(
        "union1d",
        (ordered, np.array([1.0, 3.0])),
        [-1.0, 0.5, 1.0, 2.0, 3.0],
        about="floats, with a gradient",
        compiled=SHAPE,
    ),
]
