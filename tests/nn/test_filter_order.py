"""How the filters of convolutions lie in memory on torch: nothing has to copy them.

The shape that a user sees is the same on every backend; what is counted here is what torch does.
"""

import numpy as np
import pytest

import trellis
from trellis import nn, optim, train
from trellis.testing import assert_close

LAYERS = {
    "conv1d": lambda how: nn.Conv1D(4, 6, 3, 1, "SAME", data_format=how),
    "conv2d": lambda how: nn.Conv2D(4, 6, 3, 2, 1, data_format=how),
    "conv2d of size 1": lambda how: nn.Conv2D(4, 6, 1, 1, "VALID", data_format=how),
    "conv2d in groups": lambda how: nn.Conv2D(4, 6, 3, 1, 1, data_format=how, groups=2),
    "conv3d": lambda how: nn.Conv3D(4, 6, 3, 1, 1, data_format=how),
    "depthwise": lambda how: nn.DepthwiseConv2D(4, 3, 1, 1, data_format=how),
    "transposed": lambda how: nn.Conv2DTranspose(4, 6, 3, 2, "SAME", data_format=how),
}
FORMATS = ("channel_first", "channel_last")
COPIES = ("aten.clone", "aten.copy_", "aten._to_copy", "aten.contiguous")


def data(layer, how):
    sizes = (8,) * layer.dims
    shape = (2, 4, *sizes) if how == "channel_first" else (2, *sizes, 4)
    x = np.random.default_rng(0).standard_normal(shape).astype("float32")
    return trellis.to_backend(x, "torch")


def gradients(layer, x):
    return trellis.grad(lambda v: trellis.sum(layer(x, v=v) ** 2))(layer.v)


def made(name, how):
    trellis.seed(0)
    with trellis.using_backend("torch"):
        layer = LAYERS[name](how)
    return layer, data(layer, how)


@pytest.mark.parametrize("how", FORMATS)
@pytest.mark.parametrize("name", list(LAYERS))
def test_nothing_is_copied_in_a_step(name, how):
    from torch.utils._python_dispatch import TorchDispatchMode

    class Copies(TorchDispatchMode):
        found = ()

        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            if str(function).startswith(COPIES):
                self.found = (*self.found, str(function))
            return function(*args, **(kwargs or {}))

    layer, x = made(name, how)
    optimizer = optim.Adam(1e-2)
    order = {chain: layer.v[chain].stride() for chain in layer.v.key_chains()}
    for _ in range(3):
        with Copies() as copies:
            grads = gradients(layer, x)
        assert copies.found == ()
        with Copies() as copies:
            layer.v = optimizer.step(layer.v, grads)
        # The new weights are the only copies: one for each, or one operation for all.
        assert len([name for name in copies.found if name != "aten._to_copy.default"]) <= len(order)
        for nest in (layer.v, grads, optimizer.state.m, optimizer.state.v):
            assert {chain: nest[chain].stride() for chain in nest.key_chains()} == order


@pytest.mark.parametrize("how", FORMATS)
@pytest.mark.parametrize("name", list(LAYERS))
def test_the_order_changes_no_value(name, how):
    """Filters in NumPy's memory order, which users may pass, give the same results."""
    import torch

    layer, x = made(name, how)
    plain = trellis.tree.map(lambda x: x.clone(memory_format=torch.contiguous_format), layer.v)
    assert plain.w.is_contiguous()
    # Other kernels sum in another order: a few units in the last place of float32.
    assert_close(layer(x, v=plain), layer(x), rtol=1e-5, atol=1e-5)
    grads = gradients(layer, x)
    others = trellis.grad(lambda v: trellis.sum(layer(x, v=v) ** 2))(plain)
    assert_close(others, grads, rtol=1e-4, atol=1e-4)
    # One step on the same gradients, whose order is now another than that of the weights.
    stepped, wanted = optim.Adam(1e-2).step(plain, grads), optim.Adam(1e-2).step(layer.v, grads)
    assert_close(stepped, wanted, rtol=0, atol=0)
    assert stepped.w.is_contiguous()


@pytest.mark.parametrize("name", ["conv1d", "conv2d", "conv3d", "transposed"])
def test_filters_in_transforms(name):
    """Over many filters at once, forward, and twice differentiated: as one after the other."""
    layer, x = made(name, "channel_last")
    w = layer.v.w
    many = trellis.stack([w, 2 * w, w - 1])

    def loss(w):
        return trellis.mean(layer(x, v={**layer.v, "w": w}) ** 2)

    for fn in (
        loss,
        trellis.grad(loss),
        trellis.grad(lambda w: trellis.sum(trellis.grad(loss)(w))),
    ):
        # Batched kernels sum in another order.
        assert_close(trellis.vmap(fn)(many), trellis.stack([fn(w) for w in many]), rtol=1e-4)
    at, slope = trellis.jvp(loss, (w,), (w,))
    assert_close(at, loss(w), rtol=1e-5)
    assert_close(slope, trellis.sum(trellis.grad(loss)(w) * w), rtol=1e-4)


def test_the_first_filters_are_those_of_every_backend(backend):
    for name, make in LAYERS.items():
        for how in FORMATS:
            w = []
            for each in ("numpy", backend):
                trellis.seed(0)
                with trellis.using_backend(each):
                    w.append(trellis.to_numpy(make(how).v.w))
            assert w[0].shape == w[1].shape, name
            # The draws are the same; scaling them rounds in the last place.
            assert_close(w[1], w[0], rtol=1e-6, atol=0)


def test_what_is_loaded_lies_as_what_it_replaces(tmp_path):
    layer, x = made("conv2d", "channel_last")
    optimizer = optim.Adam(1e-2)
    layer.v = optimizer.step(layer.v, gradients(layer, x))
    order, y = layer.v.w.stride(), layer(x)
    layer.save_weights(tmp_path / "w.safetensors")
    train.save_checkpoint(tmp_path / "c.safetensors", {"v": layer.v, "state": optimizer.state})

    other, _ = made("conv2d", "channel_last")
    other.load_weights(tmp_path / "w.safetensors")
    assert other.v.w.stride() == order
    assert_close(other(x), y, rtol=0, atol=0)

    like = {"v": layer.v, "state": optimizer.state}
    found = train.load_checkpoint(tmp_path / "c.safetensors", like)
    for w in (found["v"].w, found["state"].m.w, found["state"].v.w):
        assert w.stride() == order
    assert_close(found, like, rtol=0, atol=0)


@pytest.mark.parametrize("decay", [0.0, 0.1])
def test_adam_on_memory_of_every_order(decay):
    """Views with other orders and with gaps, for weights, gradients and state: as NumPy steps."""
    import torch

    rng = np.random.default_rng(0)

    def leaves(*orders):
        """Three leaves in orders of their own, one with gaps, one that repeats one element."""
        found = {"gaps": torch.from_numpy(rng.standard_normal((4, 6)))[:, ::2]}
        found["one"] = torch.from_numpy(rng.standard_normal(1)).expand(3, 2)
        for name, order in zip("abc", orders, strict=True):
            memory = rng.standard_normal([(4, 3, 5)[i] for i in order])
            found[name] = torch.from_numpy(memory.transpose(np.argsort(order)))
            assert found[name].shape == (4, 3, 5)
        return trellis.Container(found)

    one, two, three = (0, 1, 2), (2, 0, 1), (1, 2, 0)
    w, g, h = leaves(one, two, three), leaves(one, one, three), leaves(three, two, one)
    steps, wanted = w, trellis.to_backend(w, "numpy", copy=True)
    ours, theirs = (optim.AdamW(1e-2, weight_decay=decay) for _ in range(2))
    for grads in (g, h, g):
        steps = ours.step(steps, grads)
        wanted = theirs.step(wanted, trellis.to_backend(grads, "numpy", copy=True))
        # The same operations in float64, fused in another order.
        assert_close(trellis.to_backend(steps, "numpy"), wanted, rtol=1e-12, atol=1e-12)
    # A state that was read from somewhere, in NumPy's order.
    ours.state = trellis.tree.map(lambda x: x.contiguous().clone(), ours.state)
    steps, wanted = ours.step(steps, h), theirs.step(wanted, trellis.to_backend(h, "numpy"))
    assert_close(trellis.to_backend(steps, "numpy"), wanted, rtol=1e-12, atol=1e-12)


def test_the_first_step_of_an_optimizer_leaves_what_a_user_has():
    """The state of the first step is ours to write over; one that was asked for is not."""
    w = trellis.to_backend(trellis.Container(w=np.ones(3)), "torch")
    optimizer = optim.Adam(1e-2)
    first = optimizer.init(w)
    optimizer.state = first
    w = optimizer.step(w, w)
    assert first.m.w.tolist() == [0, 0, 0]
    seen = optimizer.state
    before = seen.m.w.clone()
    w = optimizer.step(w, w)
    assert seen.m.w.tolist() == before.tolist()
    assert optimizer.state.m.w.tolist() != before.tolist()
