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
    """The case gives its outputs to the suite's own tolerances, or what the tables say: that is
    shown as an expected failure with its reason, and a case that leaves its table fails."""
    case = load(cache_of(config), name)
    model = onnx.ModelProto.FromString(case.model)
    refused = refusal(model, name, backend)
    with x64():
        if refused:
            with pytest.raises(NotSupportedError):
                outputs_of(model, case.inputs, backend)
            pytest.xfail(f"refused: {refused}")
        found = outputs_of(model, case.inputs, backend)
    rounded = reason(ROUNDED, name) or reason(ROUNDED_BY.get(backend, {}), name)
    if rounded:
        with pytest.raises(AssertionError, match="Not equal to tolerance"):
            compare(found, case, is_random=False)
        pytest.xfail(f"other rounding: {rounded}")
    compare(found, case, is_random=any([word in name for word in RANDOM]))


def refusal(model, name, backend):
    """Why a case is refused, or None."""
    types = types_of(model)
    if any([entry.domain == "ai.onnx.ml" for entry in model.opset_import]):
        return "classic machine learning (ai.onnx.ml) is out of scope"
    if STRING in types:
        return "strings are not arrays"
    if None in types:
        return "sequences and optional values are not arrays"
    if backend != "numpy" and types & SMALL_TYPES:
        return f"{backend} does not compute with types of 2 to 8 bits"
    return reason(REFUSED, name)


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
