"""torch's own operations, by its own samples, as models: right on inputs that the conversion has
not seen, or refused by name; there is no third case."""

import warnings

import opinfo_programs as programs
import pytest

pytestmark = [pytest.mark.needs("torch"), pytest.mark.slow]

# Operations whose corner cases are easily taken for those of others.
SLICE = (
    "angle", "adaptive_avg_pool", "complex", "cummax", "div.floor_rounding", "fmax", "fmin",
    "hardshrink", "index_reduce.mean", "logcumsumexp", "median", "msort", "nanmean", "nansum",
    "nn.functional.adaptive_avg_pool2d", "nn.functional.conv1d", "nn.functional.cross_entropy",
    "nn.functional.embedding_bag", "nn.functional.hardshrink", "nn.functional.interpolate.area",
    "nn.functional.max_pool2d", "nn.functional.nll_loss", "nn.functional.softmin.with_dtype",
    "nn.functional.threshold", "norm", "scatter_reduce.mean", "scatter_reduce.sum", "searchsorted",
    "sgn", "svd", "topk", "torch.ops.aten._safe_softmax.default", "unique_consecutive", "view",
    "view_as_complex", "xlogy", "linalg.cholesky", "linalg.pinv", "linalg.solve_triangular",
    "fft.hfft2", "empty", "multinomial",
)  # fmt: skip
FEW = {"float32": 2, "int64": 1}
OF_COMPLEX_NUMBERS = ("sgn", "linalg.pinv.hermitian")


@pytest.fixture(scope="module")
def entries():
    return programs.entries()


@pytest.mark.parametrize("name", SLICE)
def test_samples_of_torch(name, entries):
    if name not in entries:
        pytest.skip(f"this version of torch has no samples of {name}")
    check(name, entries[name], "numpy", FEW)


@pytest.mark.parametrize("name", OF_COMPLEX_NUMBERS)
def test_complex_samples_of_torch(name, entries):
    check(name, entries[name], "numpy", {"complex64": 1})


@pytest.mark.long
@pytest.mark.parametrize("part", range(40))
def test_all_samples_of_torch(part, backend, entries):
    for name in sorted(entries)[part::40]:
        check(name, entries[name], backend, programs.SAMPLES)


def check(name, op, backend, samples):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of torch, about samples that are meant to be odd
        found = programs.outcomes(name, op, backend, samples)
    bad = [f"{name}, {words}: {kind}" for kind, words in found if kind not in programs.GOOD]
    assert [x for x in bad if not programs.allowed(name, x)] == []
