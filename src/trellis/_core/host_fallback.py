"""Whether functions that a framework does not have may be computed by NumPy instead."""

import os
from contextlib import AbstractContextManager

from .errors import NotSupportedError
from .settings import Setting

_is_allowed: Setting[bool] = Setting(
    "trellis_host_fallback",
    os.environ.get("TRELLIS_HOST_FALLBACK", "1").lower() not in ("0", "false", "off"),
)


def set_host_fallback(is_allowed: bool, /) -> None:
    """Allow or refuse functions that run on NumPy because their backend lacks them.

    The four built-in backends need none. `trellis.backends("mlx").made("linalg.svd")` says whether
    a function of another one is "native", "derived", "host" or "missing". Refused, a call of one
    that is "host" raises `NotSupportedError`. `TRELLIS_HOST_FALLBACK=0` in the environment does the
    same. In the main program it applies to the whole process; in a thread or an async task only
    there.

    >>> import trellis
    >>> trellis.set_host_fallback(True)
    """
    _is_allowed.set(bool(is_allowed))


def using_host_fallback(is_allowed: bool, /) -> AbstractContextManager[None]:
    """`set_host_fallback` inside a `with` block, for this thread or task only.

    >>> import trellis
    >>> with trellis.using_host_fallback(False):
    ...     trellis.sum(trellis.ones(3)).item()
    3.0
    """
    return _is_allowed.using(bool(is_allowed))


def check_host(function: str, backend: str) -> None:
    """Raise if functions must not run on the host."""
    if not _is_allowed.get():
        raise NotSupportedError(
            f"The backend {backend} does not have {function}(), and computing it on NumPy is "
            'switched off. Write trellis.to_backend(x, "numpy") around the arguments, or allow '
            "it: trellis.set_host_fallback(True)."
        )
