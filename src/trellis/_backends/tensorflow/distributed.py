"""Many processes with TensorFlow.

Its collective ops, as MultiWorkerMirroredStrategy uses them, need a server in each process, which
listens on all network interfaces and runs any operation for anyone who connects. Under
`trellis run` the arrays go over sockets of the launcher instead, unless `--expose` asks for
servers.
"""

import zlib
from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary

import tensorflow as tf

from ..._core.errors import DistributedError
from ..shared.distributed import Place
from ..shared.ring import Ring, ring_of
from ._private import enable_collectives, has_collectives
from ._types import Tensor
from .compilation import compile_function

_GROUP = 1_017  # a number for the group of all ranks; strategies count theirs from 0


def connect_ranks(place: Place) -> "Engine":
    """Take the launcher's sockets; without them, start the server of this process and let
    collective ops use it, unless a strategy has."""
    ring = ring_of(place)
    if ring is not None:
        return RingEngine(place, ring)
    if has_collectives():
        return Engine(place)
    if len(place.hosts) != place.size:
        raise DistributedError(
            "TensorFlow needs the address of every process: start the program with `trellis run` "
            "or mpiexec, or set TF_CONFIG as for MultiWorkerMirroredStrategy."
        )
    enable_collectives(place.hosts, place.rank)
    engine = Engine(place)
    engine.barrier()
    return engine


class Engine:
    """Collectives over one-dimensional tensors."""

    def __init__(self, place: Place):
        self._place = place
        self._keys: dict[int, Any] = {}
        self._counts: WeakKeyDictionary[Any, int] = WeakKeyDictionary()

    def all_reduce(self, buffer: Tensor, op: str) -> Any:
        @tf.custom_gradient  # type: ignore[untyped-decorator]
        def reduced(x: Tensor) -> Any:
            def pull(g: Tensor) -> Any:
                if op != "sum":
                    raise NotImplementedError(f"all_reduce(op={op!r}) has no derivative")
                return self.all_reduce(g, "sum")

            return self._reduce(x, op), pull

        return reduced(buffer)

    def _reduce(self, x: Tensor, op: str) -> Any:
        merge = {"sum": "Add", "max": "Max", "min": "Min"}[op]
        options = self._options(op, x)
        return tf.raw_ops.CollectiveReduceV2(
            input=x, ordering_token=[], merge_op=merge, final_op="Id", **options
        )

    def broadcast(self, buffer: Tensor, root: int) -> Any:
        options = self._options(f"from {root}", buffer)
        if self._place.rank == root:
            return tf.raw_ops.CollectiveBcastSendV2(input=buffer, **options)
        shape = tf.constant(buffer.shape)
        return tf.raw_ops.CollectiveBcastRecvV2(shape=shape, T=buffer.dtype, **options)

    def all_gather(self, buffer: Tensor) -> Any:
        options = self._options("gather", buffer)
        found = tf.raw_ops.CollectiveGatherV2(input=buffer, ordering_token=[], **options)
        return tf.reshape(found, (self._place.size, *buffer.shape))

    def reduce_scatter(self, buffer: Tensor, op: str) -> Any:
        # TensorFlow scatters on GPUs only.
        whole = tf.reshape(self._reduce(buffer, op), (self._place.size, -1))
        return whole[self._place.rank]

    def barrier(self) -> None:
        self._reduce(tf.zeros(1), "sum").numpy()

    def compile(self, fn: Callable[..., Any], keep: bool = False) -> Callable[..., Any]:
        return compile_function(fn, static_argnums=(), static_argnames=())

    def local(self, x: Tensor) -> Any:
        return x

    def close(self) -> None:
        """TensorFlow cannot leave a group; the server ends with the process."""

    def _options(self, what: str, x: Tensor) -> dict[str, Any]:
        return {
            "group_size": self._place.size,
            "group_key": _GROUP,
            "instance_key": tf.constant(self._key(what, x)),
            "communication_hint": "ring",
            "timeout_seconds": self._place.timeout,
        }

    def _key(self, what: str, x: Tensor) -> int:
        """A number for a call of this kind: the same on all ranks, another for another shape.

        Calls inside one graph may run at the same time, so each has the number of its position
        there. That is the same on all ranks, even if only some of them have to trace again.
        """
        described = (what, tuple(x.shape), x.dtype.name, self._place_in_graph())
        key = zlib.crc32(repr(described).encode()) & 0x3FFFFFFF
        while self._keys.setdefault(key, described) != described:
            key += 1
        return key

    def _place_in_graph(self) -> int:
        if tf.executing_eagerly():
            return 0
        graph = tf.compat.v1.get_default_graph()
        while hasattr(getattr(graph, "outer_graph", None), "outer_graph"):
            graph = graph.outer_graph
        self._counts[graph] = self._counts.get(graph, 0) + 1
        return self._counts[graph]


class RingEngine(Engine):
    """The same over host arrays. In a graph a stateful operation calls Python; TensorFlow runs
    these in the order of the program, so the ranks agree on it.
    """

    def __init__(self, place: Place, ring: Ring):
        super().__init__(place)
        self._ring = ring

    def _reduce(self, x: Tensor, op: str) -> Any:
        return _on_host(lambda a: self._ring.all_reduce(a, op), x, x.shape)

    def broadcast(self, buffer: Tensor, root: int) -> Any:
        return _on_host(lambda a: self._ring.broadcast(a, root), buffer, buffer.shape)

    def all_gather(self, buffer: Tensor) -> Any:
        return _on_host(self._ring.all_gather, buffer, (self._place.size, *buffer.shape))


def _on_host(fn: Callable[[Any], Any], x: Tensor, shape: Any) -> Any:
    if tf.executing_eagerly():
        return tf.convert_to_tensor(fn(x.numpy()))
    found = tf.numpy_function(fn, [x], x.dtype, stateful=True)
    found.set_shape(shape)
    return found
