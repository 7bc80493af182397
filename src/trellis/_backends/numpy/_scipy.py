"""`scipy.special`, imported when one of its functions is first called: importing it takes several
times as long as importing NumPy, and most programs call none of them."""

from typing import Any

from ._tape import differentiable


def __getattr__(name: str) -> Any:
    if name != "special":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from scipy import special

    expit = special.expit
    differentiable(expit, lambda ans, x: lambda g: g * ans * (1 - ans))
    return globals().setdefault(name, special)  # the next look-up finds it
