"""Whether a value is of the kind that a signature asks for, and that kind in words.

Asked where something has gone wrong already, and in constructors: a call of a function that works
never comes here.
"""

import os
from collections.abc import Callable, Hashable, Mapping
from functools import cache
from inspect import Parameter, signature
from numbers import Complex, Real
from types import NoneType, UnionType
from typing import Any, ForwardRef, Literal, TypeVar, Union, get_args, get_origin

import numpy as np

from .arrays import is_array
from .dtypes import name_of
from .errors import ArgumentError, ArgumentTypeError, TrellisError
from .typing import Array

_WORDS = {
    bool: "True or False",
    int: "an integer",
    float: "a number",
    complex: "a complex number",
    str: "a string",
    NoneType: "None",
    Array: "an array",
    Hashable: "a name",
    os.PathLike: "a path",
}


def fits(value: object, annotation: object) -> bool:
    """Whether `value` is of the kind that an annotation names.

    >>> fits(2, int | None), fits(True, int), fits("a", float), fits((1, 2), tuple[int, ...])
    (True, False, False, True)
    """
    if annotation in (Any, object, Parameter.empty) or isinstance(annotation, (str, ForwardRef)):
        return True
    if isinstance(annotation, TypeVar):
        return annotation.__bound__ is None or fits(value, annotation.__bound__)
    origin, parts = get_origin(annotation), get_args(annotation)
    if origin in (Union, UnionType):
        return any([fits(value, part) for part in parts])
    if origin is Literal:
        return isinstance(value, (str, int, float, NoneType)) and value in parts
    if origin is not None:
        return _fits_generic(value, origin, parts)
    return _fits_class(value, annotation)


def _fits_generic(value: object, origin: Any, parts: tuple[Any, ...]) -> bool:
    if origin is Callable:
        return callable(value)
    if issubclass(origin, Mapping):
        return isinstance(value, Mapping)
    if issubclass(origin, os.PathLike):
        return isinstance(value, os.PathLike)
    if is_array(value):  # its numbers are looked at by the function itself
        return True
    if isinstance(value, (str, bytes, Mapping)) or not hasattr(value, "__iter__"):
        return False
    return not parts or all([fits(item, parts[0]) for item in value])


def _fits_class(value: object, cls: Any) -> bool:
    is_bool = isinstance(value, (bool, np.bool_))
    if cls is bool:
        return is_bool
    if cls is int:
        return not is_bool and hasattr(value, "__index__") and not getattr(value, "shape", ())
    if cls in (float, complex):
        kind = Real if cls is float else Complex
        return not is_bool and (isinstance(value, kind) or _is_scalar_array(value))
    if cls is None or cls is NoneType:
        return value is None
    if cls is Array:
        return is_array(value) or isinstance(value, dict)  # pytrees go leaf by leaf
    if cls is Hashable:
        return not is_array(value) and getattr(type(value), "__hash__", None) is not None
    # A function is accepted in place of another callable: a module, an initialiser.
    return isinstance(value, cls) or (callable(value) and "__call__" in dir(cls))


def _is_scalar_array(value: object) -> bool:
    return is_array(value) and len(getattr(value, "shape", (0,))) == 0


def described(annotation: object) -> str:
    """An annotation in words.

    >>> described(int | tuple[int, ...] | None)
    'an integer, several integers or None'
    """
    words = _words_of(annotation)
    return " or ".join([*([", ".join(words[:-1])] if words[:-1] else []), words[-1]])


def _words_of(annotation: Any) -> list[str]:
    if isinstance(annotation, TypeVar):
        return _words_of(annotation.__bound__)
    origin, parts = get_origin(annotation), get_args(annotation)
    if origin in (Union, UnionType):
        found = [word for part in parts for word in _words_of(part)]
        if "a complex number" in found:  # every number, and also True and False
            numbers = ("True or False", "an integer", "a complex number")
            found = [word for word in found if word not in numbers]
        return list(dict.fromkeys(found))
    if origin is Literal:
        return [repr(part) for part in parts]
    if origin is Callable:
        return ["a function"]
    if origin is not None and issubclass(origin, Mapping):
        return ["a dict"]
    if origin is not None and origin in _WORDS:
        return [_WORDS[origin]]
    if origin is not None:
        inner = _words_of(parts[0])[0] if parts else "a value"
        return [f"several {inner.partition(' ')[2]}s" if inner.startswith("a") else "several"]
    return [_WORDS.get(annotation, f"a {getattr(annotation, '__name__', annotation)}")]


def shown(value: Any) -> str:
    """A value in an error: arrays by shape and dtype, long ones by their type.

    >>> shown("yes"), shown([1] * 99)
    ("'yes' (str)", 'a list')
    """
    if is_array(value):
        shape = tuple(getattr(value, "shape", ()))
        return f"an array of {name_of(value.dtype)} of shape {shape}"
    text = repr(value)
    is_short = len(text) < 60 and "\n" not in text
    return f"{text} ({type(value).__name__})" if is_short else f"a {type(value).__name__}"


def check_arguments(fn: Callable[..., Any], arguments: Mapping[str, Any]) -> None:
    """Raise unless all `arguments`, the `locals()` of a call, are of the kinds in the signature.

    For functions that are not called in a loop: it takes some microseconds.
    """
    parameters = parameters_of(fn)
    given = {name: arguments[name] for name in parameters if name in arguments}
    found = wrong_kind(fn.__name__, parameters, given)
    if found is not None:
        raise found


@cache
def parameters_of(fn: Callable[..., Any]) -> Mapping[str, Parameter]:
    """The parameters of a function or class, by name."""
    return signature(fn).parameters


def check_callable(function: str, fn: object) -> None:
    """Raise unless the argument of a function that takes another can be called."""
    if not callable(fn):
        raise ArgumentTypeError(f"{function}() expects a function, got {shown(fn)}.")


def wrong_kind(
    function: str, parameters: Mapping[str, Parameter], arguments: Mapping[str, Any]
) -> TrellisError | None:
    """The error about the first argument that is not of the kind its parameter asks for."""
    for name, value in arguments.items():
        if name not in parameters:
            continue
        parameter = parameters[name]
        values = value if parameter.kind is Parameter.VAR_POSITIONAL else (value,)
        for each in values:
            if each is not parameter.default and not fits(each, parameter.annotation):
                return _misfit(function, name, each, parameter.annotation)
    return None


def _misfit(function: str, name: str, value: object, annotation: object) -> TrellisError:
    words = described(annotation)
    is_word = isinstance(value, str) and "'" in words
    text = f"{function}() expects {words} for {name}, got {shown(value)}."
    if "an array" in words and isinstance(value, (list, tuple, int, float)):
        text += " Write trellis.asarray(...) around it first."
    return ArgumentError(text) if is_word else ArgumentTypeError(text)


def length_of(data: Any) -> int | None:
    """How many there are, if the object can say it."""
    try:
        return len(data)
    except (TypeError, NotImplementedError):
        return None
