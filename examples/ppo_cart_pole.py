"""Proximal policy optimization learns to balance a pole on a cart.

Many carts run side by side; after every round, the actions that did better than expected become
likelier, but not by more than the clipping allows (Schulman and others, 2017).

python examples/ppo_cart_pole.py [numpy | jax | torch | tensorflow] [picture.svg]
"""

import sys

import numpy as np

import trellis
from trellis import functional as F
from trellis import nn

CARTS, ROUND = 32, 64


class Carts:
    """Carts with poles, by the equations of Barto, Sutton and Anderson (1983)."""

    def __init__(self):
        self._random = np.random.default_rng(0)
        self.state = self._begin(CARTS)
        self.age = np.zeros(CARTS)

    def _begin(self, n):
        return self._random.uniform(-0.05, 0.05, (n, 4))

    def step(self, right):
        """Push all carts; returns which fell, and how old these were."""
        _, speed, angle, turn = self.state.T
        force = np.where(right, 10.0, -10.0)
        push = (force + 0.05 * turn**2 * np.sin(angle)) / 1.1
        bend = (9.8 * np.sin(angle) - np.cos(angle) * push) / (
            0.5 * (4 / 3 - 0.1 * np.cos(angle) ** 2 / 1.1)
        )
        pull = push - 0.05 * bend * np.cos(angle) / 1.1
        change = np.stack([speed, pull, turn, bend], axis=1)
        self.state = self.state + 0.02 * change
        self.age += 1
        fell = (abs(self.state[:, 0]) > 2.4) | (abs(self.state[:, 2]) > 0.2095) | (self.age >= 500)
        ages = self.age[fell]
        self.state[fell], self.age[fell] = self._begin(fell.sum()), 0
        return fell, ages


class Player(trellis.Module):
    """Scores of both actions, and how much reward is expected."""

    def __init__(self, **options):
        self._body = nn.Sequential(nn.Linear(4, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh())
        self._policy, self._value = nn.Linear(64, 2), nn.Linear(64, 1)
        super().__init__(**options)

    def _forward(self, x):
        h = self._body(x)
        return F.log_softmax(self._policy(h)), self._value(h)[..., 0]


def advantages(values, fell, last, gamma=0.98, mix=0.95):
    """How much better each action was than expected: generalized advantage estimation."""
    found, ahead = np.zeros_like(values), np.zeros(CARTS)
    for t in reversed(range(ROUND)):
        later = last if t == ROUND - 1 else values[t + 1]
        surprise = 1.0 + gamma * later * ~fell[t] - values[t]
        ahead = surprise + gamma * mix * ahead * ~fell[t]
        found[t] = ahead
    return found


def main(backend="numpy", picture=None, steps=60):
    trellis.seed(0)
    model, carts = Player(backend=backend), Carts()
    optimizer = trellis.optim.Adam(lr=3e-3)
    v, state, curve, ages = model.v, optimizer.init(model.v), [], [20.0]
    look = trellis.compile(lambda v, x: model(x, v=v))

    @trellis.compile
    def update(v, state, x, actions, old, gain, target):
        def loss(v):
            scores, value = model(x, v=v)
            chosen = trellis.take_along_axis(scores, actions[:, None], axis=1)[:, 0]
            ratio = trellis.exp(chosen - old)
            better = trellis.minimum(ratio * gain, trellis.clip(ratio, 0.8, 1.2) * gain)
            entropy = -trellis.sum(trellis.exp(scores) * scores, axis=-1)
            return trellis.mean(0.5 * (value - target) ** 2 - better - 0.01 * entropy)

        value, grads = trellis.value_and_grad(loss)(v)
        v, state = optimizer.update(v, grads, state)
        return v, state, value

    def native(x, dtype="float32"):
        return trellis.to_backend(np.asarray(x, dtype), backend)

    draws = np.random.default_rng(1)
    for _ in range(steps):
        rows = []
        for _ in range(ROUND):
            x = carts.state.astype("float32")
            scores, value = [trellis.to_numpy(part) for part in look(v, native(x))]
            action = (draws.random(CARTS) < np.exp(scores[:, 1])).astype(int)
            fell, old_ages = carts.step(action == 1)
            rows.append((x, action, scores[np.arange(CARTS), action], value, fell))
            ages += old_ages.tolist()
        xs, actions, old, values, fell = [np.stack(column) for column in zip(*rows, strict=True)]
        last = trellis.to_numpy(look(v, native(carts.state))[1])
        gain = advantages(values, fell, last)
        target = gain + values
        gain = (gain - gain.mean()) / (gain.std() + 1e-8)
        batch = [
            part.reshape(ROUND * CARTS, *part.shape[2:])
            for part in (xs, actions, old, gain, target)
        ]
        kinds = ("float32", "int32", "float32", "float32", "float32")
        batch = [native(part, kind) for part, kind in zip(batch, kinds, strict=True)]
        for _ in range(4):
            v, state, value = update(v, state, *batch)
        curve.append(float(np.mean(ages[-50:])))
    print(f"{backend}: the last 50 poles stood for {curve[-1]:.0f} steps; loss {float(value):.4f}")
    if picture is not None:
        trellis.train.draw_curves(picture, {"steps": curve}, title="Balance", y_label="steps")
    return float(value)


if __name__ == "__main__":
    main(*sys.argv[1:3])
