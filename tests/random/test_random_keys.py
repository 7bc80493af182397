"""`trellis.random` against `jax.random` itself: bit for bit where it can be, else within 1e-6."""

import numpy as np
import pytest

import trellis
from oracles import jax
from trellis import errors
from trellis._core.threefry import threefry
from trellis._random.stream import _GlobalStream
from trellis.conformance.strangers import other_of

SMALL = [(), (0,), (1,), (7,), (3, 5), (2, 0, 3), (4, 1, 2)]
# Counters of more than 16 bits; that each seed gives its own draws is for the small ones to say.
LARGE = [(65537,), (33, 1987)]
SEEDS = [0, 1, 42, 2**31 - 1]


def plain(x):
    return np.asarray(trellis.to_numpy(x))


def keys(backend, seed):
    return trellis.random.key(seed, backend=backend), jax.random.key(seed)


def assert_equal(ours, theirs):
    ours, theirs = plain(ours), np.asarray(theirs)
    assert ours.shape == theirs.shape
    assert ours.dtype.name == theirs.dtype.name or {ours.dtype.name, theirs.dtype.name} == {
        "int32",
        "int64",
    }
    np.testing.assert_array_equal(ours.astype(np.float64), theirs.astype(np.float64))


def assert_near(ours, theirs, rtol=1e-6, atol=1e-6):
    np.testing.assert_allclose(
        plain(ours).astype(np.float64), np.asarray(theirs).astype(np.float64), rtol=rtol, atol=atol
    )


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("shape", SMALL)
def test_draws_of_small_shapes(backend, xp, shape, seed):
    check_draws(backend, xp, shape, seed)


@pytest.mark.parametrize("shape", LARGE)
def test_draws_of_large_shapes(backend, xp, shape):
    check_draws(backend, xp, shape, SEEDS[-1])


def check_draws(backend, xp, shape, seed):
    ours, theirs = keys(backend, seed)
    for dtype in ("uint8", "uint16", "uint32"):
        assert_equal(trellis.random.bits(ours, shape, dtype), jax.random.bits(theirs, shape, dtype))
    for dtype in ("float16", "bfloat16", "float32"):
        drawn = trellis.random.uniform(ours, shape, dtype)
        assert_equal(drawn, jax.random.uniform(theirs, shape, dtype))
        assert trellis.backend_of(drawn) == backend and xp.dtype_name(drawn.dtype) == dtype
        tolerance = 1e-6 if dtype == "float32" else float(jax.numpy.finfo(dtype).eps)
        normals = trellis.random.normal(ours, shape, dtype), jax.random.normal(theirs, shape, dtype)
        assert_near(*normals, rtol=tolerance)
    for low, high, dtype in (
        (0, 10, "int32"),
        (-7, 120, "int8"),
        (-(2**31), 2**31 - 1, "int32"),
        (5, 5, "int32"),
    ):
        drawn = trellis.random.randint(ours, shape, low, high, dtype)
        assert_equal(drawn, jax.random.randint(theirs, shape, low, high, dtype))
    assert_equal(
        trellis.random.randint(ours, shape, -3, 1000), jax.random.randint(theirs, shape, -3, 1000)
    )
    assert_equal(
        trellis.random.bernoulli(ours, 0.3, shape), jax.random.bernoulli(theirs, 0.3, shape)
    )
    assert_equal(trellis.random.choice(ours, 9, shape), jax.random.choice(theirs, 9, shape))


@pytest.mark.parametrize("seed", SEEDS)
def test_wide_draws(backend, xp, x64, seed):
    with x64(), jax.enable_x64(True):
        ours, theirs = keys(backend, seed)
        for shape in ((), (0,), (3, 5), (70001,)):
            assert_equal(
                trellis.random.bits(ours, shape, "uint64"), jax.random.bits(theirs, shape, "uint64")
            )
            assert_equal(
                trellis.random.uniform(ours, shape, "float64"),
                jax.random.uniform(theirs, shape, "float64"),
            )
            normals = (
                trellis.random.normal(ours, shape, "float64"),
                jax.random.normal(theirs, shape, "float64"),
            )
            assert_near(*normals, rtol=1e-13, atol=1e-14)
            for low, high in ((0, 10), (-(2**62), 2**63 - 1), (-(2**63), 2**63 - 1), (3, 2**40)):
                drawn = trellis.random.randint(ours, shape, low, high, "int64")
                expected = jax.random.randint(theirs, shape, low, high, "int64")
                np.testing.assert_array_equal(plain(drawn), np.asarray(expected))


@pytest.mark.parametrize("seed", SEEDS)
def test_keys(backend, xp, seed):
    ours, theirs = keys(backend, seed)
    assert trellis.random.key(seed, backend=backend).shape == (2,)
    assert_equal(ours, jax.random.key_data(theirs))
    for number in (1, 2, 5, (2, 3), ()):
        split = jax.random.key_data(jax.random.split(theirs, number))
        assert_equal(trellis.random.split(ours, number), split)
    for data in (0, 1, 7, 2**31, 2**32 - 1):
        assert_equal(
            trellis.random.fold_in(ours, data),
            jax.random.key_data(jax.random.fold_in(theirs, np.uint32(data))),
        )
    first, second = trellis.random.split(ours)
    draws = [plain(trellis.random.normal(k, (2000,))) for k in (ours, first, second)]
    assert (abs(np.corrcoef(draws) - np.eye(3)) < 0.1).all()


@pytest.mark.parametrize("length", [0, 1, 2, 3, 10, 1000, 1625, 1626, 3000, 70001])
def test_permutation(backend, xp, length):
    ours, theirs = keys(backend, 3)
    drawn = trellis.random.permutation(ours, length)
    assert_equal(drawn, jax.random.permutation(theirs, length))
    assert sorted(plain(drawn).tolist()) == list(range(length))


def test_arrays_permuted_and_chosen(backend, xp, array):
    ours, theirs = keys(backend, 3)
    x = np.random.default_rng(0).normal(size=(6, 4, 5)).astype("float32")
    p = np.array([0.1, 0.2, 0.0, 0.4, 0.3, 0.5], "float32")
    for axis in (0, 1, -1):
        assert_equal(
            trellis.random.permutation(ours, array(x), axis),
            jax.random.permutation(theirs, x, axis),
        )
        for shape in ((), (3,), (2, 2)):
            for replace in (True, False):
                assert_equal(
                    trellis.random.choice(ours, array(x), shape, replace=replace, axis=axis),
                    jax.random.choice(theirs, x, shape, replace=replace, axis=axis),
                )
    for replace, shape in ((True, (1000,)), (False, (5,))):
        assert_equal(
            trellis.random.choice(ours, 6, shape, replace=replace, p=array(p)),
            jax.random.choice(theirs, 6, shape, replace=replace, p=p),
        )
    bounds = np.array([0, 5, -9], "int32"), np.array([3, 100, 9], "int32")
    assert_equal(
        trellis.random.randint(ours, (50, 3), array(bounds[0]), array(bounds[1])),
        jax.random.randint(theirs, (50, 3), *bounds),
    )


def test_distributions(backend, xp, array):
    ours, theirs = keys(backend, 8)
    random, oracle = trellis.random, jax.random
    logits = np.random.default_rng(0).normal(size=(3, 4)).astype("float32")
    positive = np.array([0.3, 1.0, 2.5, 40.0], "float32")
    cov = np.eye(3, dtype="float32") + 0.5
    mean = np.array([1.0, 2.0, 3.0], "float32")
    assert_near(random.exponential(ours, (1000,)), oracle.exponential(theirs, (1000,)))
    # Near a maximum of the inner logarithm a Gumbel has few digits.
    assert_near(random.gumbel(ours, (1000,)), oracle.gumbel(theirs, (1000,)), atol=3e-6)
    assert_near(
        random.uniform(ours, (1000,), None, -2.0, 3.0),
        oracle.uniform(theirs, (1000,), minval=-2.0, maxval=3.0),
    )
    truncated = random.truncated_normal(ours, -1.5, array([0.5, 2.0]), (1000, 2))
    assert_near(
        truncated,
        oracle.truncated_normal(theirs, -1.5, np.float32([0.5, 2.0]), (1000, 2)),
        rtol=2e-6,
        atol=2e-6,
    )
    assert (plain(truncated) > -1.5).all() and (plain(truncated) < [0.5, 2.0]).all()
    for options in ({}, {"axis": 0}, {"shape": (7, 3)}):
        assert_equal(
            random.categorical(ours, array(logits), **options),
            oracle.categorical(theirs, logits, **options),
        )
    assert_near(
        random.gamma(ours, array(positive), (500, 4)),
        oracle.gamma(theirs, positive, (500, 4)),
        rtol=5e-6,
    )
    assert_near(
        random.beta(ours, array(positive), 0.5, (500, 4)),
        oracle.beta(theirs, positive, 0.5, (500, 4)),
        rtol=1e-5,
    )
    assert_near(
        random.dirichlet(ours, array(positive), (500,)),
        oracle.dirichlet(theirs, positive, (500,)),
        rtol=1e-5,
    )
    for rate in (0.0, 0.5, 9.0, 30.0):
        same = plain(random.poisson(ours, rate, (2000,))) == np.asarray(
            oracle.poisson(theirs, rate, (2000,))
        )
        # A comparison of logarithms decides, and may go the other way once in a while.
        assert same.mean() > 0.998
    normals = random.multivariate_normal(ours, array(mean), array(cov), (50,))
    assert_near(normals, oracle.multivariate_normal(theirs, mean, cov, (50,)), atol=3e-6)
    for n, m in ((4, 4), (3, 5), (5, 3)):
        matrix = random.orthogonal(ours, n, (2,), m=m)
        assert_near(matrix, oracle.orthogonal(theirs, n, (2,), m=m), atol=3e-6)


def test_moments(backend, xp):
    key = trellis.random.key(4, backend=backend)
    n = 20000
    for draws, mean, std in (
        (trellis.random.exponential(key, (n,)), 1.0, 1.0),
        (trellis.random.gumbel(key, (n,)), 0.5772, 1.2825),
        (trellis.random.gamma(key, 3.0, (n,)), 3.0, 3**0.5),
        (trellis.random.gamma(key, 0.2, (n,)), 0.2, 0.2**0.5),
        (trellis.random.beta(key, 2.0, 3.0, (n,)), 0.4, 0.2),
        (trellis.random.poisson(key, 4.0, (n,)), 4.0, 2.0),
        (trellis.random.poisson(key, 50.0, (n,)), 50.0, 50**0.5),
        (trellis.random.truncated_normal(key, -2.0, 2.0, (n,)), 0.0, 0.8796),
    ):
        assert abs(plain(draws).mean() - mean) < 5 * std / n**0.5
        assert abs(plain(draws).std() / std - 1) < 0.06


def test_gamma_is_differentiable(backend, xp, array, x64):
    with x64(), jax.enable_x64(True):
        a = np.array([0.3, 1.0, 2.5, 40.0])
        ours, theirs = keys(backend, 8)
        gradient = trellis.grad(lambda a: xp.sum(trellis.random.gamma(ours, a)))(
            array(a, "float64")
        )
        assert_near(gradient, jax.grad(lambda a: jax.random.gamma(theirs, a).sum())(a), rtol=2e-3)


def test_compiled_derivatives_of_draws(backend, xp, array, compiled):
    """The derivative is not lost in the compiler: that of gamma by its shape is far from 0."""
    key, theirs = keys(backend, 8)
    a = np.array([0.3, 1.0, 2.5], "float32")
    for draw, oracle in (
        (lambda a: trellis.random.gamma(key, a), lambda a: jax.random.gamma(theirs, a)),
        (lambda a: trellis.random.beta(key, a, 2.0), lambda a: jax.random.beta(theirs, a, 2.0)),
    ):
        gradient = compiled(trellis.grad(lambda a, draw=draw: xp.sum(draw(a))))(array(a))
        expected = np.asarray(jax.grad(lambda a, oracle=oracle: oracle(a).sum())(a))
        assert (abs(expected) > 1e-3).all()
        # Each framework has its own series for the derivative, in float32.
        assert_near(gradient, expected, rtol=2e-3)


def test_typed_keys_of_jax():
    typed = jax.random.key(5)
    raw = trellis.random.key(5, backend="jax")
    np.testing.assert_array_equal(
        trellis.random.uniform(typed, (3,)), trellis.random.uniform(raw, (3,))
    )
    assert trellis.random.split(typed).dtype == typed.dtype
    assert trellis.random.split(raw).dtype == np.uint32
    np.testing.assert_array_equal(
        trellis.random_uniform(shape=3, seed=typed), trellis.random_uniform(shape=3, seed=5)
    )


def test_compiled_draws(backend, xp, compiled):
    key = trellis.random.key(5, backend=backend)
    for draw in (
        lambda key: trellis.random.normal(key, (5000,)),
        lambda key: trellis.random.randint(key, (50,), 0, 9),
        lambda key: trellis.random.permutation(trellis.random.split(key)[1], 20),
        lambda key: trellis.random.gamma(trellis.random.fold_in(key, 3), 0.7, (20,)),
        lambda key: trellis.random.poisson(key, 3.0, (20,)),
        lambda key: trellis.random.choice(key, 10, (4,), replace=False),
    ):
        assert_near(compiled(draw)(key), plain(draw(key)), rtol=2e-6)


def test_errors(backend, xp, array):
    key = trellis.random.key(5, backend=backend)
    for call, error in (
        (lambda: trellis.random.key(-1), ValueError),
        (lambda: trellis.random.key(2**64), ValueError),
        (lambda: trellis.random.key(1.0), TypeError),
        (lambda: trellis.random.key(True), TypeError),
        (lambda: trellis.random.key(key), TypeError),
        (lambda: trellis.random.uniform(3), TypeError),
        (lambda: trellis.random.uniform(array([1.0, 2.0])), TypeError),
        (lambda: trellis.random.uniform(key, (2,), "int32"), ValueError),
        (lambda: trellis.random.bits(key, (2,), "float32"), ValueError),
        (lambda: trellis.random.choice(key, 3, (4,), replace=False), ValueError),
        (lambda: trellis.random.choice(key, 3, (4,), p=array([1.0, 1.0])), ValueError),
        (
            lambda: trellis.random.multivariate_normal(key, array([1.0, 1.0]), array([[1.0]])),
            ValueError,
        ),
        (lambda: trellis.random.dirichlet(key, 1.0), ValueError),
    ):
        with pytest.raises(errors.TrellisError) as caught:
            call()
        assert isinstance(caught.value, error)
    other = other_of(backend)
    with pytest.raises(errors.MixedBackendsError, match=r"^gamma\(\) got arrays.* a is from"):
        trellis.random.gamma(key, trellis.asarray([1.0], backend=other))


@pytest.mark.parametrize(
    "key, count, expected",
    [
        ((0, 0), (0, 0), (0x6B200159, 0x99BA4EFE)),
        ((2**32 - 1,) * 2, (2**32 - 1,) * 2, (0x1CB996FC, 0xBB002BE7)),
        ((0x13198A2E, 0x03707344), (0x243F6A88, 0x85A308D3), (0xC4923A9C, 0x483DF7A0)),
    ],
)
def test_known_answers_of_threefry(key, count, expected):
    """Those of Random123, by its authors, for 2 words of 32 bits and 20 rounds."""
    assert threefry(key, count) == expected


def test_the_stream_goes_on_behind_2_to_the_32():
    stream = _GlobalStream()
    stream.reset((7, 9))
    stream._count = 2**32 + 5
    assert stream.next() == threefry((7, 9), (1, 5))
    assert stream.next() == threefry((7, 9), (1, 6))
