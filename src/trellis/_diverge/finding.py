"""`diverge`: decides which comparison is asked for, and runs it."""

from collections.abc import Callable, Sequence
from typing import Any

from .._core import tree
from .._core.dispatch import (
    backend_of,
    current_backend,
    imported_names,
    load,
)
from .._core.errors import ArgumentError, NotSupportedError
from .._recording import refuse_compilers
from .._recording.modules import modules_of
from .compiled import with_compiler
from .foreign import foreign_and_own
from .local import replayed
from .recording import record
from .report import Report, compare

MODES = ("accumulated", "local")


def find(
    fn: Callable[..., Any],
    args: object,
    foreign_args: Any,
    backends: Sequence[str] | None,
    mode: str,
    gradients: bool,
    compiled: bool,
    tolerance: float | None,
) -> Report:
    """`trellis.diverge`."""
    refuse_compilers()
    if mode not in MODES:
        raise ArgumentError(f"mode is one of {', '.join(MODES)}, got {mode!r}.")
    if foreign_args is not None:
        if backends is not None or compiled or gradients or mode != "accumulated":
            raise ArgumentError(
                "diverge(model, port, args) takes tolerance and no other option: it compares what "
                "both give."
            )
        found = foreign_and_own(fn, args, _as_tuple(foreign_args))
        return compare(found, tolerance=tolerance)
    args = _as_tuple(args)
    if compiled:
        return _with_compiler(fn, args, backends, mode, gradients, tolerance)
    names = _backends(fn, args, backends)
    first = record(fn, args, backend=names[0], gradients=gradients)
    if mode == "local":
        others = [replayed(first, name, gradients) for name in names[1:]]
    else:
        others = [record(fn, args, backend=name, gradients=gradients) for name in names[1:]]
    return compare([first, *others], mode=mode, tolerance=tolerance)


def _with_compiler(fn: Callable[..., Any], args: Any, backends: Any, mode: str, gradients: bool,
                   tolerance: float | None) -> Report:  # fmt: skip
    if gradients or mode != "accumulated":
        raise NotSupportedError(
            "diverge(..., compiled=True) compares the values of one compiled program; leave out "
            "gradients and mode."
        )
    names = [_own_backend(fn, args)] if backends is None else list(backends)
    reports = [with_compiler(fn, args, name, tolerance) for name in names]
    whole = reports[0]
    for report in reports[1:]:
        whole.others += report.others
        whole.differences += report.differences
        whole.steps |= report.steps
        whole.remarks += report.remarks
    return whole


def _as_tuple(args: object) -> tuple[Any, ...]:
    return tuple(args) if isinstance(args, (tuple, list)) else (args,)


def _own_backend(fn: Callable[..., Any], args: Any) -> str:
    arrays = [x for x in tree.leaves(list(args)) if hasattr(x, "dtype")]
    for module in modules_of(fn).values():
        arrays += tree.leaves(module.v) if module.built else []
    return backend_of(arrays[0]) if arrays else current_backend()


def _backends(fn: Callable[..., Any], args: object, backends: Sequence[str] | None) -> list[str]:
    if backends is None:
        own = _own_backend(fn, args)
        backends = [own, *[name for name in imported_names() if name != own]]
    if isinstance(backends, str) or len(backends) < 2:
        raise ArgumentError(
            f"diverge() compares at least two frameworks, got backends={backends!r}. Write "
            'backends=("torch", "jax"), or compiled=True for one and its compiler.'
        )
    for name in backends:
        load(name)
    return list(backends)
