"""How the arguments of a call become the inputs of a graph."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .._array.casting import dtype
from .._core.errors import ArgumentError, ArgumentTypeError, DtypeError, ShapeError
from ..graph import Value

Path = tuple[Any, ...]  # the name of an argument, then keys and positions inside it


@dataclass(frozen=True)
class Inputs:
    """The arguments that a converted model takes: those of the example it was converted with.

    `names` are the parameters of the source, in order. `arrays` says where in the arguments each
    input of the graph is found, `fixed` which plain values the model was converted for.
    """

    names: tuple[str, ...]
    arrays: tuple[tuple[Path, Value], ...]
    fixed: tuple[tuple[Path, Any], ...] = ()

    def bind(self, model: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[Any]:
        """The inputs of the graph from the arguments of a call, or an error that says what the
        model expects."""
        if len(args) > len(self.names):
            raise ArgumentTypeError(
                f"{model} takes at most {len(self.names)} arguments, got {len(args)}; "
                f"they are: {self._listed()}."
            )
        given = dict(zip(self.names, args))
        for name, value in kwargs.items():
            if name in given:
                raise ArgumentTypeError(f"{model} got two values for its argument {name!r}.")
            given[name] = value
        known = {path[0] for path, _ in (*self.arrays, *self.fixed)}
        unknown = [name for name in given if name not in known and given[name] is not None]
        if unknown:
            raise ArgumentTypeError(
                f"{model} was converted without the argument {unknown[0]!r}; it takes: "
                f"{self._listed()}. Convert it again with an example of it."
            )
        for path, expected in self.fixed:
            if path[0] in given and not _equal(_at(model, given, path), expected):
                raise ArgumentError(
                    f"{model} was converted for {written(path)}={expected!r}, got "
                    f"{_at(model, given, path)!r}. Convert it again for another value."
                )
        found = [_at(model, given, path) for path, _ in self.arrays]
        self._check(model, found)
        return found

    def _check(self, model: str, found: list[Any]) -> None:
        sizes: dict[str, int] = {}
        for x, (path, value) in zip(found, self.arrays):
            name = written(path)
            if not hasattr(x, "dtype"):
                raise ArgumentTypeError(
                    f"{model} expects an array for {name}, got {type(x).__name__}. "
                    "Write trellis.asarray(...) around it first."
                )
            if value.shape is not None:
                if len(x.shape) != len(value.shape):
                    raise ShapeError(
                        f"{model} expects {name} with {len(value.shape)} axes, got shape "
                        f"{tuple(x.shape)}."
                    )
                for axis, (size, expected) in enumerate(zip(x.shape, value.shape)):
                    if size is None or expected is None:
                        continue
                    if isinstance(expected, str):
                        expected = sizes.setdefault(expected, size)
                    if size != expected:
                        raise ShapeError(
                            f"{model} was converted for {name} of shape {_shape(value.shape)}, got "
                            f"{tuple(x.shape)}. To make axis {axis} dynamic, convert with "
                            f'dynamic={{"{name}": {{{axis}: "name"}}}}.'
                        )
            if value.dtype is not None:
                got = str(dtype(x))
                if got != value.dtype and not ("int" in got and "int" in value.dtype):
                    raise DtypeError(
                        f"{model} was converted for {name} of type {value.dtype}, got {got}. "
                        f'Write trellis.astype({name}, "{value.dtype}").'
                    )

    def _listed(self) -> str:
        return ", ".join([written(path) for path, _ in self.arrays])


def _at(model: str, given: Mapping[str, Any], path: Path) -> Any:
    x: Any = given
    for key in path:
        try:
            x = x[key]
        except (KeyError, IndexError, TypeError):
            raise ArgumentTypeError(f"{model} misses its argument {written(path)}.") from None
    return x


def _equal(x: object, y: object) -> bool:
    return type(x) is type(y) and bool(x == y)


def written(path: Path) -> str:
    """Where in the arguments: `x['a'][0]`."""
    return str(path[0]) + "".join([f"[{key!r}]" for key in path[1:]])


def _shape(shape: tuple[Any, ...]) -> str:
    return f"({', '.join([str(size) for size in shape])}{',' if len(shape) == 1 else ''})"
