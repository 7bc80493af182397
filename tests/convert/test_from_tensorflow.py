"""Functions of TensorFlow on all frameworks: TensorFlow itself says what comes out."""

import numpy as np
import pytest

import trellis
from converted_checks import GRADIENTS, OUTPUTS, gradients, native, weights, worst
from trellis import convert, errors

tf = pytest.importorskip("tensorflow")

pytestmark = pytest.mark.needs("tensorflow")


def normal(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape).astype("float32")


def positive(*shape, seed=0):
    return np.random.default_rng(seed).uniform(0.2, 2.0, size=shape).astype("float32")


def integers(*shape, high=4, seed=0):
    return np.random.default_rng(seed).integers(0, high, size=shape).astype("int32")


def loop_of_arrays(w, x):
    """A TensorArray written and read at the count of a loop, with a state."""
    rows = tf.TensorArray(tf.float32, 4).unstack(x)
    out = tf.TensorArray(tf.float32, 4)

    def body(i, state, out):
        state = tf.tanh(state * w + rows.read(i) * tf.cast(i + 1, tf.float32))
        return i + 1, state, out.write(i, state)

    _, state, out = tf.while_loop(lambda i, *_: i < 4, body, (0, x[0], out))
    return state, out.stack()


def loop_until(w, x):
    """A loop whose number of steps depends on data."""
    return tf.while_loop(
        lambda i, y: tf.reduce_sum(y) > 1.0, lambda i, y: (i + 1, y * 0.5), (0, tf.abs(x) + w)
    )


# A function of a variable and inputs.
PROGRAMS = {
    "arithmetic": (
        lambda w, x: (x * w - 2.0) / (w * w + 3.0) - tf.math.squared_difference(x, w),
        normal(3),
        normal(2, 3),
    ),
    "elementwise": (
        lambda w, x: (
            tf.exp(w)
            + tf.math.log(w)
            + tf.sqrt(w)
            + tf.math.rsqrt(w)
            + tf.sin(x)
            + tf.tanh(x)
            + tf.math.erf(x)
            + tf.math.erfc(x)
            + tf.pow(w, 1.5)
            + tf.math.log1p(w)
            + tf.math.atan2(w, x)
            + tf.floor(x)
            + tf.sign(x)
            + tf.math.lgamma(w)
            + tf.math.divide_no_nan(x, w)
            + tf.math.xlogy(w, w)
        ),
        positive(3),
        normal(2, 3),
    ),
    "activations": (
        lambda w, x: (
            tf.nn.relu(x * w)
            + tf.nn.relu6(x)
            + tf.nn.elu(x)
            + tf.nn.selu(x)
            + tf.nn.softplus(x * w)
            + tf.nn.silu(x * w)
            + tf.nn.leaky_relu(x * w, 0.3)
            + tf.nn.softsign(x)
            + tf.nn.gelu(x * w)
            + tf.nn.gelu(x * w, approximate=True)
            + tf.nn.softmax(x * w)
            + tf.nn.log_softmax(x * w, axis=0)
        ),
        positive(3),
        normal(2, 3),
    ),
    "integers": (
        lambda w, i: (
            i // 3,
            i % 3,
            tf.truncatediv(-i, 3),
            tf.truncatemod(-i, 3),
            tf.bitwise.bitwise_and(i, 3),
            tf.cast(i, tf.float32) * w,
            tf.reduce_sum(i, 0),
            tf.cumsum(i, 1),
            tf.cast(i, tf.int64) + 1,
        ),
        normal(3),
        integers(2, 3, high=9),
    ),
    "shapes": (
        lambda w, x: (
            tf.transpose(x, (2, 0, 1)) * w[0],
            tf.reshape(x * w, (2, -1)),
            x[:, ::2, 1:],
            x[0, ..., -1],
            x[:, tf.newaxis, 1],
            x[:, ::-1],
            tf.concat([x, x * w], 2),
            tf.stack([x, x], 1),
            tf.unstack(x, axis=1),
            tf.split(x, 2, axis=1),
            tf.split(x, [1, 3], axis=1),
            tf.tile(x, (1, 2, 1)),
            tf.pad(x, ((0, 0), (1, 2), (0, 0)), constant_values=2.0),
            tf.pad(x, ((0, 0), (1, 1), (1, 0)), "REFLECT"),
            tf.pad(x, ((0, 0), (1, 1), (1, 0)), "SYMMETRIC"),
            tf.roll(x, 1, 1),
            tf.reverse(x, [1]),
            tf.squeeze(x[:1]),
            tf.expand_dims(x, -1),
            tf.broadcast_to(w, (2, 3)),
            tf.repeat(x, 2, axis=1),
        ),
        normal(3),
        normal(2, 4, 3),
    ),
    "open shapes": (
        lambda w, x: (
            tf.reshape(x, (tf.shape(x)[0], -1)),
            tf.zeros((tf.shape(x)[0], 2)),
            tf.ones_like(x) * w,
            tf.fill(tf.shape(x), 2.0),
            tf.range(tf.shape(x)[1]),
            tf.cast(tf.size(x), tf.float32) * w,
        ),
        normal(3),
        normal(2, 4, 3),
    ),
    "reductions": (
        lambda w, x: (
            tf.reduce_sum(x * w, 1),
            tf.reduce_mean(x * w, (0, 2), keepdims=True),
            tf.reduce_max(x),
            tf.reduce_min(x, 0),
            tf.reduce_prod(x * w, 1),
            tf.reduce_any(x > 0, 1),
            tf.reduce_all(x > -9),
            tf.argmax(x, 1),
            tf.argmin(x, -1, tf.int32),
            tf.reduce_logsumexp(x * w, 1),
            tf.math.reduce_std(x * w, 1),
            tf.math.reduce_variance(x),
            tf.norm(x * w),
            tf.cumsum(x * w, 1, exclusive=True, reverse=True),
            tf.math.cumprod(x, 1),
            tf.math.top_k(x, 2),
            tf.sort(x, 1),
        ),
        normal(3),
        normal(2, 4, 3),
    ),
    "products": (
        lambda w, x: (
            x @ w,
            tf.matmul(x, x, transpose_b=True),
            tf.einsum("bij,jk->bik", x, w),
            tf.einsum("...i,ij->...j", x, w),
            tf.tensordot(x, w, 1),
            tf.linalg.matvec(x, w[:, 0]),
            tf.linalg.diag_part(x @ w),
            tf.linalg.band_part(x, 1, 0),
            tf.matmul(w, w, transpose_a=True),
        ),
        normal(3, 3),
        normal(2, 4, 3),
    ),
    "convolutions": (
        lambda w, x: (
            tf.nn.conv2d(x, w, 2, "SAME"),
            tf.nn.conv2d(x, w, (1, 2), "VALID", dilations=(2, 1)),
            tf.nn.conv2d(x, w, 1, [[0, 0], [1, 2], [0, 1], [0, 0]]),
            tf.nn.conv2d(tf.concat([x, x], -1), w, 1, "SAME"),
            tf.nn.conv2d_transpose(x, tf.transpose(w, (0, 1, 3, 2)), (2, 12, 10, 4), 2, "SAME"),
            tf.nn.depthwise_conv2d(x, w, (1, 2, 2, 1), "SAME"),
            tf.nn.conv1d(x[:, 0], w[0], 2, "SAME"),
            tf.nn.depthwise_conv2d(x, w[..., :1], (1, 1, 1, 1), "VALID", dilations=(1, 2)),
        ),
        normal(3, 3, 2, 4),
        normal(2, 6, 5, 2),
    ),
    "volumes": (
        lambda w, x: (
            tf.nn.conv3d(x, w, (1, 1, 2, 1, 1), "SAME"),
            tf.nn.avg_pool3d(x, 2, 2, "SAME"),
            tf.nn.max_pool3d(x, 2, 1, "VALID"),
        ),
        normal(2, 2, 3, 2, 3),
        normal(2, 3, 4, 5, 2),
    ),
    "pools": (
        lambda w, x: (
            tf.nn.max_pool2d(x * w, 3, 2, "SAME"),
            tf.nn.avg_pool2d(x * w, 3, 2, "SAME"),
            tf.nn.avg_pool2d(x * w, (2, 1), 1, "VALID"),
        ),
        normal(2),
        normal(2, 6, 5, 2),
    ),
    "batch norm": (
        lambda w, x: (
            tf.compat.v1.nn.fused_batch_norm(
                x, w, w + 1.0, mean=[0.1, 0.2], variance=[1.5, 0.5], is_training=False
            )[0],
            tf.compat.v1.nn.fused_batch_norm(x, w, w + 1.0, is_training=True)[:3],
        ),
        normal(2),
        normal(2, 6, 5, 2),
    ),
    "resizing": (
        lambda w, x: (
            tf.image.resize(x * w, (9, 3)),
            tf.image.resize(x * w, (9, 3), "nearest"),
            tf.image.resize(x, (8, 7), "bicubic"),
            tf.compat.v1.image.resize_bilinear(x * w, (8, 7), align_corners=True),
            tf.compat.v1.image.resize_bilinear(x * w, (8, 7)),
            tf.compat.v1.image.resize_nearest_neighbor(x, (8, 7)),
            tf.nn.depth_to_space(tf.concat([x, x], -1), 2),
            tf.nn.space_to_depth(x[:, :, :4], 2),
            tf.space_to_batch(x, (2, 2), ((0, 0), (1, 0))),
        ),
        normal(2),
        normal(2, 6, 5, 2),
    ),
    "lookups": (
        lambda w, x, i: (
            tf.gather(w, i),
            tf.gather(x, i[0], axis=1),
            tf.gather(x, i, batch_dims=1),
            tf.gather_nd(w, i),
            tf.one_hot(i, 4) @ w,
            tf.tensor_scatter_nd_add(w, i[:, :1], x[:, 0, :2]),
            tf.scatter_nd(i[:, :1], x[:, 0], (4, 3)),
            tf.where(x > 0, x, 0.0),
        ),
        normal(4, 2),
        normal(2, 4, 3),
        integers(2, 2, high=2),
    ),
    "branches": (
        lambda w, x: (
            tf.cond(tf.reduce_sum(x) > 0, lambda: x * w, lambda: x - w),
            tf.switch_case(
                tf.cast(tf.abs(x[0, 0]) * 3, tf.int32) % 3,
                [lambda: x * w, lambda: x + w, lambda: -x],
            ),
        ),
        normal(3),
        normal(2, 3),
    ),
    "loop of arrays": (loop_of_arrays, normal(3), normal(4, 3)),
    "loop until": (loop_until, normal(3), normal(4, 3)),
    "functions": (
        lambda w, x: (
            tf.function(lambda y: tf.function(tf.sin)(y) * w)(x)
            + tf.recompute_grad(lambda y: tf.cos(y * w))(x)
        ),
        normal(3),
        normal(4, 3),
    ),
    "linear algebra": (
        lambda w, x: (
            tf.linalg.cholesky(x @ tf.transpose(x) + 5.0 * tf.eye(4)) * w[0],
            tf.linalg.inv(x[:3] + 4.0 * tf.eye(3)) * w,
            tf.linalg.det(x[:3] + 4.0 * tf.eye(3)),
            tf.linalg.solve(x[:3] + 4.0 * tf.eye(3), tf.linalg.diag(w)),
            tf.linalg.triangular_solve(x[:3] + 4.0 * tf.eye(3), tf.linalg.diag(w)),
        ),
        normal(3),
        normal(4, 3),
    ),
}

# A loop of an unknown number of steps has no gradient on JAX.
WITHOUT_GRADIENTS = {"loop until"}
QUICK = {
    "activations",
    "shapes",
    "open shapes",
    "products",
    "convolutions",
    "loop of arrays",
    "branches",
}
ROWS = [name if name in QUICK else pytest.param(name, marks=pytest.mark.long) for name in PROGRAMS]
# Rounding grows with the condition of a matrix, and in the series of lgamma.
WIDER = {"linear algebra": 1e-4, "elementwise": 2e-5}


@pytest.mark.parametrize("name", ROWS)
def test_programs(backend, name, compiled):
    fn, w, *xs = PROGRAMS[name]
    variable = tf.Variable(w, name="w")
    traced = tf.function(lambda *xs: fn(variable, *xs), autograph=False)
    model = convert.from_tensorflow(traced, xs, to=backend, verify=False)
    tensors = [tf.constant(x) for x in xs]
    with tf.GradientTape() as tape:
        outs = tf.nest.flatten(traced(*tensors))
        floats = [y for y in outs if y.dtype == tf.float32]
        loss = tf.add_n([tf.reduce_sum(y * weights(y.shape)) for y in floats])
    run = lambda v, *xs: model(*xs, v=v)  # noqa: E731
    run = compiled(run) if backend == "jax" and name not in WITHOUT_GRADIENTS else run
    found = trellis.tree.leaves(run(model.v, *native(xs, backend)))
    expected = [narrow(y.numpy(), backend) for y in outs]
    assert worst(found, expected) <= WIDER.get(name, OUTPUTS)
    if name not in WITHOUT_GRADIENTS:
        wanted = tf.convert_to_tensor(tape.gradient(loss, variable)).numpy()
        found = gradients(model, xs, backend, compiled)
        assert worst(found["w"], wanted) <= 10 * WIDER.get(name, GRADIENTS / 10)


def narrow(x, backend):
    return x.astype("int32") if backend == "jax" and x.dtype == np.int64 else x


def test_open_axes(backend):
    w = tf.Variable(normal(3, 2), name="w")
    fn = lambda x: tf.reshape(x @ w, (tf.shape(x)[0], -1)) / tf.cast(tf.shape(x)[1], tf.float32)  # noqa: E731
    dynamic = {"x": {0: "batch", 1: "length"}}
    model = convert.from_tensorflow(fn, (normal(2, 4, 3),), to=backend, dynamic=dynamic)
    x = normal(5, 6, 3, seed=1)
    assert worst(model(native(x, backend)), fn(x).numpy()) <= OUTPUTS


def test_concrete_functions_and_names(backend):
    class Module(tf.Module):
        def __init__(self):
            self.w = tf.Variable(normal(3, 2), name="dense/kernel")
            self.mean = tf.Variable(normal(2), name="mean", trainable=False)

        @tf.function(input_signature=[{"x": tf.TensorSpec((None, 3)), "scale": tf.TensorSpec(())}])
        def call(self, inputs):
            return {"y": inputs["x"] @ self.w - self.mean, "pair": (inputs["scale"], inputs["x"])}

    module = Module()
    concrete = module.call.get_concrete_function()
    inputs = {"x": normal(4, 3), "scale": np.float32(2.0)}
    model = convert.from_tensorflow(concrete, (inputs,), to=backend)
    assert list(model.graph.variables) == ["dense/kernel"]
    assert list(model.graph.buffers) == ["mean"]
    out = model(native({"x": normal(6, 3, seed=2), "scale": np.asarray(3.0, "float32")}, backend))
    expected = module.call({"x": tf.constant(normal(6, 3, seed=2)), "scale": tf.constant(3.0)})
    assert worst(out["y"], expected["y"].numpy()) <= OUTPUTS
    assert worst(out["pair"][0], 3.0) == 0


def test_saved_model(backend, tmp_path):
    class Module(tf.Module):
        def __init__(self):
            self.w = tf.Variable(normal(3, 2), name="w")

        @tf.function(input_signature=[tf.TensorSpec((None, 3), name="x")])
        def call(self, x):
            return tf.cond(tf.reduce_sum(x) > 0, lambda: x @ self.w, lambda: -(x @ self.w))

    module = Module()
    tf.saved_model.save(module, str(tmp_path / "model"), signatures=module.call)
    loaded = tf.saved_model.load(str(tmp_path / "model"))
    model = convert.from_tensorflow(loaded.signatures["serving_default"], to=backend)
    x = normal(4, 3)
    (found,) = trellis.tree.leaves(model(native(x, backend)))
    assert worst(found, module.call(x).numpy()) <= OUTPUTS
    assert "not verified" in model.report()


def test_assignments_are_updates(backend):
    count = tf.Variable(1.0, name="count", trainable=False)

    def fn(x):
        count.assign_add(2.0)
        return x * count

    model = convert.from_tensorflow(fn, (normal(3),), to=backend, verify=False)
    model.train()
    x = normal(3)
    assert worst(model(native(x, backend)), x * 3.0) <= OUTPUTS
    assert worst(model(native(x, backend)), x * 5.0) <= OUTPUTS


def test_unknown_operations_are_listed_at_once():
    def fn(x):
        return tf.math.special.bessel_j0(x) + tf.math.ndtri(x) + tf.math.ndtri(0.1 * x)

    with pytest.raises(errors.NotSupportedError, match="2 operations") as error:
        convert.from_tensorflow(fn, (positive(3),), to="numpy")
    assert "Ndtri (2 times" in str(error.value) and "BesselJ0" in str(error.value)


def test_wrong_arguments():
    with pytest.raises(errors.ArgumentTypeError, match="from_keras"):
        convert.from_tensorflow(3, to="numpy")
    with pytest.raises(errors.ArgumentError, match="dynamic axes"):
        convert.from_tensorflow(tf.sin, (normal(3),), dynamic={"z": {0: "n"}}, to="numpy")


def test_whole_slices_behind_an_ellipsis_count_axes():
    def cut(x):
        return x[..., 0, :], x[..., 1:, :], x[:, ..., 0, :], x[1, ..., :]

    x = np.arange(2 * 3 * 4 * 5, dtype="float32").reshape(2, 3, 4, 5)
    model = convert.from_tensorflow(tf.function(cut), (tf.constant(x),), to="numpy")
    for found, wanted in zip(model(x), cut(x), strict=True):
        np.testing.assert_array_equal(found, wanted)
