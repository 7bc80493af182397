"""GRU and plain recurrence against torch.nn, embedding, positions."""

import numpy as np
import pytest

import trellis
from oracles import torch
from trellis import functional as F
from trellis.errors import ArgumentError, DtypeError, ShapeError
from trellis.testing import assert_close, check_gradients

rng = np.random.default_rng(5)
BATCH, STEPS, INNER, WIDTH = 3, 4, 2, 5


def parts(gates):
    shapes = [(BATCH, STEPS, INNER), (BATCH, WIDTH), (INNER, gates * WIDTH), (WIDTH, gates * WIDTH)]
    return [rng.normal(size=shape) for shape in [*shapes, (gates * WIDTH,), (gates * WIDTH,)]]


def oracle(layer, x, h, kernel, recurrent, bias, recurrent_bias):
    with torch.no_grad():
        for target, value in zip(
            layer.parameters(), (kernel.T, recurrent.T, bias, recurrent_bias), strict=True
        ):
            target.copy_(torch.tensor(value))
        hs, last = layer(torch.tensor(x), torch.tensor(h)[None])
    return hs.numpy(), last[0].numpy()


def gru(x, h, k, r, b, rb, **options):
    return F.gru_update(x, h, k, r, bias=b, recurrent_bias=rb, **options)


def rnn(x, h, k, r, b, rb, **options):
    return F.rnn_update(x, h, k, r, bias=b, recurrent_bias=rb, **options)


def rnn_relu(x, h, k, r, b, rb, **options):
    return rnn(x, h, k, r, b, rb, activation="relu", **options)


ROWS = {
    "gru": (gru, 3, lambda: torch.nn.GRU(INNER, WIDTH, batch_first=True, dtype=torch.float64)),
    "rnn": (rnn, 1, lambda: torch.nn.RNN(INNER, WIDTH, batch_first=True, dtype=torch.float64)),
    "rnn_relu": (
        rnn_relu, 1, lambda: torch.nn.RNN(INNER, WIDTH, batch_first=True, dtype=torch.float64,
                                          nonlinearity="relu"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("row", ROWS)
def test_values(row, backend, array, x64):
    fn, gates, layer = ROWS[row]
    arrays = parts(gates)
    expected = oracle(layer(), *arrays)
    with x64():
        assert_close(fn(*map(array, arrays)), expected, backend=backend)
        x, *rest = arrays
        hs, h = fn(array(np.swapaxes(x, 0, 1)), *map(array, rest), time_major=True)
        assert_close((hs, h), (np.swapaxes(expected[0], 0, 1), expected[1]))
    narrow = [array(a.astype("float32")) for a in arrays]
    assert_close(fn(*narrow), [e.astype("float32") for e in expected], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("row", ROWS)
def test_gradients(row, array, x64):
    fn, gates, _ = ROWS[row]
    x, h, *rest = parts(gates)
    with x64():
        check_gradients(fn, [array(a) for a in (x[:2, :2], h[:2], *rest)], order=1)


@pytest.mark.parametrize("row", ROWS)
def test_compiled(row, array, compiled):
    fn, gates, _ = ROWS[row]
    arrays = [array(a.astype("float32")) for a in parts(gates)]
    assert_close(compiled(lambda *xs: fn(*xs))(*arrays), fn(*arrays), rtol=1e-4, atol=1e-6)


def test_batch_axes_and_length(array):
    x, h, *rest = [array(a.astype("float32")) for a in parts(3)]
    hs, last = gru(x, h, *rest)
    alone = gru(x[1], h[1], *rest)
    assert_close(alone, (hs[1], last[1]), rtol=1e-4, atol=1e-6)
    deep = gru(trellis.stack([x, x]), trellis.stack([h, h]), *rest)
    assert_close(deep, (trellis.stack([hs, hs]), trellis.stack([last, last])), rtol=1e-4, atol=1e-6)
    empty, same = gru(x[:, :0], h, *rest)
    assert tuple(empty.shape) == (BATCH, 0, WIDTH)
    assert_close(same, h)
    one = gru(x[:, :1], h, *rest)
    assert_close(one[1], hs[:, 0], rtol=1e-4, atol=1e-6)


def test_nests(array):
    x, h, *rest = [array(a.astype("float32")) for a in parts(3)]
    hs, last = gru({"a": x, "b": 2 * x}, h, *rest)
    assert_close((hs["b"], last["b"]), gru(2 * x, h, *rest))


def test_half_precision(array, xp):
    arrays = [array(a.astype("float32")) for a in parts(3)]
    halves = [xp.astype(a, "float16") for a in arrays]
    hs, last = gru(*halves)
    assert_close(hs, trellis.to_numpy(gru(*arrays)[0]), dtype="float16", rtol=0.02, atol=0.02)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({0: np.ones(3)}, "batch..., T, in"),
        ({1: np.ones((2, WIDTH))}, "init_h"),
        ({2: np.ones((INNER + 1, 3 * WIDTH))}, "kernel of shape"),
        ({3: np.ones((WIDTH, WIDTH))}, r"\(out, 3\*out\)"),
        ({4: np.ones(WIDTH)}, "bias of shape"),
    ],
)
def test_bad_input(change, message, array):
    arrays = [array(change.get(i, a).astype("float32")) for i, a in enumerate(parts(3))]
    with pytest.raises(ShapeError, match=message):
        gru(*arrays)
    with pytest.raises(ArgumentError, match="'sine'"):
        rnn(*[array(a.astype("float32")) for a in parts(1)], activation="sine")


# Embedding
# -------------------------------------------------------------------------------------------


def test_embedding(backend, array, x64, xp):
    table = rng.normal(size=(5, 3))
    indices = np.array([[0, 4, 4], [2, 1, 0]])
    with x64():
        assert_close(F.embedding(array(indices), array(table)), table[indices], backend=backend)
        check_gradients(lambda t: F.embedding(array(indices), t), (array(table),), order=1)
    gradient = trellis.grad(
        lambda t: trellis.sum(F.embedding(array(indices.astype("int32")), t, padding_index=4))
    )(array(table.astype("float32")))
    counts = np.array([2, 1, 1, 0, 0], "float32")[:, None] * np.ones((5, 3), "float32")
    assert_close(gradient, counts)
    small = F.embedding(array(indices.astype("uint8")), array(table.astype("float32")))
    assert_close(small, table[indices].astype("float32"))


def test_embedding_compiled(array, compiled):
    args = array(np.array([1, 0], "int32")), array(rng.normal(size=(3, 2)).astype("float32"))
    fn = lambda i, t: F.embedding(i, t, padding_index=0)  # noqa: E731
    assert_close(compiled(fn)(*args), fn(*args))


@pytest.mark.parametrize("wrong", [5, -1])
def test_embedding_out_of_range(wrong, array):
    table = array(np.ones((5, 2), "float32"))
    with pytest.raises(ArgumentError, match=f"from 0 to 4, got {wrong}"):
        F.embedding(array(np.array([0, wrong], "int32")), table)
    with pytest.raises(DtypeError, match="integer indices"):
        F.embedding(array(np.array([0.0], "float32")), table)
    with pytest.raises(ArgumentError, match="padding_index"):
        F.embedding(array(np.array([0], "int32")), table, padding_index=7)


# Positions
# -------------------------------------------------------------------------------------------


def test_sinusoidal_encoding(backend, array, x64):
    positions, width = np.arange(7), 6
    expected = np.zeros((7, 6))
    for p in range(7):
        for i in range(3):
            angle = p / 10000 ** (2 * i / width)
            expected[p, 2 * i], expected[p, 2 * i + 1] = np.sin(angle), np.cos(angle)
    with x64():
        assert_close(
            F.sinusoidal_encoding(array(positions), width, dtype="float64"),
            expected,
            backend=backend,
        )
    y = F.sinusoidal_encoding(array(positions.astype("int32")), width)
    assert_close(y, expected.astype("float32"), rtol=1e-5, atol=1e-6)
    with pytest.raises(ShapeError, match="even"):
        F.sinusoidal_encoding(array(positions.astype("int32")), 5)


def rotated(x, positions, width, interleaved):
    y = x.copy()
    half = width // 2
    for i in range(half):
        a, b = (2 * i, 2 * i + 1) if interleaved else (i, i + half)
        turn = np.exp(1j * positions / 10000 ** (2 * i / width))
        z = (x[..., a] + 1j * x[..., b]) * turn
        y[..., a], y[..., b] = z.real, z.imag
    return y


@pytest.mark.parametrize("interleaved", [False, True])
@pytest.mark.parametrize("width", [None, 4])
def test_rotary_embedding(interleaved, width, backend, array, x64):
    x = rng.normal(size=(2, 3, 5, 8))
    positions = np.array([3, 1, 4, 1, 5])
    with x64():
        y = F.rotary_embedding(array(x), width=width, interleaved=interleaved)
        assert_close(y, rotated(x, np.arange(5), width or 8, interleaved), backend=backend)
        y = F.rotary_embedding(array(x), array(positions), width=width, interleaved=interleaved)
        assert_close(y, rotated(x, positions, width or 8, interleaved))
        check_gradients(
            lambda x: F.rotary_embedding(x, width=width, interleaved=interleaved),
            (array(x[:1, :1, :2]),),
            order=1,
        )


def test_rotary_products_depend_on_distance(array):
    q, k = [array(rng.normal(size=(1, 8)).astype("float32")) for _ in range(2)]

    def product(i, j):
        places = [array(np.array([p], "int32")) for p in (i, j)]
        return trellis.sum(F.rotary_embedding(q, places[0]) * F.rotary_embedding(k, places[1]))

    assert_close(product(7, 3), float(product(104, 100)), dtype=False, rtol=1e-3, atol=1e-4)


def test_rotary_compiled_and_bad(array, compiled):
    x = array(rng.normal(size=(2, 5, 8)).astype("float32"))
    assert_close(compiled(F.rotary_embedding)(x), F.rotary_embedding(x))
    with pytest.raises(ShapeError, match="even"):
        F.rotary_embedding(x, width=3)
    with pytest.raises(ShapeError, match="10 of the 8"):
        F.rotary_embedding(x, width=10)
