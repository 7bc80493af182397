"""The mistakes that are made in every good call, and what became of them."""

import inspect
import re
import typing
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import trellis
from trellis._core.arrays import is_array
from trellis.errors import TrellisError

from .good_calls import Made

HUGE = 10**30
AXES = ("axis", "axes", "channel_axis", "source", "destination", "in_axes", "out_axes")


# What is not compared, and why.
ENDLESS = "so many epochs are what was asked for"
OWN_FUNCTION = "the error of the user's own function, which passes as it is"
BY_VALUE = "JAX does not look at the values of indices"
KNOWN = {
    ("train.fit", "epochs: huge"): ENDLESS,
    ("cond", "operands[0]: none"): OWN_FUNCTION,
    ("switch", "operands[0]: none"): OWN_FUNCTION,
    ("cond", "operands[0]: list"): OWN_FUNCTION,
    ("fori_loop", "init: number"): "JAX makes an array of the number",
    ("while_loop", "init: number"): "JAX makes an array of the number",
    ("while_loop", "init: other framework"): OWN_FUNCTION,
    ("take", "x: rank + 1"): BY_VALUE,
    **{
        (name, f"indices: {where}"): BY_VALUE
        for name in ("put_along_axis", "scatter", "take", "take_along_axis")
        for where in ("out of range", "below range")
    },
}


class Stranger:
    """An object that no function expects."""

    def __repr__(self) -> str:
        return "Stranger()"


FOREIGN = Stranger()  # stands for an array of another framework

AXIS = {
    "out of range": 99,
    "below range": -99,
    "float": 1.5,
    "bool": True,
    "text": "0",
    "twice": (0, 0),
    "complex": 1j,
}
FLAG = {"text": "yes", "none": None, "number": 2, "complex": 1j}
WHOLE = {
    "text": "3",
    "float": 1.5,
    "none": None,
    "below": -7,
    "huge": HUGE,
    "list": [1],
    "complex": 1j,
    "empty": np.zeros(0, "int32"),
}
NUMBER = {
    "text": "a",
    "none": None,
    "nan": float("nan"),
    "list": [1.0],
    "object": Stranger(),
    "complex": 1j,
    "empty": np.zeros(0, "float32"),
    "out of range": -1e30,
}
WORD = {"unknown": "nonsense", "number": 3, "none": None}
SIZES = {
    "text": "ab",
    "float": 1.5,
    "none": None,
    "below": -3,
    "one below": (2, -3),
    "huge": HUGE,
    "petabytes": 10**15,
    "texts": ("a", "b"),
    "complex": 1j,
    "empty": (),
    "zero": 0,
}
DTYPE = {"unknown": "float33", "number": 3, "list": [1]}
DEVICE = {"unknown": "nowhere", "number": 3}
FUNCTION = {"none": None, "number": 3, "text": "f"}
OTHER = {"none": None, "text": "x", "number": 3, "object": Stranger()}
SEED = {"text": "x", "float": 1.5, "below": -1, "object": Stranger()}


def array_mistakes(x: np.ndarray) -> dict[str, Any]:
    """What may be given for an array."""
    is_square = x.ndim > 1 and x.shape[-1] == x.shape[-2]
    ones = np.broadcast_to(np.eye(x.shape[-1]), x.shape) if is_square else np.ones(x.shape)
    return {
        # Of integers, which may be places: those that no array has.
        **(
            {
                "out of range": np.full(x.shape, 99, x.dtype),
                "below range": np.full(x.shape, -99, x.dtype),
            }
            if x.dtype.kind == "i"
            else {}
        ),
        "none": None,
        "list": [1.0, 2.0],
        "text": "x",
        "object": Stranger(),
        "number": 2.5,
        "other framework": FOREIGN,
        "rank 0": np.zeros((), x.dtype),
        "rank + 1": x[None],
        "other shape": np.ones((5, 7), x.dtype),
        "empty": np.zeros((0,) * max(x.ndim, 1), x.dtype),
        "nan": np.full(x.shape, np.nan, "float32"),
        "bools": ones.astype("bool"),
        "integers": ones.astype("int32"),
        "complex": ones.astype("complex64"),
    }


def kinds_of(annotation: Any) -> set[Any]:
    """The types, as far down as they are named in an annotation."""
    found = {typing.get_origin(annotation) or annotation}
    for part in typing.get_args(annotation):
        found |= kinds_of(part) if not isinstance(part, (str, int, float, list)) else set()
    return found


def mistakes_for(parameter: inspect.Parameter, value: Any) -> dict[str, Any]:
    """The mistakes that one can make in a parameter, given the value of a good call."""
    name, kinds = parameter.name, kinds_of(parameter.annotation)
    if isinstance(value, np.ndarray):
        return array_mistakes(value)
    if name in AXES:
        # Several axes where one is meant.
        return {**AXIS, "one in a tuple": (0,)} if kinds == {int} else AXIS
    if name == "dtype":
        return DTYPE
    if name == "device":
        return DEVICE
    if name == "seed":
        return SEED
    if isinstance(value, (list, tuple)) and value and isinstance(value[0], np.ndarray):
        return {
            **OTHER,
            "empty": [],
            "numbers": [1.0, 2.0],
            "other shape": [value[0], np.ones((5, 7, 2), value[0].dtype)],
        }
    names = {getattr(kind, "__name__", str(kind)) for kind in kinds}
    if "Mapping" in names:  # a pytree
        return OTHER
    if names & {"A", "Array"} and value is None:
        return {"list": [1.0], "text": "x", "object": Stranger(), "other framework": FOREIGN,
                "other shape": np.ones((5, 7), "float32")}  # fmt: skip
    if names & {"Sequence", "tuple", "list"} and int in kinds:
        return SIZES
    if bool in kinds and not kinds & {int, float}:
        return FLAG
    if int in kinds and float not in kinds:
        return WHOLE
    if float in kinds:
        return NUMBER
    if typing.Literal in kinds or str in kinds:
        return WORD
    if "Callable" in names:
        return FUNCTION
    return OTHER


def as_numpy_scalars(value: Any) -> Any:
    """Python numbers as NumPy has them, also in lists and tuples."""
    kinds = {bool: np.bool_, int: np.int64, float: np.float64, complex: np.complex128}
    if type(value) in (list, tuple):
        return type(value)([as_numpy_scalars(item) for item in value])
    return kinds[type(value)](value) if type(value) in kinds else value


@dataclass(frozen=True)
class Mistake:
    """One wrong call: the good one, but for a parameter."""

    where: str
    args: tuple[Any, ...]
    kwargs: dict[str, Any]


def mistakes_in(call: Any) -> list[Mistake]:
    """All mistakes of the table in a call, by parameter and kind."""
    signature = inspect.signature(call.fn)
    bound = signature.bind(*call.args, **call.kwargs)
    found = [
        Mistake("unknown keyword", call.args, {**call.kwargs, "nonsense": 1}),
        Mistake("too many", (*call.args, *[1] * 12), call.kwargs),
    ]
    if call.args or call.kwargs:
        found.append(Mistake("no arguments", (), {}))
    for name, parameter in signature.parameters.items():
        if name in call.leave or parameter.kind is parameter.VAR_KEYWORD:
            continue
        if parameter.kind is parameter.VAR_POSITIONAL:
            given = bound.arguments.get(name, ())
            first = list(bound.arguments).index(name) if given else 0
            for i, value in enumerate(given):
                for label, wrong in mistakes_for(parameter, value).items():
                    args = (*call.args[: first + i], wrong, *call.args[first + i + 1 :])
                    found.append(Mistake(f"{name}[{i}]: {label}", args, call.kwargs))
            continue
        value = bound.arguments.get(name, parameter.default)
        for label, wrong in mistakes_for(parameter, value).items():
            found.append(_with(call, signature, name, wrong, label))
    return found


def scalars_in(call: Any) -> list[Mistake]:
    """No mistakes: a call with a NumPy scalar for each of its numbers, those left out too."""
    signature = inspect.signature(call.fn)
    given = signature.bind(*call.args, **call.kwargs).arguments
    found = []
    for name, parameter in signature.parameters.items():
        value = given.get(name, parameter.default)
        scalar = as_numpy_scalars(value)
        is_one = parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
        if is_one and not isinstance(value, np.ndarray) and repr(scalar) != repr(value):
            found.append(_with(call, signature, name, scalar, "NumPy scalar"))
    return found


def _with(call: Any, signature: Any, name: str, wrong: Any, label: str) -> Mistake:
    names = [p.name for p in signature.parameters.values()]
    place = names.index(name)
    kind = signature.parameters[name].kind
    by_name = kind is not inspect.Parameter.POSITIONAL_ONLY
    if place < len(call.args) and kind is not inspect.Parameter.KEYWORD_ONLY:
        args = (*call.args[:place], wrong, *call.args[place + 1 :])
        return Mistake(f"{name}: {label}", args, call.kwargs)
    if by_name:
        return Mistake(f"{name}: {label}", call.args, {**call.kwargs, name: wrong})
    between = [signature.parameters[each].default for each in names[len(call.args) : place]]
    return Mistake(f"{name}: {label}", (*call.args, *between, wrong), call.kwargs)


# Running ------------------------------------------------------------------------------------------


def native(value: Any, backend: str, foreign: Any) -> Any:
    """A value of the table as the backend has it."""
    if value is FOREIGN:
        return foreign
    if isinstance(value, Made):
        return value.make()
    if isinstance(value, np.ndarray):
        return trellis.namespace(backend).from_numpy(np.array(value))
    if isinstance(value, (list, tuple)) and not hasattr(value, "_fields"):
        return type(value)([native(item, backend, foreign) for item in value])
    if type(value) is dict:
        return {key: native(item, backend, foreign) for key, item in value.items()}
    return value


def outcome(
    call: Any,
    mistake: Mistake,
    backend: str,
    foreign: Any,
    shown: Callable[[Any], Any] | None = None,
) -> Any:
    """The error that the wrong call raised, or the shapes of what it answered."""
    before = trellis.current_backend(), trellis.default_dtype()
    with warnings.catch_warnings(), trellis.using_backend(backend), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        args = native(mistake.args, backend, foreign)
        kwargs = native(mistake.kwargs, backend, foreign)
        try:
            result = call.fn(*args, **kwargs)
            if call.then is not None:
                result = call.then(result)
            return shapes(result) if shown is None else shown(result)
        except Exception as error:
            return error
        finally:
            if trellis.default_dtype() != before[1]:
                trellis.set_default_dtype(before[1])


def shapes(result: Any) -> str:
    """What is the same on all frameworks in an answer."""
    if isinstance(result, (list, tuple)):
        return f"({', '.join([shapes(item) for item in result])})"
    if isinstance(result, dict):
        return f"({', '.join([shapes(item) for item in result.values()])})"
    return str(tuple(result.shape)) if hasattr(result, "shape") else type(result).__name__


def values(result: Any) -> Any:
    """An answer with its types and numbers, which can be compared."""
    if isinstance(result, (list, tuple)):
        return [values(item) for item in result]
    if isinstance(result, dict):
        return {name: values(item) for name, item in result.items()}
    if not is_array(result):
        return result if isinstance(result, (bool, int, float, str)) else type(result).__name__
    return type(result), str(result.dtype), repr(trellis.to_numpy(result))


SIGNATURE = re.compile(
    r"unexpected keyword argument|missing \d+ required|takes (no|.*positional) argument"
    r"|required keyword-only|got multiple values|passed as keyword|too many positional"
)


# A function that users cannot have called; their own may be named further on.
PRIVATE = re.compile(r"_\w+\(\)")


def is_clear(error: Exception) -> bool:
    """An error of our tree, or Python's own about the signature or a file that is not there."""
    if isinstance(error, (TrellisError, FileNotFoundError)):
        return PRIVATE.match(str(error)) is None
    return type(error) is TypeError and SIGNATURE.search(str(error)) is not None
