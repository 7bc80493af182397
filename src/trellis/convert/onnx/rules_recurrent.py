"""Recurrent layers."""

from collections.abc import Sequence
from typing import Any, TypeAlias

from ...graph import Value
from .builder import OnnxBuilder
from .table import rules

# Attributes of a node, which may leave them out.
Names: TypeAlias = Sequence[str] | None
Factors: TypeAlias = Sequence[float] | None
_DEFAULTS = {"rnn": ("Tanh",), "gru": ("Sigmoid", "Tanh"), "lstm": ("Sigmoid", "Tanh", "Tanh")}


def _options(
    kind: str,
    direction: str,
    activations: Names,
    alphas: Factors,
    betas: Factors,
    clip: float | None,
) -> dict[str, Any]:
    count = 2 if direction == "bidirectional" else 1
    names: Any = tuple(activations) if activations else _DEFAULTS[kind] * count
    if alphas or betas:
        # The numbers belong, in order, to those activations that have any.
        left, right = list(alphas or ()), list(betas or ())
        with_alpha = ("Affine", "LeakyRelu", "ThresholdedRelu", "ScaledTanh", "HardSigmoid", "Elu")
        with_beta = ("Affine", "ScaledTanh", "HardSigmoid")
        names = tuple([
            (
                name,
                left.pop(0) if left and name in with_alpha else None,
                right.pop(0) if right and name in with_beta else None,
            )
            for name in names
        ])  # fmt: skip
    options: dict[str, Any] = {"direction": direction}
    if names != _DEFAULTS[kind] * count or count == 2:
        options["activations"] = names
    if clip:
        options["clip"] = clip
    return options


def _layer(g: OnnxBuilder, kind: str, args: list[Any], layout: int, options: dict[str, Any]) -> Any:
    """The call, with batch-first arrays turned to time first and back."""
    if layout:
        for i in (0, 5, 6):
            if i < len(args) and args[i] is not None:
                args[i] = g.t.permute_dims(args[i], (1, 0, 2))
    while args[-1] is None:
        args.pop()
    found = getattr(g.s, kind)(*args, **options)
    parts = list(g.items(found, 3 if kind == "lstm" else 2))
    if layout:
        parts[0] = g.t.permute_dims(parts[0], (2, 0, 1, 3))
        parts[1:] = [g.t.permute_dims(part, (1, 0, 2)) for part in parts[1:]]
    return tuple(parts)


@rules("RNN")
def rnn(
    g: OnnxBuilder, x: Value, w: Value, r: Value, b: Value | None = None,
    lengths: Value | None = None, h: Value | None = None,
    activation_alpha: Factors = None, activation_beta: Factors = None, activations: Names = None,
    clip: float | None = None, direction: str = "forward", hidden_size: int = 0, layout: int = 0,
) -> Any:  # fmt: skip
    options = _options("rnn", direction, activations, activation_alpha, activation_beta, clip)
    return _layer(g, "rnn", [x, w, r, b, lengths, h], layout, options)


@rules("GRU")
def gru(
    g: OnnxBuilder, x: Value, w: Value, r: Value, b: Value | None = None,
    lengths: Value | None = None, h: Value | None = None,
    activation_alpha: Factors = None, activation_beta: Factors = None, activations: Names = None,
    clip: float | None = None, direction: str = "forward", hidden_size: int = 0, layout: int = 0,
    linear_before_reset: int = 0,
) -> Any:  # fmt: skip
    options = _options("gru", direction, activations, activation_alpha, activation_beta, clip)
    if linear_before_reset:
        options["reset_after"] = True
    return _layer(g, "gru", [x, w, r, b, lengths, h], layout, options)


@rules("LSTM")
def lstm(
    g: OnnxBuilder, x: Value, w: Value, r: Value, b: Value | None = None,
    lengths: Value | None = None, h: Value | None = None, c: Value | None = None,
    p: Value | None = None,
    activation_alpha: Factors = None, activation_beta: Factors = None, activations: Names = None,
    clip: float | None = None, direction: str = "forward", hidden_size: int = 0,
    input_forget: int = 0, layout: int = 0,
) -> Any:  # fmt: skip
    options = _options("lstm", direction, activations, activation_alpha, activation_beta, clip)
    if input_forget:
        options["coupled"] = True
    return _layer(g, "lstm", [x, w, r, b, lengths, h, c, p], layout, options)
