"""What is so unless somebody says otherwise: abilities, descriptions, data types, constants."""

import dataclasses

import numpy as np
import pytest

import trellis
from trellis import tree
from trellis._core import dispatch, dtypes, threefry
from trellis._core.abilities import Abilities
from trellis._core.dtypes import (
    DType,
    fitted,
    is_kind,
    name_of,
    names_of_kind,
    of_numbers,
    promote_or_raise,
    result_name,
    with_scalar,
)
from trellis._core.installed import BackendInfo
from trellis._core.packages import Description
from trellis._core.spelling import meant, misfit
from trellis._core.versions import NEWEST_TESTED, lowest, numbers, require
from trellis.errors import (
    ArgumentError,
    ArgumentTypeError,
    BackendNotInstalledError,
    DtypeError,
)


def test_a_plain_array_library():
    assert dataclasses.asdict(Abilities()) == {
        "is_host": False,
        "has_compiler": False,
        "compiles_loops": False,
        "has_fast_half": False,
        "has_small_types": False,
        "is_always_64_bit": True,
        "has_wide_unsigned": True,
        "has_float64": True,
        "has_complex128": True,
        "has_boolean_masks": True,
        "has_index_arrays": True,
        "can_shard": False,
        "compiles_collectives": False,
        "joins_first": False,
        "needs_addresses": True,
        "asks_for_arrays": False,
        "max_dimensions": 64,
    }
    assert all([type(x) in (bool, int) for x in dataclasses.asdict(Abilities()).values()])


def test_a_backend_without_a_problem():
    described = Description("a", "no_such_module", "c", "d", dict)
    assert described.problem == "" and not described.is_imported()
    assert BackendInfo("a", "b", "c", "d").problem == ""


def test_what_is_known_of_numpy():
    info = trellis.backends("numpy")
    trellis.zeros(1, backend="numpy")
    assert (info.name, info.framework, info.distribution) == ("numpy", "numpy", "numpy")
    assert info.package == f"trellis-ml {trellis.__version__}" and info.problem == ""
    assert info.is_installed and info.is_loaded and info.version == np.__version__
    assert trellis.backends("jax").distribution == "trellis-ml[jax]"
    assert info.made("functional.linear") == "native" and info.made("svd") == "native"
    assert sum(info.counts().values()) == len(dispatch.load("numpy").MADE)
    with pytest.raises(ArgumentError, match=r"no function 'tanhh'.*Did you mean 'tanh'\?"):
        info.made("tanhh")
    with pytest.raises(ArgumentError, match="Unknown backend 'nothing'"):
        trellis.backends("nothing")
    gone = BackendInfo("none", "no_such_module.core", "no-such-thing[x]", "p")
    assert not gone.is_installed and not gone.is_loaded and gone.version == ""
    assert BackendInfo("n", "no_such_module", "numpy[extra]", "p").version == np.__version__
    # The package of another name that brings the module, not the one that asks for it.
    assert BackendInfo("n", "_pytest", "trellis-ml[n]", "p").version == pytest.__version__
    assert BackendInfo("n", "no_such_module", "trellis-ml[n]", "p").version == ""


def test_whoever_asks_is_told_of_backends(monkeypatch):
    monkeypatch.setattr(dispatch, "_told", [])
    told = []
    dispatch.tell_of_backends(told.append)
    assert dispatch.load("numpy") in told
    told.clear()
    numpy = dispatch.load("numpy")
    dispatch.register(numpy, ())
    assert told == [numpy]


def test_what_belongs_to_no_backend():
    for x, kind in ((3, "int"), ("numpy", "str"), (None, "NoneType"), (True, "bool")):
        with pytest.raises(ArgumentTypeError, match=rf"expects an array, got {x!r} of type {kind}"):
            trellis.backend_of(x)


class Node:
    def __init__(self, x):
        self.x = x


def test_classes_that_are_nodes_of_pytrees(monkeypatch):
    monkeypatch.setattr(tree_module(), "_registries", [])
    monkeypatch.setattr(tree_module(), "_classes", {})
    early, late = [], []

    def flatten(node):
        return (node.x,), None, ("x",)

    def unflatten(static, children):
        return Node(*children)

    tree_module().register_nodes_with(lambda *all: early.append(all))
    tree_module().register_node(Node(1), flatten, unflatten)
    tree_module().register_node(Node(2), flatten, unflatten)  # nothing new
    tree_module().register_nodes_with(late_register := lambda *all: late.append(all))
    tree_module().register_nodes_with(late_register)
    assert early == late == [(Node, flatten, unflatten)]
    found = tree.map(lambda x: 10 * x, {"a": Node(3)})
    assert found["a"].x == 30 and tree.key_chains({"a": Node(3)}) == ["a/x"]


def tree_module():
    from trellis._core import tree as module

    return module


def test_names_of_data_types():
    assert name_of("int8") == "int8" and name_of(np.dtype("int8")) == "int8"
    assert name_of(np.float64) == "float64" and name_of(int) == "int64"
    assert (
        name_of(float) == "float32" and name_of(complex) == "complex64" and name_of(bool) == "bool"
    )
    with trellis.using_default_dtype("float64"):
        assert name_of(float) == "float64" and name_of(complex) == "complex128"
    named = type("Named", (), {"name": "lib.float16"})()
    assert name_of(named) == "float16" and name_of(["odd"]) == "['odd']"
    assert dtypes.float32 != "float64" and not dtypes.float32 != np.dtype("float32")
    assert DType("int8") == "int8" and hash(DType("int8")) == hash("int8")
    assert repr(dtypes.bool_) == "trellis.bool"


def test_names_that_a_backend_calls_otherwise(monkeypatch):
    monkeypatch.setattr(dtypes, "_named_otherwise", {})
    odd = type("Odd", (), {"name": "FLOAT"})()
    dtypes.remember_names({"float32": odd, "int8": np.dtype("int8")})
    assert name_of(odd) == "float32" and list(dtypes._named_otherwise) == [odd]


@pytest.mark.parametrize(
    "name, scalar, result",
    [
        ("int8", 1j, "complex64"),
        ("float16", 1j, "complex64"),
        ("float64", 1j, "complex128"),
        ("complex64", 1j, "complex64"),
        ("int8", 1.5, "float32"),
        ("float16", 1.5, "float16"),
        ("complex64", 1.5, "complex64"),
        ("bool", 1, "int64"),
        ("bool", True, "bool"),
        ("int8", 1, "int8"),
        ("uint8", True, "uint8"),
    ],
)
def test_arrays_with_scalars(name, scalar, result):
    assert with_scalar(name, scalar) == result
    assert result_name((np.ones(1, name), scalar), as_name=str) == result


def test_types_of_several():
    assert result_name(("int8", np.ones(1, "uint8"), 1.5), as_name=str) == "float32"
    assert of_numbers(()) == "bool" and of_numbers((True, 1)) == "int64"
    assert of_numbers((1j, 1)) == "complex64"
    with pytest.raises(DtypeError, match="not only Python scalars"):
        result_name((1, 2.0), as_name=str)
    with pytest.raises(DtypeError, match="No data type holds both int8 and uint64"):
        promote_or_raise("int8", "uint64")
    with pytest.raises(DtypeError, match=r"^float8 is not a data type of Trellis"):
        promote_or_raise("int8", "float8")


FITTED = [
    (1.0, "int8", 1),
    (-128, "int8", -128),
    (127, "int8", 127),
    (255, "uint8", 255),
    (0, "uint8", 0),
    (2 + 0j, "int8", 2),
    (True, "int8", 1),
    (1.5, "float32", 1.5),
    (2 + 0j, "float32", 2.0),
    (3, "float32", 3),
    (2**63, "float32", float(2**63)),
    (2**63 - 1, "float32", 2**63 - 1),
    (-(2**63), "float32", -(2**63)),
    (2**64, "complex64", float(2**64)),
    (2, "bool", True),
    (0.0, "bool", False),
    (1.5, "complex64", 1.5),
    (1j, "complex64", 1j),
    ("a", "int8", "a"),
]


@pytest.mark.parametrize("value, name, result", FITTED)
def test_numbers_that_fit(value, name, result):
    found = fitted(value, name)
    assert found == result and type(found) is type(result)


@pytest.mark.parametrize(
    "value, name",
    [
        (128, "int8"),
        (-129, "int8"),
        (256, "uint8"),
        (-1, "uint8"),
        (1.5, "int8"),
        (float("nan"), "int8"),
        (float("inf"), "int8"),
        (float("-inf"), "int8"),
        (1j, "int8"),
        (1j, "float32"),
        (10**400, "float32"),
    ],
)
def test_numbers_that_do_not_fit(value, name):
    with pytest.raises(ArgumentError, match=rf"does not fit into {name}"):
        fitted(value, name)


def test_kinds_of_data_types():
    assert is_kind("int8", "integral", as_name=str) and not is_kind("bool", "integral", as_name=str)
    assert is_kind("int8", ("bool", "signed integer"), as_name=str)
    assert is_kind("bool", "bool", as_name=str) and not is_kind("int8", "bool", as_name=str)
    assert is_kind("int8", "int8", as_name=str) and not is_kind("int8", "int16", as_name=str)
    names = ["bool", "int8", "float32"]
    assert names_of_kind(names, None) == names
    assert names_of_kind(names, "numeric") == ["int8", "float32"]
    assert names_of_kind(names, ("bool", "real floating")) == ["bool", "float32"]


def test_threefry_at_known_counters():
    """The vectors that the authors of Random123 publish for Threefry-2x32 with 20 rounds."""
    full = 0xFFFFFFFF
    assert threefry.threefry((0, 0), (0, 0)) == (0x6B200159, 0x99BA4EFE)
    assert threefry.threefry((full, full), (full, full)) == (0x1CB996FC, 0xBB002BE7)
    key, count = (0x13198A2E, 0x03707344), (0x243F6A88, 0x85A308D3)
    assert threefry.threefry(key, count) == (0xC4923A9C, 0x483DF7A0)
    assert threefry.seed_words(5) == (0, 5) and threefry.seed_words(2**33 + 1) == (2, 1)
    assert threefry.fold_in_words(key, 2**32 + 7) == threefry.threefry(key, (0, 7))


def test_rounds_of_sorting():
    assert [threefry.sorting_rounds(n) for n in (0, 1, 2, 1625, 1626, 10**6)] == [0, 0, 1, 1, 2, 2]


def test_words_that_were_meant():
    theirs = {"dim": ("axis", "axes")}
    assert (
        meant("dim", ["axes", "axis"], theirs) == "axis"
        and meant("dim", ["axes"], theirs) == "axes"
    )
    assert meant("axs", ["axis"], {}) == "axis" and meant("zzz", ["axis"], {}) is None


def test_calls_that_do_not_fit():
    def fn(self, x, *rest, axis=0): ...

    assert misfit(fn, (1, 2, 3), {"axis": 1}) is None
    unknown, known, words = misfit(fn, (1, 2), {"dim": 1, "axis": 0})
    assert (unknown, known) == (["dim"], ["x", "axis"]) and "dim" in words


def test_versions_as_numbers():
    assert numbers("2.13.0+cpu") == (2, 13, 0) and numbers("2.22.0-rc0") == (2, 22, 0)
    assert numbers("0.12.0.1") == (0, 12, 0, 1) and numbers("unknown") == ()
    assert set(NEWEST_TESTED) == set(dispatch.BACKENDS)


def test_versions_that_are_too_old(monkeypatch):
    from trellis._core import versions

    floor = lowest("numpy")
    assert floor == "2.2" and lowest("nump") is None and lowest("no-such-package") is None
    monkeypatch.setattr(np, "__version__", "2.2.0")
    require("numpy")
    monkeypatch.setattr(np, "__version__", "2.1.9")
    with pytest.raises(
        BackendNotInstalledError, match=r"needs numpy 2\.2 or newer, and 2\.1\.9 is"
    ):
        require("numpy")
    monkeypatch.setattr(versions, "lowest", lambda package: None)
    require("numpy")
