"""Five steps of optimizers against those of another package, stored with its version
(`tools/optimizer_trajectories.py`)."""

import json
from pathlib import Path

import numpy as np
import pytest

from trellis import optim
from trellis.testing import assert_close

STORED = json.loads((Path(__file__).parent / "trajectories.json").read_text())
# What the options of tools/optimizer_trajectories.py are called here.
OURS = {
    "Adan": lambda: optim.Adan(0.05, 0.9, 0.8, 0.95, 1e-8),
    "SophiaH": lambda: optim.Sophia(
        0.05, 0.9, beta2=0.8, gamma=1.0, epsilon=0.05, weight_decay=0.1
    ),
    "Shampoo": lambda: optim.Shampoo(0.1, 0.0, epsilon=0.1),
}


def test_the_package_is_named():
    assert STORED["package"] == "pytorch_optimizer 4.1.0"
    assert set(STORED["paths"]) == set(OURS)


@pytest.mark.parametrize("name", OURS)
def test_a_trajectory(name, backend, array):
    optimizer, w = OURS[name](), array(np.array(STORED["start"], "float32"))
    optimizer.state = optimizer.init(w)
    for i, expected in enumerate(STORED["paths"][name]):
        if name == "SophiaH":  # they measure before the step
            optimizer.measure(array(np.array(STORED["curvature"][i], "float32")))
        w = optimizer.step(w, array(np.array(STORED["grads"][i], "float32")))
        # Theirs is in float64, ours in float32: some roundings of numbers near 1 for each step.
        assert_close(w, np.array(expected, "float32"), rtol=2e-5, atol=2e-5)
