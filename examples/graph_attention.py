"""Graph attention finds the communities of a graph from the labels of a few nodes.

A node looks at its neighbours, and decides how much each of them counts: a softmax over the edges
that end at it (Velickovic and others, 2018).

python examples/graph_attention.py [numpy | jax | torch | tensorflow] [picture.svg]
"""

import sys

import numpy as np

import trellis
from trellis import functional as F
from trellis import nn

NODES, CLASSES = 90, 3


def communities():
    """A random graph: many edges inside each community, few between them, and noisy features."""
    random = np.random.default_rng(0)
    labels = np.arange(NODES) % CLASSES
    together = labels[:, None] == labels
    edges = random.random((NODES, NODES)) < np.where(together, 0.2, 0.02)
    edges = edges | edges.T | np.eye(NODES, dtype=bool)  # both ways, and each node to itself
    sources, targets = [places.astype("int32") for places in np.nonzero(edges)]
    features = np.eye(CLASSES)[labels] + random.normal(0, 1.5, (NODES, CLASSES))
    return features.astype("float32"), labels.astype("int32"), sources, targets


class GraphAttention(trellis.Module):
    """Several heads, each with features and attention of its own."""

    def __init__(self, inputs, outputs, heads, **options):
        self._heads, self._outputs = heads, outputs
        self._features = nn.Linear(inputs, heads * outputs)
        self._from, self._to = nn.Linear(inputs, heads), nn.Linear(inputs, heads)
        super().__init__(**options)

    def _forward(self, x, sources, targets):
        features = trellis.reshape(self._features(x), (NODES, self._heads, self._outputs))
        scores = trellis.take(self._from(x), sources, axis=0)
        scores = F.leaky_relu(
            scores + trellis.take(self._to(x), targets, axis=0), negative_slope=0.2
        )
        weights = trellis.segment_softmax(scores, targets, num_segments=NODES)
        sent = trellis.take(features, sources, axis=0) * weights[..., None]
        received = trellis.segment_sum(sent, targets, num_segments=NODES)
        return trellis.reshape(received, (NODES, self._heads * self._outputs))


class Network(trellis.Module):
    def __init__(self, **options):
        self._first = GraphAttention(CLASSES, 8, heads=4)
        self._second = GraphAttention(32, CLASSES, heads=1)
        super().__init__(**options)

    def _forward(self, x, sources, targets):
        return self._second(F.elu(self._first(x, sources, targets)), sources, targets)


def main(backend="numpy", picture=None, steps=100):
    trellis.seed(0)
    model = Network(backend=backend)
    optimizer = trellis.optim.AdamW(lr=0.01)
    features, labels, *edges = communities()
    graph = [trellis.to_backend(x, backend) for x in (features, *edges)]
    known = slice(0, 4 * CLASSES)  # the labels of four nodes of each community are known
    expected = trellis.to_backend(labels[known], backend)

    @trellis.compile
    def step(v, state, graph, expected):
        def loss(v):
            return F.cross_entropy(model(*graph, v=v)[known], expected)

        value, grads = trellis.value_and_grad(loss)(v)
        v, state = optimizer.update(v, grads, state)
        return v, state, value

    v, state, losses = model.v, optimizer.init(model.v), []
    for _ in range(steps):
        v, state, value = step(v, state, graph, expected)
        losses.append(float(value))
    found = trellis.to_numpy(trellis.argmax(model(*graph, v=v), axis=-1))
    right = np.mean(found[known.stop :] == labels[known.stop :])
    print(f"{backend}: loss {losses[-1]:.4f}, {right:.0%} of the other nodes found")
    if picture is not None:
        trellis.train.draw_curves(picture, {"loss": losses}, title="Graph attention")
    return losses[-1]


if __name__ == "__main__":
    main(*sys.argv[1:3])
