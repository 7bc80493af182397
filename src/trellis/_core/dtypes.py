"""Canonical data types, the default float, and the one promotion table of the library (the
standard's).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, cast

from .arrays import is_array
from .errors import ArgumentError, DtypeError
from .settings import Setting, Using
from .typing import DTypeLike


class DType(str):
    """A data type by its canonical name; equal to the dtype objects of all four frameworks.

    >>> import numpy as np, trellis
    >>> trellis.float32 == np.zeros(1, "float32").dtype
    True
    >>> trellis.float32
    trellis.float32
    """

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return str.__eq__(self, name_of(other)) is True

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = str.__hash__

    def __repr__(self) -> str:
        return f"trellis.{self!s}"


def name_of(dtype: object) -> str:
    """The canonical name of a name, of any framework's dtype object, without importing the
    framework, or of a Python type: `float` is the default float.
    """
    if isinstance(dtype, str):
        return str(dtype)
    if isinstance(dtype, type) and dtype in (int, float, complex):
        return str({int: int64, float: default_dtype(), complex: default_complex()}[dtype])
    name = getattr(dtype, "name", None) or getattr(dtype, "__name__", None) or str(dtype)
    name = str(name).rpartition(".")[2]
    if name in _CANONICAL:
        return name
    try:
        return _named_otherwise.get(dtype, name)
    except TypeError:  # a list, say
        return name


def remember_names(types: Mapping[str, Any]) -> None:
    """The data types of a backend that have other names of their own: `FLOAT32`, `float`."""
    for name, dtype in types.items():
        if name_of(dtype) != name:
            _named_otherwise[dtype] = name


_named_otherwise: dict[object, str] = {}


bool_ = DType("bool")
int8, int16, int32, int64 = DType("int8"), DType("int16"), DType("int32"), DType("int64")
uint8, uint16, uint32, uint64 = DType("uint8"), DType("uint16"), DType("uint32"), DType("uint64")
float16, bfloat16 = DType("float16"), DType("bfloat16")
float32, float64 = DType("float32"), DType("float64")
complex64, complex128 = DType("complex64"), DType("complex128")

SIGNED = ("int8", "int16", "int32", "int64")
UNSIGNED = ("uint8", "uint16", "uint32", "uint64")
INTEGER = SIGNED + UNSIGNED
FLOATING = ("float16", "bfloat16", "float32", "float64")
COMPLEX = ("complex64", "complex128")
NUMERIC = INTEGER + FLOATING + COMPLEX
_CANONICAL = frozenset(("bool", *NUMERIC))
KINDS = {
    "bool": ("bool",),
    "signed integer": SIGNED,
    "unsigned integer": UNSIGNED,
    "integral": INTEGER,
    "real floating": FLOATING,
    "complex floating": COMPLEX,
    "numeric": NUMERIC,
}

_default_float: Setting[DType] = Setting("trellis_default_dtype", float32, is_traceable=True)


def set_default_dtype(dtype: DTypeLike, /) -> None:
    """Choose the float type of calls that name none; float32 on every backend until changed.

    >>> import trellis
    >>> trellis.set_default_dtype("float32")
    """
    _default_float.set(_checked_default(dtype))


def default_dtype() -> DType:
    """The float type of calls that name none.

    >>> import trellis
    >>> trellis.default_dtype()
    trellis.float32
    """
    return _default_float.get()


def traced_default_dtype() -> DType:
    """`default_dtype`, in a function that torch.compile traces."""
    return _default_float.while_traced()


def using_default_dtype(dtype: DTypeLike, /) -> Using:
    """Choose the default float inside a `with` block, for this thread or task only; or, as a
    decorator, inside a function. It may be inside a compiled function.

    >>> import trellis
    >>> with trellis.using_default_dtype("float64"):
    ...     trellis.zeros(2).dtype
    dtype('float64')
    >>> @trellis.using_default_dtype("float64")
    ... def grid(n):
    ...     return trellis.linspace(0, 1, n)
    >>> grid(3).dtype, trellis.zeros(2).dtype
    (dtype('float64'), dtype('float32'))
    """
    return cast(Using, _default_float.using(_checked_default(dtype)))


def default_complex() -> DType:
    """The complex type whose parts are the default float."""
    return complex128 if default_dtype() == float64 else complex64


def _checked_default(dtype: DTypeLike) -> DType:
    name = name_of(dtype)
    if name not in FLOATING:
        raise DtypeError(f"The default dtype must be one of {', '.join(FLOATING)}, got {dtype!r}.")
    return DType(name)


def promote(a: str, b: str) -> str:
    """The type that holds both, by the standard's table; names in, name out.

    Beyond the standard: float16 and bfloat16 are promoted to float32; an integer with a float takes
    the float; bool with anything takes the other.

    >>> promote("int8", "uint8")
    'int16'
    >>> promote("float32", "complex64")
    'complex64'
    """
    return PROMOTION[a, b]


def _promoted(a: str, b: str) -> str | None:
    if a == b:
        return a
    if a == "bool":
        return b
    if b == "bool":
        return a
    for group in (SIGNED, UNSIGNED, COMPLEX):
        if a in group and b in group:
            return max(a, b, key=group.index)
    if a in FLOATING and b in FLOATING:
        return "float64" if "float64" in (a, b) else "float32"
    if a in INTEGER and b in INTEGER:
        signed, unsigned = (a, b) if a in SIGNED else (b, a)
        needed = max(SIGNED.index(signed), UNSIGNED.index(unsigned) + 1)
        # The standard leaves uint64 with a signed type open; there is no integer that holds both.
        return SIGNED[needed] if needed < len(SIGNED) else None
    if a in INTEGER or b in INTEGER:
        return b if a in INTEGER else a
    real, cplx = (a, b) if a in FLOATING else (b, a)
    return "complex128" if real == "float64" else cplx


_all = ("bool", *NUMERIC)
PROMOTION: dict[tuple[str, str], str] = {}
for _a in _all:
    for _b in _all:
        _together = _promoted(_a, _b)
        if _together is not None:
            PROMOTION[_a, _b] = _together


def is_kind(name: str, kind: DTypeLike, *, as_name: Callable[[Any], str]) -> bool:
    """The standard's `isdtype`, on names; `kind` is a kind, a dtype or a tuple of these."""
    if isinstance(kind, tuple):
        return any([is_kind(name, one, as_name=as_name) for one in kind])
    if isinstance(kind, str) and kind in KINDS and kind != "bool":
        return name in KINDS[kind]
    return bool(name == as_name(kind))


def result_name(arrays_and_dtypes: tuple[Any, ...], *, as_name: Callable[[Any], str]) -> str:
    """The standard's `result_type`, on names. Python scalars take the type of the arrays next to
    them.
    """
    names: list[str] = []
    scalars: list[Any] = []
    for item in arrays_and_dtypes:
        if type(item) in (bool, int, float, complex):
            scalars.append(item)
        else:
            names.append(name_of(item.dtype) if is_array(item) else as_name(item))
    if not names:
        raise DtypeError(
            "result_type() needs at least one array or dtype, not only Python scalars."
        )
    result = names[0]
    for name in names[1:]:
        result = promote_or_raise(result, name)
    for scalar in scalars:
        result = with_scalar(result, scalar)
    return result


def with_scalar(name: str, scalar: object) -> str:
    """The type of an array of type `name` combined with a Python scalar: never wider within one
    kind."""
    if isinstance(scalar, complex) and name not in COMPLEX:
        if name not in FLOATING:
            return str(default_complex())
        return "complex128" if name == "float64" else "complex64"
    if isinstance(scalar, float) and name not in FLOATING + COMPLEX:
        return str(default_dtype())
    if isinstance(scalar, int) and not isinstance(scalar, bool) and name == "bool":
        return "int64"
    return name


def promote_or_raise(a: str, b: str) -> str:
    """`promote`, with the one error of the library where no type holds both.

    >>> promote_or_raise("int8", "float32")
    'float32'
    """
    if (a, b) not in PROMOTION:
        raise no_common_type(a, b)
    return PROMOTION[a, b]


def fitted(value: Any, name: str) -> Any:
    """A Python number as one of type `name`; what that type cannot hold exactly is refused.

    Floats are rounded to a float type as everywhere; integers must be in range.

    >>> fitted(1.0, "int64")
    1
    """
    kind = type(value)
    if kind not in (bool, int, float, complex) or (name in COMPLEX and kind is not int):
        return value
    if kind is complex:
        if value.imag != 0:
            raise refuse_value(value, name)
        value = value.real
    if name in INTEGER:
        if value != value or value in (float("inf"), float("-inf")) or int(value) != value:
            raise refuse_value(value, name)
        bits = int(name.lstrip("uint"))
        low, high = (
            (0, 2**bits - 1) if name in UNSIGNED else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
        )
        if not low <= value <= high:
            raise refuse_value(value, name)
        return int(value)
    if kind is int and name != "bool" and not is_64_bits(value):
        try:
            return float(value)  # PyTorch and JAX take Python integers of 64 bits at most
        except OverflowError:
            raise refuse_value(value, name) from None
    return bool(value) if name == "bool" else value


def is_64_bits(number: int) -> bool:
    """Whether a Python integer is one that every framework takes.

    >>> is_64_bits(2**63)
    False
    """
    return -(2**63) <= number < 2**63


def refuse_value(value: object, name: str) -> ArgumentError:
    """What every backend raises for a number that an array of type `name` cannot hold."""
    return ArgumentError(
        f"{value!r} does not fit into {name}. Cast the array to a wider dtype first."
    )


def of_numbers(numbers: tuple[Any, ...]) -> str:
    """The type of Python numbers without an array: bool, int64 or the defaults.

    >>> of_numbers((1, 2.5))
    'float32'
    """
    name = "bool"
    for number in numbers:
        name = with_scalar(name, number)
    return name


def no_common_type(a: str, b: str) -> DtypeError:
    """What every backend raises for a pair that the table leaves open."""
    known = ("bool", *NUMERIC)
    unknown = [name for name in (a, b) if name not in known]
    if unknown:
        return DtypeError(f"{unknown[0]} is not a data type of Trellis; those are {known}.")
    return DtypeError(
        f"No data type holds both {a} and {b}. Cast one of the arrays first, for example "
        "trellis.astype(x, 'int64')."
    )


def refuse_dropping(source: str, target: str) -> DtypeError:
    """What every backend raises for a cast from complex to real numbers."""
    return DtypeError(
        f"astype() cannot turn {source} into {target}: the imaginary part would be lost. "
        "Write trellis.real(x) first, or trellis.abs(x) for the size."
    )


def refuse_none() -> DtypeError:
    """What every backend raises for `astype(x, None)`."""
    return DtypeError("astype() needs a data type, got None. Write for example 'float32'.")


def names_of_kind(names: list[str], kind: str | tuple[str, ...] | None) -> list[str]:
    """Those of `names` that are of a kind, or of one of a tuple of kinds; all of them for None."""
    if kind is None:
        return names
    kinds = kind if isinstance(kind, tuple) else (kind,)
    return [name for name in names if any([name in KINDS[one] for one in kinds])]


@dataclass(frozen=True)
class FloatLimits:
    """What `finfo` answers: Python floats, and the native dtype."""

    bits: int
    eps: float
    max: float
    min: float
    smallest_normal: float
    dtype: Any


@dataclass(frozen=True)
class IntLimits:
    """What `iinfo` answers: Python ints, and the native dtype."""

    bits: int
    max: int
    min: int
    dtype: Any
