"""Whether a compiler is tracing, and whether values can be read."""

import torch

from ..._core import tracing
from ..._core.following import mark_computed
from ._private import is_batched, is_wrapped, run_while_tracing
from ._types import Tensor

# Checked before anything that torch.compile cannot trace.
tracing.python_compiler["backend"] = "torch"
tracing.python_compiler["is_compiling"] = torch.compiler.is_compiling
tracing.python_compiler["when_unreached"] = run_while_tracing(tracing.raise_unreached)
mark_computed(run_while_tracing)


def is_tracing() -> bool:
    """Whether a compiled function is being traced."""
    return torch.compiler.is_compiling() or tracing.is_pretended("torch")


def is_concrete(x: Tensor) -> bool:
    """Whether the values of `x` can be read now."""
    if torch.compiler.is_compiling() or x.device.type == "meta":
        return False
    return not is_batched(x)


def lasts(x: Tensor) -> bool:
    """Whether `x` is still valid after the running function ends."""
    # The tensors of torch.compile do not show that they are traced; those of torch.func do.
    # `is_tracing` is written out, since this runs for every variable at every step, and comes
    # first, since torch.compile cannot trace the other check.
    if torch.compiler.is_compiling() or tracing.is_pretended("torch"):
        return False
    return not is_wrapped(x)
