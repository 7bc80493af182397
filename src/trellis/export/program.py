"""What every writer starts from: a model as a pure function of flat arrays, on the framework that
owns the format, and the same model on its own framework, to compare with."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .._array.casting import dtype
from .._array.interchange import to_numpy
from .._core import tree
from .._core.arrays import is_array
from .._core.dispatch import backend_of
from .._core.errors import ArgumentError, ArgumentTypeError, MixedBackendsError
from ..convert.adapters.hollow import Hollow, HostStream
from ..convert.module import ConvertedModule, has_64_bits, native
from ..nn import Module
from .examples import drawn
from .signature import (
    Path,
    Port,
    argument_names,
    named_paths,
    open_axes,
    output_paths,
    output_shape,
    port_names,
    sizes_of,
)

Dynamic = Mapping[str, Mapping[int, str]]
_NARROW = {"int64": "int32", "uint64": "uint32"}


class Program:
    """A model or function on its way into a file.

    `variables` and `buffers` are arrays of the framework of the file, by key path; `call` runs the
    program on them, and `expected` runs the model itself, on its own framework. `inputs` and
    `outputs`
    say what goes in and comes out, one array each, under the given `names` of both if they are not
    None; `sizes` are those of dynamic axes in the example, `other_sizes` some that the model takes
    as well.
    """

    def __init__(
        self,
        model: Any,
        args: Sequence[Any],
        kwargs: Mapping[str, Any] | None,
        dynamic: Dynamic | None,
        names: tuple[Sequence[str] | None, Sequence[str] | None],
        training: bool,
        *,
        backend: str,
        function: str,
    ):
        input_names, output_names = names
        _check(model, args, function)
        kwargs = dict(sorted((kwargs or {}).items()))  # the order of their leaves
        self.backend, self.training = backend, training
        self.name = _name(model)
        self._leaves, self._structure = tree.flatten((tuple(args), kwargs))
        self._places = [i for i, x in enumerate(self._leaves) if is_array(x)]
        arrays = [self._leaves[i] for i in self._places]
        if not arrays:
            raise ArgumentError(
                f"{function}() needs example inputs: args=(x,) with the arrays of a call."
            )
        self.source = _source_of(model, arrays)
        self._model = model
        self._there: Hollow | None = None
        self._here: Hollow | None = None
        self.variables: dict[str, Any] = {}
        self.buffers: dict[str, Any] = {}
        if isinstance(model, Module):
            self._there = Hollow(model, backend, function)
            self.variables, self.buffers = self._there.release()
            if self.source != backend:
                self._here = Hollow(model, self.source, function)
                self._here.release()  # the model itself has them
        self.example = [np.array(to_numpy(x)) for x in arrays]
        all_paths = _argument_paths(model, args, kwargs)
        paths = [all_paths[i] for i in self._places]
        inputs = port_names(paths, input_names, "inputs")
        shapes = [x.shape for x in self.example]
        self.axes = open_axes(dynamic, inputs, paths, shapes)
        self.sizes = sizes_of(self.axes, shapes)
        self.inputs = [
            Port(
                name,
                tuple([axes.get(i, size) for i, size in enumerate(x.shape)]),
                _type_there(x.dtype.name, backend),
            )
            for name, x, axes in zip(inputs, self.example, self.axes, strict=True)
        ]
        self.other_sizes = self._other_sizes()
        self.outputs = self._outputs(output_names)

    # Running
    # --------------------------------------------------------------------------------------

    def call(self, v: Sequence[Any], buffers: Sequence[Any], inputs: Sequence[Any]) -> Any:
        """What the model returns on the framework of the file, in the structure of the model's
        output."""
        return self._run(self._there, v, buffers, inputs)

    def expected(self, inputs: Sequence[Any]) -> list[Any]:
        """The outputs of the model itself, on its own framework, as NumPy arrays."""
        return [to_numpy(x) for x in tree.leaves(self._result(inputs))]

    def _result(self, inputs: Sequence[Any]) -> Any:
        moved = [native(x, self.source, None) for x in inputs]
        if not isinstance(self._model, Module):
            return self._run(None, (), (), moved)
        if self._here is None:
            v, kept = list(self.variables.values()), list(self.buffers.values())
            return self._run(self._there, v, kept, moved)
        nests = (self._model.v, self._model.buffers)
        v, kept = [[nest[chain] for chain in nest.key_chains()] for nest in nests]
        return self._run(self._here, v, kept, moved)

    def _run(
        self, hollow: Hollow | None, v: Sequence[Any], buffers: Sequence[Any], inputs: Sequence[Any]
    ) -> Any:
        leaves = list(self._leaves)
        for place, x in zip(self._places, inputs, strict=True):
            leaves[place] = x
        args, kwargs = tree.unflatten(self._structure, leaves)
        with HostStream(_refuse_draws):
            if hollow is None:
                return in_order(self._call_function(args, kwargs))
            model = hollow.training if self.training else hollow.evaluating
            return in_order(hollow.apply(model, v, buffers, args, kwargs)[0])

    def _call_function(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        try:
            return self._model(*args, **kwargs)
        except MixedBackendsError as error:
            raise ArgumentError(
                f"{self.name} uses arrays other than its arguments, which stay on their framework "
                f"while the arguments are moved to {self.backend}. Make it a trellis.Module, whose "
                f"variables are moved too, or pass the arrays as arguments. ({error})"
            ) from error

    # Outputs
    # --------------------------------------------------------------------------------------

    def named(self, result: object) -> dict[str, Any]:
        """The outputs by name."""
        return dict(zip([port.name for port in self.outputs], tree.leaves(result), strict=True))

    def _outputs(self, given: Sequence[str] | None) -> list[Port]:
        result = self._result(self.example)
        leaves, paths = tree.leaves(result), output_paths(result)
        for leaf, path in zip(leaves, paths, strict=True):
            if not is_array(leaf):
                raise ArgumentTypeError(
                    f"{self.name} returns {type(leaf).__name__} as "
                    f"{'_'.join([str(part) for part in path])}, and a file returns arrays only. "
                    "Export a module that leaves it out."
                )
        names = port_names(paths, given, "outputs")
        shapes: list[Any] = [tuple(x.shape) for x in leaves]
        if self.other_sizes is not None:
            after = self.expected(drawn(self.example, self.axes, self.other_sizes, seed=0))
            shapes = [
                output_shape(shape, x.shape, self.sizes, self.other_sizes)
                for shape, x in zip(shapes, after, strict=True)
            ]
        return [
            Port(name, shape, _type_there(str(dtype(x)), self.backend))
            for name, shape, x in zip(names, shapes, leaves, strict=True)
        ]

    def _other_sizes(self) -> dict[str, int] | None:
        """Open axes with sizes that the example does not have, if the model takes any."""
        for step in (1, -1) if self.sizes else ():
            sizes = {name: max(size + step, 1) for name, size in self.sizes.items()}
            try:
                self._result(drawn(self.example, self.axes, sizes, seed=0))
            except Exception:  # whatever a model says of a size that does not suit it
                continue
            return sizes
        return None


def in_order(nest: Any) -> Any:
    """The pytree with plain dicts, keys sorted: all frameworks then agree on the order of its
    leaves.

    >>> import trellis
    >>> in_order([trellis.Container({"b": 1, "a": 2}, alphabetical_keys=False)])
    [{'a': 2, 'b': 1}]
    """
    if isinstance(nest, dict):
        return {key: in_order(nest[key]) for key in sorted(dict.keys(nest))}
    if isinstance(nest, tuple) and hasattr(type(nest), "_fields"):
        return type(nest)(*[in_order(value) for value in nest])
    return type(nest)([in_order(x) for x in nest]) if type(nest) in (list, tuple) else nest


def plain(nest: object) -> Any:
    """The pytree without classes of its own, which another program could not load.

    >>> import collections
    >>> plain({"a": collections.namedtuple("Pair", "x y")(1, 2)})
    {'a': (1, 2)}
    """
    if isinstance(nest, dict):
        return {str(key): plain(value) for key, value in nest.items()}
    if isinstance(nest, tuple):
        return tuple([plain(value) for value in nest])
    return [plain(value) for value in nest] if isinstance(nest, list) else nest


def _check(model: Any, args: Any, function: str) -> None:
    if not callable(model):
        raise ArgumentTypeError(
            f"{function}() expects a module or a function, got {type(model).__name__}."
        )
    if not isinstance(args, (tuple, list)):
        raise ArgumentTypeError(
            f"{function}() expects the example arguments as a tuple, args=(x,); got "
            f"{type(args).__name__}."
        )


def _refuse_draws() -> Any:
    raise ArgumentError(
        "The model draws random numbers in this call, as dropout does in training; a file would "
        "draw the same numbers at every call. Export in evaluation mode, or pass a key as an "
        "argument."
    )


def _name(model: object) -> str:
    if isinstance(model, ConvertedModule):
        return model.name
    name = type(model).__name__ if isinstance(model, Module) else getattr(model, "__name__", "")
    return "function" if name in ("", "<lambda>") else name


def _source_of(model: object, arrays: Sequence[Any]) -> str:
    """The framework on which the model lives: that of its variables, else that of its example."""
    leaves = tree.leaves([model.v, model.buffers]) if isinstance(model, Module) else []
    return backend_of([*leaves, *arrays][0])


def _type_there(name: str, backend: str) -> str:
    return _NARROW[name] if name in _NARROW and not has_64_bits(backend) else name


def _argument_paths(model: object, args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[Path]:
    if isinstance(model, ConvertedModule):
        names = [*model._inputs.names[: len(args)], *kwargs]
    else:
        names = argument_names(model._forward if isinstance(model, Module) else model, args, kwargs)
    values = [*args, *kwargs.values()]
    return [(name, *path) for name, x in zip(names, values) for path in named_paths(x)]
