"""The frameworks' own special functions, under the names of trellis.special."""

from collections.abc import Callable
from typing import Any

# Eagerly these take minutes.
NOT_MEASURED = ("exp1", "expi", "expn")
OF_TORCH = {name: f"bessel_{name}" for name in ("j0", "j1", "y0", "y1")}


def of_scipy(name: str) -> Callable[..., Any] | None:
    import scipy.special

    return getattr(scipy.special, name, None)


def of_jax(name: str) -> Callable[..., Any] | None:
    import jax

    if name == "log_expit":
        return jax.nn.log_sigmoid
    return None if name in NOT_MEASURED else getattr(jax.scipy.special, name, None)


def of_torch(name: str) -> Callable[..., Any] | None:
    import torch

    if name == "log_expit":
        return torch.nn.functional.logsigmoid
    return getattr(torch.special, OF_TORCH.get(name, name), None)


# Under these names in docs/data/special.json, each with the backend whose arrays it takes.
PEERS = {
    "SciPy": ("numpy", of_scipy),
    "jax.scipy.special": ("jax", of_jax),
    "torch.special": ("torch", of_torch),
}
