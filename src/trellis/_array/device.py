"""Devices of arrays."""

from .._core.dispatch import xp_of
from .._core.typing import A, Array, Device


def device(x: Array, /) -> Device:
    """The device of an array, as the framework names it.

    >>> import numpy as np, trellis
    >>> trellis.device(np.zeros(3))
    'cpu'
    """
    return xp_of(x).device(x)


def to_device(x: A, device: Device, /, *, stream: object = None) -> A:
    """The array on another device; nothing happens if it is there already.

    >>> import numpy as np, trellis
    >>> trellis.to_device(np.array([1.0, 2.0]), "cpu")
    array([1., 2.])
    """
    return xp_of(x).to_device(x, device, stream=stream)
