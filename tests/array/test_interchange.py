"""Arrays from every framework to every other: values, types, shared memory, refusals."""

import numpy as np
import pytest

import trellis
from conftest import BACKENDS
from trellis import interchange
from trellis.errors import CopyError, PrecisionError, TracingError

DTYPES = (
    "bool", "int8", "int16", "int32", "uint8", "uint16", "uint32", "float16", "bfloat16", "float32",
    "complex64",
)  # fmt: skip
PAIRS = [(source, target) for source in BACKENDS for target in BACKENDS if source != target]


def pairs():
    return pytest.mark.parametrize(("source", "backend"), PAIRS)


def aligned(shape, dtype="float32"):
    """Writable NumPy memory that begins at a multiple of 64 bytes, as XLA asks for."""
    dtype = trellis.namespace("numpy").as_dtype(dtype)
    size = int(np.prod(shape)) * dtype.itemsize
    raw = np.zeros(size + 64, "uint8")
    start = -raw.ctypes.data % 64
    x = raw[start : start + size].view(dtype).reshape(shape)
    x[...] = np.arange(x.size).reshape(shape) % 7
    return x


def array(source, shape=(2, 3, 4), dtype="float32"):
    """An array in memory of the framework's own, which all of them align."""
    x = trellis.to_backend(aligned(shape, dtype), source, copy=source != "numpy")
    return x.clone() if source == "torch" else x


def values(x):
    return np.asarray(trellis.namespace(x).to_numpy(x), "complex128")


@pytest.mark.parametrize("dtype", DTYPES)
@pairs()
def test_values_and_dtype(source, backend, dtype):
    x = array(source, dtype=dtype)
    y = trellis.to_backend(x, backend)
    assert trellis.backend_of(y) == backend
    assert trellis.dtype(y) == dtype
    assert tuple(y.shape) == (2, 3, 4)
    np.testing.assert_array_equal(
        values(y), np.arange(24).reshape(2, 3, 4) % 7 if dtype != "bool" else values(x)
    )


@pytest.mark.parametrize("dtype", DTYPES)
@pairs()
def test_memory_is_shared(source, backend, dtype):
    x = array(source, dtype=dtype)
    # NumPy exports no bfloat16 through DLPack, and a copy is all that JAX and TensorFlow then
    # offer.
    is_shared = not (dtype == "bfloat16" and source == "numpy" and backend != "torch")
    assert interchange.is_zero_copy(x, backend) is is_shared
    assert interchange.shares_memory(x, trellis.to_backend(x, backend)) is is_shared
    if is_shared:
        assert interchange.shares_memory(x, trellis.to_backend(x, backend, copy=False))


@pairs()
def test_copy_true_copies(source, backend):
    x = array(source)
    y = trellis.to_backend(x, backend, copy=True)
    assert not interchange.shares_memory(x, y)
    np.testing.assert_array_equal(values(y), values(x))


@pytest.mark.parametrize("shape", [(), (0,), (0, 3), (1,), (1, 1, 5)])
@pairs()
def test_corner_shapes(source, backend, shape):
    x = array(source, shape)
    for copy in (None, True, False):
        y = trellis.to_backend(x, backend, copy=copy)
        assert tuple(y.shape) == shape
        np.testing.assert_array_equal(values(y), values(x))


@pairs()
def test_round_trip(source, backend):
    x = array(source)
    there = trellis.to_backend(x, backend)
    np.testing.assert_array_equal(values(there), values(x))
    back = trellis.to_backend(there, source)
    assert type(back) is type(x)
    np.testing.assert_array_equal(values(back), values(x))


@pairs()
def test_64_bits(source, backend):
    if source == "jax":
        pytest.skip("JAX has no such array to begin with while 64-bit types are off")
    for dtype in ("float64", "int64"):
        x = array(source, dtype=dtype)
        if backend == "jax":
            for copy in (None, True, False):
                with pytest.raises(PrecisionError, match=f'{dtype[:-2]}32".*jax_enable_x64'):
                    trellis.to_backend(x, "jax", copy=copy)
        else:
            assert trellis.dtype(trellis.to_backend(x, backend)) == dtype


@pytest.mark.parametrize("other", ["numpy", "torch", "tensorflow"])
def test_64_bits_with_jax_asked_for_them(other):
    import jax

    with jax.enable_x64(True):
        x = array(other, dtype="float64")
        y = trellis.to_backend(x, "jax")
        assert trellis.dtype(y) == "float64"
        assert interchange.shares_memory(x, y)
        assert trellis.dtype(trellis.to_backend(y, other)) == "float64"


@pytest.mark.parametrize("target", ["jax", "torch", "tensorflow"])
def test_read_only_numpy_is_copied(target):
    x = aligned((2, 3))
    x.flags.writeable = False
    y = trellis.to_backend(x, target)
    np.testing.assert_array_equal(values(y), values(x))
    assert not interchange.shares_memory(x, y)
    assert not interchange.is_zero_copy(x, target)
    with pytest.raises(CopyError, match=r"read-only|writeable"):
        trellis.to_backend(x, target, copy=False)


@pytest.mark.parametrize("source", ["jax", "tensorflow"])
def test_views_of_immutable_arrays_are_read_only(source):
    x = array(source)
    y = trellis.to_numpy(x)
    assert interchange.shares_memory(x, y)
    assert not y.flags.writeable


@pytest.mark.parametrize("cut", ["reversed", "transposed", "every other"])
@pytest.mark.parametrize("target", ["jax", "torch", "tensorflow"])
@pytest.mark.parametrize("source", ["numpy", "torch"])
def test_strides(source, target, cut):
    if source == target or (source, cut) == ("torch", "reversed"):
        pytest.skip("nothing to convert, or no such tensor")
    x = array(source, (4, 6))
    x = {"reversed": lambda: x[::-1], "transposed": lambda: x.T, "every other": lambda: x[:, ::2]}[
        cut
    ]()
    np.testing.assert_array_equal(values(trellis.to_backend(x, target)), values(x))
    np.testing.assert_array_equal(values(trellis.to_backend(x, target, copy=True)), values(x))
    if interchange.is_zero_copy(x, target):
        assert interchange.shares_memory(x, trellis.to_backend(x, target))
    else:
        with pytest.raises(CopyError):
            trellis.to_backend(x, target, copy=False)
    assert interchange.is_zero_copy(x, "torch") == (cut != "reversed")


def test_reversed_numpy_through_from_dlpack_does_not_end_the_process():
    y = trellis.from_dlpack(np.arange(3.0)[::-1], backend="torch")
    np.testing.assert_array_equal(y.numpy(), [2.0, 1.0, 0.0])


@pytest.mark.parametrize("source", ["numpy", "torch"])
def test_unaligned_memory_is_copied_by_jax(source):
    x = array(source, (17,))[1:]
    y = trellis.to_backend(x, "jax")
    np.testing.assert_array_equal(values(y), values(x))
    assert not interchange.is_zero_copy(x, "jax")
    with pytest.raises(CopyError, match="64 bytes"):
        trellis.to_backend(x, "jax", copy=False)


def test_shared_memory_shows_writes():
    x = aligned((3,))
    y = trellis.to_backend(x, "torch")
    x[0] = 100.0
    assert y[0].item() == 100.0
    y[1] = 50.0
    assert x[1] == 50.0


def test_same_backend(backend):
    x = array(backend)
    assert interchange.shares_memory(trellis.to_backend(x, backend), x)
    assert interchange.is_zero_copy(x, backend)
    if backend != "tensorflow":
        # No one can write into a tensor of TensorFlow, and its copy, tf.identity, goes by that.
        assert not interchange.shares_memory(trellis.to_backend(x, backend, copy=True), x)


@pairs()
def test_nests(source, backend):
    nest = {"layer": [array(source), (array(source), 3)], "name": "mlp", "nothing": None}
    there = trellis.to_backend(nest, backend)
    assert trellis.backend_of(there["layer"][0]) == backend
    assert trellis.backend_of(there["layer"][1][0]) == backend
    assert (there["layer"][1][1], there["name"], there["nothing"]) == (3, "mlp", None)
    container = trellis.to_backend(trellis.Container(a=array(source)), backend)
    assert type(container) is trellis.Container
    assert interchange.is_zero_copy(nest, backend)


@pairs()
def test_from_dlpack(source, backend):
    x = array(source)
    y = trellis.from_dlpack(x, backend=backend)
    assert trellis.backend_of(y) == backend
    assert interchange.shares_memory(x, y)
    copied = trellis.from_dlpack(x, backend=backend, copy=True)
    assert not interchange.shares_memory(x, copied)
    np.testing.assert_array_equal(values(copied), values(x))


def test_device(backend):
    y = trellis.to_backend(aligned((2,)), backend, device="cpu")
    assert "cpu" in str(trellis.device(y)).lower()


def test_to_numpy(backend):
    x = array(backend)
    assert type(trellis.to_numpy(x)) is np.ndarray
    assert type(trellis.to_numpy([x])[0]) is np.ndarray
    assert interchange.shares_memory(trellis.to_numpy(x), x)


def test_tensorflow_variable():
    import tensorflow as tf

    x = tf.Variable([1.0, 2.0])
    for target in ("numpy", "jax", "torch"):
        np.testing.assert_array_equal(values(trellis.to_backend(x, target)), [1.0, 2.0])


def test_conjugate_of_torch():
    import torch

    x = torch.tensor([1 + 2j, 3 - 1j]).conj()
    for target in ("numpy", "jax", "tensorflow"):
        np.testing.assert_array_equal(values(trellis.to_backend(x, target)), [1 - 2j, 3 + 1j])
    assert not interchange.is_zero_copy(x, "numpy")


# Gradients and tracing
# -----------------------------------------------------------------------------


def test_jax_tracers_refuse():
    import jax

    x = array("jax", (3,))
    with pytest.raises(TracingError, match="Return it from the compiled function"):
        jax.jit(lambda x: trellis.to_backend(x, "torch"))(x)
    with pytest.raises(TracingError, match="stop_gradient"):
        jax.grad(lambda x: trellis.to_numpy(x).sum())(x)
    kept = jax.grad(lambda x: (x * trellis.to_numpy(jax.lax.stop_gradient(x))).sum())(x)
    np.testing.assert_array_equal(values(kept), values(x))


def test_torch_gradients_refuse():
    import torch

    x = torch.ones(3, requires_grad=True)
    for target in ("numpy", "jax", "tensorflow"):
        with pytest.raises(TracingError, match=r"x\.detach\(\)"):
            trellis.to_backend(x * 2, target)
        np.testing.assert_array_equal(values(trellis.to_backend(x.detach(), target)), 1.0)
        with torch.no_grad():
            np.testing.assert_array_equal(values(trellis.to_backend(x, target)), 1.0)


@pytest.mark.needs("tensorflow")
def test_tensorflow_variables_that_a_tape_follows():
    import tensorflow as tf

    x, constant = tf.Variable([1.0]), tf.Variable([1.0], trainable=False)
    with tf.GradientTape():
        with pytest.raises(trellis.errors.TracingError, match="A tape of TensorFlow follows"):
            trellis.to_numpy(x)
        np.testing.assert_array_equal(trellis.to_numpy(constant), [1])


@pytest.mark.needs("jax", "torch", "tensorflow")
def test_tensorflow_graphs_refuse():
    import tensorflow as tf

    for target in ("numpy", "jax", "torch"):
        with pytest.raises(TracingError, match=r"tf\.function"):
            tf.function(lambda x, target=target: trellis.to_backend(x, target))(tf.ones(3))


def test_unknown_backend():
    with pytest.raises(ValueError, match="numpy, jax, torch, tensorflow"):
        trellis.to_backend(np.zeros(1), "mxnet")
