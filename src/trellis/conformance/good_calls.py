"""One good call of every public function: the mistakes of `mistakes.py` are made in it.

Array functions and layer functions take theirs from the rows of `cases`; the rest stands
here. NumPy arrays become arrays of the backend under test.
"""

import inspect
import operator
import os
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import trellis
from trellis import nn, optim

from .cases import all_cases


@dataclass(frozen=True)
class Call:
    """`fn(*args, **kwargs)`; the signature is that of `fn`, and `then` uses what it returns."""

    fn: Callable[..., Any]
    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] = field(default_factory=dict)
    then: Callable[..., Any] | None = None
    # Parameters in which no mistake is made: those of all modules are tried once, in Linear.
    leave: tuple[str, ...] = ()


def numbers(*shape: int) -> np.ndarray:
    return np.random.default_rng(0).uniform(0.1, 0.9, shape).astype("float32")


x, y = numbers(2, 3), numbers(3)
TRIANGLE = np.tril(numbers(3, 3)) + np.eye(3, dtype="float32")
KEY = np.array([0, 7], "uint32")
LINE, IMAGE, CUBE = numbers(2, 5, 3), numbers(1, 4, 4, 3), numbers(1, 3, 3, 3, 3)


# Arrays and layer functions -----------------------------------------------------------------------

# Where the first row of the cases is no plain call.
BY_HAND = {
    "at": Call(trellis.at, (x, (0, 1)), then=lambda found: found.set(1.0)),
    "cond": Call(trellis.cond, (np.array(True), lambda x: x * 2, lambda x: x * 3, y)),
    "while_loop": Call(
        trellis.while_loop,
        (lambda n: trellis.less(n, 3), lambda n: trellis.add(n, 1), np.array(0, "int32")),
    ),
    "scan": Call(
        trellis.scan, (lambda carry, row: (trellis.add(carry, row), row), y, numbers(4, 3))
    ),
    "fori_loop": Call(trellis.fori_loop, (0, 2, lambda i, state: trellis.add(state, state), y)),
    "switch": Call(trellis.switch, (np.array(1, "int32"), [lambda x: x * 2, lambda x: x * 3], y)),
    "associative_scan": Call(trellis.associative_scan, (trellis.add, x)),
    "apply_where": Call(
        trellis.apply_where, (x > 0.5, x, lambda x: x * 2), {"fill_value": np.float32(1.0)}
    ),
    "array_namespace": Call(trellis.array_namespace, (x, None, 2.0)),
    **{
        name: Call(getattr(trellis, name), (x,), leave=("x",))
        for name in (
            "is_array",
            "is_numpy_array",
            "is_jax_array",
            "is_torch_array",
            "is_tensorflow_array",
        )
    },
    "to_device": Call(trellis.to_device, (x, "cpu")),
    "lazy_apply": Call(trellis.lazy_apply, (np.tanh, x)),
    "linalg.block_diag": Call(trellis.linalg.block_diag, (x, x)),
    "linalg.cho_solve": Call(trellis.linalg.cho_solve, (TRIANGLE, y)),
    "linalg.cond": Call(trellis.linalg.cond, (TRIANGLE,)),
    "linalg.expm": Call(trellis.linalg.expm, (TRIANGLE,)),
    "linalg.lstsq": Call(trellis.linalg.lstsq, (TRIANGLE, y)),
    "linalg.logm": Call(trellis.linalg.logm, (TRIANGLE,)),
    "linalg.lu": Call(trellis.linalg.lu, (TRIANGLE,)),
    "linalg.lu_factor": Call(trellis.linalg.lu_factor, (TRIANGLE,)),
    "linalg.lu_solve": Call(trellis.linalg.lu_solve, ((TRIANGLE, np.arange(3, dtype="int32")), y)),
    "linalg.solve_banded": Call(trellis.linalg.solve_banded, ((1, 1), TRIANGLE, y)),
    "linalg.sqrtm": Call(trellis.linalg.sqrtm, (TRIANGLE,)),
    "linalg.solve_triangular": Call(
        trellis.linalg.solve_triangular, (TRIANGLE, y), {"lower": True}
    ),
    "linalg.toeplitz": Call(trellis.linalg.toeplitz, (y,)),
}


def narrow(value: Any) -> Any:
    """Arrays of a row in 32 bits, as JAX has them."""
    if isinstance(value, np.ndarray):
        names = {"float64": "float32", "int64": "int32", "complex128": "complex64"}
        return value.astype(names.get(value.dtype.name, value.dtype.name))
    if isinstance(value, (list, tuple)):
        return type(value)([narrow(item) for item in value])
    return value


def of_cases() -> dict[str, Call]:
    """The first plain row of each op."""
    found = dict(BY_HAND)
    for _, row in all_cases():
        if row.op not in found and row.call is None:
            fn = operator.attrgetter(row.op)(trellis)
            found[row.op] = Call(fn, narrow(row.args), dict(row.kwargs))
    return found


# Random numbers, gradients, pytrees
# -----------------------------------------------------------------


def of_random() -> dict[str, Call]:
    random = trellis.random
    rows = {
        "bernoulli": (0.5, (2,)),
        "beta": (2.0, 3.0, (2,)),
        "bits": ((2,),),
        "categorical": (y,),
        "choice": (5, (2,)),
        "dirichlet": (y,),
        "exponential": ((2,),),
        "fold_in": (3,),
        "gamma": (2.0, (2,)),
        "gumbel": ((2,),),
        "multivariate_normal": (numbers(2), np.eye(2, dtype="float32")),
        "normal": ((2,),),
        "orthogonal": (3,),
        "permutation": (5,),
        "poisson": (3.0, (2,)),
        "randint": ((2,), 0, 9),
        "split": (3,),
        "truncated_normal": (-1.0, 1.0, (2,)),
        "uniform": ((2,),),
    }
    calls = {
        f"random.{name}": Call(getattr(random, name), (KEY, *args)) for name, args in rows.items()
    }
    calls["random.key"] = Call(random.key, (5,))
    calls["random.stream"] = Call(random.stream, (KEY,), then=_entered)
    calls["randint"] = Call(trellis.randint, (0, 9), {"shape": (2,), "seed": 0})
    calls["random_normal"] = Call(trellis.random_normal, (), {"shape": (2,), "seed": 0})
    calls["random_uniform"] = Call(trellis.random_uniform, (), {"shape": (2,), "seed": 0})
    calls["multinomial"] = Call(trellis.multinomial, (4, 2), {"seed": 0})
    calls["shuffle"] = Call(trellis.shuffle, (y,), {"seed": 0})
    calls["seed"] = Call(trellis.seed, (0,))
    return calls


def _entered(context: Any) -> Any:
    with context:
        return trellis.random_uniform(shape=(2,))


def _loss(x: Any) -> Any:
    return trellis.sum(trellis.square(x))


def of_gradients() -> dict[str, Any]:
    v, g = {"w": x}, {"w": x * 2}
    step = np.array(1.0, "float32")
    return {
        "adam_step": Call(trellis.adam_step, (g, g, g, step)),
        "adam_update": Call(trellis.adam_update, (v, g, 0.1, g, g, step)),
        "gradient_descent_update": Call(trellis.gradient_descent_update, (v, g, 0.1)),
        "lamb_update": Call(trellis.lamb_update, (v, g, 0.1, g, g, step)),
        "lars_update": Call(trellis.lars_update, (v, g, 0.1)),
        "optimizer_update": Call(trellis.optimizer_update, (v, g, 0.1)),
        "bind_custom_gradient_function": Call(
            trellis.bind_custom_gradient_function,
            (_loss, lambda all_values, upstream: upstream * all_values[1][0]),
            then=_on_x,
        ),
        "checkpoint": Call(trellis.checkpoint, (_loss,), then=_on_x),
        "compile": Call(trellis.compile, (_loss,)),
        "diverge": Call(trellis.diverge, (_loss, (x,)), {"backends": ("numpy", "numpy")}),
        "trace": Call(trellis.trace, (_loss, x)),
        "execute_with_gradients": Call(
            trellis.execute_with_gradients, (lambda v: trellis.optim.global_norm(v), {"w": x})
        ),
        "grad": Call(trellis.grad, (_loss,), then=_on_x),
        "hessian": Call(trellis.hessian, (_loss,), then=_on_x),
        "jac": Call(trellis.jac, (lambda x: x * x,), then=_on_x),
        "jvp": Call(trellis.jvp, (_loss, (y,), (y,))),
        "stop_gradient": Call(trellis.stop_gradient, (x,)),
        "value_and_grad": Call(trellis.value_and_grad, (_loss,), then=_on_x),
        "vjp": Call(trellis.vjp, (_loss, y), then=lambda both: both[0]),
        "vmap": Call(trellis.vmap, (lambda x: x * 2,), then=_on_x),
        "with_grads": Call(trellis.with_grads, (), {"with_grads": True}),
        "set_with_grads": Call(
            trellis.set_with_grads, (True,), then=lambda _: trellis.unset_with_grads()
        ),
    }


def _on_x(fn: Any) -> Any:
    return fn(trellis.asarray(x[0].tolist(), dtype="float32"))


def of_nests() -> dict[str, Call]:
    tree = trellis.tree
    nest = {"a": x, "b": {"c": y}}
    return {
        "tree.align": Call(tree.align, ((nest, nest),)),
        "tree.call_leafwise": Call(tree.call_leafwise, (trellis.sin, (nest,), {})),
        "tree.flatten": Call(tree.flatten, (nest,)),
        "tree.from_key_chains": Call(tree.from_key_chains, ({"a": x, "b/c": y},)),
        "tree.get": Call(tree.get, (nest, ("b", "c"))),
        "tree.is_nest": Call(tree.is_nest, (nest,)),
        "tree.key_chains": Call(tree.key_chains, (nest,)),
        "tree.leaves": Call(tree.leaves, (nest,)),
        "tree.map": Call(tree.map, (trellis.sin, nest)),
        "tree.map_with_key_chains": Call(
            tree.map_with_key_chains, (lambda chain, x: trellis.sin(x), nest)
        ),
        "tree.paths": Call(tree.paths, (nest,)),
        "tree.structure": Call(tree.structure, (nest,)),
        "tree.unflatten": Call(tree.unflatten, (tree.structure({"a": 1, "b": 2}), [1, 2])),
        "Container": Call(trellis.Container, (nest,)),
    }


def of_interchange() -> dict[str, Call]:
    return {
        "interchange.is_zero_copy": Call(trellis.interchange.is_zero_copy, (x, "numpy")),
        "interchange.shares_memory": Call(trellis.interchange.shares_memory, (x, x)),
        "from_dlpack": Call(trellis.from_dlpack, (x,)),
        "to_backend": Call(trellis.to_backend, (x, "numpy")),
        "to_numpy": Call(trellis.to_numpy, (x,)),
        "register_with_array_api": Call(
            trellis.register_with_array_api, ("numpy",), then=lambda found: found.undo()
        ),
        "backend_of": Call(trellis.backend_of, (x,)),
        "namespace": Call(trellis.namespace, (x,), then=str),
        "set_backend": Call(trellis.set_backend, ("numpy",)),
        "backends": Call(trellis.backends, ("numpy",)),
        "set_host_fallback": Call(trellis.set_host_fallback, (True,)),
        "using_host_fallback": Call(trellis.using_host_fallback, (True,), then=lambda _: None),
        "using_backend": Call(trellis.using_backend, ("numpy",), then=lambda _: None),
        "set_default_dtype": Call(trellis.set_default_dtype, ("float32",)),
        "using_default_dtype": Call(trellis.using_default_dtype, ("float32",), then=lambda _: None),
        "using_compilation": Call(trellis.using_compilation, (True,), then=lambda _: None),
    }


# Layers, optimizers, training ---------------------------------------------------------------------

CHANNELS = {"input_channels": 3, "output_channels": 4}
CONV = {**CHANNELS, "filter_shape": 2, "strides": 1, "padding": "VALID"}
DEPTH = {"num_channels": 3, "filter_shape": 2, "strides": 1, "padding": "VALID"}
TRANSFORMER = {"embed_dim": 4, "num_heads": 2, "feedforward_channels": 4}
TARGETS = np.array([0, 2], "int32")
BITS = np.array([[0, 1, 1], [1, 0, 1]], "float32")
SIGNS = np.array([[1, -1, 1], [-1, 1, 1]], "float32")

LAYERS = {
    "Linear": (CHANNELS, [x]),
    "Bilinear": ({"input1_channels": 3, "input2_channels": 3, "output_channels": 2}, [x, x]),
    "Conv1D": (CONV, [LINE]),
    "Conv2D": (CONV, [IMAGE]),
    "Conv3D": (CONV, [CUBE]),
    "Conv1DTranspose": (CONV, [LINE]),
    "Conv2DTranspose": (CONV, [IMAGE]),
    "Conv3DTranspose": (CONV, [CUBE]),
    "DepthwiseConv2D": (DEPTH, [IMAGE]),
    "SeparableConv2D": (CONV, [IMAGE]),
    "LSTM": (CHANNELS, [LINE]),
    "GRU": (CHANNELS, [LINE]),
    "RNN": (CHANNELS, [LINE]),
    "MultiHeadAttention": ({"embed_dim": 4, "num_heads": 2}, [numbers(2, 3, 4)]),
    "TransformerEncoderLayer": (TRANSFORMER, [numbers(2, 3, 4)]),
    "TransformerDecoderLayer": (TRANSFORMER, [numbers(2, 3, 4), numbers(2, 3, 4)]),
    "TransformerEncoder": ({"num_layers": 1, **TRANSFORMER}, [numbers(2, 3, 4)]),
    "TransformerDecoder": ({"num_layers": 1, **TRANSFORMER}, [numbers(2, 3, 4), numbers(2, 3, 4)]),
    "Transformer": ({**TRANSFORMER, "num_layers": 1}, [numbers(2, 3, 4), numbers(2, 3, 4)]),
    "MixtureOfExperts": ({"embed_dim": 3, "feedforward_channels": 4, "num_experts": 2}, [x]),
    "Mamba": ({"embed_dim": 3, "state_channels": 2}, [LINE]),
    "PixelShuffle": ({"factor": 1}, [IMAGE]),
    "PixelUnshuffle": ({"factor": 1}, [IMAGE]),
    "Unfold": ({"window": 2}, [IMAGE]),
    "Fold": ({"size": 4, "window": 2}, [numbers(1, 2, 6)]),
    "Upsample": ({}, [IMAGE]),
    "Dropout": ({"prob": 0.5}, [LINE]),
    "Dropout1D": ({"prob": 0.5}, [LINE]),
    "Dropout2D": ({"prob": 0.5}, [IMAGE]),
    "Dropout3D": ({"prob": 0.5}, [CUBE]),
    "DropPath": ({"prob": 0.5}, [LINE]),
    "AlphaDropout": ({"prob": 0.5}, [LINE]),
    "Embedding": ({"num_embeddings": 4, "embedding_dim": 2}, [TARGETS]),
    "LayerNorm": ({"normalized_shape": 3}, [x]),
    "RMSNorm": ({"normalized_shape": 3}, [x]),
    "BatchNorm1D": ({"num_features": 3}, [x]),
    "BatchNorm2D": ({"num_features": 3}, [IMAGE]),
    "BatchNorm3D": ({"num_features": 3}, [CUBE]),
    "GroupNorm": ({"num_groups": 1, "num_channels": 3}, [x]),
    "InstanceNorm1D": ({"num_features": 3}, [LINE]),
    "InstanceNorm2D": ({"num_features": 3}, [IMAGE]),
    "InstanceNorm3D": ({"num_features": 3}, [CUBE]),
    "PReLU": ({}, [x]),
    "GLU": ({}, [numbers(2, 4)]),
    "GEGLU": ({}, [numbers(2, 4)]),
    "SwiGLU": ({}, [numbers(2, 4)]),
    "MaxPool1D": ({"window": 2}, [LINE]),
    "MaxPool2D": ({"window": 2}, [IMAGE]),
    "MaxPool3D": ({"window": 2}, [CUBE]),
    "AvgPool1D": ({"window": 2}, [LINE]),
    "AvgPool2D": ({"window": 2}, [IMAGE]),
    "AvgPool3D": ({"window": 2}, [CUBE]),
    "GlobalAvgPool": ({}, [IMAGE]),
    "GlobalMaxPool": ({}, [IMAGE]),
    "AdaptiveAvgPool": ({"output_size": 2}, [IMAGE]),
    "AdaptiveMaxPool": ({"output_size": 2}, [IMAGE]),
    "Flatten": ({}, [IMAGE]),
    "BinaryCrossEntropyLoss": ({}, [x, BITS]),
    "CTCLoss": ({}, [np.log(numbers(1, 4, 3)), np.array([[1, 2]], "int32"),
                     np.array([4], "int32"), np.array([2], "int32")]),
    "CosineLoss": ({}, [x, x]),
    "CrossEntropyLoss": ({}, [x, TARGETS]),
    "FocalLoss": ({}, [x, BITS]),
    "HingeLoss": ({}, [x, SIGNS]),
    "NLLLoss": ({}, [x, TARGETS]),
    "TripletLoss": ({}, [x, x, x]),
}  # fmt: skip


class Made:
    """An argument that is made anew for every call, on the backend of the call."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self.make = make


# Layers around others.
OF_MODULES = {
    "Sequential": (nn.ReLU(), nn.Tanh()),
    "Checkpoint": (nn.ReLU(),),
    "WeightNorm": (Made(lambda: nn.Linear(3, 2)),),
    "SpectralNorm": (Made(lambda: nn.Linear(3, 2)),),
}


def of_layers() -> dict[str, Call]:
    options = tuple(inspect.signature(nn.ReLU).parameters)
    calls = {}
    for name in dir(nn):
        cls = getattr(nn, name)
        if not isinstance(cls, type) or name in ("Module", *OF_MODULES):
            continue
        pair = [x, BITS] if name.endswith("Loss") else [x]
        kwargs, inputs = LAYERS.get(name, ({}, pair))
        # A large number is many modules.
        leave = (*(options if name != "Linear" else ()), "num_layers", "num_experts")
        calls[f"nn.{name}"] = Call(cls, (), kwargs, then=_called_with(inputs), leave=leave)
    for name, args in OF_MODULES.items():
        calls[f"nn.{name}"] = Call(getattr(nn, name), args, then=_called_with([x]), leave=options)
    calls["nn.lora"] = Call(nn.lora, OF_MODULES["WeightNorm"], {"rank": 1}, then=_called_with([x]))
    calls["nn.quantize"] = Call(nn.quantize, OF_MODULES["WeightNorm"], then=_called_with([x]))
    for name in dir(nn.init):
        cls = getattr(nn.init, name)
        if isinstance(cls, type) and name != "Initializer":
            args = (0.5,) if name == "Constant" else ()
            calls[f"nn.init.{name}"] = Call(cls, args, then=_initialised)
    return calls


def _called_with(inputs: list[np.ndarray]) -> Callable[[Any], Any]:
    def call(layer: Any) -> Any:
        native = [trellis.to_backend(each, trellis.current_backend()) for each in inputs]
        return layer(*native)

    return call


def _initialised(initializer: Any) -> Any:
    return nn.Linear(3, 2, weight_initializer=initializer).v


NEEDED = {
    "SGD": {"lr": 0.1},
    "LARS": {"lr": 0.1},
    "Optimizer": {"transformation": optim.scale(1.0), "lr": 0.1},
    "add_decayed_weights": {"weight_decay": 0.1},
    "accumulate_gradients": {"inner": optim.scale(1.0), "every": 2},
    "masked": {"inner": optim.scale(1.0), "mask": None},
    "clip": {"limit": 1.0},
    "clip_by_norm": {"limit": 1.0},
    "clip_by_global_norm": {"limit": 1.0},
    "clip_by_rms": {"limit": 1.0},
    "ema": {"decay": 0.9},
    "scale": {"factor": 1.0},
    "scale_by_learning_rate": {"lr": 0.1},
    "scale_by_schedule": {"schedule": optim.schedules.constant(1.0)},
    "schedules.constant": {"value": 1.0},
    "schedules.step": {"value": 1.0, "every": 2},
    "schedules.piecewise": {"value": 1.0, "factors": {1: 0.5}},
    "schedules.exponential": {"value": 1.0, "steps": 2, "factor": 0.5},
    "schedules.polynomial": {"value": 1.0, "end": 0.0, "steps": 2},
    "schedules.linear": {"value": 1.0, "end": 0.0, "steps": 2},
    "schedules.cosine": {"value": 1.0, "steps": 2},
    "schedules.warmup_cosine": {"peak": 1.0, "warmup_steps": 2, "steps": 4},
    "schedules.one_cycle": {"peak": 1.0, "steps": 10},
    "lookahead": {"inner": optim.scale(1.0)},
    "schedule_free": {"lr": 0.1},
    "schedules.cosine_restarts": {"value": 1.0, "steps": 2},
    "schedules.warmup": {"schedule": optim.schedules.constant(1.0), "steps": 2},
    "schedules.inverse_sqrt": {"peak": 1.0, "warmup_steps": 2},
    "schedules.cyclic": {"low": 0.1, "high": 1.0, "steps_up": 2},
    "schedules.join": {"schedules": [optim.schedules.constant(1.0)], "boundaries": []},
}


def of_optimizers() -> dict[str, Call]:
    calls = {
        "optim.apply_updates": Call(optim.apply_updates, ({"w": x}, {"w": x})),
        "optim.chain": Call(optim.chain, (optim.scale(1.0),), then=_applied),
        "optim.global_norm": Call(optim.global_norm, ({"w": x},)),
        "optim.groups": Call(optim.groups, ({"*": optim.SGD(0.1)},), then=_grouped),
        "optim.hutchinson_diagonal": Call(
            optim.hutchinson_diagonal, (optim.global_norm, {"w": x}, KEY)
        ),
        "optim.matrices_only": Call(optim.matrices_only, ({"w": x},)),
        "optim.sharpness_aware": Call(
            optim.sharpness_aware,
            (optim.global_norm,),
            then=lambda fn: fn({"w": trellis.asarray(x.tolist(), dtype="float32")}),
        ),
    }
    schedules = [name for name in NEEDED if name.startswith("schedules.")]
    for name in [*dir(optim), *schedules]:
        fn = operator.attrgetter(name)(optim)
        is_other = name in ("Transformation", "schedules") or f"optim.{name}" in calls
        if callable(fn) and not is_other:
            calls[f"optim.{name}"] = Call(fn, (), NEEDED.get(name, {}), then=_applied)
    return calls


def _grouped(made: Any) -> Any:
    v = {"w": trellis.asarray(x.tolist(), dtype="float32")}
    return made.update(v, v, made.init(v))[0]


def _applied(made: Any) -> Any:
    v = {"w": trellis.asarray(x.tolist(), dtype="float32")}
    if isinstance(made, optim.Optimizer):
        return made.step(v, v)
    if isinstance(made, optim.Transformation):
        return made.update(v, made.init(v), v)[0]
    if isinstance(made, optim.ParameterAverage):
        return made.update(v, made.init(v))
    return made(3)


def of_training() -> dict[str, Call]:
    train = trellis.train
    data = (numbers(4, 3), numbers(4, 2))
    options = {"optimizer": Made(lambda: optim.SGD(0.1)), "progress": False, "compile": False}
    model = Made(lambda: nn.Linear(3, 2))
    return {
        "train.fit": Call(train.fit, (model, _mse, data), options),
        "train.evaluate": Call(train.evaluate, (model, _mse, data), {"compile": False}),
        "train.predict": Call(train.predict, (model, data[0]), {"compile": False}),
        "train.EarlyStopping": Call(train.EarlyStopping, ()),
        "train.Accuracy": Call(train.Accuracy, ()),
        "train.AUC": Call(train.AUC, ()),
        "train.AverageVariables": Call(train.AverageVariables, ()),
        "train.AveragePrecision": Call(train.AveragePrecision, ()),
        "train.BLEU": Call(train.BLEU, ()),
        "train.Checkpoints": Call(train.Checkpoints, ("folder",)),
        "train.ConfusionMatrix": Call(train.ConfusionMatrix, (2,)),
        "train.CSVLogger": Call(train.CSVLogger, ("run.csv",)),
        "train.F1Score": Call(train.F1Score, (2,)),
        "train.IoU": Call(train.IoU, (2,)),
        "train.JSONLinesLogger": Call(train.JSONLinesLogger, ("run.jsonl",)),
        "train.LogLoss": Call(train.LogLoss, ()),
        "train.MeanAbsoluteError": Call(train.MeanAbsoluteError, ()),
        "train.MeanSquaredError": Call(train.MeanSquaredError, ()),
        "train.MLflowLogger": Call(train.MLflowLogger, ()),
        "train.PearsonCorrelation": Call(train.PearsonCorrelation, ()),
        "train.Perplexity": Call(train.Perplexity, ()),
        "train.Precision": Call(train.Precision, (2,)),
        "train.R2Score": Call(train.R2Score, ()),
        "train.Recall": Call(train.Recall, (2,)),
        "train.Plateau": Call(train.Plateau, ()),
        "train.ReduceOnPlateau": Call(train.ReduceOnPlateau, ()),
        "train.StepTimer": Call(train.StepTimer, ()),
        "train.StopOnNonFinite": Call(train.StopOnNonFinite, ()),
        "train.TensorBoardLogger": Call(train.TensorBoardLogger, ("run",)),
        "train.TopKAccuracy": Call(train.TopKAccuracy, ()),
        "train.WandbLogger": Call(train.WandbLogger, ()),
        "train.find_learning_rate": Call(
            train.find_learning_rate,
            (model, _mse, data),
            {"steps": 2, "compile": False},
            leave=("steps",),  # a large number is many steps
        ),
        "train.Mean": Call(train.Mean, (_mse,)),
        "train.Metric": Call(train.Metric, ()),
        "train.WholeEpoch": Call(train.WholeEpoch, (_mse,)),
        "train.load_checkpoint": Call(train.load_checkpoint, (Made(_checkpoint), {"a": x})),
        "train.read_checkpoint": Call(train.read_checkpoint, (Made(_checkpoint),)),
        "train.read_extra": Call(train.read_extra, (Made(_checkpoint),)),
        "train.save_checkpoint": Call(train.save_checkpoint, (Made(_path), {"a": x})),
        "train.draw_curves": Call(train.draw_curves, (Made(_picture), {"a": [1.0, 2.0]})),
    }


def _mse(output: Any, target: Any) -> Any:
    return trellis.mean((output - target) ** 2)


_folder = tempfile.TemporaryDirectory()


def _path() -> str:
    return os.path.join(_folder.name, "file")


def _picture() -> str:
    return os.path.join(_folder.name, "curves.svg")


def _checkpoint() -> str:
    path = os.path.join(_folder.name, "checkpoint")
    trellis.train.save_checkpoint(path, {"a": x})
    return path


class _Counting:
    """A language model: after n comes n + 1."""

    def init_cache(self, batch: int, length: int) -> Any:
        return {}

    def __call__(self, tokens: Any, cache: Any) -> Any:
        return trellis.one_hot((tokens + 1) % 9, 9), cache


def of_sequences() -> dict[str, Call]:
    functional, new = trellis.functional, numbers(1, 1, 2, 3)
    cache = Made(lambda: functional.init_cache(1, 1, 4, 3))
    return {
        "functional.extend_cache": Call(functional.extend_cache, (cache, new, new)),
        "functional.cache_mask": Call(functional.cache_mask, (cache, 2)),
        "functional.cache_positions": Call(functional.cache_positions, (cache, 2)),
        "generate": Call(
            trellis.generate,
            (Made(_Counting), [[1, 2], [3, 4]]),
            {"max_new_tokens": 2, "compile": False},
        ),
    }


def all_calls() -> dict[str, Call]:
    """Good calls by the names that users write after `trellis.`."""
    return {
        **of_cases(),
        **of_random(),
        **of_gradients(),
        **of_nests(),
        **of_interchange(),
        **of_layers(),
        **of_optimizers(),
        **of_training(),
        **of_sequences(),
    }
