"""A Trellis model trains in the loops of torch, JAX, flax and Keras as it does in ours."""

import copy
import functools
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import trellis
from oracles import jax, keras, nnx, optax, torch
from trellis import convert, errors, nn
from trellis.convert import semantics
from trellis.convert.finish import finish
from trellis.convert.inputs import Inputs
from trellis.convert.reading import Reading
from trellis.graph import Builder
from trellis.testing import assert_close

STEPS = 16
RATE = 0.05
# Both sides are float32 and the same formulas; what they round differently stays below 1e-5 in
# sixteen steps of a loss that falls from 4 to 0.1.
CLOSE = {"rtol": 1e-4, "atol": 1e-5}

RNG = np.random.default_rng(0)
X = RNG.normal(size=(16, 4)).astype("float32")
Y = (2 * X[:, :1] - X[:, 1:2] * X[:, 2:3]).astype("float32")


def make(backend="numpy", dropout=0.0):
    """The same numbers whatever the framework."""
    trellis.seed(0)
    with trellis.using_backend(backend):
        return nn.Sequential(
            # Without a bias: before a batch norm its gradient is rounding, which Adam blows up.
            nn.Linear(4, 8, with_bias=False),
            nn.BatchNorm1D(8),
            nn.Tanh(),
            nn.Dropout(dropout),
            nn.Linear(8, 1),
        )


OURS = {
    "momentum": lambda: trellis.optim.SGD(RATE, momentum=0.9),
    "adam": lambda: trellis.optim.Adam(RATE),
}


@functools.cache
def measure(optimizer):
    """Our own loop on NumPy: the losses, and the trained model."""
    model, rule = make(), OURS[optimizer]()
    v, buffers, state, losses = model.v, model.buffers, rule.init(model.v), []
    for _ in range(STEPS):

        def loss_of(v):
            output, new = model.apply(v, buffers, X)
            return trellis.mean((output - Y) ** 2), new

        (loss, buffers), grads = trellis.value_and_grad(loss_of, has_aux=True)(v)
        v, state = rule.update(v, grads, state)
        losses.append(float(loss))
    assert losses[-1] < 0.3 * losses[0], "nothing was learned"
    model.v, model.buffers = v, buffers
    return np.array(losses), model


def check(losses, trained, optimizer, backend):
    """The curve, and what has been learned, back in a Trellis model."""
    expected, model = measure(optimizer)
    np.testing.assert_allclose(losses, expected, **CLOSE)
    # Adam divides by roots of small gradients: weights may differ ten times more than losses.
    assert_close(trained.v, model.v, rtol=1e-3, atol=1e-4, backend=backend)
    assert_close(trained.buffers, model.buffers, rtol=1e-3, atol=1e-4, backend=backend)


# torch --------------------------------------------------------------------------------------------


def torch_losses(module, call, optimizer):
    rule = {
        "momentum": lambda p: torch.optim.SGD(p, RATE, momentum=0.9),
        "adam": lambda p: torch.optim.Adam(p, RATE),
    }[optimizer](module.parameters())
    x, y, losses = torch.as_tensor(X), torch.as_tensor(Y), []
    for _ in range(STEPS):
        rule.zero_grad()
        loss = torch.mean((call(x) - y) ** 2)
        loss.backward()
        rule.step()
        losses.append(float(loss.detach()))
    return losses


@pytest.mark.parametrize("optimizer", OURS)
def test_torch_curve(backend, optimizer):
    """Also from another framework, to which the trained model goes back."""
    kind = torch.nn.Module
    model = make(backend)
    before = model.v
    module = convert.as_torch_module(model)
    assert isinstance(module, kind)
    losses = torch_losses(module, module, optimizer)
    check(losses, module.to_trellis(), optimizer, backend)
    assert_close(model.v, trellis.tree.map(trellis.to_numpy, make("numpy").v), rtol=0, atol=0)
    assert model.v is before


@pytest.mark.needs("torch")
def test_torch_compile():
    torch._dynamo.reset()
    module = convert.as_torch_module(make())
    compiled = torch.compile(module, backend="eager", fullgraph=True)
    check(torch_losses(module, compiled, "adam"), module.to_trellis("torch"), "adam", "torch")


@pytest.mark.needs("torch")
def test_torch_names_states_and_copies():
    module = convert.as_torch_module(make())
    chains = ["layers/v0/w", "layers/v1/b", "layers/v1/w", "layers/v4/b", "layers/v4/w"]
    assert [name for name, _ in module.named_parameters()] == chains
    kept = ["layers/v1/mean", "layers/v1/var"]
    assert [name for name, _ in module.named_buffers()] == kept
    assert list(module.state_dict()) == chains + kept
    assert all(type(p) is torch.nn.Parameter and p.is_leaf for p in module.parameters())
    assert "Linear(8, 1)" in repr(module)
    x = torch.as_tensor(X)
    twin = copy.deepcopy(module)
    module(x)  # statistics move on
    assert not torch.equal(module.get_buffer(kept[0]), twin.get_buffer(kept[0]))
    again = convert.as_torch_module(make())
    again.load_state_dict(module.state_dict())
    assert torch.equal(module.eval()(x), again.eval()(x))
    # What is inside a larger module behaves as part of it.
    outer = torch.nn.Sequential(torch.nn.Linear(4, 4), module).train()
    assert module.training
    outer.eval()
    assert not module.training and module.to_trellis().training is False
    assert torch.equal(outer(x), outer(x))
    assert "1.layers/v0/w" in outer.state_dict()
    swapped = {name: torch.zeros_like(p) for name, p in module.named_parameters()}
    assert torch.func.functional_call(module, swapped, (x,)).abs().max() == 0


@pytest.mark.needs("torch")
def test_torch_dropout_draws_from_torch():
    x = torch.as_tensor(X)
    module = convert.as_torch_module(make(dropout=0.5))
    torch._dynamo.reset()
    compiled = torch.compile(module, backend="eager", fullgraph=True)
    for call in (module, compiled):
        torch.manual_seed(3)
        first, second = call(x), call(x)
        torch.manual_seed(3)
        assert torch.equal(call(x), first)
        assert not torch.equal(first, second)
    torch.manual_seed(3)
    eagerly = module(x)
    torch.manual_seed(3)
    assert_close(compiled(x).detach(), eagerly.detach())
    # A key of the caller's own decides instead.
    with trellis.random.stream(trellis.random.key(1)):
        mine = module(x).detach()
    model = make(dropout=0.5)
    with trellis.random.stream(trellis.random.key(1)):
        expected = model(X)
    assert_close(mine, expected, rtol=1e-4, atol=1e-5)
    # Where nothing is dropped, torch's generator is left alone.
    state = torch.get_rng_state()
    module.eval()(x)
    convert.as_torch_module(make())(x)
    assert torch.equal(torch.get_rng_state(), state)


@pytest.mark.needs("torch")
def test_torch_buffers_may_be_used_and_written():
    """What the backward pass needs is not overwritten by the forward pass."""

    class Running(trellis.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("scale", np.array([2.0], "float32"))

        def _forward(self, x):
            scale = self.buffers.scale
            self.register_buffer("scale", scale + 1)
            return x * scale

    module = convert.as_torch_module(Running())
    x = torch.ones(3, requires_grad=True)
    module(x).sum().backward()
    assert_close(x.grad, np.full(3, 2.0, "float32"))
    assert_close(module.scale, np.array([3.0], "float32"))


PARALLEL = """
import sys, numpy as np, torch, torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from trellis import convert, nn
import trellis

def work(rank, folder):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{folder}/meet", rank=rank, world_size=2)
    trellis.seed(rank)  # the two begin with other weights and statistics: those of rank 0 count
    model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1), nn.BatchNorm1D(1))
    module = DistributedDataParallel(convert.as_torch_module(model))
    data = np.load(f"{folder}/data.npz")
    x, y = [torch.as_tensor(data[name])[rank * 8 : rank * 8 + 8] for name in ("x", "y")]
    rule = torch.optim.SGD(module.parameters(), 0.05)
    module.module.eval()  # means over all elements alike: each half has its own batch otherwise
    for _ in range(4):
        rule.zero_grad()
        torch.mean((module(x) - y) ** 2).backward()
        rule.step()
    module.train()(x), module(x)
    state = module.module.state_dict()
    np.savez(f"{folder}/{rank}.npz", **{name: x.numpy() for name, x in state.items()})
    dist.destroy_process_group()

work(int(sys.argv[1]), sys.argv[2])
"""


@pytest.mark.needs("torch")
def test_torch_two_processes(tmp_path):
    """DistributedDataParallel, each process with half of the data: as one process with all."""
    np.savez(tmp_path / "data.npz", x=X, y=Y)
    (tmp_path / "program.py").write_text(PARALLEL)
    both = [
        subprocess.Popen(
            [sys.executable, str(tmp_path / "program.py"), rank, str(tmp_path)],
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in "01"
    ]
    for process in both:
        _, said = process.communicate(timeout=300)
        assert process.returncode == 0, said[-2000:]
    trellis.seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1), nn.BatchNorm1D(1)).eval()
    for _ in range(4):
        grads = trellis.grad(lambda v: trellis.mean((model(X, v=v) - Y) ** 2))(model.v)
        model.v = trellis.tree.map(lambda p, g: p - np.float32(0.05) * g, model.v, grads)
    found = [dict(np.load(tmp_path / f"{rank}.npz")) for rank in (0, 1)]
    for chain in model.v.key_chains():
        # Two halves are summed instead of one whole.
        assert_close(found[0][chain], model.v[chain], rtol=1e-5, atol=1e-6)
        assert_close(found[1][chain], found[0][chain], rtol=0, atol=0)
    # Statistics are those of rank 0 before each step, and of its own batch after it.
    assert not np.array_equal(found[0]["layers/v3/mean"], np.zeros(1))


# JAX ----------------------------------------------------------------------------------------------


def optax_rule(optimizer):
    return optax.sgd(RATE, momentum=0.9) if optimizer == "momentum" else optax.adam(RATE)


@pytest.mark.parametrize("optimizer", OURS)
def test_jax_curve(backend, optimizer):
    rule = optax_rule(optimizer)
    params, fn = convert.as_jax(make(backend))
    assert type(params) is dict and type(params["layers"]["v0"]) is dict
    buffers, state, losses = fn.buffers, rule.init(params), []

    @jax.jit
    def step(params, buffers, state):
        def loss_of(params):
            output, new = fn(params, X, buffers=buffers)
            return ((output - Y) ** 2).mean(), new

        (loss, new), grads = jax.value_and_grad(loss_of, has_aux=True)(params)
        updates, state = rule.update(grads, state, params)
        return optax.apply_updates(params, updates), new, state, loss

    for _ in range(STEPS):
        params, buffers, state, loss = step(params, buffers, state)
        losses.append(float(loss))
    check(losses, fn.to_trellis(params, buffers=buffers), optimizer, backend)


@pytest.mark.needs("jax")
def test_jax_buffers_keys_and_modes():
    params, fn = convert.as_jax(make(dropout=0.5))
    with pytest.raises(errors.ArgumentError, match="y, buffers = fn"):
        fn(params, X, key=jax.random.key(0))
    with pytest.raises(errors.TracingError, match="draw without a seed"):
        jax.jit(lambda p, b: fn(p, X, buffers=b))(params, fn.buffers)
    call = jax.jit(lambda p, b, key: fn(p, X, buffers=b, key=key)[0])
    first, again, other = [call(params, fn.buffers, jax.random.key(i)) for i in (0, 0, 1)]
    assert (first == again).all() and not (first == other).all()
    evaluated = fn(params, X, training=False)
    assert_close(evaluated, make().eval()(X), rtol=1e-5, atol=1e-6, backend="jax")
    assert fn.to_trellis(params).training is True
    with pytest.raises(errors.PrecisionError, match="silently narrow"):
        fn(params, X.astype("float64"), training=False)


# flax ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("optimizer", OURS)
def test_flax_curve(backend, optimizer):
    kind = nnx.Module
    module = convert.as_flax(make(backend))
    assert isinstance(module, kind)
    rule, losses = nnx.Optimizer(module, optax_rule(optimizer), wrt=nnx.Param), []

    @nnx.jit
    def step(module, rule):
        loss, grads = nnx.value_and_grad(lambda module: ((module(X) - Y) ** 2).mean())(module)
        rule.update(module, grads)
        return loss

    for _ in range(STEPS):
        losses.append(float(step(module, rule)))
    check(losses, module.to_trellis(), optimizer, backend)


@pytest.mark.needs("jax")
def test_flax_states_modes_and_draws():
    module = convert.as_flax(make(dropout=0.5), rngs=nnx.Rngs(0))
    graph, params, statistics, rest = nnx.split(module, nnx.Param, nnx.BatchStat, ...)
    assert params["v"]["layers"]["v0"]["w"].shape == (8, 4)
    assert list(statistics["buffers"]["layers"]["v1"]) == ["mean", "var"]
    merged = nnx.merge(graph, params, statistics, rest)
    draw = nnx.jit(lambda module: module(X))
    first, second = draw(merged), draw(merged)
    assert not (first == second).all()
    again = convert.as_flax(make(dropout=0.5), rngs=nnx.Rngs(0))
    assert (draw(again) == first).all()
    fresh = convert.as_flax(make(dropout=0.5), rngs=nnx.Rngs(0))
    fresh.eval()
    assert_close(fresh(X), make().eval()(X), rtol=1e-5, atol=1e-6, backend="jax")
    assert fresh.to_trellis().training is False
    fresh.train()
    assert not (fresh(X) == fresh(X)).all()


# Keras --------------------------------------------------------------------------------------------


def keras_losses(layer):
    model = keras.Sequential([keras.Input((4,)), layer])
    model.compile(keras.optimizers.SGD(RATE, momentum=0.9), loss="mse")
    # One batch an epoch: the loss of an epoch is that of its step.
    history = model.fit(X, Y, batch_size=16, epochs=STEPS, shuffle=False, verbose=0)
    return history.history["loss"]


def test_keras_curve(backend):
    kind = keras.layers.Layer
    layer = convert.as_keras_layer(make(backend))
    assert isinstance(layer, kind)
    check(keras_losses(layer), layer.to_trellis(), "momentum", backend)


# Keras asks TensorFlow's variables for copies in a way that NumPy calls old.
@pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")
@pytest.mark.needs("tensorflow")
def test_keras_weights_modes_and_draws(tmp_path):
    layer = convert.as_keras_layer(make(dropout=0.5), seed=3, name="ours")
    names = ["v0__w", "v1__b", "v1__w", "v4__b", "v4__w"]
    assert [w.path for w in layer.trainable_weights] == [f"ours/layers__{name}" for name in names]
    statistics = [w.name for w in layer.non_trainable_weights]
    assert statistics == ["layers__v1__mean", "layers__v1__var"]
    first, second = layer(X, training=True), layer(X, training=True)
    assert not np.array_equal(first, second)
    twin = convert.as_keras_layer(make(dropout=0.5), seed=3)
    assert np.array_equal(twin(X, training=True), first)
    evaluated = make().eval()(X)
    assert_close(twin(X, training=False) * 0 + convert.as_keras_layer(make())(X), evaluated,
                 rtol=1e-5, atol=1e-6, backend="tensorflow")  # fmt: skip
    # In a model with other layers, batches of several sizes, dropout in the compiled step.
    model = keras.Sequential([layer, keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    before = [w.numpy().copy() for w in layer.weights]
    model.fit(X, Y, batch_size=6, epochs=1, verbose=0)
    assert all(not np.array_equal(a, b) for a, b in zip(before, layer.get_weights(), strict=True))
    path = str(tmp_path / "model.weights.h5")
    model.save_weights(path)
    outputs = model.predict(X, verbose=0)
    layer.set_weights(before)
    model.load_weights(path)
    np.testing.assert_array_equal(model.predict(X, verbose=0), outputs)


@pytest.mark.needs("tensorflow")
def test_keras_functional_with_two_inputs():
    with trellis.using_backend("numpy"):
        layer = convert.as_keras_layer(nn.Bilinear(4, 1, 2))
    x, y = keras.Input((4,)), keras.Input((1,))
    model = keras.Model([x, y], keras.layers.ReLU()(layer(x, y)))
    assert model.output_shape == (None, 2)
    expected = np.maximum(layer.to_trellis()(X, Y), 0)
    np.testing.assert_allclose(model.predict([X, Y], verbose=0), expected, **CLOSE)


KERAS_ELSEWHERE = """
import sys
sys.path.insert(0, sys.argv[1])
import keras, test_adapters as t
layer = t.convert.as_keras_layer(t.make())
t.check(t.keras_losses(layer), layer.to_trellis(sys.argv[2]), "momentum", sys.argv[2])
dropping = t.convert.as_keras_layer(t.make(dropout=0.5), seed=3)
model = keras.Sequential([keras.Input((4,)), dropping])
model.compile("sgd", "mse")
model.fit(t.X, t.Y, batch_size=6, epochs=1, verbose=0)
print(keras.backend.backend())
"""


@pytest.mark.parametrize("host", ["jax", "torch"])
@pytest.mark.needs("jax", "torch", "tensorflow")
def test_keras_on_another_backend(host, monkeypatch):
    """Keras chooses when it is imported: in a process of its own."""
    monkeypatch.setenv("KERAS_BACKEND", host)
    here = str(Path(__file__).parent)
    monkeypatch.setenv("PYTHONPATH", str(Path(here).parent), prepend=":")
    command = [sys.executable, "-c", KERAS_ELSEWHERE, here, host]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.stdout.split() == [host], done.stderr[-2000:]


# All of them --------------------------------------------------------------------------------------


def in_torch(model):
    x = torch.as_tensor(X)
    return convert.as_torch_module(model)(x)


def in_jax(model):
    x = jax.numpy.asarray(X)
    params, fn = convert.as_jax(model)
    return fn(params, x)


def in_flax(model):
    assert nnx.Param is not None
    return convert.as_flax(model)(X)


def in_keras(model):
    assert keras.layers is not None
    return convert.as_keras_layer(model)(X)


HOSTS = {"torch": in_torch, "jax": in_jax, "flax": in_flax, "keras": in_keras}
FRAMEWORKS = {"flax": "jax", "keras": "tensorflow"}


def converted(backend):
    """A converted model keeps constants beside its variables."""
    g = Builder(semantics)
    x = g.input("x", ("batch", 4), "float32")
    y = g.F.linear(x, g.variable("encoder/w", (3, 4), "float32"))
    y = g.t.add(y, g.constant(np.arange(3.0, dtype="float32")))
    g.graph.outputs = g.t.add(y, g.buffer("shift", (3,), "float32"))
    reading = Reading(
        name="Tiny",
        source="PyTorch",
        graph=g.graph,
        inputs=Inputs(("x",), ((("x",), x),), ()),
        variables={"encoder/w": np.ones((3, 4), "float32")},
        buffers={"shift": np.full(3, 5.0, "float32")},
        example=[X],
        aliases={"head/w": "encoder/w"},
    )
    return finish(reading, to=backend, with_verification=False)


@pytest.mark.parametrize("host", HOSTS)
def test_converted_models_are_moved(backend, host):
    model = converted(backend)
    assert_close(model.v["encoder/w"], np.ones((3, 4), "float32"), backend=backend)
    y = HOSTS[host](model)
    expected = X.sum(axis=1, keepdims=True) + np.arange(3, dtype="float32") + 5
    assert_close(y, expected.astype("float32"), backend=FRAMEWORKS.get(host, host))


@pytest.mark.needs("torch")
def test_weights_of_converted_models():
    """Names and layouts of the source, and both names of what is shared."""
    model = converted("numpy")
    found = convert.state_dict(model)
    assert list(found) == ["encoder.w", "shift", "head.w"]
    assert found["head.w"].shape == (3, 4)
    changed = {name: x + 1 for name, x in found.items()}
    assert convert.load_torch_weights(model, changed).is_complete
    assert_close(model.v["encoder/w"], np.full((3, 4), 2.0, "float32"))
    with pytest.raises(errors.ArgumentError, match="are one array here"):
        convert.load_torch_weights(model, {**changed, "head.w": changed["head.w"] + 1})


@pytest.mark.needs("torch", "jax")
def test_weights_go_back_into_torch():
    """From torch to JAX, changed there, and back; with one array under two names."""

    class Tied(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.embedding = torch.nn.Embedding(7, 4)
            self.norm = torch.nn.BatchNorm1d(4)
            self.head = torch.nn.Linear(4, 7, bias=False)
            self.head.weight = self.embedding.weight

        def forward(self, ids):
            return self.head(torch.tanh(self.norm(self.embedding(ids))))

    ids = np.array([1, 2, 3], "int32")
    model = convert.from_torch(Tied().eval(), args=(torch.as_tensor(ids),), to="jax")
    model.v = trellis.tree.map(lambda x: 1.5 * x + 0.1, model.v)
    model.buffers = {
        **model.buffers,
        "norm": {**model.buffers.norm, "running_mean": model.v["norm/bias"]},
    }
    again = Tied().eval()
    again.load_state_dict(convert.state_dict(model))
    expected = again(torch.as_tensor(ids)).detach().numpy()
    assert_close(model(jax.numpy.asarray(ids)), expected, rtol=1e-5, atol=1e-6, backend="jax")
    # And through the adapter, which counts its batches with the integers that it has.
    module = convert.as_torch_module(model)
    assert_close(module(torch.as_tensor(ids)).detach(), expected, rtol=1e-5, atol=1e-6)
    wide = convert.from_torch(Tied().eval(), args=(torch.as_tensor(ids),), to="torch")
    params, fn = convert.as_jax(wide)
    assert fn.buffers["norm"]["num_batches_tracked"].dtype == "int32"
    counted = fn.to_trellis(params).buffers["norm/num_batches_tracked"]
    assert counted.dtype == torch.int64


class WithTable(trellis.Module):
    """Arrays in plain attributes, one of them in a list."""

    def __init__(self, backend):
        self._linear = nn.Linear(4, 3, backend=backend)
        self.table = trellis.asarray(np.full(3, 2.0, "float32"), backend=backend)
        self.kind = np.float32  # has the attributes of an array, and is none
        self.more = [trellis.asarray(np.full(3, 3.0, "float32"), backend=backend)]
        super().__init__(backend=backend)

    def _forward(self, x):
        return self._linear(x) * 0 + self.table + self.more[0]


@pytest.mark.parametrize("host", HOSTS)
def test_arrays_in_attributes_are_moved(backend, host):
    model = WithTable(backend)
    assert_close(model.table, np.full(3, 2.0, "float32"), backend=backend)
    y = HOSTS[host](model)
    assert_close(y, np.full((16, 3), 5.0, "float32"), backend=FRAMEWORKS.get(host, host))


@pytest.mark.needs("torch")
def test_constants_move_with_the_module():
    module = convert.as_torch_module(WithTable("numpy")).double()
    y = module(torch.as_tensor(X).double())
    assert_close(y.detach(), np.full((16, 3), 5.0))
    assert trellis.dtype(module.to_trellis().table) == "float64"


class Several(trellis.Module):
    """Names that are also methods of dicts, and a Container in the result."""

    def _create_variables(self, *, device, dtype):
        return {"keys": trellis.ones(4), "items": {"get": trellis.ones(4)}}

    def _forward(self, x, factor=1.0):
        v = self.v
        return trellis.Container(a=x * v["keys"], b=[x * v["items/get"] * factor])


@pytest.mark.parametrize("host", HOSTS)
def test_names_and_results_of_all_kinds(host):
    with trellis.using_backend("numpy"):
        result = HOSTS[host](Several())
    assert_close(result["a"], X, backend=FRAMEWORKS.get(host, host))
    assert_close(result["b"][0], X, backend=FRAMEWORKS.get(host, host))


class Late(trellis.Module):
    def _forward(self, x):
        self.register_buffer("seen", trellis.ones_like(x))
        return x


@pytest.mark.needs("torch")
def test_a_buffer_that_comes_late():
    with pytest.raises(errors.ArgumentError, match="call the model once before"):
        convert.as_torch_module(Late())(torch.as_tensor(X))
    late = Late()
    late(X)
    module = convert.as_torch_module(late)
    module(torch.as_tensor(X))
    assert [name for name, _ in module.named_buffers()] == ["seen"]


@pytest.mark.needs("torch")
def test_a_part_of_a_model_goes_alone():
    whole = make()
    part = convert.as_torch_module(whole[0])
    assert [name for name, _ in part.named_parameters()] == ["w"]
    assert_close(part(torch.as_tensor(X)).detach(), whole[0](X), rtol=1e-5, atol=1e-6)


@pytest.mark.needs("torch", "jax", "tensorflow")
def test_what_cannot_be_adapted(monkeypatch):
    for make_it in (
        convert.as_torch_module, convert.as_jax, convert.as_flax, convert.as_keras_layer
    ):  # fmt: skip
        with pytest.raises(errors.ArgumentTypeError, match="a Trellis module"):
            make_it(lambda x: x)
        with pytest.raises(errors.ArgumentError, match="call build"):
            make_it(nn.Linear(2, 2, build_mode="on_call"))

    class Dotted(trellis.Module):
        def _create_variables(self, *, device, dtype):
            return {"a.b": trellis.zeros(2)}

    with pytest.raises(errors.ArgumentError, match="has a dot"):
        convert.as_torch_module(Dotted())
    monkeypatch.setattr("trellis.convert.adapters.find_spec", lambda name: None)
    for make_it, package in ((convert.as_flax, "flax"), (convert.as_keras_layer, "keras")):
        with pytest.raises(errors.BackendNotInstalledError, match=f"pip install {package}"):
            make_it(make())
