"""Rows of the cache and of padding; the arrays of a cache go in one by one."""

import numpy as np

import trellis
from trellis import functional as F

from ..case import NO_FLOATS, NOT_FLOAT, Case, numbers

keys, values = numbers(2, 1, 5, 2), numbers(2, 1, 5, 3, seed=1)
new_keys, new_values = numbers(2, 1, 2, 2, seed=2), numbers(2, 1, 2, 3, seed=3)
filled, start = np.array(2, "int32"), np.array([0, 1], "int32")


def extended(keys, values, filled, start, new_keys, new_values):
    keys, values = keys.copy(), values.copy()
    keys[:, :, 2:4], values[:, :, 2:4] = new_keys, new_values
    return keys, values


def extend(keys, values, filled, start, new_keys, new_values):
    cache = F.KVCache(keys, values, filled, start)
    return tuple(F.extend_cache(cache, new_keys, new_values)[:2])


def asked(name, **options):
    def call(position, start):
        # Of the keys only the length counts.
        xp = trellis.namespace(start)
        keys = xp.zeros((2, 1, 5, 2), dtype="float32", device=xp.device(start))
        return getattr(F, name)(F.KVCache(keys, keys, position, start), 2, **options)

    return call


# Places 2 and 3 are asked about: row 1 begins at place 1.
MASK = np.array(
    [[[[1, 1, 1, 0, 0], [1, 1, 1, 1, 0]]], [[[0, 1, 1, 0, 0], [0, 1, 1, 1, 0]]]], dtype=bool
)
WINDOW = np.array(
    [[[[0, 1, 1, 0, 0], [0, 0, 1, 1, 0]]], [[[0, 1, 1, 0, 0], [0, 0, 1, 1, 0]]]], dtype=bool
)

CASES = [
    Case(
        "functional.length_mask",
        (np.array([1, 3]), 4),
        np.array([[1, 0, 0, 0], [1, 1, 1, 0]], dtype=bool),
        gradient=NOT_FLOAT,
    ),
    Case(
        "functional.pad_sequences",
        ([numbers(2, 2), numbers(1, 2, seed=1)],),
        lambda xs: (
            np.stack([xs[0], np.concatenate([xs[1], np.full((1, 2), 7.0)])]),
            np.array([2, 1], "int32"),
        ),
        kwargs={"value": 7},
    ),
    Case(
        "functional.KVCache",
        (keys, values, filled, start),
        lambda keys, values, *counts: (keys, values, filled, start),
        call=lambda *arrays: tuple(F.KVCache(*arrays)),
    ),
    Case(
        "functional.init_cache",
        (2, 1, 3, 2),
        (
            np.zeros((2, 1, 3, 2), "float32"),
            np.zeros((2, 1, 3, 2), "float32"),
            np.zeros((), "int32"),
            np.zeros(2, "int32"),
        ),
        gradient=NO_FLOATS,
        then=tuple,
        dtypes=("float32",),
    ),
    Case(
        "functional.extend_cache",
        (keys, values, filled, start, new_keys, new_values),
        extended,
        call=extend,
    ),
    Case(
        "functional.cache_mask",
        (filled, start),
        MASK,
        gradient=NOT_FLOAT,
        call=asked("cache_mask"),
    ),
    Case(
        "functional.cache_mask",
        (filled, start),
        WINDOW,
        gradient=NOT_FLOAT,
        call=asked("cache_mask", window=2),
        about="window",
    ),
    Case(
        "functional.cache_positions",
        (filled, start),
        np.array([[2, 3], [1, 2]], "int32"),
        gradient=NOT_FLOAT,
        call=asked("cache_positions"),
    ),
]
