"""A matrix product per group of rows, for the backends whose framework has none."""

from typing import Any


def multiplied_by_groups(xp: Any, x: Any, weights: Any, group_sizes: Any) -> Any:
    """Each group times its matrix; rows after the last group are zero.

    Where the sizes can be read, each group is a slice. While a compiler traces, shapes cannot
    depend on them: then every matrix is multiplied with all rows, and a mask selects.
    """
    if xp.is_concrete(group_sizes):
        sizes = [int(group_sizes[group]) for group in range(weights.shape[0])]
        return _by_slices(xp, x, weights, sizes)
    ends = xp.cumulative_sum(group_sizes)
    total = None
    for group in range(weights.shape[0]):
        product = xp.matmul(x, weights[group, ...])
        row = xp.cumulative_sum(xp.ones_like(product[:, :1], dtype=ends.dtype), axis=0)
        first = ends[group] - group_sizes[group]
        is_inside = xp.logical_and(row > first, row <= ends[group])
        total = xp.zeros_like(product) if total is None else total
        total = xp.where(is_inside, product, total)
    return total


def _by_slices(xp: Any, x: Any, weights: Any, sizes: list[int]) -> Any:
    parts, start = [], 0
    for group, size in enumerate(sizes):
        if size:
            parts.append(xp.matmul(x[start : start + size, :], weights[group, ...]))
        start += size
    rest = xp.matmul(x[start:, :], weights[0, ...]) if start < x.shape[0] or not parts else None
    if rest is not None:
        parts.append(xp.zeros_like(rest))
    return parts[0] if len(parts) == 1 else xp.concat(parts, axis=0)
