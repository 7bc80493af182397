"""Functions of TensorFlow as modules: the graph of a concrete function, and a rule for each op."""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path as FilePath
from typing import Any

import numpy as np
import tensorflow as tf

from ..._backends.tensorflow._private import flat_call
from ..._core.dispatch import current_backend
from ..._core.errors import ArgumentError, ArgumentTypeError
from ..finish import finish
from ..inputs import Inputs, Path
from ..left_open import (
    Open,
    any_order,
    beyond_integers,
    not_finite,
    not_positive,
    outside_unit,
    rounding,
    rows_with_nan,
    singular_triangles,
    special_matrices,
    unsorted_edges,
)
from ..module import ConvertedModule
from ..reading import Reading
from ..trust import errors_of
from .builder import Resource, TensorFlowBuilder
from .files import served_function
from .operations import Operations
from .rules_layers import ANY_ORDER

# At nan and infinity TensorFlow's own ways (eager, XLA, oneDNN) differ in these.
_UNDEFINED = (
    Open("the places of nan", ("ArgMax", "ArgMin", "TopK"), rows_with_nan),
    Open("the order of what is taken", (ANY_ORDER,), any_order),
    Open("places among nan", ("LowerBound", "UpperBound"), unsorted_edges),
    Open(
        "nan and infinity",
        ("Softmax", "MaxPool", "Conv2D", "Conv3D", "DepthwiseConv", "CumulativeLogsumexp",
         "TensorScatterMax", "TensorScatterMin", "UnsortedSegmentM", "BesselI",
         "ResizeBilinear", "ResizeBicubic",  # neighbours of weight 0
         "Relu",  # of nan: nan, but 0 where a graph fuses it with the product before it
         "Complex",  # torch multiplies infinity with 0 when it adds complex numbers
         "Erf"),  # of gelu: torch's own, which the formula is put together to, is nan at infinity
        not_finite,
    ),
    Open("the results at and beyond 1", ("Erfinv",), outside_unit),
    Open("integers beyond their type", ("Cast",), beyond_integers),
    Open(
        "the results for special matrices",
        ("MatrixInverse", "MatrixDeterminant", "MatrixSolve",
         "LogMatrixDeterminant", "Svd", "Qr", "SelfAdjointEig"),
        special_matrices,
    ),
    Open("the results for singular triangles", ("MatrixTriangularSolve",), singular_triangles),
    Open("the results for matrices without a factor", ("Cholesky",), not_positive),
    # Special functions are as exact as their series next to zeros and poles.
    Open(
        "the last places next to zeros and poles",
        ("Igamma", "Betainc", "Zeta", "Polygamma"),
        rounding,
    ),
)  # fmt: skip
Names = Mapping[int, tuple[str, bool]]  # of a variable's handle: key path, whether a buffer


def from_tensorflow(
    fn: Callable[..., Any] | str | os.PathLike[str],
    args: Sequence[Any] = (),
    kwargs: Mapping[str, Any] | None = None,
    *,
    to: str | None = None,
    dynamic: Mapping[str, Mapping[int, str]] | None = None,
    verify: bool = True,
    trust: bool = False,
) -> ConvertedModule:
    """A function of TensorFlow as a module of any framework.

    `fn` is a `tf.function`, one of its concrete functions (a signature of a SavedModel), a plain
    function, or the path of a SavedModel, whose signature "serving_default" is read: one that could
    run code raises an error, unless `trust`. Variables that it uses become `v` under their own
    names, those that are not trainable become buffers. `args` are examples; axes are dynamic with
    `dynamic={"x": {0: "batch"}}`, or where they are dynamic in a concrete function.

    >>> import tensorflow as tf
    >>> from trellis import convert
    >>> weight = tf.Variable(tf.ones((2, 3)), name="weight")
    >>> model = convert.from_tensorflow(
    ...     lambda x: tf.tanh(x @ weight), args=(tf.constant([[0.0, 0.5]]),), to="numpy"
    ... )
    >>> list(model.v.keys())
    ['weight']
    """
    to = current_backend() if to is None else to
    given = (tuple(args), dict(kwargs or {}))
    found: Any = fn
    if isinstance(fn, (str, os.PathLike)):
        path = FilePath(fn)
        with errors_of(path, "from_tensorflow()"):
            found = served_function(path, trust, given[1] if verify else None)
            return from_tensorflow(
                found, args, kwargs=kwargs, to=to, dynamic=dynamic, verify=verify
            )
    concrete = concrete_function(found, *given, dynamic or {})
    name = getattr(found, "__name__", None) or type(found).__name__
    name = "function" if name == "<lambda>" else name
    reading = read(concrete, given, to, name, {}, dynamic or {})
    return finish(reading, to=to, with_verification=verify)


def concrete_function(fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any],
                      dynamic: Mapping[str, Any]) -> Any:  # fmt: skip
    """`fn` traced for arguments like these."""
    if hasattr(fn, "structured_input_signature"):
        if dynamic:
            raise ArgumentError(
                "from_tensorflow() got a concrete function, whose shapes are fixed: pass the "
                "tf.function itself to make axes dynamic."
            )
        return fn
    if not callable(fn):
        raise ArgumentTypeError(
            f"from_tensorflow() expects a function of TensorFlow, got {type(fn).__name__}. "
            "For a Keras model, write convert.from_keras(model)."
        )
    traced = fn if hasattr(fn, "get_concrete_function") else tf.function(fn, autograph=False)
    names = parameter_names(fn, len(args))
    specs = [_spec(x, name, dynamic.get(name, {})) for name, x in zip(names, args)]
    named = {name: _spec(x, name, dynamic.get(name, {})) for name, x in kwargs.items()}
    unknown = set(dynamic) - {*names, *kwargs}
    if unknown:
        raise ArgumentError(
            f"from_tensorflow() got dynamic axes for {sorted(unknown)}; the arguments are "
            f"{[*names, *kwargs]}."
        )
    return traced.get_concrete_function(*specs, **named)


def read(
    concrete: tf.types.experimental.ConcreteFunction,
    given: tuple[tuple[Any, ...], dict[str, Any]],
    to: str,
    name: str,
    names: Names,
    dynamic: Mapping[str, Mapping[int, str]],
    argument_names: Sequence[str] = (),
) -> Reading:
    """The graph of a concrete function, its variables, and a way to run it on the example."""
    graph = concrete.graph
    operations = Operations(to, graph)
    operations.refuse_unknown(graph)
    g = operations.g
    captured, stored, kept = _captures(g, concrete, names)
    inputs = [x for x in graph.inputs if x.name not in captured]
    paths = _paths(concrete, inputs, argument_names)
    placed: dict[str, Any] = {}
    arrays: list[tuple[Path, Any]] = []
    for x, path in zip(inputs, paths):
        sizes: list[Any] = list(x.shape.as_list())
        for axis, size in dynamic.get(str(path[0]), {}).items():
            if axis < len(sizes):
                sizes[axis] = size
        value = g.input("_".join([str(key) for key in path]), tuple(sizes), x.dtype.name)
        placed[x.name] = value
        arrays.append((path, value))
    args = [placed[x.name] if x.name in placed else captured[x.name] for x in graph.inputs]
    results = [g.array(x) for x in operations.inline(graph, args)]
    flat = iter(results)
    g.graph.outputs = _structure(concrete.structured_outputs, flat)
    example = [np.asarray(x) for x in _leaves(given, paths)]
    runs = bool(example) or not inputs
    if g.is_random:
        g.notes.remarks.append("Random numbers are Trellis' own, so nothing was compared.")
        runs = False
    order = tuple(dict.fromkeys([str(path[0]) for path in paths]))
    return Reading(
        name=name,
        source="TensorFlow",
        graph=g.graph,
        inputs=Inputs(order, tuple(arrays)),
        variables=stored,
        buffers=kept,
        example=example,
        outputs=(lambda: _run(concrete, inputs, example)) if runs else None,
        run=(lambda given: _run(concrete, inputs, given)) if runs else None,
        trace=(lambda given: _trace(operations, concrete, inputs, given)) if runs else None,
        undefined=_UNDEFINED,
        ordinary_only="LAPACK may never return from nan"
        if {"Svd", "Eig", "SelfAdjointEigV2"} & set(g.notes.operations)
        else "",
        notes=g.notes,
    )


def _captures(
    g: TensorFlowBuilder, concrete: tf.types.experimental.ConcreteFunction, names: Names
) -> tuple[dict[str, Any], Any, Any]:
    """What the function takes from outside: variables as resources, tensors as constants."""
    by_handle = {id(v.handle): v for v in concrete.graph.variables}
    captured: dict[str, Any] = {}
    stored: dict[str, Any] = {}
    kept: dict[str, Any] = {}
    for outer, inner in concrete.graph.captures:
        if outer.dtype != tf.resource:
            captured[inner.name] = np.asarray(outer)
            continue
        variable = by_handle[id(outer)]
        chain, is_buffer = names.get(
            id(outer), (variable.name.partition(":")[0], not variable.trainable)
        )
        while chain in stored or chain in kept:
            chain += "_"
        array = variable.numpy()
        (kept if is_buffer else stored)[chain] = array
        make = g.buffer if is_buffer else g.variable
        make(chain, array.shape, array.dtype.name)
        captured[inner.name] = Resource(chain, is_buffer)
    return captured, stored, kept


def _paths(concrete: tf.types.experimental.ConcreteFunction, inputs: list[Any],
           argument_names: Sequence[str]) -> list[Path]:  # fmt: skip
    """Where in the arguments of a call each input of the graph is found."""
    signature = concrete.structured_input_signature
    names = list(argument_names) or list(concrete.function_type.parameters)
    positional, named = signature
    paths: list[Path] = []
    for name, spec in zip(names, positional):
        paths += _paths_in(spec, (name,))
    for name in sorted(named):
        paths += _paths_in(named[name], (name,))
    if len(paths) != len(inputs):
        return [(x.op.name,) for x in inputs]
    return paths


def _paths_in(spec: object, path: Path) -> list[Path]:
    if isinstance(spec, Mapping):
        return [p for key in sorted(spec) for p in _paths_in(spec[key], (*path, key))]
    if isinstance(spec, (tuple, list)):
        return [p for i, item in enumerate(spec) for p in _paths_in(item, (*path, i))]
    return [path] if isinstance(spec, tf.TypeSpec) or hasattr(spec, "dtype") else []


def _leaves(given: tuple[tuple[Any, ...], dict[str, Any]], paths: list[Path]) -> list[Any]:
    """The arrays of the example in the order of the graph's inputs; none without an example."""
    args, kwargs = given
    if not args and not kwargs:
        return []
    names = list(dict.fromkeys([path[0] for path in paths]))
    named = {**dict(zip(names, args)), **kwargs}
    found = []
    for path in paths:
        x: Any = named
        for key in path:
            x = x[key]
        found.append(x)
    return found


def _run(
    concrete: tf.types.experimental.ConcreteFunction, inputs: list[Any], example: list[Any]
) -> Any:
    tensors = [tf.constant(x, dtype=spec.dtype) for x, spec in zip(example, inputs)]
    before = [(v, v.value()) for v in concrete.graph.variables]
    out = tf.nest.flatten(flat_call(concrete)(tensors))
    for variable, value in before:  # a comparison leaves the source as it was
        variable.assign(value)
    return _structure(concrete.structured_outputs, iter([x.numpy() for x in out]))


def _trace(
    operations: Operations,
    concrete: tf.types.experimental.ConcreteFunction,
    inputs: list[Any],
    given: list[Any],
) -> dict[str, Any]:
    """What each operation of the function itself gives; those of inner functions are not seen."""
    by_handle = {id(v.handle): v for v in concrete.graph.variables}
    fed = {x.name: np.asarray(array) for x, array in zip(inputs, given)}
    variables = {}
    for outer, inner in concrete.graph.captures:
        if outer.dtype == tf.resource:
            variables[inner.name] = by_handle[id(outer)].numpy()
        else:
            fed[inner.name] = np.asarray(outer)
    return operations.trace(fed, variables)


def _structure(nest: object, flat: Iterator[Any]) -> Any:
    """A pytree of outputs with other leaves, as dicts, lists and tuples, in TensorFlow's order."""
    if isinstance(nest, Mapping):
        found = {key: _structure(nest[key], flat) for key in sorted(nest)}
        return {key: found[key] for key in nest}
    if isinstance(nest, (tuple, list)):
        items = [_structure(x, flat) for x in nest]
        return items if isinstance(nest, list) else tuple(items)
    return None if nest is None else next(flat)


def parameter_names(fn: Callable[..., Any], count: int) -> list[str]:
    """The names of the positional arguments of a function."""
    import inspect

    called: Callable[..., Any] = getattr(fn, "python_function", fn)
    names = [
        parameter.name
        for parameter in inspect.signature(called).parameters.values()
        if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD)
    ]
    names = [name for name in names if name != "self"]
    return [*names, *[f"x{i}" for i in range(len(names), count)]][:count]


def _spec(x: object, name: str, open_axes: Mapping[int, str]) -> Any:
    """What a function is traced with: shape and type, with dynamic axes."""
    if isinstance(x, Mapping):
        return {key: _spec(item, name, open_axes) for key, item in x.items()}
    if isinstance(x, (tuple, list)):
        return type(x)([_spec(item, name, open_axes) for item in x])
    if isinstance(x, (bool, int, float, str)) or x is None:
        return x
    if isinstance(x, tf.TensorSpec):
        return x
    tensor = tf.convert_to_tensor(x)
    sizes: list[Any] = list(tensor.shape)
    for axis in open_axes:
        sizes[axis] = None
    return tf.TensorSpec(sizes, tensor.dtype, name=name)
