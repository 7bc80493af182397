import numpy as np

from ..case import STEPS, Case, numbers

scores, targets = numbers(6, 3), np.array([0, 2, 1, 1, 0, 2])
classes = np.array([0, 1, 1, 2, 0, 2])
one_hot = np.eye(3)[targets]
# The result has the default float, whatever the scores are.
FLOAT32 = {"gradient": STEPS, "dtypes": ("float32",)}


def table(predictions, targets, count):
    found = np.zeros((count, count), "int64")
    np.add.at(found, (targets, predictions), 1)
    return found


def f1(predictions, targets, count):
    hits = np.array([((predictions == c) & (targets == c)).sum() for c in range(count)])
    whole = [(predictions == c).sum() + (targets == c).sum() for c in range(count)]
    return 2 * hits / np.array(whole)


def hits(scores, targets, k):
    best = np.argsort(-scores, axis=-1)[:, :k]
    return (best == targets[:, None]).any(-1).mean()


def case(name, args, expected, **more):
    return Case(f"functional.{name}", args, expected, **more)


CASES = [
    case("accuracy", (scores, targets), lambda x, t: (x.argmax(-1) == t).mean(), **FLOAT32),
    case("accuracy", (classes, targets), np.float64(4 / 6), about="classes", **FLOAT32),
    case(
        "accuracy",
        (scores, one_hot),
        lambda x, t: (x.argmax(-1) == t.argmax(-1)).mean(),
        about="one-hot",
        **FLOAT32,
    ),
    case("top_k_accuracy", (scores, targets, 2), hits, **FLOAT32),
    case("confusion_matrix", (classes, targets, 3), table, gradient=STEPS),
    case("f1_score", (classes, targets, 3), lambda *x: f1(*x).mean(), **FLOAT32),
    case(
        "f1_score", (classes, targets, 3), f1, about="each", kwargs={"average": "none"}, **FLOAT32
    ),
]
