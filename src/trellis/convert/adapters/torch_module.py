"""A Trellis model as a module of torch."""

from typing import Any

import torch

from ..._core.errors import ArgumentError
from ...nn import Module
from .hollow import Hollow


class TorchModule(torch.nn.Module):
    """A `torch.nn.Module` that computes what a Trellis model computes; see `as_torch_module`."""

    def __init__(self, model: Module):
        super().__init__()
        self._hollow = Hollow(model, "torch", "as_torch_module")
        v, kept = self._hollow.release()
        self._chains, self._kept = list(v), list(kept)
        for chain in (*v, *kept):
            if "." in chain:
                raise ArgumentError(
                    f"{chain!r} has a dot, which torch keeps for modules inside modules; rename "
                    "the module or variable."
                )
        for chain, x in v.items():
            can_learn = x.is_floating_point() or x.is_complex()
            self.register_parameter(chain, torch.nn.Parameter(x, requires_grad=can_learn))
        for chain, x in kept.items():
            self.register_buffer(chain, x)
        self.train(self._hollow.is_training)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        v = [getattr(self, chain) for chain in self._chains]
        before = [getattr(self, chain) for chain in self._kept]
        if self.training:
            # The backward pass may need them as they were, and they are written below.
            before = [x.clone() for x in before]
        result, after = self._hollow.run(self.training, v, before, args, kwargs, _key)
        if self._kept:
            # In place: DistributedDataParallel holds on to these tensors.
            with torch.no_grad():
                for chain, old, new in zip(self._kept, before, after, strict=True):
                    if new is not old:
                        getattr(self, chain).copy_(new)
        return result

    def _apply(self, fn: Any, recurse: bool = True) -> Any:
        """What moves and casts: constants go along with parameters and buffers."""
        super()._apply(fn, recurse)
        self._hollow.map_constants(fn)
        return self

    def to_trellis(self, backend: str | None = None) -> Any:
        """A Trellis model with the weights as they are now."""
        v = [getattr(self, chain).detach() for chain in self._chains]
        kept = [getattr(self, chain).detach() for chain in self._kept]
        return self._hollow.filled(v, kept, backend).train(self.training)

    def extra_repr(self) -> str:
        return repr(self._hollow.training)


def _key() -> Any:
    """A key of ours out of torch's generator: `torch.manual_seed` decides what is dropped."""
    return torch.randint(0, 2**32, (2,), dtype=torch.int64).to(torch.uint32)
