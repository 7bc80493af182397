import numpy as np
from scipy.special import expit

from trellis import functional as F

from ..case import Case, numbers

x, h, c = numbers(2, 3, 2), numbers(2, 2, seed=1), numbers(2, 2, seed=2)


def weights(gates):
    return numbers(2, 2 * gates, seed=3), numbers(2, 2 * gates, seed=4)


def lstm(x, h, c, kernel, recurrent):
    hs = []
    for t in range(x.shape[1]):
        i, f, g, o = np.split(x[:, t] @ kernel + h @ recurrent, 4, axis=-1)
        c = expit(f) * c + expit(i) * np.tanh(g)
        h = expit(o) * np.tanh(c)
        hs.append(h)
    return np.stack(hs, 1), h, c


def gru(x, h, kernel, recurrent):
    hs = []
    for t in range(x.shape[1]):
        (a1, a2, a3), (c1, c2, c3) = [
            np.split(part, 3, axis=-1) for part in (x[:, t] @ kernel, h @ recurrent)
        ]
        reset, update = expit(a1 + c1), expit(a2 + c2)
        h = (1 - update) * np.tanh(a3 + reset * c3) + update * h
        hs.append(h)
    return np.stack(hs, 1), h


def rnn(x, h, kernel, recurrent):
    hs = []
    for t in range(x.shape[1]):
        h = np.tanh(x[:, t] @ kernel + h @ recurrent)
        hs.append(h)
    return np.stack(hs, 1), h


def flat(result):
    hs, (h, c) = result
    return hs, h, c


lengths, holes = np.array([3, 1]), np.array([[True, False, True], [False, True, True]])


def padded(formula, is_mask, states):
    """The formula, row by row, over the real steps alone; zeros at the others."""

    def expected(x, *rest):
        given = rest[-1]
        keep = given if is_mask else np.arange(x.shape[1]) < np.asarray(given)[:, None]
        hs = np.zeros((*x.shape[:2], 2))
        last = [[] for _ in range(states)]
        for i in range(x.shape[0]):
            first = [state[i : i + 1] for state in rest[:states]]
            found = formula(x[i : i + 1, keep[i]], *first, *rest[states:-1])
            hs[i, keep[i]] = found[0][0]
            for kind, state in zip(last, found[1:], strict=True):
                kind.append(state[0])
        return hs, *[np.stack(kind) for kind in last]

    return expected


def padded_call(name, is_mask):
    def call(*args):
        given = {"mask" if is_mask else "lengths": args[-1]}
        return getattr(F, name)(*args[:-1], **given)

    return call


def padded_case(name, formula, states, is_mask):
    gates = {"lstm_update": 4, "gru_update": 3, "rnn_update": 1}[name]
    return Case(
        f"functional.{name}",
        (x, *[h, c][:states], *weights(gates), holes if is_mask else lengths),
        padded(formula, is_mask, states),
        call=padded_call(name, is_mask),
        then=flat if states == 2 else None,
        about="a mask with holes" if is_mask else "lengths",
    )


CASES = [
    Case("functional.lstm_update", (x, h, c, *weights(4)), lstm, then=flat),
    Case("functional.gru_update", (x, h, *weights(3)), gru),
    Case("functional.rnn_update", (x, h, *weights(1)), rnn),
    padded_case("lstm_update", lstm, 2, False),
    padded_case("lstm_update", lstm, 2, True),
    padded_case("gru_update", gru, 1, False),
    padded_case("rnn_update", rnn, 1, True),
]
