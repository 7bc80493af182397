"""Distributions of matrices: correlations, covariances, and normal ones."""

from math import log, pi
from typing import Any

from .._core.dispatch import xp_of
from .._core.errors import ArgumentError
from .._core.typing import Array, Backend
from .._random.distributions import beta, gamma, normal
from .._random.keys import split
from ..special import digamma, gammaln
from . import constraints
from ._calling import Value
from .constraints import Constraint
from .multivariate import LOG_2PI, factor_of, log_diagonal, solve_lower
from .parametric import NAN, Parametric, named


def log_gamma_of_order(xp: Backend, x: Any, order: int) -> Any:
    """The logarithm of the multivariate gamma function."""
    total = 0.25 * order * (order - 1) * log(pi)
    for i in range(order):
        total = total + gammaln(x - 0.5 * i)
    return total


class _Correlations(Parametric):
    """Families of n x n matrices of correlations with one `concentration`."""

    parameters = named(concentration=constraints.positive)
    _constants = ("dimension",)
    _has_rsample = True
    dimension: int

    def __init__(self, dimension: int, concentration: Value = 1.0):
        if isinstance(dimension, bool) or not isinstance(dimension, int) or dimension < 2:
            raise ArgumentError(
                f"{type(self).__name__} needs an int of at least 2 for dimension, got "
                f"{dimension!r}."
            )
        self.dimension = dimension
        self._set(concentration=concentration)

    @property
    def event_shape(self) -> tuple[int, ...]:
        """`(dimension, dimension)`."""
        return (self.dimension, self.dimension)

    def _mode(self, xp: Backend, eta: Any) -> Any:
        # Below 1 the density grows without end.
        eye = xp.eye(self.dimension, dtype=eta.dtype, device=xp.device(eta))
        return xp.where(xp.expand_dims(eta, axis=(-2, -1)) >= 1, eye, NAN)

    def _factors(self, xp: Backend, key: Any, sizes: Any, kind: str, eta: Any) -> Any:
        """Cholesky factors, row by row: a direction, and how much of the length 1 it has."""
        n = self.dimension
        keys = split(key)
        offset = xp.asarray([0.0, *[float(i) for i in range(n - 1)]], dtype=eta.dtype)
        wide = xp.expand_dims(eta + 0.5 * (n - 2), axis=-1)
        y = beta(keys[0, ...], 0.5 * offset + 0.5, wide - 0.5 * offset, (*sizes, n), kind)
        below = xp.tril(normal(keys[1, ...], (*sizes, n, n), kind), k=-1)
        lengths = xp.sqrt(xp.sum(below * below, axis=-1, keepdims=True))
        first = lengths == 0
        below = below / xp.where(first, 1.0, lengths) * xp.sqrt(xp.expand_dims(y, axis=-1))
        left = xp.sqrt(xp.where(first, 1.0, 1.0 - xp.expand_dims(y, axis=-1)))
        eye = xp.eye(n, dtype=eta.dtype, device=xp.device(eta))
        return xp.where(first, 0.0, below) + eye * left

    def _log_of_factor(self, xp: Backend, factor: Any, eta: Any) -> Any:
        n = self.dimension
        powers = [float(n - i) for i in range(2, n + 1)]
        order = xp.asarray(powers, dtype=factor.dtype) + xp.expand_dims(2.0 * eta - 2.0, axis=-1)
        logs = xp.log(xp.linalg.diagonal(factor)[..., 1:])
        half = eta + 0.5 * (n - 1)
        front = 0.5 * (n - 1) * log(pi) + log_gamma_of_order(xp, half - 0.5, n - 1)
        return xp.sum(order * logs, axis=-1) - front + (n - 1) * gammaln(half)


class LKJCholesky(_Correlations):
    """Distribution of Cholesky factors of correlation matrices of size `dimension`.

    Their matrices are uniform for a `concentration` of 1, and nearer to the identity above it.

    >>> from trellis.distributions import LKJCholesky
    >>> LKJCholesky(3, 1.0).event_shape
    (3, 3)
    """

    @property
    def support(self) -> Constraint:
        """Lower triangular matrices with a positive diagonal and rows of length 1."""
        return constraints.correlation_cholesky

    def _log_prob(self, xp: Backend, x: Any, eta: Any) -> Any:
        return self._log_of_factor(xp, x, eta)

    def _draws(self, xp: Backend, key: Any, sizes: Any, kind: str, eta: Any) -> Any:
        return self._factors(xp, key, sizes, kind, eta)


class LKJ(_Correlations):
    """Distribution of correlation matrices of size `dimension`.

    It is uniform for a `concentration` of 1, and nearer to the identity above it.

    >>> from trellis.distributions import LKJ
    >>> LKJ(2, 1.0).mean
    array([[1., 0.],
           [0., 1.]], dtype=float32)
    """

    @property
    def support(self) -> Constraint:
        """Correlation matrices."""
        return constraints.correlation

    def _log_prob(self, xp: Backend, x: Any, eta: Any) -> Any:
        n = self.dimension
        factor = xp.linalg.cholesky(x)
        powers = [float(n - i) for i in range(1, n + 1)]
        stretch = xp.asarray(powers, dtype=x.dtype) * xp.log(xp.linalg.diagonal(factor))
        return self._log_of_factor(xp, factor, eta) - xp.sum(stretch, axis=-1)

    def _draws(self, xp: Backend, key: Any, sizes: Any, kind: str, eta: Any) -> Any:
        factor = self._factors(xp, key, sizes, kind, eta)
        return xp.matmul(factor, xp.matrix_transpose(factor))

    def _mean(self, xp: Backend, eta: Any) -> Any:
        return xp.eye(self.dimension, dtype=eta.dtype, device=xp.device(eta))


class Wishart(Parametric):
    """Wishart distribution of covariance matrices with `df` degrees of freedom.

    The mean is `df` times the scale matrix, of which one is given: `covariance_matrix`,
    `precision_matrix` (its inverse) or `scale_tril` (its lower Cholesky factor).

    >>> import numpy as np
    >>> from trellis.distributions import Wishart
    >>> Wishart(3.0, np.eye(2)).mean
    array([[3., 0.],
           [0., 3.]])
    """

    parameters = named(df=constraints.positive, scale_tril=constraints.lower_cholesky)
    _has_rsample = True
    scale_tril: Any

    def __init__(
        self,
        df: Value,
        covariance_matrix: Array | None = None,
        *,
        precision_matrix: Array | None = None,
        scale_tril: Array | None = None,
    ):
        factor = factor_of(self, covariance_matrix, precision_matrix, scale_tril)
        self._set(df=df, scale_tril=factor)

    @property
    def event_shape(self) -> tuple[int, ...]:
        """That of the scale matrix."""
        return tuple(self.scale_tril.shape)[-2:]

    @property
    def support(self) -> Constraint:
        """Symmetric matrices with positive eigenvalues."""
        return constraints.positive_definite

    @property
    def covariance_matrix(self) -> Any:
        """The scale matrix."""
        xp = xp_of(self.scale_tril)
        factor = xp.tril(self.scale_tril)
        return xp.matmul(factor, xp.matrix_transpose(factor))

    def _log_prob(self, xp: Backend, x: Any, df: Any, factor: Any) -> Any:
        n = int(factor.shape[-1])
        lower = xp.linalg.cholesky(x)
        batch = tuple((lower[..., 0, 0] + factor[..., 0, 0]).shape)
        z = solve_lower(
            xp, xp.broadcast_to(factor, (*batch, n, n)), xp.broadcast_to(lower, (*batch, n, n))
        )
        trace = xp.sum(xp.sum(z * z, axis=-1), axis=-1)
        logs = (df - n - 1.0) * log_diagonal(xp, lower) - 0.5 * trace
        front = 0.5 * df * n * log(2.0) + df * log_diagonal(xp, factor)
        return logs - front - log_gamma_of_order(xp, 0.5 * df, n)

    def _draws(self, xp: Backend, key: Any, sizes: Any, kind: str, df: Any, factor: Any) -> Any:
        # Bartlett's decomposition.
        n = int(factor.shape[-1])
        keys = split(key)
        steps = xp.arange(n, dtype=df.dtype)
        halves = xp.broadcast_to(0.5 * (xp.expand_dims(df, axis=-1) - steps), (*sizes, n))
        roots = xp.sqrt(2.0 * gamma(keys[0, ...], halves, (*sizes, n), kind))
        below = xp.tril(normal(keys[1, ...], (*sizes, n, n), kind), k=-1)
        eye = xp.eye(n, dtype=df.dtype, device=xp.device(df))
        lower = xp.matmul(factor, below + eye * xp.expand_dims(roots, axis=-1))
        return xp.matmul(lower, xp.matrix_transpose(lower))

    def _entropy(self, xp: Backend, df: Any, factor: Any) -> Any:
        n = int(factor.shape[-1])
        slopes: Any = 0.0
        for i in range(n):
            slopes = slopes + digamma(0.5 * (df - i))
        logs = (n + 1.0) * log_diagonal(xp, factor) + 0.5 * n * (n + 1) * log(2.0)
        rest = 0.5 * n * df - 0.5 * (df - n - 1.0) * slopes
        return logs + log_gamma_of_order(xp, 0.5 * df, n) + rest

    def _scale(self, xp: Backend, df: Any, factor: Any) -> tuple[Any, Any]:
        scale = xp.matmul(factor, xp.matrix_transpose(factor))
        return df[..., None, None], scale

    def _mean(self, xp: Backend, df: Any, factor: Any) -> Any:
        wide, scale = self._scale(xp, df, factor)
        return wide * scale

    def _variance(self, xp: Backend, df: Any, factor: Any) -> Any:
        wide, scale = self._scale(xp, df, factor)
        diagonal = xp.linalg.diagonal(scale)
        squares = xp.expand_dims(diagonal, axis=-1) * xp.expand_dims(diagonal, axis=-2)
        return wide * (scale * scale + squares)

    def _mode(self, xp: Backend, df: Any, factor: Any) -> Any:
        wide, scale = self._scale(xp, df, factor)
        less = wide - (int(factor.shape[-1]) + 1.0)
        return xp.where(less > 0, less * scale, NAN)


class MatrixNormal(Parametric):
    """Normal distribution of matrices with mean `loc`, rows and columns of which are correlated.

    `row_tril` and `column_tril` are the lower Cholesky factors of the two covariances.

    >>> import numpy as np
    >>> from trellis.distributions import MatrixNormal
    >>> MatrixNormal(np.zeros((2, 3)), np.eye(2), np.eye(3)).event_shape
    (2, 3)
    """

    parameters = named(
        loc=constraints.real_matrix,
        row_tril=constraints.lower_cholesky,
        column_tril=constraints.lower_cholesky,
    )
    _has_rsample = True
    loc: Any

    def __init__(self, loc: Array, row_tril: Array, column_tril: Array):
        self._set(loc=loc, row_tril=row_tril, column_tril=column_tril)

    @property
    def event_shape(self) -> tuple[int, ...]:
        """That of the mean."""
        return tuple(self.loc.shape)[-2:]

    @property
    def support(self) -> Constraint:
        """All matrices."""
        return constraints.real_matrix

    def _log_prob(self, xp: Backend, x: Any, loc: Any, rows: Any, columns: Any) -> Any:
        n, m = self.event_shape
        apart = x - loc
        batch = tuple((apart[..., 0, 0] + rows[..., 0, 0] + columns[..., 0, 0]).shape)
        rows = xp.broadcast_to(rows, (*batch, n, n))
        columns = xp.broadcast_to(columns, (*batch, m, m))
        z = solve_lower(xp, rows, xp.broadcast_to(apart, (*batch, n, m)))
        z = solve_lower(xp, columns, xp.matrix_transpose(z))
        volume = m * log_diagonal(xp, rows) + n * log_diagonal(xp, columns)
        return -0.5 * xp.sum(xp.sum(z * z, axis=-1), axis=-1) - volume - 0.5 * n * m * LOG_2PI

    def _draws(self, xp: Backend, key: Any, sizes: Any, kind: str, *values: Any) -> Any:
        loc, rows, columns = values
        z = normal(key, (*sizes, *self.event_shape), kind)
        return loc + xp.matmul(xp.matmul(rows, z), xp.matrix_transpose(columns))

    def _entropy(self, xp: Backend, loc: Any, rows: Any, columns: Any) -> Any:
        n, m = self.event_shape
        volume = m * log_diagonal(xp, rows) + n * log_diagonal(xp, columns)
        return volume + 0.5 * n * m * (LOG_2PI + 1.0)

    def _mean(self, xp: Backend, loc: Any, rows: Any, columns: Any) -> Any:
        return loc

    def _variance(self, xp: Backend, loc: Any, rows: Any, columns: Any) -> Any:
        down = xp.expand_dims(xp.sum(rows * rows, axis=-1), axis=-1)
        return down * xp.expand_dims(xp.sum(columns * columns, axis=-1), axis=-2)

    def _mode(self, xp: Backend, loc: Any, rows: Any, columns: Any) -> Any:
        return loc
