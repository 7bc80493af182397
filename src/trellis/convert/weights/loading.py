"""Weights of torch and Keras into a model of ours, layer by layer in their layouts."""

import os
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from ...nn import Module
from .fitting import Found, compare, put_fitting
from .given import Given, check_model, given_by_keras, given_by_torch
from .keras import KERAS
from .layout import Library, joined, slots_of
from .matching import Match, match, wrong_shape
from .naming import Names, renamed
from .report import WeightsReport
from .torch import TORCH


def load_torch_weights(
    model: Module,
    state_dict: "Mapping[str, Any] | str | os.PathLike[str] | Any",
    /,
    *,
    names: Names | None = None,
    strict: bool = True,
) -> WeightsReport:
    """Load the weights of a torch module with the same layers into a model.

    `state_dict` is that of the module, the module, or the path of a safetensors file. Layouts are
    converted: filters, the matrices and biases of recurrent layers, packed projections, running
    statistics; floats are cast to the type of the model. Layers are found by the names that
    `convert.state_dict(model)` shows or, where those differ, in order. `names` renames: a dict of
    whole names or prefixes, or a function, from torch's name to the one shown. One error lists
    everything that does not fit. With `strict=False` what fits by name is loaded, and the report
    lists the rest.

    >>> import numpy as np, trellis
    >>> from trellis import convert
    >>> model = trellis.nn.Sequential(trellis.nn.Conv2D(3, 8, 5, 1, "VALID"))
    >>> torch_weights = {"0.weight": np.ones((8, 3, 5, 5)), "0.bias": np.zeros(8)}
    >>> print(convert.load_torch_weights(model, torch_weights))
    2 loaded
        layers/v0/b <- 0.bias
        layers/v0/w <- 0.weight
    2 cast to the type here
        layers/v0/b: float64 there, float32 here
        layers/v0/w: float64 there, float32 here
    """
    check_model(model, "load_torch_weights")
    given = given_by_torch(state_dict)
    return _load(model, given, TORCH, names, strict, "load_torch_weights")


def load_keras_weights(
    model: Module,
    weights: Mapping[str, Any] | Iterable[Any] | Any,
    /,
    *,
    names: Names | None = None,
    strict: bool = True,
) -> WeightsReport:
    """Load the weights of a Keras model with the same layers into a model.

    `weights` is a Keras model or layer, the result of its `get_weights()`, or a dict of arrays by
    path. Keras numbers its names, so layers are found in order, unless `names` maps paths or
    prefixes to the key path of a layer and Keras' own name in it ("head/kernel"). The rest is as in
    `load_torch_weights`. A GRU must have `reset_after=True`, Keras' default. Epsilons are arguments
    of the layers, not weights: those of Keras' norms are 1e-3 by default.

    >>> import numpy as np, trellis
    >>> from trellis import convert
    >>> model = trellis.nn.Linear(2, 3)
    >>> weights = [np.ones((2, 3), "float32"), np.zeros(3, "float32")]  # keras_model.get_weights()
    >>> report = convert.load_keras_weights(model, weights)
    >>> report.is_complete, model.v.w.shape
    (True, (3, 2))
    """
    check_model(model, "load_keras_weights")
    given = given_by_keras(weights)
    return _load(model, given, KERAS, names, strict, "load_keras_weights")


# Loading
# ----------------------------------------------------------------------------------------


def _load(
    model: Module,
    given: Given,
    library: Library,
    names: Names | None,
    strict: bool,
    function: str,
) -> WeightsReport:
    new_names = renamed(given.arrays, names, function)
    matching = match(slots_of(model, library), given, library, new_names, names is None)
    unexpected = _unexpected(new_names, matching.used, given.addresses)
    report, fitting = _examined(model, matching.matches, given.arrays, unexpected)
    report = replace(report, notes=_notes(matching.matches, given.epsilons))
    source = f"The {library.name} weights"

    def refusal() -> str:
        why = matching.why_not_in_order
        why = f"In order they do not fit either: {why}." if why else "Nothing was loaded."
        lines = "\n    ".join(_differences(report, matching.matches, library))
        return (
            f"{source} do not fit {type(model).__name__}:\n    {lines}\n{why} `names=` says which "
            "belong together; strict=False loads what fits."
        )

    return put_fitting(model, report, fitting, source, refusal if strict else None)


def _unexpected(
    new_names: Mapping[str, str], used: set[str], addresses: Mapping[str, Any]
) -> list[str]:
    """The arrays that were not used; a second name of the same memory does not count."""
    known = {addresses[name] for name in used if name in addresses}
    return [
        old
        for old in new_names.values()
        if old not in used and not (old in addresses and addresses[old] in known)
    ]


def _examined(
    model: Module, matches: list[Match], arrays: Mapping[str, Any], unexpected: list[str]
) -> tuple[WeightsReport, dict[str, Any]]:
    """The report, and the arrays to load, in our layout and by key path."""
    found = Found(model.__node__)
    shapes = {}
    for each in matches:
        if each.names is None:
            continue
        chain = joined("/", each.slot.path, each.entry.chain)
        wrong = wrong_shape(each, arrays)
        if wrong is not None:
            shapes[found.place(chain)] = wrong
            continue
        made = each.spelling.load(*[arrays[name] for name in each.names])
        found.add(chain, " + ".join(each.names), made)
    report, fitting = compare(found, unexpected, model.state_dict(), "cast")
    missing = tuple([chain for chain in report.missing if chain not in shapes])
    return replace(report, missing=missing, wrong_shape=shapes), fitting


def _differences(report: WeightsReport, matches: list[Match], library: Library) -> list[str]:
    """What does not fit, in sentences; shapes are those of the other library."""
    looked_for = [
        library.name_in(each.slot.name, name)
        for each in matches
        if each.names is None
        for name in each.entry.names
    ]
    lines = [f"looked for {', '.join(looked_for)}"] if looked_for else []
    named = {joined("/", m.slot.path, m.entry.chain): m.names for m in matches}
    for chain, (there, needed) in report.wrong_shape.items():
        name = " + ".join(named.get(chain) or ())
        lines.append(f"{name!r} has shape {there}, and {chain!r} needs {needed}")
    return lines + replace(report, wrong_shape={}).differences("the weights")


def _notes(matches: list[Match], epsilons: Mapping[str, float]) -> tuple[str, ...]:
    """Norms whose epsilon differs: the weights do not show it, but all results would differ."""
    found: dict[str, None] = {}
    for slot, _, _, names in matches:
        here = getattr(slot.layer, "_eps", None)
        there = epsilons.get((names or ("",))[0])
        if here is not None and there is not None and abs(here - there) > 1e-6 * there:
            found[f"{slot.place} has eps={here}, there it is {there}: make it with eps={there}"] = (
                None
            )
    return tuple(found)
