"""What all layers share."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, TypedDict, Unpack

from ..._core.errors import ArgumentError
from ..._core.typing import Device, DTypeLike
from ...functional._layout import all_formats, is_first
from ..init import GlorotUniform, Initializer, Zeros
from ..module.module import Module, _ModuleType
from .arguments import check_constructor, explain, unknown_arguments

# The default initializers of weights and biases.
GLOROT, ZEROS = GlorotUniform(), Zeros()


class Options(TypedDict, total=False):
    """The options that every layer has besides its own; see `Module`."""

    v: Mapping[str, Any] | None
    buffers: Mapping[str, Any] | None
    build_mode: str
    store_vars: bool
    with_partial_v: bool
    training: bool
    dtype: DTypeLike
    device: Device
    backend: str | None


class LayerType(_ModuleType):
    """Shows a layer's whole signature, and suggests the right argument where one does not fit."""

    @property
    def __signature__(cls) -> inspect.Signature:
        own = inspect.signature(cls.__init__)  # type: ignore[misc]
        parameters = list(own.parameters.values())[1:]
        if parameters and parameters[-1].kind is inspect.Parameter.VAR_KEYWORD:
            common = inspect.signature(Module.__init__).parameters
            parameters[-1:] = [common[name] for name in Options.__annotations__]
        return own.replace(parameters=parameters)

    if not TYPE_CHECKING:  # type checkers read the constructors

        def __call__(cls, *args: Any, **kwargs: Any) -> Any:
            if cls.__module__.startswith("trellis."):
                args, kwargs = check_constructor(cls, args, kwargs)
            try:
                return super().__call__(*args, **kwargs)
            except TypeError:
                explain(cls, args, kwargs)
                raise


class Layer(Module, metaclass=LayerType):
    """A module of this library."""

    def __init__(self, **options: Unpack[Options]):
        unknown = [name for name in options if name not in Options.__annotations__]
        if unknown:
            raise unknown_arguments(type(self), unknown, inspect.signature(type(self)).parameters)
        super().__init__(**options)

    def _is_channel_first(self, data_format: str, dims: int) -> bool:
        """Whether a format of `dims` spatial axes, by letters or words, has channels first."""
        return is_first(type(self).__name__, "data_format", data_format, all_formats(dims))


class FunctionLayer(Layer):
    """A layer that calls one function with the options given to the constructor."""

    _function: ClassVar[Callable[..., Any]]
    _options: Mapping[str, Any] = {}

    def _begin(self, options: Options, **chosen: Any) -> None:
        """Set up a layer whose function gets what was `chosen`."""
        self._options = chosen
        super().__init__(**options)

    def extra_repr(self) -> str:
        shown = {name: x for name, x in self._options.items() if not hasattr(x, "shape")}
        return ", ".join([f"{name}={value!r}" for name, value in shown.items()])


def weight_and_bias(
    initializers: tuple[Initializer, Initializer],
    shape: tuple[int, ...],
    fans: tuple[int, int],
    out: int | None,
    device: Device,
    dtype: DTypeLike,
) -> dict[str, Any]:
    """`w` of that shape and, unless `out` is None, `b` of `out` elements."""
    options: dict[str, Any] = {
        "fan_in": fans[0],
        "fan_out": fans[1],
        "dtype": dtype,
        "device": device,
    }
    v = {"w": initializers[0](shape, **options)}
    if out is not None:
        v["b"] = initializers[1]((out,), **options)
    return v


def per_axis(value: int | Sequence[int], dims: int) -> tuple[int, ...]:
    """One size per axis.

    >>> per_axis(3, 2)
    (3, 3)
    """
    sizes = (value,) * dims if isinstance(value, int) else tuple(value)
    if not sizes:
        raise ArgumentError(f"Expected one size or {dims} of them, got none: {value!r}.")
    return sizes
