"""Arithmetic over lists of leaves on torch: `torch._foreach_*`, one call for the whole list.

torch.func transforms have no rules for those; inside them the lists are walked. Temporaries of the
caller are overwritten only where no graph is recorded, and never while compiling: the compiler
plans its memory.
"""

from typing import Any

import torch

from ..shared import foreach as plain
from ..shared.foreach import Step, StepKernel
from ._private import adam_kernels, foreach, foreach_clone, running_transform
from ._types import Tensor
from .convolution import laid_like
from .gradients import compiling_inside


def _walks() -> bool:
    """Whether torch cannot take whole lists here: a torch.func transform encloses the code."""
    if torch.compiler.is_compiling():
        return foreach is None or len(compiling_inside) > 0
    return foreach is None or running_transform() is not None


def _overwrites(xs: list[Any], reuse: bool) -> bool:
    return reuse and not torch.compiler.is_compiling() and not any([x.requires_grad for x in xs])


def _operand(xs: list[Any], y: Tensor) -> Any:
    """A number as a tensor: on the CPU torch makes one a leaf otherwise, in twice the time."""
    if torch.compiler.is_compiling():
        # The compiler would compute a number that depends on the step anew for every vector of
        # every leaf, two exponentials and a root each time; to give it strides it must be in
        # memory.
        return y.as_strided((), ()) if isinstance(y, torch.Tensor) and y.ndim == 0 else y
    if isinstance(y, (list, torch.Tensor)):
        return y
    first = xs[0].dtype
    is_one_kind = xs[0].is_cpu and first.is_floating_point and all([x.dtype is first for x in xs])
    return torch.tensor(y, dtype=first) if is_one_kind else y


def foreach_add(xs: list[Any], ys: Any, alpha: Any = 1, *, reuse: bool = False) -> list[Any]:
    if _walks() or isinstance(alpha, torch.Tensor):
        return plain.foreach_add(xs, ys, alpha)
    add = foreach.add_ if _overwrites(xs, reuse) else foreach.add
    if isinstance(ys, (list, torch.Tensor)):
        added = add(xs, _operand(xs, ys), alpha=alpha)
    else:
        added = add(xs, _operand(xs, ys * alpha))
    return list(xs if added is None else added)


def foreach_mul(xs: list[Any], ys: Any, *, reuse: bool = False) -> list[Any]:
    if _walks():
        return plain.foreach_mul(xs, ys)
    if _overwrites(xs, reuse):
        foreach.mul_(xs, _operand(xs, ys))
        return xs
    return list(foreach.mul(xs, _operand(xs, ys)))


def foreach_div(xs: list[Any], ys: Any, *, reuse: bool = False) -> list[Any]:
    if _walks():
        return plain.foreach_div(xs, ys)
    if _overwrites(xs, reuse):
        foreach.div_(xs, _operand(xs, ys))
        return xs
    return list(foreach.div(xs, _operand(xs, ys)))


def foreach_lerp(xs: list[Any], ys: list[Any], weight: float) -> list[Any]:
    if _walks():
        return plain.foreach_lerp(xs, ys, weight)
    return list(foreach.lerp(xs, ys, weight))


def foreach_addcmul(
    xs: list[Any], ys: list[Any], zs: list[Any], value: float = 1, *, reuse: bool = False
) -> list[Any]:
    if _walks():
        return plain.foreach_addcmul(xs, ys, zs, value)
    if _overwrites(xs, reuse):
        foreach.addcmul_(xs, ys, zs, value)
        return xs
    return list(foreach.addcmul(xs, ys, zs, value))


def foreach_addcdiv(
    xs: list[Any], ys: list[Any], zs: list[Any], value: float = 1, *, reuse: bool = False
) -> list[Any]:
    if _walks():
        return plain.foreach_addcdiv(xs, ys, zs, value)
    if _overwrites(xs, reuse):
        foreach.addcdiv_(xs, ys, zs, value)
        return xs
    return list(foreach.addcdiv(xs, ys, zs, value))


def foreach_sqrt(xs: list[Any], *, reuse: bool = False) -> list[Any]:
    if _walks():
        return [torch.sqrt(x) for x in xs]
    if _overwrites(xs, reuse):
        foreach.sqrt_(xs)
        return xs
    return list(foreach.sqrt(xs))


def foreach_maximum(xs: list[Any], ys: Any, *, reuse: bool = False) -> list[Any]:
    """`ys` is a list or a number."""
    if _walks():
        if isinstance(ys, list):
            return [torch.maximum(x, y) for x, y in zip(xs, ys, strict=True)]
        return [torch.clamp_min(x, ys) for x in xs]
    if _overwrites(xs, reuse):
        foreach.maximum_(xs, ys)
        return xs
    return list(foreach.maximum(xs, ys))


def foreach_norm(xs: list[Any]) -> list[Any]:
    if _walks():
        return [torch.linalg.vector_norm(x) for x in xs]
    return list(foreach.norm(xs))


def foreach_cast(xs: list[Any], dtype: Any) -> list[Any]:
    kind = getattr(torch, dtype) if isinstance(dtype, str) else dtype
    return [x.to(kind) for x in xs]


def foreach_detach(xs: list[Any]) -> list[Any]:
    return [x.detach() if x.requires_grad else x for x in xs]


def adam(
    ws: list[Any],
    gs: list[Any],
    slots: tuple[list[Any], ...],
    step: Any,
    rate: Any,
    numbers: tuple[float, ...],
    reuse: bool,
) -> Step:
    """Adam (with decoupled decay) in torch's own kernel, on copies; None where it does not fit.

    It reads and writes each element once, which takes half the time of the operations one by one.
    With `reuse`, the moments are overwritten.
    """
    (ms, vs), (beta1, beta2, epsilon, weight_decay) = slots, numbers
    everything = [*ws, *gs, *ms, *vs]
    dtype, device = ws[0].dtype, ws[0].device
    # Lists are compared as wholes: leaf by leaf, these questions take as long as small leaves do.
    if (
        adam_kernels is None
        or torch.compiler.is_compiling()
        or running_transform() is not None
        or device.type not in ("cpu", "cuda")
        or not dtype.is_floating_point
        or True in [x.requires_grad for x in everything]
        or [x.dtype for x in everything].count(dtype) != len(everything)
        or [x.device for x in everything].count(device) != len(everything)
        or [w.shape for w in ws] != [g.shape for g in gs]
    ):
        return None
    ws = _copies(ws)
    # The kernel walks through memory: all four must lie there in the same order, which is that of
    # the weights, so that filters stay as convolutions want them. Copies have no gaps.
    if not reuse:
        ms, vs = _copies(ms), _copies(vs)
    strides = [w.stride() for w in ws]
    gs, ms, vs = [
        xs
        if [x.stride() for x in xs] == strides
        else [laid_like(x, w) for x, w in zip(xs, ws, strict=True)]
        for xs in (gs, ms, vs)
    ]
    walked = [ws, gs, ms, vs]
    if False in [w.is_contiguous() for w in ws]:
        # Of a tensor that is not contiguous the kernel would copy a part: it gets the bare memory.
        walked = [
            [x if x.is_contiguous() else x.as_strided((x.numel(),), (1,)) for x in xs]
            for xs in walked
        ]
    kernel = adam_kernels[0] if weight_decay == 0 else adam_kernels[1]
    kernel(
        *walked,
        [],
        [step.to(torch.float32)] * len(ws),
        lr=rate,
        beta1=beta1,
        beta2=beta2,
        weight_decay=weight_decay,
        eps=epsilon,
        amsgrad=False,
        maximize=False,
    )
    return ws, (ms, vs)


def _copies(xs: list[Any]) -> list[Any]:
    return list(foreach_clone(xs))


# The other rules, in operations over all leaves, are as fast here.
STEP_KERNELS: dict[str, StepKernel] = {"adam": adam}
