"""Recurrent layers over a whole sequence: LSTM, GRU and the plain RNN."""

import math
from collections.abc import Callable
from functools import partial
from typing import Any

from .._core.dispatch import xp_of_all
from .._core.errors import ShapeError
from .._core.explain import explain
from .._core.leafwise import call_leafwise, has_nest
from .._core.shapes import one_of
from .._core.typing import A, Array, Backend
from ._arguments import shapes_differ
from ._padding import padded_lstm, real_steps
from ._precision import all_precise, as_floats


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
    lengths: A | None = None,
    mask: A | None = None,
) -> tuple[A, tuple[A, A]]:
    """Run an LSTM over a sequence: (all hidden states, (last hidden state, last cell state)).

    x is (batch..., T, in), or (T, batch..., in) with `time_major`; states (batch..., out), kernel
    (in, 4*out), recurrent_kernel (out, 4*out). The order of the gates is input, forget, cell,
    output.

    For padded sequences, `lengths` (batch...) is the number of real steps, or `mask`, a bool of
    shape (batch..., T), marks them: at padded steps the states do not change, and the result is
    zero.

    >>> import numpy as np, trellis
    >>> x, state = np.ones((1, 3, 2)), np.zeros((1, 4))
    >>> hs, (h, c) = trellis.lstm_update(x, state, state, np.ones((2, 16)), np.ones((4, 16)))
    >>> hs.shape, h.shape, c.shape
    ((1, 3, 4), (1, 4), (1, 4))
    """
    try:
        padding = {"lengths": lengths, "mask": mask}
        if has_nest(x, init_h, init_c, kernel, recurrent_kernel, bias, recurrent_bias):
            kwargs = {"bias": bias, "recurrent_bias": recurrent_bias, "time_major": time_major}
            args = (x, init_h, init_c, kernel, recurrent_kernel)
            return call_leafwise(lstm_update, args, {**kwargs, **padding})
        xp = xp_of_all(
            x, init_h, init_c, kernel, recurrent_kernel, bias, recurrent_bias, lengths, mask
        )
        states = {"init_h": init_h, "init_c": init_c}
        batch, steps, width = _sizes(
            "lstm_update", 4, x, states, kernel, recurrent_kernel, bias, recurrent_bias, time_major
        )
        keep = real_steps("lstm_update", xp, x, lengths, mask, batch, steps, time_major)
        x, init_h, init_c, kernel, recurrent_kernel, bias, recurrent_bias = as_floats(
            "lstm_update", xp, x, init_h, init_c, kernel, recurrent_kernel, bias, recurrent_bias
        )
        dtype = x.dtype
        if steps != 0 and xp.dtype_name(dtype) in ("float16", "bfloat16"):
            # The state stays in float32 from step to step, and results are rounded once.
            arrays = (x, init_h, init_c, kernel, recurrent_kernel, bias, recurrent_bias)
            wide = [a if a is None else xp.astype(a, "float32") for a in arrays]
            hs, (h, c) = lstm_update(
                *wide[:5], bias=wide[5], recurrent_bias=wide[6], time_major=time_major, **padding
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
                x = xp.reshape(x, (-1 if steps is None else steps, math.prod(batch), x.shape[-1]))
                h, c = [xp.reshape(state, (math.prod(batch), width)) for state in (h, c)]
            if keep is not None and n > 1:
                keep = xp.reshape(keep, (-1 if steps is None else steps, math.prod(batch)))
        if keep is None:
            hs, (h, c) = xp.lstm(x, h, c, kernel, recurrent_kernel, bias)
        else:
            keep = xp.expand_dims(keep, axis=1) if n == 0 else keep
            hs, (h, c) = padded_lstm(xp, x, h, c, kernel, recurrent_kernel, bias, keep, lengths)
        if n == 0:
            return hs[:, 0, ...], (h[0, ...], c[0, ...])
        if n > 1:
            hs = xp.reshape(hs, (-1 if steps is None else steps, *batch, width))
            h, c = [xp.reshape(state, (*batch, width)) for state in (h, c)]
        if not time_major:
            hs = xp.permute_dims(hs, (*range(1, n + 1), 0, n + 1))
        return hs, (h, c)
    except Exception as error:
        return explain(error, lstm_update)


def gru_update(
    x: A,
    init_h: A,
    kernel: A,
    recurrent_kernel: A,
    /,
    *,
    bias: A | None = None,
    recurrent_bias: A | None = None,
    time_major: bool = False,
    lengths: A | None = None,
    mask: A | None = None,
) -> tuple[A, A]:
    """Run a GRU over a sequence: (all hidden states, last hidden state).

    With a = x_t K + b and c = h R + rb, each split into three: r = sigmoid(a1 + c1), z = sigmoid(a2
    + c2), n = tanh(a3 + r * c3), h = (1 - z) * n + z * h. The order of the gates is reset, update,
    new, as in torch. x is (batch..., T, in), or (T, batch..., in) with `time_major`; init_h
    (batch..., out), kernel (in, 3*out), recurrent_kernel (out, 3*out), biases (3*out,). `lengths`
    and `mask` are those of `lstm_update`.

    >>> import numpy as np
    >>> from trellis import functional as F
    >>> x, state = np.ones((1, 3, 2)), np.zeros((1, 4))
    >>> hs, h = F.gru_update(x, state, np.ones((2, 12)), np.ones((4, 12)))
    >>> hs.shape, h.shape
    ((1, 3, 4), (1, 4))
    """
    try:
        if has_nest(x, init_h, kernel, recurrent_kernel, bias, recurrent_bias):
            fn = partial(gru_update, time_major=time_major)
            return call_leafwise(
                fn,
                (x, init_h, kernel, recurrent_kernel),
                {"bias": bias, "recurrent_bias": recurrent_bias, "lengths": lengths, "mask": mask},
            )
        arrays = (x, init_h, kernel, recurrent_kernel, bias, recurrent_bias)
        return _run("gru_update", 3, _gru_step, arrays, time_major, lengths, mask)
    except Exception as error:
        return explain(error, gru_update)


def _gru_step(xp: Backend, h: Array, a: Array, c: Array) -> Any:
    width = h.shape[-1]
    gates = xp.sigmoid(a[..., : 2 * width] + c[..., : 2 * width])
    reset, update = gates[..., :width], gates[..., width:]
    new = xp.tanh(a[..., 2 * width :] + reset * c[..., 2 * width :])
    return new + update * (h - new)


def rnn_update(
    x: A,
    init_h: A,
    kernel: A,
    recurrent_kernel: A,
    /,
    *,
    bias: A | None = None,
    recurrent_bias: A | None = None,
    activation: str = "tanh",
    time_major: bool = False,
    lengths: A | None = None,
    mask: A | None = None,
) -> tuple[A, A]:
    """Run h = activation(x_t K + b + h R + rb) over a sequence: (all hidden states, the last).

    x is (batch..., T, in), or (T, batch..., in) with `time_major`; init_h (batch..., out), kernel
    (in, out), recurrent_kernel (out, out), biases (out,). `activation` is "tanh" or "relu".
    `lengths` and `mask` are those of `lstm_update`.

    >>> import numpy as np
    >>> from trellis import functional as F
    >>> x = np.array([[[1.0], [2.0]]])
    >>> one = np.ones((1, 1))
    >>> hs, h = F.rnn_update(x, 0 * one, one, one, activation="relu")
    >>> hs.tolist()
    [[[1.0], [3.0]]]
    """
    try:
        if has_nest(x, init_h, kernel, recurrent_kernel, bias, recurrent_bias):
            fn = partial(rnn_update, activation=activation, time_major=time_major)
            return call_leafwise(
                fn,
                (x, init_h, kernel, recurrent_kernel),
                {"bias": bias, "recurrent_bias": recurrent_bias, "lengths": lengths, "mask": mask},
            )
        one_of("rnn_update", "activation", activation, ("tanh", "relu"))
        arrays = (x, init_h, kernel, recurrent_kernel, bias, recurrent_bias)

        def step(xp: Backend, h: Array, a: Array, c: Array) -> Any:
            return xp.tanh(a + c) if activation == "tanh" else xp.relu(a + c)

        return _run("rnn_update", 1, step, arrays, time_major, lengths, mask)
    except Exception as error:
        return explain(error, rnn_update)


def _run(
    name: str,
    gates: int,
    step: Callable[..., Any],
    arrays: tuple[Any, ...],
    time_major: bool,
    lengths: Array | None,
    mask: Array | None,
) -> tuple[Any, Any]:
    xp = xp_of_all(*arrays, lengths, mask)
    x, init_h, kernel, recurrent_kernel, bias, recurrent_bias = arrays
    states = {"init_h": init_h}
    batch, steps, width = _sizes(
        name, gates, x, states, kernel, recurrent_kernel, bias, recurrent_bias, time_major
    )
    keep = real_steps(name, xp, x, lengths, mask, batch, steps, time_major)
    (x, h, kernel, recurrent_kernel, bias, recurrent_bias), kind = all_precise(name, xp, *arrays)
    n = len(batch)
    if steps == 0:
        shape = (0, *batch, width) if time_major else (*batch, 0, width)
        return xp.zeros(shape, dtype=kind, device=xp.device(x)), xp.astype(h, kind, copy=False)
    # The input's share of all steps in one product, then time first.
    a = xp.matmul(x, kernel)
    a = a if bias is None else a + bias
    if n == 0:
        a, h = xp.expand_dims(a, axis=1), xp.expand_dims(h, axis=0)
    elif not time_major:
        a = xp.permute_dims(a, (n, *range(n), n + 1))

    def advance(h: Array, a: Array) -> tuple[Any, Any]:
        c = xp.matmul(h, recurrent_kernel)
        c = c if recurrent_bias is None else c + recurrent_bias
        h = step(xp, h, a, c)
        return h, h

    def advance_kept(h: Array, at: tuple[Any, Any]) -> tuple[Any, Any]:
        a, keep = at
        y, _ = advance(h, xp.where(keep, a, xp.zeros_like(a)))
        return xp.where(keep, y, h), xp.where(keep, y, xp.zeros_like(y))

    # A backend may have a kernel for a whole recurrence, which takes the place of the scan.
    own = xp.RECURRENCES.get(name) if keep is None else None
    done = None if own is None else own(a, h, recurrent_kernel, recurrent_bias)
    if done is not None:
        h, hs = done
    elif keep is None:
        h, hs = xp.scan(advance, h, a)
    else:
        keep = xp.expand_dims(xp.expand_dims(keep, axis=1) if n == 0 else keep, axis=-1)
        h, hs = xp.scan(advance_kept, h, (a, keep))
    if n == 0:
        hs, h = hs[:, 0], h[0]
    elif not time_major:
        hs = xp.permute_dims(hs, (*range(1, n + 1), 0, n + 1))
    return xp.astype(hs, kind, copy=False), xp.astype(h, kind, copy=False)


def _sizes(
    name: str,
    gates: int,
    x: Array,
    states: dict[str, Any],
    kernel: Array,
    recurrent_kernel: Array,
    bias: Array | None,
    recurrent_bias: Array | None,
    time_major: bool,
) -> tuple[tuple[Any, ...], Any, int]:
    """The batch axes, the number of steps and the width of the state."""
    shape, recurrent = tuple(x.shape), tuple(recurrent_kernel.shape)
    if len(shape) < 2:
        raise ShapeError(f"{name}() expects x of shape (batch..., T, in), got {shape}.")
    times = "" if gates == 1 else f"{gates}*"
    if len(recurrent) != 2 or recurrent[1] != gates * recurrent[0]:
        raise ShapeError(
            f"{name}() expects recurrent_kernel of shape (out, {times}out), got {recurrent}."
        )
    width = recurrent[0]
    if tuple(kernel.shape) != (shape[-1], gates * width):
        raise ShapeError(
            f"{name}() expects kernel of shape {(shape[-1], gates * width)} for x {shape} and "
            f"recurrent_kernel {recurrent}, got {tuple(kernel.shape)}."
        )
    batch, steps = (shape[1:-1], shape[0]) if time_major else (shape[:-2], shape[-2])
    for what, state in states.items():
        if shapes_differ(tuple(state.shape), (*batch, width)):
            raise ShapeError(
                f"{name}() expects {what} of shape {(*batch, width)} for x {shape}, "
                f"got {tuple(state.shape)}."
            )
    for what, part in (("bias", bias), ("recurrent_bias", recurrent_bias)):
        if part is not None and tuple(part.shape) != (gates * width,):
            raise ShapeError(
                f"{name}() expects {what} of shape {(gates * width,)}, got {tuple(part.shape)}."
            )
    return batch, steps, width
