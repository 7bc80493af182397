import numpy as np

import trellis

from .case import COMPLEX, CORNER, NO_FLOATS, NOT_FLOAT, SHAPE, Case, complex_numbers, numbers

x = numbers(3, 4)
holes = np.array([[1.0, np.nan, 3.0], [np.nan, np.nan, np.nan], [-4.0, 5.0, 6.0]])
some = np.array([[1.0, np.nan, 3.0], [np.nan, 2.0, np.nan], [-4.0, 5.0, 6.0]])
weights = np.array([1, 2, 1, 3])
shares = np.array([0.2, 0.85])


def without(holes, fn):
    """`fn` of what is not nan in each row; nan where there is nothing."""
    rows = [row[~np.isnan(row)] for row in holes]
    return np.array([fn(row) if row.size else np.nan for row in rows])


CASES = [
    Case("quantile", (x, 0.3), lambda x, q: np.quantile(x, q)),
    Case(
        "quantile",
        (x, [0.0, 0.4, 1.0]),
        lambda x, q: np.quantile(x, q, axis=1),
        kwargs={"axis": 1},
        about="several along an axis",
    ),
    Case(
        "quantile",
        (numbers(2, 3, 4), 0.6),
        lambda x, q: np.quantile(x, q, axis=(0, 2), keepdims=True, method="midpoint"),
        kwargs={"axis": (0, 2), "keepdims": True, "method": "midpoint"},
        about="two axes, midpoint",
    ),
    Case(
        "quantile",
        (x, shares),
        lambda x, q: np.quantile(x, q, axis=0),
        kwargs={"axis": 0},
        about="an array of shares",
        # The place between two elements is a difference: 0.85 * 2 - 1 keeps 23 of 24 bits.
        rtol32=2e-6,
    ),
    Case(
        "quantile",
        (x, 0.5),
        lambda x, q: np.quantile(x, q, method="higher"),
        kwargs={"method": "higher"},
        about="higher",
    ),
    Case(
        "quantile",
        (x, [0.1, 0.7]),
        lambda x, q: np.quantile(x, q, method="lower"),
        kwargs={"method": "lower"},
        about="lower",
    ),
    Case(
        "quantile",
        (x, [0.1, 0.7]),
        lambda x, q: np.quantile(x, q, method="nearest"),
        kwargs={"method": "nearest"},
        about="nearest",
    ),
    Case(
        "quantile",
        (np.array([[1.0, np.nan], [np.inf, np.inf], [-np.inf, 3.0]]), 0.5),
        [np.nan, np.inf, -np.inf],
        kwargs={"axis": 1},
        about="nan and infinities",
        gradient=CORNER,
    ),
    Case(
        "quantile",
        (np.array([4, 1, 2]), 0.25),
        1.5,
        about="integers",
        gradient=NO_FLOATS,
        dtypes=("float32",),
    ),
    Case("percentile", (x, [25.0, 75]), lambda x, q: np.percentile(x, q)),
    Case("median", (x,), lambda x: np.median(x)),
    Case(
        "median",
        (numbers(3, 5),),
        lambda x: np.median(x, axis=1, keepdims=True),
        kwargs={"axis": 1, "keepdims": True},
        about="axis",
    ),
    Case(
        "nanmax",
        (holes,),
        lambda x: without(x, np.max),
        kwargs={"axis": 1},
        gradient=CORNER,
    ),
    Case("nanmin", (holes,), lambda x: without(x, np.min), kwargs={"axis": 1}, gradient=CORNER),
    Case("nanmax", (np.array([[3, 1]]),), 3, about="integers", gradient=NO_FLOATS),
    Case(
        "nansum",
        (holes,),
        lambda x: np.nansum(x, axis=0, keepdims=True),
        kwargs={"axis": 0, "keepdims": True},
        gradient=CORNER,
    ),
    Case(
        "nanmean",
        (holes,),
        lambda x: without(x, np.mean),
        kwargs={"axis": 1},
        gradient=CORNER,
    ),
    Case("nanmean", (numbers(3, 4),), lambda x: np.mean(x), about="no nan"),
    Case(
        "nanmean",
        (numbers(2, 3),),
        lambda x: without(np.where(x > 1, np.nan, x), np.mean),
        call=lambda x: trellis.nanmean(trellis.where(x > 1, trellis.nan, x), axis=1),
        about="gradient beside nan",
    ),
    Case("cov", (x,), lambda x: np.cov(x)),
    Case("cov", (numbers(6),), lambda x: np.cov(x), about="a vector"),
    Case(
        "cov",
        (numbers(2, 4, 3),),
        lambda x: np.stack([np.cov(each.T, ddof=0) for each in x]),
        kwargs={"axis": 1, "correction": 0},
        about="stacks along the first axis",
    ),
    Case(
        "cov",
        (x, np.array([0.5, 1.0, 2.0, 0.25])),
        lambda x, w: np.cov(x, fweights=[1, 2, 1, 3], aweights=w),
        call=lambda x, w: trellis.cov(
            x, fweights=trellis.asarray([1, 2, 1, 3], backend=trellis.backend_of(x)), aweights=w
        ),
        about="weights",
    ),
    Case("cov", (complex_numbers(2, 5),), lambda x: np.cov(x), about="complex", gradient=COMPLEX),
    Case(
        "bincount",
        (np.array([1, 3, 1]),),
        [0, 2, 0, 1],
        gradient=NO_FLOATS,
        compiled=SHAPE,
    ),
    Case(
        "bincount",
        (np.array([1, 3, 1]),),
        [0, 2, 0],
        kwargs={"length": 3},
        about="length",
        gradient=NO_FLOATS,
    ),
    Case(
        "bincount",
        (numbers(4),),
        lambda w: np.bincount([0, 2, 0, 1], w, minlength=5),
        call=lambda w: trellis.bincount(
            trellis.asarray([0, 2, 0, 1], backend=trellis.backend_of(w)),
            weights=w,
            minlength=5,
            length=3,
        ),
        about="weights",
    ),
    Case("nunique", (np.array([[3, 1], [3, 2]]),), 3, gradient=NO_FLOATS),
    Case("nunique", (np.array([1.0, np.nan, 1.0, np.nan]),), 3, about="nan", gradient=NOT_FLOAT),
    Case(
        "nunique",
        (np.array([1j, 2.0, 1j]),),
        2,
        about="complex",
        gradient=NOT_FLOAT,
        compiled=SHAPE,
    ),
]
