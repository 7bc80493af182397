import numpy as np

from .case import COMPLEX, NO_FLOATS, Case, complex_numbers, numbers

a, b = numbers(2, 3), numbers(3, 4, seed=1)
stack = numbers(5, 2, 3)
v = numbers(3, seed=2)
truth = np.array([[True, False], [True, False]])
whole = np.arange(6).reshape(2, 3)

CASES = [
    Case("einsum", ("ij,jk->ik", a, b), lambda s, a, b: a @ b),
    Case("einsum", ("ij->ji", a), lambda s, a: a.T, about="transpose"),
    Case("einsum", ("ii->", numbers(3, 3)), lambda s, a: np.trace(a), about="trace"),
    Case("einsum", ("i,j,ij->", numbers(2), v, a), lambda s, u, v, a: u @ a @ v, about="three"),
    Case("einsum", ("...ij,jk->...ik", stack, b), lambda s, x, b: x @ b, about="ellipsis"),
    Case("matmul", (a, b), lambda a, b: a @ b),
    Case("matmul", (a, v), lambda a, v: a @ v, about="matrix and vector"),
    Case("matmul", (v, v), lambda v, w: (v * w).sum(), about="two vectors"),
    Case("matmul", (stack, b), lambda x, b: x @ b, about="stack"),
    Case("matmul", (whole, whole.T.copy()), whole @ whole.T, about="integers", gradient=NO_FLOATS),
    Case("matmul", (truth, truth), truth @ truth, about="bools", gradient=NO_FLOATS),
    Case("vecdot", (truth, truth), truth.any(axis=1), about="bools", gradient=NO_FLOATS),
    Case(
        "tensordot",
        (truth, truth),
        truth @ truth,
        about="bools",
        kwargs={"axes": 1},
        gradient=NO_FLOATS,
    ),
    Case("einsum", ("ij,jk->ik", truth, truth), truth @ truth, about="bools", gradient=NO_FLOATS),
    Case(
        "matmul",
        (complex_numbers(2, 3), complex_numbers(3, 2)),
        lambda a, b: a @ b,
        about="complex",
        gradient=COMPLEX,
    ),
    Case("matrix_transpose", (stack,), lambda x: np.swapaxes(x, 1, 2)),
    Case("tensordot", (a, b), lambda a, b: a @ b, kwargs={"axes": 1}),
    Case("tensordot", (a, a), lambda a, b: (a * b).sum(), about="two axes"),
    Case(
        "tensordot",
        (a, a),
        lambda a, b: np.outer(a, b).reshape(2, 3, 2, 3),
        about="outer",
        kwargs={"axes": 0},
    ),
    Case(
        "tensordot",
        (stack, numbers(3, 5, seed=3)),
        about="lists",
        expected=lambda x, y: np.einsum("ijk,ki->j", x, y),
        kwargs={"axes": ([0, 2], [1, 0])},
    ),
    Case("vecdot", (stack, v), lambda x, v: (x * v).sum(-1)),
    Case("vecdot", (a, a), lambda a, b: (a * b).sum(0), about="first axis", kwargs={"axis": -2}),
    Case(
        "vecdot",
        (complex_numbers(3), complex_numbers(3, seed=1)),
        lambda a, b: (a.conj() * b).sum(),
        about="complex",
        gradient=COMPLEX,
    ),
]
