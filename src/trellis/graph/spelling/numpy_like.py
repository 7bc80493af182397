"""The spellings of NumPy and of jax.numpy, which are mostly the same."""

from .shared_lines import Lines, transforms

_UNARY = (
    "abs", "acos", "acosh", "asin", "asinh", "atan", "atanh", "bitwise_invert", "cbrt", "ceil",
    "conj", "cos", "cosh", "exp", "expm1", "floor", "imag", "isfinite", "isinf", "isnan", "log",
    "log10", "log1p", "log2", "logical_not", "negative", "positive", "real", "reciprocal", "round",
    "sign", "signbit", "sin", "sinh", "sqrt", "square", "tan", "tanh", "trunc",
)  # fmt: skip
_BINARY = (
    "add", "atan2", "bitwise_and", "bitwise_left_shift", "bitwise_or", "bitwise_right_shift",
    "bitwise_xor", "copysign", "divide", "equal", "floor_divide", "fmod", "greater",
    "greater_equal", "hypot", "less", "less_equal", "logaddexp", "logical_and", "logical_or",
    "logical_xor", "matmul", "maximum", "minimum", "multiply", "nextafter", "not_equal", "pow",
    "remainder", "subtract",
)  # fmt: skip
_REDUCTIONS = ("all", "any", "max", "mean", "min", "prod", "sum")

_LINES: Lines = {
    **{name: f"xp.{name}({{x}})" for name in _UNARY},
    **{name: f"xp.{name}({{x1}}, {{x2}})" for name in _BINARY},
    **{name: f"xp.{name}({{x}}{{axis?}}{{keepdims?}})" for name in _REDUCTIONS},
    "rsqrt": "1 / xp.sqrt({x})",
    "clip": "xp.clip({x}{min?}{max?})",
    "isclose": "xp.isclose({x1}, {x2}{rtol?}{atol?}{equal_nan?})",
    "nan_to_num": "xp.nan_to_num({x}{nan?}{posinf?}{neginf?})",
    "count_nonzero": "xp.count_nonzero({x}{axis?}{keepdims?})",
    "var": "xp.var({x}{axis?}{correction?ddof}{keepdims?})",
    "std": "xp.std({x}{axis?}{correction?ddof}{keepdims?})",
    "cumulative_sum": "xp.cumulative_sum({x}{axis?}{include_initial?})",
    "cumulative_prod": "xp.cumulative_prod({x}{axis?}{include_initial?})",
    "diff": "xp.diff({x}{axis?}{n?}{prepend?}{append?})",
    "argmax": "xp.argmax({x}{axis?}{keepdims?})",
    "argmin": "xp.argmin({x}{axis?}{keepdims?})",
    "nonzero": "xp.nonzero({x})",
    "searchsorted": "xp.searchsorted({x1}, {x2}{side?}{sorter?})",
    "where": "xp.where({condition}, {x1}, {x2})",
    "unique_all": "xp.unique_all({x})",
    "unique_counts": "xp.unique_counts({x})",
    "unique_inverse": "xp.unique_inverse({x})",
    "unique_values": "xp.unique({x}, equal_nan=False)",
    # Shapes
    "broadcast_arrays": "xp.broadcast_arrays({*arrays})",
    "broadcast_to": "xp.broadcast_to({x}, {shape})",
    "concat": "xp.concat({arrays}{axis?})",
    "expand_dims": "xp.expand_dims({x}, axis={axis})",
    "flip": "xp.flip({x}{axis?})",
    "moveaxis": "xp.moveaxis({x}, {source}, {destination})",
    "pad": "xp.pad({x}, {pad_width}, mode={mode}{constant_values?})",
    "permute_dims": "xp.permute_dims({x}, {axes})",
    "repeat": "xp.repeat({x}, {repeats}{axis?})",
    "reshape": "xp.reshape({x}, {shape})",
    "roll": "xp.roll({x}, {shift}{axis?})",
    "sliding_window": None,
    "squeeze": "xp.squeeze({x}, axis={axis})",
    "stack": "xp.stack({arrays}{axis?})",
    "tile": "xp.tile({x}, {repetitions})",
    "unstack": "xp.unstack({x}{axis?})",
    # Making arrays
    "arange": "xp.arange({start}{stop?}{step?}, dtype={result})",
    "eye": "xp.eye({n_rows}, {n_cols}, k={k}, dtype={result})",
    "empty": "xp.zeros({shape}, dtype={result})",
    "empty_like": "xp.zeros_like({x}, dtype={result})",
    "full": "xp.full({shape}, {fill_value}, dtype={result})",
    "full_like": "xp.full_like({x}, {fill_value}, dtype={result})",
    "linspace": "xp.linspace({start}, {stop}, {num}, endpoint={endpoint}, dtype={result})",
    "meshgrid": "xp.meshgrid({*arrays}, indexing={indexing})",
    "ones": "xp.ones({shape}, dtype={result})",
    "ones_like": "xp.ones_like({x}, dtype={result})",
    "tril": "xp.tril({x}{k?})",
    "triu": "xp.triu({x}{k?})",
    "zeros": "xp.zeros({shape}, dtype={result})",
    "zeros_like": "xp.zeros_like({x}, dtype={result})",
    # Indexing
    "take": "xp.take({x}, {indices}{axis?})",
    "take_along_axis": "xp.take_along_axis({x}, {indices}, axis={axis})",
    "segment_sum": None,
    # Products
    "einsum": "xp.einsum({subscripts}, {*xs})",
    "matrix_transpose": "xp.matrix_transpose({x})",
    "tensordot": "xp.tensordot({x1}, {x2}, axes={axes})",
    "vecdot": "xp.vecdot({x1}, {x2}{axis?})",
    **{
        f"linalg.{name}": f"xp.linalg.{name}({{x}})"
        for name in ("det", "eigh", "eigvalsh", "inv", "slogdet", "svdvals", "matrix_transpose")
    },
    "linalg.cholesky": "xp.linalg.cholesky({x}{upper?})",
    "linalg.cross": "xp.linalg.cross({x1}, {x2}{axis?})",
    "linalg.diagonal": "xp.linalg.diagonal({x}{offset?})",
    "linalg.matmul": "xp.matmul({x1}, {x2})",
    "linalg.matrix_norm": "xp.linalg.matrix_norm({x}{keepdims?}{ord?})",
    "linalg.matrix_power": "xp.linalg.matrix_power({x}, {n})",
    "linalg.matrix_rank": "xp.linalg.matrix_rank({x}{rtol?})",
    "linalg.outer": "xp.linalg.outer({x1}, {x2})",
    "linalg.pinv": "xp.linalg.pinv({x}{rtol?})",
    "linalg.qr": "xp.linalg.qr({x}, mode={mode})",
    "linalg.svd": "xp.linalg.svd({x}, full_matrices={full_matrices})",
    "linalg.tensordot": "xp.tensordot({x1}, {x2}, axes={axes})",
    "linalg.trace": "xp.linalg.trace({x}{offset?})",
    "linalg.vecdot": "xp.vecdot({x1}, {x2}{axis?})",
    "linalg.vector_norm": "xp.linalg.vector_norm({x}{axis?}{keepdims?}{ord?})",
    **transforms("xp"),
    "fft.fftfreq": "xp.fft.fftfreq({n}, d={d}).astype({result})",
    "fft.rfftfreq": "xp.fft.rfftfreq({n}, d={d}).astype({result})",
    # Layers
    "linear": None,
    "hard_tanh": "xp.clip({x}, {low}, {high})",
}


def _with(module: str) -> Lines:
    return {
        name: None if line is None else line.replace("xp.", f"{module}.")
        for name, line in _LINES.items()
    }


def numpy_lines() -> Lines:
    """Those of NumPy, and SciPy's special functions."""
    return {
        **_with("np"),
        "erf": "scipy.special.erf({x})",
        "erfc": "scipy.special.erfc({x})",
        "erfinv": "scipy.special.erfinv({x})",
        "sigmoid": "scipy.special.expit({x})",
        "logsumexp": "scipy.special.logsumexp({x}{axis?}{keepdims?})",
        "truncate_divide": None,
        "relu": "np.maximum({x}, 0)",
        "silu": "{x} * scipy.special.expit({x})",
        "softplus": "np.logaddexp({x}, 0)",
        "gelu": None,
        "elu": None,
        "leaky_relu": "np.where({x} > 0, {x}, {negative_slope} * {x})",
        "softmax": "scipy.special.softmax({x}, axis={axis})",
        "log_softmax": "scipy.special.log_softmax({x}, axis={axis})",
        "stop_gradient": "{x}",
    }


def jax_lines() -> Lines:
    """Those of JAX."""
    return {
        **_with("jnp"),
        "cumulative_sum": "jnp.cumulative_sum({x}{axis?}{include_initial?})",
        "erf": "jax.scipy.special.erf({x})",
        "erfc": "jax.scipy.special.erfc({x})",
        "erfinv": "jax.scipy.special.erfinv({x})",
        "rsqrt": "jax.lax.rsqrt({x})",
        "sigmoid": "jax.nn.sigmoid({x})",
        "logsumexp": "jax.nn.logsumexp({x}{axis?}{keepdims?})",
        "truncate_divide": None,
        "relu": "jax.nn.relu({x})",
        "silu": "jax.nn.silu({x})",
        "softplus": "jax.nn.softplus({x})",
        "gelu": "jax.nn.gelu({x}, approximate={approximate})",
        "elu": "{scale} * jax.nn.elu({x}, {alpha})",
        "leaky_relu": "jax.nn.leaky_relu({x}, {negative_slope})",
        "softmax": "jax.nn.softmax({x}, axis={axis})",
        "log_softmax": "jax.nn.log_softmax({x}, axis={axis})",
        "stop_gradient": "jax.lax.stop_gradient({x})",
    }
