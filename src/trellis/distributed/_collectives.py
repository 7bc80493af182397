"""Collectives. Every rank makes the same calls in the same order."""

from collections.abc import Callable
from typing import Any, TypeVar

from .._core import tree
from .._core.dispatch import backend_of, name_of, xp_of_all
from .._core.errors import ArgumentError, DistributedError, ShapeError, TrellisError
from .._core.kinds import check_arguments
from .._core.tracing import is_followed
from ._buffers import pack
from ._group import group

T = TypeVar("T")
_OPS = ("sum", "mean", "max", "min")


def all_reduce(nest: T, /, op: str = "sum") -> T:
    """The "sum", "mean", "max" or "min" over all ranks, element by element, on every rank.

    The leaves of a pytree are sent as one buffer for each data type. All ranks get bitwise
    identical results. "sum" and "mean"
    can be differentiated; the gradient is that of the sum of all ranks' losses. Inside a compiled
    function: see `distributed.compile`.

    >>> import numpy as np, trellis
    >>> trellis.distributed.init()
    >>> trellis.distributed.all_reduce({"a": np.array([1.0, 2.0])}, "mean")
    {'a': array([1., 2.])}
    >>> trellis.distributed.shutdown()
    """
    _check_op("all_reduce", op)
    here = group()
    xp, buffers, unpack = pack("all_reduce", nest)
    name = "sum" if op == "mean" else op
    found = {}
    for kind, buffer in buffers.items():
        if op == "mean" and "float" not in kind:
            raise ArgumentError(f'op="mean" needs floating-point arrays, got {kind}.')
        if buffer.shape[0]:
            buffer = _run("all_reduce", _engine(xp).all_reduce, buffer, name)
        found[kind] = buffer / here.place.size if op == "mean" else buffer
    return unpack(found)  # type: ignore[no-any-return]


def broadcast(nest: T, /, *, root: int = 0) -> T:
    """The pytree of the rank `root`, on every rank; the others pass one of the same shapes.

    >>> import numpy as np, trellis
    >>> trellis.distributed.init()
    >>> trellis.distributed.broadcast(np.array([1, 2]))
    array([1, 2])
    >>> trellis.distributed.shutdown()
    """
    count = group().place.size
    if not isinstance(root, int) or not 0 <= root < count:
        raise ArgumentError(f"root is a rank from 0 to {count - 1}, got {root!r}.")
    xp, buffers, unpack = pack("broadcast", nest)
    found = {}
    for kind, buffer in buffers.items():
        if buffer.shape[0]:
            buffer = _run("broadcast", _engine(xp).broadcast, buffer, root)
        found[kind] = buffer
    return unpack(found)  # type: ignore[no-any-return]


def all_gather(nest: T, /) -> T:
    """The arrays of all ranks, one after the other along a new first axis, on every rank.

    >>> import numpy as np, trellis
    >>> trellis.distributed.init()
    >>> trellis.distributed.all_gather(np.array([1, 2]))
    array([[1, 2]])
    >>> trellis.distributed.shutdown()
    """
    group()
    xp, buffers, unpack = pack("all_gather", nest)
    found = {}
    for kind, buffer in buffers.items():
        found[kind] = _run("all_gather", _engine(xp).all_gather, buffer)
    return unpack(found)  # type: ignore[no-any-return]


def reduce_scatter(nest: T, /, op: str = "sum") -> T:
    """Reduce arrays that have one row for each rank, and return to every rank its row.

    >>> import numpy as np, trellis
    >>> trellis.distributed.init()
    >>> trellis.distributed.reduce_scatter(np.array([[1.0, 2.0]]))
    array([1., 2.])
    >>> trellis.distributed.shutdown()
    """
    _check_op("reduce_scatter", op)
    count = group().place.size
    leaves, spec = tree.flatten(nest)
    for x in leaves:
        if hasattr(x, "shape") and (not len(x.shape) or x.shape[0] != count):
            raise ShapeError(
                f"reduce_scatter() takes arrays with a first axis of {count}, the number of "
                f"ranks; got shape {tuple(x.shape)}."
            )
    if not leaves:
        return nest
    # One buffer after all: the rows of each rank side by side.
    rows = [tree.unflatten(spec, [x[i] for x in leaves]) for i in range(count)]
    packed = [pack("reduce_scatter", row) for row in rows]
    xp, buffers, unpack = packed[0]
    name = "sum" if op == "mean" else op
    found = {}
    for kind in buffers:
        if op == "mean" and "float" not in kind:
            raise ArgumentError(f'op="mean" needs floating-point arrays, got {kind}.')
        part = xp.concat([each[1][kind] for each in packed], axis=0)
        if part.shape[0]:
            part = _run("reduce_scatter", _engine(xp).reduce_scatter, part, name)
        found[kind] = part / count if op == "mean" else part
    return unpack(found)  # type: ignore[no-any-return]


def barrier(*, backend: str | None = None) -> None:
    """Wait until all ranks have called this, over the engine of `backend` or one that is connected.

    >>> import trellis
    >>> trellis.distributed.init()
    >>> trellis.distributed.barrier()
    >>> trellis.distributed.shutdown()
    """
    check_arguments(barrier, locals())
    here = group()
    name = backend if backend is not None else next(iter(here.engines), None)
    if name is None and here.place.size == 1:
        return
    _run("barrier", here.engine("numpy" if name is None else name).barrier)


def compile(fn: Callable[..., Any], /) -> Callable[..., Any]:
    """`fn` compiled for a group of processes: it may call collectives.

    On torch and TensorFlow that is what `trellis.compile` gives too. On JAX it is one program of
    all ranks, each with its own arrays of the same shapes; `trellis.compile` cannot hold a
    collective there. Arguments are pytrees of arrays, by position.

    >>> import numpy as np, trellis
    >>> trellis.distributed.init()
    >>> step = trellis.distributed.compile(lambda x: trellis.distributed.all_reduce(x * 2))
    >>> step(np.array([1.0, 2.0]))
    array([2., 4.])
    >>> trellis.distributed.shutdown()
    """
    check_arguments(compile, locals())
    made: dict[str, Callable[..., Any]] = {}

    def called(*args: Any) -> Any:
        arrays = [x for x in tree.leaves(args) if hasattr(x, "dtype")]
        if not arrays:
            raise ArgumentError("A function of a group of processes needs at least one array.")
        xp_of_all(*arrays)
        name = backend_of(arrays[0])
        if name not in made:
            made[name] = group().engine(name).compile(fn)
        return made[name](*args)

    return called


def _check_op(name: str, op: str) -> None:
    if op not in _OPS:
        raise ArgumentError(f"{name}() knows the ops {', '.join(_OPS)}; got {op!r}.")


def _engine(xp: Any) -> Any:
    return group().engine(name_of(xp))


def _run(name: str, call: Callable[..., Any], *args: Any) -> Any:
    """A call of an engine; what goes wrong in it is the fault of another process."""
    if is_followed():
        return call(*args)
    try:
        return call(*args)
    except (TrellisError, NotImplementedError) as error:
        if not isinstance(error, DistributedError):
            raise
        raise _failure(name, error) from error
    except (RuntimeError, ValueError, OSError) as error:
        raise _failure(name, error) from error
    except Exception as error:
        # TensorFlow's errors are of its own kind.
        if type(error).__module__.startswith("tensorflow"):
            raise _failure(name, error) from error
        raise


def _failure(name: str, error: Exception) -> DistributedError:
    place = group().place
    return DistributedError(
        f"{name}() failed on rank {place.rank} of {place.size}: {error}. Another rank has died, "
        "hangs, or made another call; the launcher and the other ranks' output say which."
    )
