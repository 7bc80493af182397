"""The questions of the page `Where the frameworks differ`: one expression per framework each.

Every expression is run as it stands here, with these names: `np`, `jnp`, `jax`, `torch`, `tf`,
`keras`, `nnx`, `optax`, `tr` for Trellis, `F` for `trellis.functional`. In the expression of Trellis
`A(values, dtype)` makes an array of the backend at hand; the expression is run on all four.
"""

from __future__ import annotations

from dataclasses import dataclass

ARRAYS = ("numpy", "jax", "torch", "tensorflow")
LIBRARIES = ("torch", "keras", "flax")


@dataclass(frozen=True)
class Row:
    """A question, and what to run for it: by framework, and `trellis`."""

    question: str
    run: dict[str, str]


@dataclass(frozen=True)
class Section:
    title: str
    about: str
    columns: tuple[str, ...]
    rows: list[Row]


def arrays(question: str, numpy: str, jax: str, torch: str, tensorflow: str, trellis: str) -> Row:
    run = {"numpy": numpy, "jax": jax, "torch": torch, "tensorflow": tensorflow}
    return Row(question, {k: v for k, v in run.items() if v} | {"trellis": trellis})


def unary(question: str, x: str, functions: tuple[str, str, str, str], trellis: str) -> Row:
    """A function of one array, written the same way everywhere."""
    np_fn, jnp_fn, torch_fn, tf_fn = functions
    return arrays(
        question,
        f"{np_fn}(np.array({x}, 'float32'))",
        f"{jnp_fn}(jnp.array({x}, 'float32'))",
        f"{torch_fn}(torch.tensor({x}))",
        f"{tf_fn}(tf.constant({x}))",
        f"{trellis}(A({x}, 'float32'))",
    )


def slope(question: str, x: str, jax: str, torch: str, tensorflow: str, trellis: str) -> Row:
    """The gradient of a function at a point. NumPy itself has none."""
    return Row(
        question,
        {
            "jax": f"jax.grad(lambda x: {jax})(jnp.array({x}))",
            "torch": f"torch.func.grad(lambda x: {torch})(torch.tensor({x}))",
            "tensorflow": f"slope(lambda x: {tensorflow}, tf.constant({x}))",
            "trellis": f"tr.grad(lambda x: {trellis})(A({x}, 'float32'))",
        },
    )


def layers(question: str, torch: str, keras: str, flax: str, trellis: str) -> Row:
    run = {"torch": torch, "keras": keras, "flax": flax, "trellis": trellis}
    return Row(question, {k: v for k, v in run.items() if v})


NAN = "float('nan')"
INF = "float('inf')"

NUMBERS = Section(
    "Rounding, integers, division",
    "Arithmetic in corner cases.",
    ARRAYS,
    [
        unary(
            "round 0.5, 1.5, 2.5, -0.5",
            "[0.5, 1.5, 2.5, -0.5]",
            ("np.round", "jnp.round", "torch.round", "tf.round"),
            "tr.round",
        ),
        arrays(
            "-7 // 2, integers",
            "np.array(-7) // np.array(2)",
            "jnp.array(-7) // jnp.array(2)",
            "torch.tensor(-7) // torch.tensor(2)",
            "tf.constant(-7) // tf.constant(2)",
            "tr.floor_divide(A(-7), A(2))",
        ),
        arrays(
            "-7 % 3, integers",
            "np.array(-7) % np.array(3)",
            "jnp.array(-7) % jnp.array(3)",
            "torch.tensor(-7) % torch.tensor(3)",
            "tf.constant(-7) % tf.constant(3)",
            "tr.remainder(A(-7), A(3))",
        ),
        arrays(
            "7 / 2, integers: type",
            "dtype(np.array(7) / np.array(2))",
            "dtype(jnp.array(7) / jnp.array(2))",
            "dtype(torch.tensor(7) / torch.tensor(2))",
            "dtype(tf.constant(7) / tf.constant(2))",
            "dtype(tr.divide(A(7), A(2)))",
        ),
        arrays(
            "1 // 0, integers",
            "np.array(1) // np.array(0)",
            "jnp.array(1) // jnp.array(0)",
            "torch.tensor(1) // torch.tensor(0)",
            "tf.constant(1) // tf.constant(0)",
            "tr.floor_divide(A(1), A(0))",
        ),
        arrays(
            "2 ** -1, integers",
            "np.array(2) ** np.array(-1)",
            "jnp.array(2) ** jnp.array(-1)",
            "torch.tensor(2) ** torch.tensor(-1)",
            "tf.constant(2) ** tf.constant(-1)",
            "tr.pow(A(2), A(-1))",
        ),
        arrays(
            "inf // 1",
            f"np.array({INF}) // np.array(1.0)",
            f"jnp.array({INF}) // jnp.array(1.0)",
            f"torch.tensor({INF}) // torch.tensor(1.0)",
            f"tf.constant({INF}) // tf.constant(1.0)",
            f"tr.floor_divide(A({INF}), A(1.0))",
        ),
        arrays(
            "5.0 % -inf",
            f"np.array(5.0) % np.array(-{INF})",
            f"jnp.array(5.0) % jnp.array(-{INF})",
            f"torch.tensor(5.0) % torch.tensor(-{INF})",
            f"tf.constant(5.0) % tf.constant(-{INF})",
            f"tr.remainder(A(5.0), A(-{INF}))",
        ),
        arrays(
            "300.0 as uint8",
            "np.array(300.0).astype('uint8')",
            "jnp.array(300.0).astype('uint8')",
            "torch.tensor(300.0).to(torch.uint8)",
            "tf.cast(tf.constant(300.0), 'uint8')",
            "tr.astype(A(300.0), 'uint8')",
        ),
        arrays(
            "rank of diag(100, 50, 1), rtol=0.1",
            "np.linalg.matrix_rank(np.diag([100.0, 50.0, 1.0]), rtol=0.1)",
            "jnp.linalg.matrix_rank(jnp.diag(jnp.array([100.0, 50.0, 1.0])), rtol=0.1)",
            "torch.linalg.matrix_rank(torch.diag(torch.tensor([100.0, 50.0, 1.0])), rtol=0.1)",
            "",  # its tolerance is not relative
            "tr.linalg.matrix_rank(A([[100.0, 0, 0], [0, 50, 0], [0, 0, 1]]), rtol=0.1)",
        ),
        arrays(
            "pinv of diag(1, 1e-6): its trace",
            "np.trace(np.linalg.pinv(np.diag(np.array([1.0, 1e-6], 'float32'))))",
            "jnp.trace(jnp.linalg.pinv(jnp.diag(jnp.array([1.0, 1e-6]))))",
            "torch.trace(torch.linalg.pinv(torch.diag(torch.tensor([1.0, 1e-6]))))",
            "tf.linalg.trace(tf.linalg.pinv(tf.linalg.diag([1.0, 1e-6])))",
            "tr.linalg.trace(tr.linalg.pinv(A([[1.0, 0], [0, 1e-6]], 'float32')))",
        ),
    ],
)

ORDER = Section(
    "NaN, ties, order",
    "Which element is the largest, and which comes first.",
    ARRAYS,
    [
        unary(
            "max of 1, nan",
            f"[1.0, {NAN}]",
            ("np.max", "jnp.max", "torch.max", "tf.reduce_max"),
            "tr.max",
        ),
        unary(
            "argmax of 1, nan, 2",
            f"[1.0, {NAN}, 2.0]",
            ("np.argmax", "jnp.argmax", "torch.argmax", "tf.argmax"),
            "tr.argmax",
        ),
        arrays(
            "maximum(nan, 1)",
            f"np.maximum(np.array({NAN}), 1.0)",
            f"jnp.maximum(jnp.array({NAN}), 1.0)",
            f"torch.maximum(torch.tensor({NAN}), torch.tensor(1.0))",
            f"tf.maximum(tf.constant({NAN}), 1.0)",
            f"tr.maximum(A({NAN}), A(1.0))",
        ),
        unary(
            "sort nan, 1, -inf",
            f"[{NAN}, 1.0, -{INF}]",
            ("np.sort", "jnp.sort", "torch.sort", "tf.sort"),
            "tr.sort",
        ),
        unary(
            "sign of nan", f"[{NAN}]", ("np.sign", "jnp.sign", "torch.sign", "tf.sign"), "tr.sign"
        ),
        arrays(
            "clip 1 to low 3, high 2",
            "np.clip(np.array(1.0), 3.0, 2.0)",
            "jnp.clip(jnp.array(1.0), 3.0, 2.0)",
            "torch.clamp(torch.tensor(1.0), 3.0, 2.0)",
            "tf.clip_by_value(tf.constant(1.0), 3.0, 2.0)",
            "tr.clip(A(1.0), 3.0, 2.0)",
        ),
        arrays(
            "how many values in nan, nan",
            f"np.unique(np.array([{NAN}, {NAN}])).size",
            f"jnp.unique(jnp.array([{NAN}, {NAN}])).size",
            f"torch.unique(torch.tensor([{NAN}, {NAN}])).numel()",
            f"len(tf.unique(tf.constant([{NAN}, {NAN}])).y)",
            f"len(tr.unique_values(A([{NAN}, {NAN}])))",
        ),
        unary(
            "std of 1, 2, 3",
            "[1.0, 2.0, 3.0]",
            ("np.std", "jnp.std", "torch.std", "tf.math.reduce_std"),
            "tr.std",
        ),
    ],
)

PROMOTION = Section(
    "Promotion",
    "The dtype of an operation on mixed dtypes: with operators for the frameworks, with functions "
    "for Trellis. JAX with its "
    "64-bit types off, as it comes.",
    ARRAYS,
    [
        arrays(
            "float32 + int64",
            "dtype(np.ones(2, 'float32') + np.ones(2, 'int64'))",
            "dtype(jnp.ones(2, 'float32') + jnp.ones(2, 'int32'))",
            "dtype(torch.ones(2) + torch.ones(2, dtype=torch.int64))",
            "dtype(tf.ones(2) + tf.ones(2, 'int64'))",
            "dtype(tr.add(A([1.0, 1.0], 'float32'), A([1, 1])))",
        ),
        arrays(
            "float16 array + float32 without axes",
            "dtype(np.ones(2, 'float16') + np.array(1, 'float32'))",
            "dtype(jnp.ones(2, 'float16') + jnp.array(1, 'float32'))",
            "dtype(torch.ones(2, dtype=torch.float16) + torch.tensor(1.0))",
            "dtype(tf.ones(2, 'float16') + tf.constant(1.0))",
            "dtype(tr.add(A([1.0, 1.0], 'float16'), A(1.0, 'float32')))",
        ),
        arrays(
            "int32 array + 1.5",
            "dtype(np.ones(2, 'int32') + 1.5)",
            "dtype(jnp.ones(2, 'int32') + 1.5)",
            "dtype(torch.ones(2, dtype=torch.int32) + 1.5)",
            "dtype(tf.ones(2, 'int32') + 1.5)",
            "dtype(tr.add(A([1, 1], 'int32'), 1.5))",
        ),
        arrays(
            "int8 + uint8",
            "dtype(np.ones(2, 'int8') + np.ones(2, 'uint8'))",
            "dtype(jnp.ones(2, 'int8') + jnp.ones(2, 'uint8'))",
            "dtype(torch.ones(2, dtype=torch.int8) + torch.ones(2, dtype=torch.uint8))",
            "dtype(tf.ones(2, 'int8') + tf.ones(2, 'uint8'))",
            "dtype(tr.add(A([1, 1], 'int8'), A([1, 1], 'uint8')))",
        ),
        arrays(
            "float16 + bfloat16",
            "dtype(np.ones(2, 'float16') + np.ones(2, ml_dtypes.bfloat16))",
            "dtype(jnp.ones(2, 'float16') + jnp.ones(2, 'bfloat16'))",
            "dtype(torch.ones(2, dtype=torch.float16) + torch.ones(2, dtype=torch.bfloat16))",
            "dtype(tf.ones(2, 'float16') + tf.ones(2, 'bfloat16'))",
            "dtype(tr.add(A([1.0, 1.0], 'float16'), A([1.0, 1.0], 'bfloat16')))",
        ),
        arrays(
            "sum of int8",
            "dtype(np.sum(np.ones(2, 'int8')))",
            "dtype(jnp.sum(jnp.ones(2, 'int8')))",
            "dtype(torch.sum(torch.ones(2, dtype=torch.int8)))",
            "dtype(tf.reduce_sum(tf.ones(2, 'int8')))",
            "dtype(tr.sum(A([1, 1], 'int8')))",
        ),
        arrays(
            "mean of the integers 1, 2",
            "np.mean(np.array([1, 2]))",
            "jnp.mean(jnp.array([1, 2]))",
            "torch.mean(torch.tensor([1, 2]))",
            "tf.reduce_mean(tf.constant([1, 2]))",
            "tr.mean(A([1, 2]))",
        ),
        arrays(
            "sqrt of int32",
            "dtype(np.sqrt(np.array([4], 'int32')))",
            "dtype(jnp.sqrt(jnp.array([4], 'int32')))",
            "dtype(torch.sqrt(torch.tensor([4], dtype=torch.int32)))",
            "dtype(tf.sqrt(tf.constant([4], 'int32')))",
            "dtype(tr.sqrt(A([4], 'int32')))",
        ),
        arrays(
            "zeros(2), no type given",
            "dtype(np.zeros(2))",
            "dtype(jnp.zeros(2))",
            "dtype(torch.zeros(2))",
            "dtype(tf.zeros(2))",
            "dtype(tr.zeros(2, backend=backend))",
        ),
        arrays(
            "arange(2), no type given",
            "dtype(np.arange(2))",
            "dtype(jnp.arange(2))",
            "dtype(torch.arange(2))",
            "dtype(tf.range(2))",
            "dtype(tr.arange(2, backend=backend))",
        ),
        arrays(
            "True - True",
            "np.array([True]) - np.array([True])",
            "jnp.array([True]) - jnp.array([True])",
            "torch.tensor([True]) - torch.tensor([True])",
            "tf.constant([True]) - tf.constant([True])",
            "tr.subtract(A([True]), A([True]))",
        ),
        arrays(
            "a float64 array asked for",
            "dtype(np.zeros(2, 'float64'))",
            "dtype(jnp.asarray(np.zeros(2, 'float64')))",
            "dtype(torch.zeros(2, dtype=torch.float64))",
            "dtype(tf.zeros(2, 'float64'))",
            "dtype(tr.zeros(2, dtype='float64', backend=backend))",
        ),
    ],
)

GRADIENTS = Section(
    "Gradients at kinks, ties and zeros",
    "NumPy itself has no gradients. The full table: [Gradient conventions](gradient_conventions.md).",
    ("jax", "torch", "tensorflow"),
    [
        slope("abs at 0", "0.0", "jnp.abs(x)", "torch.abs(x)", "tf.abs(x)", "tr.abs(x)"),
        slope("relu at 0", "0.0", "jax.nn.relu(x)", "torch.relu(x)", "tf.nn.relu(x)", "F.relu(x)"),
        slope(
            "max of 3, 3",
            "[3.0, 3.0]",
            "jnp.max(x)",
            "torch.max(x)",
            "tf.reduce_max(x)",
            "tr.max(x)",
        ),
        slope(
            "maximum(x, 1) at 1",
            "1.0",
            "jnp.maximum(x, 1.0)",
            "torch.maximum(x, torch.tensor(1.0))",
            "tf.maximum(x, 1.0)",
            "tr.maximum(x, 1.0)",
        ),
        slope(
            "clip to 0..1 at 0, 1",
            "[0.0, 1.0]",
            "jnp.sum(jnp.clip(x, 0.0, 1.0))",
            "torch.sum(torch.clamp(x, 0.0, 1.0))",
            "tf.reduce_sum(tf.clip_by_value(x, 0.0, 1.0))",
            "tr.sum(tr.clip(x, 0.0, 1.0))",
        ),
        slope("sqrt at 0", "0.0", "jnp.sqrt(x)", "torch.sqrt(x)", "tf.sqrt(x)", "tr.sqrt(x)"),
        slope(
            "norm of 0, 0",
            "[0.0, 0.0]",
            "jnp.linalg.norm(x)",
            "torch.linalg.vector_norm(x)",
            "tf.norm(x)",
            "tr.linalg.vector_norm(x)",
        ),
        slope(
            "std of 1, 1",
            "[1.0, 1.0]",
            "jnp.std(x)",
            "torch.std(x)",
            "tf.math.reduce_std(x)",
            "tr.std(x)",
        ),
        slope(
            "prod of 0, 2, 3",
            "[0.0, 2.0, 3.0]",
            "jnp.prod(x)",
            "torch.prod(x)",
            "tf.reduce_prod(x)",
            "tr.prod(x)",
        ),
        slope(
            "x ** 0 at 0",
            "0.0",
            "x ** jnp.array(0.0)",
            "x ** torch.tensor(0.0)",
            "x ** tf.constant(0.0)",
            "tr.pow(x, tr.zeros_like(x))",
        ),
        slope(
            "round at 1.5", "1.5", "jnp.round(x)", "torch.round(x)", "tf.round(x)", "tr.round(x)"
        ),
        slope(
            "where(x > 0, log(x), 0) at 0",
            "0.0",
            "jnp.where(x > 0, jnp.log(x), 0.0)",
            "torch.where(x > 0, torch.log(x), 0.0)",
            "tf.where(x > 0, tf.math.log(x), 0.0)",
            "tr.where(x > 0, tr.log(x), 0.0)",
        ),
        slope(
            "logsumexp of -inf, -inf",
            f"[-{INF}, -{INF}]",
            "jax.scipy.special.logsumexp(x)",
            "torch.logsumexp(x, 0)",
            "tf.reduce_logsumexp(x)",
            "tr.logsumexp(x)",
        ),
        Row(
            "an input that is not used",
            {
                "jax": "jax.grad(lambda x: jnp.array(1.0))(jnp.array(2.0))",
                "torch": "unused_torch()",
                "tensorflow": "slope(lambda x: tf.constant(1.0), tf.constant(2.0))",
                "trellis": "tr.grad(lambda x: A(1.0, 'float32'))(A(2.0, 'float32'))",
            },
        ),
        Row(
            "an integer input",
            {
                "jax": "jax.grad(lambda x: x * 2.0)(jnp.array(3))",
                "torch": "torch.func.grad(lambda x: x * 2.0)(torch.tensor(3))",
                "tensorflow": "slope(lambda x: tf.cast(x, 'float32') * 2.0, tf.constant(3))",
                "trellis": "tr.grad(lambda x: x * 2.0)(A(3))",
            },
        ),
    ],
)

LAYERS = Section(
    "Defaults of layers",
    "The defaults of layers. `LayerNorm()` is a different function in each of torch, Keras and Flax.",
    LIBRARIES,
    [
        layers(
            "shape of a weight, 4 to 3",
            "tuple(torch.nn.Linear(4, 3).weight.shape)",
            "tuple(dense(4, 3).kernel.shape)",
            "nnx.Linear(4, 3, rngs=nnx.Rngs(0)).kernel.shape",
            "tuple(tr.nn.Linear(4, 3, backend=backend).v.w.shape)",
        ),
        layers(
            "first weights: std times sqrt(inputs), 300 to 100",
            "spread(torch.nn.Linear(300, 100).weight.detach().numpy(), 300)",
            "spread(dense(300, 100).kernel.numpy(), 300)",
            "spread(nnx.Linear(300, 100, rngs=nnx.Rngs(0)).kernel[...], 300)",
            "spread(tr.to_numpy(tr.nn.Linear(300, 100, backend=backend).v.w), 300)",
        ),
        layers(
            "first bias is 0",
            "is_zero(torch.nn.Linear(300, 100).bias.detach().numpy())",
            "is_zero(dense(300, 100).bias.numpy())",
            "is_zero(nnx.Linear(300, 100, rngs=nnx.Rngs(0)).bias[...])",
            "is_zero(tr.to_numpy(tr.nn.Linear(300, 100, backend=backend).v.b))",
        ),
        layers(
            "shape of a filter: 5 x 5, 3 to 8 channels",
            "tuple(torch.nn.Conv2d(3, 8, 5).weight.shape)",
            "tuple(built(keras.layers.Conv2D(8, 5), (1, 9, 9, 3)).kernel.shape)",
            "nnx.Conv(3, 8, (5, 5), rngs=nnx.Rngs(0)).kernel.shape",
            "tuple(tr.nn.Conv2D(3, 8, 5, 1, 'SAME', backend=backend).v.w.shape)",
        ),
        layers(
            "padding of a convolution",
            "default(torch.nn.Conv2d, 'padding')",
            "default(keras.layers.Conv2D, 'padding')",
            "default(nnx.Conv, 'padding')",
            "required(tr.nn.Conv2D, 'padding')",
        ),
        layers(
            "first embeddings: std, width 64",
            "round(float(torch.nn.Embedding(1000, 64).weight.detach().numpy().std()), 1)",
            "round(float(built(keras.layers.Embedding(1000, 64), (1,)).embeddings.numpy().std()), 2)",
            "round(float(nnx.Embed(1000, 64, rngs=nnx.Rngs(0)).embedding[...].std()), 2)",
            "round(float(tr.to_numpy(tr.nn.Embedding(1000, 64, backend=backend).v.w).std()), 1)",
        ),
        layers(
            "LayerNorm: epsilon",
            "default(torch.nn.LayerNorm, 'eps')",
            "default(keras.layers.LayerNormalization, 'epsilon')",
            "default(nnx.LayerNorm, 'epsilon')",
            "default(tr.nn.LayerNorm, 'eps')",
        ),
        layers(
            "BatchNorm: epsilon",
            "default(torch.nn.BatchNorm1d, 'eps')",
            "default(keras.layers.BatchNormalization, 'epsilon')",
            "default(nnx.BatchNorm, 'epsilon')",
            "default(tr.nn.BatchNorm1D, 'eps')",
        ),
        layers(
            "GroupNorm: epsilon",
            "default(torch.nn.GroupNorm, 'eps')",
            "default(keras.layers.GroupNormalization, 'epsilon')",
            "default(nnx.GroupNorm, 'epsilon')",
            "default(tr.nn.GroupNorm, 'eps')",
        ),
        layers(
            "Dropout: rate",
            "default(torch.nn.Dropout, 'p')",
            "required(keras.layers.Dropout, 'rate')",
            "required(nnx.Dropout, 'rate')",
            "required(tr.nn.Dropout, 'prob')",
        ),
        layers(
            "He normal truncates its tails",
            "is_cut(torch.nn.init.kaiming_normal_(torch.empty(300, 300)))",
            "is_cut(keras.initializers.HeNormal()((300, 300)))",
            "is_cut(nnx.initializers.he_normal()(jax.random.key(0), (300, 300)))",
            "is_cut(he_normal_of_trellis(backend))",
        ),
        layers(
            "BatchNorm: running mean after one batch of mean 1",
            "batch_norm_torch()[0]",
            "batch_norm_keras()[0]",
            "batch_norm_flax()[0]",
            "batch_norm_trellis(backend)[0]",
        ),
        layers(
            "BatchNorm: running variance after a batch 0, 2 (it was 1)",
            "batch_norm_torch()[1]",
            "batch_norm_keras()[1]",
            "batch_norm_flax()[1]",
            "batch_norm_trellis(backend)[1]",
        ),
        layers(
            "gelu(1)",
            "torch.nn.functional.gelu(torch.tensor(1.0))",
            "keras.activations.gelu(tf.constant(1.0))",
            "nnx.gelu(jnp.array(1.0))",
            "F.gelu(A(1.0, 'float32'))",
        ),
        layers(
            "leaky_relu(-1)",
            "torch.nn.functional.leaky_relu(torch.tensor(-1.0))",
            "keras.layers.LeakyReLU()(tf.constant([-1.0]))[0]",
            "nnx.leaky_relu(jnp.array(-1.0))",
            "F.leaky_relu(A(-1.0, 'float32'))",
        ),
        layers(
            "cross-entropy of the outputs 2, 0 for class 0",
            "torch.nn.functional.cross_entropy(torch.tensor([[2.0, 0.0]]), torch.tensor([0]))",
            "keras.losses.SparseCategoricalCrossentropy()(tf.constant([0]), tf.constant([[2.0, 0.0]]))",
            "optax.softmax_cross_entropy_with_integer_labels(jnp.array([2.0, 0.0]), 0)",
            "F.cross_entropy(A([[2.0, 0.0]], 'float32'), A([0]))",
        ),
        layers(
            "True in an attention mask",
            "mask_torch()",
            "mask_keras()",
            "mask_flax()",
            "mask_trellis(backend)",
        ),
        layers(
            "batch_norm(x).flatten(2).transpose(1, 2) of one image: its gradient",
            "batch_norm_rows_torch()",
            "batch_norm_rows_keras()",
            "",
            "batch_norm_rows_trellis(backend)",
        ),
        layers(
            "LSTM: first axis of the input",
            "'batch' if torch.nn.LSTM(2, 3).batch_first else 'time'",
            "'time' if getattr(keras.layers.LSTM(3), 'time_major', False) else 'batch'",
            "'time' if default(nnx.RNN, 'time_major') else 'batch'",
            "'time' if default(tr.nn.LSTM, 'time_major') else 'batch'",
        ),
        layers(
            "LSTM: a first bias of 1 (the forget gate)",
            "has_one([p.detach() for p in torch.nn.LSTM(2, 3).parameters()])",
            "has_one(built(keras.layers.LSTM(3), (1, 4, 2)).weights)",
            "has_one(jax.tree.leaves(nnx.state(nnx.OptimizedLSTMCell(2, 3, rngs=nnx.Rngs(0)))))",
            "has_one(tr.tree.leaves(tr.nn.LSTM(2, 3, backend=backend).v))",
        ),
    ],
)

OPTIMIZERS = Section(
    "Defaults of optimizers",
    "The same name, different numbers. The Flax column shows optax.",
    LIBRARIES,
    [
        layers(
            "Adam: epsilon",
            "default(torch.optim.Adam, 'eps')",
            "default(keras.optimizers.Adam, 'epsilon')",
            "default(optax.adam, 'eps')",
            "default(tr.optim.Adam, 'epsilon')",
        ),
        layers(
            "Adam: rate",
            "default(torch.optim.Adam, 'lr')",
            "default(keras.optimizers.Adam, 'learning_rate')",
            "required(optax.adam, 'learning_rate')",
            "default(tr.optim.Adam, 'lr')",
        ),
        layers(
            "SGD: rate",
            "default(torch.optim.SGD, 'lr')",
            "default(keras.optimizers.SGD, 'learning_rate')",
            "required(optax.sgd, 'learning_rate')",
            "required(tr.optim.SGD, 'lr')",
        ),
        layers(
            "AdamW: weight decay",
            "default(torch.optim.AdamW, 'weight_decay')",
            "default(keras.optimizers.AdamW, 'weight_decay')",
            "default(optax.adamw, 'weight_decay')",
            "default(tr.optim.AdamW, 'weight_decay')",
        ),
        layers(
            "RMSprop: decay of the mean square",
            "default(torch.optim.RMSprop, 'alpha')",
            "default(keras.optimizers.RMSprop, 'rho')",
            "default(optax.rmsprop, 'decay')",
            "default(tr.optim.RMSprop, 'decay')",
        ),
        layers(
            "RMSprop: first step, rate 1, gradient 1e-4",
            "first_step_torch(torch.optim.RMSprop, 1e-4, lr=1.0)",
            "first_step_keras(keras.optimizers.RMSprop(1.0), 1e-4)",
            "first_step_optax(optax.rmsprop(1.0), 1e-4)",
            "first_step_trellis(tr.optim.RMSprop(1.0), 1e-4, backend)",
        ),
        layers(
            "Adagrad: first step, rate 1, gradient 0.1",
            "first_step_torch(torch.optim.Adagrad, 0.1, lr=1.0)",
            "first_step_keras(keras.optimizers.Adagrad(1.0), 0.1)",
            "first_step_optax(optax.adagrad(1.0), 0.1)",
            "first_step_trellis(tr.optim.Adagrad(1.0), 0.1, backend)",
        ),
        layers(
            "Adam: first step, rate 1, gradient 1e-7",
            "first_step_torch(torch.optim.Adam, 1e-7, lr=1.0)",
            "first_step_keras(keras.optimizers.Adam(1.0), 1e-7)",
            "first_step_optax(optax.adam(1.0), 1e-7)",
            "first_step_trellis(tr.optim.Adam(1.0), 1e-7, backend)",
        ),
    ],
)

RANDOM = Section(
    "Random numbers",
    "The first two uniform numbers of seed 0.",
    ARRAYS,
    [
        arrays(
            "seed 0",
            "np.random.default_rng(0).random(2, 'float32')",
            "jax.random.uniform(jax.random.PRNGKey(0), (2,))",
            "torch.rand(2, generator=torch.Generator().manual_seed(0))",
            "tf.random.Generator.from_seed(0).uniform([2])",
            "tr.random.uniform(tr.random.key(0, backend=backend), (2,))",
        ),
    ],
)

SECTIONS = (NUMBERS, ORDER, PROMOTION, GRADIENTS, LAYERS, OPTIMIZERS, RANDOM)
