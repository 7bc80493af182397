"""Weights with Hugging Face's names and layouts, for models that define both.

A model's table `names` maps the key path of a layer to its name in Hugging Face; `*` means a
number. The last parts, "w" and "weight", are added here.
"""

import logging
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..._array.casting import astype
from ..._array.casting import dtype as dtype_of
from ..._array.interchange import to_numpy
from ..._core.dtypes import FLOATING
from ..._core.errors import ShapeError
from .fitting import Found, compare, is_equal, put
from .naming import TORCH_LEAVES, some_of
from .report import WeightsReport

if TYPE_CHECKING:
    from ...models.pretrained import Pretrained

_LOG = logging.getLogger("trellis")  # without a handler, warnings go to standard error
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
    source: str,
    fresh: Callable[[Any], Any] | None = None,
) -> WeightsReport:
    """Load the arrays of a file into a model; `placed` converts each to its framework.

    Where `fresh` gives the initial value of a variable, those that are missing in the file may be,
    and names in the file may be unknown.
    """
    found, unused = _found(model, arrays)
    state = model.state_dict()
    report, fitting = compare(found, unused, state, "any")
    chains, names = report.missing, model.hugging_face_names()
    missing = [f"{chain} ({model._short(names[chain])})" for chain in chains]
    shapes = {found.arrays[chain][0]: both for chain, both in report.wrong_shape.items()}
    report = replace(report, missing=tuple(missing), wrong_shape=shapes)
    is_lenient = fresh is not None and bool(fitting)  # a file of which nothing fits is another's
    serious = replace(report, unexpected=(), missing=()) if is_lenient else report
    lines = serious.differences("the files")
    if lines:
        raise ShapeError(
            f"The weights in {source} do not fit {type(model).__name__} as its config.json "
            f"describes it ({model.config.architecture}): {'; '.join(lines)}.{_way_out(serious)}"
        )
    if fresh is not None and chains:
        kinds = [str(dtype_of(x)) for x in fitting.values() if str(dtype_of(x)) in FLOATING]
        fitting |= {chain: _of_kind(fresh(state[chain]), kinds) for chain in chains}
        _LOG.warning(
            "%s of %s are not in %s and have fresh initial values: train them before you use the "
            "model. (model.loaded lists all.)",
            *(some_of(chains), type(model).__name__, source),
        )
    put(model, fitting, lambda new, old: placed(new))
    return report


def _of_kind(x: Any, kinds: list[str]) -> Any:
    """A new weight in the type of those that were read."""
    return astype(x, kinds[0]) if kinds and str(dtype_of(x)) in FLOATING else x


def _way_out(report: WeightsReport) -> str:
    """What to do, if names are all that differs and some of them fit."""
    if not report.matched or report.wrong_shape:
        return ""
    return " With strict=False what is missing keeps initial values, and the rest is left out."


def advice(module: Any, given: Iterable[str]) -> str:
    """How to read a file whose names are Hugging Face's into a model that knows those; or ""."""
    if not hasattr(module, "hugging_face_names"):
        return ""
    model: Pretrained = module
    whole = {*model.hugging_face_names().values()}
    known = whole | {name.removeprefix(model.prefix) for name in whole}
    theirs = [name for name in given if model._legacy(name) in known]
    if not theirs:
        return ""
    return (
        f"{theirs[0]!r} is a name of Hugging Face: trellis.models.from_pretrained(folder, "
        f"architecture={model.config.architecture!r}, strict=False) reads such files, with the "
        "config.json of their folder."
    )


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
