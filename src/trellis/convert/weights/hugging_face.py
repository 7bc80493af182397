"""Weights with Hugging Face's names and layouts, for models that define both.

A model's table `names` maps the key path of a layer to its name in Hugging Face; `*` means a
number. The last parts, "w" and "weight", are added here.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..._array.interchange import to_numpy
from ..._core.errors import ShapeError
from .fitting import Found, compare, is_equal, put
from .naming import TORCH_LEAVES
from .report import WeightsReport

if TYPE_CHECKING:
    from ...models.pretrained import Pretrained

_NUMBER = re.compile(r"(?<=/)v(\d+)(?=/)")


def name_of(chain: str, table: Mapping[str, str]) -> str:
    """The name of a variable in Hugging Face.

    >>> name_of("layers/v10/query/w", {"layers/*/query": "encoder.layer.*.attention.query"})
    'encoder.layer.10.attention.query.weight'
    """
    pattern = _pattern_of(chain)
    if pattern in table:
        name = table[pattern]
    else:
        head, _, leaf = pattern.rpartition("/")
        name = f"{table[head]}.{TORCH_LEAVES[leaf]}"
    for number in _NUMBER.findall(chain):
        name = name.replace("*", number, 1)
    return name


def names_of(chains: Iterable[str], table: Mapping[str, str]) -> dict[str, str]:
    """`{key path: name in Hugging Face}`."""
    return {chain: name_of(chain, table) for chain in chains}


def _pattern_of(chain: str) -> str:
    """A key path with stars for its numbers."""
    return _NUMBER.sub("*", chain)


def fill(
    model: "Pretrained",
    arrays: Mapping[str, Any],
    placed: Callable[[Any], Any],
    strict: bool,
    source: str,
) -> WeightsReport:
    """Load the arrays of a file into a model; `placed` converts each to its framework."""
    found, unused = _found(model, arrays)
    report, fitting = compare(found, unused, model.state_dict(), "any")
    names = model.hugging_face_names()
    missing = [f"{chain} ({model._short(names[chain])})" for chain in report.missing]
    shapes = {found.arrays[chain][0]: both for chain, both in report.wrong_shape.items()}
    report = replace(report, missing=tuple(missing), wrong_shape=shapes)
    serious = report if strict else replace(report, unexpected=())
    lines = serious.differences("the files")
    if lines:
        raise ShapeError(
            f"The weights in {source} do not fit {type(model).__name__} as its config.json "
            f"describes it ({model.config.architecture}): {'; '.join(lines)}."
        )
    put(model, fitting, lambda new, old: placed(new))
    return report


def _found(model: "Pretrained", arrays: Mapping[str, Any]) -> tuple[Found, list[str]]:
    """The arrays of the model's variables, and the names that are not used."""
    names = {model._legacy(name): name for name in arrays}
    if model.prefix and not any([name.startswith(model.prefix) for name in names]):
        names = {_with_prefix(model, new): old for new, old in names.items()}
    found, used = Found(model.__node__), set()
    for chain, name in model.hugging_face_names().items():
        seconds = [second for second, first in model.second_names.items() if first == name]
        known = [x for x in (name, *seconds, model.second_names.get(name)) if x in names]
        if known:
            x, layout = arrays[names[known[0]]], model.layouts.get(_pattern_of(chain))
            # An array with another number of axes is listed with those that do not fit.
            fits = layout is not None and len(layout) == x.ndim
            found.add(chain, names[known[0]], x.transpose(layout) if fits else x)
            used.add(known[0])
    unused = []
    for new, old in names.items():
        if new in used or new.endswith(model.constants):
            continue
        first = model.second_names.get(new)
        if first in used and is_equal(arrays[names[first]], arrays[old]):
            continue
        unused.append(old)
    return found, unused


def _with_prefix(model: "Pretrained", name: str) -> str:
    """The whole name of a weight of the body; weights of heads have no prefix."""
    heads = [each for each in model.names.values() if not each.startswith(model.prefix)]
    is_head = any([name == head or name.startswith(f"{head}.") for head in heads])
    return name if is_head else model.prefix + name


def arrays_of(model: "Pretrained") -> dict[str, Any]:
    """The NumPy arrays of a model under Hugging Face's names and in its layouts."""
    state, arrays = model.state_dict(), {}
    for chain, name in model.hugging_face_names().items():
        x, layout = to_numpy(state[chain]), model.layouts.get(_pattern_of(chain))
        if layout is not None:
            x = x.transpose([layout.index(i) for i in range(len(layout))])
        arrays[model._short(name)] = x
        if name.endswith("running_mean"):  # transformers counts batches; the count is not used
            counter = name.removesuffix("running_mean") + "num_batches_tracked"
            arrays[model._short(counter)] = np.zeros((), "int64")
    return arrays
