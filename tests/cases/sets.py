import numpy as np

from .case import NO_FLOATS, NOT_FLOAT, SHAPE, Case

x = np.array([[3, 1], [3, 2]])
floats = np.array([2.0, np.nan, 1.0, 2.0, np.nan])
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
]
