"""Functions of JAX on all frameworks: JAX itself says what comes out."""

import numpy as np
import pytest

import trellis
from converted_checks import GRADIENTS, OUTPUTS, gradients, native, weights, worst
from trellis import convert, errors

jax = pytest.importorskip("jax")
import jax.numpy as jnp  # noqa: E402
from jax import lax  # noqa: E402

pytestmark = pytest.mark.needs("jax")


def normal(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape).astype("float32")


def positive(*shape, seed=0):
    return np.random.default_rng(seed).uniform(0.2, 3.0, size=shape).astype("float32")


def integers(*shape, high=4, seed=0):
    return np.random.default_rng(seed).integers(0, high, size=shape).astype("int32")


def spd(n, seed=0):
    a = normal(n, n, seed=seed)
    return a @ a.T + n * np.eye(n, dtype="float32")


def conv(x, w, strides=(1, 1), padding="SAME", **options):
    numbers = options.pop("dims", ("NHWC", "HWIO", "NHWC"))
    return lax.conv_general_dilated(x, w, strides, padding, dimension_numbers=numbers, **options)


def pool(init, op, window, strides, padding, **options):
    return lambda p, x: lax.reduce_window(x * p, init, op, window, strides, padding, **options)


def of_bits(p, x):
    keys = jax.random.split(jax.random.fold_in(jax.random.key(3), 5), 2)
    return p * jax.random.uniform(keys[0], (2, 3)) + jax.random.normal(keys[1], (3,)) * x.sum()


# A function of a variable and inputs; the variable is multiplied in so that gradients flow.
PROGRAMS = {
    "arithmetic": (lambda p, x: (x * p - 2.0) / (p * p + 3.0) + -x, normal(3), normal(2, 3)),
    "powers": (
        lambda p, x: (
            x**3 + p**2 + jnp.sqrt(p) + lax.rsqrt(p) + p**0.3 + 1 / p + lax.integer_pow(p, -2)
        ),
        positive(3),
        normal(2, 3),
    ),
    "exponentials": (
        lambda p, x: (
            jnp.exp(p) + jnp.log(p) + jnp.log1p(p) + jnp.expm1(x) + jnp.exp2(x) + jnp.cbrt(p)
        ),
        positive(3),
        normal(2, 3),
    ),
    "trigonometry": (
        lambda p, x: jnp.sin(p) + jnp.cos(x) + jnp.tan(x) + jnp.arctan2(p, x) + jnp.sinh(x),
        positive(3),
        normal(2, 3),
    ),
    "inverse trigonometry": (
        lambda p, x: (
            jnp.arcsin(x)
            + jnp.arccos(x)
            + jnp.arctan(p)
            + jnp.arcsinh(p)
            + jnp.arccosh(p + 1)
            + jnp.arctanh(x)
        ),
        positive(3),
        np.clip(normal(2, 3) * 0.3, -0.9, 0.9),
    ),
    "activations": (
        lambda p, x: (
            jax.nn.gelu(x * p)
            + jax.nn.gelu(x, approximate=False)
            + jax.nn.silu(x)
            + jax.nn.relu(x)
            + jax.nn.softplus(x)
            + jax.nn.elu(x)
            + jax.nn.leaky_relu(x)
            + jax.nn.relu6(x)
        ),
        positive(3),
        normal(2, 3),
    ),
    "softmax": (
        lambda p, x: jax.nn.softmax(x * p, axis=0) + jax.nn.log_softmax(x * p, axis=-1),
        positive(3),
        normal(2, 3),
    ),
    "logsumexp": (lambda p, x: jax.nn.logsumexp(x * p, axis=(0, 2)), positive(3), normal(2, 4, 3)),
    "rounding": (
        lambda p, x: jnp.floor(x) * p + jnp.ceil(x) + jnp.round(x * 3) + jnp.sign(x) + jnp.trunc(x),
        positive(3),
        normal(2, 3),
    ),
    "integers": (
        lambda p, i: (
            i // 3,
            i % 3,
            -i // 2,
            lax.div(-i, 3),
            lax.rem(-i, 3),
            i << 2,
            (i - 2) >> 1,
            i & 3,
            i | 4,
            i ^ 1,
            ~i,
            lax.shift_right_logical(i - 3, 28),
            p * i,
        ),
        normal(3),
        integers(2, 3, high=9),
    ),
    "comparisons": (
        lambda p, x: jnp.where((x > p) & (x != 0) | (x <= -1), x, p) * jnp.isfinite(x),
        normal(3),
        normal(2, 3),
    ),
    "select": (
        lambda p, x, i: lax.select_n(i, x, x * p, x + p[None]) + jnp.clip(x, -0.5, p.max()),
        normal(3),
        normal(2, 3),
        integers(2, 3, high=3),
    ),
    "shapes": (
        lambda p, x: (
            jnp.transpose(x, (2, 0, 1)).reshape(3, -1) * p[:, None],
            x[:, ::-1, 1:],
            jnp.squeeze(x[:1], 0),
            jnp.tile(x, (1, 2, 1)),
            jnp.concatenate([x, x * p], axis=2),
            jnp.stack([x, x], 1),
            jnp.split(x, 2, axis=1),
        ),
        normal(3),
        normal(2, 4, 3),
    ),
    "pad": (
        lambda p, x: (
            lax.pad(x * p, 0.5, ((1, 2, 0), (0, 1, 2))),
            lax.pad(x * p, p[0], ((-1, 2, 1), (1, -1, 0))),
            jnp.pad(x, ((1, 1), (0, 2))),
            jnp.pad(x, 1, mode="reflect"),
            jnp.pad(x, 1, mode="edge"),
        ),
        normal(3),
        normal(4, 3),
    ),
    "iota": (
        lambda p, x: (
            jnp.arange(4),
            jnp.eye(3) * p,
            jnp.tril(x),
            jnp.triu(x, 1),
            jax.nn.one_hot(jnp.arange(3), 5),
            jnp.linspace(0, 1, 3) * p,
            lax.broadcasted_iota(jnp.int32, (3, 2, 2), 1),
        ),
        normal(3),
        normal(3, 3),
    ),
    "reductions": (
        lambda p, x: (
            (x * p).sum(1),
            jnp.prod(x, axis=2),
            x.max(0),
            x.min((0, 1)),
            jnp.mean(x * p),
            jnp.var(x * p),
            (x > 0).any(1),
            (x > 0).all(),
            jnp.argmax(x, 1),
            jnp.argmin(x),
            jnp.std(x * p, axis=0),
            (x > 0).sum(1),
            jnp.median(x),
        ),
        normal(3),
        normal(2, 4, 3),
    ),
    "cumulative": (
        lambda p, x: (
            jnp.cumsum(x * p, 1),
            jnp.cumprod(x, 0),
            lax.cummax(x, 1),
            lax.cummin(x, 1, reverse=True),
            lax.cumlogsumexp(x * p, 1),
            lax.cumsum(x, 0, reverse=True),
        ),
        normal(3),
        normal(4, 3),
    ),
    "sorting": (
        lambda p, x, i: (
            jnp.sort(x * p, 1),
            jnp.argsort(x, 0),
            lax.top_k(x, 2),
            lax.sort([i, x], num_keys=2),
            lax.sort([i, x], num_keys=1, is_stable=True),
            jnp.unique(i, size=4),
        ),
        normal(5),
        normal(4, 5),
        integers(4, 5),
    ),
    "products": (
        lambda p, x, y: (
            x @ p,
            jnp.einsum("bik,bjk->bij", x, y),
            jnp.einsum("bij,bkj->kbi", x, y * 2.0),
            jnp.tensordot(x, y, axes=((0, 2), (0, 2))),
            jnp.vdot(x, x),
            x[0] @ x[0].T,
            jnp.outer(p[0], p[1]),
            jnp.dot(p[0], p[1][:3]) if p.shape[1] == 3 else x.sum(),
            jnp.matmul(x, jnp.swapaxes(y, 1, 2)),
        ),
        normal(3, 4),
        normal(2, 5, 3),
        normal(2, 5, 3, seed=1),
    ),
    "convolutions": (
        lambda p, x: (
            conv(x, p),
            conv(x, p, (2, 1), "VALID"),
            conv(x, p, rhs_dilation=(2, 2)),
            conv(x, p, padding=((1, 0), (2, 1)), lhs_dilation=(2, 1)),
            conv(x, p, padding=((-1, 0), (1, -1)), lhs_dilation=(1, 2)),
            conv(
                jnp.moveaxis(x, 3, 1), jnp.transpose(p, (3, 2, 0, 1)), dims=("NCHW", "OIHW", "NCHW")
            ),
            conv(x, p, dims=("NHWC", "HWIO", "NCHW")),
            lax.conv_transpose(x, p, (2, 2), "SAME"),
        ),
        normal(3, 3, 2, 4),
        normal(2, 6, 5, 2),
    ),
    "grouped convolution": (
        lambda p, x: conv(x, p, feature_group_count=4),
        normal(3, 3, 1, 8),
        normal(2, 6, 5, 4),
    ),
    "batch groups": (
        lambda p, x: conv(x, p, batch_group_count=2),
        normal(3, 3, 3, 4),
        normal(4, 6, 5, 3),
    ),
    "convolution in 1 and 3": (
        lambda p, x: (
            lax.conv_general_dilated(
                x[:, 0, 0], p[0, 0], (2,), "SAME", dimension_numbers=("NWC", "WIO", "NWC")
            ),
            lax.conv_general_dilated(
                x, p, (1, 1, 2), "SAME", dimension_numbers=("NDHWC", "DHWIO", "NDHWC")
            ),
        ),
        normal(2, 2, 3, 2, 3),
        normal(2, 3, 4, 5, 2),
    ),
    "max pool": (
        pool(-jnp.inf, lax.max, (1, 2, 3, 1), (1, 2, 2, 1), "SAME"),
        normal(2),
        normal(2, 5, 6, 2),
    ),
    "sum pool": (
        pool(0.0, lax.add, (1, 2, 2, 1), (1, 2, 1, 1), "VALID"),
        normal(2),
        normal(2, 5, 6, 2),
    ),
    "odd windows": (
        pool(jnp.inf, lax.min, (2, 2), (1, 2), ((1, 0), (2, 1)), window_dilation=(2, 1)),
        positive(4),
        normal(5, 4),
    ),
    "gradient of max pool": (
        lambda p, x: jax.grad(
            lambda x: (
                pool(-jnp.inf, lax.max, (1, 3, 2, 1), (1, 2, 2, 1), "SAME")(1.0, x) ** 2
            ).sum()
        )(x * p),
        positive(2),
        normal(2, 5, 6, 2),
    ),
    "take": (
        lambda p, i: (
            jnp.take(p, i, axis=0),
            p[i],
            p[:, i],
            jnp.take(p, i, axis=1, mode="clip"),
            p[i, i],
        ),
        normal(5, 5),
        integers(2, 3),
    ),
    "take outside": (
        lambda p, i: (jnp.take(p, i, axis=0), p.at[i].get(mode="fill", fill_value=7.0)),
        normal(3, 2),
        integers(2, 3, high=6),
    ),
    "gather": (
        lambda p, i: (
            jnp.take_along_axis(p, i, 1),
            jax.vmap(lambda row, j: row[j])(p, i[:, 0]),
            jax.vmap(lambda j: lax.dynamic_slice(p, (j, j), (2, 3)))(i[:, 0]),
            p[i[:, 0], 1:3],
        ),
        normal(4, 5),
        integers(4, 3),
    ),
    "scatter": (
        lambda p, x, i: (
            p.at[i].add(x),
            p.at[i[:1]].set(x[:1]),
            p.at[1, i].multiply(2.0),
            p.at[i].max(x),
            p.at[i].min(0.1),
            p.at[:, i[0]].set(0.5),
            jax.ops.segment_sum(x, i, 5),
            p.at[i + 2].add(x, mode="drop"),
        ),
        normal(4, 3),
        normal(3, 3),
        integers(3, high=3),
    ),
    "dynamic slices": (
        lambda p, x, i: (
            lax.dynamic_slice(x * p, (i[0], 1), (2, 2)),
            lax.dynamic_update_slice(x, p[None, :2], (i[1], i[2])),
            lax.dynamic_index_in_dim(x, i[0], 0),
            lax.dynamic_slice(x * p, (9, 0), (2, 3)),
        ),
        normal(3),
        normal(4, 3),
        integers(3),
    ),
    "branches": (
        lambda p, x, i: (
            lax.cond(x.sum() > 0, lambda: x * p, lambda: x - p),
            lax.switch(i[0], [lambda y: y * p, lambda y: y + p, lambda y: -y, lambda y: y * y], x),
            lax.cond(i[1] > 1, lambda y: (y, y * p), lambda y: (y * p, y), x),
        ),
        normal(3),
        normal(4, 3),
        integers(2),
    ),
    "while": (
        lambda p, x: lax.while_loop(
            lambda s: s[0] < 4, lambda s: (s[0] + 1, s[1] * 0.5 + p), (0, x * p)
        ),
        normal(3),
        normal(4, 3),
    ),
    "fori": (
        lambda p, x: (
            lax.fori_loop(0, 4, lambda i, s: s * p + i, x),
            lax.fori_loop(0, x.shape[0], lambda i, s: s + x[i] * p, p),
        ),
        normal(3),
        normal(4, 3),
    ),
    "scan": (
        lambda p, x: (
            lax.scan(lambda c, r: (c * p + r, (c.sum(), c)), x[0], x),
            lax.map(lambda r: r * p, x),
            lax.scan(lambda c, r: (jnp.tanh(c + r * p), None), x[0], x, reverse=True)[0],
            lax.scan(lambda c, r: (c, r * c), p, x, reverse=True)[1],
            lax.associative_scan(jnp.multiply, x * p),
        ),
        normal(3),
        normal(4, 3),
    ),
    "custom derivatives": (
        lambda p, x: (
            jax.nn.silu(x) * p
            + jax.checkpoint(lambda y: jnp.sin(y * p))(x)
            + jnp.linalg.norm(x * p)
        ),
        normal(3),
        normal(4, 3),
    ),
    "linear algebra": (
        lambda p, b: (
            jnp.linalg.cholesky(p),
            jnp.linalg.inv(p),
            jnp.linalg.det(p),
            jnp.linalg.slogdet(p)[1],
            jax.scipy.linalg.solve_triangular(p, b, lower=True),
            jnp.linalg.solve(p, b),
            jax.scipy.linalg.cho_solve((jnp.linalg.cholesky(p), True), b),
        ),
        spd(4),
        normal(4, 2),
    ),
    "decompositions": (
        lambda p, x: (
            jnp.linalg.eigh(x + x.T)[0] * p,
            jnp.linalg.svd(x, compute_uv=False),
            jnp.abs(jnp.linalg.qr(x)[1]),
            jnp.linalg.pinv(x),
            jnp.abs(jnp.linalg.svd(x)[0]),
            jnp.linalg.matrix_rank(x),
        ),
        normal(4),
        normal(4, 4),
    ),
    "fourier": (
        lambda p, x: (
            jnp.fft.fft(x * p),
            jnp.abs(jnp.fft.rfft(x * p)),
            jnp.fft.irfft(jnp.fft.rfft(x * p), 8),
            jnp.fft.fft2(x),
            jnp.abs(jnp.fft.ifft(x)),
            jnp.conj(lax.complex(x, x * p)).imag,
        ),
        normal(8),
        normal(4, 8),
    ),
    "special functions": (
        lambda p, x: (
            jax.scipy.special.gammaln(p),
            jax.scipy.special.digamma(p),
            jax.scipy.special.erf(x * p),
            jax.scipy.special.erfinv(jnp.tanh(x)),
            jax.scipy.special.betainc(3.0, 2.5, x),
            jax.scipy.special.polygamma(1, p),
            jax.scipy.special.erfc(x),
            jax.scipy.special.gammaln(-p * 0.7),
            jax.nn.sigmoid(x * p),
        ),
        positive(3),
        np.clip(positive(4, 3) * 0.3, 0.05, 0.95),
    ),
    "random": (of_bits, normal(3), normal(2)),
    "bits": (
        lambda p, x, i: (
            lax.bitcast_convert_type(x, jnp.uint32),
            lax.bitcast_convert_type(i, jnp.uint32),
            p * 1.0,
        ),
        normal(3),
        np.array([0.0, -0.0, 1.5, -2.25e-3, 3e38, 1e-20, np.inf, -np.inf], "float32"),
        integers(4) - 2,
    ),
    "types": (
        lambda p, x: (
            x.astype(jnp.int32),
            (x > 0).astype(jnp.float32) * p,
            x.astype(jnp.float16).astype(jnp.float32),
            jnp.int8(3) * x.astype(jnp.int8),
            x.astype(bool),
        ),
        normal(3),
        normal(4, 3) * 5,
    ),
    "gradient inside": (
        lambda p, x: jax.grad(lambda q: (jnp.tanh(x * q) ** 2).sum())(p),
        normal(3),
        normal(4, 3),
    ),
    "vmap": (
        lambda p, x: jax.vmap(lambda r: jnp.outer(r, p).sum(0) + jnp.sort(r))(x),
        normal(3),
        normal(4, 3),
    ),
    "nan order": (
        lambda p, x: (
            jnp.sort(x),
            jnp.nanmean(x) * p,
            jnp.nan_to_num(x),
            jnp.searchsorted(jnp.sort(x), 0.5),
        ),
        normal(3),
        np.array([1.0, np.nan, -2.0, 0.5], "float32"),
    ),
}

# Their derivative is not that of the source: singular vectors turn freely, and JAX has none of a
# loop without a bound.
WITHOUT_GRADIENTS = {"while", "odd windows", "decompositions", "nan order"}
# Rounding grows with the condition of a matrix, or in series of several dozen terms.
WIDER = {"linear algebra": 1e-4, "decompositions": 1e-4, "special functions": 1e-4}


def loss_of(fn):
    def loss(p, *xs):
        outs = [x for x in jax.tree.leaves(fn(p, *xs)) if x.dtype == jnp.float32]
        return sum([jnp.sum(x * weights(x.shape)) for x in outs])

    return loss


# Those that run in every test; the others are part of the large matrix.
QUICK = {
    "activations", "softmax", "reductions", "products", "take", "scan", "branches", "random",
}  # fmt: skip
ROWS = [name if name in QUICK else pytest.param(name, marks=pytest.mark.long) for name in PROGRAMS]


@pytest.mark.parametrize("name", ROWS)
def test_programs(backend, name, compiled):
    fn, p, *xs = PROGRAMS[name]
    model = convert.from_jax(fn, (p, *xs), to=backend, verify=False)
    # JAX compiles each call by itself otherwise, which takes far longer.
    run = lambda v, *xs: model(*xs, v=v)  # noqa: E731
    run = compiled(run) if backend == "jax" else run
    expected = jax.tree.leaves(jax.jit(fn)(p, *xs))
    found = trellis.tree.leaves(run(model.v, *native(xs, backend)))
    assert worst(found, expected) <= WIDER.get(name, OUTPUTS)
    if name not in WITHOUT_GRADIENTS:
        expected = jax.jit(jax.grad(loss_of(fn)))(p, *xs)
        found = gradients(model, xs, backend, compiled)
        assert worst(list(found.values()), [expected]) <= 10 * WIDER.get(name, GRADIENTS / 10)


def mlp(p, x):
    h = jax.nn.gelu(x @ p["layers"][0]["w"] + p["layers"][0]["b"])
    return {"logits": h @ p["layers"][1]["w"], "hidden": (h, None)}


def mlp_params():
    return {"layers": [{"w": normal(4, 5), "b": normal(5)}, {"w": normal(5, 3, seed=1)}]}


def test_names_structure_and_report(backend):
    p, x = mlp_params(), normal(2, 4)
    model = convert.from_jax(mlp, (p, x), to=backend)
    assert sorted(model.graph.variables) == ["layers/0/b", "layers/0/w", "layers/1/w"]
    out = model(x=native(x, backend))
    assert sorted(out) == ["hidden", "logits"] and out["hidden"][1] is None
    assert trellis.backend_of(out["logits"]) == backend
    report = model.report()
    assert "JAX" in report and "verified, largest difference" in report and "gelu 1" in report
    assert "F.gelu" in model.to_source()


def test_open_axes(backend):
    p = mlp_params()
    model = convert.from_jax(mlp, (p, normal(2, 4)), to=backend, dynamic={"x": {0: "batch"}})
    x = normal(7, 4, seed=3)
    assert worst(model(native(x, backend))["logits"], mlp(p, x)["logits"]) <= OUTPUTS
    with pytest.raises(errors.ShapeError, match="converted for x of shape"):
        model(native(normal(7, 5), backend))


def test_open_sizes_are_computed(backend):
    def fn(p, x):
        n = x.shape[0]
        rows = jnp.concatenate([x, jnp.zeros((n, 1))], 1).reshape(2 * n, -1) * p
        return rows.sum() / n, jnp.broadcast_to(p[:1], (n + 1, 1)), jnp.arange(n) * 2

    p, x = normal(2), normal(3, 3)
    model = convert.from_jax(fn, (p, x), to=backend, dynamic={"x": {0: "n"}})
    x = normal(5, 3, seed=1)
    assert worst(model(native(x, backend)), fn(p, x)) <= OUTPUTS


def test_shapes_are_kept_without_dynamic(backend):
    model = convert.from_jax(mlp, (mlp_params(), normal(2, 4)), to=backend)
    with pytest.raises(errors.ShapeError, match="dynamic"):
        model(native(normal(3, 4), backend))


def test_plain_arguments_are_fixed(backend):
    def fn(p, x, *, power, name):
        return p * x**power + len(name)

    kwargs = {"power": 3, "name": "abc"}
    model = convert.from_jax(fn, (normal(3), normal(2, 3)), kwargs, to=backend)
    x = normal(2, 3, seed=5)
    assert worst(model(native(x, backend)), fn(normal(3), x, **kwargs)) <= OUTPUTS
    with pytest.raises(errors.ArgumentError, match="power"):
        model(native(x, backend), power=4)


def test_several_variables_and_none(backend):
    fn = lambda p, x, q: p * x + q  # noqa: E731
    model = convert.from_jax(fn, (normal(3), normal(2, 3), normal(3)), variables=(0, 2), to=backend)
    assert sorted(model.graph.variables) == ["p", "q"]
    model = convert.from_jax(fn, (normal(3), normal(2, 3), normal(3)), variables=(), to=backend)
    assert not model.graph.variables and len(model.graph.inputs) == 3


def test_compiled(backend, compiled):
    p, x = mlp_params(), normal(2, 4)
    model = convert.from_jax(mlp, (p, x), to=backend)
    found = compiled(lambda v, x: model(x, v=v)["logits"])(model.v, native(x, backend))
    assert worst(found, mlp(p, x)["logits"]) <= OUTPUTS


def test_optax_step(backend):
    optax = pytest.importorskip("optax")
    optimizer = optax.adam(0.1)
    p, x = {"w": jnp.asarray(normal(3, 2))}, normal(4, 3)
    state = optimizer.init(p)

    def step(p, state, x):
        grads = jax.grad(lambda p: jnp.mean((x @ p["w"]) ** 2))(p)
        updates, state = optimizer.update(grads, state, p)
        return optax.apply_updates(p, updates), state

    model = convert.from_jax(step, (p, state, x), variables=(0, 1), to=backend)
    expected = jax.tree.leaves(step(p, state, x))
    assert worst(trellis.tree.leaves(model(native(x, backend))), expected) <= OUTPUTS


def test_threefry(backend):
    from jax.extend.random import threefry_2x32

    fn = lambda key, x: threefry_2x32(key, x)  # noqa: E731
    key = np.array([0x13198A2E, 0xE3707344], "uint32")
    x = np.array([0x243F6A88, 0x85A308D3, 7, 2**32 - 1], "uint32")
    model = convert.from_jax(fn, (key, x), variables=(), to=backend, verify=False)
    found = trellis.to_numpy(model(native(key, backend), native(x, backend)))
    assert np.array_equal(found, np.asarray(fn(jnp.asarray(key), jnp.asarray(x))))


def test_unknown_primitives_are_listed_at_once(backend):
    def fn(p, x):
        both = jax.lax.igamma_grad_a(x, x) + jax.lax.igamma_grad_a(p, p)
        return jax.lax.rng_uniform(0.0, 1.0, (3,)) + p * both

    with pytest.raises(errors.NotSupportedError, match="2 operations") as error:
        convert.from_jax(fn, (positive(3), positive(3)), to=backend)
    assert "igamma_grad_a (2 times, first at test_from_jax.py" in str(error.value)
    assert "rng_uniform" in str(error.value)


def test_rules_of_users(backend):
    from trellis.convert import rules

    @convert.rule("bessel_i0e")
    def bessel(g, x):
        return g.t.multiply(g.t.exp(g.t.negative(g.t.abs(x))), g.t.add(1.0, x))

    try:
        model = convert.from_jax(
            lambda p, x: p * jax.lax.bessel_i0e(x), (normal(3), normal(3)), to=backend, verify=False
        )
    finally:
        del rules._own["bessel_i0e"]
    x = normal(3, seed=4)
    expected = normal(3) * np.exp(-np.abs(x)) * (1 + x)
    assert worst(model(native(x, backend)), expected) <= OUTPUTS


def test_control_flow_on_data_is_refused():
    with pytest.raises(errors.ConversionError, match="asks for the value of an array"):
        convert.from_jax(lambda p, x: p if x.sum() > 0 else -p, (normal(3), normal(3)), to="numpy")


def test_wrong_arguments():
    with pytest.raises(errors.ArgumentTypeError, match="expects a function"):
        convert.from_jax({}, (normal(3),), to="numpy")
    with pytest.raises(errors.ArgumentError, match="variables"):
        convert.from_jax(jnp.sin, (normal(3),), variables=2, to="numpy")
    with pytest.raises(errors.ArgumentError, match="dynamic axes"):
        convert.from_jax(jnp.add, (normal(3), normal(3)), dynamic={"z": {0: "n"}}, to="numpy")


@pytest.mark.parametrize("shapes", [((3, 3), (3,)), ((3, 3), (3, 2)), ((2, 3, 3), (2, 3, 2))])
def test_solutions_have_the_gradients_of_jax(shapes):
    """JAX solves with a matrix whose gradient is stopped, and has a rule for the derivative."""
    rng = np.random.default_rng(0)
    a = rng.normal(size=shapes[0]).astype("float32") + 3 * np.eye(3, dtype="float32")
    b = rng.normal(size=shapes[1]).astype("float32")
    model = convert.from_jax(jnp.linalg.solve, (jnp.asarray(a), jnp.asarray(b)), to="numpy",
                             variables=())  # fmt: skip
    found = trellis.grad(lambda a, b: trellis.sum(model(a, b) ** 2), argnums=(0, 1))(a, b)
    wanted = jax.grad(lambda a, b: jnp.sum(jnp.linalg.solve(a, b) ** 2), argnums=(0, 1))(a, b)
    for x, y in zip(found, wanted, strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-4, atol=1e-5)  # float32, two solvers


def test_other_linear_solvers_have_gradients():
    from jax.scipy.sparse.linalg import cg

    a = np.array([[3.0, 1, 0], [1, 4, 1], [0, 1, 5]], "float32")
    b = np.array([1.0, -2, 0.5], "float32")

    def solve(a, b):
        return cg(lambda x: a @ x, b)[0]

    model = convert.from_jax(solve, (jnp.asarray(a), jnp.asarray(b)), to="numpy", variables=())
    found = trellis.grad(lambda a: trellis.sum(model(a, b) ** 2))(a)
    wanted = jax.grad(lambda a: jnp.sum(solve(a, b) ** 2))(a)
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)  # float32, iterated
