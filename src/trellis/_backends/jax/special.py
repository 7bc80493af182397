"""Special functions that are JAX's own: where they are as exact, by docs/special.md."""

from collections.abc import Callable
from typing import Any

import jax

_NAMES = {
    "float32": ("expit", "logit", "ndtri", "xlog1py"),
    # XLA's log1p is 50 units of the last place off, around -0.4.
    "float64": ("expit", "logit", "ndtri"),
}

SPECIAL_KERNELS: dict[tuple[str, str], Callable[..., Any]] = {
    **{(n, kind): getattr(jax.scipy.special, n) for kind, names in _NAMES.items() for n in names},
    **{("log_expit", kind): jax.nn.log_sigmoid for kind in _NAMES},
}
