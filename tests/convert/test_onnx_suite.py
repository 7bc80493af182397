"""ONNX's own conformance suite, case by case and framework by framework.

All 1,884 cases run with --long (`make board-onnx` shows them as a board of their own); every 40th
of them always.
"""

import numpy as np
import pytest

import trellis
from convert.onnx_cases import NAMES, SMALL_TYPES, STRING, load, types_of
from convert.onnx_refusals import RANDOM, REFUSED, ROUNDED, ROUNDED_BY, reason
from trellis import convert
from trellis.convert.module import native
from trellis.errors import NotSupportedError

onnx = pytest.importorskip("onnx", reason="the extra 'convert' is not installed")
# Some cases divide by zero on purpose, of which NumPy warns.
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


@pytest.mark.parametrize("name", NAMES[::40])
def test_every_fortieth_case(name, backend, x64, request):
    check(request.config, name, backend, x64)


@pytest.mark.long
@pytest.mark.parametrize("name", NAMES)
def test_node_case(name, backend, x64, request):
    check(request.config, name, backend, x64)


@pytest.mark.long
def test_the_names_are_those_of_the_suite(request):
    assert NAMES == list(load(cache_of(request.config)))


def check(config, name, backend, x64):
    """The case gives its outputs to the suite's own tolerances, or what the tables say."""
    case = load(cache_of(config), name)
    model = onnx.ModelProto.FromString(case.model)
    types = types_of(model)
    is_foreign = None in types or STRING in types
    is_small = backend != "numpy" and bool(types & SMALL_TYPES)
    is_out_of_scope = any([entry.domain == "ai.onnx.ml" for entry in model.opset_import])
    with x64():
        if is_foreign or is_small or is_out_of_scope or reason(REFUSED, name):
            with pytest.raises(NotSupportedError):
                outputs_of(model, case.inputs, backend)
            return
        found = outputs_of(model, case.inputs, backend)
    rounded = reason(ROUNDED, name) or reason(ROUNDED_BY.get(backend, {}), name)
    if rounded:
        with pytest.raises(AssertionError):
            compare(found, case, is_random=False)
        return
    compare(found, case, is_random=any([word in name for word in RANDOM]))


def outputs_of(model, inputs, backend):
    converted = convert.from_onnx(model, to=backend, verify=False)
    found = converted(*[x if backend == "numpy" else native(x, backend, None) for x in inputs])
    return [trellis.to_numpy(x) for x in (found if isinstance(found, tuple) else (found,))]


def compare(found, case, *, is_random):
    assert len(found) == len(case.outputs)
    for x, expected in zip(found, case.outputs):
        assert x.dtype == expected.dtype
        assert x.shape == expected.shape
        if not is_random:
            x, expected = in_numbers(x), in_numbers(expected)
            np.testing.assert_allclose(x, expected, rtol=case.rtol, atol=case.atol)


def in_numbers(x):
    """NumPy's comparison does not know the types of ml_dtypes."""
    return x.astype(np.float64) if x.dtype.kind not in "biufc" else x


def cache_of(config):
    return getattr(config, "cache", None)
