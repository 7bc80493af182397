"""What does one call on four elements cost, compared with Keras 3, Ivy and array-api-compat?

Each peer has a process for each backend. array-api-compat has no namespace for TensorFlow.
"""

import sys

from harness import QUICK, Report, one_core

one_core()

import contextlib

import numpy as np
from dispatch_calls import ARITY, contestants, native_function
from peer_process import HAS_PEERS, Peer, PeerError

import trellis

NAMES = ("keras", "array-api-compat", "ivy")


def expected(backend, op):
    xp = trellis.namespace(backend)
    xs = [xp.asarray(np.linspace(a, b, 4).astype("float32")) for a, b in ((0.1, 0.9), (0.2, 0.8))]
    return trellis.to_numpy(getattr(trellis, op)(*xs[: ARITY[op]]))


def large(report):
    """What a million elements take, beside a copy of as many bytes: here the memory is the
    limit."""
    for backend in ("numpy", "jax", "torch", "tensorflow"):
        xp = trellis.namespace(backend)
        plain = np.linspace(0.1, 0.9, 1_000_000, dtype="float32")
        x, y = xp.asarray(plain), xp.asarray(plain[::-1].copy())
        # Two arrays are read and one is written; a copy reads one and writes one.
        source = np.concatenate([plain, plain[: len(plain) // 2]])
        target = np.empty_like(source)
        native = native_function(backend, "add")
        contestants = {
            "native": lambda f=native, x=x, y=y: waited(backend, f(x, y)),
            "trellis": lambda x=x, y=y: waited(backend, trellis.add(x, y)),
            "copy of as many bytes": lambda t=target, s=source: np.copyto(t, s),
        }
        report.add(f"{backend} add, 1,000,000 elements", contestants, budget=1.0)


def waited(backend, x):
    return x.block_until_ready() if backend == "jax" else x


def names_for(backend):
    """Ivy takes a millisecond a call, and half a minute to start: on one backend that is seen."""
    if not HAS_PEERS:
        return ()
    is_left_out = backend != "numpy" and "--long" not in sys.argv
    return [name for name in NAMES if name != "ivy" or not is_left_out]


def main():
    report = Report("array_ops", "One call on 4 elements: native, Trellis, and the peers")
    ops = ("tanh", "add", "sum") if QUICK else tuple(ARITY)
    failed = {}
    # Ivy and Keras take long to start, and a process for each backend.
    for backend in ("numpy",) if QUICK else ("numpy", "jax", "torch", "tensorflow"):
        with contextlib.ExitStack() as stack:
            peers = {}
            for name in names_for(backend):
                peers[name] = stack.enter_context(
                    Peer("array_ops.py", name, backend, KERAS_BACKEND=backend)
                )
            for op in ops:
                calls = contestants(backend, op)
                calls.pop("xp")
                for name, peer in peers.items():
                    try:
                        result, call = peer.make(op, arity=ARITY[op])
                        np.testing.assert_allclose(result, expected(backend, op), rtol=1e-5)
                        call.sample(3)
                        calls[name] = call
                    except PeerError as error:
                        failed[f"{name} on {backend}"] = str(error)
                report.add(f"{backend} {op}", calls, budget=0.6, rounds=9)
    large(report)
    report.notes += [f"{who} does not run: {why}" for who, why in failed.items()]
    if not HAS_PEERS:
        report.notes.append("Peers are not installed: `make bench` does it.")
    print(*report.notes, sep="\n", file=sys.stderr)
    report.save()


if __name__ == "__main__":
    main()
