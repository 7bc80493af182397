"""MLX as a backend of Trellis: `trellis.namespace("mlx")`, or any function with MLX's arrays.

This module is what Trellis reads first; it does not import MLX.
"""

from typing import Any

__version__ = "0.1.0"

NAME = "mlx"
FRAMEWORK = "mlx.core"
DISTRIBUTION = "trellis-mlx[cpu]"
TRELLIS_INTERFACE = 1


def load() -> Any:
    """The backend; MLX is imported now."""
    from . import backend

    return backend
