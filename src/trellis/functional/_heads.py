"""The projections of multi-head attention: inputs to heads, and heads to the result."""

from collections.abc import Sequence
from typing import Any

from .._core.errors import ArgumentError, ShapeError
from .._core.typing import Array, Backend
from ._arguments import differ, known


def batched_inputs(
    name: str, xp: Backend, query: Array, key: Array, value: Array, batch_first: bool
) -> tuple[Any, Any, Any, bool]:
    """All three as (batch, length, width); the same object stays the same."""
    rank = len(query.shape)
    if rank not in (2, 3) or len(key.shape) != rank or len(value.shape) != rank:
        raise ShapeError(
            f"{name}() expects query, key and value all with two axes (length, width) or all with "
            f"three, got {tuple(query.shape)}, {tuple(key.shape)} and {tuple(value.shape)}."
        )

    def batched(x: Array) -> Any:
        if rank == 2:
            return xp.expand_dims(x, axis=0)
        return x if batch_first else xp.permute_dims(x, (1, 0, 2))

    q = batched(query)
    k = q if key is query else batched(key)
    v = k if value is key else batched(value)
    if differ(q.shape[0], k.shape[0]) or differ(q.shape[0], v.shape[0]):
        raise ShapeError(
            f"{name}() expects one batch size, got {q.shape[0]} in query, {k.shape[0]} in key and "
            f"{v.shape[0]} in value."
        )
    return q, k, v, rank == 3


def embedding_width(
    name: str,
    query: Array,
    in_w: Array | None,
    q_w: Array | None,
    k_w: Array | None,
    v_w: Array | None,
    in_bias: Array | None,
    heads: int,
    kv_heads: int,
) -> int:
    is_grouped = kv_heads != heads
    if in_w is not None:
        if q_w is not None or k_w is not None or v_w is not None:
            raise ArgumentError(f"{name}() takes in_proj_weights or q/k/v_proj_weights, not both.")
        # With groups all rows together are heads + 2*kv_heads heads; without, they are three times
        # E.
        count = heads + 2 * kv_heads if is_grouped else 3
        if len(in_w.shape) != 2 or in_w.shape[0] % count:
            wanted = (
                f"(E + 2D, Q), D = E/{heads}*{kv_heads}: a multiple of {count} rows"
                if is_grouped
                else "(3E, Q)"
            )
            raise ShapeError(
                f"{name}() expects in_proj_weights of shape {wanted}, got {tuple(in_w.shape)}."
            )
        width = in_w.shape[0] // count * (heads if is_grouped else 1)
    else:
        width = query.shape[-1] if q_w is None else q_w.shape[0]
    if heads < 1 or width % heads:
        raise ShapeError(
            f"{name}() cannot split a width of {width} into {heads} heads of equal size."
        )
    rows = width + 2 * (width // heads * kv_heads)
    if in_bias is not None and tuple(in_bias.shape) != (rows,):
        raise ShapeError(
            f"{name}() expects in_proj_bias of shape {(rows,)}, got {tuple(in_bias.shape)}."
        )
    return width


def check_projection(name: str, what: str, x: Array, weight: Array, width: int) -> None:
    if len(weight.shape) != 2 or tuple(weight.shape) != (width, x.shape[-1]):
        raise ShapeError(
            f"{name}() expects {what} of shape {(width, x.shape[-1])} for an input of width "
            f"{x.shape[-1]}, got {tuple(weight.shape)}."
        )


def projected(
    name: str,
    xp: Backend,
    inputs: Sequence[Array],
    weights: Sequence[Array | None],
    in_w: Array | None,
    in_bias: Array | None,
    rows: tuple[int, ...],
    static_k: Array | None,
    static_v: Array | None,
    skip_query: bool = False,
) -> list[Any]:
    """Queries, keys and values; `rows` are the borders between them in joint weights."""
    parts: list[Any] = []
    for i, (what, x, weight, static) in enumerate(
        zip(("q", "k", "v"), inputs, weights, (None, static_k, static_v), strict=True)
    ):
        if static is not None or (skip_query and i == 0):
            parts.append(None)
            continue
        what = f"{what}_proj_weights"
        first, last = rows[i], rows[i + 1]
        width = last - first
        if in_w is not None:
            weight, what = in_w[first:last], f"in_proj_weights, rows {first} to {last},"
        bias = None if in_bias is None else in_bias[first:last]
        if weight is not None:
            check_projection(name, what, x, weight, width)
            x = xp.linear(x, weight, bias)
        else:
            if x.shape[-1] != width:
                raise ShapeError(
                    f"{name}() without {what} expects an input of width {width}, got "
                    f"{tuple(x.shape)}. Give {what} of shape {(width, x.shape[-1])}."
                )
            x = x if bias is None else x + bias
        parts.append(x)
    return parts


def split_jointly(
    xp: Backend, x: Array, heads: int, kv_heads: int, rows: tuple[int, ...]
) -> tuple[Any, Any, Any]:
    """Queries, keys and values from one projection; transposed at once where heads are equal."""
    if kv_heads == heads:
        n, length, width = x.shape
        apart = xp.reshape(x, (*known(n, length), 3, heads, width // (3 * heads)))
        q, k, v = xp.unstack(xp.permute_dims(apart, (2, 0, 3, 1, 4)), axis=0)
        return q, k, v
    q, k, v = [
        split_heads(xp, x[..., rows[i] : rows[i + 1]], heads if i == 0 else kv_heads)
        for i in range(3)
    ]
    return q, k, v


def split_heads(xp: Backend, x: Array, heads: int) -> Any:
    """(N, L, E) -> (N, heads, L, E/heads)."""
    n, length, width = x.shape
    return xp.permute_dims(xp.reshape(x, (*known(n, length), heads, width // heads)), (0, 2, 1, 3))


def static_heads(
    name: str, xp: Backend, what: str, x: Array, heads: int, rows: int | None, width: int
) -> Any:
    shape = tuple(x.shape)
    if len(shape) != 3 or differ(shape[0], rows) or shape[2] != width:
        raise ShapeError(
            f"{name}() expects {what} of shape (N*num_heads, S, E/num_heads) = ({rows}, S, "
            f"{width}), got {shape}."
        )
    return xp.reshape(x, (*known(None if rows is None else rows // heads), heads, shape[1], width))


def out_projection(
    name: str, xp: Backend, out: Array, weights: Array | None, bias: Array | None, width: int
) -> Any:
    if weights is not None:
        if len(weights.shape) != 2 or weights.shape[1] != width:
            raise ShapeError(
                f"{name}() expects out_proj_weights of shape (O, {width}), got "
                f"{tuple(weights.shape)}."
            )
        width = weights.shape[0]
    if bias is not None and tuple(bias.shape) != (width,):
        raise ShapeError(
            f"{name}() expects out_proj_bias of shape {(width,)}, got {tuple(bias.shape)}."
        )
    if weights is not None:
        return xp.linear(out, weights, bias)
    return out if bias is None else out + bias
