"""The Array API namespace of wrapped arrays: every function of a backend's namespace, which takes
wrapped arrays and returns them.

Nothing is listed here: what a backend has is lifted. All at once, when the backend is loaded: while
torch.compile traces, no function can be made.
"""

import functools
from collections.abc import Callable
from types import ModuleType
from typing import Any

from numpy import ndarray

from .._array.diagonals import diag
from .._core.dispatch import mixed_backends, xp_of
from .lending import owner_of
from .parts import Part, Rearranged, Reshaped

# The only function whose argument may be an array of any framework.
_ANY_FRAMEWORK = frozenset({"from_dlpack"})
# Their arguments are numbers. Frameworks that take arrays of one element lose gradients here.
_OF_NUMBERS = frozenset({"arange", "linspace"})
# Their results share memory in NumPy.
_PARTS: dict[str, Callable[..., Part]] = {"permute_dims": Rearranged, "reshape": Reshaped}
# Not in the standard, but SciPy's RBFInterpolator calls it in every namespace.
_BEYOND = {"diag": diag}
_EXTENSIONS = ("linalg", "fft", "random")


class LiftedNamespace(ModuleType):
    """A backend, or one of its extensions, for wrapped arrays."""

    def __init__(self, native: Any, backend: Any, wrapper: Any):
        name = native.__name__.rpartition(".")[2]
        path = [backend.NAME] if native is backend else [backend.NAME, name]
        super().__init__(".".join([__package__, *path]), native.__doc__)
        self._native = native
        self._backend = backend
        self._wrapper = wrapper
        for attribute in dir(native):
            if not attribute.startswith("_"):
                setattr(self, attribute, self._attribute(attribute))
        if native is backend:
            self.ARRAY_TYPES = (wrapper, *backend.ARRAY_TYPES)

    def __getattr__(self, name: str) -> Any:
        """What the backend got later, and the names that the standard has for modules."""
        if name in ("_native", "_backend", "__file__", "__path__"):
            raise AttributeError(name)
        if name in _BEYOND:
            return _BEYOND[name]
        return self._attribute(name)

    def _attribute(self, name: str) -> Any:
        value = getattr(self._native, name)
        if isinstance(value, ModuleType):
            is_extension = name in _EXTENSIONS
            return LiftedNamespace(value, self._backend, self._wrapper) if is_extension else value
        if name in self._backend.TYPES or not _is_function(value):
            return value
        if name in _PARTS:
            return self._viewing(value, _PARTS[name])
        if name in _ANY_FRAMEWORK:
            return self._lifted(value, self._opened)
        if name == "asarray":
            return self._taking_back(value)
        return self._lifted(value, self._as_number if name in _OF_NUMBERS else self._taken)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *dir(self._native)})

    def __repr__(self) -> str:
        return f"<Array API namespace {self.__name__!r}>"

    def is_over(self, backend: object) -> bool:
        """Whether this is the namespace of that backend."""
        return self._native is backend

    def joined(self, other: object) -> Any:
        """The namespace of a call with wrapped arrays and those of another backend, if it has one:
        native arrays of its own framework."""
        return self if other is self._backend else None

    # Arguments and results ------------------------------------------------------------------------

    def _lifted(self, fn: Callable[..., Any], take: Callable[[Any], Any]) -> Callable[..., Any]:
        @functools.wraps(fn)
        def lifted(*args: Any, **kwargs: Any) -> Any:
            given = [take(arg) for arg in args]
            options = {name: take(arg) for name, arg in kwargs.items()}
            found = fn(*given, **options)
            if kwargs.get("copy") is False and args and found is given[0]:
                return args[0]  # what is written into one of them is to be seen in the other
            return self._given(found)

        return lifted

    def _viewing(self, fn: Callable[..., Any], kind: Callable[..., Part]) -> Callable[..., Any]:
        """A function whose result is a part of its argument: both see what is written into one."""
        copied = self._lifted(fn, self._taken)

        @functools.wraps(fn)
        def viewing(x: Any, /, *args: Any, **kwargs: Any) -> Any:
            found = copied(x, *args, **kwargs)
            if type(x) is not self._wrapper or kwargs.pop("copy", None) is True:
                return found
            part = kind(x, *args, **kwargs)
            found = self._wrapper(part.read(None))
            found._part = part
            return found

        return viewing

    def _taking_back(self, fn: Callable[..., Any]) -> Callable[..., Any]:
        """`asarray`: what was written into the memory of a wrapped array is seen in it."""
        lifted = self._lifted(fn, self._taken)

        @functools.wraps(fn)
        def taking_back(x: Any, /, *args: Any, **kwargs: Any) -> Any:
            owner = owner_of(x) if type(x) is ndarray else None
            if owner is not None and xp_of(owner.native) is self._backend:
                device = self._backend.device(owner.native)
                owner.native = fn(x, dtype=owner.dtype, device=device)
            return lifted(x, *args, **kwargs)

        return taking_back

    def _opened(self, x: Any) -> Any:
        return x.native if type(x) is self._wrapper else x

    def _as_number(self, x: Any) -> Any:
        if type(x) is not self._wrapper:
            return x
        if self._backend.isdtype(x.dtype, "integral"):
            return int(x)
        return complex(x) if self._backend.isdtype(x.dtype, "complex floating") else float(x)

    def _taken(self, x: Any) -> Any:
        """What the backend's function is called with: native arrays, also in tuples, lists and
        dicts; functions get wrapped arrays."""
        if type(x) is self._wrapper:
            if xp_of(x.native) is not self._backend:
                raise mixed_backends((self._example(), x))
            return x.native
        if isinstance(x, (tuple, list, dict)):
            return _mapped(self._taken, x)
        if isinstance(x, slice):
            return slice(*[self._taken(part) for part in (x.start, x.stop, x.step)])
        if _is_function(x):
            return self._lowered(x)
        return x

    def _given(self, x: Any) -> Any:
        """What the caller gets: wrapped arrays."""
        if isinstance(x, self._backend.ARRAY_TYPES):
            return self._wrapper(x)
        if isinstance(x, (tuple, list, dict)):
            return _mapped(self._given, x)
        if _is_function(x):
            return self._lifted(x, self._taken)
        return x

    def _lowered(self, fn: Callable[..., Any]) -> Callable[..., Any]:
        """A function of wrapped arrays as one of native arrays."""

        @functools.wraps(fn, updated=())
        def lowered(*args: Any, **kwargs: Any) -> Any:
            given = [self._given(arg) for arg in args]
            options = {name: self._given(arg) for name, arg in kwargs.items()}
            return self._taken(fn(*given, **options))

        return lowered

    def _example(self) -> Any:
        return self._wrapper(self._backend.zeros(()))


def _is_function(x: object) -> bool:
    return callable(x) and not isinstance(x, type)  # data types are types


def _mapped(fn: Callable[[Any], Any], nest: Any) -> Any:
    if isinstance(nest, dict):
        found = {key: fn(value) for key, value in nest.items()}
        return found if type(nest) is dict else type(nest)(found)
    items = [fn(item) for item in nest]
    return type(nest)(*items) if hasattr(nest, "_fields") else type(nest)(items)
