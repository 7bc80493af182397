"""einops inside gradients on NumPy: the values of plain arrays, gradients of finite differences."""

import subprocess
import sys

import einops
import einops.array_api
import numpy as np
import pytest

import trellis
from traced_checks import check_gradient

X = np.cos(np.arange(24.0)).reshape(2, 3, 4) + 1.5
W = np.sin(np.arange(12.0)).reshape(4, 3)

ROWS = {
    "rearrange": lambda x: einops.rearrange(x, "a b c -> c (b a)"),
    "rearrange splits": lambda x: einops.rearrange(x, "a b (c d) -> (a c) d b", d=2),
    "rearrange a list": lambda x: einops.rearrange([x[0], x[1] ** 2], "n b c -> b n c"),
    "rearrange new axis": lambda x: einops.rearrange(x, "a b c -> a 1 b c"),
    "reduce sum": lambda x: einops.reduce(x, "a b c -> b", "sum"),
    "reduce mean": lambda x: einops.reduce(x, "a b c -> a c", "mean"),
    "reduce max": lambda x: einops.reduce(x, "a b (c d) -> a c", "max", d=2),
    "reduce min": lambda x: einops.reduce(x, "a b c -> () b ()", "min"),
    "reduce prod": lambda x: einops.reduce(x, "a b c -> a b", "prod"),
    "repeat": lambda x: einops.repeat(x, "a b c -> a (b n) c m", n=2, m=3),
    "einsum": lambda x: einops.einsum(x, W, "a b c, c d -> a d b"),
    "einsum, plain first": lambda x: einops.einsum(W, x, "c d, a b c -> a d b"),
    "einsum of two": lambda x: einops.einsum(x, x**2, "a b c, a d c -> b d"),
    "pack": lambda x: einops.pack([x, x[:, 0] ** 2], "a * c")[0],
    "unpack": lambda x: einops.unpack(x, [(1,), (2,)], "a * c"),
    "array_api rearrange": lambda x: einops.array_api.rearrange(x, "a b c -> c (b a)"),
    "array_api reduce": lambda x: einops.array_api.reduce(x, "a b c -> b", "mean"),
}  # fmt: skip


@pytest.mark.parametrize("name", ROWS)
def test_values_and_gradients(name):
    check_gradient(ROWS[name], X)


def test_mean_of_half_types():
    """einops asks whether a type is a float: both half types are."""
    for dtype in ("float16", "bfloat16"):
        x = trellis.astype(X, dtype)
        g = trellis.grad(lambda x: trellis.sum(einops.reduce(x, "a b c -> a", "mean")))(x)
        assert g.dtype == x.dtype
        np.testing.assert_allclose(g.astype("float64"), np.full(X.shape, 1 / 12), rtol=1e-2)


def test_second_order():
    def first(x):
        return np.sum(trellis.grad(lambda y: np.sum(einops.rearrange(y, "a b c -> c b a") ** 3))(x))

    np.testing.assert_allclose(trellis.grad(first)(X), 6 * X)


def run(program):
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)


def test_einops_is_not_imported_for_the_user():
    program = """
import sys, numpy as np, trellis
trellis.grad(lambda x: trellis.sum(x**2))(np.ones(3))
assert "einops" not in sys.modules
import einops
g = trellis.grad(lambda x: trellis.sum(einops.reduce(x, "(a b) -> a", "sum", a=1) ** 2))(np.ones(3))
assert g.tolist() == [6, 6, 6], g
"""
    result = run(program)
    assert result.returncode == 0, result.stderr


def test_first_import_inside_the_function():
    program = """
import numpy as np, trellis
def loss(x):
    import einops
    return trellis.sum(einops.rearrange(x, "(a b) -> b a", a=1) ** 2)
try:
    trellis.grad(loss)(np.ones(3))
except trellis.errors.TracingError as error:
    assert "import einops" in str(error)
else:
    raise AssertionError("not refused")
assert trellis.grad(loss)(np.ones(3)).tolist() == [2, 2, 2]
"""
    result = run(program)
    assert result.returncode == 0, result.stderr
