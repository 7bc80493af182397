"""Random numbers of JAX: Trellis draws the same ones from the same keys."""

from collections.abc import Sequence
from typing import Any

from ... import random
from ...graph import Value
from ..rules import Rules
from .builder import JaxBuilder, Operand

random_rules = Rules()


@random_rules("random_seed")
def random_seed(g: JaxBuilder, seed: Value | int) -> Value:
    if isinstance(seed, Value):
        return g.call(random.key, seed)
    return g.call(random.key, int(seed), backend=g.to)


@random_rules("random_wrap", "random_unwrap", "random_clone")
def random_wrap(g: JaxBuilder, key: Value) -> Value:
    """Keys are plain arrays of two numbers."""
    return key


@random_rules("random_bits")
def random_bits(g: JaxBuilder, key: Value, *, bit_width: int, shape: Sequence[Any]) -> Value:
    return g.call(random.bits, key, g.shape(shape), dtype=f"uint{bit_width}")


@random_rules("random_split")
def random_split(g: JaxBuilder, key: Value, *, shape: Sequence[int]) -> Value:
    return g.call(random.split, key, shape[0] if len(shape) == 1 else tuple(shape))


@random_rules("random_fold_in")
def random_fold_in(g: JaxBuilder, key: Value, number: Operand) -> Value:
    return g.call(random.fold_in, key, number)


@random_rules("threefry2x32")
def threefry2x32(g: JaxBuilder, *words: Value) -> Any:
    return g.items(g.s.threefry_2x32(*words), 2)
