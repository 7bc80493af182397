"""Layers whose weight is stored as small integers and restored when it is used."""

from collections.abc import Sequence
from typing import Any, TypeVar

from ..._array.casting import dtype as dtype_of
from ..._array.creation import asarray
from ..._array.device import device as device_of
from ..._array.indexing import take
from ..._array.interchange import to_numpy
from ..._array.manipulation import reshape
from ..._core.arrays import plain
from ..._core.container import Container
from ..._core.dispatch import backend_of
from ..._core.dtypes import name_of
from ..._core.errors import ArgumentError, ArgumentTypeError
from ..._core.kinds import check_arguments
from ..._core.patterns import as_patterns, listed, matches, require_matches
from ..._core.typing import DTypeLike
from ..adapters.targets import Target, candidates, joined, names_of
from ..layers.embedding import Embedding
from ..module.around import forward_with, surround
from ..module.module import Module
from .codes import packed, restored

M = TypeVar("M", bound=Module)
_KINDS = ("float16", "bfloat16", "float32")


class Stored:
    """What stands around such a layer: `codes` and `scales` are its buffers, and it has no `w`."""

    def __init__(self, bits: int, shape: tuple[int, int], dtype: str):
        self.bits, self.shape, self.dtype = bits, shape, dtype

    def restored(self, module: Module) -> Container:
        """The variables of the layer, with the whole weight."""
        kept, v = module.buffers, module.v.copy()
        v["w"] = restored(kept["codes"], kept["scales"], self.bits, self.shape[1], self.dtype)
        return v

    def around(self, module: Any, level: int, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The layer's own result, with the weight restored; of a table, the rows that are read."""
        if isinstance(module, Embedding) and level == 0 and args:
            return self._rows(module, args[0])
        return forward_with(module, self.restored(module), level, args, kwargs)

    def _rows(self, module: Module, indices: Any) -> Any:
        from ...functional._arguments import check_indices

        check_indices("embedding", "indices", indices, self.shape[0])
        kept = module.buffers
        at = reshape(indices, (-1,))
        codes, scales = take(kept["codes"], at, axis=0), take(kept["scales"], at, axis=0)
        rows = restored(codes, scales, self.bits, self.shape[1], self.dtype)
        return reshape(rows, (*indices.shape, self.shape[1]))


def quantize(
    model: M,
    bits: int = 4,
    group: int | None = None,
    where: str | Sequence[str] | None = None,
    *,
    dtype: DTypeLike | None = None,
) -> M:
    """Store the weights of dense layers and tables as small integers, in place; returns the model.

    A group of numbers along the inputs shares one scale. What is computed is computed with the
    restored floats, which have the same bits on every framework; a table restores the rows that
    are read. The integers are buffers: they are saved with the model, and read by `load_weights`
    into a model that was quantized alike. They are not trained; `nn.lora` is, beside them.

    Args:
        model: A model that is built, with its weights.
        bits: 4, or 8 for integers of one byte.
        group: How many numbers share a scale; 64 with 4 bits and a whole row with 8, unless given.
        where: Patterns of layers, such as "layers/*"; None means all.
        dtype: The type of the restored weights: float16, bfloat16 or float32; by default that of
            the weights.

    >>> import numpy as np
    >>> from trellis import nn
    >>> model = nn.quantize(nn.Linear(64, 3, backend="numpy"))
    >>> model.v.key_chains(), model.buffers.codes.shape
    (['b'], (3, 32))
    >>> model(np.ones(64, "float32")).shape
    (3,)
    """
    if not isinstance(model, Module):
        raise ArgumentTypeError(f"quantize() expects a trellis.Module, got {type(model).__name__}.")
    check_arguments(quantize, locals())
    bits, group = plain(bits), plain(group)
    if bits not in (4, 8):
        raise ArgumentError(f"quantize() knows 4 and 8 bits, not {bits!r}.")
    is_size = isinstance(group, int) and not isinstance(group, bool) and group > 0
    if group is not None and (not is_size or group % 2):
        raise ArgumentError(f"quantize() expects group to be an even number above 0, got {group}.")
    if dtype is not None and name_of(dtype) not in _KINDS:
        raise ArgumentError(f"quantize() restores {', '.join(_KINDS)}, not {name_of(dtype)}.")
    targets = _targets(model, where)
    group = 64 if bits == 4 and group is None else group
    for target in targets:
        _store(target.module, bits, group, None if dtype is None else name_of(dtype))
    return model


def _targets(model: Module, where: str | Sequence[str] | None) -> list[Target]:
    every = [target for target in candidates(model) if target.kind != "matrices"]
    patterns = ("*",) if where is None else as_patterns("quantize", "where", where)
    require_matches("quantize", patterns, [x for target in every for x in names_of(target)])
    found = [
        target
        for target in every
        if any([matches(p, x) for p in patterns for x in names_of(target)])
        and "w" in target.module.v
    ]
    shared = {*model.duplicates, *model.duplicates.values()}
    clash = [t.chain for t in found if joined(t.chain, "w") in shared]
    if clash:
        raise ArgumentError(
            f"quantize() cannot store weights that several layers share, as {listed(clash)} do: "
            "leave them out with where=[...]."
        )
    return found


def _store(module: Any, bits: int, group: int | None, dtype: str | None) -> None:
    v = module.v.copy()
    w = v.pop("w")
    small = packed(to_numpy(astype_numpy(w)), bits, group)
    place: dict[str, Any] = {"backend": backend_of(w), "device": device_of(w)}
    kind = str(dtype_of(w)) if dtype is None else dtype
    module.register_buffer("codes", asarray(small.codes, **place))
    module.register_buffer("scales", asarray(small.scales, **place))
    module.v = v
    shape = tuple(w.shape)
    surround(module.__node__, Stored(bits, (shape[0], shape[1]), kind))


def astype_numpy(w: Any) -> Any:
    """The weight in float32, which every type here fits in."""
    from ..._array.casting import astype

    return w if str(dtype_of(w)) == "float32" else astype(w, "float32")
