"""A framework whose arrays must not meet those of the backend under test."""

from importlib.util import find_spec
from types import ModuleType
from typing import Any

import numpy as np

import trellis
from trellis._core import dispatch
from trellis.backend import Abilities, complete, register

NAME = "stranger"


def other_of(backend: str) -> str:
    """The name of another backend: NumPy, which is always there; for NumPy itself a framework that
    is installed, or a stranger made here."""
    if backend != "numpy":
        return "numpy"
    installed = [name for name in dispatch.BACKENDS[1:] if find_spec(name) is not None]
    return installed[0] if installed else _stranger()


class Stranger:
    """An array that no backend but the stranger knows."""

    def __init__(self, data: Any) -> None:
        self.data = np.asarray(data)

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.data.shape)

    @property
    def ndim(self) -> int:
        return int(self.data.ndim)

    @property
    def dtype(self) -> Any:
        return self.data.dtype


def _stranger() -> str:
    if NAME not in dispatch.backend_names():
        backend: Any = ModuleType(NAME)
        host = trellis.namespace("numpy")
        backend.TYPES, backend.ARRAY_TYPES = host.TYPES, (Stranger,)
        backend.ABILITIES = Abilities()
        backend.from_numpy = lambda x, /, *, device=None, copy=None: Stranger(x)
        backend.to_numpy = lambda x, /: x.data
        backend.vjp, backend.custom_vjp = _no_derivatives, lambda fn, rule: fn
        complete(backend)
        register(backend, backend.ARRAY_TYPES)
    return NAME


def _no_derivatives(*args: Any, **kwargs: Any) -> Any:
    raise NotImplementedError("the stranger is only there to be refused")
