"""Groups of variables: each with its own optimizer, some frozen; by hand, compiled, and in fit."""

import numpy as np
import pytest

import trellis
from conftest import compile_with
from oracles import keras, torch
from trellis import Container, errors, nn, optim, tree
from trellis._core.dispatch import load
from trellis.conformance.compilers import forget_programs
from trellis.testing import assert_close
from trellis.train import fit, load_checkpoint, save_checkpoint

QUIET = {"progress": False, "compile": False}


def numbers():
    random = np.random.default_rng(0)
    shapes = {"embeddings/w": (5, 3), "body/w": (3, 4), "body/b": (4,), "head/w": (4, 2)}
    return {name: random.normal(size=shape).astype("float32") for name, shape in shapes.items()}


def variables(array):
    return tree.from_key_chains({name: array(x) for name, x in numbers().items()})


def gradients_of(v):
    """Not constant, and never zero."""
    return tree.map(lambda w: trellis.sin(w) + 0.1, v)


def three_parts():
    parts = {"head/*": optim.Adam(1e-1), "body/*": optim.AdamW(1e-2, weight_decay=0.1)}
    return optim.groups(parts, frozen=["embeddings/*"])


@pytest.mark.needs("torch")
def test_groups_like_those_of_torch(array, backend):
    """Four steps against torch.optim, whose groups are lists of parameters."""
    theirs = {name: torch.nn.Parameter(torch.tensor(x)) for name, x in numbers().items()}
    optimizers = [
        torch.optim.Adam([theirs["head/w"]], 1e-1),
        torch.optim.AdamW([theirs["body/w"], theirs["body/b"]], 1e-2, weight_decay=0.1),
    ]
    opt, v = three_parts(), variables(array)
    for _ in range(4):
        for name, w in theirs.items():
            w.grad = None if name == "embeddings/w" else torch.sin(w.detach()) + 0.1
        for each in optimizers:
            each.step()
        v = opt.step(v, gradients_of(v))
    expected = {name: w.detach().numpy() for name, w in theirs.items()}
    # Four steps of 0.1 in float32, and sines of two libraries: a few units in the last place.
    for name, w in expected.items():
        assert_close(v[name], w, rtol=2e-6, atol=1e-6, backend=backend)
    assert (trellis.to_numpy(v["embeddings/w"]) == numbers()["embeddings/w"]).all()


def test_frozen_leaves_have_no_state(array):
    """Two moments for each of the three leaves that are trained, two counters for the groups and
    one for all."""
    opt, v = three_parts(), variables(array)
    state = opt.init(v)
    assert len(tree.leaves(state)) == 2 * 3 + 3 + len(tree.leaves(state.before))
    assert not [chain for chain in state.key_chains() if "embeddings" in chain]
    free, rest = opt.split(v)
    assert free.key_chains() == ["body/b", "body/w", "head/w"]
    assert rest.key_chains() == ["embeddings/w"]
    assert opt.join(v, free).key_chains() == v.key_chains()


def test_gradients_of_what_is_trained_suffice(array, backend):
    """The compiled update is the step by hand, with the gradients of `split` or of everything."""
    opt, v = three_parts(), variables(array)
    state = opt.init(v)

    def update(v, state):
        return opt.update(v, gradients_of(opt.split(v)[0]), state)

    forget_programs(backend)
    compiled = compile_with(backend, update, autograph=False)  # no branch to rewrite
    w, by_hand = v, three_parts()
    for _ in range(2):
        v, state = compiled(v, state)
        w = by_hand.step(w, gradients_of(w))
    # A compiler may round fused products once.
    for chain in w.key_chains():
        expected = trellis.to_numpy(w[chain])
        assert_close(v[chain], expected, rtol=2e-6, atol=1e-6, backend=backend)
    assert int(state.step) == int(by_hand.state.step) == 2


def test_state_in_a_file(array, backend, tmp_path):
    """What is loaded goes on as what was saved; other groups are named where they differ."""
    opt, v = three_parts(), variables(array)
    v = opt.step(v, gradients_of(v))
    save_checkpoint(tmp_path / "state", opt.state)
    again = three_parts()
    again.state = load_checkpoint(tmp_path / "state", again.init(v))
    expected, found = opt.step(v, gradients_of(v)), again.step(v, gradients_of(v))
    for chain in v.key_chains():
        assert_close(found[chain], trellis.to_numpy(expected[chain]), rtol=0, backend=backend)
    other = optim.groups({"head/*": optim.Adam(), "!head/*": optim.Adam()})
    with pytest.raises(errors.ShapeError, match=r"group1/.*embeddings"):
        load_checkpoint(tmp_path / "state", other.init(v))


def test_one_norm_for_all_groups(array, backend):
    """`after` sees the gradients of all groups at once: sqrt(3^2 + 4^2) is clipped to 1."""
    v = Container(a=array(np.zeros(1, "float32")), b=array(np.zeros(1, "float32")))
    opt = optim.groups({"a": optim.SGD(1.0), "b": optim.SGD(2.0)})
    clipped = opt.after(optim.clip_by_global_norm(1.0))
    new = clipped.step(v, {"a": array(np.full(1, 3.0, "float32")),
                           "b": array(np.full(1, 4.0, "float32"))})  # fmt: skip
    # One division and one product of float32.
    assert_close(new, {"a": [-0.6], "b": [-1.6]}, rtol=3e-7, backend=backend)


@pytest.mark.parametrize(
    ("parts", "frozen", "said"),
    [
        ({"haed/*": "Adam"}, ["!haed/*"], "matches nothing. Did you mean 'head/w'"),
        ({"head": "Adam"}, ["!head/*"], "Did you mean 'head/\\*'"),
        ({"head/*": "Adam"}, ["body/*"], "no pattern for 1 of 4 leaves: embeddings/w"),
        ({"head/*": "Adam", "*": "SGD"}, [], "2 patterns that match 'head/w': 'head/\\*', '\\*'"),
        ({"*": "Adam"}, ["body/b"], "2 patterns that match 'body/b'"),
    ],
)
def test_patterns_that_do_not_fit(parts, frozen, said):
    opt = optim.groups({name: getattr(optim, kind)(0.1) for name, kind in parts.items()},
                       frozen=frozen)  # fmt: skip
    with pytest.raises(errors.ArgumentError, match=said):
        opt.init(variables(np.asarray))


def test_arguments_that_are_none():
    for wrong in ({}, {"*": optim.Adam}, [optim.Adam()]):
        with pytest.raises(errors.ArgumentTypeError, match="groups"):
            optim.groups(wrong)
    with pytest.raises(errors.ArgumentTypeError, match="frozen"):
        optim.groups({"*": optim.Adam()}, frozen=[3])
    opt = three_parts()
    with pytest.raises(errors.ShapeError, match="those that are trained"):
        opt.step(variables(np.asarray), {"head": {"w": np.zeros((4, 2))}})
    for call in (lambda: opt.accumulated(2), opt.with_lookahead):
        with pytest.raises(errors.ArgumentError, match="for each group"):
            call()


# In fit
# --------------------------------------------------------------------------------------------------


class Net(trellis.Module):
    def __init__(self, **options):
        self.body, self.head = nn.Linear(3, 4), nn.Linear(4, 2)
        super().__init__(**options)

    def _forward(self, x):
        return self.head(trellis.tanh(self.body(x)))


def data():
    random = np.random.default_rng(0)
    x = random.normal(size=(16, 3)).astype("float32")
    return x, x[:, :2] * 2


def mean_squared(output, y):
    return trellis.mean((output - y) ** 2)


@pytest.fixture
def leaves_asked(backend, monkeypatch):
    """How many gradients each differentiation asks the framework for."""
    xp, asked = load(backend), []
    real = xp.value_and_grad

    def counting(fn, xs):
        asked.append(len(xs))
        return real(fn, xs)

    monkeypatch.setattr(xp, "value_and_grad", counting)
    return asked


def test_fit_asks_for_no_other_gradients(backend, leaves_asked):
    """Two of four leaves, in one step; AdamW's decay leaves the others as they are."""
    trellis.seed(0)
    model = Net(backend=backend)
    before = {chain: trellis.to_numpy(model.v[chain]).copy() for chain in model.v.key_chains()}
    opt = optim.AdamW(0.1, weight_decay=0.5)
    fit(model, mean_squared, data(), optimizer=opt, trainable="head/*", **QUIET)
    assert leaves_asked == [2]
    assert opt.state.key_chains() == ["m/head/b", "m/head/w", "step", "v/head/b", "v/head/w"]
    for chain, w in before.items():
        is_same = (trellis.to_numpy(model.v[chain]) == w).all()
        assert is_same == chain.startswith("body"), chain


@pytest.mark.parametrize("is_compiled", [True, False])
def test_fit_with_groups_goes_on(backend, tmp_path, is_compiled):
    """Three epochs at once, and two after a checkpoint of the first: the same bits."""
    if is_compiled and backend == "torch":
        pytest.skip("Inductor takes seconds; test_gradients_of_what_is_trained_suffice compiles")

    def run(path, epochs, resume=False):
        trellis.seed(0)
        model = Net(backend=backend)
        opt = optim.groups({"head/*": optim.Adam(1e-2), "body/w": optim.SGD(1e-2, 0.9)},
                           frozen=["body/b"])  # fmt: skip
        fit(model, mean_squared, data(), optimizer=opt, epochs=epochs, batch_size=8, seed=0,
            checkpoint=path, resume=resume, progress=False, compile=is_compiled)  # fmt: skip
        return {chain: trellis.to_numpy(model.v[chain]) for chain in model.v.key_chains()}

    whole = run(tmp_path / "whole", 3)
    run(tmp_path / "part", 1)
    found = run(tmp_path / "part", 3, resume=True)
    assert all((found[chain] == w).all() for chain, w in whole.items())
    assert (found["body/b"] == 0).all()


def test_fit_with_patterns_that_do_not_fit():
    model = Net(backend="numpy")
    with pytest.raises(errors.ArgumentError, match="'heads/\\*', which matches nothing"):
        fit(model, mean_squared, data(), optimizer=optim.Adam(), trainable="heads/*", **QUIET)
    with pytest.raises(errors.ArgumentError, match="of groups, which says itself"):
        fit(model, mean_squared, data(), optimizer=optim.groups({"*": optim.Adam()}),
            trainable="head/*", **QUIET)  # fmt: skip


@pytest.mark.needs("torch")
def test_what_torch_froze_stays(backend):
    """A parameter without requires_grad is neither decayed nor trained after the conversion."""
    source = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 2))
    source[0].requires_grad_(False)
    model = trellis.convert.from_torch(source, (torch.ones(16, 3),), to=backend)
    assert model.frozen == ["0/bias", "0/weight"]
    opt = optim.AdamW(0.1, weight_decay=0.5)
    fit(model, mean_squared, data(), optimizer=opt, **QUIET)
    assert opt.state.m.key_chains() == ["2/bias", "2/weight"]
    assert (trellis.to_numpy(model.v["0/weight"]) == source[0].weight.numpy()).all()


@pytest.mark.needs("tensorflow")
def test_what_keras_froze_stays():
    """The weights of a layer with trainable=False; statistics are buffers anyway."""
    layers = [keras.layers.Dense(4, name="body"), keras.layers.BatchNormalization(name="norm")]
    source = keras.Sequential([keras.layers.Input((3,)), *layers], name="net")
    source.get_layer("body").trainable = False
    model = trellis.convert.from_keras(source, to="numpy")
    assert model.frozen == ["net/body/bias", "net/body/kernel"]
