"""Descriptions of a module: its repr, and a table of its parts with shapes, counts and memory."""

import contextlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..._array.casting import dtype as dtype_of
from ..._array.creation import zeros
from ..._core import tree
from ..._core.container import Container
from ..._core.dispatch import backend_of, using_backend
from ..._core.dtypes import FLOATING
from ..._core.typing import Array, DTypeLike
from .buffers import buffers
from .call import Call
from .node import Node, Owner
from .queries import below
from .variables import stored_variables

if TYPE_CHECKING:
    from .module import Module

_BYTES = {"bool": 1, "bfloat16": 2, "complex64": 8, "complex128": 16}


class Summary(Owner):
    """The part of `Module` that describes it."""

    def extra_repr(self) -> str:
        """What a repr shows between the parentheses; override to add to it."""
        return ""

    def __repr__(self) -> str:
        children = self.__node__.children
        extra = self.extra_repr()
        if not children:
            return f"{type(self).__name__}({extra})"
        lines = [extra] if extra else []
        for key, child in children.items():
            lines.append(f"({key}): {child!r}".replace("\n", "\n  "))
        return f"{type(self).__name__}(\n  " + "\n  ".join(lines) + "\n)"

    def _repr_html_(self) -> str:
        """What notebooks show: the table of `summary`."""
        from ..._core import html  # for notebooks only

        rows: list[list[str]] = []
        _add_rows(self, "", rows, None)
        caption = f"{type(self).__name__}: {self.count_parameters():,} parameters"
        return html.table(["module", "class", "parameters", "memory"], rows, caption)

    def summary(self, *input_shapes: Sequence[int], dtype: DTypeLike | None = None) -> str:
        """A table of all modules: class, output shape, number of parameters, memory.

        With the shapes of the inputs the module runs once on zeros, in evaluation mode, and the
        table shows what each part returns. `dtype` is that of the zeros; None: that of the
        variables.

        >>> import trellis
        >>> print(trellis.nn.Linear(4, 3).summary((2, 4)))
        module  class   output  parameters  memory
        ------------------------------------------
        .       Linear  (2, 3)          15    60 B
        ------------------------------------------
        15 parameters, 60 B; buffers 0 B
        """
        shapes = _run(self, input_shapes, dtype) if input_shapes else None
        rows = [["module", "class", "parameters", "memory"]]
        _add_rows(self, "", rows, shapes)
        if shapes is not None:
            rows[0].insert(2, "output")
        leaves = tree.leaves(stored_variables(self.__node__))
        total = sum([size(x) for x in leaves])
        last = (
            f"{total:,} parameters, {readable(sum([memory(x) for x in leaves]))}; "
            f"buffers {readable(sum([memory(x) for x in tree.leaves(buffers(self.__node__))]))}"
        )
        return "\n".join([*_table(rows), last])

    def count_parameters(self) -> int:
        """How many numbers the variables hold; shared ones count once."""
        return sum([size(x) for x in tree.leaves(stored_variables(self.__node__))])


def _add_rows(
    module: Owner, chain: str, rows: list[list[str]], shapes: dict[int, str] | None
) -> None:
    node: Node = module.__node__
    leaves = tree.leaves(own_variables(node))
    row = [chain or ".", type(module).__name__, f"{sum([size(x) for x in leaves]):,}",
           readable(sum([memory(x) for x in leaves]))]  # fmt: skip
    if shapes is not None:
        row.insert(2, shapes.get(id(module), "-"))
    rows.append(row)
    for key, child in node.children.items():
        _add_rows(child, f"{chain}/{key}" if chain else key, rows, shapes)


def own_variables(node: Node) -> Container:
    """Those that belong to the module itself, not to a child."""
    v = stored_variables(node)
    return Container({key: value for key, value in dict.items(v) if key not in node.heads})


def _run(module: Any, input_shapes: tuple[Any, ...], dtype: DTypeLike | None) -> dict[int, str]:
    """The shapes of what all modules return for inputs of zeros; nothing on the module changes."""
    shapes: dict[int, str] = {}
    leaves = tree.leaves(stored_variables(module.__node__))
    floats = [x for x in leaves if str(dtype_of(x)) in FLOATING]
    backend = backend_of(leaves[0]) if leaves else None
    kind = dtype if dtype is not None else (str(dtype_of(floats[0])) if floats else None)
    inputs = [zeros(tuple(s), dtype=kind, backend=backend) for s in input_shapes]
    modes = [(each, each.training) for each in below(module)]
    module.eval()
    observer = _ShapeObserver(module, shapes)
    call = Call(module.__node__, None, module.buffers.copy(), None, observer)
    try:
        with contextlib.nullcontext() if backend is None else using_backend(backend):
            module._run_forward(call, tuple(inputs), {}, True, None)
    finally:
        for each, mode in modes:
            each.training = mode
    return shapes


class _ShapeObserver:
    """Takes the place of a tracker; keeps only shapes."""

    def __init__(self, root: "Module", shapes: dict[int, str]):
        self.root = root
        self._shapes = shapes

    def enter(self, module: "Module") -> None:
        pass

    def leave(self, entry: object) -> None:
        pass

    def record(self, module: "Module", ret: object) -> None:
        found = [str(tuple(x.shape)) for x in tree.leaves(ret) if hasattr(x, "shape")]
        self._shapes[id(module)] = ", ".join(found) or "-"


def size(x: Array) -> int:
    count = 1
    for n in x.shape:
        count *= n
    return count


def memory(x: Array) -> int:
    """Bytes of an array.

    >>> import numpy as np
    >>> memory(np.zeros((2, 3)))
    48
    """
    name = str(dtype_of(x))
    digits = "".join([c for c in name if c.isdigit()])
    return size(x) * (_BYTES[name] if name in _BYTES else int(digits) // 8)


def readable(n: int) -> str:
    """A number of bytes with a unit.

    >>> readable(60), readable(2048)
    ('60 B', '2.0 kB')
    """
    if n < 1000:
        return f"{n} B"
    units = ["kB", "MB", "GB"]
    value = n / 1000
    while value >= 1000 and len(units) > 1:
        value, units = value / 1000, units[1:]
    return f"{value:.1f} {units[0]}"


def _table(rows: list[list[str]]) -> list[str]:
    """Columns side by side: names to the left, numbers to the right."""
    widths = [max([len(row[i]) for row in rows]) for i in range(len(rows[0]))]
    lines = []
    for row in rows:
        n = len(row) - 2
        cells = [
            cell.ljust(w) if i < n else cell.rjust(w)
            for i, (cell, w) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(cells).rstrip())
    rule = "-" * max([len(line) for line in lines])
    return [lines[0], rule, *lines[1:], rule]
