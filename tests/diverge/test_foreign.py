"""A model of torch against its conversion, and against a port by hand."""

import numpy as np
import pytest

import trellis
from oracles import torch
from trellis import functional as F
from trellis import nn
from trellis.errors import ArgumentTypeError, NotSupportedError

pytestmark = pytest.mark.needs("torch")


@pytest.fixture
def theirs():
    torch.manual_seed(0)
    return torch.nn.Sequential(
        torch.nn.Conv2d(1, 2, 3),
        torch.nn.BatchNorm2d(2),
        torch.nn.Flatten(),
        torch.nn.Linear(32, 3),
    ).eval()


def test_a_conversion_is_compared_node_by_node(theirs, backend):
    x = torch.randn(2, 1, 6, 6)
    model = trellis.convert.from_torch(theirs, (x,), to=backend)
    report = trellis.diverge(theirs, model, (x,))
    assert report.is_same and report.count >= 3, str(report)
    v = model.v.copy()
    v["3/weight"] = v["3/weight"] * 1.01
    model.v = v
    found = trellis.diverge(theirs, model, (x,)).differences
    assert len(found) == 1 and found[0].call.op == "linear"
    assert found[0].call.module == "3" and found[0].call.variables == ["3/weight"]
    assert 1e-3 < found[0].size < 2e-2  # one percent of the weights, the bias as it was


class Port(nn.Module):
    def __init__(self, activation, **options):
        self.activation = activation
        self.layers = [nn.Linear(4, 4), nn.Linear(4, 4)]
        self.out = nn.Linear(4, 2)
        super().__init__(**options)

    def _forward(self, x):
        for layer in self.layers:
            x = self.activation(layer(x))
        return self.out(x)


def test_a_port_by_hand_is_compared_module_by_module():
    class Theirs(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = torch.nn.ModuleList([torch.nn.Linear(4, 4), torch.nn.Linear(4, 4)])
            self.out = torch.nn.Linear(4, 2)

        def forward(self, x):
            for layer in self.layers:
                x = torch.relu(layer(x))
            return self.out(x)

    torch.manual_seed(0)
    source, x = Theirs(), torch.randn(5, 4)
    for activation, first in ((F.relu, None), (F.leaky_relu, "layers.1")):
        port = Port(activation)
        for name, p in source.named_parameters():
            chain = name.replace("layers.", "layers/v").replace(".", "/")
            chain = chain.replace("weight", "w").replace("bias", "b")
            port.v[chain] = p.detach().numpy()
        report = trellis.diverge(source, port, (x,))
        assert report.count == 4
        assert [d.call.module for d in report.differences[:1]] == ([first] if first else [])


def test_ports_of_other_names_are_refused():
    source = torch.nn.Sequential(torch.nn.Linear(4, 2), torch.nn.ReLU())
    with pytest.raises(ArgumentTypeError, match="Name the attributes alike"):
        trellis.diverge(source, Port(F.relu), (torch.ones(3, 4),))
    with pytest.raises(NotSupportedError, match="compares a torch"):
        trellis.diverge(np.sin, Port(F.relu), (np.ones((3, 4)),))
