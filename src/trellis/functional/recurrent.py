"""Recurrent layers over a whole sequence, in the style of `trellis.lstm_update`."""

from typing import Any

from .._dispatch import xp_of_all
from .._errors import ShapeError
from .._layer_arguments import has_nest
from .._recurrent import _fits
from .._typing import A
from ..tree import call_leafwise
from ._arguments import all_precise, one_of


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
) -> tuple[A, A]:
    """Run a GRU over a sequence: (all hidden states, last hidden state).

    With a = x_t K + b and c = h R + rb, each split into three: r = sigmoid(a1 + c1), z = sigmoid(a2 + c2),
    n = tanh(a3 + r * c3), h = (1 - z) * n + z * h. The gates lie in the order reset, update, new, as in torch.
    x is (batch..., T, in), or (T, batch..., in) with `time_major`; init_h (batch..., out), kernel (in, 3*out),
    recurrent_kernel (out, 3*out), biases (3*out,).

    >>> import numpy as np
    >>> from trellis import functional as F
    >>> hs, h = F.gru_update(np.ones((1, 3, 2)), np.zeros((1, 4)), np.ones((2, 12)), np.ones((4, 12)))
    >>> hs.shape, h.shape
    ((1, 3, 4), (1, 4))
    """
    if has_nest(x, init_h, kernel, recurrent_kernel, bias, recurrent_bias):
        kwargs = {"bias": bias, "recurrent_bias": recurrent_bias, "time_major": time_major}
        return call_leafwise(gru_update, (x, init_h, kernel, recurrent_kernel), kwargs)
    arrays = (x, init_h, kernel, recurrent_kernel, bias, recurrent_bias)
    return _run("gru_update", 3, _gru_step, arrays, time_major)


def _gru_step(xp: Any, h: Any, a: Any, c: Any) -> Any:
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
) -> tuple[A, A]:
    """Run h = activation(x_t K + b + h R + rb) over a sequence: (all hidden states, last hidden state).

    x is (batch..., T, in), or (T, batch..., in) with `time_major`; init_h (batch..., out), kernel (in, out),
    recurrent_kernel (out, out), biases (out,). `activation` is "tanh" or "relu".

    >>> import numpy as np
    >>> from trellis import functional as F
    >>> x = np.array([[[1.0], [2.0]]])
    >>> hs, h = F.rnn_update(x, np.zeros((1, 1)), np.ones((1, 1)), np.ones((1, 1)), activation="relu")
    >>> hs.tolist()
    [[[1.0], [3.0]]]
    """
    if has_nest(x, init_h, kernel, recurrent_kernel, bias, recurrent_bias):
        kwargs = {
            "bias": bias,
            "recurrent_bias": recurrent_bias,
            "activation": activation,
            "time_major": time_major,
        }
        return call_leafwise(rnn_update, (x, init_h, kernel, recurrent_kernel), kwargs)
    one_of("rnn_update", "the activations", activation, ("tanh", "relu"))
    arrays = (x, init_h, kernel, recurrent_kernel, bias, recurrent_bias)
    return _run(
        "rnn_update", 1, _tanh_step if activation == "tanh" else _relu_step, arrays, time_major
    )


def _tanh_step(xp: Any, h: Any, a: Any, c: Any) -> Any:
    return xp.tanh(a + c)


def _relu_step(xp: Any, h: Any, a: Any, c: Any) -> Any:
    return xp.relu(a + c)


def _run(
    name: str, gates: int, step: Any, arrays: tuple[Any, ...], time_major: bool
) -> tuple[Any, Any]:
    xp = xp_of_all(*arrays)
    batch, steps, width = _sizes(name, gates, arrays, time_major)
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

    def advance(h: Any, a: Any) -> tuple[Any, Any]:
        c = xp.matmul(h, recurrent_kernel)
        c = c if recurrent_bias is None else c + recurrent_bias
        h = step(xp, h, a, c)
        return h, h

    h, hs = xp.scan(advance, h, a)
    if n == 0:
        hs, h = hs[:, 0], h[0]
    elif not time_major:
        hs = xp.permute_dims(hs, (*range(1, n + 1), 0, n + 1))
    return xp.astype(hs, kind, copy=False), xp.astype(h, kind, copy=False)


def _sizes(
    name: str, gates: int, arrays: tuple[Any, ...], time_major: bool
) -> tuple[tuple[Any, ...], Any, int]:
    """The batch axes, the number of steps and the width of the state."""
    x, init_h, kernel, recurrent_kernel, bias, recurrent_bias = arrays
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
            f"{name}() expects kernel of shape {(shape[-1], gates * width)} for x {shape} and recurrent_kernel "
            f"{recurrent}, got {tuple(kernel.shape)}."
        )
    batch, steps = (shape[1:-1], shape[0]) if time_major else (shape[:-2], shape[-2])
    if not _fits(tuple(init_h.shape), (*batch, width)):
        raise ShapeError(
            f"{name}() expects init_h of shape {(*batch, width)} for x {shape}, got {tuple(init_h.shape)}."
        )
    for what, part in (("bias", bias), ("recurrent_bias", recurrent_bias)):
        if part is not None and tuple(part.shape) != (gates * width,):
            raise ShapeError(
                f"{name}() expects {what} of shape {(gates * width,)}, got {tuple(part.shape)}."
            )
    return batch, steps, width
