"""Losses and bags of embeddings that torch has kernels for."""

from typing import Any

from ..._core.errors import NotSupportedError
from .builder import Tensor, TorchBuilder
from .table import rule


@rule("aten.nll_loss", "aten.nll_loss2d", "aten.nll_loss_nd", "aten.nll_loss_forward",
      "aten.nll_loss2d_forward")  # fmt: skip
def nll_loss(g: TorchBuilder, x: Tensor, target: Tensor, weight: Tensor | None = None,
             reduction: int = 1, ignore_index: int = -100) -> Any:  # fmt: skip
    given = (x, target) if weight is None else (x, target, weight)
    found = g.s.nll_loss(*given, reduction=reduction, ignore_index=ignore_index)
    return g.items(found, 2) if "forward" in g.source else g.item(found, 0)


@rule("aten.multi_margin_loss")
def multi_margin_loss(g: TorchBuilder, x: Tensor, target: Tensor, p: float = 1, margin: float = 1,
                      weight: Tensor | None = None, reduction: int = 1) -> Any:  # fmt: skip
    given = (x, target) if weight is None else (x, target, weight)
    return g.s.multi_margin_loss(*given, p=int(p), margin=margin, reduction=reduction)


@rule("aten.multilabel_margin_loss", "aten.multilabel_margin_loss_forward")
def multilabel_margin_loss(g: TorchBuilder, x: Tensor, target: Tensor, reduction: int = 1) -> Any:
    found = g.s.multilabel_margin_loss(x, target, reduction=reduction)
    return (found, None) if "forward" in g.source else found


@rule("aten.embedding_bag", "aten._embedding_bag", "aten._embedding_bag_forward_only")
def embedding_bag(
    g: TorchBuilder, weight: Tensor, indices: Tensor, offsets: Tensor,
    scale_grad_by_freq: bool = False, mode: int = 0, sparse: bool = False,
    per_sample_weights: Tensor | None = None, include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> Any:  # fmt: skip
    """A sparse gradient is stored in another way, which says nothing about the numbers."""
    if scale_grad_by_freq:
        raise NotSupportedError(f"{g.source}: scale_grad_by_freq=True has no counterpart here.")
    given = [weight, indices, offsets]
    given += [] if per_sample_weights is None else [per_sample_weights]
    padding = -1 if padding_idx is None else padding_idx
    if padding_idx is not None and padding < 0 and "forward" not in g.source:
        padding += weight.shape[0] if isinstance(weight.shape[0], int) else 0
    y = g.s.embedding_bag(
        *given, mode=mode, padding_idx=padding, include_last_offset=include_last_offset
    )
    return y, None, None, None
