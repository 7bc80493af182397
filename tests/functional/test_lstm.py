"""The row `lstm_update`: the kit's test on all four backends, and torch's layer as an oracle."""

import numpy as np
import pytest

from trellis.conformance.test_lstm import *  # noqa: F403
from trellis.conformance.test_lstm import update
from trellis.testing import assert_close


def test_lstm_equals_torch(array, backend):
    """torch.nn.LSTM is the oracle for gate order and biases."""
    torch = pytest.importorskip("torch")
    oracle = torch.nn.LSTM(3, 4, batch_first=True)
    x = np.random.default_rng(0).standard_normal((2, 6, 3)).astype("float32")
    with torch.no_grad():
        hs, (h, c) = oracle(torch.from_numpy(x))
    w = {name: p.detach().numpy() for name, p in oracle.named_parameters()}
    zero = np.zeros((2, 4), "float32")
    got = update(*[array(a) for a in (x, zero, zero, w["weight_ih_l0"].T.copy(),
                                      w["weight_hh_l0"].T.copy(),
                                      w["bias_ih_l0"], w["bias_hh_l0"])])  # fmt: skip
    wanted = hs.numpy(), (h[0].numpy(), c[0].numpy())
    assert_close(got, wanted, backend=backend, rtol=1e-4, atol=1e-5)
