"""Helpers of the tests: `board_helpers` says that these asserts are the tests'.

>>> 1 + 1
2
"""

import numpy as np


def check_by_asserting(value):
    assert value


def check_by_raising(value):
    if not value:
        raise AssertionError("no value")


class Sparse:
    """An array of another framework whose shape is an attribute of each instance."""

    dtype = "float64"

    def __init__(self, values):
        self.values = np.array(values)
        self.shape = self.values.shape

    def __array__(self, dtype=None, copy=None):
        return self.values.copy()


Sparse.__module__ = "torch"


class Frame:
    """Something that wraps an array."""

    def __init__(self, array):
        self._native = [array]

    def to_numpy(self):
        return np.array(self._native[0])
