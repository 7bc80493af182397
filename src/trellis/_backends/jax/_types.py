"""The array type of this backend, as signatures name it."""

from typing import TypeAlias

import jax

Array: TypeAlias = jax.Array
