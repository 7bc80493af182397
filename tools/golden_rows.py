"""What is recorded for a release beside the rows of the kit: draws, initialisers, updates by index,
optimizer functions, a weight file and a training run; and what is not recorded, and why.
"""

import numpy as np

from optim_cases import OptimCase
from trellis import nn, optim, random
from trellis.nn import init
from trellis.optim import schedules

# Public names of computations that have no entry. A name that gets one leaves this list.
UNRECORDED = {
    **dict.fromkeys(
        ["apply_where", "associative_scan", "cond", "fori_loop", "scan", "switch", "while_loop"]
        + ["optim.hutchinson_diagonal", "optim.sharpness_aware"],
        "it takes Python functions, and a golden file holds no code",
    ),
    **dict.fromkeys(["empty", "empty_like"], "its values are whatever is in memory"),
    **dict.fromkeys(["device", "to_device"], "it is about the machine, not about numbers"),
    "from_dlpack": "it takes an object of a framework, whose memory it shares",
    "seed": "it sets the state of the process; random.stream(0) gives the same draws",
    "random.stream": "a context: all entries run inside one, and draws without a key show it",
    "DType": "a type; the functions of data types have entries",
    **dict.fromkeys(
        ["default_dtype", "set_default_dtype", "using_default_dtype"],
        "a setting of the process; the entries run with the default, float32",
    ),
    **dict.fromkeys(
        ["nn.Module", "nn.init.Initializer", "optim.Transformation", "optim.schedules.Formula"]
        + [f"distributions.{x}" for x in ("Distribution", "Parametric")]
        + ["distributions.bijections.Bijection", "distributions.constraints.Constraint"],
        "a base class without numbers of its own",
    ),
    **dict.fromkeys(
        ["optim.groups"]
        + [f"nn.adapters.{x}" for x in ("activate", "active", "load", "merge", "names", "remove")]
        + ["nn.adapters.save", "nn.adapters.unmerge"],
        "it changes a module, or holds optimizers that have entries",
    ),
    **dict.fromkeys(
        ["mcmc.Chains", "optimize.Minimum", "optimize.Root", "ode.Solution"],
        "a result; entries of the functions that return it have its numbers",
    ),
    **dict.fromkeys(
        ["data.Images", "data.Lines", "data.MemoryMapped"],
        "it reads files; the orders of a Loader have entries",
    ),
    "distributions.register_kl": "it takes a Python function, which later calls then run",
    "mcmc.summary": "it writes numbers as text; ess and rhat have entries",
    "optim.matrices_only": "it answers with bools of Python; add_decayed_weights uses it",
}


def some(*shape: int, seed: int = 0) -> np.ndarray:
    """Fixed numbers."""
    return np.random.default_rng([seed, *shape]).uniform(-2, 2, shape).astype("float32")


def draws():
    """Each draw with a fixed key; those of the package itself also without one, from the stream."""
    key, other = random.key(7), random.key(2**40 + 3)
    p = np.array([0.1, 0.2, 0.3, 0.4], "float32")
    mean, cov = np.array([1.0, -1.0], "float32"), np.array([[2.0, 0.5], [0.5, 1.0]], "float32")
    return [
        ("random.key", (7,), {}),
        ("random.key: two words", (2**40 + 3,), {}),
        ("random.split", (key, 3), {}),
        ("random.split: two axes", (other, (2, 2)), {}),
        ("random.fold_in", (key, 5), {}),
        ("random.bits", (key, (5,)), {}),
        ("random.bits: uint8", (key, (5,), "uint8"), {}),
        ("random.uniform", (key, (7,)), {}),
        ("random.uniform: two axes", (other, (3, 3)), {}),
        ("random.uniform: bounds", (key, (7,), "float32", -3.0, 5.0), {}),
        ("random.uniform: bfloat16", (key, (7,), "bfloat16"), {}),
        ("random.randint", (key, (9,), -3, 12), {}),
        ("random.randint: uint8", (key, (9,), 0, 255, "uint8"), {}),
        ("random.bernoulli", (key, 0.3, (9,)), {}),
        ("random.permutation", (key, 9), {}),
        ("random.permutation: rows", (key, some(4, 2)), {}),
        ("random.choice", (key, 6, (5,)), {}),
        ("random.choice: without replacement", (key, 6, (5,), False), {}),
        ("random.choice: weights", (key, 4, (8,)), {"p": p}),
        ("random.choice: weights, without replacement", (key, 4, (3,), False), {"p": p}),
        ("random.categorical", (key, some(4, 5)), {}),
        ("random.normal", (key, (9,)), {}),
        ("random.normal: float16", (key, (9,), "float16"), {}),
        ("random.exponential", (key, (9,)), {}),
        ("random.gumbel", (key, (9,)), {}),
        ("random.truncated_normal", (key, -1.0, 2.0, (9,)), {}),
        ("random.truncated_normal: tail", (key, 5.0, 6.0, (5,)), {}),
        ("random.multivariate_normal", (key, mean, cov, (4,)), {}),
        ("random.orthogonal", (key, 3), {}),
        ("random.gamma", (key, 2.5, (7,)), {}),
        ("random.gamma: below one", (key, 0.5, (7,)), {}),
        ("random.beta", (key, 2.0, 0.7, (7,)), {}),
        ("random.dirichlet", (key, np.array([0.5, 1.0, 3.0], "float32"), (4,)), {}),
        ("random.poisson", (key, 3.0, (9,)), {}),
        ("random.poisson: large", (key, 200.0, (9,)), {}),
        ("random_uniform", (), {"low": -1.0, "high": 2.0, "shape": (5,)}),
        ("random_uniform: seed", (), {"shape": (5,), "seed": 11}),
        ("random_normal", (), {"mean": 1.0, "std": 2.0, "shape": (5,)}),
        ("random_normal: seed", (), {"shape": (5,), "seed": 11}),
        ("randint", (0, 20), {"shape": (7,)}),
        ("randint: seed", (-5, 20), {"shape": (7,), "seed": 11}),
        ("multinomial", (4, 6), {"batch_size": 2}),
        ("multinomial: weights", (4, 6), {"probs": p[None], "seed": 11}),
        ("shuffle", (some(5, 2),), {}),
        ("shuffle: seed", (some(5, 2),), {"seed": 11}),
    ]


def wide_draws():
    """Draws of float64, which have numbers of their own."""
    key = random.key(7)
    return [
        ("random.uniform", (key, (7,), "float64"), {}),
        ("random.normal", (key, (9,), "float64"), {}),
    ]


def initialisers():
    """Each initialiser; the shape is that of the array."""
    return [
        ("Constant", lambda: init.Constant(0.25), (2, 3)),
        ("Zeros", lambda: init.Zeros(), (2, 3)),
        ("Ones", lambda: init.Ones(), (2, 3)),
        ("Uniform", lambda: init.Uniform(), (3, 4)),
        ("Normal", lambda: init.Normal(), (3, 4)),
        ("TruncatedNormal", lambda: init.TruncatedNormal(), (3, 4)),
        ("VarianceScaling", lambda: init.VarianceScaling(), (3, 4)),
        ("VarianceScaling: normal", lambda: init.VarianceScaling(2.0, "fan_out", "normal"), (3, 4)),
        ("GlorotUniform", lambda: init.GlorotUniform(), (3, 4)),
        ("GlorotNormal", lambda: init.GlorotNormal(), (2, 2, 3)),
        ("HeUniform", lambda: init.HeUniform(), (2, 2, 3)),
        ("HeNormal", lambda: init.HeNormal(), (3, 4)),
        ("LeCunUniform", lambda: init.LeCunUniform(), (3, 4)),
        ("LeCunNormal", lambda: init.LeCunNormal(), (3, 4)),
        ("Orthogonal", lambda: init.Orthogonal(2.0), (4, 3)),
        ("Siren", lambda: init.Siren(), (3, 4)),
        ("Siren: first", lambda: init.Siren(is_first=True), (3, 4)),
    ]


def updates():
    """Updates by index: x, index, mode, value."""
    x, v = some(4, 3), some(3, seed=1)
    rows = np.array([2, 0, 2])
    return [
        ("at: int", x, 1, "set", 5.0),
        ("at: row", x, -1, "set", v),
        ("at: slices", x, (slice(None, None, 2), 1), "add", 1.5),
        ("at: ellipsis", x, (..., -1), "multiply", 2.0),
        ("at: mask", x, x > 0, "set", 0.0),
        ("at: repeated rows", x, rows, "add", v),
        ("at: two index arrays", x, (rows, np.array([0, 1, 0])), "multiply", v),
        ("at: min", x, rows, "min", v),
        ("at: max", x, rows, "max", v),
        ("at: integers", np.arange(4), -1, "add", 5),
    ]


def calls():
    """Functions that have no row in the conformance kit."""
    w, g, m, v = [some(2, 3, seed=i) for i in range(4)]
    nest = {"a": w, "b": [g, m]}
    return [
        ("optimizer_update", (w, g, 0.1), {}),
        ("gradient_descent_update", (w, g, 0.1), {}),
        ("lars_update", (w, g, 0.1), {}),
        ("adam_step", (g, m, v * v, 3), {}),
        ("adam_update", (w, g, 0.1, m, v * v, 3), {}),
        ("lamb_update", (w, g, 0.1, m, v * v, 3), {"decay_lambda": 0.1}),
        ("optim.apply_updates", (nest, nest), {}),
        ("optim.global_norm", (nest,), {}),
    ]


def transformations():
    """For rows of tests/optim_cases.py with `one_step`, a Python function: the same with a schedule
    of the library."""
    return [
        OptimCase(
            "scale_by_schedule",
            lambda: optim.scale_by_schedule(schedules.linear(1.0, 0.25, 3)),
            None,
        ),
        OptimCase(
            "scale_by_learning_rate",
            lambda: optim.scale_by_learning_rate(schedules.linear(1.0, 0.25, 3)),
            None,
            about="schedule",
        ),
    ]


def averages():
    return [
        ("ParameterAverage", lambda: optim.ParameterAverage(0.9)),
        ("ParameterAverage: biased", lambda: optim.ParameterAverage(0.9, debias=False)),
    ]


def embeddings():
    """Layers that have no row in tests/nn/test_layers.py: maker and inputs."""
    return {"Embedding": (lambda: nn.Embedding(5, 3), [np.array([[0, 4], [2, 2]], "int32")])}


# Formats of exported files that are one small file; a SavedModel is a folder of large ones.
EXPORTED = {
    "onnx": "model.onnx",
    "stablehlo": "model.stablehlo",
    "tflite": "model.tflite",
    "torch_export": "model.pt2",
}


def file_model():
    """The model of the weight file and the exported files: variables, buffers, several layers."""
    return nn.Sequential(
        nn.Conv2D(2, 3, 3, 1, "SAME"),
        nn.BatchNorm2D(3),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(48, 2),
    )


def training_model():
    """The model of the training run: draws in every step, and buffers.

    No bias before the batch norm: its gradient is zero but for rounding, which Adam would magnify.
    """
    return nn.Sequential(
        nn.Linear(3, 8, with_bias=False),
        nn.BatchNorm1D(8),
        nn.Tanh(),
        nn.Dropout(0.25),
        nn.Linear(8, 1),
    )


def training_optimizer():
    return optim.AdamW(schedules.warmup_cosine(0.05, 2, 12))
