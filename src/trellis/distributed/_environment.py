"""Rank, size and addresses of this process, from the environment variables that launchers set."""

import json
import socket
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from .._backends.shared.distributed import LOOPBACK, Place
from .._core.errors import ArgumentError, DistributedError

# Rank and size, by launcher: torchrun and `trellis run`; MPICH, Intel MPI and SLURM's PMI; Open
# MPI; srun.
_NAMES = (
    ("RANK", "WORLD_SIZE"),
    ("PMI_RANK", "PMI_SIZE"),
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
    ("SLURM_PROCID", "SLURM_STEP_NUM_TASKS"),
)
RING = "TRELLIS_RING"  # descriptors of the sockets to the neighbours, from `trellis run`


def place_of(variables: Mapping[str, str], timeout: float) -> Place:
    """The rank and size that the variables describe; without any, the only process there is."""
    given = [(r, s) for r, s in _NAMES if r in variables and s in variables]
    if not given:
        return Place(0, 1, timeout=timeout)
    rank_name, size_name = given[0]
    rank, size = int(variables[rank_name]), int(variables[size_name])
    if not 0 <= rank < size:
        raise ArgumentError(f"{rank_name}={rank} is not a rank of {size_name}={size} processes.")
    port = int(variables.get("MASTER_PORT", "0"))
    return Place(
        rank,
        size,
        variables.get("MASTER_ADDR", ""),
        port,
        _coordinator_port(variables, port),
        _hosts(variables),
        timeout,
        _ring(variables),
    )


def _coordinator_port(variables: Mapping[str, str], port: int) -> int:
    """JAX needs its own port, next to torch's; no launcher names one."""
    given = variables.get("JAX_COORDINATOR_ADDRESS", "")
    if ":" in given:
        return int(given.rpartition(":")[2])
    return port + 1 if port else 0


def _hosts(variables: Mapping[str, str]) -> tuple[str, ...]:
    """The addresses of all workers, from the variable of TensorFlow."""
    try:
        workers = json.loads(variables.get("TF_CONFIG", "{}"))["cluster"]["worker"]
    except (KeyError, TypeError, ValueError):
        return ()
    return tuple([str(host) for host in workers])


def _ring(variables: Mapping[str, str]) -> tuple[int, int] | None:
    before, _, after = variables.get(RING, "").partition(",")
    return (int(before), int(after)) if after else None


def with_addresses(place: Place) -> Place:
    """The place, completed where the launcher gave no addresses: then MPI carries them around."""
    if place.size == 1 or (place.address and place.port):
        return place
    try:
        from mpi4py import MPI
    except ImportError:
        raise DistributedError(
            "The launcher sets the number of processes but not the address of rank 0. Set "
            "MASTER_ADDR and MASTER_PORT to the host of rank 0 and a free port there, or "
            "install mpi4py, which asks MPI: pip install 'trellis-ml[mpi]'."
        ) from None
    world = MPI.COMM_WORLD
    machines = set(world.allgather(socket.gethostname()))
    host = LOOPBACK if len(machines) == 1 else socket.gethostname()
    port, coordinator_port, own = free_ports(3)
    found: Any = world.allgather((host, port, coordinator_port, f"{host}:{own}"))
    address, port, coordinator_port, _ = found[0]
    hosts = tuple([each[3] for each in found])
    return replace(
        place, address=address, port=port, coordinator_port=coordinator_port, hosts=hosts
    )


def free_ports(count: int) -> list[int]:
    """Ports that are free right now."""
    sockets = [socket.socket() for _ in range(count)]
    try:
        for each in sockets:
            each.bind((LOOPBACK, 0))
        return [int(each.getsockname()[1]) for each in sockets]
    finally:
        for each in sockets:
            each.close()
