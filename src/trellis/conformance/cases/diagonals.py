import numpy as np

from .case import COMPLEX, NO_FLOATS, Case, complex_numbers, numbers

matrix = numbers(3, 4)

CASES = [
    Case("create_diagonal", (numbers(3),), lambda x: np.diag(x)),
    Case(
        "create_diagonal",
        (numbers(2, 3),),
        lambda x: np.stack([np.diag(each, -2) for each in x]),
        kwargs={"offset": -2},
        about="stacks below the diagonal",
    ),
    Case(
        "create_diagonal",
        (np.array([4, 5]),),
        [[0, 4, 0], [0, 0, 5], [0, 0, 0]],
        kwargs={"offset": 1},
        about="integers above",
        gradient=NO_FLOATS,
    ),
    Case("diag", (matrix,), lambda x: np.diag(x, 1), kwargs={"k": 1}),
    Case("diag", (numbers(2),), lambda x: np.diag(x, -1), kwargs={"k": -1}, about="of a vector"),
    Case("kron", (numbers(2, 2), numbers(3, 1)), lambda a, b: np.kron(a, b)),
    Case("kron", (numbers(3), numbers(2, 2)), lambda a, b: np.kron(a, b), about="ranks differ"),
    Case(
        "kron",
        (complex_numbers(2), 2.0),
        lambda a, b: np.kron(a, b),
        about="complex and a number",
        gradient=COMPLEX,
    ),
    Case("diag_indices", (3,), ([0, 1, 2],) * 3, kwargs={"ndim": 3}, gradient=NO_FLOATS),
    Case("tril_indices", (2,), ([0, 1, 1], [0, 0, 1]), gradient=NO_FLOATS),
    Case(
        "tril_indices",
        (3,),
        tuple(np.tril_indices(3, -1, 4)),
        kwargs={"offset": -1, "m": 4},
        about="offset",
        gradient=NO_FLOATS,
    ),
    Case("triu_indices", (2,), ([0, 0, 1], [0, 1, 1]), gradient=NO_FLOATS),
    Case(
        "unravel_index",
        (np.array([[1, 5], [-1, 0]]), (2, 3)),
        ([[0, 1], [1, 0]], [[1, 2], [2, 0]]),
        gradient=NO_FLOATS,
    ),
]
