"""Types for signatures of libraries that are written over Trellis.

    from trellis.typing import A, Array, DTypeLike, Nest

    def normalized(x: A, /, *, axis: int = -1) -> A:
        return x / trellis.linalg.vector_norm(x, axis=axis, keepdims=True)

`A` says that an array of one framework goes in and one of the same framework comes out, which type
checkers follow; `Array` is any of them.
"""

from ._core.typing import A as A
from ._core.typing import Array as Array
from ._core.typing import ArrayLike as ArrayLike
from ._core.typing import Backend as Backend
from ._core.typing import Device as Device
from ._core.typing import DTypeLike as DTypeLike
from ._core.typing import Nest as Nest
from ._core.typing import Scalar as Scalar
from ._core.typing import Seed as Seed
from ._core.typing import Shape as Shape
