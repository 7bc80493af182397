"""Compilation on TensorFlow. Python values are static by themselves: each gets its own trace."""

from collections.abc import Callable
from typing import Any, NamedTuple

import tensorflow as tf

from ..._core import tree
from ..exports import hand_on
from ._helpers import Eager, is_recording

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
    return _Function(fn)


class _Function:
    """`tf.function` over the flat list of tensors.

    tf.function looks at every leaf of its arguments in Python, at each call: 30 µs a leaf, which
    for a training step of a small model is as long as the step itself. Here a call looks up shapes
    and dtypes in one table of traces and hands the tensors over as they are.
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
        """The call for arguments that are taken apart already."""
        tensors, statics = leaves, tuple(leaves[:0])
        if not all([type(x) is Eager for x in leaves]):
            tensors = [x for x in leaves if type(x) is Eager]
            if not all([type(x) is Eager or type(x) in _static_types for x in leaves]):
                # Symbolic tensors of an enclosing function, variables, arrays of NumPy.
                return self._whole(*args, **kwargs)
            statics = tuple([None if type(x) is Eager else (type(x), x) for x in leaves])
        # Numbers and tuples of numbers are compared in C, unlike `x.dtype` and `x.shape`.
        key = (
            spec,
            statics,
            *[x._datatype_enum() for x in tensors],
            *[x._shape_tuple() for x in tensors],
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
        """The first results, and the graph that gives the next ones."""
        out_specs, counts = [], []

        def flat(*tensors: Any) -> list[Any]:
            remaining = list(tensors)
            filled = [remaining.pop(0) if type(x) is Eager else x for x in leaves]
            args, kwargs = tree.unflatten(spec, filled)
            outputs, out_spec = tree.flatten(self._fn(*args, **kwargs))
            out_specs.append(out_spec)
            counts.append(len(outputs))
            return outputs

        traced = tf.function(flat, autograph=False)
        # It warns of functions that are traced at nearly every call, and sees of ours the calls
        # that trace alone.
        traced._omit_frequent_tracing_warning = True
        results = traced(
            *tensors
        )  # asked for the concrete function first, tf.function would trace twice
        signature = [tf.TensorSpec(x.shape, x.dtype) for x in tensors]
        concrete = traced.get_concrete_function(*signature)
        call_flat = getattr(concrete, "_call_flat", None)
        if call_flat is None or len(concrete.outputs) != counts[-1]:
            # Ragged or sparse results are several tensors each.
            return results, _Graph(out_specs[-1], lambda arrays: traced(*arrays))
        # The signature was compared above; ConcreteFunction.__call__ would do it again, 20 µs a
        # tensor.
        graph = _Graph(out_specs[-1], lambda arrays: call_flat(arrays, concrete.captured_inputs))
        inner = _attribute(concrete, "_inference_function")
        context = _attribute(inner, "_bound_context")
        captured = _attribute(concrete, "_captured_inputs")
        is_plain = (
            len(concrete.outputs) > 0
            and captured is not None
            and not any([callable(x) for x in captured])  # asked for anew at each call
            and not any([y.dtype in (tf.resource, tf.variant) for y in concrete.outputs])
        )
        if is_plain and hasattr(context, "call_function") and hasattr(inner, "name"):
            graph = graph._replace(
                execute=context.call_function,
                name=inner.name,
                captured=list(concrete.captured_inputs),
                returns=len(concrete.outputs),
            )
        return results, graph


def _attribute(x: Any, name: str) -> Any:
    """An attribute that another version of TensorFlow may not have; None then."""
    return getattr(x, name, None)


class _Graph(NamedTuple):
    """A graph, and two ways to run it on tensors.

    What `call` does for tapes, enclosing graphs and the traces of errors takes half as long as the
    whole call of a step with 25 tensors, so that where nothing of it is needed `execute` is asked:
    it hands the tensors to TensorFlow's runtime. None where TensorFlow does not have it.
    """

    spec: Any  # the structure of the results
    call: Callable[[list[Any]], Any]
    execute: Callable[[Any, list[Any], int], Any] | None = None
    name: Any = None
    captured: Any = ()
    returns: int = 0


def for_many_calls(fn: Callable[..., Any], args: list[Any]) -> Callable[..., Any]:
    """The function itself: eager calls cost no compilation here."""
    return fn


hand_on(globals())
