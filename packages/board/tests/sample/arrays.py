"""Stand-ins for a framework: arrays whose type says it is torch's, with no torch installed."""

import numpy as np


class Tensor:
    """An array that NumPy can read and that belongs to another framework."""

    shape: tuple[int, ...] = ()
    dtype = "float64"

    def __init__(self, values):
        self.values = np.array(values, dtype=np.float64)

    def __array__(self, dtype=None, copy=None):
        return self.values.copy()


Tensor.__module__ = "torch"


def asarray(values, backend):
    return Tensor(values) if backend == "torch" else np.asarray(values, dtype=np.float64)


def double(x):
    return Tensor(x.values * 2) if isinstance(x, Tensor) else x * 2
