"""The private functions of torch that this backend uses, each with a public fallback.

Each one is tested on small tensors when the backend is loaded. If a version of torch lacks it or
has it in another form, the fallback gives the same values, only slower.
"""

import contextlib
import operator
import warnings
from collections.abc import Callable
from functools import cache, partial
from types import SimpleNamespace
from typing import Any

import torch
from torch.autograd import forward_ad

from ..doors import opened, require

_NOTHING = torch.zeros(0, device="cpu")


# torch.func's transforms ------------------------------------------------------------------------
# Is one of them running, and does a tensor belong to one? Probed on a plain tensor.


def _functorch() -> tuple[Callable[..., Any], ...]:
    inner = torch._C._functorch
    is_active = torch._C._are_functorch_transforms_active
    is_batched, is_wrapped = inner.is_batchedtensor, inner.is_functorch_wrapped_tensor
    require(inner.peek_interpreter_stack() is None, is_active() is False)
    require(is_batched(_NOTHING) is False, is_wrapped(_NOTHING) is False)
    return inner.peek_interpreter_stack, is_active, is_batched, is_wrapped


class _Refused(torch.autograd.Function):
    """Without `setup_context`, so transforms raise for it."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x


def _public_is_active() -> bool:
    if torch.compiler.is_compiling():  # perhaps: torch.compile cannot trace the check
        return True
    try:
        _Refused.apply(_NOTHING)
    except RuntimeError:
        return True
    return False


def _public_is_batched(x: Any) -> bool:
    try:
        x.layout is torch.strided and x.detach().reshape(-1)[:0].sum().item()
    except RuntimeError:  # `item` of a batched tensor raises
        return True
    return False


def _public_is_wrapped(x: Any) -> bool:
    try:
        x.layout is torch.strided and x.untyped_storage()
    except (RuntimeError, NotImplementedError):  # wrappers have no memory
        return True
    return False


# `running_transform` returns the innermost one, or None.
running_transform, is_transforming, is_batched, is_wrapped = opened(
    "torch.functorch", _functorch
) or (
    lambda: _public_is_active() or None,
    _public_is_active,
    _public_is_batched,
    _public_is_wrapped,
)


# Forward mode -----------------------------------------------------------------------------------
# The current level of dual tensors, -1 if there is none. Probed by reading it.


def _forward_level() -> Callable[[], int]:
    # torch's function itself: another call around it would take longer than the check.
    level = partial(operator.attrgetter("_current_level"), forward_ad)
    require(level() == -1)
    with forward_ad.dual_level():
        require(level() == 0)
    return level


@cache
def load_forward_formulas() -> None:
    """torch compiles its forward-mode formulas when it makes the first dual tensor, by
    torch.jit.script, which it calls deprecated itself: users can do nothing about that warning."""
    # Levels cannot be nested: inside one of the user's own, the formulas are there already.
    with warnings.catch_warnings(), contextlib.suppress(RuntimeError):
        warnings.filterwarnings("ignore", message="`torch.jit.script")
        with forward_ad.dual_level():
            forward_ad.make_dual(_NOTHING, _NOTHING)


def _public_forward_level() -> int:
    load_forward_formulas()
    try:
        forward_ad.make_dual(_NOTHING, _NOTHING)
    except RuntimeError:
        return -1
    return 0


forward_level = opened("torch.forward_ad", _forward_level) or _public_forward_level


# How many transforms of forward mode are running. The fallback says that there may be two.


def _count_forward() -> Callable[[], int]:
    stack = torch._C._functorch.get_interpreter_stack
    kind = torch._C._functorch.TransformType.Jvp
    require(not stack())
    return lambda: len([transform for transform in stack() or [] if transform.key() == kind])


count_forward = opened("torch.forward_count", _count_forward) or (lambda: 2)


# Modes ------------------------------------------------------------------------------------------
# How many modes see each operation. The fallback says that there may be one.


def _count_modes() -> Callable[[], int]:
    count: Callable[[], int] = torch._C._len_torch_dispatch_stack
    require(count() == 0)
    return count


count_modes = opened("torch.modes", _count_modes) or (lambda: 1)


# Python at compile time -------------------------------------------------------------------------
# Dynamo calls a marked function itself while it traces: what that raises ends the compilation, and
# nothing is left behind. The fallback does the same, and imports Dynamo, for a second.


def _mark_constant() -> Callable[[Any], Any]:
    def marked(fn: Any) -> Any:
        fn._dynamo_marked_constant = True
        return fn

    return marked


run_while_tracing = opened("torch.constant", _mark_constant) or (
    lambda fn: torch.compiler.assume_constant_result(fn)
)


# Operations over lists --------------------------------------------------------------------------
# One call for all leaves. Probed by calling each. The fallback loops over the lists.


def _foreach() -> Any:
    number, others = torch.ones(()), [torch.ones(1)]
    arithmetic = [(others,), (1.0,), (number,)]
    operands: dict[str, list[Any]] = {"add": arithmetic, "mul": arithmetic, "div": arithmetic}
    operands |= {"addcmul": [(others, others, 1.0)], "addcdiv": [(others, others, 1.0)]}
    operands |= {"maximum": [(others,), (1.0,)], "sqrt": [()]}
    found = SimpleNamespace(lerp=torch._foreach_lerp, norm=torch._foreach_norm)
    require(len(found.norm(others)) == len(found.lerp(others, others, 0.5)) == 1)
    for name, calls in operands.items():
        for form in (name, f"{name}_"):
            fn = getattr(torch, f"_foreach_{form}")
            for call in calls:
                fn([torch.ones(1)], *call)
            setattr(found, form, fn)
    found.add([torch.ones(1)], others, alpha=2.0)
    return found


foreach: Any = opened("torch.foreach", _foreach)


def _foreach_clone() -> Callable[[list[Any]], Any]:
    require(len(torch._foreach_clone([_NOTHING])) == 1)
    return torch._foreach_clone


def _public_clone(xs: list[Any]) -> list[Any]:
    return [x.clone() for x in xs]


foreach_clone = opened("torch.foreach_clone", _foreach_clone) or _public_clone


# Adam in one kernel -----------------------------------------------------------------------------
# Without and with decoupled decay. Probed by a step. The fallback uses operations over lists.


def _fused_adam() -> tuple[Callable[..., Any], Callable[..., Any]]:
    for kernel in (torch._fused_adam_, torch._fused_adamw_):
        w, g, m, v = [torch.full((1,), x) for x in (0.0, 1.0, 0.0, 0.0)]
        options = {"beta1": 0.9, "beta2": 0.999, "weight_decay": 0.0, "eps": 1e-8}
        steps = [torch.ones(())]
        kernel([w], [g], [m], [v], [], steps, lr=0.5, amsgrad=False, maximize=False, **options)
        require(abs(float(w) + 0.5) < 1e-5)
    return torch._fused_adam_, torch._fused_adamw_


adam_kernels = opened("torch.fused_adam", _fused_adam)


# Attention --------------------------------------------------------------------------------------
# The kernel that torch chooses on the CPU, its backward pass, and the choice itself. Probed by the
# number of their arguments and a choice. In the fallback, `Fused` differentiates torch's function.


def _flash() -> tuple[Any, Any, Callable[..., int]]:
    forward = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu
    backward = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward
    require(_arguments(forward) == 7, _arguments(backward) == 10)
    x = torch.zeros(1, 1, 1, 1)
    int(torch._fused_sdp_choice(x, x, x, None, 0.0, False, scale=1.0))
    return forward, backward, torch._fused_sdp_choice


def _arguments(op: Any) -> int:
    return len(op.default._schema.arguments)


flash: Any = opened("torch.flash", _flash) or (None, None, None)


# oneDNN's LSTM ----------------------------------------------------------------------------------
# What `torch.lstm` calls on the CPU, its backward pass, and whether the user has it switched on.
# Probed by the number of their arguments. In the fallback, `Fused` differentiates `torch.lstm`.


def _lstm_layer() -> tuple[Any, Any, Callable[[], bool]]:
    forward, backward = torch.ops.aten.mkldnn_rnn_layer, torch.ops.aten.mkldnn_rnn_layer_backward
    require(torch.backends.mkldnn.is_available())
    require(_arguments(forward) == 16, _arguments(backward) == 23)
    torch._C._get_mkldnn_enabled()
    return forward, backward, torch._C._get_mkldnn_enabled


lstm_layer: Any = opened("torch.lstm_layer", _lstm_layer) or (None, None, lambda: False)


# Owners of memory -------------------------------------------------------------------------------
# Whether a tensor shares its memory with no other. Probed on a tensor without and with a view. In
# the fallback, donated tensors are copied.


def _is_alone() -> Callable[[Any], bool]:
    count = torch._C._storage_Use_Count

    def is_alone(x: Any) -> bool:
        # The storage is held by `x` and by the object created for this check.
        return count(x.untyped_storage()._cdata) == 2

    x = torch.zeros(2)
    require(is_alone(x))
    view = x[:1]
    require(not is_alone(x), not is_alone(view))
    return is_alone


is_alone = opened("torch.storage_count", _is_alone) or (lambda x: False)


# Pytrees ----------------------------------------------------------------------------------------
# So that Containers pass through torch.func, torch.cond and torch.export. Probed on a dict. Without
# it they pass only through Trellis functions.


def _pytree() -> Any:
    from torch.utils import _pytree

    require(_pytree.tree_leaves({"a": 1}) == [1], callable(_pytree.register_pytree_node))
    return _pytree


pytree: Any = opened("torch.pytree", _pytree)


# Loops ------------------------------------------------------------------------------------------
# A loop inside a compiled graph, which has no public name in older versions. Without it, compiling
# a loop whose end depends on data raises an error that says so.


def _while_loop() -> Callable[..., Any]:
    from torch._higher_order_ops.while_loop import while_loop

    return while_loop


while_loop: Any = getattr(torch, "while_loop", None) or opened("torch.while_loop", _while_loop)


# A scan as one loop of the graph. Probed by importing it (running it would import Dynamo, for a
# second); what it cannot compile is unrolled. The fallback unrolls all.


def _scan() -> Callable[..., Any]:
    from torch._higher_order_ops.scan import scan

    return scan


scan: Any = getattr(torch, "scan", None) or opened("torch.scan", _scan)


# Gamma draws ------------------------------------------------------------------------------------
# How a draw changes with its shape parameter. Probed by a call.


def _gamma_slope() -> Callable[[Any, Any], Any]:
    one = torch.ones(1)
    require(bool(torch._standard_gamma_grad(one, one) > 0))
    return torch._standard_gamma_grad


def _public_gamma_slope(a: Any, x: Any) -> Any:
    # A draw keeps its quantile, so dx/da = -(dF/da) / (dF/dx).
    alpha, at = a.double(), x.double()
    step = 1e-4 * torch.clamp(alpha, min=1e-2)
    near, far = [
        torch.special.gammainc(alpha + n * step, at) - torch.special.gammainc(alpha - n * step, at)
        for n in (1, 2)
    ]
    density = torch.exp((alpha - 1) * torch.log(at) - at - torch.lgamma(alpha))
    return ((far - 8 * near) / (12 * step) / density).to(a.dtype)


gamma_slope = opened("torch.gamma_slope", _gamma_slope) or _public_gamma_slope


# Operations in graphs, for the reader ------------------------------------------------------------
# The schema of an operation: which arguments it writes into, and which a result is a view of.
# Probed on one. In the fallback, torch first rewrites each program without such operations.


def _schema_of() -> Callable[[Any], Any]:
    def schema_of(op: Any) -> Any:
        return getattr(op, "_schema", None)

    require(schema_of(torch.ops.aten.add_.Tensor).is_mutable, schema_of(len) is None)
    return schema_of


schema_of = opened("torch.schema", _schema_of)
