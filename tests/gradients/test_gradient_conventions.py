"""One behaviour at kinks, ties and zeros on all four: the table in docs/gradient_conventions.md."""

import numpy as np
import pytest

import trellis
from trellis import errors
from trellis.testing import assert_close

NAN, INF = np.nan, np.inf

# name: (function of xp and x, where, expected gradient)
CONVENTIONS = {
    "abs at 0": (lambda xp, x: xp.sum(xp.abs(x)), [0.0, -1.0], [0.0, -1.0]),
    "sign": (lambda xp, x: xp.sum(xp.sign(x) * x), [0.0, 2.0], [0.0, 1.0]),
    "floor": (lambda xp, x: xp.sum(xp.floor(x) * x), [1.5, 2.0], [1.0, 2.0]),
    "round": (lambda xp, x: xp.sum(xp.round(x)), [1.5, 2.0], [0.0, 0.0]),
    "sqrt at 0": (lambda xp, x: xp.sum(xp.sqrt(x)), [0.0, 4.0], [INF, 0.25]),
    "ties of max": (lambda xp, x: xp.max(x), [1.0, 3.0, 3.0], [0.0, 0.5, 0.5]),
    "ties of min by axis": (
        lambda xp, x: xp.sum(xp.min(xp.reshape(x, (2, 2)), axis=1)), [1.0, 1.0, 2.0, 3.0],
        [0.5, 0.5, 1.0, 0.0]
    ),
    "ties of maximum": (lambda xp, x: xp.sum(xp.maximum(x, xp.ones_like(x))), [1.0, 2.0],
                        [0.5, 1.0]),
    "ties of minimum": (lambda xp, x: xp.sum(xp.minimum(x, 1.0)), [1.0, 0.0], [0.5, 1.0]),
    "ties of sort": (
        lambda xp, x: xp.sum(xp.sort(x) * xp.astype(xp.arange(1, 4), x.dtype)), [2.0, 2.0, 1.0],
        [2.0, 3.0, 1.0]
    ),
    "ties of a median": (lambda xp, x: xp.sort(x)[1], [2.0, 2.0, 2.0], [0.0, 1.0, 0.0]),
    "ties of topk": (lambda xp, x: xp.sum(xp.topk(x, 1)[0]), [3.0, 3.0], [1.0, 0.0]),
    "nan in the branch not taken": (
        lambda xp, x: xp.sum(xp.where(x > 0, xp.log(x), xp.zeros_like(x))), [0.0, 1.0], [NAN, 1.0]
    ),
    "norm at 0": (lambda xp, x: xp.linalg.vector_norm(x), [0.0, 0.0], [0.0, 0.0]),
    "1-norm at 0": (lambda xp, x: xp.linalg.vector_norm(x, ord=1), [0.0, 1.0], [0.0, 1.0]),
    "3-norm at 0": (lambda xp, x: xp.linalg.vector_norm(x, ord=3), [0.0, 0.0], [0.0, 0.0]),
    "matrix norm at 0": (lambda xp, x: xp.linalg.matrix_norm(xp.reshape(x, (2, 2))), [0.0] * 4,
                         [0.0] * 4),
    "std of equal elements": (lambda xp, x: xp.std(x), [1.0, 1.0], [0.0, 0.0]),
    "hypot at 0": (lambda xp, x: xp.sum(xp.hypot(x, xp.zeros_like(x))), [0.0, 1.0], [0.0, 1.0]),
    "clip at its bounds": (
        lambda xp, x: xp.sum(xp.clip(x, 0.0, 1.0)), [0.0, 0.5, 1.0, 2.0, -1.0],
        [1.0, 1.0, 1.0, 0.0, 0.0]
    ),
    "prod with zeros": (lambda xp, x: xp.prod(x), [0.0, 2.0, 3.0], [6.0, 0.0, 0.0]),
    "cumulative_prod with zeros": (
        lambda xp, x: xp.sum(xp.cumulative_prod(x, axis=0)), [2.0, 0.0, 3.0], [1.0, 8.0, 0.0]
    ),
    "0 to the 0": (lambda xp, x: xp.sum(xp.pow(x, xp.zeros_like(x))), [0.0, 2.0], [0.0, 0.0]),
    "through a narrower float": (
        lambda xp, x: xp.sum(xp.astype(xp.astype(x, "float16"), "float32") ** 2), [1.0, 2.0],
        [2.0, 4.0]
    ),
    "through integers": (
        lambda xp, x: xp.sum(xp.astype(xp.astype(x, "int32"), "float32") * x), [1.5, 2.5],
        [1.0, 2.0]
    ),
    "unused": (lambda xp, x: xp.sum(xp.ones(3)), [1.0, 2.0], [0.0, 0.0]),
}  # fmt: skip


@pytest.mark.parametrize("name", CONVENTIONS)
# Infinite and invalid values are what some of these rows are about.
@pytest.mark.filterwarnings(
    "ignore:divide by zero:RuntimeWarning", "ignore:invalid value:RuntimeWarning"
)
def test_convention(name, backend, xp, array):
    fn, where, expected = CONVENTIONS[name]
    gradient = trellis.grad(lambda x: fn(xp, x))(array(where, "float32"))
    assert_close(gradient, np.array(expected, "float32"), backend=backend)


def test_differentiated_inputs(backend, xp, array):
    """Integers become the default float, bool and complex inputs raise."""
    gradient = trellis.grad(lambda x: xp.sum(x * x))(xp.asarray([1, 2], dtype="int32"))
    assert_close(gradient, np.array([2.0, 4.0], "float32"), backend=backend)
    for wrong in (xp.asarray([True]), xp.asarray([1j])):
        with pytest.raises(errors.DtypeError, match="differentiate"):
            trellis.grad(lambda x: xp.sum(xp.ones(1)))(wrong)


def test_complex_inside(backend, xp, array):
    """Complex numbers inside a function of real inputs: |exp(ix)|^2 and a Fourier transform."""
    x = array([0.3, -0.7, 1.1], "float32")
    power = trellis.grad(lambda x: xp.sum(xp.abs(xp.fft.fft(x)) ** 2))(x)
    # Parseval: the sum is 3 * sum(x**2).
    assert_close(power, 6 * np.array([0.3, -0.7, 1.1], "float32"), backend=backend)
    imaginary = trellis.grad(lambda x: xp.sum(xp.imag(xp.exp(xp.multiply(x, 1j)))))(x)
    assert_close(imaginary, np.cos(np.array([0.3, -0.7, 1.1])).astype("float32"), backend=backend)


def test_foreign_functions_on_numpy():
    """A plain NumPy function on a traced array gives the right derivative or raises; never a wrong
    number."""
    x = np.array([0.5, 1.5, -2.0])
    assert_close(trellis.grad(lambda x: np.sum(np.cosh(x)))(x), np.sinh(x))
    assert_close(trellis.grad(lambda x: np.mean(np.stack([x, x * x])))(x), (1 + 2 * x) / 6)
    for foreign in (
        lambda x: np.quantile(x, 0.5),
        np.nanmax,
        np.convolve,
        lambda x: np.add.reduce(x),
        lambda x: np.asarray(x).sum(),
    ):
        args = (x, x) if foreign is np.convolve else (x,)
        with pytest.raises(NotImplementedError, match="differentiat"):
            trellis.grad(lambda *a, f=foreign: np.sum(f(*a)))(*args)
    for lossy in (float, lambda x: x.item()):
        with pytest.raises(errors.TracingError, match="stop_gradient"):
            trellis.grad(lambda x, f=lossy: f(np.sum(x)) * np.sum(x))(x)
