"""Errors of a framework in the words of this library.

The good path pays nothing: a public function calls its backend first, and where that raises, the
arguments are examined and the mistake is named:

    try:
        return xp_of(x).sum(x, axis=axis)
    except Exception as error:
        return explain(error, sum)

NumPy scalars among the arguments are allowed: the function is called again with Python numbers.
"""

import re
from collections.abc import Callable, Mapping
from dis import get_instructions
from functools import cache
from inspect import BoundArguments, Signature, signature
from typing import Any

import numpy as np

from .arrays import NUMBERS, holds_scalar, is_array, plain
from .dtypes import KINDS, name_of
from .errors import (
    ArgumentError,
    ArgumentTypeError,
    DtypeError,
    NotSupportedError,
    OutOfMemoryError,
    ShapeError,
    TracingError,
    TrellisError,
)
from .guards import WrongKind, singular
from .kinds import described, parameters_of, shown, wrong_kind
from .shapes import broadcast_shapes, normal_axes

# What compilers say to those who write compiled code: theirs to explain. By module and by name.
_COMPILERS = ("jax.errors", "jax._src.errors", "torch._dynamo", "torch._inductor", "torch.fx")
_OF_A_COMPILER = re.compile("Tracer|Concret|NotAllowedInGraph|AutoGraph|Staging|Unsupported")
# Faults of the library itself, if no argument is to blame.
_FAULTS = (AttributeError, AssertionError, ImportError, NameError, LookupError)
_DTYPES = re.compile(
    "dtype|data type|not implemented for|not supported for the input types|[Vv]alue for attr"
    "|complex|[Bb]ool|input types|unsigned|did not contain a loop"
)
_BROADCAST = re.compile("broadcast|must match the size|[Ii]ncompatible shapes")
_SINGULAR = re.compile("[Ss]ingular|invert|inversion|positive.definite")
_MEMORY = re.compile("RESOURCE_EXHAUSTED|allocate|out of memory|OOM", re.IGNORECASE)
_INVERTS = ("cholesky", "inv", "matrix_power", "solve")
_AXES = ("axis", "axes", "channel_axis", "source", "destination")


def explain(
    error: Exception, fn: Callable[..., Any], arguments: Mapping[str, Any] | None = None
) -> Any:
    """Raise what is to be said of an error that was caught in the public function `fn`, unless
    Python numbers in place of NumPy's scalars give an answer.

    Without `arguments` they are read from the frame of the function, which the traceback holds.
    Errors of this library and of compilers stay as they are, and so does what no argument explains.
    """
    # What no number could mend stays as it is; inside a compiler there is no frame to look at.
    if _is_of_a_compiler(error) or isinstance(error, (NotSupportedError, TracingError)):
        raise error
    if arguments is None:
        arguments = _given(error, fn)
        # The guards come first, while every argument still is what was passed.
        can_repeat = isinstance(error, WrongKind) or not _rebinds_an_array(fn)
        again = _with_python_numbers(fn, arguments) if can_repeat else None
        if again is not None:
            return fn(*again.args, **again.kwargs)
    if isinstance(error, TrellisError):
        raise error
    found = _explanation(error, fn, arguments)
    if found is None:
        raise error
    raise found from error


def is_singular(error: Exception) -> bool:
    """Whether an error says that a matrix cannot be inverted, or has no Cholesky factor: one of
    this library (`singular`), or of a framework, whose class is a LinAlgError."""
    is_of_matrices = isinstance(error, ArgumentError) or "LinAlgError" in type(error).__name__
    return is_of_matrices and _SINGULAR.search(str(error)) is not None


def _with_python_numbers(
    fn: Callable[..., Any], arguments: Mapping[str, Any]
) -> BoundArguments | None:
    """The arguments of a call with Python numbers for NumPy scalars, tuples for lists of axes, and
    an array for a Python number in place of the only array; None where there is none of these.

    Where no other array is among them, a scalar in place of an array stays the array it is.
    """
    form, words = _signature_of(fn)
    given = dict(arguments)
    for name, value in arguments.items():
        if holds_scalar(value) and ("an array" not in words[name] or _has_array(arguments)):
            given[name] = plain(value)
        if name in _AXES and isinstance(value, list):
            given[name] = tuple(plain(value))
    arrays = [name for name in given if "array" in words[name]]
    if len(arrays) == 1 and words[arrays[0]] == "an array" and type(given[arrays[0]]) in NUMBERS:
        from .dispatch import default_xp

        given[arrays[0]] = default_xp().asarray(given[arrays[0]])
    if all([given[name] is value for name, value in arguments.items()]):
        return None
    return BoundArguments(form, given)  # type: ignore[arg-type]


@cache
def _signature_of(fn: Callable[..., Any]) -> tuple[Signature, dict[str, str]]:
    """The signature of a function, and what each of its parameters asks for in words."""
    form = signature(fn)
    return form, {name: described(p.annotation) for name, p in form.parameters.items()}


@cache
def _rebinds_an_array(fn: Callable[..., Any]) -> bool:
    """Whether a function gives the name of an array to another one: what it was called with is
    gone then, and it must not be called again."""
    stored: set[str] = set()
    for step in get_instructions(fn):
        if step.opname.startswith(("STORE_FAST", "STORE_DEREF")):
            stored |= {step.argval} if isinstance(step.argval, str) else set(step.argval)
    words = _signature_of(fn)[1]
    return any(["array" in words[name] for name in stored & set(words)])


def _has_array(arguments: Mapping[str, Any]) -> bool:
    values = [value for value in arguments.values() if not isinstance(value, (tuple, list))]
    for value in arguments.values():
        if isinstance(value, (tuple, list)):
            values += value
    return any([is_array(x) and not isinstance(x, np.generic) for x in values])


def _is_of_a_compiler(error: Exception) -> bool:
    cls = type(error)
    if cls.__name__ == "JaxRuntimeError":
        return False
    return cls.__module__.startswith(_COMPILERS) or bool(_OF_A_COMPILER.search(cls.__name__))


def _given(error: Exception, fn: Callable[..., Any]) -> dict[str, Any]:
    assert error.__traceback__ is not None, "explain() is for errors that were caught"
    here = error.__traceback__.tb_frame.f_locals
    return {name: here[name] for name in parameters_of(fn) if name in here}


def _explanation(
    error: Exception, fn: Callable[..., Any], arguments: Mapping[str, Any]
) -> TrellisError | None:
    found = wrong_kind(fn.__name__, parameters_of(fn), arguments)
    if found is None and any([callable(value) for value in arguments.values()]):
        return None  # the error may be one of the user's own function
    if found is None:
        found = _wrong_dtype_name(fn.__name__, arguments)
    if found is None:
        found = _wrong_axis(fn.__name__, arguments)
    return _by_class(error, fn.__name__, arguments) if found is None else found


def _wrong_dtype_name(function: str, arguments: Mapping[str, Any]) -> TrellisError | None:
    dtype = arguments.get("dtype")
    known = ("bool", *KINDS["numeric"])
    if dtype is None or name_of(dtype) in known:
        return None
    return DtypeError(
        f"{function}() expects a data type for dtype, got {dtype!r}. They are {', '.join(known)}."
    )


def _wrong_axis(function: str, arguments: Mapping[str, Any]) -> TrellisError | None:
    arrays = _arrays_of(arguments)
    for name in _AXES:
        if arrays and arguments.get(name) is not None:
            ndim = len(next(iter(arrays.values())).shape)
            try:
                normal_axes(arguments[name], ndim)
            except TrellisError as wrong:
                return type(wrong)(f"{function}(): {wrong}")
    return None


def _by_class(error: Exception, function: str, arguments: Mapping[str, Any]) -> TrellisError | None:
    """What remains: the arguments in short, and the framework's own words."""
    arrays = _arrays_of(arguments)
    given = ", ".join([f"{name} is {shown(x)}" for name, x in arrays.items()])
    reason = str(error).strip().partition("\n")[0][:300]
    if isinstance(error, MemoryError) or _MEMORY.search(str(error)):
        return OutOfMemoryError(
            f"{function}() needs more memory than there is: {reason}"
            + (f" ({given})" if given else "")
        )
    if isinstance(error, AttributeError) and error.name in ("shape", "dtype", "__dlpack__"):
        return ArgumentTypeError(f"{function}() expects an array in place of {shown(error.obj)}.")
    if isinstance(error, _FAULTS) and not isinstance(error, IndexError):
        return None
    if function in _INVERTS and _SINGULAR.search(str(error)):
        return singular(function)
    if _BROADCAST.search(str(error)):
        try:
            broadcast_shapes(*[tuple(x.shape) for x in arrays.values()], function=function)
        except ShapeError as found:
            return found
    text = f"{function}() cannot take these arguments: {reason}"
    text += f" ({given})" if given else ""
    dtypes = [name_of(x.dtype) for x in arrays.values()]
    if _DTYPES.search(str(error)) and any([not name.startswith("float") for name in dtypes]):
        return DtypeError(text)
    if isinstance(error, OverflowError) or not arrays:
        return ArgumentError(text)
    return ShapeError(text) if len(arrays) > 1 else ArgumentError(text)


def _arrays_of(arguments: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in arguments.items():
        if isinstance(value, (list, tuple)):
            found |= {f"{name}[{i}]": x for i, x in enumerate(value) if is_array(x)}
        elif is_array(value):
            found[name] = value
    return found
