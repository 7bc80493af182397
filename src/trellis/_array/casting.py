"""Data types of arrays: asking, comparing, converting.

Types may be given by canonical name ("float32", trellis.float32) or as dtype objects of any
framework.
"""

from typing import TYPE_CHECKING, Any

from .._core.arrays import is_array, plain, plain_for
from .._core.dispatch import default_xp, xp_of, xp_of_any
from .._core.dtypes import DType, FloatLimits, IntLimits, name_of
from .._core.explain import explain
from .._core.guards import check_flag
from .._core.typing import A, Array, Device, DTypeLike

if TYPE_CHECKING:
    from .._backends.interface import Backend


def astype(x: A, dtype: DTypeLike, /, *, copy: bool = True, device: Device | None = None) -> A:
    """The array in another data type; `copy=False` returns `x` itself if it has that type already.

    >>> import numpy as np, trellis
    >>> trellis.astype(np.array([1.7, -1.7]), "int32")
    array([ 1, -1], dtype=int32)
    """
    try:
        if copy is not True:
            check_flag(copy)
        return xp_of(x).astype(x, dtype, copy=copy, device=device)
    except Exception as error:
        return explain(error, astype)


def can_cast(from_: Array | DTypeLike, to: DTypeLike, /) -> bool:
    """Whether promotion may turn the first type (or the type of an array) into the second.

    >>> import trellis
    >>> trellis.can_cast("int8", "int16"), trellis.can_cast("float64", "float32")
    (True, False)
    """
    return _xp_of_type(from_).can_cast(_array_or_name(from_), name_of(to))


def dtype(x: Array, /) -> DType:
    """The data type of an array by its canonical name, the same on every framework.

    >>> import numpy as np, trellis
    >>> trellis.dtype(np.zeros(3, "float32"))
    trellis.float32
    """
    return DType(xp_of(x).dtype_name(x.dtype))


def finfo(type: Array | DTypeLike, /) -> FloatLimits:
    """Limits of a floating-point type: bits, eps, max, min, smallest_normal, dtype.

    >>> import trellis
    >>> trellis.finfo("float32").bits
    32
    """
    return _xp_of_type(type).finfo(_array_or_name(type))


def iinfo(type: Array | DTypeLike, /) -> IntLimits:
    """Limits of an integer type: bits, max, min, dtype.

    >>> import trellis
    >>> trellis.iinfo("int8").max
    127
    """
    return _xp_of_type(type).iinfo(_array_or_name(type))


def isdtype(dtype: DTypeLike, kind: DTypeLike) -> bool:
    """Whether a type is the named type or of the named kind; a tuple names several.

    Kinds: "bool", "signed integer", "unsigned integer", "integral", "real floating",
    "complex floating", "numeric".

    >>> import trellis
    >>> trellis.isdtype("float32", "real floating"), trellis.isdtype("int8", ("bool", "int16"))
    (True, False)
    """
    names = tuple([name_of(k) for k in kind]) if isinstance(kind, tuple) else name_of(kind)
    return default_xp().isdtype(name_of(dtype), names)


def result_type(*arrays_and_dtypes: Array | DTypeLike) -> DType:
    """The type of a calculation with all of these, by its canonical name.

    >>> import numpy as np, trellis
    >>> trellis.result_type(np.zeros(2, "float32"), "int64", 1.5)
    trellis.float32
    """
    arrays = [x for x in arrays_and_dtypes if is_array(x)]
    xp = xp_of_any(*([plain(x) for x in arrays] if len(arrays) > 1 else arrays))
    values = [_array_or_name(x) if _is_type(x) else plain_for(xp, x) for x in arrays_and_dtypes]
    return DType(xp.dtype_name(xp.result_type(*values)))


def _is_type(x: object) -> bool:
    return not is_array(x) and not isinstance(x, (bool, int, float, complex))


def _array_or_name(x: object) -> Any:
    return x if is_array(x) else name_of(x)


def _xp_of_type(x: object) -> "Backend":
    return xp_of(x) if is_array(x) else default_xp()
