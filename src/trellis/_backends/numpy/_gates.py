"""Activations x * gate(x): GELU in both forms and SiLU, each one entry on the tape."""

import math
from typing import Any

import numpy as np

from . import _scipy
from ._fused import fused
from ._rules.elementwise import erf

_ROOT_HALF = math.sqrt(0.5)
_ROOT = math.sqrt(2 / math.pi)
_CUBIC = 0.044715


def _back(gs: list[Any], slope: Any, places: list[int]) -> list[Any]:
    return [gs[0] * slope]


# GELU: x times the normal distribution function ---------------------------------------------------


def _gelu(x: Any) -> tuple[Any]:
    return (0.5 * x * (1 + erf(x * _ROOT_HALF)),)


def _gelu_forward(x: Any) -> tuple[tuple[Any], Any]:
    gate = x * _ROOT_HALF
    density = gate * gate
    _scipy.special.erf(gate, out=gate)
    gate += 1
    gate *= 0.5
    y = x * gate
    np.negative(density, out=density)
    np.exp(density, out=density)
    density *= x
    density *= 0.5 * _ROOT
    gate += density  # the derivative: distribution plus x times density
    return (y,), gate


# The form with tanh -------------------------------------------------------------------------------


def _tanh_gelu(x: Any) -> tuple[Any]:
    return (0.5 * x * (1 + np.tanh(_ROOT * (x * (1 + _CUBIC * (x * x))))),)


def _tanh_gelu_forward(x: Any) -> tuple[tuple[Any], Any]:
    square = x * x
    bent = _CUBIC * square
    bent += 1
    bent *= x
    bent *= _ROOT
    np.tanh(bent, out=bent)
    # The derivative: (1 + tanh) / 2 + x * (1 - tanh**2) / 2 * inner derivative.
    square *= 3 * _CUBIC
    square += 1
    square *= 0.5 * _ROOT
    square *= x
    slope = bent * bent
    np.subtract(1, slope, out=slope)
    slope *= square
    bent += 1
    bent *= 0.5
    slope += bent
    return (np.multiply(bent, x, out=bent),), slope


# SiLU: x times the logistic function --------------------------------------------------------------


def _silu(x: Any) -> tuple[Any]:
    return (x * _scipy.special.expit(x),)


def _silu_forward(x: Any) -> tuple[tuple[Any], Any]:
    gate = np.negative(x)
    with np.errstate(over="ignore"):
        np.exp(gate, out=gate)
    gate += 1
    np.divide(1, gate, out=gate)
    y = x * gate
    slope = y * gate
    np.subtract(y, slope, out=slope)
    slope += gate  # gate + x * gate * (1 - gate)
    return (y,), slope


fused_gelu = fused(_gelu_forward, _back, _gelu)
fused_tanh_gelu = fused(_tanh_gelu_forward, _back, _tanh_gelu)
fused_silu = fused(_silu_forward, _back, _silu)
