"""The module rows of the contract, each on all four backends, with real gradients."""

import builtins
import inspect

import numpy as np
import pytest

import trellis
from trellis import Container, errors
from trellis.nn import Linear
from trellis.testing import assert_close

from . import example_modules as fixtures
from . import vectors
from .compilers import compile_with
from .example_modules import (
    CustomVars,
    DictNet,
    DoubleLinear,
    ListNet,
    Nested,
    NoneAttr,
    SharedLayer,
    SharedWeight,
    TanhNet,
    inputs,
    nonzero_everywhere,
    train,
    zeros_everywhere,
)
from .strangers import other_of

DTYPES = ("float32", "float64")
BATCHES = [(1, 2), (2, 1)]


@pytest.fixture(autouse=True)
def _default_backend(request):
    """Modules are made on the backend under test, from the same draws each time."""
    if "backend" not in request.fixturenames:
        yield
        return
    with trellis.using_backend(request.getfixturevalue("backend")):
        trellis.seed(0)
        yield


def raises(builtin):
    """A context in which an error of ours that is also this builtin must be raised."""
    return _Raises(builtin)


class _Raises:
    def __init__(self, builtin):
        self._builtin = builtin

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        assert error is not None, "nothing was raised"
        if isinstance(error, errors.BackendNotInstalledError):
            return False
        assert isinstance(error, errors.TrellisError), error
        assert isinstance(error, self._builtin), error
        return True


# The vectors
# -----------------------------------------------------------------------------------------


def module_at(root, chain):
    """The module that a key path names."""
    module = root
    for part in chain.split("/") if chain else []:
        module = module.__node__.children[part]
    return module


def check_vectors(row, xp, backend, x64):
    found = vectors.of(row)
    for dtype in DTYPES:
        with x64():
            for vector in found:
                check_vector(vector, xp, backend, dtype)


def check_vector(vector, xp, backend, dtype):
    options = vectors.decode(vector.get("ctor", {}), xp, dtype)
    make = fixtures.FIXTURES[vector["fixture"]]

    def run():
        module = make(*vector["init"], **options, dtype=dtype, backend=backend)
        if "v" in vector:
            module.v = vectors.decode(vector["v"], xp, dtype)
        args, kw = vectors.arguments(vector, xp, dtype)
        if "submods_to_track" in kw:
            kw["submods_to_track"] = [module_at(module, chain) for chain in kw["submods_to_track"]]
        return module, args, kw, module(*args, **kw) if args else None

    if "raises" in vector:
        with raises(getattr(builtins, vector["raises"])):
            run()
        return
    module, args, kw, ret = run()
    out = vector.get("out", {})
    if "query" in vector:
        answers = [answer(module, *query) for query in vector["query"]]
        assert answers == out, vector["id"]
        return
    if "prop" in vector:
        check_properties(module, vector["prop"])
        return
    if "ret" in out:
        vectors.assert_matches(ret, out["ret"], dtype)
        assert trellis.backend_of(ret) == backend
        assert trellis.dtype(ret) == dtype
    for name in ("submod_rets", "submod_call_order"):
        if name in out:
            assert_nest(getattr(module, name), out[name], dtype)
    for chain, want in Container(out.get("v", {})).flat().items():
        vectors.assert_matches(module.v[chain], want, dtype)
    if "train" in vector:
        losses, grads = train(module, args[0], vector["train"]["steps"], vector["train"]["lr"])
        vectors.assert_matches(grads, out["grads"], dtype)
        vectors.assert_matches(losses, out["losses"], dtype)
        vectors.assert_matches(module.v, out["v_last"], dtype)
        assert {trellis.dtype(leaf) for leaf in trellis.tree.leaves((grads, losses))} == {dtype}


def assert_nest(actual, expected, dtype):
    """Keys in the same order, arrays of NumPy at the leaves."""
    if isinstance(expected, dict):
        assert list(actual) == list(expected)
        for key in expected:
            assert_nest(dict(actual)[key], expected[key], dtype)
        return
    assert all(type(leaf) is np.ndarray for leaf in trellis.tree.leaves(actual))
    vectors.assert_matches(actual, expected, dtype)


def answer(root, chain, name, keywords):
    module = module_at(root, chain)
    found = getattr(module, name) if keywords is None else getattr(module, name)(**keywords)
    if isinstance(found, Container):
        return sorted(found.key_chains())
    if isinstance(found, trellis.Module):
        return "/".join(found.mod_with_top_mod_key_chain()[1:])
    return found


def check_properties(module, prop):
    for name, shape in prop["shape"].items():
        assert list(module.v[name].shape) == shape
    for name in prop["zero"]:
        assert zeros_everywhere(module.v[name])
    for name, limit in prop["abs_le"].items():
        assert 0 < float(trellis.max(trellis.abs(module.v[name]))) <= limit


def test_module_init(backend, xp, x64):
    """The initial variables of a Linear."""
    check_vectors("init", xp, backend, x64)
    trellis.seed(3)
    first = Linear(4, 8)
    trellis.seed(3)
    again, numpy_one = Linear(4, 8), None
    trellis.seed(3)
    numpy_one = Linear(4, 8, backend="numpy")
    assert_close(again.v.w, trellis.to_numpy(first.v.w), rtol=0, atol=0)
    np.testing.assert_array_equal(trellis.to_numpy(first.v.w), numpy_one.v.w)


# Training
# ----------------------------------------------------------------------------------------------


def check_training(backend, x64, make, chains):
    """What all training rows have in common."""
    for batch in BATCHES:
        module = make()
        x = inputs(backend, 4, batch)
        losses, grads = train(module, x)
        values = [float(loss) for loss in losses]
        assert values == sorted(values, reverse=True)
        assert len(set(values)) == 10
        assert all(
            tuple(loss.shape) == () and trellis.backend_of(loss) == backend for loss in losses
        )
        assert isinstance(grads, Container)
        assert grads.key_chains() == module.v.key_chains() == chains
        assert nonzero_everywhere(grads)
    check_against_finite_differences(backend, x64, make)
    check_compiled(backend, make)


def check_against_finite_differences(backend, x64, make):
    with x64(), trellis.using_default_dtype("float64"):
        module = make()
        x = inputs(backend, 4, dtype="float64")
        _, grads = trellis.execute_with_gradients(lambda v: trellis.mean(module(x, v=v)), module.v)
        start = {chain: trellis.to_numpy(leaf) for chain, leaf in module.v.flat().items()}
        rng = np.random.default_rng(0)

        def loss_at(chain, value):
            moved = module.v.copy()
            moved[chain] = trellis.asarray(value, backend=backend)
            return float(trellis.mean(module(x, v=moved)))

        for chain, leaf in start.items():
            # A few elements of each leaf: the vectors cover whole gradients.
            for flat in rng.choice(leaf.size, size=min(3, leaf.size), replace=False):
                index = np.unravel_index(flat, leaf.shape)
                step = 1e-6 * max(1.0, abs(leaf[index]))
                up, down = leaf.copy(), leaf.copy()
                up[index] += step
                down[index] -= step
                slope = (loss_at(chain, up) - loss_at(chain, down)) / (2 * step)
                got = trellis.to_numpy(grads[chain])[index]
                np.testing.assert_allclose(got, slope, rtol=1e-5, atol=1e-7)


def check_compiled(backend, make):
    """The call with `v=`, and its gradient, are the same under the compiler."""
    if not trellis.namespace(backend).ABILITIES.has_compiler:
        return
    module = make()
    x = inputs(backend, 4)

    def loss(v, x):
        return trellis.mean(module(x, v=v))

    eager = (loss(module.v, x), trellis.grad(loss)(module.v, x))
    fast = (
        compile_with(backend, loss)(module.v, x),
        compile_with(backend, trellis.grad(loss))(module.v, x),
    )
    assert_close(fast, trellis.tree.map(trellis.to_numpy, eager), dtype=False)
    assert isinstance(fast[1], Container)


def tanh_chains(names):
    return [f"{name}/{leaf}" for name in names for leaf in ("b", "w")]


LINEARS = tanh_chains(["linear0", "linear1", "linear2"])


def test_module_training(backend, xp, x64):
    check_vectors("module_training", xp, backend, x64)
    check_training(backend, x64, lambda: TanhNet(4, 3, 8), LINEARS)
    module = TanhNet(4, 3)
    shapes = {chain: tuple(leaf.shape) for chain, leaf in module.v.flat().items()}
    assert shapes == dict(
        zip(LINEARS, [(64,), (64, 4), (64,), (64, 64), (3,), (3, 64)], strict=True)
    )
    x = inputs(backend, 4)
    train(module, x, steps=2)
    assert module._linear1.v is module.v.linear1
    given = trellis.tree.map(trellis.zeros_like, module.v)
    assert zeros_everywhere(module(x, v=given))
    assert module._linear1.v is module.v.linear1

    # An error in the middle of a call leaves everything as it was.
    before = module.v
    with raises(ValueError):
        module(inputs(backend, 5), v=given)
    assert module.v is before
    assert module._linear0.v is before.linear0

    # A child called with its own variables uses those.
    child_given = Container(
        b=trellis.ones_like(before.linear0.b), w=trellis.zeros_like(before.linear0.w)
    )
    assert_close(module._linear0(x, v=child_given), np.ones((1, 2, 64), "float32"))
    assert module._linear0.v is before.linear0

    # `module.v = new` makes no check; a missing key shows when it is read.
    module.v = {"linear0": before.linear0, "linear1": before.linear1}
    with raises(KeyError):
        module(x)
    module._linear0.v = child_given
    assert module.v.linear0 is child_given
    module.v = before

    for scope in (trellis.no_grads, None):
        if scope is None:
            grads = trellis.grad(lambda v: trellis.mean(module(x, v=v, with_grads=False)))(module.v)
        else:
            with scope():
                grads = train(TanhNet(4, 3, 8), x, 1)[1]
        assert zeros_everywhere(grads)
    with trellis.no_grads():
        grads = trellis.grad(lambda v: trellis.mean(module(x, v=v, with_grads=True)))(module.v)
    assert nonzero_everywhere(grads)
    trellis.set_with_grads(False)
    try:
        assert zeros_everywhere(train(TanhNet(4, 3, 8), x, 1)[1])
    finally:
        trellis.unset_with_grads()
    assert nonzero_everywhere(train(TanhNet(4, 3, 8), x, 1)[1])

    with raises(TypeError):
        module(inputs(other_of(backend), 4))
    with pytest.raises(errors.MixedBackendsError):
        module(inputs(backend, 4), v=trellis.to_backend(before, other_of(backend)))

    for mode in ("explicit", "on_call"):
        module = ListNet(4, 3, 8, build_mode=mode)
        assert not module.built
        if mode == "explicit":
            assert module.build() is module.v
            assert module.built
        else:
            assert module.build().key_chains() == []
            assert not module.built
            module(x)
        values = [float(loss) for loss in train(module, x)[0]]
        assert values == sorted(values, reverse=True)
    module = ListNet(4, 3, 8, build_mode="explicit")
    assert tuple(module(x).shape) == (1, 2, 3)
    assert module.built
    with raises(ValueError):
        ListNet(4, 3, build_mode="later")


def test_module_training_with_duplicate(backend, xp, x64):
    check_vectors("module_training_with_duplicate", xp, backend, x64)
    check_training(backend, x64, lambda: SharedLayer(4), ["linear0/b", "linear0/w"])
    check_training(backend, x64, lambda: SharedWeight(4), ["linear0/b", "linear0/w", "linear1/b"])
    assert SharedLayer(2).duplicates == {}
    module = SharedWeight(2)
    assert module.duplicates == {"linear1/w": "linear0/w"}
    train(module, inputs(backend, 2))
    assert module._linear1.v.w is module._linear0.v.w is module.v.linear0.w
    assert module._linear1.v.b is module.v.linear1.b
    module._linear1.v = {"w": module.v.linear0.w + 1, "b": module.v.linear1.b}
    assert module._linear1.v.w is module._linear0.v.w
    assert module.v.key_chains() == ["linear0/b", "linear0/w", "linear1/b"]

    class Twelve(trellis.Module):
        def __init__(self):
            for i in range(12):
                setattr(self, f"_linear{i}", Linear(2, 2))
            for i in (0, 3):
                shared = getattr(self, f"_linear{i}").v
                for j in {0: (1, 10), 3: (11,)}[i]:
                    setattr(self, f"_linear{j}", Linear(2, 2, v={"w": shared.w, "b": shared.b + j}))
            super().__init__()

    module = Twelve()
    assert module.duplicates == {
        "linear1/w": "linear0/w", "linear10/w": "linear0/w", "linear3/w": "linear11/w"
    }  # fmt: skip
    for i in range(12):
        child = getattr(module, f"_linear{i}")
        owner = {1: 0, 10: 0, 3: 11}.get(i, i)
        assert child.v.w is module.v[f"linear{owner}/w"]
        assert child.v.b is module.v[f"linear{i}/b"]

    # Shared across two levels: the pruned place is inside a child of a child.
    class Outer(trellis.Module):
        def __init__(self):
            self._a = DoubleLinear(2, 2, 2)
            self._b = DoubleLinear(2, 2, 2)
            shared = self._a.v.l0.w
            self._b._l1 = Linear(2, 2, v={"w": shared, "b": self._b.v.l1.b})
            super().__init__()

        def _forward(self, x):
            return self._b(self._a(x))

    module = Outer()
    assert module.duplicates == {"b/l1/w": "a/l0/w"}
    assert module._b._l1.v.w is module.v.a.l0.w
    new = trellis.tree.map(lambda x: x + 1, module.v)
    module.v = new
    assert module._b._l1.v.w is new.a.l0.w
    module._b._l1.v = {"w": new.a.l0.w * 2, "b": new.b.l1.b}
    assert module._b._l1.v.w is module._a._l0.v.w is module.v.a.l0.w


def test_module_w_dict_training(backend, xp, x64):
    check_vectors("module_w_dict_training", xp, backend, x64)
    chains = tanh_chains([f"layers/linear{i}" for i in range(3)])
    check_training(backend, x64, lambda: DictNet(4, 3, 8), chains)
    module = DictNet(4, 3, 8)
    assert module._layers["linear1"].v is module.v.layers.linear1
    with raises(ValueError):
        module._more = {"a/b": Linear(2, 2)}


def test_module_w_list_training(backend, xp, x64):
    check_vectors("module_w_list_training", xp, backend, x64)
    chains = tanh_chains([f"layers/v{i}" for i in range(3)])
    check_training(backend, x64, lambda: ListNet(4, 3, 8), chains)
    module = ListNet(4, 3, 8)
    assert module._layers[2].v is module.v.layers.v2

    class Gap(trellis.Module):
        def __init__(self):
            self._layers = [Linear(2, 2), NoneAttr(), Linear(2, 2)]
            super().__init__()

    module = Gap()
    assert module.v.key_chains() == tanh_chains(["layers/v0", "layers/v2"])
    assert list(module.sub_mods(show_v=False)) == ["layers_v0", "layers_v1", "layers_v2"]
    assert module._layers[1].mod_depth() == 1


def test_module_w_partial_v(backend, xp, x64):
    check_vectors("module_w_partial_v", xp, backend, x64)
    ones = trellis.ones((3,))
    for wrong in (
        {"linear0": {"c": ones}}, {"linear9": {"b": ones}}, {"linear0": {"b": trellis.ones((4,))}}
    ):  # fmt: skip
        with raises(ValueError):
            TanhNet(2, 2, 3, v=wrong, with_partial_v=True)
        with raises(ValueError):
            DictNet(2, 2, 3, v={"layers": wrong}, with_partial_v=True)
    with raises(ValueError):
        TanhNet(2, 2, 3, v={"linear0": {"b": ones}})
    given = {"linear0": {"b": ones}, "linear2": {"b": trellis.ones((2,))}}
    # Children before the constructor of Module, and after it.
    for module, v in (
        (TanhNet(2, 2, 3, v=given, with_partial_v=True), lambda m: m.v),
        (DictNet(2, 2, 3, v={"layers": given}, with_partial_v=True), lambda m: m.v.layers),
    ):
        assert v(module).linear0.b is ones
        assert_close(v(module).linear2.b, np.ones(2, "float32"))
        assert nonzero_everywhere(v(module).linear1.w)
        x = inputs(backend, 2)
        assert tuple(module(x).shape) == (1, 2, 2)
        assert nonzero_everywhere(train(module, x, 1)[1])
        assert module.v.key_chains() == type(module)(2, 2, 3).v.key_chains()
    assert TanhNet(2, 2, 3, v={}, with_partial_v=True).v.key_chains() == LINEARS
    full = TanhNet(2, 2, 3).v
    module = TanhNet(2, 2, 3, v=full)
    assert module.v in full
    assert full in module.v
    assert module._linear1.v.w is full.linear1.w
    wrong = full.copy()
    wrong["linear1/w"] = trellis.ones((3, 4))
    with raises(ValueError):
        TanhNet(2, 2, 3, v=wrong)


def test_module_w_none_attribute(backend, xp, x64, array):
    check_vectors("module_w_none_attribute", xp, backend, x64)
    module = NoneAttr()
    assert module.built
    assert isinstance(module.v, Container)
    assert module.v.key_chains() == []
    x = array([1.0, 2.0])
    y = module(x)
    assert type(y) is type(x)
    assert_close(y, np.array([1.0, 2.0], "float32"))
    assert module.mod_height() == 0
    assert module.some_attribute is None


def test_with_custom_var_structure(backend, xp, x64):
    check_vectors("with_custom_var_structure", xp, backend, x64)
    module = CustomVars(2, 3)
    assert module.v.key_chains() == tanh_chains(["x", "y", "z"])
    assert module.duplicates == {
        f"linear{i}/{leaf}": f"{name}/{leaf}" for i, name in enumerate("xyz") for leaf in "bw"
    }
    assert "linear0" not in module.v
    x = inputs(backend, 2, dtype="float32")

    def by_hand():
        y = trellis.to_numpy(x)
        for name in "xyz":
            part = module.v[name]
            y = y @ trellis.to_numpy(part.w).T + trellis.to_numpy(part.b)
        return y

    assert_close(module(x), by_hand(), rtol=1e-5)
    before = by_hand()
    module.v.y.w = module.v.y.w * 2
    assert abs(by_hand() - before).max() > 1e-3
    assert_close(module(x), by_hand(), rtol=1e-5)
    assert module._linear1.v.w is module.v.y.w
    check_training(backend, x64, lambda: CustomVars(4, 3), tanh_chains("xyz"))

    class Clash(trellis.Module):
        def __init__(self):
            self._linear0 = Linear(2, 2)
            super().__init__()

        def _create_variables(self, *, device, dtype):
            return {"linear0": trellis.ones((2,), dtype=dtype)}

    with raises(ValueError):
        Clash()


# The tree
# ------------------------------------------------------------------------------------------------


def seven(root):
    return [root, root._dl0, root._dl1, root._dl0._l0, root._dl0._l1, root._dl1._l0, root._dl1._l1]


def all_chains(container, head=""):
    chains = []
    for key, value in container.items():
        chains.append(head + key)
        if isinstance(value, Container):
            chains += all_chains(value, f"{head}{key}/")
    return chains


def test_top_variables(backend, xp, x64):
    check_vectors("top_variables", xp, backend, x64)
    root = Nested(3, 4)
    chains = all_chains(root.v)
    assert len(chains) == 14
    for _ in range(2):
        for module in seven(root):
            assert module.top_v() is root.v
            assert all(chain in module.top_v() for chain in chains)
        assert root._dl0._l0.top_v(1) is root._dl0.v
        assert root._dl0._l0.top_v(2) is root.v
        assert root._dl0._l0.top_v(9) is root.v
        assert root._dl0.top_v(0) is root._dl0.v
        root.v = trellis.tree.map(lambda x: x * 2, root.v)
    assert root._dl0.top_v(0, flatten_key_chains=True).key_chains() == [
        "l0__b",
        "l0__w",
        "l1__b",
        "l1__w",
    ]


def test_top_module(backend, xp, x64):
    check_vectors("top_module", xp, backend, x64)
    root = Nested(3, 4)
    assert all(module.top_mod() is root for module in seven(root))
    leaf = root._dl1._l0
    assert leaf.top_mod(0) is leaf
    assert leaf.top_mod(1) is root._dl1
    assert leaf.top_mod(2) is root
    assert leaf.top_mod(9) is root
    assert root.top_mod(5) is root
    with raises(ValueError):
        leaf.top_mod(-1)
    assert leaf.mod_with_top_mod_key_chain() == ["Nested", "dl1", "l0"]
    assert leaf.mod_with_top_mod_key_chain(depth=1) == ["DoubleLinear", "l0"]


def test_v_with_top_v_key_chains(backend, xp, x64):
    check_vectors("v_with_top_v_key_chains", xp, backend, x64)
    root = Nested(3, 4)
    for _ in range(2):
        ret = root._dl0.v_with_top_v_key_chains()
        assert list(ret) == ["dl0"]
        assert ret.dl0 is root._dl0.v
        for outer, dl in (("dl0", root._dl0), ("dl1", root._dl1)):
            for inner, layer in (("l0", dl._l0), ("l1", dl._l1)):
                ret = layer.v_with_top_v_key_chains()
                assert list(ret) == [outer]
                assert list(ret[outer]) == [inner]
                assert ret[f"{outer}/{inner}"] is layer.v
                one_up = layer.v_with_top_v_key_chains(depth=1)
                assert list(one_up) == [inner]
                assert one_up[inner] is layer.v
        assert root.v_with_top_v_key_chains() is root.v
        root.v = trellis.tree.map(lambda x: x * 2, root.v)
    flat = root._dl1._l0.v_with_top_v_key_chains(flatten_key_chains=True)
    assert list(flat) == ["dl1__l0__b", "dl1__l0__w"]
    net = ListNet(2, 2, 2)
    assert net._layers[1].v_with_top_v_key_chains().layers.v1 is net.v.layers.v1


def test_module_depth(backend, xp, x64):
    check_vectors("depth", xp, backend, x64)
    assert [module.mod_depth() for module in seven(Nested(3, 4))] == [0, 1, 1, 2, 2, 2, 2]
    assert [layer.mod_depth() for layer in ListNet(2, 2, 2)._layers] == [1, 1, 1]
    assert [layer.mod_depth() for layer in DictNet(2, 2, 2)._layers.values()] == [1, 1, 1]


def test_module_height(backend, xp, x64):
    check_vectors("height", xp, backend, x64)
    assert [module.mod_height() for module in seven(Nested(3, 4))] == [2, 1, 1, 0, 0, 0, 0]

    class Cell(trellis.Module):
        def _create_variables(self, *, device, dtype):
            return {
                "input": {"w": trellis.ones((2, 8)), "b": trellis.ones((8,))},
                "state": {"w": trellis.ones((2, 8))},
            }

    assert Cell().v.key_chains() == ["input/b", "input/w", "state/w"]
    assert Cell().mod_height() == 0

    class Holder(trellis.Module):
        def __init__(self):
            self._free = NoneAttr()
            super().__init__()

    assert Holder().mod_height() == 1
    assert Holder()._free.mod_height() == 0


def test_sub_modules(backend, xp, x64):
    check_vectors("sub_modules", xp, backend, x64)
    root = Nested(3, 4)
    for _ in range(2):
        assert root.sub_mods(depth=0) is root.v
        one = root.sub_mods(depth=1)
        assert list(one) == ["dl0", "dl1"]
        assert one.dl0 is root._dl0.v
        assert one.dl1 is root._dl1.v
        both = root.sub_mods()
        assert both.dl0.l0 is root._dl0._l0.v
        assert both.dl1.l1 is root._dl1._l1.v
        root.v = trellis.tree.map(lambda x: x * 2, root.v)
    assert list(ListNet(2, 2, 2).sub_mods()) == ["layers_v0", "layers_v1", "layers_v2"]
    assert root.sub_mods(show_v=False) == {"dl0": {"l0": "", "l1": ""}, "dl1": {"l0": "", "l1": ""}}
    assert root.sub_mods(show_v=False, depth=0) == ""
    assert root.sub_mods(flatten_key_chains=True).key_chains()[0] == "dl0__l0__b"
    assert root._dl0._l0.sub_mods() is root._dl0._l0.v

    class Backwards(trellis.Module):
        def __init__(self):
            self.z = Linear(2, 2)
            self._a = [NoneAttr(), {"k": Linear(2, 2)}]
            super().__init__()

    assert list(Backwards().sub_mods()) == ["z", "a_v0", "a_v1_k"]
    assert Backwards().sub_mods().key_chains() == Backwards().sub_mods().key_chains()


# Tracking
# ------------------------------------------------------------------------------------------------


def expected_returns(root, x):
    """What each module of `Nested` returns, by key, recomputed with the children alone."""
    rets = {}
    h = x
    for key, dl, numbers in ((" DoubleLinear_0", root._dl0, (0, 1)),
                             (" DoubleLinear_1", root._dl1, (2, 3)),
                             (" DoubleLinear_1", root._dl1, (2, 3))):  # fmt: skip
        for number, layer in zip(numbers, (dl._l0, dl._l1), strict=True):
            h = layer(h)
            rets.setdefault(f"  Linear_{number}", []).append(trellis.to_numpy(h))
        rets.setdefault(key, []).append(trellis.to_numpy(h))
    return rets


def test_module_track_submod_rets(backend, xp, x64):
    check_vectors("module_track_submod_rets", xp, backend, x64)
    root = Nested(3, 4)
    x = inputs(backend, 3)
    wanted = expected_returns(root, x)
    assert [m.get_mod_key() for m in seven(root)] == [
        "Nested_0", " DoubleLinear_0", " DoubleLinear_1", "  Linear_0", "  Linear_1", "  Linear_2",
        "  Linear_3"
    ]  # fmt: skip
    assert root._dl1._l0.get_mod_key(top_mod=root._dl1) == "  Linear_0"
    ones = [" DoubleLinear_0", " DoubleLinear_1"]
    for options, keys in (
        ({"submod_depth": 1}, ones),
        ({"submod_depth": 2}, list(wanted)),
        ({}, list(wanted)),
        ({"submods_to_track": [root._dl1, root._dl0._l0]}, ["  Linear_0", " DoubleLinear_1"]),
    ):
        root(x, track_submod_rets=True, **options)
        rets = root.submod_rets
        assert sorted(rets) == sorted(keys)
        for module in seven(root):
            key = module.get_mod_key()
            assert (key in rets) == (key in keys)
        assert len(rets[" DoubleLinear_1"]) == 2
        for key in keys:
            assert len(rets[key]) == len(wanted[key])
            for got, want in zip(rets[key], wanted[key], strict=True):
                assert type(got) is np.ndarray
                np.testing.assert_allclose(got, want, rtol=1e-6)
    # Modules are recorded when they return: in the order of their first return.
    root(x, track_submod_rets=True)
    assert list(root.submod_rets)[:3] == ["  Linear_0", "  Linear_1", " DoubleLinear_0"]
    root(x)
    assert list(root.submod_rets) == []

    # Also while it is being differentiated, and with other variables.
    doubled = trellis.tree.map(lambda w: w * 2, root.v)
    trellis.grad(lambda v: trellis.mean(root(x, v=v, track_submod_rets=True)))(doubled)
    first = trellis.to_numpy(root._dl0._l0(x, v=doubled.dl0.l0))
    np.testing.assert_allclose(root.submod_rets["  Linear_0"][0], first, rtol=1e-6)

    with raises(ValueError):
        root(inputs(backend, 5), track_submod_rets=True)
    root(x)
    assert list(root.submod_rets) == []
    assert list(root._dl0.submod_rets) == []

    class Pair(trellis.Module):
        def _forward(self, x):
            return x, {"twice": x * 2}

    class Outer(trellis.Module):
        def __init__(self):
            self._pair = Pair()
            super().__init__()

        def _forward(self, x):
            return self._pair(x)[1]["twice"]

    module = Outer()
    module(x, track_submod_rets=True)
    noted = module.submod_rets[" Pair_0"][0]
    assert isinstance(noted, tuple)
    np.testing.assert_allclose(noted[1]["twice"], 2 * noted[0])


def test_module_check_submod_rets(backend, xp, x64):
    check_vectors("module_check_submod_rets", xp, backend, x64)
    root = Nested(3, 4)
    x = inputs(backend, 3)
    for options in ({"submod_depth": 1}, {}, {"submods_to_track": [root._dl1, root._dl0._l0]}):
        root(x, track_submod_rets=True, **options)
        rets = {key: list(value) for key, value in root.submod_rets.items()}
        root(x, expected_submod_rets=rets, **options)
        assert sorted(root.submod_rets) == sorted(rets)
        root(
            x,
            expected_submod_rets={
                k: {"val": v, "atol": 1e-6, "rtol": 1e-6} for k, v in rets.items()
            },
            **options,
        )
        lists = {
            k: {"val": v, "atol": [1e-6] * len(v), "rtol": [None] * len(v)} for k, v in rets.items()
        }
        root(x, expected_submod_rets=Container(lists), **options)
        root(x, expected_submod_rets={k.strip(): v for k, v in rets.items()}, **options)
        native = {k: [trellis.asarray(r, backend=backend) for r in v] for k, v in rets.items()}
        root(x, expected_submod_rets=native, **options)
    key = " DoubleLinear_1"
    good = rets[key]
    off = [good[0], good[1] + np.float32(1e-3)]
    with raises(ValueError):
        root(x, expected_submod_rets={key: off})
    with raises(ValueError):
        root(x, expected_submod_rets={key.strip(): off})
    root(x, expected_submod_rets={key: {"val": off, "atol": 1e-2}})
    root(x, expected_submod_rets={key: {"val": off, "atol": [None, 1e-2]}})
    root(x, expected_submod_rets={key: [good[0], None]})
    root(x, expected_submod_rets={key: [None, good[1]]})
    with raises(ValueError):
        root(x, expected_submod_rets={key: {"val": off, "atol": [1e-2, None]}})
    with raises(ValueError):
        root(x, expected_submod_rets={key: [good[0][..., :1], None]})
    tiny = [good[0] * np.float32(1 + 1e-6), None]
    root(x, expected_submod_rets={key: tiny})
    with raises(ValueError):
        root(x, expected_submod_rets={key: {"val": tiny, "atol": 0, "rtol": 0}})
    with raises(KeyError):
        root(x, expected_submod_rets={"Linear_9": [None]})
    # Not recorded, so not compared.
    root(x, expected_submod_rets={"  Linear_0": [good[0] + 1]}, submod_depth=1)
    with pytest.raises(ValueError, match="instead of"):
        root(x, expected_submod_rets={key: off})
    root(x)


def order_keys(container):
    return {
        key: order_keys(value) for key, value in container.items() if isinstance(value, Container)
    }


def test_module_track_submod_call_order(backend, xp, x64):
    check_vectors("module_track_submod_call_order", xp, backend, x64)
    x = inputs(backend, 3)
    linears = {"l0_0": {}, "l1_0": {}}
    runs = []
    for _ in range(2):
        root = Nested(3, 4)
        runs.append([])
        for options, wanted in (
            ({"submod_depth": 1}, {"dl0_0": {}, "dl1_0": {}, "dl1_1": {}}),
            ({}, {"dl0_0": linears, "dl1_0": linears, "dl1_1": linears}),
            (
                {"submods_to_track": [root._dl1, root._dl0._l0]},
                {"dl0_0": {"l0_0": {}}, "dl1_0": {}, "dl1_1": {}},
            ),
        ):
            root(x, track_submod_call_order=True, **options)
            order = root.submod_call_order
            keys = order_keys(order)
            assert keys == {"Nested_0": wanted}
            assert [list(part) for part in keys["Nested_0"].values()] == [
                list(part) for part in wanted.values()
            ]
            assert list(keys["Nested_0"]) == list(wanted)
            leaves = trellis.tree.leaves(order)
            assert leaves
            assert all(type(leaf) is np.ndarray for leaf in leaves)
            runs[-1].append(order.key_chains())
        root(x, track_submod_call_order=True)
        for dl in ("dl0", "dl1"):
            for layer in ("l0", "l1"):
                noted = root.submod_call_order[f"Nested_0/{dl}_0/{layer}_0"]
                assert list(noted) == ["b", "w"]
                for leaf in "bw":
                    np.testing.assert_array_equal(
                        noted[leaf], trellis.to_numpy(root.v[f"{dl}/{layer}/{leaf}"])
                    )
        root(x, track_submod_call_order=True, submod_depth=1)
        noted = root.submod_call_order["Nested_0/dl1_1"]
        assert list(noted) == ["l0__b", "l0__w", "l1__b", "l1__w"]
        np.testing.assert_array_equal(noted["l1__w"], trellis.to_numpy(root.v.dl1.l1.w))
        root(x)
        assert list(root.submod_call_order) == []
    assert runs[0] == runs[1]


def test_every_row_is_here():
    rows = """module_training module_training_with_duplicate module_w_dict_training
        module_w_list_training module_w_partial_v module_w_none_attribute
        with_custom_var_structure top_module top_variables
        v_with_top_v_key_chains module_depth module_height sub_modules module_track_submod_rets
        module_check_submod_rets module_track_submod_call_order""".split()
    for row in rows:
        assert "backend" in inspect.signature(globals()[f"test_{row}"]).parameters


def test_parts_of_another_backend_are_refused(backend):
    if backend == "numpy":
        pytest.skip("the part is from NumPy here")
    part = trellis.nn.Linear(2, 2, backend="numpy")
    with pytest.raises(trellis.errors.MixedBackendsError, match="'layers/v0/b' is from numpy"):
        trellis.nn.Sequential(part, backend=backend)
