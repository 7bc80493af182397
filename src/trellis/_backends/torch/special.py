"""Special functions that are PyTorch's own: where they are as exact, by docs/special.md."""

from collections.abc import Callable
from typing import Any

import torch

_NAMES = ("expit", "logit", "ndtri", "xlogy", "xlog1py", "entr")
_KINDS = ("float32", "float64")


def _gammaln(x: Any) -> Any:
    """At -inf SciPy has -inf, and PyTorch inf."""
    return torch.where(x == -torch.inf, x, torch.special.gammaln(x))


SPECIAL_KERNELS: dict[tuple[str, str], Callable[..., Any]] = {
    **{(name, kind): getattr(torch.special, name) for name in _NAMES for kind in _KINDS},
    **{("log_expit", kind): torch.nn.functional.logsigmoid for kind in _KINDS},
    **{("gammaln", kind): _gammaln for kind in _KINDS},
}
