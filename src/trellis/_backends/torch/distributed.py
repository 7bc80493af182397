"""Many processes with torch: torch.distributed, with gloo on CPUs and NCCL on CUDA."""

import atexit
import gc
import os
import socket
import sys
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import torch

from ..shared.distributed import Place
from ._types import Tensor
from .compilation import compile_function


def connect_ranks(place: Place) -> "Engine":
    """Join torch's default process group, the existing one or a new one."""
    import torch.distributed as dist

    is_ours = not dist.is_initialized()
    if is_ours:
        dist.init_process_group(
            "cpu:gloo,cuda:nccl" if torch.cuda.is_available() else "gloo",
            rank=place.rank,
            world_size=place.size,
            timeout=timedelta(seconds=place.timeout),
            **_meeting_point(place),
        )
    _define_op()
    engine = Engine(dist, is_ours)
    atexit.register(engine.leave)
    return engine


def _meeting_point(place: Place) -> dict[str, Any]:
    """Where the ranks find each other: a method, or on one machine a store on loopback."""
    import torch.distributed as dist

    # torchrun has the store itself, and its environment variables say where.
    if "TORCHELASTIC_RUN_ID" in os.environ:
        return {"init_method": "env://"}
    if not place.is_local:
        return {"init_method": f"tcp://{place.address}:{place.port}"}
    # By itself a store listens on all network interfaces.
    listening = None
    if place.rank == 0:
        listening = socket.create_server((place.address, place.port)).detach()
    store = dist.TCPStore(
        place.address,
        place.port,
        place.size,
        is_master=place.rank == 0,
        timeout=timedelta(seconds=place.timeout),
        master_listen_fd=listening,
    )
    return {"store": store}


class Engine:
    """Collectives over one-dimensional tensors."""

    def __init__(self, dist: Any, is_ours: bool):
        self._dist, self._is_ours = dist, is_ours
        self._size = dist.get_world_size()
        # Newer versions have other names for the two.
        self._gather = getattr(dist, "all_gather_single", None) or dist.all_gather_into_tensor
        self._scatter = getattr(dist, "reduce_scatter_single", None) or dist.reduce_scatter_tensor
        self._ops = {
            "sum": dist.ReduceOp.SUM,
            "max": dist.ReduceOp.MAX,
            "min": dist.ReduceOp.MIN,
        }

    def all_reduce(self, buffer: Tensor, op: str) -> Any:
        return _AllReduce.apply(buffer, op)

    def broadcast(self, buffer: Tensor, root: int) -> Any:
        found = buffer.clone()
        self._dist.broadcast(found, root)
        return found

    def all_gather(self, buffer: Tensor) -> Any:
        found = buffer.new_empty((self._size, *buffer.shape))
        self._gather(found.view(-1), buffer)
        return found

    def reduce_scatter(self, buffer: Tensor, op: str) -> Any:
        found = buffer.new_empty(buffer.shape[0] // self._size)
        self._scatter(found, buffer, self._ops[op])
        return found

    def barrier(self) -> None:
        self._dist.barrier()

    def compile(self, fn: Callable[..., Any], keep: bool = False) -> Callable[..., Any]:
        return compile_function(fn, static_argnums=(), static_argnames=())

    def local(self, x: Tensor) -> Any:
        return x

    def leave(self) -> None:
        """At the end of the program: a worker of gloo that still holds a tensor after Python exits
        aborts the process. After an error others may wait for this rank, and closing with
        NCCL would wait for them: then the process just ends.
        """
        if getattr(sys, "last_value", None) is None:
            gc.collect()  # modules of DDP and FSDP in reference cycles hold groups of their own
            self.close()

    def close(self) -> None:
        if self._is_ours and self._dist.is_initialized():
            self._dist.destroy_process_group()


class _AllReduce(torch.autograd.Function):
    """The operator with its derivative, in the form that torch.func supports too."""

    @staticmethod
    def forward(x: Tensor, op: str) -> Any:
        return torch.ops.trellis.all_reduce(x, op)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.op = inputs[1]

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        if ctx.op != "sum":
            raise NotImplementedError(f"all_reduce(op={ctx.op!r}) has no derivative")
        # The sum of all ranks' losses is differentiated: each rank has a copy of the sum.
        return torch.ops.trellis.all_reduce(g, "sum"), None


_defined: list[Any] = []


def _define_op() -> None:
    """A registered torch operator: compilers keep it as one operation."""
    if _defined:
        return
    import torch.distributed as dist

    ops = {"sum": dist.ReduceOp.SUM, "max": dist.ReduceOp.MAX, "min": dist.ReduceOp.MIN}

    def all_reduce(x: torch.Tensor, op: str) -> torch.Tensor:
        found = x.clone(memory_format=torch.contiguous_format)
        dist.all_reduce(found, ops[op])
        return found

    made = torch.library.custom_op("trellis::all_reduce", all_reduce, mutates_args=())
    made.register_fake(lambda x, op: torch.empty_like(x, memory_format=torch.contiguous_format))
    _defined.append(made)
