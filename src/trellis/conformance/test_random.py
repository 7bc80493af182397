"""The random rows of the contract, each on all four backends."""

import contextlib
import random as python_random
import sys
import threading

import numpy as np
import pytest

import trellis
from trellis import Container, errors
from trellis.testing import assert_close, check_gradients

from . import vectors
from .compilers import compile_with, forget_programs, one_program
from .strangers import other_of


def plain(x):
    return np.asarray(trellis.to_numpy(x)).astype(np.float64)


def native_states():
    """The states of the generators of Python, NumPy and the frameworks that are loaded."""
    legacy = np.random.get_state()
    found = [python_random.getstate(), legacy[1].tobytes(), legacy[2]]
    if "torch" in sys.modules:
        found.append(sys.modules["torch"].get_rng_state().numpy().tobytes())
    if "tensorflow" in sys.modules:
        generator = sys.modules["tensorflow"].random.get_global_generator()
        found.append(generator.state.numpy().tobytes())
    return found


@contextlib.contextmanager
def refused(builtin):
    """The block must raise an error of the library's own that is also the given builtin."""
    with pytest.raises(errors.TrellisError) as caught:
        yield
    assert isinstance(caught.value, builtin)


def default_int(backend):
    return "int64" if trellis.namespace(backend).ABILITIES.is_always_64_bit else "int32"


# The properties of the vectors
# -------------------------------------------------------------------------


def check_vectors(row, backend, xp):
    for vector in vectors.of(row):
        with trellis.using_backend(backend):
            if "prop" in vector and "steps" not in vector:
                result = vectors.call(vector, xp, "float32")
                leaves = trellis.tree.leaves(result)
                for leaf in leaves:
                    check_properties(vector, leaf, backend, xp)
            elif "steps" in vector:
                check_steps(vector)
            else:
                vectors.check(vector, xp, "float32")


def check_steps(vector):
    results = vectors.run_steps(vector)
    for i, j in vector["prop"].get("equal", []):
        np.testing.assert_array_equal(plain(results[i]), plain(results[j]))
    for i, j in vector["prop"].get("differ", []):
        assert (plain(results[i]) != plain(results[j])).any()


def check_properties(vector, result, backend, xp):
    prop, x = dict(vector["prop"]), plain(result)
    assert trellis.backend_of(result) == backend
    known = {"default_float": "float32", "default_int": default_int(backend)}
    for name, value in prop.items():
        if name == "shape":
            assert x.shape == tuple(value)
        elif name == "dtype":
            assert xp.dtype_name(result.dtype) == known.get(value, value)
        elif name == "exact":
            np.testing.assert_array_equal(x, np.asarray(value, "float32").astype("float64"))
        elif name == "ge":
            assert (x >= np.asarray(value)).all()
        elif name == "lt":
            assert (x < np.asarray(value)).all()
        elif name in ("mean", "std", "var"):
            assert abs(getattr(np, name)(x) - value[0]) < value[1]
        elif name == "values":
            assert set(x.ravel()) == set(value)
        elif name == "freq":
            for which, (fraction, tolerance) in value.items():
                assert abs((x == float(which)).mean() - fraction) < tolerance
        elif name == "repeat":
            np.testing.assert_array_equal(plain(vectors.call(vector, xp, "float32")), x)
        elif name == "distinct_per_row":
            assert all(len(set(line)) == len(line) for line in x.reshape(-1, x.shape[-1]))
        elif name == "rows_of_input":
            rows = {tuple(line) for line in vector["args"][0]}
            assert {tuple(line) for line in x} == rows
        elif name == "slices_of_input":
            source = np.moveaxis(np.array(vector["args"][0]), value, 0)
            assert sorted(map(tuple, np.moveaxis(x, value, 0))) == sorted(map(tuple, source))
        elif name == "moved":
            assert (x != np.array(vector["args"][0])).any()
        elif name == "odd_fraction":
            assert abs((x % 2 == 1).mean() - value[0]) < value[1]
        elif name == "rows_differ":
            assert (x[0] != x[1]).any()
        elif name == "some_above":
            assert (x > value).any()
        else:
            raise AssertionError(f"{vector['id']}: no check for the property {name}")


# The part R that every sampler has
# ------------------------------------------------------------------------


def check_draws(draw, backend, xp, stored, tolerance=0.0, leafwise=None, brief=False):
    """`draw(seed, xp)` is the sampler with one set of arguments; `stored` its first draws for seeds
    0 and 1. `brief`: other arguments of a sampler that was compiled with every kind of seed."""
    before = native_states()
    with trellis.using_backend(backend):
        for seed, expected in enumerate(stored):
            got = plain(draw(seed, xp))
            np.testing.assert_allclose(
                got.ravel()[: len(expected)], expected, rtol=0, atol=tolerance
            )
            np.testing.assert_array_equal(got, plain(draw(seed, xp)))
            by_key = draw(trellis.random.key(seed), xp)
            np.testing.assert_array_equal(got, plain(by_key))
            assert trellis.backend_of(by_key) == backend
            with trellis.using_backend("numpy"):
                np.testing.assert_allclose(
                    got, plain(draw(seed, trellis.namespace("numpy"))), rtol=0, atol=tolerance
                )
        assert (plain(draw(0, xp)) != plain(draw(1, xp))).any()
        assert (plain(draw(2**31, xp)) != plain(draw(2**32, xp))).any()
        trellis.seed(5)
        first, second = plain(draw(None, xp)), plain(draw(None, xp))
        trellis.seed(5)
        again = plain(draw(None, xp))
        draw(0, xp)
        np.testing.assert_array_equal(again, first)
        np.testing.assert_array_equal(plain(draw(None, xp)), second)
        assert (first != second).any()
        check_seeds(draw, xp)
        check_compiled(draw, backend, xp, tolerance, brief)
        if leafwise is not None:
            check_leafwise(leafwise, draw, xp)
    assert native_states() == before


def check_seeds(draw, xp):
    for bad in (-1, 2**64):
        with refused(ValueError):
            draw(bad, xp)
    for bad in (True, 1.0, "1", xp.asarray([1, 2, 3]), xp.asarray(1.0)):
        with refused(TypeError):
            draw(bad, xp)
    np.testing.assert_array_equal(plain(draw(np.int64(3), xp)), plain(draw(3, xp)))
    np.testing.assert_array_equal(plain(draw(xp.asarray(3), xp)), plain(draw(3, xp)))


def check_compiled(draw, backend, xp, tolerance, brief):
    """Equal numbers inside and outside a compiled function: static seed, traced seed, key,
    stream."""
    if not trellis.namespace(backend).ABILITIES.has_compiler:
        return
    # The lambdas below share their code among all samplers, and Dynamo limits recompilation per
    # code.
    forget_programs(backend)
    eager, key = plain(draw(3, xp)), trellis.random.key(3)
    if brief:
        found = compile_with(backend, lambda key: draw(key, xp))(key)
        np.testing.assert_allclose(plain(found), eager, rtol=1e-6, atol=tolerance)
        return

    def in_stream(key):
        with trellis.random.stream(key):
            return draw(None, xp), draw(None, xp)

    def in_every_way(seed, key):
        return draw(3, xp), draw(seed, xp), draw(key, xp), *in_stream(key)

    first, second = in_stream(key)
    assert (plain(first) != plain(second)).any()
    found = compile_with(backend, in_every_way)(xp.asarray(3), key)
    for got, expected in zip(
        found, (eager, eager, eager, plain(first), plain(second)), strict=True
    ):
        np.testing.assert_allclose(plain(got), expected, rtol=1e-6, atol=tolerance)
    for attempt in (lambda x: draw(None, xp), lambda x: trellis.seed(0) or x):
        with pytest.raises(RuntimeError, match="stream\\(key\\)"):
            compile_with(backend, attempt)(xp.asarray(0.0))
        with trellis.random.stream(1), pytest.raises(RuntimeError, match="stream\\(key\\)"):
            compile_with(backend, attempt)(xp.asarray(0.0))


def check_leafwise(leafwise, draw, xp):
    result = leafwise(Container, 4, xp)
    assert type(result) is Container
    assert (plain(result.a) != plain(result.b.c)).any()
    for i, leaf in enumerate((result.a, result.b.c)):
        seed = trellis.random.fold_in(trellis.random.key(4), i)
        np.testing.assert_array_equal(plain(leaf), plain(draw(seed, xp)))
    assert type(leafwise(dict, 4, xp)) is dict


# Rows
# --------------------------------------------------------------------------------------------------


def test_random_uniform(backend, xp, array, x64):
    check_vectors("random_uniform", backend, xp)
    check_draws(
        lambda seed, xp: trellis.random_uniform(shape=(4,), seed=seed),
        backend,
        xp,
        [
            [0.9476670026779175, 0.9785798788070679, 0.33229148387908936, 0.46866846084594727],
            [0.4386324882507324, 0.5337529182434082, 0.44591832160949707, 0.4383963346481323],
        ],
    )
    check_draws(
        lambda seed, xp: trellis.random_uniform(
            low=xp.zeros(3), high=xp.asarray([1.0, 2.0, 3.0]), seed=seed
        ),
        backend,
        xp,
        [[], []],
        leafwise=lambda kind, seed, xp: trellis.random_uniform(
            low=kind(a=xp.zeros(3), b=kind(c=xp.zeros(3))),
            high=xp.asarray([1.0, 2.0, 3.0]),
            seed=seed,
        ),
        brief=True,
    )
    with trellis.using_backend(backend):
        x = plain(trellis.random_uniform(low=3.0, high=6.0, shape=10**5, seed=7))
        assert (
            x.min() >= 3
            and x.max() < 6
            and abs(x.mean() - 4.5) < 0.02
            and abs(x.var() - 0.75) < 0.02
        )
        assert (abs(np.histogram(x, 10, (3, 6))[0] / 1e5 - 0.1) < 0.01).all()
        # Kolmogorov and Smirnov: 1.95 / sqrt(n) is exceeded once in a thousand.
        assert abs(np.sort(x) - (3 + 3 * np.arange(1e5) / 1e5)).max() / 3 < 1.95 / 1e5**0.5
        for name in ("float16", "bfloat16"):
            for low, high in (
                (0.0, 1.0),
                (3, 6),
                (1000.0, 1001.0),
                (-60000.0, 60000.0),
                (2.0, 2.0 + 2**-7),
            ):
                half = trellis.random_uniform(
                    low=low, high=high, shape=10**6 // 5, dtype=name, seed=1
                )
                assert xp.dtype_name(half.dtype) == name
                top = plain(xp.asarray(high, dtype=half.dtype))
                assert low <= plain(half).min() and (plain(half).max() < top or top == low)
        bounds = trellis.random_uniform(
            low=array([[0.0], [10.0]]),
            high=array([1.0, 20.0, 30.0])[1:],
            shape=(1000, 2, 2),
            seed=2,
        )
        lows, highs = np.array([[0.0], [10.0]]), np.array([20.0, 30.0])
        assert (plain(bounds) >= lows).all() and (plain(bounds) < highs).all()
        same = trellis.random_uniform(low=array([2.0, 3.0]), high=array([2.0, 3.0]), seed=1)
        assert_close(same, [2.0, 3.0], backend=backend)
        assert trellis.random_uniform(seed=1).shape == () and trellis.random_uniform(
            shape=(0, 3)
        ).shape == (0, 3)
        whole = trellis.random_uniform(low=-3, high=2.0, shape=10**4, dtype="int16", seed=1)
        assert set(plain(whole)) == {-3, -2, -1, 0, 1} and xp.dtype_name(whole.dtype) == "int16"
        floats = trellis.random_uniform(low=-3, high=2.0, shape=10**4, seed=1)
        np.testing.assert_array_equal(plain(whole), np.floor(plain(floats)))
        with x64():
            wide = trellis.random_uniform(low=array([0.0], "float64"), high=1.0, seed=1, shape=5)
            assert xp.dtype_name(wide.dtype) == "float64"
            np.testing.assert_array_equal(
                plain(wide), trellis.random_uniform(low=np.zeros(1), shape=5, seed=1)
            )
        for kw, error in (
            ({"low": 2.0, "high": 1.0}, ValueError),
            ({"low": array([0.0, 2.0]), "high": 1.0}, ValueError),
            ({"low": array([0.0, 0.0]), "shape": 3}, ValueError),
            ({"low": array([0.0, 0.0]), "high": array([1.0, 1.0, 1.0])}, ValueError),
            ({"low": 0.5, "high": 2, "dtype": "int32"}, ValueError),
            ({"low": 0, "high": array([0.5]), "dtype": "int32"}, ValueError),
            ({"dtype": "bool"}, ValueError),
            ({"shape": (-1,)}, ValueError),
        ):
            with refused(error):
                trellis.random_uniform(**kw)
    with pytest.raises(errors.MixedBackendsError):
        trellis.random_uniform(
            low=array([0.0]), high=trellis.asarray([1.0], backend=other_of(backend))
        )
    with pytest.raises(errors.MixedBackendsError):
        trellis.random_uniform(
            low=array([0.0]), seed=trellis.random.key(1, backend=other_of(backend))
        )


def test_random_normal(backend, xp, array, x64):
    check_vectors("random_normal", backend, xp)
    check_draws(
        lambda seed, xp: trellis.random_normal(shape=(4,), seed=seed),
        backend,
        xp,
        [
            [1.622642159461975, 2.0252647399902344, -0.4335944354534149, -0.07861734926700592],
            [-0.15443718433380127, 0.08470727503299713, -0.135980486869812, -0.15503625571727753],
        ],
        tolerance=1e-6,
    )
    check_draws(
        lambda seed, xp: trellis.random_normal(
            mean=xp.zeros(3), std=xp.asarray([1.0, 2.0, 3.0]), seed=seed
        ),
        backend,
        xp,
        [[], []],
        tolerance=3e-6,
        leafwise=lambda kind, seed, xp: trellis.random_normal(
            mean=kind(a=xp.zeros(3), b=kind(c=xp.zeros(3))),
            std=xp.asarray([1.0, 2.0, 3.0]),
            seed=seed,
        ),
        brief=True,
    )
    with trellis.using_backend(backend):
        x = plain(trellis.random_normal(mean=3.0, std=6.0, shape=10**5, seed=3))
        z = (x - x.mean()) / x.std()
        assert abs(x.mean() - 3) < 0.1 and abs(x.std() - 6) < 0.1
        assert abs((z**3).mean()) < 0.05 and abs((z**4).mean() - 3) < 0.1
        rows = plain(trellis.random_normal(shape=(2, 10**5), seed=3))
        assert abs(np.corrcoef(rows)[0, 1]) < 0.02
        exact = trellis.random_normal(mean=array([4.8, 5.6]), std=array([0.0, 0.0]))
        assert_close(exact, array([4.8, 5.6]), rtol=0, atol=0, backend=backend)
        half = trellis.random_normal(shape=1000, dtype="bfloat16", seed=1)
        assert xp.dtype_name(half.dtype) == "bfloat16" and np.isfinite(plain(half)).all()
        for kw in (
            {"std": -1.0},
            {"std": array([1.0, -1.0])},
            {"dtype": "int32"},
            {"mean": array([0.0, 1.0]), "shape": 3},
        ):
            with refused(ValueError):
                trellis.random_normal(**kw)
        with x64():
            mean, std = array([1.0, -2.0], "float64"), array([0.5, 2.0], "float64")
            draw = trellis.random_normal(mean=mean, std=std, seed=3)
            assert xp.dtype_name(draw.dtype) == "float64"
            np.testing.assert_allclose(
                plain(draw),
                trellis.random_normal(mean=plain(mean), std=plain(std), seed=3),
                rtol=1e-12,
            )
            check_gradients(lambda m, s: trellis.random_normal(mean=m, std=s, seed=3), [mean, std])
            by_mean, by_std = trellis.grad(
                lambda m, s: xp.sum(trellis.random_normal(mean=m, std=s, seed=3)), argnums=(0, 1)
            )(mean, std)
            assert_close(by_mean, [1.0, 1.0], backend=backend)
            assert_close(
                by_std, trellis.random_normal(shape=2, seed=3, dtype="float64"), backend=backend
            )
    with pytest.raises(errors.MixedBackendsError):
        trellis.random_normal(
            mean=array([0.0]), std=trellis.asarray([1.0], backend=other_of(backend))
        )


def test_multinomial(backend, xp, array):
    check_vectors("multinomial", backend, xp)
    weights = [1.0, 2.0, 3.0, 4.0]
    for k, (call, stored) in enumerate(
        (
            (
                lambda seed, xp: trellis.multinomial(100, 6, seed=seed),
                [[41, 21, 96, 57, 53, 35], [11, 45, 56, 83, 20, 75]],
            ),
            (
                lambda seed, xp: trellis.multinomial(10, 10, replace=False, seed=seed),
                [[9, 1, 5, 0, 4, 8, 3, 7, 6, 2], [9, 0, 4, 7, 1, 8, 6, 2, 5, 3]],
            ),
        )
    ):
        check_draws(call, backend, xp, stored, brief=bool(k))
    check_draws(
        lambda seed, xp: trellis.multinomial(0, 6, probs=xp.asarray(weights), seed=seed),
        backend,
        xp,
        [[2, 1, 3, 2, 2, 2], [1, 2, 2, 3, 1, 3]],
        leafwise=lambda kind, seed, xp: trellis.multinomial(
            0, 6, probs=kind(a=xp.asarray(weights), b=kind(c=xp.asarray(weights))), seed=seed
        ),
        brief=True,
    )
    check_draws(
        lambda seed, xp: trellis.multinomial(
            0, 4, probs=xp.asarray([weights] * 3), replace=False, seed=seed
        ),
        backend,
        xp,
        [[], []],
        brief=True,
    )

    def draws(count, probs, seed, replace=True):
        def drawn(probs):
            return trellis.multinomial(0, count, probs=probs, replace=replace, seed=seed)

        return one_program(backend, drawn)(probs)

    # Many categories and weights of many sizes: sums and logarithms in floats would differ
    # somewhere here.
    spread = np.exp(np.random.default_rng(0).normal(0, 5, (2, 3000))).astype("float32")
    for replace in (True, False):
        ours = draws(2000, array(spread), 8, replace)
        np.testing.assert_array_equal(
            plain(ours), trellis.multinomial(0, 2000, probs=spread, replace=replace, seed=8)
        )
    with trellis.using_backend(backend):
        p = np.array([0.1, 0.0, 0.5, 0.15, 0.25], "float32")
        drawn = draws(10**5, array(p), 1)
        counts = np.bincount(plain(drawn).astype(int), minlength=5) / 1e5
        assert (abs(counts - p) <= 6 * np.sqrt(p * (1 - p) / 1e5)).all() and counts[1] == 0
        assert xp.dtype_name(drawn.dtype) == default_int(backend)
        tiny = draws(10**5, array(p * 2.0**-100), 1)
        np.testing.assert_array_equal(plain(tiny), plain(drawn))
        rows = plain(draws(50, array(np.tile(p, (2, 3, 1))), 1))
        assert rows.shape == (2, 3, 50) and len({tuple(r) for r in rows.reshape(6, 50)}) == 6
        order = plain(draws(4, array(np.tile(p, (20000, 1))), 2, replace=False))
        assert all(len(set(line)) == 4 for line in order[:200]) and not (order == 1).any()
        first = np.bincount(order[:, 0].astype(int), minlength=5) / 2e4
        assert (abs(first - p) <= 6 * np.sqrt(p * (1 - p) / 2e4)).all()
        # The second, given the first: without the first one's weight.
        after = order[order[:, 0] == 2][:, 1].astype(int)
        q = np.where(np.arange(5) == 2, 0, p) / 0.5
        assert (
            abs(np.bincount(after, minlength=5) / len(after) - q)
            <= 6 * np.sqrt(q * (1 - q) / len(after))
        ).all()
        extremes = draws(2, array([1e-30, 1e30]), 0, replace=False)
        assert_close(extremes, [1, 0], backend=backend)
        assert trellis.multinomial(5, 3, batch_size=4, seed=0).shape == (4, 3)
        assert trellis.multinomial(5, 0, seed=0).shape == (1, 0)
        integers = trellis.multinomial(0, 5, probs=xp.asarray([0, 3, 0]), seed=0)
        assert_close(integers, [1] * 5, backend=backend)
        for args, kw in (
            ((3, 2), {"probs": array([0.5, -0.1, 0.6])}),
            ((3, 2), {"probs": array([0.5, float("nan"), 0.6])}),
            ((3, 2), {"probs": array([0.5, float("inf"), 0.6])}),
            ((3, 2), {"probs": array([0.0, 0.0])}),
            ((3, 2), {"probs": array([[0.0, 0.0], [1.0, 1.0]])}),
            ((3, 2), {"probs": array([0.0, 1.0, 0.0]), "replace": False}),
            ((3, 4), {"replace": False}),
            ((3, 4), {"probs": array([1.0, 1.0]), "replace": False}),
            ((0, 1), {}),
            ((3, -1), {}),
        ):
            with refused(ValueError):
                trellis.multinomial(*args, **kw)


def test_shuffle(backend, xp, array, x64):
    check_vectors("shuffle", backend, xp)
    check_draws(
        lambda seed, xp: trellis.shuffle(xp.arange(8), seed=seed),
        backend,
        xp,
        [[0, 1, 5, 6, 4, 3, 2, 7], [7, 6, 3, 2, 0, 1, 5, 4]],
        leafwise=lambda kind, seed, xp: trellis.shuffle(
            kind(a=xp.arange(8), b=kind(c=xp.arange(8))), seed=seed
        ),
    )
    cube = np.arange(60).reshape(3, 4, 5)
    for axis in (0, 1, -2):
        for source in (cube, cube[0]):
            mixed = np.moveaxis(
                plain(trellis.shuffle(array(source, "int32"), axis=axis, seed=9)), axis, 0
            )
            assert sorted(line.tobytes() for line in mixed) == sorted(
                line.tobytes() for line in np.moveaxis(source, axis, 0).astype(float)
            )
    order = plain(trellis.shuffle(array(np.arange(32), "int32"), seed=0))
    assert (order != np.arange(32)).any()
    # The permutation depends only on the seed and the length.
    np.testing.assert_array_equal(
        plain(trellis.shuffle(array(np.arange(96).reshape(32, 3), "int32"), seed=0))[:, 0] / 3,
        order,
    )
    for dtype in ("bool", "int8", "uint8", "int32", "float16"):
        kept = trellis.shuffle(array(np.array([1, 0, 1, 1]), dtype), seed=0)
        assert xp.dtype_name(kept.dtype) == dtype
    zero_d = array(3.0)
    assert trellis.shuffle(zero_d) is zero_d
    assert trellis.shuffle(array(np.zeros((0, 2), "float32")), seed=1).shape == (0, 2)
    for axis in (2, -3):
        with refused(ValueError):
            trellis.shuffle(array(np.zeros((2, 2), "float32")), axis=axis)
    x = array(np.arange(3), "int32")
    counts = {}
    for seed in range(6000):
        found = tuple(plain(trellis.shuffle(x, seed=seed)).tolist())
        counts[found] = counts.get(found, 0) + 1
    assert len(counts) == 6 and all(abs(n / 6000 - 1 / 6) < 0.03 for n in counts.values())
    with x64():
        check_gradients(
            lambda x: trellis.shuffle(x, axis=1, seed=3),
            [array(np.arange(6.0).reshape(2, 3), "float64")],
        )


def test_randint(backend, xp, array, x64):
    check_draws(
        lambda seed, xp: trellis.randint(-1000, 1000, shape=5, seed=seed),
        backend,
        xp,
        [[-164, -568, 930, 149, 64], [-764, -93, 137, 661, -596]],
    )
    check_draws(
        lambda seed, xp: trellis.randint(
            xp.asarray([-5, 0, -(2**31)]), xp.asarray([5, 1000, 2**31 - 1]), seed=seed
        ),
        backend,
        xp,
        [[], []],
        leafwise=lambda kind, seed, xp: trellis.randint(
            kind(a=xp.asarray([-5, 0, -(2**31)]), b=kind(c=xp.asarray([-5, 0, -(2**31)]))),
            xp.asarray([5, 1000, 2**31 - 1]),
            seed=seed,
        ),
        brief=True,
    )
    with trellis.using_backend(backend):
        x = trellis.randint(-3, -1, shape=10**4, seed=0)
        assert xp.dtype_name(x.dtype) == default_int(backend)
        assert set(plain(x)) == {-3, -2} and abs((plain(x) == -3).mean() - 0.5) < 0.03
        wide = plain(trellis.randint(0, 2**30 + 1, shape=10**5, seed=1))
        assert wide.min() >= 0 and wide.max() > 2**29 and abs((wide % 2 == 1).mean() - 0.5) < 0.01
        # A range of 3 * 2**30: taking remainders of 32 bits would draw the lower third twice as
        # often.
        skewed = plain(trellis.randint(-(2**31), 2**30, shape=10**5, seed=1))
        thirds = np.histogram(skewed, 3, (-(2**31), 2**30))[0] / 1e5
        assert (abs(thirds - 1 / 3) < 0.01).all()
        full = plain(trellis.randint(-(2**31), 2**31, shape=10**5, dtype="int32", seed=1))
        assert full.min() < -2.1e9 and full.max() > 2.1e9
        small = trellis.randint(-128, 128, shape=10**4, dtype="int8", seed=1)
        assert xp.dtype_name(small.dtype) == "int8" and len(set(plain(small))) == 256
        per_element = plain(
            trellis.randint(
                xp.asarray([0, 10, -20]), xp.asarray([5, 11, 0]), shape=(1000, 3), seed=1
            )
        )
        assert (per_element >= [0, 10, -20]).all() and (per_element < [5, 11, 0]).all()
        np.testing.assert_array_equal(
            per_element,
            trellis.randint(np.array([0, 10, -20]), np.array([5, 11, 0]), shape=(1000, 3), seed=1),
        )
        dice = plain(trellis.randint(0, 6, shape=60000, seed=4)).astype(int)
        assert (
            (np.bincount(dice) - 1e4) ** 2 / 1e4
        ).sum() < 20.5  # chi-square, five degrees of freedom
        with x64():
            for low, high in ((-(2**62), 2**62 + 1), (-(2**63), 2**63), (0, 2**40)):
                big = trellis.randint(low, high, shape=1000, dtype="int64", seed=1)
                exact = trellis.to_numpy(big)
                assert exact.dtype == np.int64 and abs((exact % 2).mean() - 0.5) < 0.08
                with trellis.using_backend("numpy"):
                    np.testing.assert_array_equal(
                        exact, trellis.randint(low, high, shape=1000, seed=1)
                    )
                assert abs((exact > (low + high) // 2).mean() - 0.5) < 0.08
            bounds = array(np.array([0, -(2**40)])), array(np.array([10, 2**50]))
            both = trellis.to_numpy(trellis.randint(*bounds, shape=(100, 2), seed=1))
            np.testing.assert_array_equal(
                both[:, 0], plain(trellis.randint(0, 10, shape=(100, 2), seed=1))[:, 0]
            )
        for args, kw in (
            ((0.0, 2), {}),
            ((0, 2.0), {}),
            ((array([0.5]), 2), {}),
            ((array(np.array([0], "uint8")), 2), {}),
            ((0, 2), {"dtype": "float32"}),
            ((0, 2), {"dtype": "uint8"}),
            ((2, 2), {}),
            ((3, 2), {}),
            ((xp.asarray([0, 5]), 3), {}),
            ((0, 300), {"dtype": "int8"}),
            ((xp.asarray([0, 1]), 3), {"shape": 3}),
        ):
            with refused(ValueError):
                trellis.randint(*args, **kw)
    with pytest.raises(errors.MixedBackendsError):
        trellis.randint(xp.asarray([0]), trellis.asarray([1], backend=other_of(backend)))


def test_seed(backend, xp):
    check_vectors("seed", backend, xp)
    before = native_states()
    with trellis.using_backend(backend):
        firsts = []
        for value in (0, 1, 2**31, 2**63):
            trellis.seed(value)
            first, second = trellis.random_uniform(shape=5), trellis.random_uniform(shape=5)
            trellis.seed(value)
            again = trellis.random_uniform(shape=5)
            trellis.random_uniform(shape=5, seed=3)
            trellis.randint(0, 5, seed=3)
            np.testing.assert_array_equal(plain(first), plain(again))
            np.testing.assert_array_equal(plain(second), plain(trellis.random_uniform(shape=5)))
            assert (plain(first) != plain(second)).any()
            firsts.append(tuple(plain(first)))
            with trellis.using_backend("numpy"):
                trellis.seed(value)
                np.testing.assert_array_equal(plain(first), trellis.random_uniform(shape=5))
        assert len(set(firsts)) == 4
        trellis.seed()
        np.testing.assert_array_equal(plain(trellis.random_uniform(shape=5)), firsts[0])
        trellis.seed(trellis.random.key(1))
        np.testing.assert_array_equal(plain(trellis.random_uniform(shape=5)), firsts[1])
        for bad, error in (
            (-1, ValueError),
            (1.5, TypeError),
            (True, TypeError),
            (None, TypeError),
        ):
            with refused(error):
                trellis.seed(bad)
    assert native_states() == before


# Beyond the rows
# ------------------------------------------------------------------------------------------

# Whole multiples of 2**-24 and 2**-23: floats that every backend draws exactly.
STREAM_OF_SEED_0 = [
    [0.8423141241073608, 0.1823786497116089],
    [0.007293820381164551, 0.020891189575195312],
    [0.9024494886398315, 0.9122928380966187],
]


def test_every_number_of_a_seed_stays(backend):
    """The second and the third draw too: what a program drew before a release, it draws after."""
    trellis.seed(0)
    with trellis.using_backend(backend):
        drawn = [plain(trellis.random_uniform(shape=2)).tolist() for _ in range(3)]
    assert drawn == STREAM_OF_SEED_0


def test_threads_neither_race_nor_repeat(backend):
    trellis.seed(11)
    with trellis.using_backend(backend):
        alone = {tuple(plain(trellis.random_uniform(shape=2))) for _ in range(200)}
    trellis.seed(11)
    drawn = []

    def work():
        with trellis.using_backend(backend):
            drawn.extend(tuple(plain(trellis.random_uniform(shape=2))) for _ in range(50))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(drawn) == 200 and set(drawn) == alone


def test_stream_replaces_the_global_one_only_inside(backend, xp):
    with trellis.using_backend(backend):
        key = trellis.random.key(5)
        trellis.seed(1)
        outside = [plain(trellis.random_uniform(shape=3)) for _ in range(2)]
        trellis.seed(1)
        np.testing.assert_array_equal(plain(trellis.random_uniform(shape=3)), outside[0])
        with trellis.random.stream(key):
            inside = [plain(trellis.random_uniform(shape=3)) for _ in range(2)]
            with trellis.random.stream(key):
                np.testing.assert_array_equal(plain(trellis.random_uniform(shape=3)), inside[0])
        np.testing.assert_array_equal(plain(trellis.random_uniform(shape=3)), outside[1])
        for i in range(2):
            expected = trellis.random.uniform(trellis.random.fold_in(key, i), (3,))
            np.testing.assert_array_equal(inside[i], plain(expected))
        with trellis.random.stream(5):
            np.testing.assert_array_equal(plain(trellis.random_uniform(shape=3)), inside[0])


def test_unseeded_draws_under_eager_gradients(backend, xp, array):
    """Differentiating is not compiling: nothing freezes there."""
    trellis.seed(2)
    with trellis.using_backend(backend):
        gradient = trellis.grad(lambda x: xp.sum(x * trellis.random_uniform(shape=3)))(
            array([1.0, 2.0, 3.0])
        )
        trellis.seed(2)
        assert_close(gradient, trellis.random_uniform(shape=3), backend=backend)


def test_large_draws_are_the_same_at_every_call(backend):
    """TensorFlow compiles a size that comes up again: the bits are those of the calls before."""
    stored = [0.9476670026779175, 0.9785798788070679, 0.33229148387908936, 0.46866846084594727]
    with trellis.using_backend(backend):
        draws = [plain(trellis.random_uniform(shape=(300_001,), seed=0)) for _ in range(4)]
        masks = [
            plain(trellis.random.bernoulli(trellis.random.key(0), 0.3, (300_001,)))
            for _ in range(4)
        ]
    for draw, mask in zip(draws, masks, strict=True):
        np.testing.assert_array_equal(draw[:4], stored)
        np.testing.assert_array_equal(draw, draws[0])
        np.testing.assert_array_equal(mask, masks[0])
