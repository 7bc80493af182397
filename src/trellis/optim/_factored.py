"""Adafactor's second moments: for a matrix, one number a row and one a column."""

from typing import Any

from .._core.dtypes import name_of
from ._pairs import Leaves, Now, Rule, Transformation, from_rules
from ._scalars import _HALF, like


def scale_by_factored_rms(
    decay_rate: float = 0.8,
    epsilon: float = 1e-30,
    *,
    factored: bool = True,
    min_size_to_factor: int = 128,
) -> Transformation:
    """Adafactor's direction (Shazeer and Stern, 2018).

        b = 1 - t**-decay_rate;   s = g**2 + epsilon
        r = b * r + (1 - b) * mean(s, columns);   c = b * c + (1 - b) * mean(s, rows)
        direction = g / sqrt(outer(r, c) / mean(r))

    The two largest axes are factored, where both have at least `min_size_to_factor` elements; other
    leaves keep `v = b * v + (1 - b) * s` in full, and `direction = g / sqrt(v)`. What a leaf does not need is
    an array of one zero in the state.
    """

    def axes_of(shape: Any) -> tuple[int, int] | None:
        """The second largest and the largest axis."""
        if not factored or len(shape) < 2:
            return None
        order = sorted(range(len(shape)), key=lambda i: int(shape[i]))
        return (order[-2], order[-1]) if int(shape[order[-2]]) >= min_size_to_factor else None

    def start(xp: Any, params: Leaves) -> list[Leaves]:
        rows = []
        for w in params:
            axes = axes_of(w.shape)
            none, zeros = _none(xp, w), xp.zeros_like(w)
            if axes is None:
                rows.append([none, none, zeros])
            else:
                rows.append([xp.max(zeros, axis=axes[1]), xp.max(zeros, axis=axes[0]), none])
        return [[row[i] for row in rows] for i in range(3)]

    def apply(now: Now, g: Leaves, slots: list[Leaves]) -> tuple[Leaves, list[Leaves]]:
        xp = now.xp
        directions, rows = [], []
        for g_i, v_row, v_col, v in zip(g, *slots, strict=True):
            t = xp.astype(now.step, "float32" if name_of(g_i.dtype) in _HALF else g_i.dtype)
            b = like(xp, 1 - xp.pow(t, -decay_rate), g_i)
            squares = g_i * g_i + epsilon
            axes = axes_of(g_i.shape)
            if axes is None:
                v = b * v + (1 - b) * squares
                directions.append(g_i / xp.sqrt(v))
            else:
                small, large = axes
                v_row = b * v_row + (1 - b) * xp.mean(squares, axis=large)
                v_col = b * v_col + (1 - b) * xp.mean(squares, axis=small)
                # In v_row the larger axis is gone: what lay behind it moved up.
                mean = xp.mean(v_row, axis=small - 1 if small > large else small, keepdims=True)
                across = xp.expand_dims(xp.sqrt(v_row / mean), axis=large)
                directions.append(g_i / across / xp.expand_dims(xp.sqrt(v_col), axis=small))
            rows.append([v_row, v_col, v])
        return directions, [[row[i] for row in rows] for i in range(3)]

    return from_rules(Rule(apply, ("v_row", "v_col", "v"), start))


def _none(xp: Any, w: Any) -> Any:
    return xp.reshape(xp.sum(xp.zeros_like(w)), (1,))
