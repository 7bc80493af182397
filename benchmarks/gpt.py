"""A GPT of 105,000 parameters for the benchmark of compile times: with Trellis, and as one writes
it in each framework.

Two layers of width 64 with 4 heads over 32 tokens, AdamW, clipping, dropout.
"""

import numpy as np

import trellis
from trellis import functional as F
from trellis import nn

LENGTH, WIDTH, HEADS, WORDS, BATCH = 32, 64, 4, 24, 8


def data():
    rng = np.random.default_rng(0)
    words = rng.integers(0, WORDS, (BATCH, LENGTH + 1))
    return words[:, :-1], words[:, 1:]


class Block(trellis.Module):
    def __init__(self, dropout, **options):
        self._norm1, self._norm2 = nn.LayerNorm((WIDTH,)), nn.LayerNorm((WIDTH,))
        self._qkv, self._out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self._up, self._down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)
        self._drop = nn.Dropout(dropout)
        super().__init__(**options)

    def _forward(self, x):
        batch, length, _ = x.shape
        qkv = trellis.reshape(self._qkv(self._norm1(x)), (batch, length, 3, HEADS, WIDTH // HEADS))
        q, k, v = trellis.unstack(trellis.permute_dims(qkv, (2, 0, 3, 1, 4)))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        y = trellis.reshape(trellis.permute_dims(y, (0, 2, 1, 3)), (batch, length, WIDTH))
        x = x + self._drop(self._out(y))
        return x + self._drop(self._down(F.gelu(self._up(self._norm2(x)))))


class Gpt(trellis.Module):
    def __init__(self, dropout, **options):
        self._words, self._places = nn.Embedding(WORDS, WIDTH), nn.Embedding(LENGTH, WIDTH)
        self._block1, self._block2 = Block(dropout), Block(dropout)
        self._norm, self._head = nn.LayerNorm((WIDTH,)), nn.Linear(WIDTH, WORDS)
        self._drop = nn.Dropout(dropout)
        super().__init__(**options)

    def _forward(self, words, places):
        x = self._drop(self._words(words) + self._places(places))
        return self._head(self._norm(self._block2(self._block1(x))))


def trellis_step(backend, dropout, clip):
    trellis.seed(0)
    kind = "int32" if backend == "jax" else "int64"
    words, targets = [x.astype(kind) for x in data()]
    places = np.arange(LENGTH, dtype=kind)
    words, targets, places = trellis.to_backend((words, targets, places), backend, copy=True)
    with trellis.using_backend(backend):
        model, key = Gpt(dropout), trellis.random.key(0)
    optimizer = trellis.optim.AdamW(1e-3)
    if clip is not None:
        optimizer = optimizer.after(trellis.optim.clip_by_global_norm(clip))

    @trellis.compile
    def update(v, state, key, words, targets):
        def loss(v):
            with trellis.random.stream(key):
                logits = model(words, places, v=v)
            return F.cross_entropy(logits, targets)

        value, grads = trellis.value_and_grad(loss)(v)
        v, state = optimizer.update(v, grads, state)
        return v, state, value

    held = [model.v, optimizer.init(model.v)]

    def step():
        held[0], held[1], value = update(held[0], held[1], key, words, targets)
        return value

    return step


def native_step(backend, dropout, clip):
    return {"torch": _torch_step, "jax": _jax_step, "tensorflow": _tensorflow_step}[backend](
        dropout, clip
    )


def _torch_step(dropout, clip):
    import torch
    from torch.nn import functional as TF

    class TorchBlock(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.norm1, self.norm2 = torch.nn.LayerNorm(WIDTH), torch.nn.LayerNorm(WIDTH)
            self.qkv, self.out = torch.nn.Linear(WIDTH, 3 * WIDTH), torch.nn.Linear(WIDTH, WIDTH)
            self.up, self.down = (
                torch.nn.Linear(WIDTH, 4 * WIDTH),
                torch.nn.Linear(4 * WIDTH, WIDTH),
            )
            self.drop = torch.nn.Dropout(dropout)

        def forward(self, x):
            batch, length, _ = x.shape
            qkv = self.qkv(self.norm1(x)).view(batch, length, 3, HEADS, WIDTH // HEADS)
            q, k, v = qkv.permute(2, 0, 3, 1, 4)
            y = TF.scaled_dot_product_attention(q, k, v, is_causal=True)
            y = y.transpose(1, 2).reshape(batch, length, WIDTH)
            x = x + self.drop(self.out(y))
            return x + self.drop(self.down(TF.gelu(self.up(self.norm2(x)))))

    class TorchGpt(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.words, self.places = (
                torch.nn.Embedding(WORDS, WIDTH),
                torch.nn.Embedding(LENGTH, WIDTH),
            )
            self.blocks = torch.nn.Sequential(TorchBlock(), TorchBlock())
            self.norm, self.head = torch.nn.LayerNorm(WIDTH), torch.nn.Linear(WIDTH, WORDS)
            self.drop = torch.nn.Dropout(dropout)

        def forward(self, words):
            x = self.drop(self.words(words) + self.places(torch.arange(LENGTH)))
            return self.head(self.norm(self.blocks(x)))

    model = TorchGpt()
    words, targets = [torch.tensor(x) for x in data()]
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)

    @torch.compile
    def loss(words, targets):
        return TF.cross_entropy(model(words).flatten(0, 1), targets.flatten())

    @torch.compile
    def update():
        if clip is not None:
            torch.nn.utils.clip_grad_norm_(model.parameters(), clip)
        optimizer.step()

    def step():
        optimizer.zero_grad()
        value = loss(words, targets)
        value.backward()
        update()
        return value.detach()

    return step


def _shapes():
    """The variables of the model, by name, as NumPy arrays."""
    trellis.seed(0)
    from models import flat, plain

    return flat(plain(Gpt(0.0).v))


def _forward(np, softmax, norm, gelu, drop, take, p, words):
    """The network over the functions of a framework."""
    x = drop(take(p["words/w"], words) + p["places/w"])
    for block in ("block1/", "block2/"):
        q = {name[len(block) :]: w for name, w in p.items() if name.startswith(block)}
        h = norm(x, q["norm1/w"], q["norm1/b"])
        qkv = np.reshape(h @ np.transpose(q["qkv/w"]) + q["qkv/b"], (BATCH, LENGTH, 3, HEADS, -1))
        a, b, c = [np.transpose(qkv[:, :, i], (0, 2, 1, 3)) for i in range(3)]
        y = softmax(a @ np.transpose(b, (0, 1, 3, 2)) / (WIDTH // HEADS) ** 0.5) @ c
        y = np.reshape(np.transpose(y, (0, 2, 1, 3)), (BATCH, LENGTH, WIDTH))
        x = x + drop(y @ np.transpose(q["out/w"]) + q["out/b"])
        h = gelu(norm(x, q["norm2/w"], q["norm2/b"]) @ np.transpose(q["up/w"]) + q["up/b"])
        x = x + drop(h @ np.transpose(q["down/w"]) + q["down/b"])
    return norm(x, p["norm/w"], p["norm/b"]) @ np.transpose(p["head/w"]) + p["head/b"]


def _jax_step(dropout, clip):
    import jax
    import jax.numpy as jnp
    import optax

    words, targets = [jnp.asarray(x.astype("int32")) for x in data()]
    is_past = jnp.tril(jnp.ones((LENGTH, LENGTH), bool))
    parts = [] if clip is None else [optax.clip_by_global_norm(clip)]
    optimizer = optax.chain(*parts, optax.adamw(1e-3))

    def norm(x, w, b):
        return jax.nn.standardize(x, epsilon=1e-5) * w + b

    def update(p, state, key, words, targets):
        def loss(p):
            keys = iter(jax.random.split(key, 5))

            def drop(x):
                if not dropout:
                    return x
                keep = jax.random.bernoulli(next(keys), 1 - dropout, x.shape)
                return jnp.where(keep, x / (1 - dropout), 0)

            def softmax(x):
                return jax.nn.softmax(jnp.where(is_past, x, -jnp.inf))

            def gelu(x):
                return jax.nn.gelu(x, approximate=False)

            logits = _forward(jnp, softmax, norm, gelu, drop, lambda w, i: w[i], p, words)
            return jnp.mean(optax.softmax_cross_entropy_with_integer_labels(logits, targets))

        value, grads = jax.value_and_grad(loss)(p)
        updates, state = optimizer.update(grads, state, p)
        return optax.apply_updates(p, updates), state, value

    p = {name: jnp.asarray(x) for name, x in _shapes().items()}
    held, compiled = [p, optimizer.init(p)], jax.jit(update)
    key = jax.random.key(0)

    def step():
        held[0], held[1], value = compiled(held[0], held[1], key, words, targets)
        return value

    return step


def _tensorflow_step(dropout, clip):
    import tensorflow as tf

    words, targets = [tf.constant(x) for x in data()]
    is_past = tf.linalg.band_part(tf.ones((LENGTH, LENGTH), tf.bool), -1, 0)
    p = {name: tf.Variable(x) for name, x in _shapes().items()}
    variables = list(p.values())
    m, v = [[tf.Variable(tf.zeros_like(w)) for w in variables] for _ in range(2)]
    count = tf.Variable(0.0)

    def norm(x, w, b):
        mean, variance = tf.nn.moments(x, [-1], keepdims=True)
        return tf.nn.batch_normalization(x, mean, variance, b, w, 1e-5)

    def softmax(x):
        return tf.nn.softmax(tf.where(is_past, x, float("-inf")))

    def drop(x):
        return tf.nn.dropout(x, dropout) if dropout else x

    @tf.function
    def step():
        with tf.GradientTape() as tape:
            logits = _forward(tf, softmax, norm, tf.nn.gelu, drop, tf.gather, p, words)
            value = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(targets, logits))
        grads = tape.gradient(value, variables)
        if clip is not None:
            grads, _ = tf.clip_by_global_norm(grads, clip)
        count.assign_add(1.0)
        for w, a, b, g in zip(variables, m, v, grads):
            g = tf.convert_to_tensor(g)
            a.assign(0.9 * a + 0.1 * g)
            b.assign(0.999 * b + 0.001 * g * g)
            size = tf.sqrt(b / (1 - 0.999**count)) + 1e-8
            w.assign_sub(1e-3 * (a / (1 - 0.9**count) / size + 0.01 * w))
        return value

    return step
