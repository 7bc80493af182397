"""Counting: against formulas, and against torch's own counter."""

import numpy as np
import pytest

import trellis
from trellis import functional as F
from trellis import nn

PRODUCTS = ("linear", "matmul", "conv", "attention", "einsum")


def test_numbers_of_a_small_net():
    net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
    count = trellis.trace(net, np.ones((3, 4), "float32")).count()
    assert count.parameters == 4 * 8 + 8 + 8 * 2 + 2
    assert count.parameter_memory == 4 * count.parameters
    assert count.rows["linear"].calls == 2
    assert count.rows["linear"].flops == 2 * 3 * (4 * 8 + 8 * 2)
    assert count.rows["relu"].flops == 3 * 8
    assert count.memory == 4 * 3 * (8 + 8 + 2)
    assert count.peak == 4 * 3 * (8 + 8)  # what the activation takes and gives
    assert str(count).startswith(f"3 calls, {count.flops} FLOPs, 58 parameters of 232 bytes")


def test_products_by_their_formulas():
    x, y = np.ones((5, 2, 3)), np.ones((5, 3, 4))
    assert trellis.trace(lambda x, y: x @ y, x, y).count().flops == 2 * 5 * 2 * 3 * 4
    count = trellis.trace(lambda x, y: trellis.einsum("bij,bjk->ik", x, y), x, y).count()
    assert count.flops == 2 * 5 * 2 * 3 * 4
    count = trellis.trace(lambda x, y: trellis.tensordot(x, y, axes=((0, 2), (0, 1))), x, y).count()
    assert count.flops == 2 * 5 * 3 * 2 * 4
    assert trellis.trace(lambda x: trellis.reshape(x, (-1,))[2:], x).count().flops == 0
    assert trellis.trace(lambda x: trellis.sum(x, axis=1), x).count().flops == 30


@pytest.mark.needs("torch")
def test_a_cnn_as_torch_counts_it():
    torch = pytest.importorskip("torch")
    from torch.utils.flop_counter import FlopCounterMode

    theirs = torch.nn.Sequential(
        torch.nn.Conv2d(3, 8, 3, padding=1),
        torch.nn.ReLU(),
        torch.nn.Conv2d(8, 8, 3, stride=2, groups=2),
        torch.nn.Flatten(),
        torch.nn.Linear(8 * 3 * 3, 5),
    )
    x = torch.ones(2, 3, 8, 8)
    with FlopCounterMode(display=False) as counter:
        theirs(x)
    ours = nn.Sequential(
        nn.Conv2D(3, 8, (3, 3), 1, "SAME"),
        nn.ReLU(),
        nn.Conv2D(8, 8, (3, 3), 2, "VALID", groups=2),
        nn.Flatten(),
        nn.Linear(8 * 3 * 3, 5),
    )
    count = trellis.trace(ours, np.ones((2, 8, 8, 3), "float32")).count()
    found = sum([row.flops for op, row in count.rows.items() if op in PRODUCTS])
    assert found == counter.get_total_flops()
    assert count.parameters == sum([p.numel() for p in theirs.parameters()])


@pytest.mark.needs("torch")
def test_a_transformer_as_torch_counts_it():
    torch = pytest.importorskip("torch")
    from torch.utils.flop_counter import FlopCounterMode

    theirs = torch.nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True)
    # With gradients and by the formula: the counter does not know the fused kernels of the CPU.
    by_formula = torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH)
    with by_formula, FlopCounterMode(display=False) as counter:
        theirs(torch.ones(2, 5, 8, requires_grad=True))
    ours = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0)
    count = trellis.trace(ours, np.ones((2, 5, 8), "float32")).count()
    found = sum([row.flops for op, row in count.rows.items() if op in PRODUCTS])
    # By hand: four projections, two products of attention, two layers, 2 per multiply-add.
    assert found == 2 * 2 * 5 * (4 * 8 * 8 + 2 * 5 * 8 + 2 * 8 * 16)
    assert found == counter.get_total_flops()


def test_pictures_are_svg_without_scripts(tmp_path):
    net = nn.Sequential(nn.Linear(4, 8), nn.ReLU())
    graph = trellis.trace(net, np.ones((3, 4), "float32"))
    text = graph.draw(tmp_path / "graph.svg")
    assert (tmp_path / "graph.svg").read_text() == text
    import xml.etree.ElementTree as ET

    root = ET.fromstring(text)
    assert root.tag.endswith("svg") and "prefers-color-scheme: dark" in text
    words = "".join(root.itertext())
    assert "relu" in words and "float32 (3, 8)" in words and "script" not in text


def test_pictures_with_names_from_a_file_are_xml():
    import xml.etree.ElementTree as ET

    from trellis.graph import Value, to_svg

    name = "</text><script>\x00\x1b\x0b\ud800\ufffe&"
    x = Value(name, ("batch\x01", 3), "float32")
    graph = trellis.trace(trellis.tanh, np.ones(3))
    graph.inputs.append(x)
    root = ET.fromstring(to_svg(graph))
    words = "".join(root.itertext())
    assert "\\x1b" in words and "batch\\x01" in words
    assert not [part for part in root.iter() if part.tag.endswith("script")]


def test_fused_layers_count_their_products():
    q = np.ones((2, 3, 5, 4), "float32")
    count = trellis.trace(lambda q: F.scaled_dot_product_attention(q, q, q), q).count()
    assert sum([count.rows[k].flops for k in count.rows if k in PRODUCTS]) == 2 * 2 * 6 * 5 * 5 * 4
