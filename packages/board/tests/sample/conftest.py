import pytest


@pytest.fixture(
    params=[pytest.param(b, marks=pytest.mark.xdist_group(b)) for b in ("numpy", "torch")]
)
def backend(request):
    return request.param
