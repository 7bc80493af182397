"""Data and checks of the tests."""

import numpy as np
import pytest


def make_data():
    data = np.ones(3)
    assert data.shape == (3,)
    np.testing.assert_allclose(data, 1)
    return data


def check_data(data):
    assert data.shape == (3,)
    return data


@pytest.fixture
def checker():
    def about(backend):
        assert backend

    return about
