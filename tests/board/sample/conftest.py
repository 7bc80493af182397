import pytest


@pytest.fixture(params=["numpy", "torch"])
def backend(request):
    return request.param
