"""Linear algebra. Functions take stacks of matrices: the last two axes are the matrix.

>>> import numpy as np, trellis
>>> trellis.linalg.det(np.array([[2.0, 0.0], [0.0, 3.0]])).item()
6.0
"""

from ._array.diagonals import kron as kron
from ._array.linalg import cholesky as cholesky
from ._array.linalg import cross as cross
from ._array.linalg import det as det
from ._array.linalg import diagonal as diagonal
from ._array.linalg import eig as eig
from ._array.linalg import eigh as eigh
from ._array.linalg import eigvals as eigvals
from ._array.linalg import eigvalsh as eigvalsh
from ._array.linalg import inv as inv
from ._array.linalg import matmul as matmul
from ._array.linalg import matrix_norm as matrix_norm
from ._array.linalg import matrix_power as matrix_power
from ._array.linalg import matrix_rank as matrix_rank
from ._array.linalg import matrix_transpose as matrix_transpose
from ._array.linalg import outer as outer
from ._array.linalg import pinv as pinv
from ._array.linalg import qr as qr
from ._array.linalg import slogdet as slogdet
from ._array.linalg import solve as solve
from ._array.linalg import svd as svd
from ._array.linalg import svdvals as svdvals
from ._array.linalg import tensordot as tensordot
from ._array.linalg import trace as trace
from ._array.linalg import vecdot as vecdot
from ._array.linalg import vector_norm as vector_norm
from ._linalg.bands import solve_banded as solve_banded
from ._linalg.building import block_diag as block_diag
from ._linalg.building import toeplitz as toeplitz
from ._linalg.exponential import expm as expm
from ._linalg.factoring import lu as lu
from ._linalg.factoring import lu_factor as lu_factor
from ._linalg.factoring import lu_solve as lu_solve
from ._linalg.roots import logm as logm
from ._linalg.roots import sqrtm as sqrtm
from ._linalg.solving import cho_solve as cho_solve
from ._linalg.solving import cond as cond
from ._linalg.solving import lstsq as lstsq
from ._linalg.solving import solve_triangular as solve_triangular
