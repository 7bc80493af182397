"""Whether a compiler is at work, and whether values can be looked at."""

import torch

from ..._core import tracing
from ._private import is_batched, is_wrapped
from ._types import Tensor

# Asked before anything that torch.compile cannot trace.
tracing.python_compiler["backend"] = "torch"
tracing.python_compiler["is_compiling"] = torch.compiler.is_compiling


def is_tracing() -> bool:
    """Whether a compiled function is being traced."""
    return torch.compiler.is_compiling() or tracing.is_pretended("torch")


def is_concrete(x: Tensor) -> bool:
    """Whether the values of `x` can be looked at now."""
    if torch.compiler.is_compiling() or x.device.type == "meta":
        return False
    return not is_batched(x)


def lasts(x: Tensor) -> bool:
    """Whether `x` can be kept when the running function has ended."""
    # The tensors of torch.compile do not show that they are traced; those of torch.func do.
    # `is_tracing`, written out, since every variable is asked at every step; and first, since
    # torch.compile cannot trace the other question.
    if torch.compiler.is_compiling() or tracing.is_pretended("torch"):
        return False
    return not is_wrapped(x)
