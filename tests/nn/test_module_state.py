"""Modules beyond the rows: building, buffers, modes, saving and loading, tables and pictures."""

import copy
import inspect
import json
import pickle
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

import trellis
from conftest import compile_with
from trellis import Container, errors
from trellis.conformance.example_modules import (
    DoubleLinear,
    ListNet,
    Nested,
    NoneAttr,
    SharedWeight,
    TanhNet,
    inputs,
    nonzero_everywhere,
    train,
    zeros_everywhere,
)
from trellis.nn import Linear
from trellis.testing import assert_close


@pytest.fixture(autouse=True)
def _default_backend(request):
    if "backend" not in request.fixturenames:
        yield
        return
    with trellis.using_backend(request.getfixturevalue("backend")):
        trellis.seed(0)
        yield


class Running(trellis.Module):
    """Keeps a running mean of what it sees."""

    def __init__(self, n, **options):
        self._n = n
        super().__init__(**options)

    def _build(self):
        self.register_buffer("mean", trellis.zeros((self._n,)))

    def _create_variables(self, *, device, dtype):
        return {"scale": trellis.ones((self._n,), dtype=dtype, device=device)}

    def _forward(self, x):
        if self.training:
            self.register_buffer("mean", 0.5 * self.buffers.mean + 0.5 * trellis.mean(x, axis=0))
        return x * self.v.scale - self.buffers.mean


class Pair(trellis.Module):
    def __init__(self, **options):
        self._linear = Linear(2, 2)
        self._running = Running(2)
        self._drop = [NoneAttr()]
        super().__init__(**options)

    def _forward(self, x):
        return self._running(self._linear(x))


# Building
# ------------------------------------------------------------------------------------------------


def test_attributes_after_the_build(backend):
    module = TanhNet(2, 2, 3)
    before = {chain: module.v[chain] for chain in module.v.key_chains()}
    module._extra = [Linear(2, 2)]
    assert "extra/v0/w" in module.v
    assert all(module.v[chain] is leaf for chain, leaf in before.items())
    assert module._linear0.v is module.v.linear0
    assert module._extra[0].mod_depth() == 1
    old = module._linear1
    module._linear1 = Linear(3, 3)
    assert module._linear1.v is module.v.linear1
    assert old.mod_depth() == 0
    assert old.v.w is before["linear1/w"]
    module._extra = None
    assert "extra" not in module.v
    module._linear0.more = Linear(1, 1)
    assert "linear0/more/w" in module.v
    assert module._linear0.more.top_mod() is module
    with pytest.raises(errors.ArgumentError, match="linear2"):
        module.linear2 = Linear(2, 2)
    assert module(inputs(backend, 2)).shape == (1, 2, 2)


def test_children_that_build_at_the_first_call(backend):
    class Lazy(trellis.Module):
        def _build(self):
            self._first = ListNet(4, 3, 2, build_mode="on_call")
            return False

        def _forward(self, x):
            if not hasattr(self, "_second"):
                self._second = Linear(3, 2)
            return self._second(self._first(x))

    module = Lazy(build_mode="on_call")
    x = inputs(backend, 4)
    module(x)
    assert module.built
    assert module._first.built
    chains = [f"first/layers/v{i}/{leaf}" for i in range(3) for leaf in "bw"]
    assert module.v.key_chains() == [*chains, "second/b", "second/w"]
    assert module._first.v is module.v.first
    assert nonzero_everywhere(train(module, x, 1)[1])

    # The same without being told: a child joins when it builds.
    class Plain(trellis.Module):
        def __init__(self):
            self._first = ListNet(4, 3, 2, build_mode="on_call")
            super().__init__()

        def _forward(self, x):
            return self._first(x)

    module = Plain()
    assert module.v.key_chains() == []
    module(x)
    assert module.v.key_chains() == chains
    assert module._first._layers[0].v is module.v.first.layers.v0

    class Explicit(trellis.Module):
        def __init__(self):
            self._first = ListNet(4, 3, 2, build_mode="explicit")
            super().__init__(build_mode="explicit")

    module = Explicit()
    assert not module._first.built
    assert module.build().key_chains() == chains
    assert module._first.built


def test_the_first_call_decides_backend_and_dtype(backend, x64):
    with x64(), trellis.using_backend("numpy"):
        module = ListNet(2, 2, 3, build_mode="on_call")
        y = module(inputs(backend, 2, dtype="float64"))
        assert trellis.dtype(y) == "float64"
        assert {trellis.backend_of(leaf) for leaf in trellis.tree.leaves(module.v)} == {backend}
        assert {trellis.dtype(leaf) for leaf in trellis.tree.leaves(module.v)} == {"float64"}


def test_children_take_over_backend_and_dtype(backend, x64):
    with x64(), trellis.using_backend("numpy"):
        module = Nested(3, 2, backend=backend, dtype="float64", device=None)
        leaves = trellis.tree.leaves(module.v)
        assert {trellis.backend_of(leaf) for leaf in leaves} == {backend}
        assert {trellis.dtype(leaf) for leaf in leaves} == {"float64"}


def test_store_vars(backend):
    module = DoubleLinear(2, 2, 2, store_vars=False, build_mode="explicit")
    v = module.build()
    assert v.key_chains() == ["l0/b", "l0/w", "l1/b", "l1/w"]
    x = inputs(backend, 2)
    with pytest.raises(errors.ArgumentError, match="store_vars"):
        module(x)
    with pytest.raises(errors.ArgumentError, match="store_vars"):
        _ = module.v
    assert tuple(module(x, v=v).shape) == (1, 2, 2)
    assert nonzero_everywhere(trellis.grad(lambda v: trellis.mean(module(x, v=v)))(v))
    with pytest.raises(errors.ArgumentError):
        DoubleLinear(2, 2, 2, store_vars=False)(x)


def test_a_module_under_two_parents(backend):
    shared = Linear(2, 2)

    class Holder(trellis.Module):
        def __init__(self, layer):
            self._layer = layer
            super().__init__()

        def _forward(self, x):
            return self._layer(x)

    first, second = Holder(shared), Holder(shared)
    x = inputs(backend, 2)
    zeros = trellis.tree.map(trellis.zeros_like, second.v)
    assert second.v.key_chains() == ["layer/b", "layer/w"]
    assert zeros_everywhere(second(x, v=zeros))
    assert not zeros_everywhere(first(x))

    class Both(trellis.Module):
        def __init__(self):
            self._a, self._b = first, second
            super().__init__()

        def _forward(self, x):
            return self._b(self._a(x))

    both = Both()
    assert both.v.key_chains() == ["a/layer/b", "a/layer/w"]
    loss = lambda v: trellis.mean(both(x, v=v))  # noqa: E731
    assert nonzero_everywhere(trellis.grad(loss)(both.v))
    w = trellis.to_numpy(both.v.a.layer.w)
    want = trellis.to_numpy(x) @ w.T @ w.T
    assert_close(both(x), want, rtol=1e-5)


def test_objects_and_cycles_are_walked():
    class Config:
        def __init__(self):
            self._inner = Linear(2, 2)
            self.dtype = "float32"

    class Holder(trellis.Module):
        def __init__(self):
            self._config = Config()
            self.me = self
            super().__init__()

    module = Holder()
    assert module.v.key_chains() == ["config/inner/b", "config/inner/w"]
    assert list(module.sub_mods()) == ["config_inner"]
    child = module._config._inner
    child.parent = module
    assert module.mod_height() == 1


def test_unknown_options_and_missing_forward():
    with pytest.raises(errors.ArgumentTypeError, match="with_bais"):
        Linear(2, 2, with_bais=False)

    class Empty(trellis.Module):
        pass

    with pytest.raises(NotImplementedError, match="_forward"):
        Empty()(np.ones(2))
    with pytest.raises(TypeError, match="Container"):
        Linear(2, 2).v = 3


def test_copies():
    module = SharedWeight(2)
    for twin in (copy.deepcopy(module), pickle.loads(pickle.dumps(module))):
        assert twin.v.key_chains() == module.v.key_chains()
        assert twin.v.linear0.w is not module.v.linear0.w
        assert twin._linear1.v.w is twin.v.linear0.w
        np.testing.assert_array_equal(
            twin(np.ones((1, 2), "float32")), module(np.ones((1, 2), "float32"))
        )


def twins(x):
    return copy.deepcopy(x), pickle.loads(pickle.dumps(x))


def test_copies_on_each_framework(backend):
    module = Pair()
    x = inputs(backend, 2, (2, 2))[0]
    module(x)
    for twin in twins(module):
        assert_close(twin.state_dict(), trellis.tree.map(trellis.to_numpy, module.state_dict()))
        assert twin._linear.v is twin.v.linear
        assert twin._running.buffers is twin.buffers.running
        before = trellis.to_numpy(module.v.linear.w).copy()
        train(twin, x, 2)
        np.testing.assert_array_equal(trellis.to_numpy(module.v.linear.w), before)
        assert_close(twin.eval()(x), trellis.to_numpy(twin(x)))


# What a class needs to be made; the others are made without arguments.
ARGUMENTS = {
    "Checkpoint": (trellis.nn.Linear(2, 2),),
    "Linear": (2, 3), "Bilinear": (2, 3, 4), "Embedding": (5, 3), "PReLU": (),
    "Conv1D": (2, 3, 3, 1, "SAME"), "Conv2D": (2, 3, 3, 1, "SAME"), "Conv3D": (2, 3, 3, 1, "SAME"),
    "Conv1DTranspose": (2, 3, 3, 1, "SAME"), "Conv2DTranspose": (2, 3, 3, 1, "SAME"),
    "Conv3DTranspose": (2, 3, 3, 1, "SAME"), "DepthwiseConv2D": (2, 3, 1, "SAME"),
    "SeparableConv2D": (2, 3, 3, 1, "SAME"), "BatchNorm1D": (2,), "BatchNorm2D": (2,),
    "BatchNorm3D": (2,), "InstanceNorm1D": (2,), "InstanceNorm2D": (2,), "InstanceNorm3D": (2,),
    "LayerNorm": (2,), "RMSNorm": (2,), "GroupNorm": (2, 4), "RNN": (2, 3), "LSTM": (2, 3),
    "GRU": (2, 3), "Dropout": (0.5,), "Dropout1D": (0.5,), "Dropout2D": (0.5,), "Dropout3D": (0.5,),
    "AlphaDropout": (0.5,), "DropPath": (0.5,), "MultiHeadAttention": (4,),
    "TransformerEncoderLayer": (4, 2, 8),
    "TransformerDecoderLayer": (4, 2, 8), "SpectralNorm": (trellis.nn.Linear(2, 3),),
    "WeightNorm": (trellis.nn.Linear(2, 3),),
}  # fmt: skip


def layer_classes():
    found = [getattr(trellis.nn, name) for name in dir(trellis.nn)]
    return [
        cls
        for cls in found
        if isinstance(cls, type) and issubclass(cls, trellis.Module) and cls is not trellis.Module
    ]


def made(cls):
    """A layer of that class, from the arguments above or from small sizes for what it demands."""
    needed = [
        p for p in inspect.signature(cls).parameters.values()
        if p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
    ]  # fmt: skip
    return cls(*ARGUMENTS.get(cls.__name__, tuple([2] * len(needed))))


@pytest.mark.parametrize("cls", layer_classes(), ids=lambda cls: cls.__name__)
def test_layers_and_losses_are_copied(cls):
    layer = made(cls)
    for twin in twins(layer):
        assert type(twin) is cls
        assert repr(twin) == repr(layer)
        assert twin.v.key_chains() == layer.v.key_chains()
        for a, b in zip(trellis.tree.leaves(twin.v), trellis.tree.leaves(layer.v), strict=True):
            assert a is not b
            np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("cls", layer_classes(), ids=lambda cls: cls.__name__)
def test_signatures_can_be_seen(cls):
    """What an editor shows is what the constructor takes, and not what the metaclass passes on."""
    shown = list(inspect.signature(cls).parameters)
    own = [name for name in inspect.signature(cls.__init__).parameters if name != "options"][1:]
    assert shown[: len(own)] == own
    assert "args" not in shown


def test_signatures_of_your_own_modules():
    assert list(inspect.signature(TanhNet).parameters) == ["i", "o", "hidden", "options"]
    assert "build_mode" in inspect.signature(trellis.Module).parameters
    assert "x" in inspect.signature(Linear(2, 2)._forward).parameters


def test_callbacks_are_copied():
    stopping = trellis.train.EarlyStopping(patience=3, mode="max", min_delta=0.5)
    for twin in twins(stopping):
        assert vars(twin) == vars(stopping)
    for twin in twins(trellis.train.History()):
        assert vars(twin) == vars(trellis.train.History())


# Layers of other libraries
# -------------------------------------------------------------------------------


def foreign_layer(backend):
    if backend == "torch":
        import torch

        return torch.nn.Linear(2, 2)
    import tensorflow as tf

    return tf.keras.layers.Dense(2)


LIBRARIES = ("torch", "tensorflow")


@pytest.mark.parametrize("backend", LIBRARIES)
def test_layers_of_other_libraries_are_refused(backend):
    layer = foreign_layer(backend)

    class Config:
        def __init__(self):
            self.inner = layer

    class Mixed(trellis.Module):
        def __init__(self, value):
            self._linear = Linear(2, 2)
            self._value = value
            super().__init__()

    for value in (layer, [layer], {"a": (layer,)}, Config()):
        with pytest.raises(errors.ArgumentTypeError, match=r"value.*never trained"):
            Mixed(value)
        module = Linear(2, 2)
        with pytest.raises(errors.ArgumentTypeError, match="never trained"):
            module.later = value
        assert not hasattr(module, "later")
        assert module.v.key_chains() == ["b", "w"]
    with pytest.raises(errors.ArgumentTypeError, match="layers/v1"):
        trellis.nn.Sequential(Linear(2, 2), layer)
    # As a function it is what it is: not trained.
    assert Mixed(lambda x: layer(x)).v.key_chains() == ["linear/b", "linear/w"]


# Buffers and modes
# ---------------------------------------------------------------------------------------


def test_buffers(backend):
    module = Pair()
    assert module.v.key_chains() == ["linear/b", "linear/w", "running/scale"]
    assert module.buffers.key_chains() == ["running/mean"]
    assert module._running.buffers is module.buffers.running
    x = inputs(backend, 2, (2, 2))[0]
    loss, grads = trellis.execute_with_gradients(lambda v: trellis.mean(module(x, v=v)), module.v)
    assert grads.key_chains() == module.v.key_chains()
    mean = trellis.to_numpy(module.buffers.running.mean)
    want = 0.5 * trellis.to_numpy(module._linear(x)).mean(axis=0)
    np.testing.assert_allclose(mean, want, rtol=1e-5)

    # Given buffers are used, and neither they nor the module's change.
    given = {"running": {"mean": trellis.ones((2,))}}
    module(x, buffers=given)
    assert_close(given["running"]["mean"], np.ones(2, "float32"))
    np.testing.assert_array_equal(trellis.to_numpy(module.buffers.running.mean), mean)
    y, new = module.apply(module.v, given, x)
    np.testing.assert_allclose(trellis.to_numpy(new.running.mean), 0.5 + want, rtol=1e-5)
    assert_close(y, trellis.to_numpy(module._linear(x)) - 0.5 - want, rtol=1e-5)
    module.eval()
    module(x)
    np.testing.assert_array_equal(trellis.to_numpy(module.buffers.running.mean), mean)
    module.buffers = given
    assert module._running.buffers.mean is given["running"]["mean"]
    assert "mean" not in Running(2, buffers={"other": trellis.ones((1,))}).buffers


def test_buffers_under_the_compiler(backend, compiled):
    module = Pair()
    x = inputs(backend, 2, (2, 2))[0]
    want = module.apply(module.v, module.buffers, x)
    fast = compiled(lambda v, buffers, x: module.apply(v, buffers, x))(module.v, module.buffers, x)
    assert_close(fast[0], trellis.to_numpy(want[0]), rtol=1e-5)
    assert_close(fast[1].running.mean, trellis.to_numpy(want[1].running.mean), rtol=1e-5)
    assert zeros_everywhere(module.buffers)

    def step(v, buffers, x):
        def loss(v):
            y, new = module.apply(v, buffers, x)
            return trellis.mean(y * y), new

        (_, new), grads = trellis.value_and_grad(loss, has_aux=True)(v)
        return trellis.gradient_descent_update(v, grads, 0.1), new

    eager, quick = (
        step(module.v, module.buffers, x),
        compile_with(backend, step)(module.v, module.buffers, x),
    )
    assert_close(quick[0], trellis.tree.map(trellis.to_numpy, eager[0]), rtol=1e-5)
    assert_close(quick[1], trellis.tree.map(trellis.to_numpy, eager[1]), rtol=1e-5)
    if backend == "numpy":
        return  # nothing is traced there: the call is an eager one, and may set buffers
    kind = RuntimeError if backend != "torch" else Exception
    with pytest.raises(kind, match="apply"):
        compile_with(backend, lambda v, x: module(x, v=v))(module.v, x)


def test_modes(backend):
    module = Pair()
    assert module.training
    assert module.eval() is module
    parts = [module, module._linear, module._running, module._drop[0]]
    assert [part.training for part in parts] == [False] * 4
    module.train()
    assert [part.training for part in parts] == [True] * 4
    assert [part.training for part in (lambda m: [m, m._linear])(Pair(training=False))] == [
        False,
        False,
    ]
    module._running.eval()
    assert module.training
    assert not module._running.training


def test_to_device(backend):
    module = Pair()
    device = trellis.device(module.v.linear.w)
    assert module.to_device(device) is module
    assert trellis.device(module.buffers.running.mean) == device


def test_grads_can_be_stopped_for_a_child(backend):
    class Frozen(trellis.Module):
        def __init__(self):
            self._a, self._b = Linear(2, 2), Linear(2, 2)
            super().__init__()

        def _forward(self, x):
            with trellis.no_grads():
                x = self._a(x)
            return self._b(x)

    module = Frozen()
    grads = trellis.grad(lambda v: trellis.mean(module(inputs(backend, 2), v=v)))(module.v)
    assert zeros_everywhere(grads.a)
    assert nonzero_everywhere(grads.b)


# Files
# --------------------------------------------------------------------------------------------------


def test_state_dict():
    module = Pair()
    assert module.state_dict().key_chains() == [
        "linear/b",
        "linear/w",
        "running/mean",
        "running/scale",
    ]
    module._running.register_buffer("scale", np.ones(2))
    with pytest.raises(errors.ArgumentError, match="scale"):
        module.state_dict()


def test_weights_round_trip(backend, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    x = inputs(backend, 2, (2, 2))[0]
    for path in ("weights.safetensors", tmp_path / "deep" / "er" / "weights.safetensors"):
        first, second = Pair(), Pair()
        train(first, x, 2)
        first.save_weights(path)
        second.load_weights(path)
        assert_close(second.v, trellis.tree.map(trellis.to_numpy, first.v), rtol=0, atol=0)
        assert_close(
            second.buffers, trellis.tree.map(trellis.to_numpy, first.buffers), rtol=0, atol=0
        )
        assert {trellis.backend_of(leaf) for leaf in trellis.tree.leaves(second.v)} == {backend}
        losses = [train(module, x, 1)[0][0] for module in (first, second)]
        assert float(losses[0]) == float(losses[1])
        assert_close(second.v, trellis.tree.map(trellis.to_numpy, first.v), rtol=0, atol=0)
    # Nothing else stays in the directory.
    assert sorted(p.name for p in tmp_path.iterdir()) == ["deep", "weights.safetensors"]
    numpy_one = Pair(backend="numpy")
    numpy_one.load_weights("weights.safetensors")
    assert trellis.backend_of(numpy_one.v.linear.w) == "numpy"
    shared = SharedWeight(2)
    shared.save_weights("shared")
    other = SharedWeight(2)
    other.load_weights("shared")
    assert other._linear1.v.w is other.v.linear0.w


def test_weights_that_do_not_fit(tmp_path):
    path = tmp_path / "weights"
    Pair().save_weights(path)
    header = json.loads(path.read_bytes()[8 : 8 + int.from_bytes(path.read_bytes()[:8], "little")])
    assert header["__metadata__"]["module"] == "Pair"
    module = TanhNet(2, 2, 3)
    before = module.v
    with pytest.raises(errors.ShapeError) as caught:
        module.load_weights(path)
    for text in ("'linear0/b' is missing", "'running/mean' of the file is unknown"):
        assert text in str(caught.value)
    assert module.v is before
    Linear(2, 3).save_weights(path)
    with pytest.raises(errors.ShapeError, match=r"\(3, 2\) in the file, \(2, 2\) here"):
        Linear(2, 2).load_weights(path)
    with pytest.raises(errors.ShapeError, match="float32 in the file, float64 here"):
        Linear(2, 3, dtype="float64").load_weights(path)
    with pytest.raises(errors.ArgumentError, match="build"):
        ListNet(2, 2, 2, build_mode="explicit").load_weights(path)
    good = path.read_bytes()
    for bad in (
        good[:-5],
        good[: len(good) // 2],
        b"",
        b"nonsense" * 10,
        good[:-1] + bytes([good[-1] ^ 1]),
    ):
        path.write_bytes(bad)
        with pytest.raises(errors.ArgumentError, match="damaged"):
            Linear(2, 3).load_weights(path)


def test_a_failed_save_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "weights"
    Linear(2, 3).save_weights(path)
    good = path.read_bytes()

    def fail(*_):
        raise OSError("the disk is full")

    monkeypatch.setattr("os.fsync", fail)
    with pytest.raises(OSError, match="full"):
        Linear(2, 3).save_weights(path)
    assert path.read_bytes() == good
    assert [p.name for p in tmp_path.iterdir()] == ["weights"]


# In words and pictures
# -----------------------------------------------------------------------------------


def test_repr_summary_and_drawing(backend, tmp_path):
    module = Nested(3, 2)
    assert repr(module).splitlines()[:3] == [
        "Nested(",
        "  (dl0): DoubleLinear(",
        "    (l0): Linear(3, 2)",
    ]
    table = module.summary((5, 3)).splitlines()
    assert table[0].split() == ["module", "class", "output", "parameters", "memory"]
    assert table[4].split() == ["dl0/l0", "Linear", "(5,", "2)", "8", "32", "B"]
    assert table[-1] == "26 parameters, 104 B; buffers 0 B"
    assert module.count_parameters() == 26
    assert module.training
    assert list(module.submod_rets) == []
    assert "output" not in module.summary()
    pair = Pair()
    mean = pair.buffers.running.mean
    pair.summary((2, 2))
    assert pair.buffers.running.mean is mean
    picture = module.draw(tmp_path / "tree.svg")
    assert (tmp_path / "tree.svg").read_text() == picture
    root = ElementTree.fromstring(picture)
    texts = [element.text for element in root.iter("{http://www.w3.org/2000/svg}text")]
    assert len(texts) == 7
    assert texts[2] == "l0: Linear(3, 2)  8"


def test_containers_of_variables_pass_through(backend):
    """A dict does as well as a Container, and neither is changed by a call."""
    module = TanhNet(2, 2, 3)
    plain = {name: dict(part) for name, part in module.v.items()}
    before = Container(plain).key_chains()
    assert_close(module(inputs(backend, 2), v=plain), trellis.to_numpy(module(inputs(backend, 2))))
    assert Container(plain).key_chains() == before
    assert type(plain) is dict
