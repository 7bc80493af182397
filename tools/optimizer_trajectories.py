"""Trajectories of optimizers in another package, which `tests/optim/test_trajectories.py` replays.

    pip install pytorch_optimizer==4.1.0
    python tools/optimizer_trajectories.py

It writes `tests/optim/trajectories.json`. The package is not needed by any test.
"""

import importlib.metadata
import json
from pathlib import Path

import numpy as np
import pytorch_optimizer
import torch

PATH = Path(__file__).parents[1] / "tests" / "optim" / "trajectories.json"
STEPS, SHAPE = 5, (2, 3)

# The options of the package, and whether a step is given estimates of the curvature.
CASES = {
    "Adan": ({"lr": 0.05, "betas": (0.9, 0.8, 0.95), "eps": 1e-8}, False),
    "SophiaH": (
        {"lr": 0.05, "betas": (0.9, 0.8), "p": 1.0, "eps": 0.05, "weight_decay": 0.1,
         "weight_decouple": True},
        True,
    ),
    "Shampoo": ({"lr": 0.1, "momentum": 0.0, "matrix_eps": 0.1}, False),
}  # fmt: skip


def main() -> None:
    random = np.random.default_rng(0)
    start = random.normal(size=SHAPE)
    grads = random.normal(size=(STEPS, *SHAPE))
    curvature = random.uniform(0.1, 2, size=(STEPS, *SHAPE))
    found = {}
    for name, (options, is_measured) in CASES.items():
        w = torch.nn.Parameter(torch.tensor(start))
        optimizer = getattr(pytorch_optimizer, name)([w], **options)
        path = []
        for i in range(STEPS):
            w.grad = torch.tensor(grads[i])
            optimizer.step(**({"hessian": [torch.tensor(curvature[i])]} if is_measured else {}))
            path.append(w.detach().numpy().tolist())
        found[name] = path
    version = importlib.metadata.version("pytorch_optimizer")
    text = json.dumps(
        {
            "package": f"pytorch_optimizer {version}",
            "start": start.tolist(),
            "grads": grads.tolist(),
            "curvature": curvature.tolist(),
            "paths": found,
        },
        indent=1,
    )
    PATH.write_text(text + "\n")


if __name__ == "__main__":
    main()
