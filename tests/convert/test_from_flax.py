"""Models of flax, linen and nnx, on all frameworks: outputs and gradients of flax itself."""

import numpy as np
import pytest

import trellis
from converted_checks import GRADIENTS, OUTPUTS, gradients, native, weights, worst, worst_gradient
from trellis import convert

jax = pytest.importorskip("jax")
linen = pytest.importorskip("flax.linen")
import jax.numpy as jnp  # noqa: E402
from flax import nnx  # noqa: E402

pytestmark = pytest.mark.needs("jax")


def normal(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape).astype("float32")


class LinenMlp(linen.Module):
    @linen.compact
    def __call__(self, x):
        x = linen.LayerNorm()(linen.gelu(linen.Dense(8)(x)))
        return linen.softmax(linen.Dense(3)(linen.RMSNorm()(x)))


class LinenCnn(linen.Module):
    @linen.compact
    def __call__(self, x):
        x = linen.relu(linen.Conv(4, (3, 3), strides=(2, 2))(x))
        x = linen.max_pool(x, (2, 2), strides=(2, 2))
        x = linen.Conv(8, (3, 3), feature_group_count=4, padding="VALID", kernel_dilation=1)(x)
        x = linen.ConvTranspose(4, (3, 3), strides=(2, 2))(linen.silu(x))
        x = linen.avg_pool(x, (2, 2), strides=(1, 1), padding="SAME")
        return linen.Dense(3)(linen.GroupNorm(2)(x).mean((1, 2)))


class LinenLstm(linen.Module):
    @linen.compact
    def __call__(self, x):
        x = linen.RNN(linen.LSTMCell(5))(x)
        return linen.RNN(linen.GRUCell(4), reverse=True)(x)


class LinenAttention(linen.Module):
    @linen.compact
    def __call__(self, ids):
        x = linen.Embed(11, 8)(ids)
        mask = linen.make_causal_mask(ids)
        return x + linen.MultiHeadDotProductAttention(num_heads=2)(x, mask=mask)


class LinenBatchNorm(linen.Module):
    @linen.compact
    def __call__(self, x, train=False):
        x = linen.Dense(6)(x)
        x = linen.BatchNorm(use_running_average=not train)(x)
        return linen.Dropout(0.5, deterministic=not train)(linen.tanh(x))


class NnxMlp(nnx.Module):
    def __init__(self, rngs):
        self.layers = nnx.List([nnx.Linear(6, 8, rngs=rngs), nnx.Linear(8, 3, rngs=rngs)])
        self.norm = nnx.LayerNorm(8, rngs=rngs)

    def __call__(self, x):
        x = self.norm(nnx.gelu(self.layers[0](x), approximate=False))
        return nnx.log_softmax(self.layers[1](x))


class NnxCnn(nnx.Module):
    def __init__(self, rngs):
        self.conv = nnx.Conv(3, 4, (3, 3), strides=2, rngs=rngs)
        self.wide = nnx.Conv(4, 8, (3, 3), feature_group_count=2, kernel_dilation=2, rngs=rngs)
        self.out = nnx.Linear(8, 3, rngs=rngs)

    def __call__(self, x):
        x = nnx.max_pool(nnx.relu(self.conv(x)), (2, 2), (1, 1), "SAME")
        x = nnx.avg_pool(nnx.leaky_relu(self.wide(x)), (2, 2), (2, 2))
        return self.out(x.max((1, 2)))


class NnxLstm(nnx.Module):
    def __init__(self, rngs):
        self.rnn = nnx.RNN(nnx.LSTMCell(6, 5, rngs=rngs))

    def __call__(self, x):
        return self.rnn(x)


class NnxAttention(nnx.Module):
    def __init__(self, rngs):
        self.embed = nnx.Embed(11, 8, rngs=rngs)
        self.attention = nnx.MultiHeadAttention(2, 8, decode=False, rngs=rngs)

    def __call__(self, ids):
        x = self.embed(ids)
        return self.attention(x, mask=nnx.make_causal_mask(ids))


class NnxBatchNorm(nnx.Module):
    def __init__(self, rngs):
        self.linear = nnx.Linear(6, 8, rngs=rngs)
        self.norm = nnx.BatchNorm(8, rngs=rngs)
        self.dropout = nnx.Dropout(0.5, rngs=rngs)

    def __call__(self, x):
        return nnx.swish(self.dropout(self.norm(self.linear(x))))


IDS = np.random.default_rng(0).integers(0, 11, size=(2, 5)).astype("int32")
MODELS = {
    "linen mlp": (LinenMlp, normal(4, 6)),
    "linen cnn": (LinenCnn, normal(2, 16, 16, 3)),
    "linen lstm": (LinenLstm, normal(2, 4, 6)),
    "linen attention": (LinenAttention, IDS),
    "linen batch norm": (LinenBatchNorm, normal(4, 6)),
    "nnx mlp": (NnxMlp, normal(4, 6)),
    "nnx cnn": (NnxCnn, normal(2, 12, 12, 3)),
    "nnx lstm": (NnxLstm, normal(2, 4, 6)),
    "nnx attention": (NnxAttention, IDS),
    "nnx batch norm": (NnxBatchNorm, normal(4, 6)),
}


def away_from_zero(tree):
    """Biases and statistics begin at zero and one, which hides mistakes: move all arrays."""
    leaves, structure = jax.tree.flatten(tree)
    moved = [
        jnp.asarray(np.abs(x) * 0.8 + 0.1 + 0.3 * np.abs(normal(*x.shape, seed=i)))
        if x.ndim == 1
        else x + 0.1 * normal(*x.shape, seed=i)
        for i, x in enumerate(leaves)
    ]
    return jax.tree.unflatten(structure, moved)


def source(name):
    """A model as a pure function of trained arrays and inputs, and what is converted."""
    make, x = MODELS[name]
    if name.startswith("linen"):
        module = make()
        variables = away_from_zero(module.init(jax.random.key(0), x))
        rest = {k: v for k, v in variables.items() if k != "params"}
        fn = lambda p, x: module.apply({"params": p, **rest}, x)  # noqa: E731
        return fn, variables["params"], (module.apply, (variables, x)), "params/"
    model = make(nnx.Rngs(0))
    model.eval()
    definition, trained, others = nnx.split(model, nnx.Param, ...)
    trained = away_from_zero(trained)
    others = jax.tree.map(lambda x: x + 0.3 if x.dtype == jnp.float32 else x, others)
    nnx.update(model, trained, others)
    fresh = lambda: jax.tree.map(lambda x: x, others)  # noqa: E731
    fn = lambda p, x: nnx.merge(definition, p, fresh())(x)  # noqa: E731
    return fn, trained, (model, (x,)), ""


def by_chain(tree, prefix):
    found = {}
    for path, x in jax.tree_util.tree_flatten_with_path(tree)[0]:
        keys = [str(getattr(k, "key", getattr(k, "name", None))) for k in path]
        keys = keys[:-1] if keys[-1] == "value" else keys
        found[prefix + "/".join(keys)] = np.asarray(x)
    return found


@pytest.mark.parametrize("name", MODELS)
def test_models(backend, name, compiled):
    fn, params, (converted, args), prefix = source(name)
    x = MODELS[name][1]
    model = convert.from_jax(converted, args, to=backend, verify=False)
    expected = jax.jit(fn)(params, x)
    run = lambda v, x: model(x, v=v)  # noqa: E731
    run = compiled(run) if backend == "jax" else run
    assert worst(run(model.v, native(x, backend)), expected) <= OUTPUTS

    loss = lambda p: jnp.sum(fn(p, x) * weights(expected.shape))  # noqa: E731
    wanted = by_chain(jax.jit(jax.grad(loss))(params), prefix)
    found = gradients(model, (x,), backend, compiled)
    assert worst_gradient(found, wanted) <= GRADIENTS


def test_statistics_are_buffers():
    _, _, (converted, args), _ = source("linen batch norm")
    model = convert.from_jax(converted, args, to="numpy")
    assert sorted(model.graph.buffers) == [
        "batch_stats/BatchNorm_0/mean",
        "batch_stats/BatchNorm_0/var",
    ]
    _, _, (converted, args), _ = source("nnx batch norm")
    model = convert.from_jax(converted, args, to="numpy")
    assert sorted(model.graph.buffers) == ["norm/mean", "norm/var"]
    assert "batch_norm" in model.to_source()


def test_training_of_nnx_updates_buffers(backend):
    model = NnxBatchNorm(nnx.Rngs(0))  # in training: statistics of the batch, and dropout
    x = normal(4, 6)
    found = convert.from_jax(model, (x,), to=backend)
    found.train()
    out = found(native(x, backend))
    expected = model(x)  # changes itself
    assert worst(out, expected) <= OUTPUTS
    assert worst(found.buffers["norm/mean"], model.norm.mean[...]) <= OUTPUTS
    assert worst(found.buffers["norm/var"], model.norm.var[...]) <= OUTPUTS
    assert worst(found(native(x, backend)), model(x)) <= OUTPUTS  # the next draw of dropout


def test_training_of_linen_returns_statistics(backend):
    module, x = LinenBatchNorm(), normal(4, 6)
    variables = module.init(jax.random.key(0), x)
    key = jax.random.key(3)
    kwargs = {"train": True, "mutable": ["batch_stats"], "rngs": {"dropout": key}}
    expected = module.apply(variables, x, **kwargs)
    model = convert.from_jax(
        lambda v, x, rngs: module.apply(v, x, train=True, mutable=["batch_stats"], rngs=rngs),
        (variables, x, {"dropout": key}),
        to=backend,
    )
    seed = np.asarray(jax.random.key_data(key))
    found = model(native(x, backend), {"dropout": native(seed, backend)})
    assert worst(trellis.tree.leaves(found), jax.tree.leaves(expected)) <= OUTPUTS


def test_open_batch_of_flax(backend):
    fn, params, (converted, args), _ = source("nnx attention")
    dynamic = {"ids": {0: "batch", 1: "length"}}
    model = convert.from_jax(converted, args, to=backend, dynamic=dynamic)
    ids = np.random.default_rng(1).integers(0, 11, size=(3, 7)).astype("int32")
    assert worst(model(native(ids, backend)), fn(params, ids)) <= OUTPUTS
