"""Modules whose weight is normalised before each call: spectral norm, weight norm."""

from typing import Any, Unpack

from ..._array.creation import ones
from ..._array.elementwise import sqrt
from ..._array.manipulation import reshape
from ..._array.reduction import sum as sum_of
from ..._core.container import Container
from ..._core.errors import ArgumentError
from ..._core.typing import Array, Device, DTypeLike
from ...functional.normalization import spectral_norm
from ..module.module import Module
from .layer import Layer, Options


class _Reweighted(Layer):
    """Calls a module with another value of one of its variables."""

    def __init__(
        self, module: Module, name: str = "w", axis: int | None = None, **options: Unpack[Options]
    ):
        """A module with a normalised weight.

        Arguments:
            module: the module, whose variables have been created
            name: key path of the weight among its variables
            axis: the axis of the outputs in the weight; None means the first of a matrix, the last
                of a filter
            options: those of `Module`
        """
        if not module.built or name not in module.v:
            known = ", ".join(module.v.key_chains()) if module.built else "none yet"
            raise ArgumentError(
                f"{type(self).__name__} found no variable {name!r} in {type(module).__name__}; it "
                f"has {known}."
            )
        self._module, self._name = module, name
        shape = tuple(module.v[name].shape)
        self._axis = (
            (0 if len(shape) == 2 else len(shape) - 1) if axis is None else axis % len(shape)
        )
        self._rows = shape[self._axis]
        super().__init__(**options)

    def _weight(self, v: Container) -> Array:
        """The weight that the module is called with."""
        raise NotImplementedError

    def _forward(self, *args: Any, **kwargs: Any) -> Any:
        inner = self._module.v.copy()
        inner[self._name] = self._weight(inner)
        return self._module(*args, v=inner, **kwargs)


class WeightNorm(_Reweighted):
    """A module whose weight is `g * w / |w|`: length and direction of each output's weights apart.

    `g`, one number for each output, begins with the lengths, so that the module computes the same
    at first.

    >>> import numpy as np, trellis
    >>> layer = trellis.nn.WeightNorm(trellis.nn.Linear(3, 2))
    >>> layer.v.key_chains()
    ['g', 'module/b', 'module/w']
    >>> layer(np.ones((4, 3), "float32")).shape
    (4, 2)
    """

    def _create_variables(self, *, device: Device, dtype: DTypeLike) -> dict[str, Any]:
        return {"g": self._lengths(self._module.v[self._name])}

    def _lengths(self, w: Array) -> Any:
        others = tuple([i for i in range(len(w.shape)) if i != self._axis])
        return sqrt(sum_of(w * w, axis=others))

    def _weight(self, v: Container) -> Array:
        w = v[self._name]
        shape = [1] * len(w.shape)
        shape[self._axis] = self._rows
        return w * reshape(self.v["g"] / self._lengths(w), tuple(shape))


class SpectralNorm(_Reweighted):
    """A module whose weight is divided by its largest singular value.

    The value is found by one step of an iteration in each call; its vector is the buffer `u`, which
    calls in training mode update. In evaluation mode `u` stays.

    >>> import numpy as np, trellis
    >>> layer = trellis.nn.SpectralNorm(trellis.nn.Linear(2, 2))
    >>> layer._module.v = {"w": np.diag([4.0, 1.0]), "b": np.zeros(2)}
    >>> for _ in range(9):
    ...     y = layer(np.array([[1.0, 1.0]]))
    >>> y.round(3)
    array([[1.  , 0.25]])
    """

    def _create_variables(self, *, device: Device, dtype: DTypeLike) -> dict[str, Any]:
        self.register_buffer("u", ones((self._rows,), dtype=dtype, device=device))
        return {}

    def _weight(self, v: Container) -> Array:
        w, u = spectral_norm(v[self._name], self.buffers.u, axis=self._axis)
        if self.training:
            self.register_buffer("u", u)
        return w
