"""The row `lstm_update` on all four backends."""

import numpy as np

import trellis
from trellis.testing import assert_close, check_gradients

from .layer_checks import (
    check_compiled,
    check_mixed,
    check_nests,
    check_raises,
    check_types,
    check_vectors,
)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def loop_lstm(x, h, c, kernel, recurrent, bias=0.0, recurrent_bias=0.0):
    """x (batch..., T, in), step by step, as the contract writes it."""
    hs = []
    for t in range(x.shape[-2]):
        z = x[..., t, :] @ kernel + bias + h @ recurrent + recurrent_bias
        i, f, g, o = np.split(z, 4, axis=-1)
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
        h = sigmoid(o) * np.tanh(c)
        hs.append(h)
    stacked = np.stack(hs, axis=-2) if hs else np.zeros((*h.shape[:-1], 0, h.shape[-1]))
    return stacked, (h, c)


def arrays(batch=(2,), steps=3, width=2, out=3, seed=0):
    rng = np.random.default_rng(seed)
    shapes = ((*batch, steps, width), (*batch, out), (*batch, out), (width, 4 * out),
              (out, 4 * out), (4 * out,),
              (4 * out,))  # fmt: skip
    return [rng.standard_normal(shape) * 0.7 for shape in shapes]


def update(x, h, c, kernel, recurrent, bias=None, recurrent_bias=None, **options):
    return trellis.lstm_update(
        x, h, c, kernel, recurrent, bias=bias, recurrent_bias=recurrent_bias, **options
    )


def cast(result, dtype):
    hs, (h, c) = result
    return hs.astype(dtype), (h.astype(dtype), c.astype(dtype))


def test_lstm_update(backend, xp, array, x64):
    check_vectors("lstm_update", xp, x64)
    for batch in ((), (2,), (2, 3)):
        for steps in (0, 1, 5):
            xs = arrays(batch, steps)
            for biases in (0, 1, 2):
                given = xs[: 5 + biases]
                for dtype in ("float32", "float64"):
                    with x64():
                        natives = [array(a, dtype) for a in given]
                        result = update(*natives)
                        assert_close(result, cast(loop_lstm(*given), dtype), backend=backend)
                        if steps:
                            last = trellis.to_numpy(result[0])[..., -1, :]
                            np.testing.assert_array_equal(last, trellis.to_numpy(result[1][0]))
                        major = [array(np.moveaxis(given[0], -2, 0).copy(), dtype), *natives[1:]]
                        hs, state = update(*major, time_major=True)
                        expected = cast(loop_lstm(*given), dtype)
                        assert_close(hs, np.moveaxis(expected[0], -2, 0), backend=backend)
                        assert_close(state, expected[1], backend=backend)
    only_second = arrays()
    result = trellis.lstm_update(
        *[array(a, "float32") for a in only_second[:5]],
        recurrent_bias=array(only_second[6], "float32"),
    )
    assert_close(
        result, cast(loop_lstm(*only_second[:5], 0.0, only_second[6]), "float32"), backend=backend
    )

    def make(dtype, **sizes):
        return [array(a, dtype) for a in arrays(**sizes)]

    with x64():
        check_gradients(update, make("float64", batch=(1,), steps=2, width=1, out=1))
        check_gradients(update, make("float64", batch=(2,), steps=3), order=1, modes=("rev",))
    check_types(update, make, backend, x64)
    check_compiled(update, make("float32"), backend)
    check_compiled(
        lambda *xs: trellis.grad(lambda *ys: trellis.sum(update(*ys)[0] ** 2))(*xs),
        make("float32"),
        backend,
    )
    xs = make("float32")
    check_nests(update, xs[0], xs[0] * 2, tuple(xs[1:]), backend)
    check_mixed(update, xs, backend)
    # Fifty steps in float32 stay near float64.
    long = arrays((2,), 50, 4, 8, seed=3)
    hs, (h, c) = update(*[array(a, "float32") for a in long])
    wanted = loop_lstm(*[a.astype(np.float32).astype(float) for a in long])
    for got, want in ((hs, wanted[0]), (h, wanted[1][0]), (c, wanted[1][1])):
        np.testing.assert_allclose(trellis.to_numpy(got), want, atol=1e-4)
    x, h, c, k, r, b, _ = xs

    def zeros(*shape):
        return array(np.zeros(shape), "float32")

    check_raises(ValueError, [
        (r"x of shape.*\(2,\)", lambda: update(zeros(2), h, c, k, r)),
        (r"kernel of shape \(2, 12\)", lambda: update(x, h, c, zeros(3, 12), r)),
        (r"recurrent_kernel.*\(3, 11\)", lambda: update(x, h, c, k, zeros(3, 11))),
        (r"init_h of shape \(2, 3\)", lambda: update(x, zeros(3, 3), c, k, r)),
        (r"init_c of shape \(2, 3\).*\(2, 4\)", lambda: update(x, h, zeros(2, 4), k, r)),
        (r"bias of shape \(12,\)", lambda: update(x, h, c, k, r, zeros(11))),
        (r"recurrent_bias of shape \(12,\)", lambda: update(x, h, c, k, r, b, zeros(1, 12))),
    ])  # fmt: skip
