"""What a run is made of: its checks, the clipping of gradients and the first state."""

from typing import Any

from .._core import tree
from .._core.container import Container
from .._core.errors import ArgumentError, ArgumentTypeError
from ._trainable import keeps_average


def check_parts(loss: Any, optimizer: Any) -> None:
    """Raise unless they are a loss and an optimizer."""
    if not callable(loss):
        raise ArgumentTypeError(f"loss is a function of (output, target), got {loss!r}.")
    if isinstance(optimizer, tuple):
        raise ArgumentTypeError(
            "optimizer is a pair of functions: give it a rate, "
            "trellis.optim.Optimizer(transformation, lr=0.01)."
        )
    if isinstance(optimizer, type):
        name = optimizer.__name__
        raise ArgumentTypeError(
            f"optimizer is the class {name}: pass an instance, optimizer=optim.{name}(1e-3)."
        )
    if not (hasattr(optimizer, "init") and hasattr(optimizer, "update")):
        raise ArgumentTypeError(
            "optimizer is one of trellis.optim, for example trellis.optim.Adam(), got "
            f"{optimizer!r}."
        )


def clipping_of(norm: float | None, value: float | None) -> Any:
    """The transformation of gradients that `clip_value` and `clip_norm` ask for."""
    if norm is None and value is None:
        return None
    from .. import optim

    for name, limit in (("clip_norm", norm), ("clip_value", value)):
        if limit == 0:
            raise ArgumentError(f"{name}=0 would make every gradient 0: leave {name} out.")
    asked = [] if value is None else [optim.clip(value)]
    if norm is not None:
        asked.append(optim.clip_by_global_norm(norm))
    return optim.chain(*asked)


def first_state(optimizer: Any, v: Container) -> tuple[Container, Any]:
    """The variables to begin with, and the optimizer's own state if it matches, so that a second
    `fit` continues; else a new one."""
    state = getattr(optimizer, "state", None)
    fresh = optimizer.init(v)
    if keeps_average(optimizer):
        optimizer.averaged(v, fresh)  # raises where there is none
    if state is None or len(tree.leaves(state)) == 0:
        return v, fresh
    if keeps_average(optimizer):
        v, state = optimizer.resumed(v, state)
    if tree.structure(state) != tree.structure(fresh):
        raise ArgumentError(
            "The state of this optimizer belongs to other variables. Make a new optimizer for "
            "another model."
        )
    return v, state


def check_rates(optimizer: Any) -> None:
    """Raise for an optimizer whose steps cannot be multiplied by a factor."""
    if keeps_average(optimizer):
        raise ArgumentError(
            "A schedule-free optimizer keeps an average by its own learning rate, and a callback "
            "that multiplies steps (ReduceOnPlateau, find_learning_rate) would spoil it. Such an "
            "optimizer needs no plateau; try a few learning rates."
        )
