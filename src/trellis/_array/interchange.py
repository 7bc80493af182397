"""Converting arrays from one framework to another, without a copy where both sides allow it.

On the CPU all four can use the same memory, through DLPack. Memory that is shared stays shared:
what is written into one array shows in the other, so take `copy=True` where the source is going to
be overwritten (a buffer that the next batch reuses, say). A copy is made where sharing is
impossible:

- NumPy arrays that are read-only, on their way to any other framework;
- memory that does not begin at a multiple of 64 bytes, on its way to JAX;
- arrays with gaps or reversed axes, on their way to JAX and TensorFlow (PyTorch: reversed axes
  only);
- bfloat16 from NumPy to JAX and TensorFlow;
- another device.

Gradients do not pass from one framework to another: an array that is being differentiated or traced
raises an error instead of losing them.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from .._core import tree
from .._core.dispatch import imported_names, load, name_of, of_version, xp_of
from .._core.errors import CopyError
from .._core.explain import explain
from .._core.guards import check_flag
from .._core.tracing import is_followed
from .._core.typing import Array, Backend, Device
from .creation import from_dlpack as from_dlpack

_passing = (bool, int, float, complex, str, type(None))


def to_backend(
    x: object, name: str, /, *, device: Device | None = None, copy: bool | None = None
) -> Any:
    """The same array, or pytree of arrays, in the framework `name`; numbers in pytrees are not
    converted.

    `copy=None` shares memory where that is possible, `copy=False` raises `CopyError` where it is
    not, and `copy=True` always copies. Data types stay: where JAX would narrow 64-bit types it
    raises `PrecisionError`.

    >>> import numpy as np, trellis
    >>> trellis.to_backend({"w": np.array([1.0, 2.0])}, "numpy")
    {'w': array([1., 2.])}
    """
    try:
        if copy is not None:
            check_flag(copy)
        target = load(name)
        return _map(lambda leaf: _converted(leaf, target, device, copy), x)
    except Exception as error:
        return explain(error, to_backend)


def to_numpy(x: object, /) -> Any:
    """The same array, or pytree of arrays, in NumPy: a view of the same memory where that is
    possible.

    Such a view of an array of JAX or TensorFlow is read-only. bfloat16 has the type of `ml_dtypes`.

    >>> import numpy as np, trellis
    >>> trellis.interchange.to_numpy([np.zeros(2), 3])
    [array([0., 0.]), 3]
    """
    return to_backend(x, "numpy")


def shares_memory(x: Array, y: Array, /) -> bool:
    """Whether two arrays on the CPU, of whichever frameworks, have any memory in common.

    >>> import numpy as np, trellis
    >>> x = np.zeros(4)
    >>> trellis.interchange.shares_memory(x, x[1:]), trellis.interchange.shares_memory(x, x + 1)
    (True, False)
    """
    return bool(np.shares_memory(xp_of(x).to_numpy(x), xp_of(y).to_numpy(y)))


def is_zero_copy(x: object, name: str, /) -> bool:
    """Whether `to_backend(x, name)` will share the memory of `x`; of all arrays in it, if it is a
    pytree.

    >>> import numpy as np, trellis
    >>> trellis.interchange.is_zero_copy(np.zeros(2), "numpy")
    True
    """
    try:
        to_backend(x, name, copy=False)
    except CopyError:
        return False
    return True


def _map(fn: Callable[[Any], Any], x: object) -> Any:
    if not tree.is_nest(x):
        return fn(x)
    return tree.map(lambda leaf: leaf if type(leaf) in _passing else fn(leaf), x)


def _converted(x: Array, target: Backend, device: Device | None, copy: bool | None) -> Any:
    source = xp_of(x)
    if source is target:
        is_same = device is None and not copy
        return x if is_same else target.asarray(x, device=device, copy=copy)
    if is_followed():
        return target.asarray(x, device=device, copy=copy)  # its arrays of NumPy are traced too
    source.check_leaving(x)
    if not hasattr(x, "__dlpack__"):
        # A tf.Variable, a scalar of NumPy: not arrays themselves, but soon made into one.
        x = source.asarray(x)
    y = _copied(x, source, target) if copy else _shared(x, source, target, copy)
    return y if device is None else _moved(y, target, device, copy)


def _copied(x: Array, source: Backend, target: Backend) -> Any:
    return target.from_numpy(source.to_numpy(x), copy=True)


def _shared(x: Array, source: Backend, target: Backend, copy: bool | None) -> Any:
    """`x` in `target` over the same memory; where that cannot be, a copy unless `copy` is False."""
    try:
        y = _view(x, source, target)
        if copy is False and 0 not in x.shape and _is_on_cpu(x, source) and not shares_memory(x, y):
            raise CopyError("its elements had to be rearranged.")
    except CopyError as error:
        if copy is False:
            raise CopyError(_refusal(source, target, str(error))) from None
        y = _copied(x, source, target)
    return y


def _view(x: Array, source: Backend, target: Backend) -> Any:
    if source.ABILITIES.is_host:
        return target.from_numpy(x, copy=False)
    if not target.ABILITIES.is_host:
        return target.from_dlpack(x, copy=False)
    if not _is_on_cpu(x, source):
        raise CopyError(f"it is on {source.device(x)}, and NumPy arrays are on the CPU.")
    return source.to_numpy(x)


def _moved(y: Array, target: Backend, device: Device | None, copy: bool | None) -> Any:
    moved = target.to_device(y, device)
    if copy is False and target.device(moved) != target.device(y):
        raise CopyError(f"From {target.device(y)} to {device} needs a copy. Remove copy=False.")
    return moved


def _is_on_cpu(x: Array, xp: Backend) -> bool:
    return "cpu" in str(xp.device(x)).lower()


def _refusal(source: Backend, target: Backend, reason: str) -> str:
    ways = f"from {name_of(source)} to {name_of(target)}"
    return f"This array cannot go {ways} without a copy: {reason}"


# The protocol `__array_namespace__` ---------------------------------------------------------------


class Registration:
    """What `register_with_array_api` patched; `undo()` removes it, and so does the end of a `with`
    block."""

    def __init__(self, patched: list[tuple[type, str]]):
        self._patched = patched

    @property
    def patched(self) -> tuple[str, ...]:
        """The names of the attributes that were added."""
        return tuple([f"{name}.{cls.__name__}.__array_namespace__" for cls, name in self._patched])

    def undo(self) -> None:
        """Remove the attributes; a second call changes nothing."""
        while self._patched:
            cls, _ = self._patched.pop()
            del cls.__array_namespace__  # type: ignore[attr-defined]

    def __enter__(self) -> "Registration":
        return self

    def __exit__(self, *exception: object) -> None:
        self.undo()

    def __repr__(self) -> str:
        return f"<patched: {', '.join(self.patched) or 'nothing'}>"


def register_with_array_api(*names: str) -> Registration:
    """Give the arrays of frameworks that lack it `__array_namespace__`, by which libraries find the
    namespace of an array: TensorFlow's tensors and variables, and those of torch.

    The framework's own class is changed, for the whole process: until `undo()` of what is returned,
    or the end of a `with` block. It says what was patched. Operators and methods stay the
    framework's own; `trellis.array_api.wrap` has those of the standard, and patches nothing.

    Args:
        names: The backends to register; by default those whose frameworks are imported.

    >>> import trellis
    >>> with trellis.register_with_array_api("numpy") as registration:
    ...     registration.patched  # NumPy's arrays have it
    ()
    """
    patched: list[tuple[type, str]] = []
    found = {name: load(name).ARRAY_TYPES for name in names or imported_names()}
    for name, types in found.items():  # all names are known before a class is changed
        for cls in types:
            is_root = not any([other is not cls and issubclass(cls, other) for other in types])
            if is_root and not hasattr(cls, "__array_namespace__"):
                cls.__array_namespace__ = _method(name)  # type: ignore[attr-defined]
                patched.append((cls, name))
    return Registration(patched)


def _method(name: str) -> Any:
    def __array_namespace__(self: Any, *, api_version: str | None = None) -> Any:
        return of_version(load(name), api_version)

    return __array_namespace__
