"""Normal and t distributions of vectors."""

from math import log, pi
from typing import Any

from .._core.dispatch import xp_of
from .._core.errors import ArgumentError
from .._core.typing import Array, Backend
from .._random.distributions import gamma, normal
from .._random.keys import split
from ..special import digamma, gammaln
from . import constraints
from ._calling import Value
from .categorical import OfVectors
from .constraints import Constraint
from .parametric import INF, NAN, check_parameter, named

LOG_2PI = log(2 * pi)


def factor_of(owner: Any, covariance: Any, precision: Any, factor: Any) -> Any:
    """The lower factor of the covariance, from the one of the three that is given."""
    given = {
        "covariance_matrix": covariance, "precision_matrix": precision, "scale_tril": factor,
    }  # fmt: skip
    names = [name for name, value in given.items() if value is not None]
    if len(names) != 1:
        raise ArgumentError(
            f"{type(owner).__name__} needs one of covariance_matrix, precision_matrix and "
            f"scale_tril, got {' and '.join(names) or 'none'}."
        )
    if factor is not None:
        return factor
    name, value = names[0], given[names[0]]
    check_parameter(type(owner).__name__, name, value, constraints.positive_definite)
    xp = xp_of(value)
    if covariance is not None:
        return xp.linalg.cholesky(value)
    # P = L L^T upside down gives the inverse of a lower factor: no inverse of a matrix is needed.
    turned = xp.linalg.cholesky(xp.flip(value, axis=(-2, -1)))
    upper = xp.matrix_transpose(xp.flip(turned, axis=(-2, -1)))
    eye = xp.eye(int(value.shape[-1]), dtype=value.dtype, device=xp.device(value))
    return xp.linalg.solve(upper, xp.broadcast_to(eye, tuple(upper.shape)))


def standardised(xp: Backend, factor: Any, apart: Any) -> Any:
    """factor^-1 apart, for a stack of factors and one of vectors, broadcast."""
    batch = tuple((apart[..., 0] + factor[..., 0, 0]).shape)
    count = int(factor.shape[-1])
    wide = xp.broadcast_to(factor, (*batch, count, count))
    vectors = xp.expand_dims(xp.broadcast_to(apart, (*batch, count)), axis=-1)
    return xp.squeeze(solve_lower(xp, wide, vectors), axis=-1)


def solve_lower(xp: Backend, factor: Any, b: Any) -> Any:
    """The solution of a triangular system, by the solver of general ones."""
    return xp.linalg.solve(factor, b)


def log_diagonal(xp: Backend, factor: Any) -> Any:
    """Half of the logarithm of the determinant of the covariance."""
    return xp.sum(xp.log(xp.linalg.diagonal(factor)), axis=-1)


def _multiplied(xp: Backend, factor: Any, z: Any) -> Any:
    return xp.squeeze(xp.matmul(factor, xp.expand_dims(z, axis=-1)), axis=-1)


class MultivariateNormal(OfVectors):
    """Normal distribution of vectors with mean `loc`.

    One of `covariance_matrix`, `precision_matrix` (its inverse) and `scale_tril` (its lower
    Cholesky factor) says how they spread. The factor is what is stored, and derivatives are by it.

    >>> import numpy as np
    >>> from trellis.distributions import MultivariateNormal
    >>> d = MultivariateNormal(np.zeros(2), np.array([[2.0, 0.5], [0.5, 1.0]]))
    >>> d.variance.round(6)
    array([2., 1.])
    """

    parameters = named(loc=constraints.real_vector, scale_tril=constraints.lower_cholesky)
    _has_rsample = True
    scale_tril: Any

    def __init__(
        self,
        loc: Array,
        covariance_matrix: Array | None = None,
        *,
        precision_matrix: Array | None = None,
        scale_tril: Array | None = None,
    ):
        factor = factor_of(self, covariance_matrix, precision_matrix, scale_tril)
        self._set(loc=loc, scale_tril=factor)

    @property
    def support(self) -> Constraint:
        """All vectors."""
        return constraints.real_vector

    @property
    def covariance_matrix(self) -> Any:
        """The covariances of the elements of a draw."""
        xp = xp_of(self.scale_tril)
        factor = xp.tril(self.scale_tril)
        return xp.matmul(factor, xp.matrix_transpose(factor))

    @property
    def precision_matrix(self) -> Any:
        """The inverse of the covariance matrix."""
        return xp_of(self.scale_tril).linalg.inv(self.covariance_matrix)

    def _log_prob(self, xp: Backend, x: Any, loc: Any, factor: Any) -> Any:
        z = standardised(xp, factor, x - loc)
        logs = -0.5 * xp.sum(z * z, axis=-1) - log_diagonal(xp, factor)
        return logs - 0.5 * LOG_2PI * int(factor.shape[-1])

    def _draws(self, xp: Backend, key: Any, sizes: Any, kind: str, loc: Any, factor: Any) -> Any:
        z = normal(key, (*sizes, int(factor.shape[-1])), kind)
        return loc + _multiplied(xp, factor, z)

    def _entropy(self, xp: Backend, loc: Any, factor: Any) -> Any:
        return log_diagonal(xp, factor) + 0.5 * (1.0 + LOG_2PI) * int(factor.shape[-1])

    def _mean(self, xp: Backend, loc: Any, factor: Any) -> Any:
        return loc

    def _variance(self, xp: Backend, loc: Any, factor: Any) -> Any:
        return xp.sum(factor * factor, axis=-1)

    def _mode(self, xp: Backend, loc: Any, factor: Any) -> Any:
        return loc


class LowRankMultivariateNormal(OfVectors):
    """Normal distribution of vectors with mean `loc`, covariance W W^T + D of few factors.

    `cov_factor` is W, of shape (n, rank), and `cov_diag` the diagonal of D. No matrix of shape
    (n, n) is made: a draw and a density cost n * rank**2.

    >>> import numpy as np
    >>> from trellis.distributions import LowRankMultivariateNormal
    >>> LowRankMultivariateNormal(np.zeros(2), np.ones((2, 1)), np.ones(2)).variance
    array([2., 2.])
    """

    parameters = named(
        loc=constraints.real_vector,
        cov_factor=constraints.real_matrix,
        cov_diag=constraints.positive_vector,
    )
    _has_rsample = True

    def __init__(self, loc: Array, cov_factor: Array, cov_diag: Array):
        self._set(loc=loc, cov_factor=cov_factor, cov_diag=cov_diag)

    @property
    def support(self) -> Constraint:
        """All vectors."""
        return constraints.real_vector

    @property
    def covariance_matrix(self) -> Any:
        """The covariances of the elements of a draw."""
        xp = xp_of(self._values()[1])
        _, w, d = self._values()
        eye = xp.eye(int(d.shape[-1]), dtype=d.dtype, device=xp.device(d))
        return xp.matmul(w, xp.matrix_transpose(w)) + xp.expand_dims(d, axis=-1) * eye

    def _inner_factor(self, xp: Backend, w: Any, d: Any) -> Any:
        """The Cholesky factor of I + W^T D^-1 W."""
        eye = xp.eye(int(w.shape[-1]), dtype=w.dtype, device=xp.device(w))
        scaled = w / xp.expand_dims(d, axis=-1)
        return xp.linalg.cholesky(eye + xp.matmul(xp.matrix_transpose(w), scaled))

    def _half_log_det(self, xp: Backend, w: Any, d: Any) -> Any:
        inner = self._inner_factor(xp, w, d)
        return log_diagonal(xp, inner) + 0.5 * xp.sum(xp.log(d), axis=-1)

    def _log_prob(self, xp: Backend, x: Any, loc: Any, w: Any, d: Any) -> Any:
        apart = x - loc
        scaled = apart / d
        # Woodbury's identity for the distance, the lemma of determinants for the volume.
        short = _multiplied(xp, xp.matrix_transpose(w), scaled)
        z = standardised(xp, self._inner_factor(xp, w, d), short)
        distance = xp.sum(apart * scaled, axis=-1) - xp.sum(z * z, axis=-1)
        constant = 0.5 * LOG_2PI * int(d.shape[-1])
        return -0.5 * distance - self._half_log_det(xp, w, d) - constant

    def _draws(self, xp: Backend, key: Any, sizes: Any, kind: str, *values: Any) -> Any:
        loc, w, d = values
        keys = split(key)
        short = normal(keys[0, ...], (*sizes, int(w.shape[-1])), kind)
        own = normal(keys[1, ...], (*sizes, int(d.shape[-1])), kind)
        return loc + _multiplied(xp, w, short) + xp.sqrt(d) * own

    def _entropy(self, xp: Backend, loc: Any, w: Any, d: Any) -> Any:
        return self._half_log_det(xp, w, d) + 0.5 * (1.0 + LOG_2PI) * int(d.shape[-1])

    def _mean(self, xp: Backend, loc: Any, w: Any, d: Any) -> Any:
        return loc

    def _variance(self, xp: Backend, loc: Any, w: Any, d: Any) -> Any:
        return xp.sum(w * w, axis=-1) + d

    def _mode(self, xp: Backend, loc: Any, w: Any, d: Any) -> Any:
        return loc


class MultivariateStudentT(OfVectors):
    """Student's t distribution of vectors with `df` degrees of freedom around `loc`.

    `scale_tril` is the lower Cholesky factor of the scale matrix.

    >>> import numpy as np
    >>> from trellis.distributions import MultivariateStudentT
    >>> MultivariateStudentT(4.0, np.zeros(2), np.eye(2)).variance
    array([2., 2.])
    """

    parameters = named(
        df=constraints.positive,
        loc=constraints.real_vector,
        scale_tril=constraints.lower_cholesky,
    )
    _has_rsample = True

    def __init__(self, df: Value, loc: Array, scale_tril: Array):
        self._set(df=df, loc=loc, scale_tril=scale_tril)

    @property
    def support(self) -> Constraint:
        """All vectors."""
        return constraints.real_vector

    def _log_prob(self, xp: Backend, x: Any, df: Any, loc: Any, factor: Any) -> Any:
        count = int(factor.shape[-1])
        z = standardised(xp, factor, x - loc)
        half = 0.5 * (df + count)
        front = gammaln(half) - gammaln(0.5 * df) - 0.5 * count * xp.log(df * pi)
        logs = half * xp.log1p(xp.sum(z * z, axis=-1) / df)
        return front - log_diagonal(xp, factor) - logs

    def _draws(self, xp: Backend, key: Any, sizes: Any, kind: str, *values: Any) -> Any:
        df, loc, factor = values
        keys = split(key)
        z = normal(keys[0, ...], (*sizes, int(factor.shape[-1])), kind)
        half = 0.5 * df
        widen = xp.sqrt(half / gamma(keys[1, ...], half, sizes, kind))
        return loc + _multiplied(xp, factor, z) * xp.expand_dims(widen, axis=-1)

    def _entropy(self, xp: Backend, df: Any, loc: Any, factor: Any) -> Any:
        count = int(factor.shape[-1])
        half = 0.5 * (df + count)
        front = gammaln(half) - gammaln(0.5 * df) - 0.5 * count * xp.log(df * pi)
        return half * (digamma(half) - digamma(0.5 * df)) - front + log_diagonal(xp, factor)

    def _mean(self, xp: Backend, df: Any, loc: Any, factor: Any) -> Any:
        return xp.where(xp.expand_dims(df, axis=-1) > 1, loc, NAN)

    def _variance(self, xp: Backend, df: Any, loc: Any, factor: Any) -> Any:
        wide = xp.expand_dims(df, axis=-1)
        ratio = wide / xp.where(wide > 2, wide - 2.0, 1.0)
        ratio = xp.where(wide > 2, ratio, xp.where(wide > 1, INF, NAN))
        return xp.sum(factor * factor, axis=-1) * ratio

    def _mode(self, xp: Backend, df: Any, loc: Any, factor: Any) -> Any:
        return loc
