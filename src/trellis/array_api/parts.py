"""Parts of wrapped arrays: where they are from, so that both see what is written into one of them.

The native arrays of the two are separate. A part reads again when its array has got another native
array, and writing into a part gives its array a new one.
"""

from typing import Any, Protocol

from .._array.items import get_item, set_item
from .._core.dispatch import xp_of


class _Whole(Protocol):
    native: Any


class Part:
    """A part of a wrapped array, by one way of reading and writing it."""

    __slots__ = ("_source", "_whole")

    def __init__(self, whole: _Whole):
        self._whole = whole
        self._source: Any = None

    def read(self, known: Any) -> Any:
        """The native array of the part: `known`, unless the whole has changed since."""
        source = self._whole.native
        if source is self._source:
            return known
        self._source = source
        return self._taken(source)

    def write(self, value: Any) -> None:
        """The native array of the part has become `value`."""
        self._whole.native = self._given(self._whole.native, value)
        self._source = self._whole.native

    def _taken(self, source: Any) -> Any:
        raise NotImplementedError

    def _given(self, source: Any, value: Any) -> Any:
        raise NotImplementedError


class Sliced(Part):
    """`x[key]` for integers, slices, `...` and None."""

    __slots__ = ("_key",)

    def __init__(self, whole: _Whole, key: Any):
        super().__init__(whole)
        self._key = key

    def _taken(self, source: Any) -> Any:
        return get_item(xp_of(source), source, self._key)

    def _given(self, source: Any, value: Any) -> Any:
        return set_item(xp_of(source), source, self._key, value)


class Rearranged(Part):
    """All elements in another order: `permute_dims(x, axes)`, and `x.mT` without axes."""

    __slots__ = ("_axes",)

    def __init__(self, whole: _Whole, axes: Any = None):
        super().__init__(whole)
        count = len(whole.native.shape)
        found = [*range(count - 2), count - 1, count - 2] if axes is None else list(axes)
        self._axes = tuple([axis % count for axis in found])

    def _taken(self, source: Any) -> Any:
        return xp_of(source).permute_dims(source, self._axes)

    def _given(self, source: Any, value: Any) -> Any:
        back = [self._axes.index(axis) for axis in range(len(self._axes))]
        return xp_of(source).permute_dims(value, tuple(back))


class Reshaped(Part):
    """`reshape(x, shape)`."""

    __slots__ = ("_shape",)

    def __init__(self, whole: _Whole, shape: Any):
        super().__init__(whole)
        self._shape = shape

    def _taken(self, source: Any) -> Any:
        return xp_of(source).reshape(source, self._shape)

    def _given(self, source: Any, value: Any) -> Any:
        return xp_of(source).reshape(value, tuple(source.shape))
