"""Recurrent layers as functions."""

from typing import Any

from ._dispatch import xp_of_all
from ._errors import ShapeError
from ._layer_arguments import as_floats, has_nest
from ._typing import A
from .tree import call_leafwise


def lstm_update(
    x: A,
    init_h: A,
    init_c: A,
    kernel: A,
    recurrent_kernel: A,
    /,
    *,
    bias: A | None = None,
    recurrent_bias: A | None = None,
    time_major: bool = False,
) -> tuple[A, tuple[A, A]]:
    """Run an LSTM over a sequence: (all hidden states, (last hidden state, last cell state)).

    x is (batch..., T, in), or (T, batch..., in) with `time_major`; states (batch..., out), kernel (in, 4*out),
    recurrent_kernel (out, 4*out). The gates lie in the order input, forget, cell, output.

    >>> import numpy as np, trellis
    >>> x, state = np.ones((1, 3, 2)), np.zeros((1, 4))
    >>> hs, (h, c) = trellis.lstm_update(x, state, state, np.ones((2, 16)), np.ones((4, 16)))
    >>> hs.shape, h.shape, c.shape
    ((1, 3, 4), (1, 4), (1, 4))
    """
    if has_nest(x, init_h, init_c, kernel, recurrent_kernel, bias, recurrent_bias):
        kwargs = {"bias": bias, "recurrent_bias": recurrent_bias, "time_major": time_major}
        return call_leafwise(lstm_update, (x, init_h, init_c, kernel, recurrent_kernel), kwargs)
    xp = xp_of_all(x, init_h, init_c, kernel, recurrent_kernel, bias, recurrent_bias)
    batch, steps, width = _sizes(
        x, init_h, init_c, kernel, recurrent_kernel, bias, recurrent_bias, time_major
    )
    x, init_h, init_c, kernel, recurrent_kernel, bias, recurrent_bias = as_floats(
        "lstm_update", xp, x, init_h, init_c, kernel, recurrent_kernel, bias, recurrent_bias
    )
    dtype = x.dtype
    if steps != 0 and xp.dtype_name(dtype) in ("float16", "bfloat16"):
        # The state stays in float32 from step to step, and results are rounded once.
        arrays = (x, init_h, init_c, kernel, recurrent_kernel, bias, recurrent_bias)
        wide = [a if a is None else xp.astype(a, "float32") for a in arrays]
        hs, (h, c) = lstm_update(
            *wide[:5], bias=wide[5], recurrent_bias=wide[6], time_major=time_major
        )
        return xp.astype(hs, dtype), (xp.astype(h, dtype), xp.astype(c, dtype))
    if steps == 0:
        shape = (0, *batch, width) if time_major else (*batch, 0, width)
        return xp.zeros(shape, dtype=x.dtype), (init_h, init_c)
    if bias is None:
        bias = recurrent_bias
    elif recurrent_bias is not None:
        bias = bias + recurrent_bias
    n = len(batch)
    if n == 0:
        x, h, c = [
            xp.expand_dims(part, axis=axis) for part, axis in ((x, 1), (init_h, 0), (init_c, 0))
        ]
    else:
        if not time_major:
            x = xp.permute_dims(x, (n, *range(n), n + 1))
        h, c = init_h, init_c
        if n > 1:
            x = xp.reshape(x, (-1 if steps is None else steps, _rows(batch), x.shape[-1]))
            h, c = [xp.reshape(state, (_rows(batch), width)) for state in (h, c)]
    hs, (h, c) = xp.lstm(x, h, c, kernel, recurrent_kernel, bias)
    if n == 0:
        return hs[:, 0], (h[0], c[0])
    if n > 1:
        hs = xp.reshape(hs, (-1 if steps is None else steps, *batch, width))
        h, c = [xp.reshape(state, (*batch, width)) for state in (h, c)]
    if not time_major:
        hs = xp.permute_dims(hs, (*range(1, n + 1), 0, n + 1))
    return hs, (h, c)


def _rows(batch: tuple[Any, ...]) -> int:
    rows = 1
    for size in batch:
        rows *= size
    return rows


def _sizes(
    x: Any,
    init_h: Any,
    init_c: Any,
    kernel: Any,
    recurrent_kernel: Any,
    bias: Any,
    recurrent_bias: Any,
    time_major: bool,
) -> tuple[tuple[Any, ...], Any, int]:
    """The batch axes, the number of steps and the width of the state."""
    shape = tuple(x.shape)
    if len(shape) < 2:
        raise ShapeError(f"lstm_update() expects x of shape (batch..., T, in), got {shape}.")
    recurrent = tuple(recurrent_kernel.shape)
    if len(recurrent) != 2 or recurrent[1] != 4 * recurrent[0]:
        raise ShapeError(
            f"lstm_update() expects recurrent_kernel of shape (out, 4*out), got {recurrent}."
        )
    width = recurrent[0]
    if tuple(kernel.shape) != (shape[-1], 4 * width):
        raise ShapeError(
            f"lstm_update() expects kernel of shape {(shape[-1], 4 * width)} for x {shape} and recurrent_kernel "
            f"{recurrent}, got {tuple(kernel.shape)}."
        )
    batch, steps = (shape[1:-1], shape[0]) if time_major else (shape[:-2], shape[-2])
    for name, state in (("init_h", init_h), ("init_c", init_c)):
        if not _fits(tuple(state.shape), (*batch, width)):
            raise ShapeError(
                f"lstm_update() expects {name} of shape {(*batch, width)} for x {shape}, got {tuple(state.shape)}."
            )
    for name, part in (("bias", bias), ("recurrent_bias", recurrent_bias)):
        if part is not None and tuple(part.shape) != (4 * width,):
            raise ShapeError(
                f"lstm_update() expects {name} of shape {(4 * width,)}, got {tuple(part.shape)}."
            )
    return batch, steps, width


def _fits(shape: tuple[Any, ...], wanted: tuple[Any, ...]) -> bool:
    """Equal shapes; a size not known while tracing fits any."""
    if len(shape) != len(wanted):
        return False
    return all([a is None or b is None or a == b for a, b in zip(shape, wanted, strict=True)])
