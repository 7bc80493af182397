"""The seven names of tier 0, one after the other, and whether all functions can be called."""

import numpy as np
import pytest

import trellis
from trellis import errors

from .._core.abilities import Abilities
from .._core.dtypes import FLOATING, NUMERIC
from .signatures import INTERFACE, mismatch, provided

SEVEN = ("TYPES", "ARRAY_TYPES", "ABILITIES", "from_numpy", "to_numpy", "vjp", "custom_vjp")
NEEDED = ("bool", "int32", "float32")
X = np.array([[0.5, -1.0, 2.0], [3.0, 0.25, -0.75]], "float32")


@pytest.mark.parametrize("name", SEVEN)
def test_tier_0_is_defined(name, xp):
    assert name in vars(xp), f"the backend does not define {name}"


def test_tier_0_types(xp):
    """`TYPES`: the framework's data types by name."""
    missing = [name for name in NEEDED if name not in xp.TYPES]
    assert missing == [], "TYPES lacks what everything needs"
    assert set(xp.TYPES) <= {"bool", *NUMERIC}, "TYPES has a name that Trellis does not know"


def test_tier_0_abilities(xp):
    """`ABILITIES` says the same as `TYPES`."""
    can = xp.ABILITIES
    assert isinstance(can, Abilities)
    assert not can.has_float64 or "float64" in xp.TYPES, "say Abilities(has_float64=False)"
    assert not can.has_complex128 or "complex128" in xp.TYPES, "say Abilities(has_complex128=False)"


def test_tier_0_from_numpy(xp):
    """`from_numpy` and `ARRAY_TYPES`: arrays with a shape and a data type of the framework."""
    x = xp.from_numpy(X)
    assert type(x) in xp.ARRAY_TYPES, f"{type(x)} is not among ARRAY_TYPES"
    assert tuple(x.shape) == X.shape
    assert x.dtype == xp.TYPES["float32"]


def test_tier_0_to_numpy(xp):
    """`to_numpy`: an array of NumPy with the same numbers."""
    x = xp.to_numpy(xp.from_numpy(X))
    assert isinstance(x, np.ndarray)
    np.testing.assert_array_equal(x, X)


def test_tier_0_dispatch(backend, xp):
    """Its arrays are known by their type, and do not meet those of others."""
    x = xp.from_numpy(X)
    assert trellis.backend_of(x) == backend
    np.testing.assert_allclose(xp.to_numpy(trellis.multiply(x, x)), X * X, rtol=1e-6)


def test_tier_0_vjp(xp):
    """`vjp`: the map that it returns can be called twice."""
    outputs, aux, pull = xp.vjp(lambda xs: ([xs[0] * xs[0]], "aux"), [xp.from_numpy(X)])
    assert aux == "aux" and len(outputs) == 1
    np.testing.assert_allclose(xp.to_numpy(outputs[0]), X * X, rtol=1e-6)
    for scale in (1.0, 3.0):
        (gradient,) = pull([xp.from_numpy(np.full(X.shape, scale, "float32"))])
        np.testing.assert_allclose(xp.to_numpy(gradient), 2 * scale * X, rtol=1e-6)


def test_tier_0_vjp_of_vjp(xp):
    """`vjp` inside another one."""
    ones = xp.from_numpy(np.ones(X.shape, "float32"))

    def slope(xs):
        _, _, pull = xp.vjp(lambda ys: ([ys[0] * ys[0] * ys[0]], None), xs)
        return pull([ones]), None

    (first,), _, pull = xp.vjp(slope, [xp.from_numpy(X)])
    np.testing.assert_allclose(xp.to_numpy(first), 3 * X**2, rtol=1e-5)
    np.testing.assert_allclose(xp.to_numpy(pull([ones])[0]), 6 * X, rtol=1e-5)


def test_tier_0_custom_vjp(xp):
    """`custom_vjp`: the derivative is the one that is given, not that of the function."""
    fn = xp.custom_vjp(lambda xs: [xs[0] * xs[0]], lambda xs, ys, upstream: [upstream[0] * xs[0]])
    outputs, _, pull = xp.vjp(lambda xs: (fn(xs), None), [xp.from_numpy(X)])
    np.testing.assert_allclose(xp.to_numpy(outputs[0]), X * X, rtol=1e-6)
    (gradient,) = pull([xp.from_numpy(np.full(X.shape, 2.0, "float32"))])
    np.testing.assert_allclose(xp.to_numpy(gradient), 2 * X, rtol=1e-6)


def test_every_type_goes_there_and_back(xp, x64):
    """Also arrays without axes, and without elements."""
    with x64():
        for name in xp.TYPES:
            for values in (np.arange(6).reshape(2, 3), np.array(1), np.zeros((2, 0))):
                x = values.astype(trellis.namespace("numpy").TYPES[name])
                found = xp.to_numpy(xp.from_numpy(x, copy=True))
                assert found.dtype == x.dtype and found.shape == x.shape, name
                np.testing.assert_array_equal(found.astype("complex64"), x.astype("complex64"))


def test_backend_provides_the_interface(xp):
    """Functions of ours have the signature of the interface; others take the same calls."""
    wrong = {}
    for name, expected in INTERFACE.items():
        if xp.MADE.get(name) == "missing" or (name in FLOATING and name not in xp.TYPES):
            continue
        try:
            value = provided(xp, name)
        except AttributeError:
            wrong[name] = "it is missing"
            continue
        reason = None if expected is None else mismatch(value, expected)
        if reason is not None:
            wrong[name] = reason
    assert wrong == {}


# It opens sockets between processes, which few frameworks do.
MAY_BE_MISSING = {"connect_ranks"}


def test_nothing_is_missing(xp):
    assert {name for name, how in xp.MADE.items() if how == "missing"} <= MAY_BE_MISSING


def test_foreign_arrays_are_refused(backend, xp):
    if backend == "numpy":
        pytest.skip("the foreign array is from NumPy here")
    with pytest.raises(errors.MixedBackendsError, match="to_backend"):
        trellis.maximum(xp.from_numpy(X), X)
