"""Signals: Fourier transforms, windows, scales of tones."""

from typing import Any

from ...graph import Value
from .builder import OnnxBuilder
from .table import TYPES, rules


@rules("DFT")
def fourier(
    g: OnnxBuilder,
    x: Value,
    length: Value | None = None,
    where: Value | None = None,
    axis: int = 1,
    inverse: int = 0,
    onesided: int = 0,
) -> Value:
    place = axis if g.opset < 20 else -2 if where is None else g.integer(where)
    return g.s.fourier(
        x, None if length is None else g.integer(length), axis=place, inverse=bool(inverse),
        one_sided=bool(onesided),
    )  # fmt: skip


@rules("STFT")
def short_time_fourier(
    g: OnnxBuilder,
    x: Value,
    step: Value,
    window: Value | None = None,
    length: Value | None = None,
    onesided: int = 1,
) -> Value:
    return g.s.short_time_fourier(
        x, g.integer(step), window, None if length is None else g.integer(length),
        one_sided=bool(onesided),
    )  # fmt: skip


def _window(name: str) -> Any:
    def rule(g: OnnxBuilder, size: Value, output_datatype: int = 1, periodic: int = 1) -> Value:
        kind = TYPES[output_datatype]
        return g.s.window(name, g.integer(size), periodic=bool(periodic), dtype=kind, backend=g.to)

    return rule


for _op, _name in {
    "HannWindow": "hann", "HammingWindow": "hamming", "BlackmanWindow": "blackman"
}.items():  # fmt: skip
    rules(_op)(_window(_name))


@rules("MelWeightMatrix")
def mel_weights(
    g: OnnxBuilder,
    bins: Value,
    length: Value,
    rate: Value,
    low: Value,
    high: Value,
    output_datatype: int = 1,
) -> Value:
    numbers = [g.integer(x) for x in (bins, length, rate)]
    edges = []
    for x in (low, high):
        known = g.number(x)
        edges.append(g.s.number(x) if isinstance(known, Value) else known)
    return g.s.mel_weights(*numbers, *edges, dtype=TYPES[output_datatype], backend=g.to)
