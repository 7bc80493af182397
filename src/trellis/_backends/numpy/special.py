"""Special functions that are SciPy's own: where they are as exact, to a unit, by
docs/special.md."""

from collections.abc import Callable
from typing import Any

import numpy as np

from . import _scipy

# Those of float32 are computed in float64 and rounded once.
_SINGLE = (
    *("gammaln", "gamma", "digamma", "gammainc", "gammaincc", "gammaincinv", "gammainccinv"),
    *("erfcx", "ndtr", "log_ndtr", "ndtri", "expit", "logit", "log_expit"),
    *("xlogy", "xlog1py", "entr", "rel_entr", "i0e", "i1e"),
)
_DOUBLE = (
    *("gamma", "ndtri", "expit", "logit", "log_expit"),
    # Not rel_entr: SciPy 1.13 has no digits of it where both arguments are almost equal.
    *("xlogy", "xlog1py", "entr"),
)


def _by_scipy(name: str) -> Callable[..., Any]:
    """The ufunc is looked up at the call: importing SciPy's takes longer than importing NumPy."""

    def values(*xs: Any) -> Any:
        return getattr(_scipy.special, name)(*xs).astype(xs[0].dtype, copy=False)

    return values


def _of_probabilities(name: str) -> Callable[..., Any]:
    """SciPy has values at the order -0 for what is no probability."""
    values = _by_scipy(name)
    return lambda a, p: np.where((p >= 0) & (p <= 1), values(a, p), a.dtype.type(np.nan))


def _erfcinv(x: Any) -> Any:
    """SciPy has -0 at 1."""
    return _by_scipy("erfcinv")(x) + x.dtype.type(0)


SPECIAL_KERNELS: dict[tuple[str, str], Callable[..., Any]] = {
    **{(name, "float32"): _by_scipy(name) for name in _SINGLE},
    **{(name, "float64"): _by_scipy(name) for name in _DOUBLE},
    **{("erfcinv", kind): _erfcinv for kind in ("float32", "float64")},
    **{(n, "float32"): _of_probabilities(n) for n in ("gammaincinv", "gammainccinv")},
}
