"""Models of torch: what goes in and comes out, names, dynamic axes, training, refusals."""

import collections
import dataclasses

import numpy as np
import pytest

import trellis
from oracles import torch
from trellis import convert
from trellis import functional as F
from trellis.errors import (
    ArgumentError,
    ArgumentTypeError,
    ConversionError,
    NotSupportedError,
    ShapeError,
)

pytestmark = pytest.mark.needs("torch")

# float32 on both sides, sums of a few dozen terms in another order.
CLOSE = {"rtol": 1e-5, "atol": 1e-6}


def module(forward, **parts):
    """A torch module with these parts and this forward."""

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            for name, part in parts.items():
                setattr(self, name, part)

    Model.forward = forward
    return Model()


def layer(outs=3, ins=4):
    torch.manual_seed(0)
    return torch.nn.Linear(ins, outs)


def X(*shape):
    return torch.linspace(-1, 2, int(np.prod(shape))).sin().reshape(shape)


def check(found, expected):
    np.testing.assert_allclose(trellis.to_numpy(found), expected.detach().numpy(), **CLOSE)


# What goes in and comes out -----------------------------------------------------------------------


def test_arguments_and_outputs_keep_their_structure(backend, array):
    Pair = collections.namedtuple("Pair", "first second")
    Result = dataclasses.make_dataclass("Result", ["y", "nothing", "pair"])

    def forward(self, x, scale=2.0, *, more, mask=None):
        y = self.part(x) * scale + more["a"][1]
        return Result(y, None, Pair(y.sum(), [x])), {"k": (y > 0, 3)}

    source = module(forward, part=layer())
    a, b = X(2, 4), X(3)
    model = convert.from_torch(source, (a, 0.5), {"more": {"a": [b, b + 1]}}, to=backend)
    record, rest = model(array(a.numpy()), more={"a": [array(b.numpy()), array(b.numpy() + 1)]})
    expected, _ = source(a, 0.5, more={"a": [b, b + 1]})
    assert list(record) == ["y", "pair"]  # dataclasses are dicts, without what is None
    check(record["y"], expected.y)
    check(record["pair"][0], expected.pair.first)
    check(record["pair"][1][0], a)
    assert rest["k"][1] == 3 and type(rest) is dict and type(record["pair"]) is tuple
    assert trellis.backend_of(record["y"]) == backend
    with pytest.raises(ArgumentError, match=r"converted for scale=0.5, got 2.0"):
        model(array(a.numpy()), 2.0, more={"a": [array(b.numpy())] * 2})
    with pytest.raises(ShapeError, match=r"dynamic="):
        model(array(X(5, 4).numpy()), more={"a": [array(b.numpy())] * 2})


def test_names_buffers_and_tied_weights(backend):
    first = layer(4)
    second = torch.nn.Linear(4, 4)
    second.weight = first.weight
    frozen = layer(4)
    frozen.weight.requires_grad_(False)

    def forward(self, x):
        return self.norm(self.second(self.first(x)) + self.frozen(x)) * self.scale

    source = module(
        forward, first=first, second=second, frozen=frozen, norm=torch.nn.BatchNorm1d(4)
    )
    source.register_buffer("scale", torch.tensor(2.0), persistent=False)
    model = convert.from_torch(source, (X(3, 4),), to=backend)
    assert sorted(model.v.to_flat() if hasattr(model.v, "to_flat") else model.graph.variables) == [
        "first/bias", "first/weight", "frozen/bias", "frozen/weight", "norm/bias", "norm/weight",
        "second/bias",
    ]  # fmt: skip
    assert model.aliases == {"second/weight": "first/weight"}
    assert sorted(model.graph.buffers) == [
        "norm/num_batches_tracked", "norm/running_mean", "norm/running_var",
    ]  # fmt: skip
    x = trellis.asarray(X(3, 4).numpy(), backend=backend)
    gradients = trellis.grad(lambda v: trellis.sum(model(x, v=v) ** 2))(model.v)
    source.eval()
    (source(X(3, 4)) ** 2).sum().backward()
    np.testing.assert_allclose(
        trellis.to_numpy(gradients["first/weight"]), first.weight.grad, rtol=1e-4, atol=1e-5
    )
    assert not trellis.to_numpy(gradients["frozen/weight"]).any()  # as in torch, it stays


def test_an_exported_program(backend, array):
    source = module(lambda self, x, pair: (self.part(x), pair[0] + pair[1]), part=layer())
    x, pair = X(2, 4), (X(3), X(3) + 1)
    program = torch.export.export(source, (x, pair))
    model = convert.from_torch(program, to=backend)
    y, total = model(array(x.numpy()), tuple([array(i.numpy()) for i in pair]))
    check(y, source.part(x))
    check(total, pair[0] + pair[1])
    assert sorted(model.graph.variables) == ["part/bias", "part/weight"]
    assert model.report().splitlines()[0].endswith("scale")


def test_what_is_not_a_module():
    with pytest.raises(ArgumentTypeError, match=r"expects a torch.nn.Module"):
        convert.from_torch(lambda x: x, (X(2),))


# Open axes ----------------------------------------------------------------------------------------


def test_open_axes(backend, array, compiled):
    def forward(self, x, y):
        n, length, _ = x.shape
        heads = self.part(x).view(n, length, 2, 2).transpose(1, 2)
        positions = torch.arange(length).unsqueeze(0).expand(n, -1)
        both = torch.cat([heads.reshape(n, -1), y[:, : length // 2]], 1)
        return both + n * 0.5, heads.flatten(0, 1), positions * length, y[:, -1]

    source = module(forward, part=layer(4))
    names = {0: "batch", 1: "length"}
    example = (X(2, 6, 4), X(2, 6))
    model = convert.from_torch(source, example, to=backend, dynamic={"x": names, "y": names})
    run = compiled(lambda v, x, y: model(x, y, v=v))
    for n, length in ((2, 6), (3, 5), (1, 9)):
        x, y = X(n, length, 4), X(n, length)
        given = array(x.numpy()), array(y.numpy())
        for found in (model(*given), run(model.v, *given)):
            for a, b in zip(found, source(x, y)):
                check(a, b)
    with pytest.raises(ShapeError):
        model(array(X(2, 6, 4).numpy()), array(X(3, 6).numpy()))


def test_axes_that_cannot_be_open():
    source = module(lambda self, x: x.view(6, 2))
    with pytest.raises((ConversionError, ArgumentError), match=r"open|torch.export"):
        convert.from_torch(source, (X(3, 4),), dynamic={"x": {0: "n"}}, to="numpy")
    with pytest.raises(ArgumentError, match=r"has the arrays x"):
        convert.from_torch(source, (X(3, 4),), dynamic={"y": {0: "n"}}, to="numpy")


# Control flow, modes, operations of others --------------------------------------------------------


@pytest.mark.filterwarnings("ignore")  # torch about its own loops
def test_branches_and_loops(backend, array):
    def forward(self, x):
        y = torch.cond(x.sum() > 0, lambda x: self.part(x), lambda x: self.part(-x), (x,))
        zero = torch.zeros((), dtype=torch.int64)
        _, z = torch.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * 0.5), (zero, y))
        with torch.no_grad():
            fixed = self.part(x)
        return z + fixed

    source = module(forward, part=layer(4))
    model = convert.from_torch(source, (X(2, 4),), to=backend)
    for x in (X(2, 4), -X(2, 4)):
        expected = source(x)
        check(model(array(x.numpy())), expected)
        source.zero_grad()
        expected.sum().backward()
        got = trellis.grad(lambda v, x=x: trellis.sum(model(array(x.numpy()), v=v)))(model.v)
        np.testing.assert_allclose(
            trellis.to_numpy(got["part/weight"]), source.part.weight.grad, rtol=1e-5, atol=1e-6
        )


def test_decisions_by_values_are_named_with_their_line():
    def forward(self, x):
        if x.sum() > 0:
            return x
        return -x

    with pytest.raises(ConversionError, match=r"test_torch.py, line \d+: `if x.sum\(\) > 0:`"):
        convert.from_torch(module(forward), (X(3),), to="numpy")


def test_operations_of_others(backend, array):
    @torch.library.custom_op("trellis_test::twice", mutates_args=())
    def twice(x: torch.Tensor, shift: float) -> torch.Tensor:
        return x * 2 + shift

    @twice.register_fake
    def _(x, shift):
        return torch.empty_like(x)

    source = module(lambda self, x: twice(self.part(x), 0.5), part=layer())
    convert.rules._own.pop("trellis_test::twice", None)
    with pytest.raises(NotSupportedError, match=r"trellis_test::twice \(1 times"):
        convert.from_torch(source, (X(2, 4),), to=backend)

    @convert.rule("trellis_test::twice")
    def rule(g, x, shift):
        return g.t.add(g.t.multiply(x, 2.0), shift)

    check(
        convert.from_torch(source, (X(2, 4),), to=backend)(array(X(2, 4).numpy())), source(X(2, 4))
    )


def test_a_wrong_rule_is_found_by_verification():
    torch.library.define("trellis_test::thrice", "(Tensor x) -> Tensor")
    torch.library.impl("trellis_test::thrice", "CompositeExplicitAutograd")(lambda x: x * 3)
    source = module(lambda self, x: torch.ops.trellis_test.thrice(self.part(x)) + 1, part=layer())
    convert.rule("trellis_test::thrice")(lambda g, x: g.t.multiply(x, 2.0))
    with pytest.raises(ConversionError, match=r"first call that differs is multiply"):
        convert.from_torch(source, (X(2, 4),), to="numpy")


# Training -----------------------------------------------------------------------------------------


def a_network(dropout=0.0):
    torch.manual_seed(0)

    def forward(self, x):
        y = self.relu(self.norm(self.conv(x)))
        y = self.relu(self.norm(self.again(y)))  # the statistics of one layer change twice
        return self.head(self.drop(y.mean((2, 3))))

    nn = torch.nn
    return module(
        forward, conv=nn.Conv2d(3, 8, 3, padding=1), norm=nn.BatchNorm2d(8), head=nn.Linear(8, 4),
        relu=nn.ReLU(inplace=True), again=nn.Conv2d(8, 8, 3, padding=1), drop=nn.Dropout(dropout),
    )  # fmt: skip


def test_fine_tuning_follows_torch_and_goes_back(backend, array):
    source, x, y = a_network(), X(6, 3, 8, 8), torch.tensor([0, 1, 2, 3, 0, 1])
    model = convert.from_torch(source, (x,), to=backend, train=True)
    assert model.training
    source.train()
    optimizer = torch.optim.SGD(source.parameters(), lr=0.1)
    labels = array(y.numpy().astype("int32"))
    images = array(x.numpy())
    for _ in range(20):
        loss = torch.nn.functional.cross_entropy(source(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        step = trellis.value_and_grad(lambda v: F.cross_entropy(model(images, v=v), labels))
        found, gradients = step(model.v)
        model.v = trellis.gradient_descent_update(model.v, gradients, 0.1)
        # Twenty steps let differences of rounding grow; the issue allows 1e-3.
        assert abs(float(found) - float(loss.detach())) < 1e-4
    state = {key: trellis.to_numpy(model.buffers[key]) for key in model.graph.buffers}
    for key, value in state.items():
        wanted = source.state_dict()[key.replace("/", ".")].numpy()
        np.testing.assert_allclose(value, wanted, rtol=1e-3, atol=1e-4)
    state |= {key: trellis.to_numpy(model.v[key]) for key in model.graph.variables}
    back = a_network()
    back.load_state_dict({k.replace("/", "."): torch.tensor(v) for k, v in state.items()})
    check(model.eval()(images), back.eval()(x))


def test_dropout_draws_while_training(backend, array):
    source = module(lambda self, x: self.drop(x), drop=torch.nn.Dropout(0.25))
    x = torch.ones(40, 50)
    model = convert.from_torch(source, (x,), to=backend, train=True)
    trellis.seed(3)
    found = trellis.to_numpy(model(array(x.numpy())))
    kept = found != 0
    np.testing.assert_allclose(found[kept], 1 / 0.75, rtol=1e-6)
    assert abs(kept.mean() - 0.75) < 0.04  # 4 standard deviations of 2000 draws
    check(model.eval()(array(x.numpy())), x)
    assert convert.from_torch(source, (x,), to=backend).graph.nodes == []


def test_what_draws_is_not_verified():
    source = module(lambda self, x: x + torch.randn_like(x))
    assert "draws random numbers" in convert.from_torch(source, (X(3),), to="numpy").report()
