"""Linear algebra on stacks of matrices."""

import numpy as np
from hypothesis import strategies as st

import trellis

from ..call import Call, Given
from ..drawing import (
    INEXACT,
    NUMERIC,
    array,
    axes_of,
    broadcast,
    drawn,
    options,
    pair_of_types,
    shapes,
)

BATCHES = ((), (), (2,), (0,), (2, 1))
TYPES = (*INEXACT, "float32", "float64", "int32")


def matrix(draw, rows, columns, dtypes=TYPES, batch=None):
    batch = draw(st.sampled_from(BATCHES)) if batch is None else batch
    return array(draw, dtypes, (*batch, rows, columns))


def size(draw):
    return draw(st.sampled_from((2, 3, 1, 0)))


def regular(draw, *, symmetric=False, dtypes=TYPES):
    """Square matrices far from singular: a heavy diagonal with distinct entries."""
    n = size(draw)
    x = matrix(draw, n, n, dtypes)
    values = x.values
    if values.dtype.kind in "fcV":
        values = (values / 4).astype(values.dtype)
    if symmetric:
        values = values + np.conj(np.swapaxes(values, -1, -2))
    values = values + np.diag(np.arange(n) * 4 + 6).astype(values.dtype)
    return Given(values.astype(x.values.dtype), x.layout)


@drawn("linalg.det", "linalg.slogdet", "linalg.inv")
def square(draw, op):
    x = regular(draw)
    oracle = getattr(np.linalg, op.removeprefix("linalg."))
    return Call(op, (x,), expected=oracle, units=512)


@drawn("linalg.cholesky", "linalg.eigvalsh")
def symmetric(draw, op):
    x = regular(draw, symmetric=True)
    name = op.removeprefix("linalg.")
    chosen = options(draw, upper=(True, False)) if name == "cholesky" else {}
    return Call(op, (x,), chosen, expected=getattr(np.linalg, name), units=512)


@drawn("linalg.eigh")
def eigh(draw, op):
    def again(result):
        values, vectors = result
        scaled = trellis.multiply(vectors, trellis.expand_dims(values, -2))
        return values, trellis.matmul(scaled, trellis.conj(trellis.matrix_transpose(vectors)))

    x = regular(draw, symmetric=True)
    return Call(op, (x,), then=again, units=1024)


@drawn("linalg.eig")
def eig(draw, op):
    def again(result):
        values, vectors = result
        scaled = trellis.multiply(vectors, trellis.expand_dims(values, -2))
        return trellis.matmul(scaled, trellis.linalg.inv(vectors))

    return Call(op, (regular(draw),), then=again, units=1024)


@drawn("linalg.eigvals")
def eigvals(draw, op):
    def powers(values):
        return trellis.sum(values, axis=-1), trellis.sum(values**2, axis=-1)

    return Call(op, (regular(draw),), then=powers, units=1024)


@drawn("linalg.svd")
def svd(draw, op):
    chosen = options(draw, full_matrices=(True, False))

    def again(result):
        u, s, vh = result
        k = s.shape[-1]
        product = trellis.matmul(
            trellis.multiply(u[..., :k], trellis.expand_dims(s, -2)), vh[..., :k, :]
        )
        return s, product, trellis.linalg.vector_norm(u), trellis.linalg.vector_norm(vh)

    x = matrix(draw, size(draw), size(draw))
    return Call(op, (x,), chosen, then=again, units=1024, gradient=False)


@drawn("linalg.qr")
def qr(draw, op):
    def again(result):
        q, r = result
        gram = trellis.matmul(trellis.conj(trellis.matrix_transpose(q)), q)
        return trellis.matmul(q, r), gram, trellis.abs(r) if r.shape[-1] <= r.shape[-2] else r[:0]

    x = regular(draw)
    return Call(op, (x,), options(draw, mode=("reduced", "complete")), then=again, units=1024)


@drawn("linalg.svdvals", "linalg.matrix_rank", "linalg.pinv")
def by_singular_values(draw, op):
    x = matrix(draw, size(draw), size(draw))
    name = op.removeprefix("linalg.")
    half = x.values.dtype.name in ("float16", "bfloat16")
    chosen = options(draw, rtol=(0.125, 1e-3)) if name != "svdvals" else {}
    if half and name != "svdvals":
        chosen["rtol"] = 0.125
    oracle = None if name == "pinv" else getattr(np.linalg, name, None)
    if x.values.size == 0:
        oracle = None
    # A pseudo-inverse is as sensitive as its smallest singular value is small.
    return Call(
        op, (x,), chosen, expected=oracle, units=4096 if name == "pinv" else 512,
        gradient=name == "svdvals",
    )  # fmt: skip


@drawn("linalg.matrix_norm")
def matrix_norm(draw, op):
    x = matrix(draw, size(draw), size(draw))
    orders = ("fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf)
    return Call(op, (x,), options(draw, ord=orders, keepdims=(True, False)), units=512)


@drawn("linalg.vector_norm")
def vector_norm(draw, op):
    x = array(draw, NUMERIC)
    orders = (2, 1, 0, np.inf, -np.inf, 3, 0.5, -1, -2)
    chosen = options(draw, ord=orders, keepdims=(True, False))
    if draw(st.booleans()):
        chosen["axis"] = axes_of(draw, x.values.ndim)
    return Call(op, (x,), chosen, units=128)


@drawn("linalg.matrix_power")
def matrix_power(draw, op):
    # Integers stay integers, and have no inverse.
    return Call(op, (regular(draw, dtypes=INEXACT), draw(st.integers(-2, 4))), units=2048)


@drawn("linalg.solve")
def solve(draw, op):
    a = regular(draw)
    n = a.values.shape[-1]
    name = a.values.dtype.name
    batch = broadcast(draw, a.values.shape[:-2])
    shape = draw(st.sampled_from(((n,), (n, 2), (*batch, n, 2), (*batch, n, 1))))
    return Call(op, (a, array(draw, name, shape)), expected=np.linalg.solve, units=512)


@drawn("linalg.diagonal", "linalg.trace")
def diagonal(draw, op):
    x = array(draw, NUMERIC, draw(shapes(2)))
    return Call(op, (x,), options(draw, offset=(0, 1, -1, 4, -5)), units=64)


@drawn("linalg.outer")
def outer(draw, op):
    first, second = pair_of_types(draw, NUMERIC)
    x, y = array(draw, first, draw(shapes(1, 1))), array(draw, second, draw(shapes(1, 1)))
    return Call(op, (x, y), expected=np.outer if first == second else None)


@drawn("linalg.cross")
def cross(draw, op):
    first, second = pair_of_types(draw, NUMERIC)
    shape = draw(st.sampled_from(((3,), (2, 3), (3, 2), (1, 3), (0, 3))))
    axis = draw(st.sampled_from([i for i, n in enumerate(shape) if n == 3]))
    axis -= len(shape) if draw(st.booleans()) else 0
    return Call(op, (array(draw, first, shape), array(draw, second, shape)), {"axis": axis})
