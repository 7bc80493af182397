"""What the rows of the repository and the conformance kit do not ask: what is special to MLX."""

import mlx.core as mx
import numpy as np
import pytest
from scipy import special

import trellis
from trellis import functional as F
from trellis import nn, optim, train
from trellis.errors import CopyError, DtypeError, NotSupportedError, TracingError

POINTS = np.concatenate([np.linspace(-20, 20, 4001), [0.0, 1e-9, -1e-5, np.inf, -np.inf, np.nan]])


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        *[("exp", np.exp), ("expm1", np.expm1), ("sin", np.sin), ("cos", np.cos), ("tan", np.tan)],
        *[("erf", special.erf), ("erfc", special.erfc)],
        ("functional.sigmoid", special.expit),
    ],
)
def test_float64_is_float64(name, expected):
    """MLX's own kernels are exact to float32 only."""
    fn = getattr(F, name.rpartition(".")[2]) if "." in name else getattr(trellis, name)
    with np.errstate(invalid="ignore"):
        wanted = expected(POINTS)
    found = np.array(fn(mx.array(POINTS, dtype=mx.float64)))
    assert found.dtype == np.float64
    # Cosines near their zeros are exact to the last digit of 1, not of themselves.
    np.testing.assert_allclose(found, wanted, rtol=2e-14, atol=1e-15)


@pytest.mark.parametrize("name", ["floor_divide", "remainder", "fmod", "truncate_divide"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_quotients_of_zeros_and_infinities(name, dtype):
    """Signs of zeros included, as the standard has them."""
    some = [0.0, -0.0, 1.0, -1.0, 2.5, -2.5, 1e30, np.inf, -np.inf, np.nan]
    x1, x2 = [x.ravel().astype(dtype) for x in np.meshgrid(some, some)]
    with np.errstate(all="ignore"):
        wanted = getattr(trellis, name)(x1, x2)
    found = np.array(getattr(trellis, name)(*trellis.to_backend((x1, x2), "mlx")))
    np.testing.assert_array_equal(found, wanted)
    is_number = ~np.isnan(wanted)
    np.testing.assert_array_equal(np.signbit(found[is_number]), np.signbit(wanted[is_number]))


def test_the_tangent_of_complex_numbers_does_not_overflow():
    z = np.array([1 + 2j, 0.5 - 100j, 3 + 80j], "complex64")
    np.testing.assert_allclose(trellis.tan(mx.array(z)), np.tan(z), rtol=1e-6)  # float32


def test_float64_convolution_and_its_gradient():
    numbers = np.random.default_rng(0)
    x, filters = numbers.normal(size=(1, 6, 2)), numbers.normal(size=(3, 2, 4))
    windows = np.lib.stride_tricks.sliding_window_view(x, 3, axis=1)  # (1, 4, 2, 3)
    wanted = np.einsum("bnik,kio->bno", windows, filters)
    one, two = [mx.array(value, dtype=mx.float64) for value in (x, filters)]
    found = trellis.conv1d(one, two, 1, "VALID")
    np.testing.assert_allclose(np.array(found), wanted, rtol=1e-14)
    gradient = trellis.grad(lambda f: trellis.sum(trellis.conv1d(one, f, 1, "VALID")))(two)
    expected = np.repeat(windows.sum(axis=(0, 1)).T[:, :, None], 4, axis=2)
    np.testing.assert_allclose(np.array(gradient), expected, rtol=1e-14)


def test_there_is_no_complex128():
    with pytest.raises(DtypeError, match="no complex numbers of two float64"):
        trellis.to_backend(np.array([1j]), "mlx")
    with pytest.raises(DtypeError, match="complex128"):
        trellis.fft.fft(mx.array([1.0, 2.0], dtype=mx.float64))
    assert trellis.fft.fft(mx.array([1.0, 2.0])).dtype == mx.complex64
    assert not trellis.backends("mlx").abilities.has_complex128


def test_the_same_bits():
    """Threefry's words of the key 0, counter 0, as its authors publish them, and jax.random's
    numbers of the key 42."""
    words = trellis.namespace("mlx").random.split(mx.array([0, 0], dtype=mx.uint32), (1,))
    assert words.tolist() == [[0x6B200159, 0x99BA4EFE]]
    with trellis.using_backend("mlx"):
        key = trellis.random.key(42)
        found = np.array(trellis.random.bits(key, (1000,), dtype="uint32"))
    other = trellis.random.bits(trellis.random.key(42), (1000,), dtype="uint32")
    assert np.array_equal(found, other)


@pytest.mark.parametrize("fn", [trellis.sum, trellis.prod, trellis.any, trellis.all, trellis.mean])
def test_reductions_of_nothing_end(fn):
    """MLX's own do not, or return what was in memory."""
    empty = mx.zeros((0, 3))
    with np.errstate(all="ignore"):
        wanted = {"sum": 0, "prod": 1, "any": False, "all": True}.get(fn.__name__, np.nan)
    assert np.array_equal(np.array(fn(empty, axis=0)), np.full(3, wanted), equal_nan=True)


def test_what_runs_on_numpy_says_so():
    info = trellis.backends("mlx")
    assert info.made("svd") == "host" and info.made("conv") == "native"
    assert info.made("random.bits") == "native" and info.made("einsum") == "derived"
    x = mx.eye(2)
    with trellis.using_host_fallback(False), pytest.raises(NotSupportedError, match=r"linalg\.svd"):
        trellis.linalg.svd(x)
    with pytest.raises(TracingError, match="runs on NumPy"):
        trellis.compile(trellis.linalg.inv)(x)


def test_memory_is_never_shared():
    with pytest.raises(CopyError, match="MLX cannot share"):
        trellis.to_backend(np.ones(2), "mlx", copy=False)


def test_a_gradient_is_not_cut():
    """Values may be looked at; what would lose its gradient raises."""
    constant = mx.array([1.0, 2.0])

    def loss(x):
        trellis.to_backend(constant * 2, "numpy")
        if float(trellis.sum(x)) < 0:
            return trellis.sum(x)
        return trellis.sum(x * x)

    assert trellis.grad(loss)(mx.array([3.0])).tolist() == [6.0]
    with pytest.raises(TracingError, match="cut when it leaves MLX"):
        trellis.grad(lambda x: trellis.sum(mx.array(trellis.to_backend(x * 2, "numpy"))))(constant)


def test_derivatives_of_every_order():
    fn = trellis.sin
    for _ in range(4):
        fn = trellis.grad(fn)
    x = mx.array(0.7, dtype=mx.float64)
    assert float(fn(x)) == pytest.approx(np.sin(0.7), rel=1e-14)


def test_an_array_that_is_returned_twice():
    """MLX's own vjp counts its first cotangent only."""

    def twice(x):
        y = trellis.tanh(x)
        return y, y

    x = mx.array([0.3], dtype=mx.float64)
    slope = 1 - np.tanh(0.3) ** 2
    _, pull = trellis.vjp(twice, x)
    (gradient,) = pull((mx.array([2.0], dtype=mx.float64), mx.array([5.0], dtype=mx.float64)))
    assert float(gradient[0]) == pytest.approx(7 * slope, rel=1e-14)
    pushed = trellis.jvp(twice, (x,), (mx.ones_like(x),))[1]
    assert [float(y[0]) for y in pushed] == pytest.approx([slope, slope], rel=1e-14)


def test_large_seeds():
    with trellis.using_backend("mlx"):
        found = trellis.randint(0, 100, shape=(5,), seed=2**64 - 1)
    assert found.tolist() == trellis.randint(0, 100, shape=(5,), seed=2**64 - 1).tolist()


def test_compiled_functions():
    calls = []

    def double(x, nest, word, flag=True):
        calls.append(word)
        return {"y": x * 2 + nest["a"], "word": word, "n": 3}

    compiled = trellis.compile(double)
    x, nest = mx.array([1.0, 2.0]), {"a": mx.array([1.0, 1.0])}
    for _ in range(3):
        found = compiled(x, nest, "up")
        assert found["y"].tolist() == [3.0, 5.0]
        assert (found["word"], found["n"]) == ("up", 3)
    assert calls == ["up"]
    compiled(x, nest, "down")
    assert calls == ["up", "down"]


def test_a_result_whose_form_depends_on_shapes():
    compiled = trellis.compile(lambda x: (x, x) if x.shape[0] > 2 else x)
    for _ in range(2):
        assert isinstance(compiled(mx.ones(2)), mx.array)
        assert len(compiled(mx.ones(3))) == 2


def test_control_flow_raises_in_compiled_functions():
    with pytest.raises(TracingError, match="no control flow"):
        trellis.compile(lambda x: trellis.cond(x > 0, lambda: x, lambda: -x))(mx.array(1.0))


def curve(backend, epochs=3, checkpoint=None):
    numbers = np.random.default_rng(0)
    x = numbers.normal(size=(64, 8, 8, 1)).astype("float32")
    y = numbers.integers(0, 4, 64).astype("int32")
    trellis.seed(1)
    with trellis.using_backend(backend):
        model = nn.Sequential(
            nn.Conv2D(1, 4, 3, 2, "SAME"), nn.BatchNorm2D(4), nn.ReLU(), nn.Flatten(),
            nn.Linear(64, 16), nn.GELU(), nn.Dropout(0.1), nn.Linear(16, 4),
        )  # fmt: skip
    return train.fit(
        model, F.cross_entropy, (x, y), optimizer=optim.AdamW(lr=1e-2), batch_size=16,
        epochs=epochs, seed=2, progress=False, compile=False, checkpoint=checkpoint,
        resume=checkpoint is not None,
    ).losses  # fmt: skip


def test_the_loss_curve_is_that_of_numpy():
    # float32 in another order of sums: 12 steps differ by less than 1e-5.
    np.testing.assert_allclose(curve("mlx"), curve("numpy"), rtol=1e-5)


@pytest.mark.parametrize(("first", "second"), [("mlx", "numpy"), ("numpy", "mlx")])
def test_a_checkpoint_resumes_elsewhere(first, second, tmp_path):
    file = tmp_path / "run.safetensors"
    curve(first, 1, file)
    np.testing.assert_allclose(curve(second, 3, file)[-8:], curve("numpy")[-8:], rtol=1e-5)


def test_a_language_model_generates():
    """The same tokens as on NumPy, from the same weights."""
    from trellis import models

    config = models.GPT2Config(
        vocab_size=40, n_positions=32, n_embd=16, n_layer=2, n_head=2, initializer_range=0.5
    )

    def tokens(backend):
        trellis.seed(0)
        model = models.GPT2(config, backend=backend)
        return np.array(trellis.generate(model, [[3, 7, 1]], max_new_tokens=8)).tolist()

    assert tokens("mlx") == tokens("numpy")
