"""Pooling against plain loops and against torch, in both layouts, with indices, ties and nan."""

import itertools

import numpy as np
import pytest

import trellis
from oracles import torch
from oracles import torch_functional as T
from trellis import functional as F
from trellis.errors import ArgumentError, ArgumentTypeError, ShapeError
from trellis.testing import assert_close, check_gradients

rng = np.random.default_rng(3)
FORMATS = {1: ("NWC", "NCW"), 2: ("NHWC", "NCHW"), 3: ("NDHWC", "NCDHW")}
MAX = {1: F.max_pool1d, 2: F.max_pool2d, 3: F.max_pool3d}
AVG = {1: F.avg_pool1d, 2: F.avg_pool2d, 3: F.avg_pool3d}


def pairs_of(padding, sizes, window, strides, dilations):
    if padding == "VALID":
        return [(0, 0)] * len(sizes)
    if padding == "SAME":
        pairs = []
        for n, k, s, d in zip(sizes, window, strides, dilations):
            total = max((-(-n // s) - 1) * s + (k - 1) * d + 1 - n, 0)
            pairs.append((total // 2, total - total // 2))
        return pairs
    return [(padding, padding)] * len(sizes) if isinstance(padding, int) else padding


def windows(x, window, strides, padding, dilations):
    """Channel last: for every output position, the places and values that are not padding."""
    sizes = x.shape[1:-1]
    pairs = pairs_of(padding, sizes, window, strides, dilations)
    spans = [(k - 1) * d + 1 for k, d in zip(window, dilations)]
    outs = [
        (n + lo + hi - span) // s + 1 for n, (lo, hi), span, s in zip(sizes, pairs, spans, strides)
    ]
    for out in itertools.product(*map(range, outs)):
        places = []
        for offset in itertools.product(*map(range, window)):
            at = [
                o * s - lo + j * d
                for o, s, (lo, _), j, d in zip(out, strides, pairs, offset, dilations)
            ]
            if all(0 <= i < n for i, n in zip(at, sizes)):
                places.append(tuple(at))
        yield outs, out, places


def looped_max(x, window, strides, padding, dilations):
    values = places = None
    for outs, out, inside in windows(x, window, strides, padding, dilations):
        if values is None:
            values = np.zeros((x.shape[0], *outs, x.shape[-1]))
            places = np.zeros(values.shape, "int64")
        stack = np.stack([x[(slice(None), *at)] for at in inside])
        flat = np.array([np.ravel_multi_index(at, x.shape[1:-1]) for at in inside])
        which = stack.argmax(0)
        values[(slice(None), *out)] = np.take_along_axis(stack, which[None], 0)[0]
        places[(slice(None), *out)] = flat[which]
    return values, places


def looped_avg(x, window, strides, padding, include):
    values = None
    for outs, out, inside in windows(x, window, strides, padding, (1,) * len(window)):
        if values is None:
            values = np.zeros((x.shape[0], *outs, x.shape[-1]))
        count = np.prod(window) if include else len(inside)
        values[(slice(None), *out)] = sum(x[(slice(None), *at)] for at in inside) / count
    return values


CONFIGURATIONS = [
    ((9,), 3, 2, "VALID", 1), ((8,), 2, 2, "SAME", 1), ((7,), 3, 1, [(2, 0)], 1),
    ((9,), 3, 2, "SAME", 2),
    ((6, 7), 2, 2, "VALID", 1), ((6, 7), (3, 2), (2, 1), "SAME", 1), ((5, 6), 3, 2, 1, 1),
    ((5, 6), (2, 3), 1, [(1, 0), (0, 2)], 1), ((7, 8), 2, (1, 3), "VALID", (3, 2)),
    ((5, 4), 1, 2, "VALID", 1),
    ((4, 5, 3), 2, 1, "SAME", 1), ((4, 5, 3), (2, 3, 1), (2, 1, 1), [(1, 1), (0, 1), (0, 0)], 1),
]  # fmt: skip


def full(value, dims):
    return (value,) * dims if isinstance(value, int) else value


@pytest.mark.parametrize("configuration", CONFIGURATIONS, ids=str)
def test_max_pool(configuration, backend, array):
    sizes, window, strides, padding, dilations = configuration
    dims = len(sizes)
    # Few distinct values, so that there are ties in every window.
    x = rng.integers(-3, 3, size=(2, *sizes, 3)).astype("float32")
    expected = looped_max(
        x, *[full(v, dims) for v in (window, strides)], padding, full(dilations, dims)
    )
    for data_format, at in zip(FORMATS[dims], (-1, 1)):
        y, i = MAX[dims](
            array(np.moveaxis(x, -1, at)), window, strides, padding, data_format=data_format,
            dilations=dilations,
            return_indices=True,
        )  # fmt: skip
        assert_close(y, np.moveaxis(expected[0], -1, at), dtype="float32", backend=backend)
        assert_close(i, np.moveaxis(expected[1], -1, at), dtype=False, backend=backend)
        alone = MAX[dims](
            array(np.moveaxis(x, -1, at)),
            window,
            strides,
            padding,
            data_format=data_format,
            dilations=dilations,
        )
        assert_close(alone, y)


@pytest.mark.parametrize("configuration", [c for c in CONFIGURATIONS if c[4] == 1], ids=str)
@pytest.mark.parametrize("include", [False, True])
def test_avg_pool(configuration, include, backend, array):
    sizes, window, strides, padding, _ = configuration
    dims = len(sizes)
    x = rng.normal(size=(2, *sizes, 3)).astype("float32")
    expected = looped_avg(
        x.astype("float64"), full(window, dims), full(strides, dims), padding, include
    )
    for data_format, at in zip(FORMATS[dims], (-1, 1)):
        y = AVG[dims](
            array(np.moveaxis(x, -1, at)),
            window,
            strides,
            padding,
            data_format=data_format,
            count_include_pad=include,
        )
        assert_close(
            y, np.moveaxis(expected, -1, at), dtype="float32", rtol=1e-5, atol=1e-6, backend=backend
        )


# The last window is kept, dropped (it would start in the padding), or wider than the input.
PARTIAL = [((6,), 3, 2, 1), ((5,), 2, 3, 1), ((1,), 3, 3, 0), ((7, 6), (2, 3), (2, 3), 1),
           ((8, 9), 3, (2, 5), 0), ((5, 4, 6), 2, 3, 1)]  # fmt: skip


@pytest.mark.parametrize(("sizes", "window", "strides", "padding"), PARTIAL)
def test_ceil_mode(sizes, window, strides, padding, backend, array):
    dims = len(sizes)
    x = rng.normal(size=(2, 3, *sizes)).astype("float32")
    options = {"ceil_mode": True, "data_format": FORMATS[dims][1]}
    steps = (window, strides, padding)
    values, places = getattr(T, f"max_pool{dims}d")(
        torch.tensor(x), *steps, ceil_mode=True, return_indices=True
    )
    y, i = MAX[dims](array(x), *steps, **options, return_indices=True)
    assert_close(y, values.numpy(), backend=backend)
    assert_close(i, places.numpy(), dtype=False)
    for include in (False, True):
        expected = getattr(T, f"avg_pool{dims}d")(
            torch.tensor(x), *steps, ceil_mode=True, count_include_pad=include
        ).numpy()
        y = AVG[dims](array(x), *steps, **options, count_include_pad=include)
        # Sums of float32 in another order.
        assert_close(y, expected, rtol=1e-5, atol=1e-6, backend=backend)


@pytest.mark.parametrize("dilation", [2, 3])
def test_ceil_mode_with_dilations(dilation, array):
    x = rng.normal(size=(1, 2, 9)).astype("float32")
    expected = T.max_pool1d(torch.tensor(x), 2, 4, 1, dilation, ceil_mode=True).numpy()
    y = F.max_pool1d(array(x), 2, 4, 1, dilations=dilation, data_format="NCW", ceil_mode=True)
    assert_close(y, expected)


def test_gradient_of_ties_goes_to_the_first(array):
    x = np.zeros((1, 4, 4, 2), "float32")
    t = torch.zeros(1, 2, 4, 4, requires_grad=True)
    T.max_pool2d(t, 3, 1).sum().backward()
    gradient = trellis.grad(lambda x: trellis.sum(F.max_pool2d(x, 3, 1, "VALID")))(array(x))
    assert_close(gradient, np.moveaxis(t.grad.numpy(), 1, -1))
    for fn in (
        F.global_max_pool,
        lambda x: F.adaptive_max_pool(x, 1),
        lambda x: F.adaptive_max_pool(x, 3),
    ):
        gradient = trellis.to_numpy(trellis.grad(lambda x, fn=fn: trellis.sum(fn(x)))(array(x)))
        assert gradient[0, 0, 0, 0] >= 1
        assert set(np.unique(gradient)) <= {0, 1}


@pytest.mark.parametrize("dims", [1, 2, 3])
def test_gradients(dims, array, x64):
    samples = 2 if dims < 3 else 1  # finite differences call once for each number
    x = rng.permutation(samples * 4**dims * 2).reshape(samples, *[4] * dims, 2) / 7
    with x64():
        check_gradients(lambda x: MAX[dims](x, 3, 2, "SAME"), (array(x),), order=1)
        check_gradients(lambda x: AVG[dims](x, 3, 2, "SAME"), (array(x),), order=1)
        check_gradients(lambda x: F.adaptive_avg_pool(x, 3), (array(x),), order=1)
        check_gradients(lambda x: F.adaptive_max_pool(x, 3), (array(x),), order=1)
        check_gradients(F.global_max_pool, (array(x),), order=1)


def test_compiled(array, compiled):
    x = array(rng.normal(size=(2, 6, 7, 3)).astype("float32"))
    for fn in (
        lambda x: F.max_pool2d(x, 3, 2, "SAME", return_indices=True),
        lambda x: F.avg_pool2d(x, 3, 2, "SAME"),
        lambda x: F.adaptive_avg_pool(x, (4, 2)),
        lambda x: F.adaptive_max_pool(x, (4, 2), return_indices=True),
        lambda x: (F.global_avg_pool(x), F.global_max_pool(x)),
    ):
        assert_close(compiled(fn)(x), fn(x))


@pytest.mark.parametrize(
    ("sizes", "outs"), [((7,), (3,)), ((7, 5), (3, 5)), ((6, 8), (2, 4)), ((4, 5, 6), (3, 2, 1))]
)
def test_adaptive(sizes, outs, backend, array, x64):
    x = rng.normal(size=(2, *sizes, 3))
    t = torch.tensor(np.moveaxis(x, -1, 1))
    dims = len(sizes)
    average = getattr(T, f"adaptive_avg_pool{dims}d")(t, outs).numpy()
    values, places = getattr(T, f"adaptive_max_pool{dims}d")(t, outs, return_indices=True)
    with x64():
        assert_close(
            F.adaptive_avg_pool(array(x), outs), np.moveaxis(average, 1, -1), backend=backend
        )
        assert_close(
            F.adaptive_avg_pool(array(t.numpy()), outs, data_format="channel_first"), average
        )
        y, i = F.adaptive_max_pool(array(x), outs, return_indices=True)
        assert_close(y, np.moveaxis(values.numpy(), 1, -1))
        assert_close(i, np.moveaxis(places.numpy(), 1, -1))


def test_global(array):
    x = rng.normal(size=(2, 3, 4, 5)).astype("float32")
    assert_close(F.global_avg_pool(array(x)), x.mean((1, 2)))
    assert_close(F.global_max_pool(array(x)), x.max((1, 2)))
    assert_close(
        F.global_max_pool(array(x), data_format="NCHW", keepdims=True), x.max((2, 3), keepdims=True)
    )
    assert_close(
        F.global_avg_pool(array(x), data_format="NCHW", keepdims=True),
        x.mean((2, 3), keepdims=True),
    )


def test_nan_and_infinity(array):
    x = np.array([1.0, np.nan, 2.0, 3.0, -np.inf, -np.inf], "float32").reshape(1, 6, 1)
    assert_close(
        F.max_pool1d(array(x), 2, 2, "VALID"),
        np.array([np.nan, 3, -np.inf], "float32").reshape(1, 3, 1),
    )
    assert np.isnan(trellis.to_numpy(F.global_max_pool(array(x)))).all()


def test_half_precision(array, xp):
    """1024 ones of 64 add up to what float16 cannot hold."""
    x = xp.astype(array(np.full((1, 32, 32, 1), 64.0, "float32")), "float16")
    for y in (F.global_avg_pool(x), F.avg_pool2d(x, 32, 1, "VALID"), F.adaptive_avg_pool(x, 1)):
        assert_close(y, np.full(y.shape, 64.0), dtype="float16")
    assert_close(F.max_pool2d(x, 32, 1, "VALID"), np.full((1, 1, 1, 1), 64.0), dtype="float16")


@pytest.mark.parametrize("dtype", ["int8", "int64", "uint8", "uint16", "uint32", "uint64"])
def test_maxima_of_integers(dtype, backend, array, x64):
    with x64():
        x = array(np.array([3, 1, 2, 5, 4], dtype).reshape(1, 5, 1))
        for found, expected in (
            (F.adaptive_max_pool(x, 2), [3, 5]),  # windows of 3 that overlap
            (F.adaptive_max_pool(x, 5), [3, 1, 2, 5, 4]),
            (F.global_max_pool(x, keepdims=True), [5]),
        ):
            assert_close(found, np.array(expected, dtype).reshape(1, -1, 1), backend=backend)
        found = F.max_pool1d(x, 2, 2, "SAME")  # in the default float
        assert_close(found, np.array([3, 5, 4], "float32").reshape(1, 3, 1), backend=backend)


def test_nests(array):
    x = array(rng.normal(size=(1, 4, 4, 2)).astype("float32"))
    y, i = F.max_pool2d({"a": x}, 2, 2, "VALID", return_indices=True)
    assert_close((y["a"], i["a"]), F.max_pool2d(x, 2, 2, "VALID", return_indices=True))
    assert_close(F.avg_pool2d({"a": x}, 2, 2, "VALID")["a"], F.avg_pool2d(x, 2, 2, "VALID"))


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda x: F.max_pool2d(x[0], 2, 2, "VALID"), ShapeError, "4 axes"),
        (lambda x: F.max_pool2d(x, 2, 2, "VALID", data_format="NDHWC"), ArgumentError, "'NDHWC'"),
        (lambda x: F.max_pool2d(x, 2, 2, "FULL"), ArgumentError, "'FULL'"),
        (lambda x: F.max_pool2d(x, 2, 0, "VALID"), ArgumentError, "at least 1"),
        (lambda x: F.max_pool2d(x, 7, 1, "VALID"), ShapeError, "window spans 7"),
        (lambda x: F.max_pool2d(x, 2, 1, 2), ArgumentError, "inside the padding"),
        (lambda x: F.max_pool2d(x, 7, 2, "VALID", ceil_mode=True), ShapeError, "window spans 7"),
        (lambda x: F.avg_pool2d(x, 2, 2, 0, ceil_mode="no"), ArgumentTypeError, "'no'"),
        (lambda x: F.avg_pool2d(x, 2, 1, -1), ArgumentError, "-1"),
        (lambda x: F.adaptive_avg_pool(x, (0, 1)), ArgumentError, r"\(0, 1\)"),
        (lambda x: F.global_avg_pool(x[0, 0]), ShapeError, "3 axes"),
    ],
)
def test_bad_input(call, error, message, array):
    with pytest.raises(error, match=message):
        call(array(np.ones((1, 4, 4, 2), "float32")))


def test_nan_in_programs_without_trellis(array, backend):
    """XLA leaves nan out of windows that do not overlap; so do its own reductions."""
    x = rng.normal(size=(1, 8, 8, 2)).astype("float32")
    x[0, 1, 5, 0] = np.nan
    graph = trellis.trace(lambda x: F.max_pool2d(x, 2, 2, "VALID"), array(x))
    space = {}
    exec(compile(graph.to_source(backend), "<ejected>", "exec"), space)
    expected = np.max(x.reshape(1, 4, 2, 4, 2, 2), axis=(2, 4))
    assert np.isnan(expected).sum() == 1
    assert_close(space["forward"](array(x)), expected, rtol=0, atol=0)
    assert_close(F.max_pool2d(array(x), 2, 2, "VALID"), expected, rtol=0, atol=0)
