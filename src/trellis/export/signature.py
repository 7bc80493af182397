"""The inputs and outputs of an exported program: their names, shapes, types, and dynamic axes."""

import inspect
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .._core import tree
from .._core.errors import ArgumentError, ArgumentTypeError

Size = int | str | None  # a number, the name of a dynamic axis, or None for one without a name
Path = tuple[Any, ...]  # the name of an argument, then keys and positions inside it


@dataclass(frozen=True)
class Port:
    """One input or output.

    >>> print(Port("x", ("batch", 8), "float32"))
    x: float32 (batch, 8)
    """

    name: str
    shape: tuple[Size, ...]
    dtype: str

    def __str__(self) -> str:
        return f"{self.name}: {self.dtype} {written_shape(self.shape)}"

    def axes(self) -> dict[int, str]:
        """The dynamic axes and their names."""
        return {i: size for i, size in enumerate(self.shape) if isinstance(size, str)}


def written_shape(shape: Sequence[Size]) -> str:
    """A shape as people write it.

    >>> written_shape(("batch", 3)), written_shape((None,))
    ('(batch, 3)', '(?,)')
    """
    sizes = ["?" if size is None else str(size) for size in shape]
    return f"({', '.join(sizes)}{',' if len(sizes) == 1 else ''})"


def argument_names(fn: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[str]:
    """The names of the arguments of a call, positional ones first."""
    names: list[str] = []
    for parameter in _parameters(fn):
        if parameter.kind == parameter.VAR_POSITIONAL:
            names += [f"{parameter.name}_{i}" for i in range(len(args) - len(names))]
        elif parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD):
            names.append(parameter.name)
    if len(names) < len(args):
        name = getattr(fn, "__name__", type(fn).__name__)
        raise ArgumentTypeError(
            f"{name} takes {len(names)} arguments ({', '.join(names)}), and args has {len(args)}."
        )
    return [*names[: len(args)], *kwargs]


def _parameters(fn: Callable[..., Any]) -> list[inspect.Parameter]:
    try:
        return list(inspect.signature(fn).parameters.values())
    except (TypeError, ValueError):  # a function of C that does not say
        return [inspect.Parameter("x", inspect.Parameter.VAR_POSITIONAL)]


def named_paths(nest: Any) -> list[Path]:
    """The way to each leaf; fields of named tuples by name.

    >>> named_paths({"a": (1, 2)})
    [('a', 0), ('a', 1)]
    """
    found: list[Path] = []
    for path in tree.paths(nest):
        part, names = nest, []
        for key in path:
            fields = getattr(type(part), "_fields", None)
            names.append(fields[key] if fields and isinstance(key, int) else key)
            part = getattr(part, key) if fields and isinstance(key, str) else part[key]
        found.append(tuple(names))
    return found


def output_paths(result: object) -> list[Path]:
    """The same for what a model returns: keys and fields name outputs, positions count them.

    >>> output_paths((1, 2)), output_paths({"logits": 1})
    ([('output', 0), ('output', 1)], [('logits',)])
    """
    return [
        path if path and isinstance(path[0], str) else ("output", *path)
        for path in named_paths(result)
    ]


def port_names(paths: Iterable[Path], given: Sequence[str] | None, what: str) -> list[str]:
    """A name for each path, those given if they are: identifiers, each once.

    >>> port_names([("x",), ("state", 0), ("state", 1)], None, "inputs")
    ['x', 'state_0', 'state_1']
    """
    made = ["_".join([str(part) for part in path]) for path in paths]
    if given is not None:
        if isinstance(given, str) or len(given) != len(made):
            raise ArgumentError(
                f"There are {len(made)} {what} ({', '.join(made)}); the names given are {given!r}. "
                "Give a list with one name for each."
            )
        made = list(given)
    names: list[str] = []
    for name in made:
        plain = re.sub(r"\W", "_", name)
        plain = f"_{plain}" if not plain or plain[0].isdigit() else plain
        if given is not None and plain != name:
            raise ArgumentError(
                f"{name!r} cannot be the name of one of the {what}, which are identifiers in some "
                f"formats. Write {plain!r}."
            )
        if plain in names:
            if given is not None:
                raise ArgumentError(f"Two of the {what} have the name {name!r}.")
            plain = f"{plain}_{len(names)}"
        names.append(plain)
    return names


def open_axes(
    dynamic: Mapping[str, Mapping[int, str]] | None,
    names: Sequence[str],
    paths: Sequence[Path],
    shapes: Sequence[tuple[int, ...]],
) -> list[dict[int, str]]:
    """The dynamic axes of each input. A key names an input, or an argument with several in it."""
    found: list[dict[int, str]] = [{} for _ in names]
    for key, axes in (dynamic or {}).items():
        chosen = [i for i, name in enumerate(names) if name == key]
        chosen = chosen or [i for i, path in enumerate(paths) if path[0] == key]
        if not chosen:
            raise ArgumentError(
                f"dynamic names {key!r}, which is not an input; the inputs are {', '.join(names)}."
            )
        for i in chosen:
            found[i] = _axes_of(names[i], axes, shapes[i])
    return found


def _axes_of(name: str, axes: Any, shape: tuple[int, ...]) -> dict[int, str]:
    if not isinstance(axes, Mapping):
        raise ArgumentTypeError(
            f"dynamic[{name!r}] must map axes to the names of their sizes, as in "
            f"{{0: 'batch'}}; got {axes!r}."
        )
    found = {}
    for axis, label in axes.items():
        if not isinstance(axis, int) or not -len(shape) <= axis < len(shape):
            raise ArgumentError(
                f"dynamic[{name!r}] names the axis {axis!r}; {name} has shape {shape}."
            )
        if not isinstance(label, str) or not label.isidentifier():
            raise ArgumentError(
                f"The name of a dynamic axis is an identifier such as 'batch', got {label!r} for "
                f"axis {axis} of {name}."
            )
        found[axis % len(shape)] = label
    return found


def sizes_of(axes: Sequence[Mapping[int, str]], shapes: Sequence[Sequence[int]]) -> dict[str, int]:
    """The sizes that dynamic axes have in an example; those of one name are equal."""
    sizes: dict[str, int] = {}
    for each, shape in zip(axes, shapes, strict=True):
        for axis, label in each.items():
            if sizes.setdefault(label, shape[axis]) != shape[axis]:
                raise ArgumentError(
                    f"The dynamic axis {label!r} has sizes {sizes[label]} and {shape[axis]} in the "
                    "example; axes of one name have one size. Use two names."
                )
    return sizes


def resized(
    shape: Sequence[int], axes: Mapping[int, str], sizes: Mapping[str, int]
) -> tuple[int, ...]:
    """A shape with other sizes of its dynamic axes."""
    return tuple([sizes[axes[i]] if i in axes else size for i, size in enumerate(shape)])


def output_shape(
    first: Sequence[int], second: Sequence[int], before: Mapping[str, int], after: Mapping[str, int]
) -> tuple[Size, ...]:
    """The shape of an output, from its shapes for two choices of the dynamic axes."""
    shape: list[Size] = []
    for x, y in zip(first, second):
        fitting = [name for name in before if before[name] == x and after[name] == y]
        shape.append(x if x == y else fitting[0] if fitting else None)
    return tuple(shape)
