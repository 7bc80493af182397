"""Windows: weights that fade a piece of a signal in and out."""

import math
from typing import Any

import numpy as np

from .._core.arrays import is_array
from .._core.dispatch import named_xp
from .._core.dtypes import default_dtype
from .._core.errors import ArgumentError
from .._core.explain import explain
from .._core.following import computed_while_compiling
from .._core.guards import check_flag, check_number
from .._core.shapes import one_of
from .._core.typing import Array, Backend, Device, DTypeLike
from ._samples import whole

# A name, or a name and its parameter.
Window = str | tuple[str, float]

# Coefficients of cos(k t), with alternating signs.
_COSINES = {
    "boxcar": (1.0,),
    "hann": (0.5, 0.5),
    "hamming": (0.54, 0.46),
    "blackman": (0.42, 0.5, 0.08),
    "nuttall": (0.3635819, 0.4891775, 0.1365995, 0.0106411),
    "blackmanharris": (0.35875, 0.48829, 0.14128, 0.01168),
    "flattop": (0.21557895, 0.41663158, 0.277263158, 0.083578947, 0.006947368),
}
_WITHOUT_PARAMETER = (*_COSINES, "triang", "bartlett", "cosine")
_WITH_PARAMETER = {"kaiser": "beta", "gaussian": "std", "tukey": "alpha"}


def get_window(
    window: Window,
    nx: int,
    /,
    *,
    fftbins: bool = True,
    dtype: DTypeLike | None = None,
    device: Device | None = None,
    backend: str | None = None,
) -> Array:
    """The `nx` weights of a window by its name; with `fftbins` one period of a periodic window.

    Names are "boxcar", "triang", "bartlett", "cosine", "hann", "hamming", "blackman", "nuttall",
    "blackmanharris" and "flattop", and with a parameter ("kaiser", beta), ("gaussian", std) and
    ("tukey", alpha). Without `fftbins` the window is symmetric, as filters want it.

    >>> import trellis
    >>> trellis.signal.get_window("hann", 4)
    array([0. , 0.5, 1. , 0.5], dtype=float32)
    """
    try:
        check_flag(fftbins)
        name, parameter = checked_window("get_window", window)
        values = weights(name, parameter, whole("get_window", "nx", nx), fftbins)
        kind = default_dtype() if dtype is None else dtype
        return named_xp(backend).asarray(values, dtype=kind, device=device)
    except Exception as error:
        return explain(error, get_window)


def checked_window(function: str, window: object) -> tuple[str, float | None]:
    """The name and the parameter of a window, if it has one."""
    name, parameter = window, None
    if isinstance(window, tuple) and len(window) == 2:
        name, parameter = window
    one_of(function, "window", name, (*_WITHOUT_PARAMETER, *_WITH_PARAMETER))
    assert isinstance(name, str)
    if (parameter is None) == (name in _WITH_PARAMETER):
        wanted = f'("{name}", {_WITH_PARAMETER[name]})' if parameter is None else f'"{name}"'
        raise ArgumentError(f"{function}() expects that window as {wanted}, got {window!r}.")
    if parameter is None:
        return name, None
    check_number(parameter)
    return name, float(parameter)


@computed_while_compiling
def weights(name: str, parameter: float | None, size: int, is_periodic: bool) -> np.ndarray:
    """A window in NumPy's float64."""
    if size == 1:
        return np.ones(1)
    points = size + 1 if is_periodic else size
    return _symmetric(name, parameter, points)[:size]


def _symmetric(name: str, parameter: Any, size: int) -> np.ndarray:
    i = np.arange(size)
    if name in _COSINES:
        turns = 2 * math.pi * i / (size - 1)
        parts = [(-1) ** k * c * np.cos(k * turns) for k, c in enumerate(_COSINES[name])]
        return np.asarray(np.sum(parts, axis=0))
    from_middle = i - (size - 1) / 2
    if name == "triang":
        return 1 - np.abs(from_middle) / ((size + size % 2) / 2)
    if name == "bartlett":
        return 1 - np.abs(from_middle) / ((size - 1) / 2)
    if name == "cosine":
        return np.sin(math.pi * (i + 0.5) / size)
    if name == "kaiser":
        inside = np.maximum(1 - (from_middle / ((size - 1) / 2)) ** 2, 0)
        return np.asarray(np.i0(parameter * np.sqrt(inside)) / np.i0(parameter))
    if name == "gaussian":
        return np.asarray(np.exp(-0.5 * (from_middle / parameter) ** 2))
    return _tukey(parameter, i, size)


def _tukey(alpha: float, i: np.ndarray, size: int) -> np.ndarray:
    """Flat, with a share of `alpha` that rises and falls as a cosine."""
    if alpha <= 0:
        return np.ones(size)
    slope = min(alpha, 1.0) * (size - 1) / 2
    from_end = np.minimum(i, size - 1 - i)
    rising = 0.5 * (1 - np.cos(math.pi * from_end / slope))
    return np.where(from_end < slope, rising, 1.0)


def window_of(function: str, xp: Backend, window: Any, size: int, x: Any, kind: str) -> Any:
    """The window as an array beside `x`: by its name, or as it was given."""
    if not is_array(window):
        values = weights(*checked_window(function, window), size, True)
        return xp.asarray(values, dtype=kind, device=xp.device(x))
    if len(window.shape) != 1 or window.shape[0] != size:
        raise ArgumentError(
            f"{function}() needs a window of nperseg={size} numbers, got shape "
            f"{tuple(window.shape)}."
        )
    return xp.astype(window, kind, copy=False)
