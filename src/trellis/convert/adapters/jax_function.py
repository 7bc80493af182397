"""A Trellis model as a pure function of JAX."""

from collections.abc import Mapping
from typing import Any

import jax
import numpy as np

from ..._array.interchange import to_backend
from ..._core.container import Container
from ..._core.errors import ArgumentError
from ..._random.stream import stream
from ...nn import Module
from .hollow import Hollow


class JaxFunction:
    """`fn(params, *inputs)`, pure; see `as_jax`."""

    def __init__(self, model: Module):
        self._hollow = Hollow(model, "jax", "as_jax")
        v, kept = self._hollow.release()
        self.params: dict[str, Any] = nested(v)
        self.buffers: dict[str, Any] = nested(kept)
        self._kept = list(kept)

    def __call__(
        self,
        params: Mapping[str, Any],
        /,
        *args: Any,
        buffers: Mapping[str, Any] | None = None,
        key: Any = None,
        training: bool | None = None,
        **kwargs: Any,
    ) -> Any:
        """The result; `(result, new buffers)` if buffers were given."""
        is_training = self._hollow.is_training if training is None else training
        model = self._hollow.training if is_training else self._hollow.evaluating
        before = _leaves(self.buffers if buffers is None else buffers)
        leaves = _leaves(params)
        args, kwargs = in_jax(args), in_jax(kwargs)
        if key is None:
            result, after = self._hollow.apply(model, leaves, before, args, kwargs)
        else:
            with stream(key):
                result, after = self._hollow.apply(model, leaves, before, args, kwargs)
        if buffers is not None:
            return result, nested(dict(zip(self._kept, after, strict=True)))
        if any([new is not old for new, old in zip(after, before, strict=True)]):
            raise ArgumentError(
                "This call updates buffers, such as running means, which would be lost. "
                "Write y, buffers = fn(params, x, buffers=buffers), beginning with fn.buffers; or "
                "fn(params, x, training=False)."
            )
        return result

    def to_trellis(
        self,
        params: Mapping[str, Any],
        /,
        *,
        buffers: Mapping[str, Any] | None = None,
        backend: str | None = None,
    ) -> Any:
        """A Trellis model with these weights."""
        kept = self.buffers if buffers is None else buffers
        model = self._hollow.filled(_leaves(params), _leaves(kept), backend)
        return model.train(self._hollow.is_training)


def nested(flat: Mapping[str, Any]) -> dict[str, Any]:
    """Plain dicts, which every library of JAX's world knows."""
    nested: dict[str, Any] = {}
    for chain, x in flat.items():
        *way, last = chain.split("/")
        part = nested
        for name in way:
            part = part.setdefault(name, {})
        part[last] = x
    return nested


def _leaves(nest: Mapping[str, Any]) -> list[Any]:
    whole = Container(dict(nest))
    return [whole[chain] for chain in whole.key_chains()]


def in_jax(inputs: Any) -> Any:
    """Inputs of NumPy as JAX's own functions would take them, but for types that JAX narrows."""
    return jax.tree.map(lambda x: to_backend(x, "jax") if isinstance(x, np.ndarray) else x, inputs)
