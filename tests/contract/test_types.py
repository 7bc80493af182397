"""Public parameters and results have types that say something: few are bare `Any`."""

import inspect
import types
from typing import Any

import trellis
from trellis import (
    compilation,
    errors,
    fft,
    functional,
    gradients,
    interchange,
    linalg,
    nn,
    optim,
    random,
    testing,
    train,
    tree,
)

MODULES = (
    trellis, compilation, errors, fft, functional, gradients, interchange, linalg, nn, nn.init,
    optim,
    random, testing, train, tree,
)  # fmt: skip

MOST_PARAMETERS = 0.05
MOST_RESULTS = 0.05


def public_functions():
    """All functions and methods that a user can call, each once, with a name to find it by."""
    found = {}
    for module in MODULES:
        for name, value in vars(module).items():
            if name.startswith("_") or not getattr(value, "__module__", "").startswith("trellis"):
                continue
            if isinstance(value, type):
                found.update(methods_of(value))
            elif isinstance(value, types.FunctionType):
                found[value] = f"{value.__module__}.{name}"
    return found


def methods_of(cls):
    own = {}
    for name, value in vars(cls).items():
        value = value.fget if isinstance(value, property) else getattr(value, "__func__", value)
        is_public = not name.startswith("_") or name in ("__init__", "__call__")
        if is_public and isinstance(value, types.FunctionType):
            own[value] = f"{cls.__module__}.{cls.__name__}.{name}"
    return own


def bare(annotation):
    return annotation in (Any, "Any", inspect.Parameter.empty)


def shares():
    """(parameters, results): lists of names, and how many there are in all."""
    parameters, results, count = [], [], [0, 0]
    for fn, name in public_functions().items():
        signature = inspect.signature(fn)
        for parameter in signature.parameters.values():
            if parameter.name not in ("self", "cls"):
                count[0] += 1
                if bare(parameter.annotation):
                    parameters.append(f"{name}({parameter.name})")
        if fn.__name__ != "__init__":
            count[1] += 1
            if bare(signature.return_annotation):
                results.append(name)
    return (parameters, count[0]), (results, count[1])


def test_few_types_are_bare_any():
    (parameters, all_parameters), (results, all_results) = shares()
    assert all_parameters > 1000 and all_results > 400
    for names, count, most in (
        (parameters, all_parameters, MOST_PARAMETERS),
        (results, all_results, MOST_RESULTS),
    ):
        share = len(names) / count
        assert share <= most, f"{len(names)} of {count} are bare Any: " + ", ".join(names)
