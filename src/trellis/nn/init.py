"""Initial values of variables: callables `initialiser(shape, *, dtype, device, backend, key)`.

Without a key they draw from the library's stream, so `trellis.seed(s)` fixes the weights of a
module, equally on every backend. `fan_in` and `fan_out` are the numbers of connections into and out
of one unit; a layer that knows them passes them, otherwise the last axis counts as in, the one
before it as out, the rest as a window.
"""

from math import prod, sqrt
from typing import Any, NamedTuple

from .._array.creation import full as _full
from .._core.arrays import plain
from .._core.dispatch import default_xp, load, xp_of
from .._core.dtypes import default_dtype
from .._core.errors import ArgumentError, ShapeError
from .._core.kinds import check_arguments
from .._core.typing import Array, Backend, Device, DTypeLike, Seed, Shape
from .._random import distributions, keys
from .._random.arguments import as_shape, scaled_uniform
from .._random.stream import is_key, next_key

__all__ = [
    "Constant",
    "GlorotNormal",
    "GlorotUniform",
    "HeNormal",
    "HeUniform",
    "Initializer",
    "LeCunNormal",
    "LeCunUniform",
    "Normal",
    "Ones",
    "Orthogonal",
    "Siren",
    "TruncatedNormal",
    "Uniform",
    "VarianceScaling",
    "Zeros",
]


class _Wanted(NamedTuple):
    """What an initialiser is asked for."""

    shape: tuple[int, ...]
    dtype: DTypeLike
    device: Device
    backend: str | None
    fans: tuple[int, int]  # in, out


class Initializer:
    """The base. A subclass of your own overrides `__call__`, which returns an array of `shape`."""

    def __call__(
        self,
        shape: Shape,
        *,
        dtype: DTypeLike | None = None,
        device: Device | None = None,
        backend: str | None = None,
        key: Seed = None,
        fan_in: int | None = None,
        fan_out: int | None = None,
    ) -> Array:
        """An array of that shape; without a key, random ones draw from the library's stream."""
        sizes = as_shape(shape)
        dtype = default_dtype() if dtype is None else dtype
        return self._filled(
            _Wanted(sizes, dtype, device, backend, _fans(sizes, fan_in, fan_out)), key
        )

    def _filled(self, wanted: _Wanted, key: Seed) -> Array:
        raise NotImplementedError

    def __repr__(self) -> str:
        options = ", ".join([f"{name}={value!r}" for name, value in vars(self).items()])
        return f"{type(self).__name__}({options})"


class Constant(Initializer):
    """One value everywhere.

    >>> from trellis.nn import init
    >>> init.Constant(0.5)((2,))
    array([0.5, 0.5], dtype=float32)
    """

    value: float

    def __init__(self, value: float):
        check_arguments(Constant, locals())
        self.value = plain(value)

    def _filled(self, wanted: _Wanted, key: Seed) -> Array:
        shape, dtype, device, backend, _ = wanted
        return _full(shape, self.value, dtype=dtype, device=device, backend=backend)


class Zeros(Constant):
    """Zeros.

    >>> from trellis.nn import init
    >>> init.Zeros()((2,))
    array([0., 0.], dtype=float32)
    """

    value = 0.0

    def __init__(self) -> None:
        pass


class Ones(Constant):
    """Ones.

    >>> from trellis.nn import init
    >>> init.Ones()((2,))
    array([1., 1.], dtype=float32)
    """

    value = 1.0

    def __init__(self) -> None:
        pass


class _Random(Initializer):
    """An initialiser that draws: `_draw` gets a key."""

    def _filled(self, wanted: _Wanted, key: Seed) -> Array:
        device, backend = wanted.device, wanted.backend
        if is_key(key):
            xp = xp_of(key)
        else:
            xp = default_xp() if backend is None else load(backend)
            key = (
                next_key(xp, device)
                if key is None
                else keys.key(key, backend=backend, device=device)
            )
        drawn = self._draw(xp, key, wanted)  # type: ignore[arg-type]  # a key by now
        return drawn if device is None else xp.to_device(drawn, device)

    def _draw(self, xp: Backend, key: Array, wanted: _Wanted) -> Any:
        raise NotImplementedError


def _fans(shape: tuple[int, ...], fan_in: int | None, fan_out: int | None) -> tuple[int, int]:
    if len(shape) < 2:
        found = (max(shape, default=1), max(shape, default=1))
    else:
        window = prod(shape[:-2])
        found = (shape[-1] * window, shape[-2] * window)
    return (found[0] if fan_in is None else fan_in, found[1] if fan_out is None else fan_out)


def _uniform(xp: Backend, key: Array, wanted: _Wanted, low: float, high: float) -> Any:
    u = distributions.uniform(key, wanted.shape, wanted.dtype)
    bounds = [
        xp.asarray(bound, dtype=u.dtype, device=xp.random.key_device(key)) for bound in (low, high)
    ]
    return scaled_uniform(xp, u, *bounds)


def _scaled(xp: Backend, x: Array, scale: float, shift: float = 0.0) -> Any:
    # Python numbers would widen NumPy's bfloat16.
    factor, offset = [
        xp.asarray(n, dtype=x.dtype, device=xp.random.key_device(x)) for n in (scale, shift)
    ]
    return x * factor + offset


def _truncated(key: Array, bound: float, wanted: _Wanted) -> Any:
    return distributions.truncated_normal(key, -bound, bound, wanted.shape, wanted.dtype)


class Uniform(_Random):
    """Uniform in [low, high).

    >>> from trellis.nn import init
    >>> bool((abs(init.Uniform(-0.1, 0.1)((100,))) <= 0.1).all())
    True
    """

    def __init__(self, low: float = -0.05, high: float = 0.05):
        check_arguments(Uniform, locals())
        if high < low:
            raise ArgumentError(f"Uniform needs low <= high, got {low} and {high}.")
        self.low, self.high = plain(low), plain(high)

    def _draw(self, xp: Backend, key: Array, wanted: _Wanted) -> Any:
        return _uniform(xp, key, wanted, self.low, self.high)


class Normal(_Random):
    """Normal with a mean and a standard deviation.

    >>> from trellis.nn import init
    >>> init.Normal(std=0.1)((2, 3)).shape
    (2, 3)
    """

    def __init__(self, mean: float = 0.0, std: float = 0.05):
        check_arguments(Normal, locals())
        if std < 0:
            raise ArgumentError(f"Normal needs std >= 0, got {std}.")
        self.mean, self.std = plain(mean), plain(std)

    def _draw(self, xp: Backend, key: Array, wanted: _Wanted) -> Any:
        return _scaled(
            xp, distributions.normal(key, wanted.shape, wanted.dtype), self.std, self.mean
        )


class TruncatedNormal(_Random):
    """Normal, without what lies farther from the mean than `bound` standard deviations.

    >>> from trellis.nn import init
    >>> bool((abs(init.TruncatedNormal(std=1.0)((1000,))) < 2).all())
    True
    """

    def __init__(self, mean: float = 0.0, std: float = 0.05, bound: float = 2.0):
        check_arguments(TruncatedNormal, locals())
        if std < 0 or bound <= 0:
            raise ArgumentError(
                f"TruncatedNormal needs std >= 0 and bound > 0, got {std} and {bound}."
            )
        self.mean, self.std, self.bound = plain(mean), plain(std), plain(bound)

    def _draw(self, xp: Backend, key: Array, wanted: _Wanted) -> Any:
        cut = _truncated(key, self.bound, wanted)
        return _scaled(xp, cut, self.std, self.mean)


# The standard deviation of a standard normal that is cut off at -2 and 2.
_TRUNCATED_STD = 0.8796256610342398
_MODES = ("fan_in", "fan_out", "fan_avg")
_DISTRIBUTIONS = ("uniform", "normal", "truncated_normal")


class VarianceScaling(_Random):
    """Draws of variance `scale / fan`, so that signals keep their size from layer to layer.

    >>> from trellis.nn import init
    >>> init.VarianceScaling(2.0, "fan_in", "normal")((64, 32)).shape
    (64, 32)
    """

    scale: float
    mode: str
    distribution: str

    def __init__(
        self, scale: float = 1.0, mode: str = "fan_in", distribution: str = "truncated_normal"
    ):
        check_arguments(VarianceScaling, locals())
        if scale <= 0 or mode not in _MODES or distribution not in _DISTRIBUTIONS:
            raise ArgumentError(
                f"VarianceScaling needs scale > 0, a mode of {_MODES} and a distribution of "
                f"{_DISTRIBUTIONS}, got {scale}, {mode!r}, {distribution!r}."
            )
        self.scale, self.mode, self.distribution = plain(scale), mode, distribution

    def _draw(self, xp: Backend, key: Array, wanted: _Wanted) -> Any:
        fan_in, fan_out = wanted.fans
        fan = {"fan_in": fan_in, "fan_out": fan_out, "fan_avg": (fan_in + fan_out) / 2}[self.mode]
        variance = self.scale / max(1.0, fan)
        if self.distribution == "uniform":
            limit = sqrt(3 * variance)
            return _uniform(xp, key, wanted, -limit, limit)
        if self.distribution == "normal":
            return _scaled(
                xp, distributions.normal(key, wanted.shape, wanted.dtype), sqrt(variance)
            )
        cut = _truncated(key, 2.0, wanted)
        return _scaled(xp, cut, sqrt(variance) / _TRUNCATED_STD)


class _Named(VarianceScaling):
    """A choice of scale, mode and distribution that has a name."""

    def __init__(self) -> None:
        pass


class GlorotUniform(_Named):
    """Uniform in +-sqrt(6 / (fan_in + fan_out)) (Glorot and Bengio, 2010).

    >>> from trellis.nn import init
    >>> bool((abs(init.GlorotUniform()((64, 4))) <= 0.29704426).all())
    True
    """

    scale, mode, distribution = 1.0, "fan_avg", "uniform"


class GlorotNormal(_Named):
    """Truncated normal of variance 2 / (fan_in + fan_out) (Glorot and Bengio, 2010).

    >>> from trellis.nn import init
    >>> init.GlorotNormal()((64, 4)).shape
    (64, 4)
    """

    scale, mode, distribution = 1.0, "fan_avg", "truncated_normal"


class HeUniform(_Named):
    """Uniform of variance 2 / fan_in, for ReLU (He et al., 2015).

    >>> from trellis.nn import init
    >>> init.HeUniform()((64, 4)).shape
    (64, 4)
    """

    scale, mode, distribution = 2.0, "fan_in", "uniform"


class HeNormal(_Named):
    """Truncated normal of variance 2 / fan_in, for ReLU (He et al., 2015).

    >>> from trellis.nn import init
    >>> init.HeNormal()((64, 4)).shape
    (64, 4)
    """

    scale, mode, distribution = 2.0, "fan_in", "truncated_normal"


class LeCunUniform(_Named):
    """Uniform of variance 1 / fan_in (LeCun et al., 1998).

    >>> from trellis.nn import init
    >>> init.LeCunUniform()((64, 4)).shape
    (64, 4)
    """

    scale, mode, distribution = 1.0, "fan_in", "uniform"


class LeCunNormal(_Named):
    """Truncated normal of variance 1 / fan_in (LeCun et al., 1998).

    >>> from trellis.nn import init
    >>> init.LeCunNormal()((64, 4)).shape
    (64, 4)
    """

    scale, mode, distribution = 1.0, "fan_in", "truncated_normal"


class Orthogonal(_Random):
    """Orthonormal rows or columns, times `gain` (Saxe et al., 2014); the last axis has columns.

    >>> from trellis.nn import init
    >>> init.Orthogonal()((8, 4)).shape
    (8, 4)
    """

    def __init__(self, gain: float = 1.0):
        check_arguments(Orthogonal, locals())
        self.gain = plain(gain)

    def _draw(self, xp: Backend, key: Array, wanted: _Wanted) -> Any:
        shape = wanted.shape
        if len(shape) < 2:
            raise ShapeError(f"Orthogonal needs at least two axes, got the shape {shape}.")
        matrix = distributions.orthogonal(key, prod(shape[:-1]), (), wanted.dtype, shape[-1])
        return _scaled(xp, xp.reshape(matrix, shape), self.gain)


class Siren(_Random):
    """For networks of sines (Sitzmann et al., 2020).

    Uniform in +-sqrt(6 / fan_in) / w0, and in +-1 / fan_in in the first layer.

    >>> from trellis.nn import init
    >>> bool((abs(init.Siren(is_first=True)((64, 2))) <= 0.5).all())
    True
    """

    def __init__(self, w0: float = 30.0, is_first: bool = False):
        check_arguments(Siren, locals())
        if w0 <= 0:
            raise ArgumentError(f"Siren needs w0 > 0, got {w0}.")
        self.w0, self.is_first = plain(w0), plain(is_first)

    def _draw(self, xp: Backend, key: Array, wanted: _Wanted) -> Any:
        fan = max(1, wanted.fans[0])
        limit = 1 / fan if self.is_first else sqrt(6 / fan) / self.w0
        return _uniform(xp, key, wanted, -limit, limit)


def __dir__() -> list[str]:
    return __all__
