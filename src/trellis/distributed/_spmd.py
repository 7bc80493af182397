"""Arrays that are sharded over many devices of one process, with JAX's shardings."""

from collections.abc import Callable, Mapping
from fnmatch import fnmatchcase
from typing import Any, TypeVar

from .._core import tree
from .._core.dispatch import backend_of, xp_of
from .._core.errors import ArgumentTypeError, NotSupportedError
from .._core.kinds import shown

T = TypeVar("T")


def shard(nest: T, rule: Any, /) -> T:
    """The arrays of a pytree sharded over devices, each by the sharding for its key path; JAX only.

    `rule` is a `jax.sharding.Sharding` for all of them; or a dict from patterns of key paths, such
    as "layers/*/w", to shardings, of which the first match counts; or a function of the key path
    and the array. Arrays without a sharding (None, or no pattern) stay where they are.
    Compiled functions then run on all the devices, and the compiler adds the communication.

    Example, with a mesh of the axes "data" and "model":

        everywhere = NamedSharding(mesh, PartitionSpec())
        split = NamedSharding(mesh, PartitionSpec("model"))
        model.v = trellis.distributed.shard(model.v, {"layers/v0/*": split, "*": everywhere})
        batches = NamedSharding(mesh, PartitionSpec("data"))
        trellis.train.fit(model, loss, data, optimizer=optimizer, sharding=batches)
    """
    find = _as_function(rule)

    def placed(chain: str, x: Any) -> Any:
        sharding = find(chain, x)
        if sharding is None:
            return x
        if not xp_of(x).ABILITIES.can_shard:
            raise NotSupportedError(
                f"Only JAX shards arrays over devices; {chain or 'the array'!r} is from "
                f"{backend_of(x)}. For torch, see convert.as_torch_module and FSDP."
            )
        return xp_of(x).to_device(x, sharding)

    return tree.map_with_key_chains(placed, nest)  # type: ignore[no-any-return]


def _as_function(rule: Any) -> Callable[[str, Any], Any]:
    if isinstance(rule, Mapping):
        return lambda chain, x: _first_match(rule, chain)
    if hasattr(rule, "device_set"):
        return lambda chain, x: rule
    if callable(rule):
        return rule  # type: ignore[no-any-return]
    raise ArgumentTypeError(
        "rule must be a jax.sharding.Sharding, a dict from patterns of key paths to shardings, or "
        f"a function of the key path and the array; got {shown(rule)}."
    )


def _first_match(rules: Mapping[str, Any], chain: str) -> Any:
    for pattern, sharding in rules.items():
        if fnmatchcase(chain, pattern):
            return sharding
    return None
