"""Many processes with JAX: jax.distributed, and programs over a mesh with one device of each.

A collective of JAX is a part of a compiled program that all processes run together. Called on
arrays of this process, it is such a program by itself; inside `compile` it is a line of one.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

from ..._core import tree
from ..._core.errors import DistributedError, TracingError
from ..shared.distributed import Place
from ._private import listen_at
from ._types import Array

AXIS = "trellis_rank"
_HEARTBEAT = 30  # seconds without a heartbeat after which a peer is considered dead


def connect_ranks(place: Place) -> "Engine":
    """Join jax.distributed, the existing group or a new one."""
    if not jax.distributed.is_initialized():
        try:
            jax.distributed.initialize(
                f"{place.address}:{place.coordinator_port}",
                num_processes=place.size,
                process_id=place.rank,
                initialization_timeout=int(place.timeout),
                heartbeat_timeout_seconds=min(_HEARTBEAT, int(place.timeout)),
                shutdown_timeout_seconds=int(place.timeout),
                **_listening(place),
            )
        except RuntimeError as error:
            if "before" not in str(error):
                raise
            raise DistributedError(
                "JAX can join other processes only before its first computation: call "
                'trellis.distributed.init(backend="jax") at the beginning of the program.'
            ) from error
        if place.is_local:
            listen_at(place.address)
    by_process = {d.process_index: d for d in reversed(jax.devices())}
    if len(by_process) != place.size:
        raise DistributedError(
            f"JAX sees the devices of {len(by_process)} processes, {place.size} were announced."
        )
    return Engine(Mesh(np.array([by_process[i] for i in range(place.size)]), (AXIS,)))


def _listening(place: Place) -> dict[str, str]:
    """By itself JAX's coordinator listens on all network interfaces."""
    if not place.is_local:
        return {}
    return {"coordinator_bind_address": f"{place.address}:{place.coordinator_port}"}


class Engine:
    """Collectives over one-dimensional arrays."""

    def __init__(self, mesh: Mesh):
        self._mesh, self._size = mesh, mesh.size
        self._everywhere = NamedSharding(mesh, P())
        self._device = mesh.local_devices[0]
        self._program = lru_cache(None)(self._make_program)
        # Between programs JAX sees no collective, so the derivative is defined here.
        self._sum = jax.custom_vjp(lambda x: self._alone("sum", x))
        self._sum.defvjp(lambda x: (self._sum(x), None), lambda _, g: (self._sum(g),))

    def all_reduce(self, buffer: Array, op: str) -> Any:
        return self._run(op, buffer)

    def broadcast(self, buffer: Array, root: int) -> Any:
        return self._run(f"from {root}", buffer)

    def all_gather(self, buffer: Array) -> Any:
        return self._run("gather", buffer)

    def reduce_scatter(self, buffer: Array, op: str) -> Any:
        return self._run(f"scatter {op}", buffer)

    def barrier(self) -> None:
        jax.block_until_ready(self.all_reduce(jax.numpy.zeros(1), "sum"))

    def compile(self, fn: Callable[..., Any], keep: bool = False) -> Callable[..., Any]:
        """One program of all ranks: each sees its own arrays, collectives join them.

        With `keep` the results stay as the program left them, so that the next call need not
        convert them; `local` makes them arrays of this process.
        """
        # Every array is declared as replicated on all devices; unchecked, since the ranks' data
        # differ. Only the collectives in `fn` send data.
        shared = jax.shard_map(fn, mesh=self._mesh, in_specs=P(), out_specs=P(), check_vma=False)
        program = jax.jit(shared)

        def called(*args: Any) -> Any:
            results = program(*tree.map(self._lifted, args))
            return results if keep else tree.map(self.local, results)

        called.program = program  # type: ignore[attr-defined]
        return called

    def local(self, x: Array) -> Any:
        return x.addressable_data(0) if isinstance(x, jax.Array) else x

    def close(self) -> None:
        jax.distributed.shutdown()

    def _run(self, name: str, buffer: Array) -> Any:
        if _is_inside():
            return _apply(name, buffer)
        if name == "sum":
            return self._sum(buffer)
        return self._alone(name, buffer)

    def _alone(self, name: str, buffer: Array) -> Any:
        """A collective as a separate program, on arrays of this process."""
        if isinstance(buffer, jax.core.Tracer):
            raise TracingError(
                "JAX compiles a collective only as a part of a program of all ranks: compile the "
                "function with trellis.distributed.compile(fn) instead of trellis.compile(fn)."
            )
        return self._program(name)(self._lifted(buffer)).addressable_data(0)

    def _make_program(self, name: str) -> Any:
        return jax.jit(
            jax.shard_map(
                lambda x: _apply(name, x),
                mesh=self._mesh,
                in_specs=P(),
                out_specs=P(),
                check_vma=False,
            )
        )

    def _lifted(self, x: Array) -> Any:
        """An array of this process as its part of one of all processes."""
        if not hasattr(x, "dtype"):
            return x
        if isinstance(x, jax.Array) and len(x.sharding.device_set) == self._size:
            return x
        x = jax.device_put(x, self._device)
        return jax.make_array_from_single_device_arrays(x.shape, self._everywhere, [x])


def _is_inside() -> bool:
    """Whether a program of all ranks is being traced."""
    try:
        jax.lax.axis_index(AXIS)
    except NameError:
        return False
    return True


def _apply(name: str, x: Array) -> Any:
    kind, _, detail = name.partition(" ")
    if kind == "from":
        is_root = jax.lax.axis_index(AXIS) == int(detail)
        return jax.lax.psum(jax.numpy.where(is_root, x, jax.numpy.zeros_like(x)), AXIS)
    if kind == "gather":
        return jax.lax.all_gather(x, AXIS)
    if kind == "scatter":
        if detail == "sum":
            return jax.lax.psum_scatter(x, AXIS, tiled=True)
        whole = _apply(detail, x).reshape(jax.lax.axis_size(AXIS), -1)
        return whole[jax.lax.axis_index(AXIS)]
    reduce = {"sum": jax.lax.psum, "max": jax.lax.pmax, "min": jax.lax.pmin}[kind]
    return reduce(x, AXIS)
