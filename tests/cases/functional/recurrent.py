import numpy as np
from scipy.special import expit

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


CASES = [
    Case("functional.lstm_update", (x, h, c, *weights(4)), lstm, then=flat),
    Case("functional.gru_update", (x, h, *weights(3)), gru),
    Case("functional.rnn_update", (x, h, *weights(1)), rnn),
]
