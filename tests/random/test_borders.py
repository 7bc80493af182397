"""Draws at the borders between two ways to compute them, against formulas."""

import math

import numpy as np
import pytest

import trellis
from trellis._random import weighted

XP = trellis.namespace("numpy")


@pytest.mark.parametrize("top, is_wide", [(2**31 - 1, False), (2**31, False), (2**31 + 1, True)])
def test_integers_of_32_bits_as_long_as_the_bounds_are(top, is_wide):
    """Without a dtype: numbers of int32 while the largest one fits, of int64 beyond."""
    key = trellis.random.key(3)
    drawn = trellis.random.randint(key, (50,), 0, top)
    wide = trellis.random.randint(key, (50,), 0, top, "int64")
    assert drawn.dtype == wide.dtype == "int64"
    assert np.array_equal(drawn, wide) is is_wide


def test_logarithms_of_weights():
    """Of every power of two, and of numbers between them; 23 binary digits, of which the table of
    fractions may miss the last ones."""
    x = np.array([s * 2.0**-k for k in range(127) for s in (1.0, 1.3, 1.999)] + [2.0], "float32")
    found = weighted._log2_float(XP, x) / 2.0**23
    expected = np.log2(x.astype("float64"))
    np.testing.assert_allclose(found, expected, rtol=0, atol=2.0**-20)
    powers = found[:-1:3]
    assert powers.tolist() == [float(-k) for k in range(127)] and found[-1] == 1.0


def test_logarithms_of_exponential_draws():
    """On both sides of 2**28, where the series takes over; 0 is drawn as 1."""
    draws = [1, 2, 1000, 2**27, 2**28 - 1, 2**28, 2**28 + 1, 2**30, 2**31, 2**32 - 1]
    found = weighted._log2_exponential(XP, np.array([0, *draws], "uint32")) / 2.0**23
    expected = [math.log2(-math.log1p(-d / 2**32) / math.log(2)) for d in (1, *draws)]
    # Above 2**28 it is the logarithm of a logarithm with 23 binary digits, which is 0.09 at least.
    np.testing.assert_allclose(found, expected, rtol=0, atol=2.0**-23 / 0.09 * 1.5)
    np.testing.assert_allclose(found[:6], expected[:6], rtol=0, atol=2.0**-20)


def test_one_half_is_the_default_of_bernoulli():
    key = trellis.random.key(5)
    drawn = trellis.random.bernoulli(key, shape=(64,))
    assert np.array_equal(drawn, trellis.random.bernoulli(key, 0.5, (64,)))
    assert 0 < drawn.sum() < 64


def test_short_floats_are_drawn_with_more_digits():
    drawn = trellis.random.truncated_normal(trellis.random.key(1), -1.0, 2.0, (500,), "float16")
    long = trellis.random.truncated_normal(trellis.random.key(1), -1.0, 2.0, (500,))
    assert drawn.dtype == "float16" and drawn.min() >= -1.0 and drawn.max() <= 2.0
    # The same distribution, of other uniforms: its mean is 0.2296 and its deviation 0.72, so that
    # the mean of 500 is right to 0.13 in all but one of 10,000 seeds.
    assert abs(drawn.astype("float64").mean() - 0.2296) < 0.13
    assert abs(long.mean() - 0.2296) < 0.13


def test_keys_of_forked_processes():
    from trellis._core.threefry import MASK, threefry
    from trellis._random.stream import _words_of_child

    inner = threefry((1, 2), (MASK, MASK))
    assert _words_of_child((1, 2), 7) == threefry(inner, (0, 7))
    assert _words_of_child((1, 2), 2**33 + 5) == threefry(inner, (2, 5))


def test_populations_of_one_and_of_none(backend):
    with trellis.using_backend(backend):
        assert trellis.to_numpy(trellis.multinomial(1, 3)).tolist() == [[0, 0, 0]]
        with pytest.raises(trellis.errors.ArgumentError, match="at least 1, got 0"):
            trellis.multinomial(0, 1)
        with pytest.raises(trellis.errors.ArgumentError, match=r"got the shape \(1, 0\)"):
            trellis.multinomial(3, 1, probs=trellis.zeros((1, 0)))


@pytest.mark.parametrize("name, parameter", [("truncated_normal", "upper"), ("beta", "b")])
def test_the_second_parameter_is_named(name, parameter):
    with pytest.raises(
        trellis.errors.ArgumentTypeError, match=rf"^{name}\(\) expects .* for {parameter}, got 'x'"
    ):
        getattr(trellis.random, name)(trellis.random.key(0), 0.5, "x", (2,))


def test_the_smallest_gumbel_draw_of_short_floats():
    """Where the uniform draw is 0, the smallest normal number stands for it."""
    draws = trellis.random.gumbel(trellis.random.key(0, backend="numpy"), (20_000,), "float16")
    # -log(-log(2**-14)), to the 11 bits of the type: 0 is drawn once in 2,048.
    np.testing.assert_allclose(draws.min(), -np.log(14 * np.log(2)), rtol=2**-10)
