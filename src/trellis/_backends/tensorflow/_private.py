"""The private functions of TensorFlow that this backend uses, each with a public fallback.

Each one is tested with a small call when the backend is loaded. If a version of TensorFlow lacks it
or has it in another form, the fallback gives the same values, only slower.
"""

import contextlib
import logging
from collections.abc import Callable, Iterator
from typing import Any

import tensorflow as tf

from ..._core.errors import NotSupportedError
from ..doors import opened, require

# Classes ----------------------------------------------------------------------------------------
# The classes of eager tensors and of tensors in graphs have no public name: they are taken from one
# of each.

_seen: list[Any] = []


def _double(x: Any) -> Any:
    _seen.append(type(x))
    return x + x


with tf.init_scope():  # this file may be imported while a graph is traced
    Eager: Any = type(tf.constant(0))
    _doubling = tf.function(_double, autograph=False)
    _concrete = _doubling.get_concrete_function(tf.TensorSpec([], tf.float32))
Symbolic: Any = _seen[0]


# Type and shape of a tensor ---------------------------------------------------------------------
# As a number and a tuple of numbers: reading `x.dtype` and `x.shape` takes three times as long.


def _eager_facts() -> tuple[Callable[[Any], int], Callable[[Any], tuple[int, ...]]]:
    kind, shape = Eager._datatype_enum, Eager._shape_tuple
    x = tf.zeros((2, 3), tf.float64)
    require(kind(x) == tf.float64.as_datatype_enum, shape(x) == (2, 3))
    return kind, shape


def _public_datatype(x: Any) -> Any:
    return x.dtype.as_datatype_enum


def _public_shape(x: Any) -> Any:
    return tuple(x.shape)


datatype_of, shape_of = opened("tensorflow.eager_facts", _eager_facts) or (
    _public_datatype,
    _public_shape,
)


# Tapes ------------------------------------------------------------------------------------------
# Whether a tape may be recording. The fallback says yes: nothing is donated then.


def _is_recording() -> Callable[[], bool]:
    from tensorflow.python.eager.record import could_possibly_record

    require(could_possibly_record() is False)
    with tf.GradientTape():
        require(could_possibly_record() is True)
    return could_possibly_record


is_recording: Callable[[], bool] = opened("tensorflow.is_recording", _is_recording) or (
    lambda: True
)


# To record a whole function on a tape as one operation. Without it, the tape records its
# operations.


def _record() -> Any:
    from tensorflow.python.eager import record

    x = tf.ones(())
    with tf.GradientTape() as tape:
        tape.watch(x)
        require(record.should_record_backprop([x]))
        with record.stop_recording():
            y = x * 2.0
        record.record_operation("Recorded", [y], [x], lambda g: [3.0 * g])
    require(float(tape.gradient(y, x)) == 3.0)
    return record


record: Any = opened("tensorflow.record", _record)


def may_be_recorded(x: Any) -> bool:
    """Whether a tape may follow what is computed from `x`; a graph may be differentiated later."""
    if record is None or tf.inside_function():
        return True
    return bool(record.should_record_backprop([x]))


def is_recorded(x: Any) -> bool | None:
    """Whether a tape follows what is computed from `x`; None where nobody can know."""
    return None if record is None else bool(record.should_record_backprop([x]))


# The operations that a function runs, outside of graphs. Without it, a checkpoint saves no memory.


def _operations_of() -> Callable[[Callable[[Any], Any], Any], tuple[Any, list[Any]]]:
    from tensorflow.python.framework import op_callbacks

    def operations_of(fn: Callable[[Any], Any], xs: Any) -> tuple[Any, list[Any]]:
        # The tensors themselves: as long as they are there, no other one has their id.
        found: list[Any] = []

        def note(
            kind: Any, inputs: Any, attrs: Any, outputs: Any, op_name: Any = None, graph: Any = None
        ) -> None:
            if graph is None:
                found.append((inputs, outputs))

        op_callbacks.add_op_callback(note)
        try:
            return fn(xs), found
        finally:
            op_callbacks.remove_op_callback(note)

    x, y = tf.ones(()), tf.ones(())
    result, ((inputs, outputs),) = operations_of(lambda x: x * y, x)
    require(inputs[0] is x, inputs[1] is y, outputs[0] is result)
    return operations_of


operations_of: Any = opened("tensorflow.operations_of", _operations_of)


# Graphs -----------------------------------------------------------------------------------------
# To call a graph with a flat list of tensors. Without it TensorFlow compares them with the
# signature,
# 20 µs a tensor.


def _flat_call() -> Callable[[Any], Callable[[list[Any]], Any]]:
    def flat_call(concrete: Any) -> Callable[[list[Any]], Any]:
        call = concrete._call_flat
        return lambda tensors: call(tensors, concrete.captured_inputs)

    found = flat_call(_concrete)([tf.ones(())])
    require(float(tf.nest.flatten(found)[0]) == 2.0)
    return flat_call


def _public_flat_call(concrete: Any) -> Callable[[list[Any]], Any]:
    def call(tensors: list[Any]) -> Any:
        remaining = list(tensors)
        args, kwargs = tf.nest.map_structure(
            lambda x: remaining.pop(0) if isinstance(x, tf.TypeSpec) else x,
            concrete.structured_input_signature,
        )
        found = tf.nest.flatten(concrete(*args, **kwargs), expand_composites=True)
        return [x for x in found if x is not None]

    return call


flat_call = opened("tensorflow.flat_call", _flat_call) or _public_flat_call


# To pass a graph to the runtime without a call's work for tapes and error traces: half the time of
# a step with 25 tensors. The fallback calls the graph.


def _runtime_call() -> Callable[[Any], tuple[Callable[..., Any], Any] | None]:
    def runtime_call(concrete: Any) -> tuple[Callable[..., Any], Any] | None:
        if any([callable(x) for x in concrete._captured_inputs]):  # it may differ from call to call
            return None
        inner = concrete._inference_function
        return inner._bound_context.call_function, inner.name

    found: Any = runtime_call(_concrete)
    require(float(found[0](found[1], [tf.ones(())], 1)[0]) == 2.0)
    return runtime_call


runtime_call = opened("tensorflow.runtime_call", _runtime_call) or (lambda concrete: None)


# To keep tf.function from warning about functions that are traced at nearly every call: it sees
# only those calls of ours that trace. Without it, it may warn.


def _unwarned() -> Callable[[Any], Any]:
    def unwarned(traced: Any) -> Any:
        traced._omit_frequent_tracing_warning = True
        return traced

    require(_doubling._omit_frequent_tracing_warning is False)
    return unwarned


unwarned = opened("tensorflow.unwarned", _unwarned) or (lambda traced: traced)


# Processes --------------------------------------------------------------------------------------
# To let collective operations use a server that Trellis starts. There is no fallback: a strategy
# would have to start it before the first tensor.


def _context() -> Any:
    from tensorflow.python.eager import context

    require(hasattr(context.context(), "_collective_ops_server_def"))
    require(callable(context.context().enable_collective_ops))
    return context.context


_get_context: Any = opened("tensorflow.collectives", _context)


def has_collectives() -> bool:
    """Whether this process already has a server for them."""
    return _get_context is not None and _get_context()._collective_ops_server_def is not None


def enable_collectives(hosts: tuple[str, ...], rank: int) -> None:
    """Start the server of this process, the `rank`-th of `hosts`."""
    if _get_context is None:
        raise NotSupportedError(
            f"Trellis cannot connect processes with TensorFlow {tf.__version__}. Install another "
            "version of it, or train with the torch, jax or numpy backend."
        )
    with _quiet():
        _get_context().enable_collective_ops(_server(hosts, rank))


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Silence a warning that existing tensors may move: on CPUs they stay valid."""
    log = logging.getLogger("absl")
    before = log.level
    log.setLevel(logging.ERROR)
    try:
        yield
    finally:
        log.setLevel(before)


def _server(hosts: tuple[str, ...], rank: int) -> Any:
    server = tf.train.ServerDef(job_name="worker", task_index=rank, protocol="grpc")
    job = server.cluster.job.add()
    job.name = "worker"
    for i, host in enumerate(hosts):
        job.tasks[i] = host
    server.default_session_config.device_count["CPU"] = 1
    server.default_session_config.experimental.collective_group_leader = (
        "/job:worker/replica:0/task:0"
    )
    return server


# The message class of SavedModel files ----------------------------------------------------------
# The format is public and stable; TensorFlow exports no name for its class. There is no fallback.

from tensorflow.core.protobuf.saved_model_pb2 import SavedModel as SavedModel  # noqa: E402

# Functions inside a graph, for the reader -------------------------------------------------------
# The graphs of the functions that a graph calls, by their names. Without it, the reader raises.


def _functions_of() -> Callable[[Any], Callable[[str], Any]]:
    from tensorflow.python.framework.function_def_to_graph import function_def_to_graph

    def functions_of(graph: Any) -> Callable[[str], Any]:
        library: dict[str, Any] = {}

        def graph_of(name: str) -> Any:
            with contextlib.suppress(AttributeError):  # the functions of a file have none
                return graph._get_function(name).graph
            if not library:
                found = graph.as_graph_def().library.function
                library.update({f.signature.name: f for f in found})
            with graph.as_default():
                return function_def_to_graph(library[name])

        return graph_of

    @tf.function(autograph=False)  # type: ignore[untyped-decorator]
    def outer(x: Any) -> Any:
        return _doubling(x)

    whole = outer.get_concrete_function(tf.TensorSpec([], tf.float32)).graph
    called = [op.get_attr("f").name for op in whole.get_operations() if "Call" in op.type]
    require(len(functions_of(whole)(called[0]).inputs) == 1)
    return functions_of


def _public_functions_of(graph: Any) -> Callable[[str], Any]:
    def refuse(name: str) -> Any:
        raise NotSupportedError(
            f"The graph calls a function, {name}, whose operations TensorFlow {tf.__version__} "
            "does not hand out. Install another version of TensorFlow, or export the model to ONNX "
            "and read that with trellis.convert.from_onnx."
        )

    return refuse


functions_of = opened("tensorflow.functions_of", _functions_of) or _public_functions_of
