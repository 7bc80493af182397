"""The kinds of entries about distributions, chains, the order of examples, and changed modules."""

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import data, nn
from .._random.keys import key as key_of
from .._random.stream import stream
from .place import Entry, Place, flat, set_state

# What an entry may ask of a distribution: functions of its points, of its shares, of nothing, and
# attributes.
_OF_POINTS, _OF_SHARES, _OF_NOTHING = {"log_prob", "cdf"}, {"icdf"}, {"entropy"}
NUMBERS = ("log_prob", "cdf", "icdf", "entropy", "mean", "variance")
_BATCHINGS: dict[str, Any] = {"buckets": data.Buckets, "packing": data.Packing}
_CHANGES: dict[str, Any] = {"nn.lora": nn.lora, "nn.quantize": nn.quantize}


def distribution(entry: Entry, at_place: Place) -> Any:
    """Draws with a key, and the numbers that the entry names."""
    read = at_place.reader.read
    made = read(entry["make"])
    found = {"draws": made.sample(key_of(entry["key"]), tuple(entry["shape"]))}
    for name in entry["numbers"]:
        if name not in NUMBERS:
            raise ValueError(f"unknown number {name!r}")
        value = getattr(made, name)
        if name in _OF_POINTS | _OF_SHARES:
            value = value(read(entry["points" if name in _OF_POINTS else "shares"]))
        found[name] = value() if name in _OF_NOTHING else value
    return found


def bijection(entry: Entry, at_place: Place) -> Any:
    """Where a map takes points, back again, and by how much it stretches."""
    made, x = at_place.reader.read(entry["make"]), at_place.reader.read(entry["x"])
    y = made(x)
    return {"y": y, "inverse": made.inverse(y), "log_det": made.log_det(x)}


def constraint(entry: Entry, at_place: Place) -> Any:
    """Which points a set has."""
    return at_place.reader.read(entry["make"]).check(at_place.reader.read(entry["x"]))


def chains(entry: Entry, at_place: Place) -> Any:
    """The draws of a sampler, and how it came to them."""
    found = at_place.reader.read(entry["call"])
    names = ("draws", "log_density", "acceptance", "steps", "is_diverging", "step_size")
    return {name: getattr(found, name) for name in names}


def order(entry: Entry, at_place: Place) -> Any:
    """The first batches of a loader of the numbers 0, 1, ... in its first two epochs. With lengths,
    each example is its number, that often."""
    read = at_place.reader.read
    options = {name: read(value) for name, value in entry["options"].items()}
    examples: Any = np.arange(entry["length"])
    if "lengths" in entry:
        examples = [np.full(size, i) for i, size in enumerate(entry["lengths"])]
        options["batching"] = _BATCHINGS[entry["batching"]](
            entry["lengths"], **entry["batching_options"]
        )
    loader = data.Loader(examples, entry["batch_size"], backend=at_place.backend, **options)
    found: list[Any] = []
    for epoch in range(2):
        loader.go_to(epoch)
        found.append([batch for _, batch in zip(range(entry["batches"]), loader, strict=False)])
    return found


def changed_module(entry: Entry, at_place: Place) -> Any:
    """The variables of a module with adapters or with quantized weights, and what it computes."""
    read = at_place.reader.read
    module = read(entry["make"])
    set_state(module, read(entry["state"]))
    with stream(0):
        module = _CHANGES[entry["change"]](module, **entry["options"])
    inputs = [read(x) for x in entry["inputs"]]
    return [dict(flat(module.state_dict())), module.eval()(*inputs)]


KINDS: dict[str, Callable[[Entry, Place], Any]] = {
    "bijection": bijection,
    "chains": chains,
    "changed module": changed_module,
    "constraint": constraint,
    "distribution": distribution,
    "order": order,
}
