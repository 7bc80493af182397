"""How programs of MLX are written: `trellis.trace(...).to_source("mlx")`.

An operation that is not in the table is the function of that name in portable.py. What neither has
raises when the program is written.
"""

from pathlib import Path

from trellis.backend import INTEGER, Dialect, Source

# MLX's name, where it is not ours.
_OF_ONE = {
    name: f"mx.{name}(x)"
    for name in (
        *("abs", "ceil", "conj", "cos", "cosh", "erf", "erfinv", "exp", "expm1", "floor", "imag"),
        *("isfinite", "isinf", "isnan", "log", "log10", "log1p", "log2", "logical_not", "negative"),
        *("real", "reciprocal", "round", "rsqrt", "sigmoid", "sin", "sinh", "sqrt", "square"),
        *("stop_gradient", "tan", "tanh", "trunc"),
    )
} | {name: f"mx.arc{name[1:]}(x)" for name in ("acos", "acosh", "asin", "asinh", "atan", "atanh")}
_OF_TWO = {
    name: f"mx.{name}(x1, x2)"
    for name in (
        *("add", "bitwise_and", "bitwise_or", "bitwise_xor", "divide", "equal", "greater"),
        *("greater_equal", "less", "less_equal", "logaddexp", "logical_and", "logical_or"),
        *("matmul", "multiply", "not_equal", "subtract"),
    )
}
_REDUCED = {name: f"mx.{name}(x, axis=axis, keepdims=keepdims)" for name in ("max", "min")}
_FFT = {
    f"fft.{name}": f"mx.fft.{name}(x, n=n, axis=axis, norm=norm)"
    for name in ("fft", "ifft", "rfft", "irfft")
} | {
    f"fft.{name}": f"mx.fft.{name}(x, s=s, axes=axes, norm=norm)"
    for name in ("fftn", "ifftn", "rfftn", "irfftn")
}

WAYS = {
    **_OF_ONE,
    **_OF_TWO,
    **_REDUCED,
    **_FFT,
    "arange": "mx.arange(start, stop=stop, step=step, dtype=result)",
    "argmax": "mx.argmax(x, axis=axis, keepdims=keepdims)",
    "argmin": "mx.argmin(x, axis=axis, keepdims=keepdims)",
    "atan2": "mx.arctan2(x1, x2)",
    "bitwise_invert": "~x",
    "broadcast_arrays": "mx.broadcast_arrays(*arrays)",
    "broadcast_to": "mx.broadcast_to(x, shape)",
    "concat": "mx.concatenate(arrays, axis=axis)",
    "count_nonzero": "mx.count_nonzero(x, axis=axis, keepdims=keepdims)",
    "einsum": "mx.einsum(subscripts, *xs)",
    "empty": "mx.zeros(shape, dtype=result)",
    "empty_like": "mx.zeros_like(x, dtype=result)",
    "expand_dims": "mx.expand_dims(x, axis=axis)",
    "eye": "mx.eye(n_rows, n_cols, k=k, dtype=result)",
    "flip": "mx.flip(x, axis=axis)",
    "fft.fftfreq": "mx.fft.fftfreq(n, d=d).astype(result)",
    "fft.fftshift": "mx.fft.fftshift(x, axes=axes)",
    "fft.ifftshift": "mx.fft.ifftshift(x, axes=axes)",
    "fft.rfftfreq": "mx.fft.rfftfreq(n, d=d).astype(result)",
    "full": "mx.full(shape, fill_value, dtype=result)",
    "full_like": "mx.full_like(x, fill_value, dtype=result)",
    "hard_tanh": "mx.clip(x, low, high)",
    "leaky_relu": "mx.where(x > 0, x, negative_slope * x)",
    "linalg.cholesky": "mx.linalg.cholesky(x, upper=upper, stream=mx.cpu)",
    "linalg.cross": "mx.linalg.cross(x1, x2, axis=axis)",
    "linalg.diagonal": "mx.diagonal(x, offset=offset, axis1=-2, axis2=-1)",
    "linalg.eigh": "mx.linalg.eigh(x, stream=mx.cpu)",
    "linalg.eigvalsh": "mx.linalg.eigvalsh(x, stream=mx.cpu)",
    "linalg.inv": "mx.linalg.inv(x, stream=mx.cpu)",
    "linalg.matmul": "mx.matmul(x1, x2)",
    "linalg.matrix_transpose": "mx.swapaxes(x, -1, -2)",
    "linalg.outer": "mx.outer(x1, x2)",
    "linalg.tensordot": "mx.tensordot(x1, x2, axes=axes)",
    "linalg.trace": "mx.trace(x, offset=offset, axis1=-2, axis2=-1)",
    "linalg.vecdot": "mx.sum(mx.conj(x1) * x2, axis=axis)",
    "log_softmax": "x - mx.logsumexp(x, axis=axis, keepdims=True)",
    "logical_xor": "mx.not_equal(x1, x2)",
    "logsumexp": "mx.logsumexp(x, axis=axis, keepdims=keepdims)",
    "matrix_transpose": "mx.swapaxes(x, -1, -2)",
    "meshgrid": "mx.meshgrid(*arrays, indexing=indexing)",
    "ones": "mx.ones(shape, dtype=result)",
    "ones_like": "mx.ones_like(x, dtype=result)",
    "permute_dims": "mx.transpose(x, axes)",
    "positive": "x",
    "relu": "mx.maximum(x, 0)",
    "reshape": "mx.reshape(x, shape)",
    "roll": "mx.roll(x, shift, axis)",
    "silu": "x * mx.sigmoid(x)",
    "softmax": "mx.softmax(x, axis=axis, precise=True)",
    "softplus": "mx.logaddexp(x, 0)",
    "squeeze": "mx.squeeze(x, axis=axis)",
    "stack": "mx.stack(arrays, axis=axis)",
    "take": "mx.take(x, indices, axis=axis)",
    "take_along_axis": "mx.take_along_axis(x, indices, axis=axis)",
    "tensordot": "mx.tensordot(x1, x2, axes=axes)",
    "tile": "mx.tile(x, repetitions)",
    "tril": "mx.tril(x, k=k)",
    "triu": "mx.triu(x, k=k)",
    "unstack": "mx.unstack(x, axis=axis)",
    "vecdot": "mx.sum(mx.conj(x1) * x2, axis=axis)",
    "where": "mx.where(condition, x1, x2)",
    "zeros": "mx.zeros(shape, dtype=result)",
    "zeros_like": "mx.zeros_like(x, dtype=result)",
}

SOURCE = Source(
    Dialect(
        "mx",
        {"mx": "import mlx.core as mx"},
        cast="{0}.astype({1})",
        array="mx.array({0}, dtype={1})",
        packed="mx.array({0})",
        number="mx.array({0}, dtype={1})",
        bool_name="bool_",
        # MLX's own kernels of float64 are exact to float32 only; this package has others.
        types_missing=("float64", "complex128"),
        no_products=("bool", *INTEGER),
        casts_counts=True,
    ),
    WAYS,
    Path(__file__).with_name("portable.py"),
    arrays_only=frozenset(
        ("maximum", "minimum", "pow", "floor_divide", "remainder", "fmod", "truncate_divide",
         "copysign", "hypot", "bitwise_left_shift", "bitwise_right_shift", "logical_and",
         "logical_or", "logical_xor", "isclose")
    ),
)  # fmt: skip
