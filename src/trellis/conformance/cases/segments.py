import numpy as np
import scipy.special

from .case import NO_FLOATS, Case, numbers

x = numbers(5, 2)
ids = np.array([1, 0, 1, 3, 7])  # 7 is none of the segments


def over(reduce, empty):
    """A reduction over the slices of each of 4 segments."""

    def of(x, ids):
        found = [x[ids == i] for i in range(4)]
        return np.stack(
            [reduce(part) if len(part) else np.full(x.shape[1:], empty) for part in found]
        )

    return of


def softmax(x, ids):
    found = np.zeros_like(x)
    for i in (0, 1, 3):
        found[ids == i] = scipy.special.softmax(x[ids == i], axis=0)
    return found


four = {"num_segments": 4}
CASES = [
    Case(
        "segment_max",
        (x, ids),
        over(lambda p: p.max(0), -np.inf),
        kwargs=four,
        about="one without slices",
        gradient="differences of infinities",
    ),
    Case(
        "segment_min",
        (x, ids),
        over(lambda p: p.min(0), np.inf),
        kwargs=four,
        about="one without slices",
        gradient="differences of infinities",
    ),
    Case(
        "segment_max",
        (x, ids),
        lambda x, ids: over(lambda p: p.max(0), 0.0)(x, ids)[:2],
        kwargs={"num_segments": 2},
    ),
    Case(
        "segment_min",
        (x, ids),
        lambda x, ids: over(lambda p: p.min(0), 0.0)(x, ids)[:2],
        kwargs={"num_segments": 2},
    ),
    Case(
        "segment_max",
        (np.array([3, 5, 4]), np.array([0, 0, 1])),
        [5, 4],
        kwargs={"num_segments": 2},
        about="integers",
        gradient=NO_FLOATS,
    ),
    Case("segment_prod", (x, ids), over(lambda p: p.prod(0), 1.0), kwargs=four),
    Case("segment_mean", (x, ids), over(lambda p: p.mean(0), 0.0), kwargs=four),
    Case(
        "segment_mean",
        (np.array([3, 6]), np.array([1, 1])),
        [0.0, 4.5],
        kwargs={"num_segments": 2},
        about="integers",
        gradient=NO_FLOATS,
        dtypes=("float32",),
    ),
    Case("segment_softmax", (x, ids), softmax, kwargs=four),
]
