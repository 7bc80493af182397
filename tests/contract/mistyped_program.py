"""Calls with misspelt names: mypy and pyright reject each of them.

`make types` runs both checkers over it. An ignore below that is not needed any more, since a call
is accepted, is an error.
"""

import numpy as np

from trellis import nn, train

model = nn.Linear(1, 1)
data = (np.zeros((2, 1)), np.zeros((2, 1)))


def misspelt() -> None:
    train.fit(model, "cros_entropy", data, optimizer="adam")  # type: ignore[arg-type]
    train.fit(model, "mse", data, optimizer="adm")  # type: ignore[arg-type]
    train.fit(model, "mse", data, optimizer="adam", metrics="acuracy")  # type: ignore[arg-type]
    train.fit(model, "mse", data, optimizer="adam", metrics=["mae", "acuracy"])  # type: ignore[list-item]
    train.fit(model, "mse", data, optimizer="adam", metrics={"a": "acuracy"})  # type: ignore[dict-item]
    train.fit(model, "mse", data, optimizer=0.1)  # type: ignore[arg-type]
    train.evaluate(model, "mse", data, metrics="acuracy")  # type: ignore[arg-type]
    train.find_learning_rate(model, "mse", data, optimizer="adm")  # type: ignore[arg-type]
