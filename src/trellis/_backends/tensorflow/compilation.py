"""Compilation on TensorFlow. Python values are static by themselves: each gets its own trace."""

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from ..._core import tree
from ..exports import hand_on

_Tensor = type(tf.constant(0))
_static_types = (bool, int, float, complex, str)


def compile_function(
    fn: Callable[..., Any],
    *,
    static_argnums: tuple[int, ...],
    static_argnames: tuple[str, ...],
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
        self._traces: dict[Any, Any] = {}

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        leaves, spec = tree.flatten((args, kwargs))
        tensors, kinds = [], []
        for x in leaves:
            if type(x) is _Tensor:
                tensors.append(x)
                kinds.append((x.dtype, x._shape_tuple()))  # hashed in C, unlike x.shape
            elif type(x) in _static_types:
                kinds.append((type(x), x))
            else:
                # Symbolic tensors of an enclosing function, variables, arrays of NumPy.
                return self._whole(*args, **kwargs)
        key = (spec, *kinds)
        trace = self._traces.get(key)
        if trace is None:
            results, trace = self._trace(leaves, tensors, spec)
            self._traces[key] = trace
            return tree.unflatten(trace[1], results)
        run, out_spec = trace
        return tree.unflatten(out_spec, run(tensors))

    def _trace(
        self, leaves: list[Any], tensors: list[Any], spec: Any
    ) -> tuple[Any, tuple[Any, Any]]:
        """The first results; then a function from tensors to results, and the structure of the
        results.
        """
        out_specs, counts = [], []

        def flat(*tensors: Any) -> list[Any]:
            remaining = list(tensors)
            filled = [remaining.pop(0) if type(x) is _Tensor else x for x in leaves]
            args, kwargs = tree.unflatten(spec, filled)
            outputs, out_spec = tree.flatten(self._fn(*args, **kwargs))
            out_specs.append(out_spec)
            counts.append(len(outputs))
            return outputs

        traced = tf.function(flat, autograph=False)
        results = traced(
            *tensors
        )  # asked for the concrete function first, tf.function would trace twice
        signature = [tf.TensorSpec(x.shape, x.dtype) for x in tensors]
        concrete = traced.get_concrete_function(*signature)
        call_flat = getattr(concrete, "_call_flat", None)
        if call_flat is None or len(concrete.outputs) != counts[-1]:
            # Ragged or sparse results are several tensors each.
            return results, (lambda arrays: traced(*arrays), out_specs[-1])
        # The signature was compared above; ConcreteFunction.__call__ would do it again, 20 µs a
        # tensor.
        return results, (lambda arrays: call_flat(arrays, concrete.captured_inputs), out_specs[-1])


def for_many_calls(fn: Callable[..., Any], args: list[Any]) -> Callable[..., Any]:
    """The function itself: eager calls cost no compilation here."""
    return fn


hand_on(globals())
