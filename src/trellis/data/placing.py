"""Where batches go: the framework, the device and the types of their arrays."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .._array.casting import dtype as dtype_of
from .._array.interchange import to_backend, to_numpy
from .._core import tree
from .._core.dispatch import load, xp_of
from .._core.dtypes import FLOATING
from .._core.errors import PrecisionError, ShapeError
from .._core.typing import Array

if TYPE_CHECKING:
    from .._backends.interface import Backend


@dataclass(frozen=True)
class Target:
    """The framework and device of batches, and the floating type, if floats are cast to one.

    `sharding` is the way in which a batch is spread over several devices, if it is.
    """

    backend: str
    device: Any
    float_type: str | None
    is_cast: bool
    sharding: Any = None

    def __call__(self, batch: Any) -> Any:
        kind = type(batch)
        if kind is list and batch and isinstance(batch[0], (str, bytes)):
            return batch  # the text of all examples
        if kind is list or kind is tuple:
            return kind([self(x) for x in batch])
        if kind is dict:
            return {name: self(x) for name, x in batch.items()}
        return tree.map(self._leaf, batch)

    def _leaf(self, x: Array) -> Any:
        if not hasattr(x, "dtype"):
            if isinstance(x, (str, bytes, type(None))):
                return x
            x = np.asarray(x)
        if self.is_cast:
            x = self._cast(x)
        if self.sharding is not None:
            return self._spread(x)
        return to_backend(x, self.backend, device=self.device)

    def _spread(self, x: Array) -> Any:
        try:
            return load(self.backend).to_device(to_backend(x, self.backend), self.sharding)
        except ValueError as error:
            raise ShapeError(
                f"A batch of shape {tuple(x.shape)} cannot be sharded over the devices: {error} "
                "Choose a batch_size that they divide, and drop_last=True where the rest does "
                "not fit."
            ) from error

    def _cast(self, x: Array) -> Any:
        """Floats in the type of the variables, integers in one that the framework has."""
        name = str(dtype_of(x))
        if name in FLOATING and self.float_type is not None and name != self.float_type:
            return _as_type(x, self.float_type)
        if name in ("int64", "uint64") and not _has_wide_integers(load(self.backend)):
            return _narrowed(x, self.backend)
        return x


def _as_type(x: Any, name: str) -> Any:
    xp = xp_of(x)
    return xp.astype(x, xp.as_dtype(name))


def _has_wide_integers(xp: "Backend") -> bool:
    if xp.ABILITIES.is_always_64_bit:
        return True
    try:
        xp.zeros((), dtype="int64")
    except PrecisionError:
        return False
    return True


def _narrowed(x: Array, backend: str) -> Any:
    """64-bit integers as int32 where 64-bit types are switched off; those that do not fit raise."""
    x = np.asarray(to_numpy(x))
    limits = np.iinfo(np.int32)
    if x.size and (x.min() < limits.min or x.max() > limits.max):
        raise PrecisionError(
            f"The data hold integers beyond 32 bits, and {backend} has 64-bit types switched off: "
            'on JAX, write jax.config.update("jax_enable_x64", True) first.'
        )
    return x.astype(np.int32)
