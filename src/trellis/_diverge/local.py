"""One call at a time: what another framework gives for the inputs that the first one had."""

from typing import Any

from .._core import tree
from .._core.dispatch import load
from .._core.dtypes import KINDS, name_of
from .._core.typing import Backend
from .._recording import is_function
from .recording import NO_CALL, Call, Recording, as_numpy, gradients_of, moved_array


def replayed(first: Recording, backend: str, gradients: bool) -> Recording:
    """The calls of a recording, each made on another framework with the inputs of the first."""
    xp: Any = load(backend)
    source: Any = load(first.backend)
    return Recording(
        backend, [_again(call, source, xp, backend, gradients) for call in first.calls]
    )


def _again(call: Call, source: Any, xp: Backend, backend: str, gradients: bool) -> Call:
    again = Call(call.op, call.public, call.group, call.where, call.module, call.variables, [])
    if call.live is None:
        again.remark = NO_CALL
        return again
    fn, args, kwargs = call.live
    if any([is_function(x) for x in tree.leaves([list(args), dict(kwargs)])]):
        again.remark = "it is given functions"
        return again
    fn = _function(call.op, fn, xp)
    if fn is None:
        again.remark = "a function of the framework itself"
        return again
    args, kwargs = [_moved(x, source, xp, backend) for x in (args, kwargs)]
    kwargs.pop("device", None)
    result = fn(*args, **kwargs)
    if result is None:
        again.remark = f"{backend} has no such kernel"
        return again
    found = [x for x in tree.leaves([result]) if isinstance(x, xp.ARRAY_TYPES)]
    again.outputs = [as_numpy(xp, x) for x in found]
    if gradients:
        again.gradients = gradients_of(xp, fn, tuple(args), kwargs)
    return again


def _function(op: str, fn: Any, xp: Any) -> Any:
    if getattr(fn, "__module__", "") == "_operator":
        return fn
    for part in op.split("."):
        xp = getattr(xp, part, None)
    return xp


def _moved(nest: object, source: Any, xp: Backend, backend: str) -> Any:
    if isinstance(nest, tuple):
        items = [_moved(x, source, xp, backend) for x in nest]
        return type(nest)(*items) if hasattr(nest, "_fields") else tuple(items)
    if isinstance(nest, list):
        return [_moved(x, source, xp, backend) for x in nest]
    if isinstance(nest, dict):
        return {key: _moved(x, source, xp, backend) for key, x in nest.items()}
    if isinstance(nest, slice):
        return slice(*_moved((nest.start, nest.stop, nest.step), source, xp, backend))
    if isinstance(nest, source.ARRAY_TYPES):
        return moved_array(nest, backend)
    if nest is None or isinstance(nest, (bool, int, float, complex, str, type(Ellipsis))):
        return nest
    name = name_of(nest)
    return xp.as_dtype(name) if name in ("bool", *KINDS["numeric"]) else nest
