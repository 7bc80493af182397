"""Sizes: plain numbers when the model runs, with Python's own arithmetic."""

import math
import operator
from collections.abc import Callable
from typing import Any

from .builder import Size, Tensor, TorchBuilder
from .table import rule

_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "torch.sym_float": float,
    "torch.sym_int": int,
    "torch.sym_max": max,
    "torch.sym_min": min,
    "torch.sym_not": operator.not_,
    "torch.sym_sqrt": math.sqrt,
    "torch._sym_sqrt": math.sqrt,
    "builtins.round": round,
    "builtins.abs": abs,
    "builtins.max": max,
    "builtins.min": min,
    "math.ceil": math.ceil,
    "math.floor": math.floor,
    "math.trunc": math.trunc,
    "math.sqrt": math.sqrt,
}
for _name in ("add", "sub", "mul", "floordiv", "mod", "pow", "truediv", "neg", "eq", "ne", "lt",
              "le", "gt", "ge", "and_", "or_", "not_", "abs", "pos"):  # fmt: skip
    _FUNCTIONS[f"operator.{_name}"] = getattr(operator, _name)


def _calling(fn: Callable[..., Any]) -> Any:
    def convert(g: TorchBuilder, *numbers: Size | float) -> Any:
        return g.call(fn, *numbers)

    return convert


for _name, _fn in _FUNCTIONS.items():
    rule(_name)(_calling(_fn))


@rule("aten.sym_size", "aten.size")
def sym_size(g: TorchBuilder, x: Tensor, dim: int) -> Any:
    return g.s.size(x, dim)


@rule("aten.sym_numel", "aten.numel")
def sym_numel(g: TorchBuilder, x: Tensor) -> Any:
    return g.s.count(x)
