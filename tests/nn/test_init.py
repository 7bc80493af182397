"""Initialisers: the same seed gives the same weights on every backend, and they have the right
size."""

import numpy as np
import pytest

import trellis
from trellis import errors
from trellis.nn import init
from trellis.testing import assert_close

RANDOM = [
    init.Uniform(-0.2, 0.3), init.Normal(1.0, 0.5), init.TruncatedNormal(0.5, 2.0),
    init.GlorotUniform(),
    init.GlorotNormal(), init.HeUniform(), init.HeNormal(), init.LeCunUniform(), init.LeCunNormal(),
    init.Orthogonal(2.0), init.VarianceScaling(3.0, "fan_out", "normal"), init.Siren(),
    init.Siren(is_first=True),
]  # fmt: skip


def plain(x):
    return np.asarray(trellis.to_numpy(x)).astype(np.float64)


@pytest.mark.parametrize("make", RANDOM, ids=repr)
def test_same_seed_same_weights(backend, xp, make):
    trellis.seed(3)
    first = make((6, 4), backend=backend)
    second = make((6, 4), backend=backend)
    trellis.seed(3)
    np.testing.assert_allclose(plain(first), make((6, 4), backend="numpy"), rtol=1e-5, atol=2e-6)
    assert trellis.backend_of(first) == backend and xp.dtype_name(first.dtype) == "float32"
    assert (plain(first) != plain(second)).any()
    key = trellis.random.key(9, backend=backend)
    np.testing.assert_array_equal(
        plain(make((6, 4), key=key)), plain(make((6, 4), key=9, backend=backend))
    )
    half = (
        make((6, 4), backend=backend, dtype="bfloat16")
        if not isinstance(make, init.Orthogonal)
        else None
    )
    assert half is None or xp.dtype_name(half.dtype) == "bfloat16"


@pytest.mark.parametrize("make", [init.Zeros(), init.Ones(), init.Constant(0.25)], ids=repr)
def test_constants(backend, xp, make):
    assert_close(
        make((2, 3), backend=backend, dtype="float16"),
        np.full((2, 3), make.value, "float16"),
        backend=backend,
    )


def test_bounds_and_moments(backend, xp):
    trellis.seed(0)
    with trellis.using_backend(backend):
        weights = plain(init.GlorotUniform()((64, 4)))
        assert 0.28 < abs(weights).max() <= 0.29704426
        for make, std, most in (
            (init.Uniform(-0.3, 0.3), 0.3 / 3**0.5, 0.3),
            (init.Normal(std=0.5), 0.5, 4.0),
            (init.TruncatedNormal(std=0.5), 0.5 * 0.8796, 1.0),
            (init.GlorotUniform(), (2 / 500) ** 0.5, (6 / 500) ** 0.5),
            (init.GlorotNormal(), (2 / 500) ** 0.5, 1.0),
            (init.HeUniform(), (2 / 200) ** 0.5, (6 / 200) ** 0.5),
            (init.HeNormal(), (2 / 200) ** 0.5, 1.0),
            (init.LeCunUniform(), (1 / 200) ** 0.5, (3 / 200) ** 0.5),
            (init.LeCunNormal(), (1 / 200) ** 0.5, 1.0),
            (init.VarianceScaling(3.0, "fan_out", "normal"), (3 / 300) ** 0.5, 1.0),
            (init.Siren(), (2 / 200) ** 0.5 / 30, (6 / 200) ** 0.5 / 30),
            (init.Siren(is_first=True), 1 / 200 / 3**0.5, 1 / 200),
        ):
            weights = plain(make((300, 200)))
            assert abs(weights.std() / std - 1) < 0.03 and abs(weights).max() <= most * (
                1 + 1e-6
            ), make
            assert abs(weights.mean()) < 6 * std / 60000**0.5
        # A layer that knows its fans passes them; a window multiplies both.
        given = plain(init.HeUniform()((3, 3, 200, 300), fan_in=1800, fan_out=2700))
        assert abs(given.std() / (2 / 1800) ** 0.5 - 1) < 0.03
        found = plain(init.HeUniform()((3, 3, 300, 200)))
        assert abs(found.std() / (2 / 1800) ** 0.5 - 1) < 0.03


def test_orthogonal(backend, xp):
    with trellis.using_backend(backend):
        for shape in ((8, 4), (4, 8), (2, 3, 5)):
            w = xp.reshape(init.Orthogonal()(shape), (-1, shape[-1]))
            other = xp.matrix_transpose(w)
            product = xp.matmul(other, w) if w.shape[0] >= w.shape[1] else xp.matmul(w, other)
            expected = np.eye(min(w.shape), dtype="float32")
            # Sums of up to 8 products of float32 that are at most 1.
            assert_close(product, expected, backend=backend, rtol=0, atol=1e-6)


def test_errors():
    for call in (
        lambda: init.Uniform(1.0, 0.0),
        lambda: init.Normal(std=-1.0),
        lambda: init.TruncatedNormal(bound=0.0),
        lambda: init.VarianceScaling(-1.0),
        lambda: init.VarianceScaling(1.0, "fan"),
        lambda: init.Siren(0.0),
        lambda: init.Orthogonal()((3,)),
        lambda: init.Zeros()((-1,)),
    ):
        with pytest.raises(errors.TrellisError) as caught:
            call()
        assert isinstance(caught.value, ValueError)
