"""The projections of multi-head attention: inputs to heads, and heads to the result."""

from collections.abc import Sequence
from typing import Any, NamedTuple

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


class Weights(NamedTuple):
    """The parameters of an attention, in one float dtype; None where there is none."""

    in_w: Array | None
    q_w: Array | None
    k_w: Array | None
    v_w: Array | None
    in_bias: Array | None
    out_w: Array | None
    out_b: Array | None
    bias_k: Array | None
    bias_v: Array | None
    static_k: Array | None
    static_v: Array | None


def heads_of(
    name: str,
    xp: Backend,
    inputs: Sequence[Array],
    given: Weights,
    heads: int,
    kv_heads: int,
    is_self: bool,
) -> list[Any]:
    """Queries, keys and values, (batch, heads, length, width of a head)."""
    width = _embedding_width(name, inputs[0], given, heads, kv_heads)
    kv_width = width // heads * kv_heads
    rows = (0, width, width + kv_width, width + 2 * kv_width)
    static_parts = (("static_k", given.static_k), ("static_v", given.static_v))
    skips = (False, given.static_k is not None, given.static_v is not None)
    if is_self and given.in_w is not None and not any(skips):
        check_projection(name, "in_proj_weights", inputs[0], given.in_w, rows[3])
        joint = xp.linear(inputs[0], given.in_w, given.in_bias)
        found = split_jointly(xp, joint, heads, kv_heads, rows)
    else:
        weights = (given.q_w, given.k_w, given.v_w)
        parts = projected(name, xp, inputs, weights, given.in_w, given.in_bias, rows, skips)
        batch = parts[0].shape[0]
        size = (None if batch is None else batch * kv_heads, width // heads)
        found = [split_heads(xp, parts[0], heads)]
        for i, (what, static) in enumerate(static_parts, start=1):
            if static is None:
                found.append(split_heads(xp, parts[i], kv_heads))
            else:
                found.append(static_heads(name, xp, what, static, kv_heads, *size))
    if differ(found[1].shape[2], found[2].shape[2]):
        raise ShapeError(
            f"{name}() expects as many values as keys, got {found[2].shape[2]} values and "
            f"{found[1].shape[2]} keys."
        )
    return found


def _embedding_width(name: str, query: Array, given: Weights, heads: int, kv_heads: int) -> int:
    is_grouped = kv_heads != heads
    in_w, q_w, in_bias = given.in_w, given.q_w, given.in_bias
    if in_w is not None:
        if q_w is not None or given.k_w is not None or given.v_w is not None:
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
    skips: tuple[bool, bool, bool],
) -> list[Any]:
    """Queries, keys and values, None where one is skipped; `rows` are the borders between them in
    joint weights.
    """
    parts: list[Any] = []
    for i, (what, x, weight) in enumerate(zip(("q", "k", "v"), inputs, weights, strict=True)):
        if skips[i]:
            parts.append(None)
            continue
        what = f"{what}_proj_weights"
        first, last = rows[i], rows[i + 1]
        width = last - first
        if in_w is not None:
            weight, what = in_w[first:last, :], f"in_proj_weights, rows {first} to {last},"
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
) -> list[Any]:
    """Queries, keys and values from one projection; transposed at once where heads are equal."""
    if kv_heads == heads:
        n, length, width = x.shape
        apart = xp.reshape(x, (*known(n, length), 3, heads, width // (3 * heads)))
        return list(xp.unstack(xp.permute_dims(apart, (2, 0, 3, 1, 4)), axis=0))
    return [
        split_heads(xp, x[..., rows[i] : rows[i + 1]], heads if i == 0 else kv_heads)
        for i in range(3)
    ]


def split_heads(xp: Backend, x: Array, heads: int) -> Any:
    """(N, L, E) -> (N, heads, L, E/heads)."""
    n, length, width = x.shape
    return xp.permute_dims(xp.reshape(x, (*known(n, length), heads, width // heads)), (0, 2, 1, 3))


def joined_heads(xp: Backend, x: Array, shape: tuple[Any, ...]) -> Any:
    """(N, heads, L, E/heads), which is the `shape`, -> (N, L, E)."""
    n, heads, length, width = shape
    return xp.reshape(xp.permute_dims(x, (0, 2, 1, 3)), (*known(n, length), heads * width))


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
    name: str, xp: Backend, out: Array, weights: Array | None, bias: Array | None
) -> Any:
    width = out.shape[-1]
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
