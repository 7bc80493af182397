"""Collectives over the launcher's sockets, between threads of this process."""

import socket
from concurrent.futures import ThreadPoolExecutor

import ml_dtypes
import numpy as np
import pytest

import trellis
from trellis._backends.shared.ring import Ring


@pytest.fixture
def rings():
    made = []

    def make(size, timeout=20.0):
        pairs = [socket.socketpair() for _ in range(size)]
        found = []
        for rank in range(size):
            before, after = pairs[rank - 1][1].detach(), pairs[rank][0].detach()
            found.append(Ring(rank, size, (before, after)))
            found[-1].timeout = timeout
        made.extend(found)
        return found

    yield make
    for ring in made:
        ring.close()


def on_all(members, call):
    """The results of `call(ring, rank)` on every rank, or the errors."""

    def run(rank):
        try:
            return call(members[rank], rank)
        except trellis.errors.DistributedError as error:
            return error

    with ThreadPoolExecutor(len(members)) as pool:
        return list(pool.map(run, range(len(members))))


# One element for three ranks; and parts that no socket buffer holds.
@pytest.mark.parametrize("length", [1, 7, 1_500_001])
@pytest.mark.parametrize("size", [2, 3, 5])
def test_collectives(rings, size, length):
    held = [(np.arange(length) % 97 + rank).astype(np.float32) for rank in range(size)]
    members = rings(size)
    # Whole numbers below 2**24: sums are exact.
    for op, expected in (("sum", np.sum(held, 0)), ("max", held[-1]), ("min", held[0])):
        for found in on_all(members, lambda ring, rank, op=op: ring.all_reduce(held[rank], op)):
            assert found.dtype == np.float32 and (found == expected).all()
    for root in range(size):
        for found in on_all(members, lambda ring, rank, r=root: ring.broadcast(held[rank], r)):
            assert (found == held[root]).all()
    for found in on_all(members, lambda ring, rank: ring.all_gather(held[rank])):
        assert found.shape == (size, length) and (found == np.stack(held)).all()


def test_all_ranks_get_the_same_bits(rings):
    random = np.random.default_rng(0)
    held = [random.normal(size=1001).astype(np.float32) for _ in range(3)]
    first, *others = on_all(rings(3), lambda ring, rank: ring.all_reduce(held[rank], "sum"))
    # Two roundings of sums of three numbers of size 1: 2**-23 each.
    np.testing.assert_allclose(first, np.sum(held, 0, np.float64), rtol=0, atol=2e-6)
    assert all([other.tobytes() == first.tobytes() for other in others])


@pytest.mark.parametrize("kind", ["float16", ml_dtypes.bfloat16, "float64", "int32", "int64"])
def test_types(rings, kind):
    # 256 + 1 + 1: bfloat16 rounds 257 to 256, so adding one by one in it would lose both.
    held = [np.array([value], kind) for value in (256, 1, 1)]
    for found in on_all(rings(3), lambda ring, rank: ring.all_reduce(held[rank], "sum")):
        assert found.dtype == np.dtype(kind) and found[0] == 258


def test_ranks_that_make_different_calls_are_told(rings):
    x = np.ones(3, np.float32)
    calls = [lambda ring: ring.all_reduce(x, "sum"), lambda ring: ring.all_gather(x)]
    found = on_all(rings(2), lambda ring, rank: calls[rank](ring))
    assert "makes the call all_gather() of 12 bytes" in str(found[0])
    assert "makes the call all_reduce() of 12 bytes" in str(found[1])
    members = rings(2)
    found = on_all(members, lambda ring, rank: ring.broadcast(x[: 2 + rank], 0))
    assert all([isinstance(each, trellis.errors.DistributedError) for each in found])
    with pytest.raises(trellis.errors.DistributedError, match="an earlier collective failed"):
        members[0].all_gather(x)


def test_a_neighbour_that_is_silent_or_gone(rings):
    x = np.ones(3, np.float32)
    members = rings(2, timeout=0.05)
    with pytest.raises(trellis.errors.DistributedError, match=r"no answer within 0\.05 seconds"):
        members[0].all_gather(x)
    members = rings(2)
    members[1].close()
    with pytest.raises(trellis.errors.DistributedError, match="has ended"):
        members[0].all_gather(x)
