"""Layers that are one entry on NumPy's tape: every order and mode of derivative, on all four.

First derivatives of such a layer come from code of their own, all others from its formula; both are
compared with differences in float64.
"""

import numpy as np
import pytest

import trellis
from trellis import functional as F
from trellis.testing import assert_close

RNG = np.random.default_rng(7)


def drawn(*shape):
    return RNG.standard_normal(shape)


KEEP = np.array([[True, False, True], [True, True, False], [False, False, False]])
CLASSES = np.array([[2, 0, 1], [1, 1, 3]])


def weighed(xp, x):
    """A number that depends on all elements, each in its own way, and not only in a linear way."""
    count = int(np.prod(tuple(x.shape)))
    flat = xp.reshape(x, (count,))
    scale = xp.asarray(np.cos(np.arange(count)), dtype="float64")
    return xp.sum(flat * scale) + xp.sum(flat * flat)


def lstm(x, h, c, kernel, recurrent, bias):
    hs, (h, c) = trellis.lstm_update(x, h, c, kernel, recurrent, bias=bias)
    return trellis.concat([hs, trellis.stack([h, c, h * c], axis=1)], axis=1)


def gru(x, h, kernel, recurrent, bias):
    hs, h = F.gru_update(x, h, kernel, recurrent, bias=bias, recurrent_bias=bias)
    return trellis.concat([hs, trellis.expand_dims(h * h, axis=1)], axis=1)


def last_of_gru(x, h, kernel, recurrent):
    return F.gru_update(x, h, kernel, recurrent, time_major=True)[1]


LAYERS = {
    "linear": (lambda x, w, b: F.linear(x, w, bias=b), [drawn(2, 3, 4), drawn(5, 4), drawn(5)]),
    "linear, few rows": (
        lambda x, w, b: F.linear(x, w, bias=b),
        [drawn(2, 4), drawn(5, 4), drawn(5)],
    ),
    "linear, one row": (lambda x, w: F.linear(x, w), [drawn(4), drawn(5, 4)]),
    "layer_norm": (
        lambda x, w, b: F.layer_norm(x, weight=w, bias=b),
        [drawn(2, 3, 4), drawn(4), drawn(4)],
    ),
    "layer_norm, two axes": (
        lambda x, b: F.layer_norm(x, axis=(1, 2), bias=b),
        [drawn(2, 3, 4), drawn(3, 4)],
    ),
    "layer_norm, first axis": (lambda x: F.layer_norm(x, axis=0), [drawn(3, 4)]),
    "attention": (
        lambda q, k, v: trellis.scaled_dot_product_attention(q, k, v),
        [drawn(2, 3, 4), drawn(2, 5, 4), drawn(2, 5, 2)],
    ),
    "attention, causal": (
        lambda q, k, v: trellis.scaled_dot_product_attention(q, k, v, is_causal=True),
        [drawn(2, 3, 4), drawn(2, 3, 4), drawn(2, 3, 2)],
    ),
    "gelu": (F.gelu, [drawn(3, 4)]),
    "gelu, tanh": (lambda x: F.gelu(x, approximate=True), [drawn(3, 4)]),
    "silu": (F.silu, [drawn(3, 4)]),
    "lstm": (
        lstm,
        [drawn(2, 3, 2), drawn(2, 3), drawn(2, 3), drawn(2, 12), drawn(3, 12), drawn(12)],
    ),
    "gru": (gru, [drawn(2, 3, 2), drawn(2, 3), drawn(2, 9), drawn(3, 9), drawn(9)]),
    "gru, last state": (last_of_gru, [drawn(3, 2, 2), drawn(2, 3), drawn(2, 9), drawn(3, 9)]),
    "convolution": (
        lambda x, w, b: F.conv2d(x, w, 2, "SAME", bias=b),
        [drawn(1, 4, 4, 2), drawn(3, 3, 2, 3), drawn(3)],
    ),
}


def with_targets(name, xp):
    """The layers that also take arrays which are no floats."""
    if name == "attention, mask":
        keep = xp.asarray(KEEP)
        return (
            lambda q, k, v: trellis.scaled_dot_product_attention(q, k, v, mask=keep),
            [drawn(2, 3, 4), drawn(2, 3, 4), drawn(2, 3, 2)],
        )
    places = xp.asarray(CLASSES)
    reduction = name.split(", ")[1]
    return (
        lambda x: F.cross_entropy(x, places, reduction=reduction),
        [drawn(2, 3, 4)],
    )


NAMES = [
    *LAYERS,
    "attention, mask",
    "cross_entropy, mean",
    "cross_entropy, sum",
    "cross_entropy, none",
]


def layer_of(name, xp):
    return LAYERS[name] if name in LAYERS else with_targets(name, xp)


def slope(fn, xs, directions, width=1e-4):
    """The change of a number along a direction, by the formula of fourth order."""

    def at(t):
        return float(fn(*[x + t * d for x, d in zip(xs, directions, strict=True)]))

    near, far = at(width) - at(-width), at(2 * width) - at(-2 * width)
    return (8 * near - far) / (12 * width)


@pytest.mark.parametrize("name", NAMES)
def test_derivatives(backend, xp, array, x64, name):
    with x64():
        call, plain = layer_of(name, xp)
        rng = np.random.default_rng(1)
        directions = [rng.standard_normal(x.shape) for x in plain]
        xs, ds = [[array(x, "float64") for x in part] for part in (plain, directions)]
        places = tuple(range(len(xs)))

        def number(*args):
            return weighed(xp, call(*args))

        def along(*args):
            found = trellis.grad(number, argnums=places)(*args)
            return sum([xp.sum(g * d) for g, d in zip(found, ds, strict=True)])

        # Differences of fourth order over 1e-4 leave errors of about 1e-11 times the values.
        def of_plain(fn):
            return lambda *args: fn(*[array(x, "float64") for x in args])

        expected = slope(of_plain(number), plain, directions)
        assert_close(float(along(*xs)), expected, rtol=1e-8, atol=1e-8)
        tangent = trellis.jvp(number, tuple(xs), tuple(ds))[1]
        assert_close(float(tangent), expected, rtol=1e-8, atol=1e-8)
        second = slope(of_plain(along), plain, directions)
        found = trellis.grad(along, argnums=places)(*xs)
        total = sum([float(xp.sum(g * d)) for g, d in zip(found, ds, strict=True)])
        assert_close(total, second, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("name", NAMES)
def test_a_pullback_serves_twice_and_spares_its_inputs(backend, xp, array, x64, name):
    with x64():
        call, plain = layer_of(name, xp)
        xs = [array(x, "float64") for x in plain]
        out, pull = trellis.vjp(call, *xs)
        before = [np.array(trellis.to_numpy(x)) for x in (out, *xs)]
        given = array(np.cos(np.arange(before[0].size)).reshape(before[0].shape), "float64")
        first = [np.array(trellis.to_numpy(g)) for g in pull(given)]
        second = [trellis.to_numpy(g) for g in pull(given)]
        # The same code on the same numbers.
        assert_close(second, first, rtol=0, atol=0)
        assert_close([trellis.to_numpy(x) for x in (out, *xs)], before, rtol=0, atol=0)
