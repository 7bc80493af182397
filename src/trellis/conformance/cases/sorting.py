import numpy as np

from .case import NO_FLOATS, NOT_FLOAT, Case, numbers

x = numbers(3, 4)
ties = np.array([2, 1, 2, 1, 3])

CASES = [
    Case("argsort", (x,), np.argsort, gradient=NOT_FLOAT),
    Case("argsort", (ties,), [1, 3, 0, 2, 4], about="stable", gradient=NO_FLOATS),
    Case(
        "argsort",
        (ties,),
        [4, 0, 2, 1, 3],
        about="stable, descending",
        kwargs={"descending": True},
        gradient=NO_FLOATS,
    ),
    Case(
        "argsort",
        (x,),
        lambda x: np.argsort(x, 0),
        about="first axis",
        kwargs={"axis": 0, "stable": False},
        gradient=NOT_FLOAT,
    ),
    Case("sort", (x,), np.sort),
    Case(
        "sort",
        (x,),
        lambda x: np.sort(x, 0)[::-1],
        about="descending",
        kwargs={"axis": 0, "descending": True},
    ),
    Case("sort", (ties,), [1, 1, 2, 2, 3], about="integers", gradient=NO_FLOATS),
    Case(
        "sort",
        (np.array([200, 3, 7], "uint8"),),
        np.array([200, 7, 3], "uint8"),
        about="unsigned, descending",
        kwargs={"descending": True},
        gradient=NO_FLOATS,
    ),
    Case("partition", (x, 1), lambda x, k: np.sort(x)),
    Case(
        "partition",
        (x, 2),
        lambda x, k: np.sort(x, axis=None),
        kwargs={"axis": None},
        about="flattened",
    ),
    Case(
        "argpartition",
        (x, 1),
        lambda x, k: np.argsort(x, axis=0),
        kwargs={"axis": 0},
        gradient=NOT_FLOAT,
    ),
]
