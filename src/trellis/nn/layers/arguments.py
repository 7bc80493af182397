"""Arguments that a layer does not know: which of its own was meant."""

import inspect
from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any

from ..._core.errors import ArgumentTypeError

# What users of torch.nn and Keras type, and what it may be called here; the first that a layer has
# is meant.
SPELLINGS: dict[str, tuple[str, ...]] = {
    "in_features": ("input_channels",),
    "in_channels": ("input_channels", "num_channels"),
    "in1_features": ("input1_channels",),
    "in2_features": ("input2_channels",),
    "input_size": ("input_channels",),
    "out_features": ("output_channels",),
    "out_channels": ("output_channels",),
    "hidden_size": ("output_channels",),
    "units": ("output_channels",),
    "filters": ("output_channels",),
    "num_parameters": ("num_channels",),
    "channels": ("num_channels", "num_features"),
    "kernel_size": ("filter_shape", "window"),
    "filter_size": ("filter_shape",),
    "pool_size": ("window",),
    "stride": ("strides",),
    "dilation": ("dilations",),
    "dilation_rate": ("dilations",),
    "p": ("prob",),
    "rate": ("prob",),
    "bias": ("with_bias",),
    "use_bias": ("with_bias",),
    "kernel_initializer": ("weight_initializer",),
    "embeddings_initializer": ("weight_initializer",),
    "input_dim": ("num_embeddings", "input_channels"),
    "output_dim": ("embedding_dim", "output_channels"),
    "padding_idx": ("padding_index",),
    "epsilon": ("eps",),
    "eps": ("epsilon",),
    "scale": ("elementwise_affine", "affine"),
    "center": ("with_bias", "affine"),
    "d_model": ("embed_dim",),
    "nhead": ("num_heads",),
    "kdim": ("key_dim",),
    "vdim": ("value_dim",),
    "dim_feedforward": ("feedforward_channels",),
    "return_sequences": ("return_sequence",),
    "batch_first": ("time_major",),
    "dim": ("axis",),
    "start_dim": ("start",),
    "min_val": ("low",),
    "max_val": ("high",),
    "alpha": ("negative_slope",),
    "init": ("initial",),
    "pos_weight": ("positive_weight",),
    "log_target": ("log_targets",),
}


def meant(name: str, known: Iterable[str]) -> str | None:
    """The argument that a user who typed `name` had in mind, or None.

    >>> meant("kernel_size", ["window", "strides"]), meant("stirdes", ["window", "strides"])
    ('window', 'strides')
    """
    names = list(known)
    for ours in SPELLINGS.get(name, ()):
        if ours in names:
            return ours
    close = get_close_matches(name, names, n=1)
    return close[0] if close else None


def unknown_arguments(cls: type, unknown: Iterable[str], known: Iterable[str]) -> ArgumentTypeError:
    """The error for arguments that a class does not know."""
    names, parts = list(known), []
    for name in unknown:
        ours = meant(name, names)
        parts.append(f"{name!r}" if ours is None else f"{name!r} (did you mean {ours!r}?)")
    return ArgumentTypeError(
        f"{cls.__name__}() got arguments that it does not know: {', '.join(parts)}. "
        f"It takes {', '.join(names)}."
    )


def explain(cls: type, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Raise the clearer error if a call of `cls` failed because its arguments do not fit."""
    signature = inspect.signature(cls)
    known = [name for name, p in signature.parameters.items() if p.kind is not p.VAR_POSITIONAL]
    unknown = [name for name in kwargs if name not in known]
    if unknown:
        raise unknown_arguments(cls, unknown, known)
    try:
        signature.bind(*args, **kwargs)
    except TypeError as error:
        raise ArgumentTypeError(f"{cls.__name__}() {error}. It takes {', '.join(known)}.") from None
