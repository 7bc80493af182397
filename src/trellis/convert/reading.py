"""The result of a reader: the graph of a foreign model, its arrays, and a way to check both."""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..graph import Graph
from .inputs import Inputs
from .left_open import Open


@dataclass
class Reading:
    """A foreign model as read, before it becomes a module.

    Arrays are NumPy arrays. `outputs` runs the source on the example and returns its outputs in
    the structure of the graph's; `values` runs it again and returns intermediate results by the
    names of the graph's values, as many as the source can give: the first that differs is named.
    `run` and `trace` do the same for other inputs, given in the order of the example; a reader that
    has no `run` is verified on the example only. `undefined` lists what the source leaves open;
    `ordinary_only` says why it is not run on hard numbers.
    """

    name: str  # of the model
    source: str  # the framework that it comes from, as people write it
    graph: Graph
    inputs: Inputs
    variables: Mapping[str, Any]
    buffers: Mapping[str, Any]
    example: list[Any]  # one array for each input of the graph
    outputs: Callable[[], Any] | None = None
    values: Callable[[], Mapping[str, Any]] | None = None
    run: Callable[[list[Any]], Any] | None = None
    trace: Callable[[list[Any]], Mapping[str, Any]] | None = None
    undefined: tuple[Open, ...] = ()
    ordinary_only: str = ""
    frozen: tuple[str, ...] = ()  # variables that the source does not train
    aliases: dict[str, str] = field(default_factory=dict)  # second names of shared variables
    notes: "Notes" = field(default_factory=lambda: Notes())


@dataclass
class Notes:
    """What was done on the way, for `model.report()`."""

    operations: Counter[str] = field(default_factory=Counter)  # of the source
    casts: Counter[str] = field(default_factory=Counter)  # such as "int64 to float32"
    fused: Counter[str] = field(default_factory=Counter)  # such as "attention"
    folded: int = 0
    dropped: int = 0
    narrowed: int = 0  # 64-bit integers that became 32-bit ones
    verified: str = "not verified"
    tried: list[str] = field(default_factory=list)  # on which inputs it was compared, and how
    remarks: list[str] = field(default_factory=list)
