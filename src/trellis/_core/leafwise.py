"""Functions over arrays, applied to dicts and Containers: leaf by leaf."""

from collections.abc import Callable, Mapping
from typing import Any

from .arrays import is_array
from .errors import ArgumentTypeError, ShapeError
from .explain import explain
from .tree import Structure, align, is_nest, unflatten


def has_nest(*args: object) -> bool:
    """Whether a dict or Container is among the arguments.

    >>> has_nest(1, {"a": 2})
    True
    """
    return any([isinstance(arg, dict) for arg in args])


def call_leafwise(
    fn: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any], /
) -> Any:
    """Call `fn` once per leaf of the dicts and Containers among its arguments.

    Everything else is used for every leaf. A list of Containers gives each call the list of its
    leaves.
    Where `fn` returns a tuple, the result is a tuple of pytrees, never a pytree of tuples.

    >>> from trellis import tree
    >>> tree.call_leafwise(divmod, ({"a": 7, "b": 9}, 4), {})
    ({'a': 1, 'b': 2}, {'a': 3, 'b': 1})
    """
    try:
        slots: list[Any] = [*args, *kwargs.values()]
        nests: list[Any] = []
        for slot in slots:
            if isinstance(slot, dict):
                nests.append(slot)
            elif is_nest(slot):
                nests += [item for item in slot if isinstance(item, dict)]
        columns, spec = align(tuple(nests))
        if spec is None:
            raise ArgumentTypeError(
                "call_leafwise() needs a dict or Container among the arguments."
            )
        results = []
        for row in zip(*columns, strict=True):
            remaining = list(row)
            filled = [_fill(slot, remaining) for slot in slots]
            results.append(
                fn(*filled[: len(args)], **dict(zip(kwargs, filled[len(args) :], strict=True)))
            )
        return _gather(results, spec)
    except Exception as error:
        return explain(error, call_leafwise)


def _fill(slot: Any, remaining: list[Any]) -> Any:
    if isinstance(slot, dict):
        return remaining.pop(0)
    if isinstance(slot, (list, tuple)):
        parts = [remaining.pop(0) if isinstance(item, dict) else item for item in slot]
        return type(slot)(*parts) if hasattr(slot, "_fields") else type(slot)(parts)
    return slot


def _gather(results: list[Any], spec: Structure) -> Any:
    if results and isinstance(results[0], (tuple, list)):
        lengths = [len(result) for result in results]
        if min(lengths) != max(lengths):
            raise ShapeError(f"The leaves give results of different lengths: {lengths}.")
        parts = [_gather([result[i] for result in results], spec) for i in range(lengths[0])]
        is_named = hasattr(results[0], "_fields")
        return type(results[0])(*parts) if is_named else type(results[0])(parts)
    return unflatten(spec, results)


class LeafwiseBackend:
    """The row of the dispatch table for dicts and Containers: every function maps over their
    leaves.

    Arrays pay nothing for it: it is found by the same look-up that finds their own backend.
    """

    def __init__(self, name: str, group: str = ""):
        self.__name__ = name
        self._group = group

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        if not self._group and name in ("linalg", "fft"):
            return LeafwiseBackend(self.__name__, name)
        leaf = _Leaf(self._group, name)

        def call(*args: Any, **kwargs: Any) -> Any:
            if any([isinstance(arg, (dict, list, tuple)) for arg in kwargs.values()]) or any(
                [isinstance(arg, (list, tuple)) for arg in args]
            ):
                return call_leafwise(leaf, args, kwargs)
            return _call_plain(leaf, args, kwargs)

        return call


class _Leaf:
    """Finds the backend of each leaf and calls its function of the same name."""

    def __init__(self, group: str, name: str):
        self._group, self._name = group, name

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        arrays: list[Any] = []
        for arg in (*args, *kwargs.values()):
            arrays += arg if isinstance(arg, (list, tuple)) else [arg]
        return self.function_for(arrays)(*args, **kwargs)

    def function_for(self, values: list[Any]) -> Callable[..., Any]:
        """The function of the one backend that the arrays among the values belong to."""
        from .dispatch import xp_of_all

        xp = xp_of_all(*[x for x in values if is_array(x)])
        fn: Callable[..., Any] = getattr(
            getattr(xp, self._group) if self._group else xp, self._name
        )
        return fn


def _call_plain(leaf: _Leaf, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """`call_leafwise` where all pytrees are arguments by position, the usual case.

    Leaves of the same types as those of the first call need not be looked at again.
    """
    try:
        columns, spec = align(args)
        assert spec is not None, "the table led here by the type of a pytree"
        if not columns[0]:
            return _gather([], spec)
        fn = leaf.function_for([*[column[0] for column in columns], *kwargs.values()])
        # One loop for each way to call, since what it does for a leaf is most of what it costs.
        if not all([is_of_one_type(column) for column in columns]):
            results = [leaf(*row, **kwargs) for row in zip(*columns, strict=True)]
        elif kwargs:
            results = [fn(*row, **kwargs) for row in zip(*columns, strict=True)]
        elif len(columns) == 1:
            results = [fn(x) for x in columns[0]]
        elif len(columns) == 2:
            results = [fn(x, y) for x, y in zip(columns[0], columns[1], strict=True)]
        else:
            results = [fn(*row) for row in zip(*columns, strict=True)]
        return _gather(results, spec)
    except Exception as error:
        return explain(error, call_leafwise, {})


def is_of_one_type(column: list[Any]) -> bool:
    """Whether all have exactly the type of the first; there is one at least."""
    kind = type(column[0])
    return not [1 for x in column if type(x) is not kind]
