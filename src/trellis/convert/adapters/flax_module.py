"""A Trellis model as a module of flax.nnx."""

from typing import Any

from flax import nnx

from ...nn import Module
from .hollow import Hollow
from .jax_function import in_jax, nested


class FlaxModule(nnx.Module):
    """An `nnx.Module` that computes what a Trellis model computes; see `as_flax`."""

    def __init__(self, model: Module, rngs: nnx.Rngs | None = None):
        hollow = Hollow(model, "jax", "as_flax")
        v, kept = hollow.release()
        self._hollow = nnx.static(hollow)
        self.v = _variables(v, nnx.Param)
        self.buffers = _variables(kept, nnx.BatchStat)
        # What nnx's own `train()` and `eval()` set.
        self.deterministic = not hollow.is_training
        self.rngs = nnx.data(None if rngs is None else rngs["dropout"].fork())

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        args, kwargs = in_jax(args), in_jax(kwargs)
        v, kept = [_leaves(part) for part in (self.v, self.buffers)]
        before = [variable[...] for variable in kept]
        values = [variable[...] for variable in v]
        is_training = not self.deterministic
        result, after = self._hollow.run(is_training, values, before, args, kwargs, self.rngs)
        for variable, old, new in zip(kept, before, after, strict=True):
            if new is not old:
                variable[...] = new
        return result

    def to_trellis(self, backend: str | None = None) -> Any:
        """A Trellis model with the weights as they are now."""
        v, kept = [[x[...] for x in _leaves(part)] for part in (self.v, self.buffers)]
        return self._hollow.filled(v, kept, backend).train(not self.deterministic)


def _variables(flat: dict[str, Any], kind: Any) -> Any:
    return nnx.data(nested({chain: kind(x) for chain, x in flat.items()}))


def _leaves(part: Any) -> list[Any]:
    """The variables in the order of their chains."""
    found = []
    for name in sorted(part):
        inner = part[name]
        found += _leaves(inner) if isinstance(inner, dict) else [inner]
    return found
