"""Checks of hyperparameters, and errors for their names in other libraries."""

import functools
import math
import numbers
import operator
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

from .._core.arrays import plain
from .._core.errors import ArgumentError, ArgumentTypeError
from .._core.spelling import meant, misfit

P = ParamSpec("P")
R = TypeVar("R")

# Numbers ------------------------------------------------------------------------------------------


def number(name: str, value: object) -> float:
    """`value` as a finite number."""
    return _in_range(name, value, "a finite number", lambda x: True)


def non_negative(name: str, value: object) -> float:
    """`value` as a finite number of at least 0."""
    return _in_range(name, value, "a finite number of at least 0", lambda x: x >= 0)


def positive(name: str, value: object) -> float:
    """`value` as a finite number above 0."""
    return _in_range(name, value, "a finite number above 0", lambda x: x > 0)


def fraction(name: str, value: object) -> float:
    """`value` as a number in [0, 1): at 1 an average would never change."""
    return _in_range(name, value, "a number in [0, 1)", lambda x: 0 <= x < 1)


def zero_to_one(name: str, value: object) -> float:
    """`value` as a number in [0, 1]."""
    return _in_range(name, value, "a number in [0, 1]", lambda x: 0 <= x <= 1)


def _in_range(name: str, value: object, expected: str, is_inside: Callable[[float], bool]) -> float:
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise ArgumentTypeError(f"{name} must be {expected}, got {_shown(value)}.")
    found = float(value)
    if not (math.isfinite(found) and is_inside(found)):
        raise ArgumentError(f"{name} must be {expected}, got {found!r}.")
    return found


LARGEST = 2**31 - 1  # the counters of steps are int32


def count(name: str, value: object, least: int = 1) -> int:
    """`value` as an integer of at least `least`."""
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        raise ArgumentTypeError(f"{name} must be an integer, got {_shown(value)}.")
    found = operator.index(value)
    if not least <= found <= LARGEST:
        most = f" and at most {LARGEST}" if found > LARGEST else ""
        raise ArgumentError(f"{name} must be at least {least}{most}, got {value!r}.")
    return found


def flag(name: str, value: object) -> bool:
    """`value`, if it is True or False."""
    value = plain(value)
    if not isinstance(value, bool):
        raise ArgumentTypeError(f"{name} must be True or False, got {_shown(value)}.")
    return value


def rate(name: str, value: Any) -> Any:
    """A learning rate: a number of at least 0, an array of one number, or a schedule."""
    value = plain(value)
    is_array = hasattr(value, "dtype") and hasattr(value, "shape")
    if is_array and not isinstance(value, numbers.Real):
        if len(value.shape) == 0:
            return value
        raise ArgumentError(f"{name} must be one number, got an array of shape {value.shape}.")
    # A module is callable too, but not with a step: the user meant to optimize it.
    is_module = hasattr(value, "_forward") or hasattr(value, "parameters")
    if callable(value) and not isinstance(value, type) and not is_module:
        return value
    if isinstance(value, numbers.Real) or value is None or isinstance(value, (str, complex)):
        return non_negative(name, value)
    raise ArgumentTypeError(
        f"{name} must be a number or a schedule, got {_shown(value)}. An optimizer of Trellis does "
        "not hold the variables: make it with optim.Adam(lr), then write "
        "v = optimizer.step(v, grads)."
    )


def _shown(value: object) -> str:
    text = repr(value)
    return f"{text} ({type(value).__name__})" if len(text) < 60 else f"a {type(value).__name__}"


# Names --------------------------------------------------------------------------------------------

# Names in torch, Keras and optax, and ours for the same thing; the first one that the function has
# is used.
OTHER_NAMES: dict[str, tuple[str, ...]] = {
    "alpha": ("decay", "end"),
    "b1": ("beta1",),
    "b2": ("beta2",),
    "beta_1": ("beta1",),
    "beta_2": ("beta2",),
    "boundaries_and_scales": ("factors",),
    "clip_threshold": ("clipping",),
    "clipping_threshold": ("clipping",),
    "decay_factor": ("factor",),
    "decay_rate": ("factor", "decay"),
    "decay_steps": ("steps",),
    "div_factor": ("division",),
    "end_learning_rate": ("end",),
    "end_value": ("end",),
    "eps": ("epsilon",),
    "eta_min": ("end",),
    "every_k_schedule": ("every",),
    "final_div_factor": ("final_division",),
    "gamma": ("factor",),
    "init_value": ("value", "start"),
    "initial_accumulator_value": ("initial_accumulator",),
    "initial_learning_rate": ("value",),
    "learning_rate": ("lr", "value"),
    "max_delta": ("limit",),
    "max_lr": ("peak",),
    "max_norm": ("limit",),
    "milestones": ("factors",),
    "min_dim_size_to_factor": ("min_size_to_factor",),
    "multiply_by_parameter_scale": ("scale_by_parameters",),
    "pct_start": ("warmup_fraction",),
    "peak_value": ("peak",),
    "rho": ("decay",),
    "step_size": ("every", "factor", "lr"),
    "step_size_fn": ("schedule",),
    "T_max": ("steps",),
    "total_steps": ("steps",),
    "transition_begin": ("begin",),
    "transition_steps": ("steps",),
    "weight_decay_mask": ("mask",),
    "weight_decay_rate": ("weight_decay",),
}
# Arguments of other libraries that have no counterpart, and what to write instead.
ADVICE = {
    "betas": "write beta1 and beta2",
    "params": "the variables are given to step(v, grads) and to init(v)",
    "parameters": "the variables are given to step(v, grads) and to init(v)",
    "weight_decay": "put optim.add_decayed_weights(...) into a chain",
    "nesterov": "SGD and LARS have Nesterov's form, and NAdam is Adam with it",
    "dampening": "SGD and optim.trace(...) have it",
    "amsgrad": "Adam and AdamW have it",
    "decoupled_weight_decay": "Adam couples weight_decay, AdamW does not",
    "clipnorm": "write .after(optim.clip_by_norm(...))",
    "clipvalue": "write .after(optim.clip(...))",
    "global_clipnorm": "write .after(optim.clip_by_global_norm(...))",
    "use_ema": "use an optim.ParameterAverage with the optimizer",
    "ema_momentum": "use an optim.ParameterAverage with the optimizer",
    "gradient_accumulation_steps": "write .accumulated(steps)",
    "maximize": "write .maximizing()",
    "foreach": "multi-tensor operations are used wherever the framework has them",
    "fused": "a fused kernel is used wherever the framework has one",
    "last_epoch": "the step counter is in the optimizer's state",
}


def explained(fn: Callable[P, R]) -> Callable[P, R]:
    """`fn`; called with arguments that it does not have, the error says what to write."""

    @functools.wraps(fn)
    def checked(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return fn(*args, **kwargs)
        except TypeError:
            problem = _problem(fn, args, kwargs)
            if problem is None:
                raise
        raise ArgumentTypeError(problem)

    return checked


def _problem(fn: Callable[..., Any], args: Any, kwargs: dict[str, Any]) -> str | None:
    """Why the arguments do not fit the signature; None if they do."""
    found = misfit(fn, args, kwargs)
    if found is None:
        return None
    unknown, known, said = found
    owner = fn.__qualname__.removesuffix(".__init__")
    if not unknown:
        return f"{owner}(): {said}. Its arguments are {', '.join(known)}."
    advice = [f"{owner}() has no argument {name!r}{_advice(name, known)}" for name in unknown]
    return " ".join([*advice, f"The arguments of {owner}() are {', '.join(known)}."])


def _advice(name: str, known: list[str]) -> str:
    is_known_elsewhere = any([ours in known for ours in OTHER_NAMES.get(name, ())])
    if name in ADVICE and not is_known_elsewhere:
        return f": {ADVICE[name]}."
    ours = meant(name, known, OTHER_NAMES)
    return "." if ours is None else f": did you mean {ours!r}?"
