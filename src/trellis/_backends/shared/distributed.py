"""The rank of a process in its group: what an engine needs to find the other processes."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Place:
    """One rank of a group of processes.

    `address` and `port` are where rank 0 listens; `hosts` has "host:port" for every rank, for the
    engine that needs a server in each process; `timeout` is in seconds.
    """

    rank: int
    size: int
    address: str = "127.0.0.1"
    port: int = 0
    coordinator_port: int = 0
    hosts: tuple[str, ...] = ()
    timeout: float = 300.0
