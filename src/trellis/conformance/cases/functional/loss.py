import numpy as np
from scipy.special import expit, log_softmax, logsumexp

from trellis import functional as F

from ..case import Case, numbers

x, y = numbers(3, 4), numbers(3, 4, seed=1)
logits, classes = numbers(3, 4, seed=2), np.array([2, 0, 3])
chances = numbers(3, 4, low=0.1, high=0.9, seed=3)
shares = chances / chances.sum(-1, keepdims=True)
signs = np.array([[1, -1, 1, 1], [-1, -1, 1, -1], [1, 1, -1, 1]])
counts = np.array([[0, 2, 1, 3], [1, 0, 4, 2], [2, 2, 0, 1]])


def huber(d, delta):
    return np.where(abs(d) <= delta, d**2 / 2, delta * (abs(d) - delta / 2))


def picked(log_probs, targets):
    return -log_probs[np.arange(len(targets)), targets]


def cosines(a, b):
    return (a * b).sum(-1) / np.linalg.norm(a, axis=-1) / np.linalg.norm(b, axis=-1)


def binary(p, t):
    return -(t * np.log(p) + (1 - t) * np.log(1 - p))


def focal(z, t, alpha, gamma):
    p = expit(z)
    rest = np.where(t == 1, 1 - p, p)
    return np.where(t == 1, alpha, 1 - alpha) * rest**gamma * binary(p, t)


def triplet(a, b, c):
    near = np.linalg.norm(a - b + 1e-6, axis=-1)
    return np.maximum(near - np.linalg.norm(a - c + 1e-6, axis=-1) + 1, 0).mean()


def alignments(log_probs, *_):
    """CTC of the label 1 in three steps with the blank 0: all ways to write it, one by one."""
    paths = [(1, 0, 0), (0, 1, 0), (0, 0, 1), (1, 1, 0), (0, 1, 1), (1, 1, 1)]
    return -logsumexp([sum(log_probs[0, t, c] for t, c in enumerate(path)) for path in paths])


def case(name, args, expected, **more):
    return Case(f"functional.{name}", args, expected, **more)


CASES = [
    case("mse_loss", (x, y), lambda x, y: ((x - y) ** 2).mean()),
    case(
        "mse_loss",
        (x, y),
        lambda x, y: (x - y) ** 2,
        about="no reduction",
        kwargs={"reduction": "none"},
    ),
    case(
        "mse_loss",
        (x, y),
        lambda x, y: ((x - y) ** 2).sum(),
        about="sum",
        kwargs={"reduction": "sum"},
    ),
    case("mae_loss", (x, y), lambda x, y: abs(x - y).mean()),
    case("huber_loss", (x, y), lambda x, y: huber(x - y, 1.0).mean()),
    case("poisson_nll_loss", (x, counts), lambda x, t: (np.exp(x) - t * x).mean()),
    case(
        "cross_entropy",
        (logits, classes),
        lambda z, t: picked(log_softmax(z, axis=-1), t).mean(),
    ),
    case(
        "cross_entropy",
        (logits, shares),
        lambda z, t: -(t * log_softmax(z, axis=-1)).sum(-1).mean(),
        about="probabilities",
    ),
    case(
        "cross_entropy",
        (logits, classes),
        lambda z, t: (
            0.8 * picked(log_softmax(z, axis=-1), t) - 0.05 * log_softmax(z, axis=-1).sum(-1)
        ).mean(),
        about="smoothing",
        kwargs={"label_smoothing": 0.2},
    ),
    case("nll_loss", (logits, classes), lambda z, t: picked(z, t).mean()),
    case(
        "kl_divergence",
        (logits, chances),
        lambda z, t: (t * (np.log(t) - z)).sum(-1).mean(),
    ),
    case("binary_cross_entropy", (chances, shares), lambda p, t: binary(p, t).mean()),
    case(
        "binary_cross_entropy",
        (logits, shares),
        lambda z, t: binary(expit(z), t).mean(),
        about="logits",
        kwargs={"from_logits": True},
    ),
    case(
        "focal_loss",
        (logits, (signs + 1) // 2),
        lambda z, t: focal(z, t, 0.25, 2.0).mean(),
    ),
    case("hinge_loss", (x, signs), lambda x, t: np.maximum(1 - t * x, 0).mean()),
    case("cosine_similarity", (x, y), cosines),
    case("cosine_loss", (x, y), lambda x, y: (1 - cosines(x, y)).mean()),
    case(
        "cosine_loss",
        (x, y, np.array([1, -1, 1])),
        lambda x, y, t: np.where(t > 0, 1 - cosines(x, y), np.maximum(cosines(x, y), 0)).mean(),
        about="targets",
        call=lambda x, y, t: F.cosine_loss(x, y, targets=t),
    ),
    case("triplet_loss", (x, y, logits), triplet),
    case(
        "ctc_loss",
        (numbers(1, 3, 3, low=-2.0, high=-0.5), np.array([[1]]), np.array([3]), np.array([1])),
        alignments,
    ),
]
