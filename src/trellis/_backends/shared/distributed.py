"""The rank of a process in its group: what an engine needs to find the other processes."""

from dataclasses import dataclass

LOOPBACK = "127.0.0.1"


@dataclass(frozen=True)
class Place:
    """One rank of a group of processes.

    `address` and `port` are where rank 0 listens; `hosts` has "host:port" for every rank, for the
    engine that needs a server in each process; `timeout` is in seconds. `ring` has the
    descriptors of two sockets, to the rank before and to the next one, where a launcher has
    connected them.
    """

    rank: int
    size: int
    address: str = LOOPBACK
    port: int = 0
    coordinator_port: int = 0
    hosts: tuple[str, ...] = ()
    timeout: float = 300.0
    ring: tuple[int, int] | None = None

    @property
    def is_local(self) -> bool:
        """Whether all ranks are on this machine: then engines listen on loopback only."""
        return self.address == LOOPBACK
