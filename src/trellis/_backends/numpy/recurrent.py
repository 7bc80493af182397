"""The LSTM, one step after another.

The data of a step are contiguous blocks in memory: states are (width, batch), the gates
of a step (4 * width, batch) in the order output, input, forget, cell. Then the first three blocks
take the sigmoid, and the last three belong to the derivative of the cell state.
"""

from typing import Any

import numpy as np

from . import _scipy
from ._fused import fused, is_plain
from ._gru import RECURRENCES as RECURRENCES


def lstm(
    x: Any, h: Any, c: Any, kernel: Any, recurrent_kernel: Any, bias: Any
) -> tuple[Any, tuple[Any, Any]]:
    """The recurrence over x (time, batch, in)."""
    hs, h, c = _lstm(x, h, c, kernel, recurrent_kernel, bias)
    return hs, (h, c)


def _formula(
    x: Any, h: Any, c: Any, kernel: Any, recurrent_kernel: Any, bias: Any
) -> tuple[Any, Any, Any]:
    """One product for the inputs of all steps."""
    inputs = x @ kernel
    inputs = inputs if bias is None else inputs + bias
    width = recurrent_kernel.shape[0]
    hs = []
    for t in range(x.shape[0]):
        z = inputs[t] + h @ recurrent_kernel
        gates = _scipy.special.expit(z)
        c = gates[:, width : 2 * width] * c + gates[:, :width] * np.tanh(
            z[:, 2 * width : 3 * width]
        )
        h = gates[:, 3 * width :] * np.tanh(c)
        hs.append(h)
    return np.stack(hs), h, c


def _ordered(kernel: Any, width: int) -> Any:
    """Columns for input, forget, cell and output gate as rows, the output gate first."""
    return np.concatenate([kernel[:, 3 * width :], kernel[:, : 3 * width]], axis=1).T


def _forward(
    x: Any, h: Any, c: Any, kernel: Any, recurrent_kernel: Any, bias: Any
) -> tuple[tuple[Any, Any, Any], Any]:
    steps, rows, inputs = x.shape
    width, dtype = recurrent_kernel.shape[0], x.dtype
    # A step is one product: its operand holds the input, the state before, and a one for the bias.
    bias = np.zeros(4 * width, dtype) if bias is None else bias
    parts = [_ordered(part, width) for part in (kernel, recurrent_kernel, bias[None])]
    weights = np.concatenate(parts, axis=1)
    np.negative(weights[: 3 * width], out=weights[: 3 * width])  # sigmoid(z) = 1 / (1 + exp(-z))
    operand = np.empty((steps + 1, inputs + width + 1, rows), dtype)
    operand[:-1, :inputs] = x.transpose(0, 2, 1)
    operand[:, -1] = 1
    states = operand[:, inputs:-1]
    states[0] = h.T
    cells = np.empty((steps + 1, width, rows), dtype)
    cells[0] = c.T
    bent = np.empty((steps, width, rows), dtype)
    gates = np.empty((steps, 4 * width, rows), dtype)
    product = np.empty((width, rows), dtype)
    with np.errstate(over="ignore"):
        for t in range(steps):
            step, cell = gates[t], cells[t + 1]
            np.matmul(weights, operand[t], out=step)
            soft, new = step[: 3 * width], step[3 * width :]
            np.exp(soft, out=soft)
            np.add(soft, 1, out=soft)
            np.divide(1, soft, out=soft)
            np.tanh(new, out=new)
            np.multiply(step[2 * width : 3 * width], cells[t], out=cell)
            np.multiply(step[width : 2 * width], new, out=product)
            np.add(cell, product, out=cell)
            np.tanh(cell, out=bent[t])
            np.multiply(step[:width], bent[t], out=states[t + 1])
    hs = np.ascontiguousarray(states[1:].transpose(0, 2, 1))
    results = hs, hs[-1].copy(), np.ascontiguousarray(cells[-1].T)
    return results, (x, h, kernel, recurrent_kernel, hs, gates, cells, bent)


def _backward(gs: list[Any], kept: Any, places: list[int]) -> list[Any]:
    x, h, kernel, recurrent_kernel, hs, gates, cells, bent = kept
    steps, rows, width = hs.shape
    from_hs, from_h, from_c = gs
    shape = (width, rows)
    from_state = np.zeros(shape, x.dtype) if from_h is None else np.array(from_h.T, order="C")
    from_cell = np.zeros(shape, x.dtype) if from_c is None else np.array(from_c.T, order="C")
    factors, into_cell = _factors(gates, cells, bent)
    forget = gates[:, 2 * width : 3 * width]
    back = np.ascontiguousarray(_ordered(recurrent_kernel, width).T)
    product = np.empty(shape, x.dtype)
    for t in range(steps - 1, -1, -1):
        if from_hs is not None:
            np.add(from_state, from_hs[t].T, out=from_state)
        np.multiply(from_state, into_cell[t], out=product)
        np.add(from_cell, product, out=from_cell)
        # The factors become the gradients of what goes into the gates.
        step = factors[t]
        np.multiply(step[0], from_state, out=step[0])
        np.multiply(step[1:], from_cell, out=step[1:])
        np.multiply(from_cell, forget[t], out=from_cell)
        np.matmul(back, step.reshape(4 * width, rows), out=from_state)
    # Back to (time * batch, 4 * width), in the order of the kernels.
    flat = np.empty((steps, rows, 4 * width), x.dtype)
    ordered = factors.reshape(steps, 4 * width, rows).transpose(0, 2, 1)
    flat[..., : 3 * width] = ordered[..., width:]
    flat[..., 3 * width :] = ordered[..., :width]
    flat = flat.reshape(steps * rows, 4 * width)
    found: list[Any] = []
    for i in places:
        if i == 0:
            found.append((flat @ kernel.T).reshape(x.shape))
        elif i in (1, 2):
            found.append(np.ascontiguousarray((from_state if i == 1 else from_cell).T))
        elif i == 3:
            found.append(x.reshape(steps * rows, x.shape[-1]).T @ flat)
        elif i == 4:
            before = hs[:-1].reshape((steps - 1) * rows, width)
            found.append(before.T @ flat[rows:] + h.T @ flat[:rows])
        else:
            found.append(np.add.reduce(flat, axis=0))
    return found


def _factors(gates: Any, cells: Any, bent: Any) -> tuple[Any, Any]:
    """The factors of the gradients at each step, for all steps at once.

    (time, 4, width, batch): the output gate's by that of the hidden state, the other three by that
    of the cell state. And the derivative of the hidden state by the cell state.
    """
    steps, width, rows = bent.shape
    gates = gates.reshape(steps, 4, width, rows)
    soft, out, into, new = gates[:, :3], gates[:, 0], gates[:, 1], gates[:, 3]
    factors = np.empty_like(gates)
    np.subtract(1, soft, out=factors[:, :3])
    factors[:, :3] *= soft
    factors[:, 0] *= bent
    factors[:, 1] *= new
    factors[:, 2] *= cells[:-1]
    last = factors[:, 3]
    np.multiply(new, new, out=last)
    np.subtract(1, last, out=last)
    last *= into
    into_cell = bent * bent
    np.subtract(1, into_cell, out=into_cell)
    into_cell *= out
    return factors, into_cell


_traced = fused(_forward, _backward, _formula)


def _lstm(*args: Any) -> tuple[Any, Any, Any]:
    results = _forward(*args)[0] if is_plain(args) else _traced(*args)
    hs, h, c = results
    return hs, h, c
