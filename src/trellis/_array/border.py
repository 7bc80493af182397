"""What libraries ask of arrays that they were given: whose they are, and in which namespace.

The names and meanings are those of array-api-compat, whose functions these can replace.
"""

import numpy as np

from .._core.arrays import NUMBERS
from .._core.dispatch import SCALAR_TYPES, backend_of, of_version, xp_of, xp_of_all
from .._core.errors import ArgumentTypeError
from .._core.typing import Backend


def array_namespace(*xs: object, api_version: str | None = None) -> Backend:
    """The one namespace of all arrays among the arguments; numbers and None do not count.

    A replacement for the function of array-api-compat, for the arrays of all installed backends.
    Arrays of two frameworks raise, and so does a call without any array.

    >>> import numpy as np, trellis
    >>> xp = trellis.array_namespace(np.array([1.0, 3.0]), None, 2.0)
    >>> xp.mean(np.array([1.0, 3.0])).item()
    2.0
    """
    arrays = [x for x in xs if type(x) not in SCALAR_TYPES]
    if not arrays:
        raise ArgumentTypeError("array_namespace() needs at least one array.")
    xp: Backend = of_version(xp_of_all(*arrays), api_version)
    return xp


def is_array(x: object, /) -> bool:
    """Whether `x` is an array of an installed backend.

    >>> import numpy as np, trellis
    >>> trellis.is_array(np.zeros(2)), trellis.is_array([0.0, 0.0])
    (True, False)
    """
    if isinstance(x, np.generic):
        return True
    if isinstance(x, (dict, list, tuple, str, *NUMBERS)) or x is None:
        return False
    try:
        xp_of(x)
    except ArgumentTypeError:
        return False
    return True


def _is_of(backend: str, x: object) -> bool:
    return is_array(x) and backend_of(x) == backend


def is_numpy_array(x: object, /) -> bool:
    """Whether `x` is an array of NumPy.

    >>> import numpy as np, trellis
    >>> trellis.is_numpy_array(np.zeros(2))
    True
    """
    return _is_of("numpy", x)


def is_jax_array(x: object, /) -> bool:
    """Whether `x` is an array of JAX, traced ones included.

    >>> import numpy as np, trellis
    >>> trellis.is_jax_array(np.zeros(2))
    False
    """
    return _is_of("jax", x)


def is_torch_array(x: object, /) -> bool:
    """Whether `x` is a tensor of PyTorch.

    >>> import numpy as np, trellis
    >>> trellis.is_torch_array(np.zeros(2))
    False
    """
    return _is_of("torch", x)


def is_tensorflow_array(x: object, /) -> bool:
    """Whether `x` is a tensor or a variable of TensorFlow.

    >>> import numpy as np, trellis
    >>> trellis.is_tensorflow_array(np.zeros(2))
    False
    """
    return _is_of("tensorflow", x)
