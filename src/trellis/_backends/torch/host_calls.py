"""Functions of NumPy arrays that a compiled program calls when it runs."""

from types import FunctionType
from typing import Any

import torch

from ..._core.announced import known
from ..._core.errors import ArgumentTypeError
from ..shared.host_calls import checked, no_derivative
from ._private import is_batched
from ._types import Tensor
from .casting import as_dtype
from .interchange import check_leaving, from_numpy, to_numpy
from .tracing import is_tracing

# An operator takes no functions: it takes their numbers here. They are few, each is in a compiled
# program, and programs are kept as long as the process runs.
_functions: list[tuple[tuple[Any, ...], Any]] = []


def callback(make: Any, given: Any, xs: list[Tensor], shapes: Any, names: Any) -> list[Tensor]:
    if is_tracing():
        shapes = known(shapes, "torch.compile")
        if not isinstance(given[0], FunctionType):
            raise ArgumentTypeError(
                "torch.compile takes functions that are written in Python for lazy_apply(). Write "
                "lambda x: fn(x) around others, such as those of scipy.special."
            )
    if not (torch.compiler.is_compiling() or any([is_batched(x) for x in xs])):
        for x in xs:
            check_leaving(x)
        found = checked(make(*given)([to_numpy(x) for x in xs]), shapes, names)
        return [from_numpy(y, device=xs[0].device) for y in found]
    sizes = known(shapes, "torch")
    flat = [size for shape in sizes for size in shape]
    number = _number_of(make, given)
    return _call(xs, number, flat, [len(shape) for shape in sizes], " ".join(names))


@torch.compiler.assume_constant_result
def _number_of(make: Any, given: tuple[Any, ...]) -> int:
    """Runs while a program is compiled."""
    for number, (earlier, _) in enumerate(_functions):
        if earlier == given:
            return number
    _functions.append((given, make(*given)))
    return len(_functions) - 1


def _shapes_of(flat: Any, ranks: list[int]) -> list[Any]:
    ends = [sum(ranks[: i + 1]) for i in range(len(ranks))]
    return [tuple(flat[end - rank : end]) for end, rank in zip(ends, ranks, strict=True)]


@torch.library.custom_op("trellis::callback", mutates_args=())
def _call(
    xs: list[torch.Tensor], number: int, flat: list[int], ranks: list[int], names: str
) -> list[torch.Tensor]:
    ys = _functions[number][1]([to_numpy(x) for x in xs])
    found = checked(ys, _shapes_of(flat, ranks), names.split())
    return [from_numpy(y, device=xs[0].device, copy=True) for y in found]


@_call.register_fake
def _results(xs: Any, number: Any, flat: Any, ranks: Any, names: Any) -> Any:
    shapes = zip(_shapes_of(flat, ranks), names.split(), strict=True)
    return [xs[0].new_empty(shape, dtype=as_dtype(name)) for shape, name in shapes]


@_call.register_vmap
def _for_each(
    info: Any, in_dims: Any, xs: Any, number: Any, flat: Any, ranks: Any, names: Any
) -> Any:
    pairs = list(zip(xs, in_dims[0], strict=True))
    rows = [
        _call([x if d is None else x.select(d, i) for x, d in pairs], number, flat, ranks, names)
        for i in range(info.batch_size)
    ]
    return [torch.stack(column) for column in zip(*rows, strict=True)], [0] * len(ranks)


_call.register_autograd(no_derivative)
