"""What was seen, as a table and as sentences."""

import math
from typing import TYPE_CHECKING

from .statistics import Statistics

if TYPE_CHECKING:
    from .watching import Watch

# A gradient that is this many times the median of all modules explodes, one that is this many times
# smaller vanishes; an activation whose root mean square is above the first explodes too.
_EXPLODES, _VANISHES = 1e3, 1e-6

# Modules whose zeros mean that a unit does nothing; a 0 of others (dropout, pooling) may be right.
_RECTIFIERS = ("ReLU", "ReLU6", "LeakyReLU", "ELU", "SELU", "GELU", "HardSwish", "HardSigmoid")


def findings(seen: "Watch") -> list[str]:
    """What looks wrong."""
    found = []
    for name, x in seen.activations.items():
        if x.dead and seen.kinds[name] in _RECTIFIERS:
            found.append(
                f"{_called(seen, name)}: {len(x.dead)} of {x.units} units are dead (0 in every "
                "example)."
            )
    for name, x in seen.activations.items():
        if x.rms > _EXPLODES:
            found.append(f"{_called(seen, name)}: activations explode, rms {x.rms:.3g}.")
    found += _gradients(seen)
    if seen.first_nonfinite is not None:
        found.append(f"First value that is not finite: {seen.first_nonfinite}.")
    if seen.compiled_calls:
        found.append(
            f"{seen.compiled_calls} arrays passed inside compiled functions, whose values cannot "
            "be read: write `with trellis.using_compilation(False), "
            "trellis.debug.watch(model):`."
        )
    elif not seen.activations:
        found.append(
            "No call of the model was seen. Functions that were compiled before run without "
            "Python: write `with trellis.using_compilation(False), trellis.debug.watch(model):`."
        )
    return found


def _gradients(seen: "Watch") -> list[str]:
    sizes = {name: x.rms for name, x in seen.gradients.items() if x.rms > 0}
    if not sizes:
        return []
    median = sorted(sizes.values())[len(sizes) // 2]
    found = []
    for name, size in sizes.items():
        if size > _EXPLODES * median:
            found.append(f"{_called(seen, name)}: the gradient explodes, rms {size:.3g}.")
        if size < _VANISHES * median:
            found.append(f"{_called(seen, name)}: the gradient vanishes, rms {size:.3g}.")
    return found


def _called(seen: "Watch", name: str) -> str:
    return f"{name or '.'} ({seen.kinds[name]})"


def table(seen: "Watch") -> str:
    """One line for each module that was called."""
    head = ["module", "class", "calls", "mean", "rms", "largest", "zeros", "gradient rms"]
    rows = [head]
    for name, x in seen.activations.items():
        gradient = seen.gradients.get(name)
        rows.append(
            [name or ".", seen.kinds[name], str(x.calls), *_numbers(x), _shown_rms(gradient)]
        )
    widths = [max([len(row[i]) for row in rows]) for i in range(len(head))]
    lines = [
        "  ".join(
            [
                cell.ljust(width) if i < 2 else cell.rjust(width)
                for i, (cell, width) in enumerate(zip(row, widths, strict=True))
            ]
        ).rstrip()
        for row in rows
    ]
    return "\n".join([lines[0], "-" * max([len(line) for line in lines]), *lines[1:]])


def _numbers(x: Statistics) -> list[str]:
    zeros = "" if math.isnan(x.zeros) else f"{x.zeros:.0%}"
    return [f"{x.mean:.3g}", f"{x.rms:.3g}", f"{x.largest:.3g}", zeros]


def _shown_rms(x: Statistics | None) -> str:
    return "" if x is None else f"{x.rms:.3g}"
