"""Many processes with NumPy: MPI, through mpi4py.

Calls are non-blocking and are polled until they finish: so a peer that hangs is noticed, and ranks
that share a core let each other run.
"""

import atexit
import contextlib
import os
import re
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from ..._core.errors import BackendNotInstalledError, DistributedError
from ..shared.distributed import Place
from ._tape import defvjp, primitive

_SPINS = 2000  # before a waiting rank begins to sleep
_PAUSE = 1e-4


def connect_ranks(place: Place) -> "Engine":
    """Join MPI's world; the launcher (mpiexec, or Trellis') has set its address."""
    try:
        import mpi4py
    except ModuleNotFoundError:
        raise BackendNotInstalledError(
            "NumPy arrays travel between processes by MPI, which needs the package mpi4py and an "
            "MPI library. Run: pip install 'trellis-ml[mpi]'"
        ) from None
    # MPI_Finalize waits for all ranks: one that failed must not wait for those that wait for it.
    mpi4py.rc.finalize = False
    from mpi4py import MPI

    world = MPI.COMM_WORLD
    if (world.rank, world.size) != (place.rank, place.size):
        raise DistributedError(
            f"MPI counts {world.size} processes here, {place.size} were announced. Start the "
            "program with `trellis run` or mpiexec of the MPI library that mpi4py loads "
            f"({MPI.Get_library_version().split(chr(10))[0].strip()})."
        )
    engine = Engine(MPI, world.Dup(), place.timeout)
    atexit.register(engine.close)
    engine.barrier()
    _free_names()
    return engine


def _free_names() -> None:
    """Unlink the names of MPICH's shared memory, now that all ranks have it open: so it is freed
    with the last of them, also if they are killed.
    """
    try:
        maps = Path("/proc/self/maps").read_text()
    except OSError:  # not Linux
        return
    for name in set(re.findall(r"/dev/shm/mpich_shm_\w+", maps)):
        with contextlib.suppress(OSError):  # another rank did it first
            os.unlink(name)


class Engine:
    """Collectives over one-dimensional arrays."""

    def __init__(self, mpi: Any, world: Any, timeout: float):
        self._mpi, self._world, self._timeout = mpi, world, timeout
        self._ops = {"sum": mpi.SUM, "max": mpi.MAX, "min": mpi.MIN}
        self._is_open = True

    def all_reduce(self, buffer: Any, op: str) -> Any:
        return _all_reduce(buffer, self, op)

    def reduce(self, buffer: Any, op: str) -> Any:
        """The same for plain arrays, without a derivative."""
        sent, kind = _known_to_mpi(buffer)
        found = np.empty_like(sent)
        self._wait(self._world.Iallreduce(sent, found, self._ops[op]))
        return found.astype(kind, copy=False)

    def broadcast(self, buffer: Any, root: int) -> Any:
        # As bytes: MPI need not know the data type.
        found = np.array(buffer, copy=True)
        self._wait(self._world.Ibcast(found.view(np.uint8), root))
        return found

    def all_gather(self, buffer: Any) -> Any:
        sent = np.ascontiguousarray(buffer)
        found = np.empty((self._world.size, *sent.shape), sent.dtype)
        self._wait(self._world.Iallgather(sent.view(np.uint8), found.view(np.uint8)))
        return found

    def reduce_scatter(self, buffer: Any, op: str) -> Any:
        sent, kind = _known_to_mpi(buffer)
        found = np.empty(sent.shape[0] // self._world.size, sent.dtype)
        self._wait(self._world.Ireduce_scatter_block(sent, found, self._ops[op]))
        return found.astype(kind, copy=False)

    def barrier(self) -> None:
        self._wait(self._world.Ibarrier())

    def compile(self, fn: Callable[..., Any], keep: bool = False) -> Callable[..., Any]:
        return fn

    def local(self, x: Any) -> Any:
        return x

    def close(self) -> None:
        """Leave, if all leave; after an error leave without waiting, so that the launcher sees
        it."""
        if not self._is_open:
            return
        self._is_open = False
        if getattr(sys, "last_value", None) is not None or self._mpi.Is_finalized():
            return
        try:
            self.barrier()
        except DistributedError:
            return
        self._mpi.Finalize()

    def _wait(self, request: Any) -> None:
        for _ in range(_SPINS):
            if request.Test():
                return
            time.sleep(0)  # lets a rank on the same core run
        end = time.monotonic() + self._timeout
        while not request.Test():
            if time.monotonic() > end:
                raise DistributedError(f"no answer within {self._timeout:g} seconds")
            time.sleep(_PAUSE)


def _known_to_mpi(x: Any) -> tuple[Any, Any]:
    """MPI adds no 16-bit floats: they are added in 32 bits and rounded once."""
    is_short = x.dtype.itemsize == 2 and x.dtype.kind not in "iu"
    return np.ascontiguousarray(x, np.float32 if is_short else None), x.dtype


@primitive
def _all_reduce(x: Any, engine: Engine, op: str) -> Any:
    return engine.reduce(x, op)


def _vjp(y: Any, x: Any, engine: Engine, op: str) -> Callable[[Any], Any]:
    if op != "sum":
        raise NotImplementedError(f"all_reduce(op={op!r}) has no derivative")
    # The sum of all ranks' losses is differentiated: each rank has a copy of the sum.
    return lambda g: _all_reduce(g, engine, "sum")


defvjp(_all_reduce, _vjp)
