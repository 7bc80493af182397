"""The group of processes that this one belongs to: all its state is here."""

import os
from typing import Any

from .._backends.shared.distributed import Place
from .._core.dispatch import current_backend, imported_names, load
from .._core.errors import ArgumentError, DistributedError
from .._core.kinds import check_arguments
from ._alone import Alone
from ._environment import place_of, with_addresses
from ._report import report_failures

_TIMEOUT = 300.0


class Group:
    """A rank, and its engines by the names of the frameworks."""

    def __init__(self, place: Place):
        self.place = place
        self.engines: dict[str, Any] = {}

    def engine(self, backend: str) -> Any:
        """The engine of a framework; all ranks connect it at its first use."""
        found = self.engines.get(backend)
        return self.connect(backend) if found is None else found

    def connect(self, backend: str) -> Any:
        xp = load(backend)
        if self.place.size == 1:
            engine: Any = Alone(xp)
        else:
            from ._sockets import open_to_others  # needed only here

            if xp.ABILITIES.needs_addresses:
                self.place = with_addresses(self.place)
            before = open_to_others()
            try:
                engine = xp.connect_ranks(self.place)
                self._check_sockets(backend, set(open_to_others().items()) - set(before.items()))
            except (DistributedError, ImportError):
                raise
            except Exception as error:
                raise DistributedError(
                    f"Rank {self.place.rank} of {self.place.size} could not join the others over "
                    f"{backend}'s engine: {error}"
                ) from error
        self.engines[backend] = engine
        return engine

    def _check_sockets(self, backend: str, found: set[tuple[str, str]]) -> None:
        """Without `--expose`, `trellis run` promises that no other machine can connect."""
        if found and self.place.ring is not None:
            places = ", ".join(sorted([where for _, where in found]))
            raise DistributedError(
                f"The engine of {backend} listens at {places}, where other machines may "
                "connect to it. Start the program with `trellis run --expose`, on a private "
                "network only; or see docs/distributed.md."
            )


_groups: list[Group] = []  # one or none


def init(*, backend: str | None = None, timeout: float = _TIMEOUT) -> None:
    """Join the processes that a launcher has started; without a launcher, this is the only process.
    Rank and size come from the environment variables of `trellis run` and torchrun (RANK,
    WORLD_SIZE,
    MASTER_ADDR, MASTER_PORT), of mpiexec, or of srun. Every framework has an engine of its own:
    `torch.distributed` (`init_process_group` with gloo, and NCCL for CUDA), `jax.distributed`
    (`initialize`), MPI for NumPy, TensorFlow's collective ops (a server in each process), or under
    `trellis run` sockets of the launcher. The
    engine of `backend` is connected now, all others when their arrays are first passed to a
    collective.
    JAX can be connected only before its first computation; without `backend`, it is if JAX is the
    default backend or the only framework that is imported.

    A collective that is not answered within `timeout` seconds raises, where the engine can detect
    it. With one process no engine is connected.

    >>> import trellis
    >>> trellis.distributed.init()
    >>> trellis.distributed.rank(), trellis.distributed.size()
    (0, 1)
    >>> trellis.distributed.shutdown()
    """
    check_arguments(init, locals())
    if timeout <= 0:
        raise ArgumentError(f"timeout is a number of seconds above 0, got {timeout}.")
    if backend is not None:
        load(backend)
    if not _groups:
        _groups.append(Group(place_of(os.environ, float(timeout))))
        report_failures()
    name = _needed_now() if backend is None else backend
    if name is not None and name not in _groups[0].engines:
        _groups[0].connect(name)


def _needed_now() -> str | None:
    """The default backend; where that is the host, an only framework that cannot join later."""
    name = current_backend()
    if not load(name).ABILITIES.is_host:
        return name
    imported = [other for other in imported_names() if other != name]
    is_urgent = len(imported) == 1 and load(imported[0]).ABILITIES.joins_first
    return imported[0] if is_urgent else None


def shutdown() -> None:
    """Leave the group; what TensorFlow uses stays open until the process ends.

    >>> import trellis
    >>> trellis.distributed.init()
    >>> trellis.distributed.shutdown()
    >>> trellis.distributed.is_initialized()
    False
    """
    while _groups:
        for engine in _groups.pop().engines.values():
            engine.close()


def is_initialized() -> bool:
    """Whether `init` was called.

    >>> import trellis
    >>> trellis.distributed.is_initialized()
    False
    """
    return bool(_groups)


def group() -> Group:
    """The group; before `init` there is none."""
    if not _groups:
        raise DistributedError(
            "This process has not joined a group: call trellis.distributed.init() first."
        )
    return _groups[0]


def rank() -> int:
    """The number of this process, from 0; 0 before `init`.

    >>> import trellis
    >>> trellis.distributed.rank()
    0
    """
    return _groups[0].place.rank if _groups else 0


def size() -> int:
    """The number of processes; 1 before `init`.

    >>> import trellis
    >>> trellis.distributed.size()
    1
    """
    return _groups[0].place.size if _groups else 1
