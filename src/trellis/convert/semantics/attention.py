"""What models with attention and experts do besides."""

from typing import Any

import trellis


def matmul_by_group(x: Any, weights: Any, ends: Any, /) -> Any:
    """Rows of `x` (S, K) times matrices of `weights` (E, K, N): those before ends[0] with the
    first, those before ends[1] with the second, and so on. Rows after the last end give zeros."""
    rows = trellis.arange(x.shape[0], dtype=trellis.dtype(ends), backend=trellis.backend_of(x))
    total: Any = None
    start: Any = 0
    for i in range(weights.shape[0]):
        inside = trellis.logical_and(
            trellis.greater_equal(rows, start), trellis.less(rows, ends[i])
        )
        part = trellis.where(inside[:, None], x, trellis.zeros_like(x))
        product = trellis.matmul(part, weights[i])
        total = product if total is None else trellis.add(total, product)
        start = ends[i]
    return total
