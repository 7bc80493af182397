"""A program as a user writes it: mypy and pyright accept it without a cast or an ignore.

`make types` runs both checkers over it: the annotations below fail if the type of a result is lost.
"""

import numpy as np
import numpy.typing as npt

import trellis
from trellis import Container, nn, optim
from trellis.functional import mae_loss, mse_loss
from trellis.train import R2Score, evaluate, fit

Floats = npt.NDArray[np.float32]


class Regression(trellis.Module):
    def __init__(self, width: int) -> None:
        self.hidden = nn.Linear(1, width)
        self.drop = nn.Dropout(0.1)
        self.out = nn.Linear(width, 1)
        super().__init__()

    def _forward(self, x: Floats) -> Floats:
        y: Floats = self.out(self.drop(trellis.tanh(self.hidden(x))))
        return y


def data(n: int) -> tuple[Floats, Floats]:
    x = np.linspace(-2, 2, n, dtype=np.float32).reshape(-1, 1)
    return x, trellis.sin(3 * x)


def loss_of(model: Regression, x: Floats, y: Floats, v: Container) -> Floats:
    return trellis.mean((model(x, v=v) - y) ** 2)


def train(steps: int = 5) -> float:
    trellis.seed(0)
    x, y = data(16)
    model = Regression(8)
    optimizer = optim.Adam(lr=0.01)
    v: Container = model.v
    state = optimizer.init(v)
    value = float("nan")
    for _ in range(steps):
        with trellis.random.stream(trellis.random.key(1)):
            loss, grads = trellis.value_and_grad(lambda v: loss_of(model, x, y, v))(v)
        v, state = optimizer.update(v, grads, state)
        value = float(loss)
    return value


def arrays() -> str:
    x = trellis.ones((2, 3), backend="numpy")
    shape: tuple[int, ...] = tuple(x.shape)
    total = trellis.sum(trellis.reshape(x, (-1,)))
    where: str = trellis.backend_of(x)
    nest = trellis.tree.map(trellis.exp, {"a": x})
    key = trellis.random.key(3)
    draws = trellis.random.normal(key, (4,))
    return f"{where} {shape} {float(total)} {len(nest)} {trellis.dtype(draws)}"


def fitted() -> float:
    model = Regression(4)
    named = fit(
        model, "mse", data(16), optimizer="adam", metrics=["mae", "root_mean_squared_error"]
    )
    fit(model, mse_loss, data(16), optimizer=optim.SGD(0.1), metrics=R2Score(), progress=False)
    fit(model, "huber", data(16), optimizer=optim.groups({"*": optim.Lion()}), metrics="r2")
    given = evaluate(
        model, "mae", data(16), metrics={"r2": R2Score(), "error": mae_loss, "e": "rmse"}
    )
    return named.final_loss + given["r2"]


if __name__ == "__main__":
    print(train(), arrays(), fitted())
