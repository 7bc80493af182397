"""A pytest plugin that runs the tests of SciPy and scikit-learn over arrays of one framework.

    pytest -p wrapped_arrays --arrays tensorflow -m array_api_backends --pyargs scipy.fft

`--arrays NAME` replaces the array libraries of the tests by the namespace of wrapped arrays
(`trellis.array_api.wrap`) of that backend; `--arrays native:NAME` keeps the framework's own arrays.
No file of SciPy or scikit-learn is changed. In SciPy the fixture `xp` gives the namespace, in
scikit-learn a list of names of modules. `tools/outcomes.py` counts the outcomes.
"""

import json
import os
import re
import sys

import pytest

# What the native namespaces are called.
NATIVE = {"numpy": "numpy", "torch": "torch", "jax": "jax.numpy"}
# The library of SciPy's list whose place is taken, and the one whose tests are run: some are marked
# as not for array-api-strict, because of what that library refuses on purpose.
STANDARD, LIKE = "array_api_strict", "torch"
WRAPPED = "trellis_wrapped_arrays"


def pytest_addoption(parser):
    parser.addoption("--arrays", required=True, help="NAME, or native:NAME")


def pytest_configure(config):
    given = config.getoption("--arrays")
    kind, _, name = given.rpartition(":")
    is_native = kind == "native"
    # SciPy and scikit-learn read it when they are imported.
    os.environ["SCIPY_ARRAY_API"] = json.dumps([NATIVE[name] if is_native else STANDARD])
    if name == "jax":  # in 64 bits, as the tests expect
        import jax

        jax.config.update("jax_enable_x64", True)
    namespace = None if is_native else _namespace(name)
    config.stash[_NAMESPACE] = namespace
    if any(["sklearn" in str(arg) for arg in config.args]):
        os.environ["SCIPY_ARRAY_API"] = "1"  # scikit-learn asks for this very value
        _for_sklearn(NATIVE[name] if is_native else WRAPPED)


def pytest_collection_modifyitems(items):
    for item in items:  # one row of a board, whatever the arrays
        row = item.nodeid.partition("::")[2]
        item.add_marker(pytest.mark.board(row=_LIBRARY.sub("xp", row, count=1)))


# The word in the id of a test that says which library it is run with, and on which device.
_LIBRARY = re.compile(
    rf"(?<=[\[-])({STANDARD}|{WRAPPED}|torch|jax\.numpy|numpy)(-cpu|-None)?(?=[]-])"
)
_NAMESPACE = pytest.StashKey()


def _namespace(name):
    """That of wrapped arrays."""
    import trellis
    from trellis.array_api.array import namespace_over

    trellis.set_default_dtype("float64")
    found = namespace_over(trellis.namespace(name))
    sys.modules[WRAPPED] = found
    return found


# SciPy and array-api-extra ------------------------------------------------------------------------


@pytest.hookimpl(tryfirst=True)
def pytest_fixture_setup(fixturedef, request):
    """The fixtures of the tests that give an array library give the namespace of wrapped arrays."""
    namespace = request.config.stash[_NAMESPACE]
    if namespace is None:
        return None
    if fixturedef.argname == "xp" and hasattr(request, "param"):
        if request.param.__name__ == STANDARD:  # in SciPy it is a parameter
            request.param = _Library(namespace)
        return None
    make = _FIXTURES.get(fixturedef.argname)
    if make is None or fixturedef.baseid.rpartition("/")[2] not in ("", "scipy", "main"):
        return None
    found = make(namespace)
    fixturedef.cached_result = (found, fixturedef.cache_key(request), None)
    return found


_FIXTURES = {
    # SciPy 1.17 adds to a list; since 2025.12 the standard has a tuple.
    "devices": lambda xp: [*xp.__array_namespace_info__().devices(), None],
    # Those of array-api-extra.
    "xp": lambda xp: xp,
    "device": lambda xp: xp.__array_namespace_info__().default_device(),
}


class _Library:
    """What SciPy takes for a module, with the name that marks of tests are about."""

    __name__ = LIKE

    def __init__(self, namespace):
        self._namespace = namespace

    def __getattr__(self, name):
        return getattr(self._namespace, name)


# scikit-learn -------------------------------------------------------------------------------------


def _for_sklearn(name):
    """The tests of array libraries are parametrized by this list, when they are imported."""
    from sklearn.utils import _array_api

    def combinations(include_numpy_namespaces=True):
        if name != "numpy" or include_numpy_namespaces:
            device = "cpu" if name == "torch" else None
            yield from [(name, device, "float64"), (name, device, "float32")]

    def namespaces(include_numpy_namespaces=True):
        if name != "numpy" or include_numpy_namespaces:
            yield name

    _array_api.yield_namespaces = namespaces
    _array_api.yield_namespace_device_dtype_combinations = combinations
