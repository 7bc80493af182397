"""Small facts between processes, and whether all of them run the same model."""

import base64
import hashlib
import json
from typing import Any

import numpy as np

from .._array.casting import dtype as dtype_of
from .._array.creation import asarray
from .._array.interchange import to_numpy
from .._core import tree
from .._core.errors import DistributedError
from ._collectives import all_gather, all_reduce, broadcast
from ._group import group

_HASH_BYTES = 16


def broadcast_json(value: object, backend: str) -> Any:
    """The value passed on rank 0, returned on every rank; JSON must be able to hold it."""
    text = np.frombuffer(json.dumps(value).encode(), np.uint8)
    length = broadcast(asarray(np.array([text.size], np.int32), backend=backend))
    mine = np.zeros(int(to_numpy(length)[0]), np.uint8)
    mine[: text.size] = text[: mine.size]
    found = to_numpy(broadcast(asarray(mine.astype(np.int32), backend=backend)))
    return json.loads(np.asarray(found).astype(np.uint8).tobytes())


def gather_json(value: object, backend: str) -> list[Any]:
    """The values passed on all ranks, by rank."""
    text = np.frombuffer(json.dumps(value).encode(), np.uint8)
    longest = all_reduce(asarray(np.array([text.size], np.int32), backend=backend), "max")
    mine = np.full(int(to_numpy(longest)[0]), ord(" "), np.int32)
    mine[: text.size] = text
    rows = np.asarray(to_numpy(all_gather(asarray(mine, backend=backend)))).astype(np.uint8)
    return [json.loads(row.tobytes()) for row in rows]


def gather_arrays(nest: object, backend: str) -> list[Any]:
    """The pytrees of NumPy arrays of all ranks, by rank; their structures may differ."""
    return [_decoded(text) for text in gather_json(_encoded(nest), backend)]


def _encoded(nest: Any) -> Any:
    if isinstance(nest, dict):
        return {"dict": {key: _encoded(value) for key, value in nest.items()}}
    if isinstance(nest, (list, tuple)):
        return [_encoded(value) for value in nest]
    if nest is None:
        return None
    data = base64.b64encode(np.ascontiguousarray(nest).tobytes()).decode()
    return {"dtype": str(nest.dtype), "shape": nest.shape, "data": data}


def _decoded(given: Any) -> Any:
    if isinstance(given, list):
        return [_decoded(value) for value in given]
    if given is None:
        return None
    if "dict" in given:
        return {key: _decoded(value) for key, value in given["dict"].items()}
    data = base64.b64decode(given["data"])
    return np.frombuffer(data, given["dtype"]).reshape(given["shape"]).copy()


def check_same(nest: object, /, *, backend: str = "numpy") -> None:
    """Raise on every rank unless all ranks have pytrees of the same names, shapes and data types.

    The version of this library must be the same too. A checksum is compared, over the engine of
    `backend`; only where it differs, the descriptions themselves.

    >>> import numpy as np, trellis
    >>> trellis.distributed.init()
    >>> trellis.distributed.check_same({"w": np.zeros((2, 3))})
    >>> trellis.distributed.shutdown()
    """
    from .. import __version__

    lines = [f"trellis {__version__}"]
    for chain, x in zip(tree.key_chains(nest), tree.leaves(nest), strict=True):
        what = f"{dtype_of(x)!s}{tuple(x.shape)}" if hasattr(x, "dtype") else type(x).__name__
        lines.append(f"{chain or 'the array'} {what}")
    digest = hashlib.sha256("\n".join(lines).encode()).digest()[:_HASH_BYTES]
    mine = asarray(np.frombuffer(digest, np.uint8).astype(np.int32), backend=backend)
    rows = np.asarray(to_numpy(all_gather(mine)))
    different = [i for i in range(len(rows)) if (rows[i] != rows[0]).any()]
    if not different:
        return
    described = gather_json(lines, backend)
    raise DistributedError(
        "\n".join(
            [
                f"Rank 0 cannot train with {', '.join([f'rank {i}' for i in different])}: the "
                "model there is another one, or another version of it.",
                *[_difference(i, described[i], described[0]) for i in different],
                f"(said by rank {group().place.rank})",
            ]
        )
    )


def _difference(rank: int, lines: list[str], first: list[str]) -> str:
    for theirs, ours in zip(lines, first):
        if theirs != ours:
            return f"  rank {rank} has {theirs!r} where rank 0 has {ours!r}"
    return f"  rank {rank} has {len(lines) - 1} arrays, rank 0 has {len(first) - 1}"
