import numpy as np

import trellis

from .case import COMPLEX, NO_FLOATS, NOT_FLOAT, Case, numbers

square = numbers(2, 3, 3) + 3 * np.eye(3)
definite = square @ np.swapaxes(square, 1, 2) + np.eye(3)
tall, wide = numbers(4, 3), numbers(3, 4)
v, w = numbers(2, 3), numbers(2, 3, seed=1)
singular = np.array([[1.0, 2.0], [2.0, 4.0]])
# Factorisations in float32 lose a digit.
loose = {"rtol32": 2e-4}
T = trellis.matrix_transpose


def _gram(result):
    """What orthonormal columns must give; free of signs."""
    return trellis.matmul(T(result), result)


def _eigenvectors(x):
    """Of length 1, the largest component real and positive."""
    values, vectors = np.linalg.eig(x.astype("complex128"))
    largest = np.take_along_axis(vectors, np.abs(vectors).argmax(-2)[..., None, :], -2)
    return values, vectors / (largest / np.abs(largest))


def _of_all(values, vectors=None):
    """Sums over the eigenvalues, or over their vectors, in real parts: the frameworks' orders
    differ. The complex factor keeps pairs of conjugates from leaving no imaginary part."""
    weights = trellis.exp(values * (1 + 0.5j))
    found = trellis.sum(weights, axis=-1)
    if vectors is None:
        return trellis.real(found), trellis.imag(found)
    found = trellis.sum(vectors * trellis.expand_dims(weights, axis=-2), axis=-1)
    return trellis.real(found), trellis.imag(found)


# Each of the matrices has two real eigenvalues and two complex ones.
general = numbers(2, 4, 4, seed=5)


CASES = [
    Case(
        "linalg.cholesky",
        (definite,),
        np.linalg.cholesky,
        **loose,
        gradient="only symmetric matrices may be varied",
    ),
    Case(
        "linalg.cholesky",
        (definite,),
        lambda x: np.swapaxes(np.linalg.cholesky(x), 1, 2),
        about="upper",
        kwargs={"upper": True},
        **loose,
        gradient="only symmetric matrices may be varied",
    ),
    Case("linalg.cross", (v, w), np.cross),
    Case(
        "linalg.cross",
        (v.T.copy(), w.T.copy()),
        lambda a, b: np.cross(a.T, b.T).T,
        about="first axis",
        kwargs={"axis": 0},
    ),
    Case("linalg.det", (square,), np.linalg.det, **loose),
    Case("linalg.diagonal", (square,), lambda x: np.diagonal(x, axis1=1, axis2=2)),
    Case(
        "linalg.diagonal", (wide,), lambda x: np.diagonal(x, 1), about="above", kwargs={"offset": 1}
    ),
    Case(
        "linalg.diagonal",
        (wide,),
        lambda x: np.diagonal(x, -1),
        about="below",
        kwargs={"offset": -1},
    ),
    Case(
        "linalg.eig",
        (general,),
        lambda x: _of_all(*_eigenvectors(x)),
        then=lambda r: _of_all(r.eigenvalues, r.eigenvectors),
        **loose,
    ),
    Case(
        "linalg.eig",
        (square[0] + 1j * general[0, :3, :3],),
        lambda x: (x, np.ones(3)),
        about="complex",
        then=lambda r: (
            trellis.matmul(
                r.eigenvectors * trellis.expand_dims(r.eigenvalues, axis=-2),
                trellis.linalg.inv(r.eigenvectors),
            ),
            trellis.linalg.vector_norm(r.eigenvectors, axis=-2),
        ),
        gradient=COMPLEX,
        **loose,
    ),
    Case(
        "linalg.eigvals",
        (general,),
        lambda x: _of_all(np.linalg.eigvals(x)),
        then=_of_all,
        **loose,
    ),
    Case(
        "linalg.eigh",
        (definite,),
        lambda x: (np.linalg.eigvalsh(x), x),
        **loose,
        then=lambda r: (
            r.eigenvalues,
            trellis.matmul(
                r.eigenvectors * trellis.expand_dims(r.eigenvalues, axis=-2), T(r.eigenvectors)
            ),
        ),
        gradient="only symmetric matrices may be varied",
    ),
    Case(
        "linalg.eigvalsh",
        (definite,),
        np.linalg.eigvalsh,
        **loose,
        gradient="only symmetric matrices may be varied",
    ),
    Case("linalg.inv", (square,), np.linalg.inv, **loose),
    Case("linalg.matmul", (tall, wide), lambda a, b: a @ b),
    Case("linalg.matrix_norm", (square,), lambda x: np.sqrt((x**2).sum((1, 2)))),
    Case(
        "linalg.matrix_norm",
        (square,),
        lambda x: np.linalg.norm(x, ord="nuc", axis=(1, 2)),
        about="nuclear",
        kwargs={"ord": "nuc"},
        **loose,
    ),
    Case(
        "linalg.matrix_norm",
        (square,),
        about="largest singular value",
        expected=lambda x: np.linalg.norm(x, ord=2, axis=(1, 2), keepdims=True),
        kwargs={"ord": 2, "keepdims": True},
        **loose,
    ),
    Case(
        "linalg.matrix_norm",
        (tall,),
        lambda x: np.abs(x).sum(0).max(),
        about="columns",
        kwargs={"ord": 1},
    ),
    Case(
        "linalg.matrix_norm",
        (tall,),
        lambda x: np.abs(x).sum(1).min(),
        about="smallest row",
        kwargs={"ord": -np.inf},
    ),
    Case("linalg.matrix_power", (square, 3), lambda x, n: x @ x @ x, **loose),
    Case(
        "linalg.matrix_power",
        (square, 0),
        np.broadcast_to(np.eye(3), (2, 3, 3)),
        about="zero",
        gradient="the result does not depend on the values",
    ),
    Case(
        "linalg.matrix_power",
        (square, -2),
        lambda x, n: np.linalg.inv(x @ x),
        about="negative",
        **loose,
    ),
    Case("linalg.matrix_rank", (square,), [3, 3], gradient=NOT_FLOAT),
    Case("linalg.matrix_rank", (singular,), 1, about="singular", gradient=NOT_FLOAT),
    Case("linalg.matrix_transpose", (square,), lambda x: np.swapaxes(x, 1, 2)),
    Case("linalg.outer", (v[0], w[0]), lambda a, b: a[:, None] * b),
    Case("linalg.pinv", (tall,), np.linalg.pinv, **loose),
    Case(
        "linalg.pinv",
        (singular,),
        singular / 25,
        about="singular",
        kwargs={"rtol": 1e-3},
        **loose,
        gradient="the rank changes around a singular matrix",
    ),
    Case(
        "linalg.qr",
        (tall,),
        lambda x: (x, np.eye(3)),
        **loose,
        then=lambda r: (trellis.matmul(r.Q, r.R), _gram(r.Q)),
    ),
    Case(
        "linalg.qr",
        (tall,),
        lambda x: (x, np.eye(4)),
        about="complete",
        **loose,
        kwargs={"mode": "complete"},
        then=lambda r: (trellis.matmul(r.Q, r.R), _gram(r.Q)),
        gradient="frameworks differentiate the reduced form only",
    ),
    Case("linalg.slogdet", (-square,), lambda x: tuple(np.linalg.slogdet(x)), **loose, then=tuple),
    Case("linalg.solve", (square, numbers(2, 3, 2, seed=4)), np.linalg.solve, **loose),
    Case(
        "linalg.solve",
        (square, v[0]),
        lambda a, b: np.linalg.solve(a, b[:, None])[..., 0],
        about="vector",
        **loose,
    ),
    Case(
        "linalg.svd",
        (tall,),
        lambda x: (x, np.linalg.svd(x)[1], np.eye(3)),
        **loose,
        kwargs={"full_matrices": False},
        then=lambda r: (trellis.matmul(r.U * r.S, r.Vh), r.S, _gram(r.U)),
    ),
    Case(
        "linalg.svd",
        (wide,),
        lambda x: (np.linalg.svd(x)[1], np.eye(3), np.eye(4)),
        about="full",
        **loose,
        then=lambda r: (r.S, _gram(r.U), _gram(r.Vh)),
        gradient="frameworks differentiate the reduced form only",
    ),
    Case("linalg.svdvals", (tall,), lambda x: np.linalg.svd(x)[1], **loose),
    Case("linalg.tensordot", (tall, wide), lambda a, b: a @ b, kwargs={"axes": 1}),
    Case("linalg.trace", (square,), lambda x: np.trace(x, axis1=1, axis2=2)),
    Case(
        "linalg.trace",
        (np.arange(6).reshape(2, 3),),
        1 + 5,
        about="integers, above",
        kwargs={"offset": 1},
        gradient=NO_FLOATS,
    ),
    Case("linalg.vecdot", (v, w), lambda a, b: (a * b).sum(-1)),
    Case("linalg.vector_norm", (square,), lambda x: np.sqrt((x**2).sum())),
    Case(
        "linalg.vector_norm",
        (square,),
        about="axes",
        expected=lambda x: np.sqrt((x**2).sum((0, 2), keepdims=True)),
        kwargs={"axis": (0, 2), "keepdims": True},
    ),
    Case(
        "linalg.vector_norm",
        (tall,),
        lambda x: np.abs(x).max(1),
        about="maximum",
        kwargs={"axis": 1, "ord": np.inf},
    ),
    Case(
        "linalg.vector_norm",
        (tall,),
        lambda x: np.abs(x).sum(1),
        about="sum",
        kwargs={"axis": 1, "ord": 1},
    ),
    Case(
        "linalg.vector_norm",
        (tall,),
        lambda x: (np.abs(x) ** 3).sum() ** (1 / 3),
        about="cubic",
        kwargs={"ord": 3},
    ),
    Case(
        "linalg.vector_norm",
        (np.array([1.0, 0.0, 2.0]),),
        2.0,
        about="count",
        kwargs={"ord": 0},
        gradient=NOT_FLOAT,
    ),
]
