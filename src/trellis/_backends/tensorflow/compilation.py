"""Compilation on TensorFlow. Python values are always static: each gets its own trace."""

import functools
import itertools
from collections.abc import Callable
from typing import Any, NamedTuple

import tensorflow as tf

from ..._core import tree
from ..._core.donation import give_away, places
from ._private import (
    Eager,
    datatype_of,
    flat_call,
    is_recording,
    runtime_call,
    shape_of,
    unwarned,
)

_static_types = (bool, int, float, complex, str)


def compile_function(
    fn: Callable[..., Any],
    *,
    static_argnums: tuple[int, ...],
    static_argnames: tuple[str, ...],
    donate_argnums: tuple[int, ...] = (),
    strict: bool = False,
    carry: int | None = None,
) -> Callable[..., Any]:
    return _Donating(fn, donate_argnums) if donate_argnums else _Function(fn)


class _Function:
    """`tf.function` over the flat list of tensors.

    tf.function inspects every leaf of its arguments in Python at each call: 30 µs a leaf, which for
    a training step of a small model is as long as the step itself. Here a call looks up shapes and
    dtypes in one table of traces and passes the tensors on unchanged.
    """

    def __init__(self, fn: Callable[..., Any]):
        self._fn = fn
        # Without AutoGraph: data-dependent control flow is written with trellis.cond and
        # while_loop, as on the other frameworks, and the library's own code is not rewritten at
        # each trace.
        self._whole = tf.function(fn, autograph=False)
        self._graphs: dict[Any, _Graph] = {}

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        leaves, spec = tree.flatten((args, kwargs))
        return self.on_leaves(leaves, spec, args, kwargs)

    def on_leaves(self, leaves: list[Any], spec: Any, args: Any, kwargs: Any) -> Any:
        """The call for arguments that are already flattened."""
        tensors, statics = leaves, tuple(leaves[:0])
        if not all([type(x) is Eager for x in leaves]):
            tensors = [x for x in leaves if type(x) is Eager]
            if not all([type(x) is Eager or type(x) in _static_types for x in leaves]):
                # Symbolic tensors of an enclosing function, variables, NumPy arrays.
                return self._whole(*args, **kwargs)
            statics = tuple([None if type(x) is Eager else (type(x), x) for x in leaves])
        # Numbers and tuples of numbers are compared in C, unlike `x.dtype` and `x.shape`.
        key = (
            spec,
            statics,
            *[datatype_of(x) for x in tensors],
            *[shape_of(x) for x in tensors],
        )
        graph = self._graphs.get(key)
        if graph is None:
            results, graph = self._trace(leaves, tensors, spec)
            self._graphs[key] = graph
        elif graph.execute is None or is_recording() or not tf.executing_eagerly():
            results = graph.call(tensors)
        else:
            try:
                results = graph.execute(graph.name, tensors + graph.captured, graph.returns)
            except Exception:
                results = graph.call(tensors)  # raises again, and names the line
        return tree.unflatten(graph.spec, results)

    def _trace(self, leaves: list[Any], tensors: list[Any], spec: Any) -> tuple[Any, "_Graph"]:
        """The first results, and the graph for the next calls."""
        made: list[tuple[Any, int]] = []  # structure and number of the results

        def flat(*tensors: Any) -> list[Any]:
            remaining = list(tensors)
            filled = [remaining.pop(0) if type(x) is Eager else x for x in leaves]
            outputs, out_spec = _outputs(self._fn, spec, filled)
            made.append((out_spec, len(outputs)))
            return outputs

        traced = _traced(flat)
        results = traced(*tensors)  # after get_concrete_function, tf.function would trace again
        concrete = traced.get_concrete_function(*_signature(tensors))
        return results, _graph_of(traced, concrete, *made[-1])


def _graph_of(traced: Any, concrete: Any, spec: Any, count: int) -> "_Graph":
    if len(concrete.outputs) != count:
        # Ragged or sparse results are several tensors each.
        return _Graph(spec, lambda arrays: traced(*arrays))
    # The signature was compared before.
    graph = _Graph(spec, flat_call(concrete))
    is_plain = len(concrete.outputs) > 0 and not any(
        [y.dtype in (tf.resource, tf.variant) for y in concrete.outputs]
    )
    by_runtime = runtime_call(concrete) if is_plain else None
    if by_runtime is None:
        return graph
    execute, name = by_runtime
    return graph._replace(
        execute=execute,
        name=name,
        captured=list(concrete.captured_inputs),
        returns=len(concrete.outputs),
    )


def _outputs(fn: Callable[..., Any], spec: Any, leaves: list[Any]) -> tuple[list[Any], Any]:
    """The flattened results of `fn` for flattened arguments."""
    args, kwargs = tree.unflatten(spec, leaves)
    return tree.flatten(fn(*args, **kwargs))


def _signature(tensors: list[Any]) -> list[Any]:
    return [tf.TensorSpec(x.shape, x.dtype) for x in tensors]


def _traced(flat: Callable[..., Any]) -> Any:
    return unwarned(tf.function(flat, autograph=False))


class _Graph(NamedTuple):
    """A graph, and two ways to run it on tensors.

    What `call` does for tapes, enclosing graphs and error traces takes half the time of a step with
    25 tensors. If none of that is needed, `execute` passes the tensors to TensorFlow's runtime
    directly. It is None if TensorFlow does not have it.
    """

    spec: Any  # the structure of the results
    call: Callable[[list[Any]], Any]
    execute: Callable[[Any, list[Any], int], Any] | None = None
    name: Any = None
    captured: Any = ()
    returns: int = 0


# Donated arguments --------------------------------------------------------------------------------


class _Donating:
    """`fn` in a graph that holds the only references to the tensors of some arguments.  A graph
    frees or overwrites a tensor as soon as nothing needs it; but its arguments belong to the caller
    until it ends. So these tensors are not passed as arguments: they are put into a TensorFlow map,
    from which the graph takes them, and their references in Python are dropped. A tensor with
    another reference keeps its values: TensorFlow counts references.
    """

    def __init__(self, fn: Callable[..., Any], argnums: tuple[int, ...]):
        self._fn, self._argnums = fn, argnums
        self._plain = _Function(fn)
        # Graphs, with what the map needs to know about their tensors.
        self._graphs: dict[Any, tuple[_Graph, Any, list[Any]]] = {}
        self._map = f"trellis_donated_{next(_number_of_maps)}"
        # The keys of the map, each used by one call at a time: a new number at every call would
        # stay in TensorFlow's cache of constants.
        self._free_keys: list[Any] = []
        self._count = itertools.count()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        leaves, spec = tree.flatten((args, kwargs))
        return self.on_leaves(leaves, spec, args, kwargs)

    def on_leaves(self, leaves: list[Any], spec: Any, args: Any, kwargs: Any) -> Any:
        """The call for arguments that are already flattened."""
        at = places(spec, self._argnums)
        is_eager = tf.executing_eagerly() and not is_recording() and _is_cpu_only()
        if not at or not is_eager or not all([type(x) is Eager for x in leaves]):
            return self._plain.on_leaves(leaves, spec, args, kwargs)
        key = (spec, *[datatype_of(x) for x in leaves], *[shape_of(x) for x in leaves])
        if key not in self._graphs:
            indices = tf.range(len(at))
            self._graphs[key] = (
                self._trace(leaves, spec, at),
                indices,
                [leaves[i].dtype for i in at],
            )
        graph, indices, dtypes = self._graphs[key]
        given, kept = _apart(leaves, at)
        try:
            number = self._free_keys.pop()
        except IndexError:
            number = tf.constant(next(self._count), tf.int64)
        with tf.device("CPU:0"):  # each device has its own maps
            tf.raw_ops.MapStage(
                key=number,
                indices=indices,
                values=given,
                dtypes=dtypes,
                shared_name=self._map,
            )
        leaves.clear()
        given.clear()
        for n in self._argnums:
            if n < len(args):
                give_away(args[n])
        # Only once, even if it raises: the tensors are no longer in the map.
        if graph.execute is None:
            results = graph.call([number, *kept])
        else:
            results = graph.execute(graph.name, [number, *kept, *graph.captured], graph.returns)
        self._free_keys.append(number)
        return tree.unflatten(graph.spec, results)

    def _trace(self, leaves: list[Any], spec: Any, at: list[int]) -> "_Graph":
        """From the key of the tensors in the map, and the other arguments, to the results."""
        given, kept = _apart(leaves, at)
        kinds, count = _signature(given), len(leaves)
        made: list[tuple[Any, int]] = []  # structure and number of the results

        def flat(number: Any, *kept: Any) -> list[Any]:
            tf.compat.v1.add_to_collection(_OWNING, True)
            with tf.device("CPU:0"):
                taken = tf.raw_ops.MapUnstage(
                    key=number,
                    indices=range(len(at)),
                    dtypes=[kind.dtype for kind in kinds],
                    shared_name=self._map,
                )
            remaining = list(kept)
            filled: list[Any] = [None] * count
            for i, x, kind in zip(at, taken, kinds, strict=True):
                x.set_shape(kind.shape)
                filled[i] = x
            filled = [remaining.pop(0) if x is None else x for x in filled]
            outputs, out_spec = _outputs(self._fn, spec, filled)
            made.append((out_spec, len(outputs)))
            return outputs

        traced = _traced(flat)
        concrete = traced.get_concrete_function(tf.TensorSpec((), tf.int64), *_signature(kept))
        return _graph_of(traced, concrete, *made[-1])


_number_of_maps = itertools.count()
_OWNING = "trellis_owning"


@functools.cache
def _is_cpu_only() -> bool:
    """The map is on the CPU: tensors on a GPU would be copied back and forth."""
    return not tf.config.list_physical_devices("GPU")


def owns_arguments() -> bool:
    """Whether the graph that is being traced may overwrite its large input tensors."""
    return bool(tf.compat.v1.get_collection(_OWNING))


def _apart(leaves: list[Any], at: list[int]) -> tuple[list[Any], list[Any]]:
    """The leaves at these positions, and the others."""
    chosen = set(at)
    return [leaves[i] for i in at], [x for i, x in enumerate(leaves) if i not in chosen]


def for_many_calls(fn: Callable[..., Any], args: list[Any]) -> Callable[..., Any]:
    """The function itself: eager calls need no compilation here."""
    return fn
