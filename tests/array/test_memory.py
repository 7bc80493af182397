"""Sizes that no memory holds raise OutOfMemoryError, and the process goes on."""

import numpy as np
import pytest

import trellis
from trellis import errors

MANY = 2**40  # 4 TB of float32
SIDE = 2**20

CALLS = {
    "segment_sum": lambda xp, x: trellis.segment_sum(x, xp.astype(x, "int32"), num_segments=MANY),
    # JAX computes later: the array is there, and reading it raises.
    "multiply": lambda xp, x: trellis.to_numpy(
        trellis.multiply(xp.ones((SIDE, 1)), xp.ones((1, SIDE)))
    ),
}
# TensorFlow waits 10 seconds for memory in each of them.
MORE = {
    "zeros": lambda xp, x: trellis.zeros(MANY, backend=trellis.backend_of(x)),
    "eye": lambda xp, x: trellis.eye(SIDE, backend=trellis.backend_of(x)),
    "repeat": lambda xp, x: trellis.repeat(x, MANY),
    "pad": lambda xp, x: trellis.pad(x, (MANY, 0)),
    "one_hot": lambda xp, x: trellis.one_hot(xp.astype(x, "int32"), MANY),
    "matmul": lambda xp, x: trellis.to_numpy(
        trellis.matmul(xp.ones((SIDE, 1)), xp.ones((1, SIDE)))
    ),
    "uniform": lambda xp, x: trellis.to_numpy(
        trellis.random.uniform(trellis.random.key(0, backend=trellis.backend_of(x)), (MANY,))
    ),
}


def check(call, xp, array):
    x = array(np.array([0.0, 1.0, 2.0], "float32"))
    with pytest.raises(errors.OutOfMemoryError, match="more memory than there is"):
        call(xp, x)
    assert float(trellis.sum(x)) == 3.0


@pytest.mark.parametrize("name", CALLS)
def test_too_large(name, xp, array):
    check(CALLS[name], xp, array)


@pytest.mark.long
@pytest.mark.parametrize("name", MORE)
def test_too_large_elsewhere(name, xp, array):
    check(MORE[name], xp, array)
