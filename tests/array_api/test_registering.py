"""`__array_namespace__` for the classes of frameworks that lack it, and back."""

import pytest

import trellis
from trellis.errors import ArgumentError

LACKING = {"torch": ["Tensor"], "tensorflow": ["Tensor", "Variable"]}


def test_registered_inside_a_block(backend, xp, array):
    x = array([1.0, 2.0])
    had = hasattr(x, "__array_namespace__")
    expected = () if had else tuple(f"{backend}.{name}" for name in LACKING.get(backend, ()))
    with trellis.register_with_array_api(backend) as registration:
        assert registration.patched == tuple(f"{name}.__array_namespace__" for name in expected)
        if not had:
            assert x.__array_namespace__() is xp
            assert x.__array_namespace__(api_version="2022.12") is xp
            with pytest.raises(ArgumentError, match="2099"):
                x.__array_namespace__(api_version="2099.12")
            assert expected[0] in repr(registration)
            # A second registration has nothing to do, and nothing to undo.
            trellis.register_with_array_api(backend).undo()
            assert x.__array_namespace__() is xp
    assert hasattr(x, "__array_namespace__") is had
    assert registration.patched == ()


@pytest.mark.needs("tensorflow")
def test_variables_and_traced_tensors_have_it_too():
    import tensorflow as tf

    xp = trellis.namespace("tensorflow")
    with trellis.register_with_array_api("tensorflow"):
        assert tf.Variable([1.0]).__array_namespace__() is xp
        doubled = tf.function(lambda x: x.__array_namespace__().add(x, x))
        assert doubled(tf.constant(2)).numpy() == 4
    assert not hasattr(tf.Variable([1.0]), "__array_namespace__")


@pytest.mark.needs("tensorflow")
def test_an_unknown_name_changes_nothing():
    import tensorflow as tf

    with pytest.raises(trellis.errors.TrellisError, match="bogus"):
        trellis.register_with_array_api("tensorflow", "bogus")
    assert not hasattr(tf.Tensor, "__array_namespace__")
