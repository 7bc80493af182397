"""Arguments that a layer does not know: which of its own was meant."""

from collections.abc import Iterable
from typing import Any

from ..._core.arrays import plain
from ..._core.errors import ArgumentTypeError
from ..._core.kinds import parameters_of, wrong_kind
from ..._core.spelling import meant, misfit

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


def unknown_arguments(cls: type, unknown: Iterable[str], known: Iterable[str]) -> ArgumentTypeError:
    """The error for arguments that a class does not know."""
    names, parts = list(known), []
    for name in unknown:
        ours = meant(name, names, SPELLINGS)
        parts.append(f"{name!r}" if ours is None else f"{name!r} (did you mean {ours!r}?)")
    return ArgumentTypeError(
        f"{cls.__name__}() got arguments that it does not know: {', '.join(parts)}. "
        f"It takes {', '.join(names)}."
    )


def check_constructor(
    cls: type, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments of a layer, NumPy's scalars as Python numbers; those that are not of the kind
    that its signature asks for raise."""
    args, kwargs = plain(args), {name: plain(value) for name, value in kwargs.items()}
    parameters = parameters_of(cls)
    by_place = [name for name, p in parameters.items() if p.kind is p.POSITIONAL_OR_KEYWORD]
    given: dict[str, Any] = dict(zip(by_place, args, strict=False))
    given |= {name: args for name, p in parameters.items() if p.kind is p.VAR_POSITIONAL}
    given |= {name: value for name, value in kwargs.items() if name in parameters}
    found = wrong_kind(cls.__name__, parameters, given)
    if found is not None:
        raise found
    return args, kwargs


def explain(cls: type, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Raise the clearer error if a call of `cls` failed because its arguments do not fit."""
    found = misfit(cls, args, kwargs)
    if found is None:
        return
    unknown, known, said = found
    if unknown:
        raise unknown_arguments(cls, unknown, known)
    raise ArgumentTypeError(f"{cls.__name__}() {said}. It takes {', '.join(known)}.") from None
