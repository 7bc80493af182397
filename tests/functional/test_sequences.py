"""Sequences of different lengths: padding, masks, and recurrent layers beside torch's packed
sequences."""

import numpy as np
import pytest

import trellis
from oracles import torch
from trellis import errors, nn
from trellis import functional as F
from trellis.testing import assert_close

LENGTHS = np.array([6, 3, 1, 4], "int32")
KEEP = np.arange(6) < LENGTHS[:, None]


def test_pad_sequences(backend, array):
    rows = [array(np.arange(3.0, dtype="float32")), array(np.ones(1, "float32"))]
    for side, second in (("right", [1, 9, 9, 9]), ("left", [9, 9, 9, 1])):
        padded, lengths = F.pad_sequences(rows, length=4, value=9, side=side)
        first = [0, 1, 2, 9] if side == "right" else [9, 0, 1, 2]
        assert_close(padded, np.array([first, second], "float32"), backend=backend)
        assert_close(lengths, np.array([3, 1], "int32"), backend=backend)
    tokens, lengths = F.pad_sequences([[4, 5], [], [6]], backend=backend)
    assert_close(tokens, np.array([[4, 5], [0, 0], [6, 0]]), dtype=False, backend=backend)
    assert_close(lengths, np.array([2, 0, 1], "int32"), backend=backend)


def test_pad_sequences_refuses(array):
    with pytest.raises(errors.ShapeError, match="at most 1 steps, got one of 2"):
        F.pad_sequences([[1, 2]], length=1)
    with pytest.raises(errors.ShapeError, match="first axis alone"):
        F.pad_sequences([array(np.ones((2, n), "float32")) for n in (3, 4)])
    with pytest.raises(errors.ArgumentError, match="at least one"):
        F.pad_sequences([])
    with pytest.raises(errors.ArgumentError, match="side"):
        F.pad_sequences([[1]], side="both")


def test_length_mask(backend, array):
    mask = F.length_mask(array(np.array([2, 0], "int32")))
    assert_close(mask, np.array([[True, True], [False, False]]), backend=backend)
    with pytest.raises(errors.DtypeError, match="integer lengths"):
        F.length_mask(array(np.ones(2, "float32")), 3)


def numbers(*shape, seed=0):
    return np.random.default_rng([seed, *shape]).normal(size=shape).astype("float32") * 0.5


def torch_layer(kind, v):
    """torch's own layer with the same weights."""
    layer = getattr(torch.nn, kind)(3, 5, 2, bidirectional=True, batch_first=True)
    with torch.no_grad():
        for i in range(2):
            for end in ("", "_reverse"):
                part = v[f"layer{i}{end}"]
                rows = {
                    "weight_ih": part["w"].T.copy(),
                    "weight_hh": part["r"].T.copy(),
                    "bias_ih": part["b"],
                    "bias_hh": part["rb"] if "rb" in part else part["b"] * 0,
                }
                for name, value in rows.items():
                    getattr(layer, f"{name}_l{i}{end}").copy_(torch.tensor(value))
    return layer


def packed(kind, v, x, states):
    """Outputs, last states, and the gradients of a sum of all by x and one kernel."""
    layer, x = torch_layer(kind, v), torch.tensor(x, requires_grad=True)
    states = [torch.tensor(state) for state in states]
    rnn = torch.nn.utils.rnn
    rows = rnn.pack_padded_sequence(
        x, torch.tensor(LENGTHS).long(), batch_first=True, enforce_sorted=False
    )
    y, last = layer(rows, tuple(states) if len(states) == 2 else states[0])
    y, _ = rnn.pad_packed_sequence(y, batch_first=True)
    last = last if isinstance(last, tuple) else (last,)
    total = (y**2).sum()
    for state in last:
        total = total + (state**3).sum()
    total.backward()
    kernel = layer.weight_ih_l0_reverse.grad.T
    found = [y, *last, x.grad, kernel]
    return [part.detach().numpy() for part in found]


@pytest.mark.needs("torch")
@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN"])
@pytest.mark.parametrize("given", ["lengths", "mask"])
def test_layers_equal_packed_sequences(kind, given, backend, array):
    """Two layers in both directions, with states that are not zero, and rubbish as padding."""
    v = trellis.tree.map(
        lambda x: numbers(*x.shape), getattr(nn, kind)(3, 5, 2, bidirectional=True).v
    )
    x = numbers(4, 6, 3)
    x[~KEEP] = 1e3
    states = [numbers(4, 4, 5, seed=i) for i in range(2 if kind == "LSTM" else 1)]
    expected = packed(kind, v, x, states)
    layer = getattr(nn, kind)(3, 5, 2, bidirectional=True, backend=backend)
    padding = {given: array(LENGTHS if given == "lengths" else KEEP)}
    first = [array(state) for state in states]

    def run(v, x):
        y, last = layer(x, tuple(first) if len(first) == 2 else first[0], v=v, **padding)
        last = last if isinstance(last, tuple) else (last,)
        total = trellis.sum(y**2)
        for state in last:
            total = total + trellis.sum(state**3)
        return total, (y, *last)

    variables = trellis.tree.map(array, v)
    (_, found), (by_v, by_x) = trellis.value_and_grad(run, argnums=(0, 1), has_aux=True)(
        variables, array(x)
    )
    actual = [*found, by_x, by_v["layer0_reverse"]["w"]]
    # Six steps in float32, and the cubes of states in the gradients.
    for ours, theirs in zip(actual, expected, strict=True):
        assert_close(ours, theirs, rtol=1e-4, atol=1e-5, backend=backend)


def test_layers_without_batch_and_with_time_first(backend, array):
    x = numbers(6, 3)
    layer = nn.LSTM(3, 4, bidirectional=True, backend=backend)
    y, (h, _) = layer(array(x), lengths=array(np.array(4, "int32")))
    short, (h_short, _) = layer(array(x[:4]))
    # The same steps, alone: one sum is of another order.
    assert_close(y[:4], trellis.to_numpy(short), rtol=1e-5, atol=1e-6, backend=backend)
    assert_close(y[4:], np.zeros((2, 8), "float32"), backend=backend)
    assert_close(h, trellis.to_numpy(h_short), rtol=1e-5, atol=1e-6, backend=backend)
    batch = numbers(2, 6, 3)
    first = nn.LSTM(3, 4, bidirectional=True, time_major=True, backend=backend, v=layer.v)
    lengths = array(np.array([6, 2], "int32"))
    y, _ = layer(array(batch), lengths=lengths)
    y_first, _ = first(array(batch.transpose(1, 0, 2).copy()), lengths=lengths)
    assert_close(
        trellis.permute_dims(y_first, (1, 0, 2)),
        trellis.to_numpy(y),
        rtol=1e-5,
        atol=1e-6,
        backend=backend,
    )


def test_lengths_are_checked(backend, array):
    layer, x = nn.GRU(3, 4, backend=backend), array(numbers(2, 5, 3))
    with pytest.raises(errors.ArgumentError, match="from 0 to the 5 steps of x, got 1 to 6"):
        layer(x, lengths=array(np.array([1, 6], "int32")))
    with pytest.raises(errors.ShapeError, match="lengths of shape"):
        layer(x, lengths=array(np.array([1, 2, 3], "int32")))
    with pytest.raises(errors.DtypeError, match="integer lengths"):
        layer(x, lengths=array(np.ones(2, "float32")))
    with pytest.raises(errors.DtypeError, match="bool mask"):
        layer(x, mask=array(np.ones((2, 5), "int32")))
    with pytest.raises(errors.ShapeError, match="mask of shape"):
        layer(x, mask=array(np.ones((5, 2), bool)))
    with pytest.raises(errors.ArgumentError, match="not both"):
        layer(x, lengths=array(np.ones(2, "int32")), mask=array(np.ones((2, 5), bool)))
