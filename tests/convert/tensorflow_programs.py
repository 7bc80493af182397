"""Functions of TensorFlow (tf, tf.math, tf.nn, tf.linalg, tf.signal, tf.image) with unusual
options, as programs."""

from dataclasses import replace

import numpy as np
import tensorflow as tf
from foreign_programs import (
    HARD_INTEGERS,
    Table,
    cplx,
    each,
    matrix,
    plain,
    real,
    row,
    truth,
    whole,
)

E = each(5, 7)
P = each(5, 7, low=0.1, high=3.0)
U = each(5, 7, low=-0.9, high=0.9)
R = real(4, 6)
I32 = whole(4, 6, low=-9, high=9, hard=HARD_INTEGERS)
DIVISORS = whole(4, 6, low=1, high=5)
B = truth(4, 6)

ROWS = Table()
NO_GRADIENT = "TensorFlow has no derivative for it"
NAN = "eager, XLA and the documentation differ about nan"
ZEROS = f"{NAN}; on JAX trellis.topk puts -0 below 0"
CANCELS = "what is left of 1 + tanh, 1 + erf or exp - 1 comes from rounding"
LARGE = "TensorFlow stops after 2000 terms, which large numbers need more of"


def is_not_finite(*inputs):
    return any([not np.isfinite(x).all() for x in inputs if x.dtype.kind == "f"])


def has_nan_or_two_zeros(*inputs):
    return has_nan(*inputs) or any([(x == 0).any() and np.signbit(x[x == 0]).any() for x in inputs])


def has_nan(*inputs):
    return any([np.isnan(x).any() for x in inputs if x.dtype.kind == "f"])


add, unary, binary = ROWS.add, ROWS.unary, ROWS.binary


# tf.math, element by element
unary(
    "math",
    "abs sign floor ceil rint round exp expm1 square reciprocal sin cos tan atan sinh",
    E,
    tf.math,
)
unary("math", "cosh tanh asinh sigmoid softplus erf erfc is_nan is_inf is_finite", E, tf.math)
FINITE = each(5, 7, only=np.isfinite)
unary(
    "math",
    "bessel_i0 bessel_i1",
    FINITE,
    tf.math,
    why="nan at infinity, where i0e(x) exp(x) is 0 inf",
)
unary("math", "bessel_i0e bessel_i1e", E, tf.math)
unary("math", "lgamma digamma", E, tf.math, floor=1.0, why="as exact as TensorFlow near zeros")
unary("math", "log log1p sqrt rsqrt reciprocal_no_nan", P, tf.math)
unary("math", "asin acos atanh", U, tf.math)
BELOW_ONE = each(5, 7, low=-0.9, high=0.9, only=lambda x: not 0.9 < x < 1)
unary(
    "math",
    "erfinv",
    BELOW_ONE,
    tf.math,
    floor=1.0,
    why="TensorFlow is infinite already next to 1, and zero next to 0",
)
unary("math", "negative log_sigmoid angle real imag conj", E, tf.math)
ROWS["math.acosh"] = row(tf.math.acosh, each(5, 7, low=1.1, high=4.0))
ROWS["math.ndtri"] = row(tf.math.ndtri, each(5, 7, low=0.05, high=0.95), refused="Ndtri")
ROWS["math.erfcinv"] = row(tf.math.erfcinv, each(5, 7, low=0.05, high=1.95), refused="Ndtri")
binary("math", "add subtract multiply divide truediv atan2 maximum minimum", E, tf.math)
binary("math", "squared_difference divide_no_nan multiply_no_nan xdivy nextafter", E, tf.math)
binary("math", "xlogy xlog1py", P, tf.math)
ORDER = each(5, 7, low=0.1, high=3.0, only=lambda x: 0.01 < x < 1e4)
ARGUMENT = each(5, 7, low=0.1, high=3.0, only=lambda x: not 80 < abs(x))
for name in ("igamma", "igammac"):
    # Next to 1 the smaller part is what is left of 1.
    ROWS[f"math.{name}"] = row(
        getattr(tf.math, name),
        ORDER,
        ARGUMENT,
        gradient=False,
        tolerance=2e-4,
        floor=1e-2,
        why=f"eager and XLA differ outside of a > 0; {LARGE}",
    )
MIDDLE = each(5, 7, only=lambda x: not 0 < abs(x) < 1e-3 and not 1e9 < abs(x) < 1e39)
binary("math", "floormod mod", MIDDLE, tf.math, why="torch has nan where x / y overflows")
binary("math", "floordiv", MIDDLE, tf.math, why="a quotient below 1e-38 is zero")
binary("math", "greater less_equal equal not_equal", E, tf.math)
binary("math", "logical_and logical_or logical_xor", B, tf.math)
ROWS["math.pow"] = row(tf.math.pow, P, E)
add(
    "math",
    truncatediv=row(tf.truncatediv, I32, DIVISORS),
    truncatemod=row(tf.truncatemod, MIDDLE, MIDDLE, gradient=False, why=NO_GRADIENT),
    truncatemod_int=row(tf.truncatemod, I32, DIVISORS),
    floordiv_int=row(tf.math.floordiv, I32, DIVISORS),
    floormod_int=row(tf.math.floormod, I32, DIVISORS),
    truediv_int=row(tf.math.truediv, I32, DIVISORS, wide="Cast"),
    pow_int=row(lambda x: tf.pow(x, 3), I32),
    abs_int=row(tf.abs, I32),
    sign_int=row(tf.sign, I32),
    betainc=row(
        tf.math.betainc, ORDER, ORDER, U, gradient=False, tolerance=2e-4, floor=1e-2, why=LARGE
    ),
    polygamma=row(
        lambda x: tf.math.polygamma(tf.ones_like(x) * 2, x),
        plain(5, low=0.1, high=9.0),
        gradient=False,
    ),
    zeta=row(
        tf.math.zeta, plain(5, low=1.1, high=5.0), plain(5, low=0.1, high=9.0), gradient=False
    ),
    clip_by_value=row(lambda x: tf.clip_by_value(x, -0.5, 1.0), E),
    clip_by_norm=row(lambda x: tf.clip_by_norm(x, 1.5, axes=[1]), plain(4, 6)),
    clip_by_global_norm=row(lambda x, y: tf.clip_by_global_norm([x, y], 1.5), plain(4), plain(3)),
    complex=row(
        tf.complex, FINITE, FINITE, why="torch adds complex numbers with infinity by way of inf * 0"
    ),
    abs_complex=row(tf.abs, cplx(3, 4)),
    exp_complex=row(tf.exp, cplx(3, 4)),
    angle_complex=row(tf.math.angle, cplx(3, 4)),
    mul_complex=row(lambda x, y: x * tf.math.conj(y) / (x + y), cplx(3, 4), cplx(3, 4)),
    polyval=row(lambda x: tf.math.polyval([1.0, -2.0, x], x), E),
    bitwise_and=row(tf.bitwise.bitwise_and, I32, I32),
    bitwise_xor=row(tf.bitwise.bitwise_xor, I32, I32),
    bitwise_or=row(tf.bitwise.bitwise_or, I32, I32),
    invert=row(tf.bitwise.invert, I32),
    left_shift=row(tf.bitwise.left_shift, I32, whole(4, 6, high=31)),
    right_shift=row(tf.bitwise.right_shift, I32, whole(4, 6, high=31)),
    population_count=row(lambda x: tf.raw_ops.PopulationCount(x=x), I32),
    add_n=row(lambda x, y: tf.add_n([x, y, x]), R, R),
    scalar_mul=row(lambda x: tf.math.scalar_mul(2.5, x), E),
    smoothstep=row(lambda x: tf.image.adjust_brightness(x, 0.2), E),
    cast_int=row(
        lambda x: tf.cast(x, "int32"),
        plain(4, 6, low=-9, high=9),
        why="numbers outside of the type differ by processor",
    ),
    cast_bool=row(lambda x: tf.cast(x, "bool"), E),
    cast_half=row(lambda x: tf.cast(x, "float16"), each(4, 6), tolerance=1e-3),
    cast_double=row(lambda x: tf.cast(x, "float64") * 2, E, wide="Cast"),
    cast_int64=row(lambda x: tf.cast(x, "int64") * 2, whole(4, 6, low=-9, high=9)),
    saturate_cast=row(lambda x: tf.saturate_cast(x, "uint8"), plain(4, 6, low=-300, high=300)),
    bitcast=row(lambda x: tf.bitcast(x, "int32"), E),
    dtypes_complex=row(lambda x: tf.cast(x, "complex64") * 1j, E),
)
# reductions and order
add(
    "math",
    **{
        name: row(lambda x, name=name: getattr(tf.math, name)(x, axis=[1], keepdims=True), R)
        for name in (
            "reduce_sum reduce_prod reduce_max reduce_min reduce_mean reduce_std reduce_variance "
            "reduce_logsumexp reduce_euclidean_norm"
        ).split()
    },
    reduce_all=row(lambda x: tf.reduce_all(x, axis=0), B),
    reduce_any=row(lambda x: tf.reduce_any(x, axis=[0, 1]), B),
    reduce_mean_int=row(lambda x: tf.reduce_mean(x, axis=0), whole(4, 6, low=-50, high=50)),
    reduce_sum_int=row(lambda x: tf.reduce_sum(x, axis=0), whole(4, 6, low=-50, high=50)),
    reduce_max_int=row(lambda x: tf.reduce_max(x, axis=0), I32),
    reduce_max_all=row(lambda x: tf.reduce_max(x), R),
    count_nonzero=row(lambda x: tf.math.count_nonzero(x, axis=1), R),
    count_nonzero_32=row(lambda x: tf.math.count_nonzero(x, axis=1, dtype=tf.int32), R),
    zero_fraction=row(tf.math.zero_fraction, R),
    argmax=row(
        lambda x: tf.argmax(x, axis=1, output_type=tf.int32), R, is_left_out=has_nan, why=NAN
    ),
    argmin=row(lambda x: tf.argmin(x, axis=0), R, is_left_out=has_nan, why=NAN),
    top_k=row(lambda x: tf.math.top_k(x, 3), R, is_left_out=has_nan_or_two_zeros, why=ZEROS),
    top_k_unsorted=row(lambda x: tf.sort(tf.math.top_k(x, 3, sorted=False)[0]), plain(4, 6)),
    approx_max_k=row(lambda x: tf.math.approx_max_k(x, 3), plain(4, 6), refused="ApproxTopK"),
    in_top_k=row(lambda i, x: tf.math.in_top_k(i, x, 2), whole(4), plain(4, 6), refused="InTopKV2"),
    sort=row(lambda x: tf.sort(x, axis=0), R, is_left_out=has_nan, why=NAN),
    sort_descending=row(
        lambda x: tf.sort(x, direction="DESCENDING"), R, is_left_out=has_nan, why=NAN
    ),
    argsort=row(lambda x: tf.argsort(x, axis=1), R, is_left_out=has_nan_or_two_zeros, why=ZEROS),
    argsort_descending=row(
        lambda x: tf.argsort(x, axis=1, direction="DESCENDING"),
        R,
        is_left_out=has_nan_or_two_zeros,
        why=ZEROS,
    ),
    searchsorted=row(lambda a, v: tf.searchsorted(tf.sort(a), v, side="right"), plain(8), plain(5)),
    searchsorted_left=row(
        lambda a, v: tf.searchsorted(tf.sort(a), v, out_type=tf.int64), plain(2, 8), plain(2, 5)
    ),
    histogram=row(
        lambda x: tf.histogram_fixed_width(x, [-1.0, 1.0], nbins=5),
        plain(20),
        refused="HistogramFixedWidth",
    ),
    bincount=row(
        lambda x: tf.math.bincount(x, minlength=7, maxlength=7), whole(12), refused="DenseBincount"
    ),
    cumsum=row(lambda x: tf.cumsum(x, axis=1, exclusive=True), R),
    cumsum_reverse=row(lambda x: tf.cumsum(x, axis=0, reverse=True), R),
    cumprod=row(lambda x: tf.math.cumprod(x, axis=1, exclusive=True, reverse=True), R),
    cumlogsumexp=row(
        lambda x: tf.math.cumulative_logsumexp(x, axis=1),
        R,
        is_left_out=is_not_finite,
        why="nan counts as the number before it",
    ),
    cumlogsumexp_exclusive=row(
        lambda x: tf.math.cumulative_logsumexp(x, axis=1, exclusive=True, reverse=True),
        R,
        refused="CumulativeLogsumexp",
    ),
    segment_sum=row(
        lambda x: tf.math.segment_sum(x, [0, 0, 1, 3]), plain(4, 6), refused="SegmentSum"
    ),
    unsorted_segment_sum=row(
        lambda x, i: tf.math.unsorted_segment_sum(x, i, 4), plain(9, 2), whole(9, low=-1, high=4)
    ),
    unsorted_segment_max=row(
        lambda x, i: tf.math.unsorted_segment_max(x, i, 4), plain(9, 2), whole(9, low=-1, high=4)
    ),
    unsorted_segment_min=row(
        lambda x, i: tf.math.unsorted_segment_min(x, i, 6), plain(9, 2), whole(9, low=-1, high=4)
    ),
    unsorted_segment_prod=row(
        lambda x, i: tf.math.unsorted_segment_prod(x, i, 4), plain(9, 2), whole(9, low=-1, high=4)
    ),
    unsorted_segment_max_int=row(
        lambda x, i: tf.math.unsorted_segment_max(x, i, 4), whole(9, 2), whole(9, low=-1, high=4)
    ),
    unsorted_segment_mean=row(
        lambda x, i: tf.math.unsorted_segment_mean(x, i, 4), plain(9, 2), whole(9, low=0, high=4)
    ),
    unsorted_segment_sqrt_n=row(
        lambda x, i: tf.math.unsorted_segment_sqrt_n(x, i, 4), plain(9, 2), whole(9, high=4)
    ),
    l2_normalize=row(lambda x: tf.math.l2_normalize(x, axis=1, epsilon=1e-6), plain(4, 6)),
    confusion_matrix=row(
        lambda x, y: tf.math.confusion_matrix(x, y, num_classes=5), whole(9), whole(9)
    ),
    unique=row(lambda x: tf.unique(x), whole(9)),
    unique_64=row(lambda x: tf.unique(x, out_idx=tf.int64), whole(9)),
    unique_with_counts=row(lambda x: tf.unique_with_counts(x), whole(9)),
    reduce_dynamic=row(lambda x: tf.reduce_sum(tf.where(tf.math.is_nan(x), 0.0, x), [-1, 0]), R),
)
# shapes
add(
    "tf",
    **{
        f"pad_{mode}": row(lambda x, mode=mode: tf.pad(x, [[1, 2], [2, 0]], mode=mode), R)
        for mode in ("REFLECT", "SYMMETRIC")
    },
    pad_constant=row(lambda x: tf.pad(x, [[1, 2], [2, 0]], constant_values=-1.5), R),
    roll=row(lambda x: tf.roll(x, [1, -8], [0, 1]), R),
    reverse=row(lambda x: tf.reverse(x, [0, 1]), R),
    reverse_sequence=row(
        lambda x, n: tf.reverse_sequence(x, n, seq_axis=1, batch_axis=0),
        real(4, 6, 2),
        whole(4, high=7),
    ),
    reverse_sequence_other=row(
        lambda x, n: tf.reverse_sequence(x, n, seq_axis=0, batch_axis=2),
        real(4, 6, 2),
        whole(2, high=5),
    ),
    tile=row(lambda x: tf.tile(x, [2, 3]), R),
    repeat=row(lambda x: tf.repeat(x, [1, 0, 3, 2], axis=0), R),
    strided=row(lambda x: x[::-2, 1:-1, None], R),
    strided_far=row(lambda x: x[-9:9, 5:1:-1], R),
    ellipsis=row(lambda x: x[..., 1], real(2, 3, 4)),
    slice=row(lambda x: tf.slice(x, [1, 2], [-1, 3]), R),
    gather=row(lambda x, i: tf.gather(x, i, axis=1), R, whole(3, high=6)),
    gather_batch=row(
        lambda x, i: tf.gather(x, i, axis=2, batch_dims=1), real(2, 3, 4), whole(2, 3, high=4)
    ),
    gather_nd=row(lambda x, i: tf.gather_nd(x, i), real(3, 4, 2), whole(5, 2, high=3)),
    gather_nd_batch=row(
        lambda x, i: tf.gather_nd(x, i, batch_dims=1), real(3, 4, 2), whole(3, 1, high=4)
    ),
    scatter_nd=row(lambda i, x: tf.scatter_nd(i, x, [6, 2]), whole(4, 1), plain(4, 2)),
    tensor_scatter_add=row(
        lambda x, i, y: tf.tensor_scatter_nd_add(x, i, y), plain(6, 2), whole(4, 1), plain(4, 2)
    ),
    tensor_scatter_sub=row(
        lambda x, i, y: tf.tensor_scatter_nd_sub(x, i, y), plain(6, 2), whole(4, 1), plain(4, 2)
    ),
    tensor_scatter_max=row(
        lambda x, i, y: tf.tensor_scatter_nd_max(x, i, y), plain(6, 2), whole(4, 1), plain(4, 2)
    ),
    tensor_scatter_update=row(
        lambda x, y: tf.tensor_scatter_nd_update(x, [[0], [3]], y), real(6, 2), real(2, 2)
    ),
    one_hot=row(
        lambda i: tf.one_hot(i, 4, on_value=2.0, off_value=-1.0, axis=0), whole(6, low=-2, high=6)
    ),
    one_hot_inf=row(
        lambda i: tf.one_hot(i, 4, on_value=0.0, off_value=-np.inf), whole(6, low=0, high=4)
    ),
    one_hot_bool=row(lambda i: tf.one_hot(i, 4, on_value=True, off_value=False), whole(6, high=4)),
    boolean_mask=row(lambda x, m: tf.boolean_mask(x, m), real(4, 6), truth(4), gradient=False),
    where_places=row(lambda x: tf.where(x), B),
    where_broadcast=row(lambda c, x: tf.where(c, x, -1.0), truth(4, 1), R),
    stack=row(lambda x: tf.stack([x, x * 2], axis=-1), R),
    unstack=row(lambda x: tf.unstack(x, axis=1), R),
    split=row(lambda x: tf.split(x, [1, 3, -1], axis=1), R),
    split_even=row(lambda x: tf.split(x, 3, axis=-1), R),
    transpose=row(lambda x: tf.transpose(x, [2, 0, 1], conjugate=True), cplx(2, 3, 4)),
    broadcast_to=row(lambda x: tf.broadcast_to(x, [3, 4, 6]), R),
    meshgrid=row(lambda x, y: tf.meshgrid(x, y, indexing="ij"), real(3), real(4)),
    linspace=row(lambda x: x + tf.linspace(0.0, 2.0, 6), R),
    range=row(lambda x: x + tf.range(0.5, 3.5, 0.5), R),
    squeeze=row(lambda x: tf.squeeze(x, [0, 2]), real(1, 3, 1, 1)),
    space_to_batch=row(lambda x: tf.space_to_batch(x, [2, 3], [[0, 0], [1, 2]]), plain(2, 4, 6, 1)),
    batch_to_space=row(lambda x: tf.batch_to_space(x, [2, 2], [[0, 1], [1, 0]]), plain(8, 3, 3, 2)),
    sequence_mask=row(lambda n: tf.sequence_mask(n, 5, dtype=tf.float32), whole(4, high=7)),
    dynamic_partition=row(
        lambda x, i: tf.dynamic_partition(x, i, 2),
        plain(4),
        whole(4, high=2),
        refused="DynamicPartition",
    ),
    dynamic_stitch=row(
        lambda x, y: tf.dynamic_stitch([[0, 2], [1, 3]], [x, y]),
        real(2, 3),
        real(2, 3),
        refused="DynamicStitch",
    ),
    guarantee=row(lambda x: tf.ensure_shape(tf.identity(x), [4, 6]), R),
    fill=row(lambda x: x * tf.fill([4, 6], 2.5), R),
    eye=row(lambda x: x + tf.eye(4, 6), R),
    cond=row(lambda i, x: tf.cond(i > 1, lambda: x * 2, lambda: x - 1), whole(), R),
    switch_case=row(
        lambda i, x: tf.switch_case(i, [lambda: x, lambda: -x, lambda: x * 2]),
        whole(low=-1, high=5),
        R,
    ),
    while_loop=row(
        lambda x: tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * 1.5), (0, x))[1],
        R,
        gradient=False,
        why="Trellis' while_loop has no reverse derivative",
    ),
    map_fn=row(lambda x: tf.map_fn(lambda r: r * tf.reduce_sum(r), x), plain(4, 3)),
    scan=row(lambda x: tf.scan(lambda a, r: a * 0.5 + r, x), plain(4, 3)),
    foldl=row(lambda x: tf.foldl(lambda a, r: a * 0.5 + r, x), plain(4, 3)),
    stop_gradient=row(lambda x: tf.stop_gradient(x) * x, plain(4, 3)),
    tensordot=row(
        lambda x, y: tf.tensordot(x, y, [[0, 2], [1, 0]]), plain(3, 2, 4), plain(4, 3, 2)
    ),
    einsum=row(lambda x, y: tf.einsum("bij,bkj->ik", x, y), plain(2, 3, 4), plain(2, 5, 4)),
    einsum_dots=row(lambda x, y: tf.einsum("...ij,jk->...ik", x, y), plain(2, 3, 4), plain(4, 2)),
    einsum_diagonal=row(lambda x: tf.einsum("iij->j", x), plain(3, 3, 4)),
    matmul_options=row(
        lambda x, y: tf.matmul(x, y, transpose_a=True, adjoint_b=True),
        plain(2, 4, 3),
        plain(2, 5, 4),
    ),
    matmul_adjoint=row(lambda x, y: tf.matmul(x, y, adjoint_b=True), cplx(3, 4), cplx(2, 4)),
    matmul_int=row(lambda x, y: tf.matmul(x, y), whole(3, 4, high=100), whole(4, 2, high=100)),
    matmul_int8=row(
        lambda x, y: tf.matmul(x, y, output_type=tf.int32),
        whole(3, 4, high=100, dtype="int8"),
        whole(4, 2, high=100, dtype="int8"),
    ),
)
# tf.nn
unary("nn", "relu relu6 leaky_relu softsign softplus crelu", E, tf.nn)
unary("nn", "elu selu silu", E, tf.nn, floor=1.0, why=CANCELS)
unary("nn", "gelu", FINITE, tf.nn, floor=1.0, why=f"{CANCELS}; torch's own is nan at infinity")
IMAGE = plain(2, 6, 5, 4)
add(
    "nn",
    gelu_tanh=row(lambda x: tf.nn.gelu(x, approximate=True), E, floor=1.0, why=CANCELS),
    leaky_alpha=row(lambda x: tf.nn.leaky_relu(x, 0.3), E),
    softmax=row(lambda x: tf.nn.softmax(x, axis=0), R, is_left_out=is_not_finite, why=NAN),
    softmax_last=row(lambda x: tf.nn.softmax(x), R, is_left_out=is_not_finite, why=NAN),
    log_softmax=row(lambda x: tf.nn.log_softmax(x), R),
    log_softmax_axis=row(lambda x: tf.nn.log_softmax(x, axis=0), R),
    softmax_xent=row(
        lambda y, x: tf.nn.softmax_cross_entropy_with_logits(tf.nn.softmax(y), x, axis=-1),
        plain(4, 6),
        real(4, 6),
    ),
    softmax_xent_hard=row(
        lambda y, x: tf.nn.softmax_cross_entropy_with_logits(y, x), real(4, 6, low=0.0), plain(4, 6)
    ),
    softmax_xent_axis=row(
        lambda y, x: tf.nn.softmax_cross_entropy_with_logits(y, x, axis=0),
        plain(4, 6, low=0.0),
        plain(4, 6),
    ),
    sparse_xent=row(
        lambda y, x: tf.nn.sparse_softmax_cross_entropy_with_logits(y, x),
        whole(4, high=6),
        real(4, 6),
    ),
    sparse_xent_3d=row(
        lambda y, x: tf.nn.sparse_softmax_cross_entropy_with_logits(y, x),
        whole(2, 3, high=6),
        plain(2, 3, 6),
    ),
    sigmoid_xent=row(
        lambda y, x: tf.nn.sigmoid_cross_entropy_with_logits(y, x), plain(4, 6, low=0.0), R
    ),
    weighted_xent=row(
        lambda y, x: tf.nn.weighted_cross_entropy_with_logits(y, x, 2.0), plain(4, 6, low=0.0), R
    ),
    log_poisson=row(
        lambda y, x: tf.nn.log_poisson_loss(y, x, compute_full_loss=True),
        plain(4, 6, low=0.1, high=5.0),
        plain(4, 6),
    ),
    l2_loss=row(tf.nn.l2_loss, R),
    moments=row(lambda x: tf.nn.moments(x, [0], keepdims=True), plain(4, 6)),
    weighted_moments=row(
        lambda x, w: tf.nn.weighted_moments(x, [0], w), plain(4, 6), plain(4, 6, low=0.1)
    ),
    normalize_moments=row(
        lambda c, m, v: tf.nn.normalize_moments(c, m, v, 0.5), plain(low=1.0), plain(4), plain(4)
    ),
    batch_normalization=row(lambda x: tf.nn.batch_normalization(x, 0.5, 2.0, 1.0, 3.0, 1e-3), R),
    fused_batch_norm=row(
        lambda x, s: tf.compat.v1.nn.fused_batch_norm(x, s, s, epsilon=2e-3), IMAGE, plain(4)
    ),
    local_response=row(
        lambda x: tf.nn.local_response_normalization(x, depth_radius=1, bias=2.0, beta=0.75),
        IMAGE,
        refused="LRN",
    ),
    bias_add=row(lambda x, b: tf.nn.bias_add(x, b), R, real(6)),
    bias_add_first=row(
        lambda x, b: tf.nn.bias_add(x, b, data_format="NCHW"), real(2, 3, 4, 5), real(3)
    ),
    conv1d=row(lambda x, w: tf.nn.conv1d(x, w, 2, "SAME"), plain(2, 7, 3), plain(3, 3, 4)),
    conv2d=row(
        lambda x, w: tf.nn.conv2d(x, w, [1, 2], [[0, 0], [1, 2], [0, 1], [0, 0]]),
        IMAGE,
        plain(2, 3, 4, 2),
    ),
    conv2d_dilated=row(
        lambda x, w: tf.nn.conv2d(x, w, 1, "SAME", dilations=[2, 1]), IMAGE, plain(2, 3, 4, 2)
    ),
    conv2d_groups=row(lambda x, w: tf.nn.conv2d(x, w, 1, "VALID"), IMAGE, plain(2, 3, 2, 6)),
    conv3d=row(
        lambda x, w: tf.nn.conv3d(x, w, [1, 1, 2, 1, 1], "SAME"),
        plain(1, 3, 4, 5, 2),
        plain(2, 2, 2, 2, 3),
    ),
    depthwise=row(
        lambda x, w: tf.nn.depthwise_conv2d(x, w, [1, 2, 2, 1], "SAME"), IMAGE, plain(2, 3, 4, 2)
    ),
    depthwise_dilated=row(
        lambda x, w: tf.nn.depthwise_conv2d(x, w, [1, 1, 1, 1], "VALID", dilations=[2, 1]),
        IMAGE,
        plain(2, 3, 4, 1),
    ),
    separable=row(
        lambda x, w, p: tf.nn.separable_conv2d(x, w, p, [1, 1, 1, 1], "SAME"),
        IMAGE,
        plain(2, 3, 4, 2),
        plain(1, 1, 8, 3),
    ),
    conv2d_transpose=row(
        lambda x, w: tf.nn.conv2d_transpose(x, w, [2, 12, 9, 3], 2, "SAME"),
        IMAGE,
        plain(3, 3, 3, 4),
    ),
    conv3d_transpose=row(
        lambda x, w: tf.nn.conv3d_transpose(x, w, [1, 4, 4, 4, 3], 2, "SAME"),
        plain(1, 2, 2, 2, 2),
        plain(2, 2, 2, 3, 2),
    ),
    atrous=row(lambda x, w: tf.nn.atrous_conv2d(x, w, 2, "SAME"), IMAGE, plain(2, 3, 4, 2)),
    max_pool=row(
        lambda x: tf.nn.max_pool2d(x, 2, 1, "SAME"), real(2, 6, 5, 4), is_left_out=has_nan, why=NAN
    ),
    max_pool_explicit=row(
        lambda x: tf.nn.max_pool2d(x, 3, 2, [[0, 0], [1, 1], [0, 1], [0, 0]]),
        real(2, 6, 5, 4),
        is_left_out=has_nan,
        why=NAN,
    ),
    max_pool3d=row(
        lambda x: tf.nn.max_pool3d(x, 2, 2, "VALID"),
        real(1, 4, 4, 4, 2),
        is_left_out=has_nan,
        why=NAN,
    ),
    avg_pool=row(lambda x: tf.nn.avg_pool2d(x, 3, 2, "SAME"), real(2, 6, 5, 4)),
    avg_pool3d=row(lambda x: tf.nn.avg_pool3d(x, 2, 1, "SAME"), real(1, 4, 4, 4, 2)),
    pool_dilated=row(
        lambda x: tf.nn.pool(x, [2, 2], "MAX", dilations=[2, 2], padding="VALID"),
        real(2, 6, 5, 4),
        is_left_out=has_nan,
        why=NAN,
    ),
    max_pool_argmax=row(
        lambda x: tf.nn.max_pool_with_argmax(x, 2, 2, "VALID"),
        plain(2, 6, 4, 3),
        refused="MaxPoolWithArgmax",
    ),
    fractional=row(
        lambda x: tf.nn.fractional_max_pool(x, [1.0, 1.4, 1.4, 1.0], seed=3),
        plain(1, 6, 6, 1),
        refused="FractionalMaxPool",
    ),
    dilation2d=row(
        lambda x, w: tf.nn.dilation2d(x, w, [1, 1, 1, 1], "SAME", "NHWC", [1, 1, 1, 1]),
        IMAGE,
        plain(2, 3, 4),
        refused="Dilation2D",
    ),
    space_to_depth=row(lambda x: tf.nn.space_to_depth(x, 2), plain(1, 4, 6, 3)),
    depth_to_space=row(lambda x: tf.nn.depth_to_space(x, 2), plain(1, 2, 3, 8)),
    embedding_lookup=row(
        lambda w, i: tf.nn.embedding_lookup(w, i, max_norm=1.0), plain(5, 3), whole(4)
    ),
    dropout=row(lambda x: tf.nn.experimental.stateless_dropout(x, 0.0, seed=[1, 2]), plain(4, 6)),
    erosion2d=row(
        lambda x, w: tf.nn.erosion2d(x, w, [1, 1, 1, 1], "SAME", "NHWC", [1, 1, 1, 1]),
        IMAGE,
        plain(2, 3, 4),
        refused="Dilation2D",
    ),
    ctc_loss=row(
        lambda x: tf.nn.ctc_loss([[1, 2]], x, [2], [5], logits_time_major=False, blank_index=0),
        plain(1, 5, 4),
        refused="Empty",
    ),
    with_space_to_batch=row(
        lambda x, w: tf.nn.convolution(x, w, padding="SAME", dilations=[1, 2]),
        IMAGE,
        plain(2, 3, 4, 2),
    ),
    compute_accidental=row(lambda x: tf.nn.scale_regularization_loss(x), plain(4)),
)
# tf.linalg
S = matrix(2, 3, 3, kind="definite")
G = matrix(2, 3, 3)
add(
    "linalg",
    cholesky=row(tf.linalg.cholesky, S),
    cholesky_solve=row(
        lambda x, b: tf.linalg.cholesky_solve(tf.linalg.cholesky(x), b), S, matrix(2, 3, 2)
    ),
    det=row(tf.linalg.det, G),
    slogdet=row(tf.linalg.slogdet, G),
    logdet=row(tf.linalg.logdet, S),
    inv=row(lambda x: tf.linalg.inv(x, adjoint=True), G),
    solve=row(lambda a, b: tf.linalg.solve(a, b, adjoint=True), G, matrix(2, 3, 2)),
    triangular=row(
        lambda a, b: tf.linalg.triangular_solve(a, b, lower=True, adjoint=True),
        matrix(2, 3, 3, kind="lower"),
        matrix(2, 3, 2),
    ),
    lstsq=row(
        lambda a, b: tf.linalg.lstsq(a, b, l2_regularizer=0.1),
        matrix(5, 3),
        matrix(5, 2),
        gradient_tolerance=1e-3,
        tolerance=1e-4,
    ),
    eigvals=row(lambda x: tf.reduce_sum(tf.math.real(tf.exp(tf.linalg.eigvals(x)))), matrix(3, 3)),
    eig=row(lambda x: tf.reduce_sum(tf.abs(tf.linalg.eig(x)[1]), 1), matrix(3, 3)),
    eigh=row(lambda x: tf.linalg.eigvalsh(x), S),
    svd=row(lambda x: tf.linalg.svd(x, compute_uv=False), matrix(3, 4)),
    svd_vectors=row(
        lambda x: [tf.abs(y) for y in tf.linalg.svd(x)],
        matrix(3, 4),
        gradient=False,
        tolerance=2e-4,
    ),
    qr=row(
        lambda x: [tf.abs(y) for y in tf.linalg.qr(x)],
        matrix(4, 3),
        tolerance=1e-4,
        gradient_tolerance=1e-3,
    ),
    lu=row(lambda x: tf.linalg.lu(x), matrix(3, 3), refused="Lu"),
    expm=row(tf.linalg.expm, plain(3, 3), tolerance=2e-4, gradient_tolerance=1e-3),
    pinv=row(lambda x: tf.linalg.pinv(x), matrix(3, 4), gradient_tolerance=1e-3, tolerance=1e-4),
    matrix_rank=row(lambda x: tf.linalg.matrix_rank(x), matrix(3, 4)),
    band_part=row(lambda x: tf.linalg.band_part(x, 1, -1), real(4, 6)),
    diag=row(lambda x: tf.linalg.diag(x), real(3, 4)),
    diag_offset=row(lambda x: tf.linalg.diag(x, k=1, padding_value=7.0), real(3, 4)),
    diag_band=row(lambda x: tf.linalg.diag(x, k=(-1, 0)), real(2, 4), refused="MatrixDiagV3"),
    diag_part=row(lambda x: tf.linalg.diag_part(x, k=-1), real(2, 4, 5)),
    diag_part_band=row(
        lambda x: tf.linalg.diag_part(x, k=(-1, 1), padding_value=9.0, align="LEFT_RIGHT"),
        real(2, 4, 5),
        refused="MatrixDiagPartV3",
    ),
    set_diag=row(lambda x, d: tf.linalg.set_diag(x, d), real(4, 4), real(4)),
    set_diag_offset=row(lambda x, d: tf.linalg.set_diag(x, d, k=1), real(4, 4), real(3)),
    tensor_diag=row(lambda x: tf.linalg.tensor_diag(x), real(3, 2)),
    tensor_diag_part=row(lambda x: tf.linalg.tensor_diag_part(x), real(3, 3)),
    trace=row(lambda x: tf.linalg.trace(x), plain(2, 4, 5)),
    norm=row(lambda x: tf.norm(x, ord=1, axis=1, keepdims=True), R),
    norm_2=row(lambda x: tf.norm(x, axis=0), plain(4, 6)),
    norm_inf=row(lambda x: tf.norm(x, ord=np.inf, axis=1), R),
    norm_fro=row(lambda x: tf.norm(x, ord="fro", axis=[0, 1]), plain(4, 6)),
    cross=row(lambda x, y: tf.linalg.cross(x, y), plain(4, 3), plain(4, 3)),
    adjoint=row(lambda x: tf.linalg.adjoint(x), cplx(3, 4)),
    matvec=row(lambda x, y: tf.linalg.matvec(x, y, transpose_a=True), plain(4, 3), plain(4)),
    global_norm=row(lambda x, y: tf.linalg.global_norm([x, y]), plain(3), plain(4)),
    tridiagonal_solve=row(
        lambda d, b: tf.linalg.tridiagonal_solve(
            d + [[0.0], [5.0], [0.0]], b, diagonals_format="compact"
        ),
        plain(3, 4),
        plain(4, 2),
        refused="TridiagonalSolve",
    ),
    sqrtm=row(
        lambda x: tf.linalg.sqrtm(x), matrix(3, 3, kind="definite"), refused="MatrixSquareRoot"
    ),
)
# tf.signal
add(
    "signal",
    fft=row(tf.signal.fft, cplx(3, 6)),
    ifft=row(tf.signal.ifft, cplx(3, 6)),
    fft2d=row(tf.signal.fft2d, cplx(2, 3, 4)),
    ifft2d=row(tf.signal.ifft2d, cplx(2, 3, 4)),
    fft3d=row(tf.signal.fft3d, cplx(2, 3, 4)),
    rfft=row(lambda x: tf.signal.rfft(x, [8]), plain(3, 6)),
    rfft_short=row(
        lambda x: tf.signal.rfft(x, [5]),
        plain(3, 6),
        gradient=False,
        why="TensorFlow's derivative has another shape than x",
    ),
    irfft=row(lambda x: tf.signal.irfft(x, [7]), cplx(3, 4)),
    rfft2d=row(tf.signal.rfft2d, plain(2, 4, 6)),
    irfft2d=row(lambda x: tf.signal.irfft2d(x, [3, 5]), cplx(2, 4, 4)),
    rfft3d=row(tf.signal.rfft3d, plain(2, 4, 6), gradient=False, why=NO_GRADIENT),
    fftshift=row(lambda x: tf.signal.fftshift(x, axes=[1]), R),
    ifftshift=row(lambda x: tf.signal.ifftshift(x), R),
    dct=row(lambda x: tf.signal.dct(x, type=2, norm="ortho"), plain(3, 6)),
    idct=row(lambda x: tf.signal.idct(x, type=2), plain(3, 6)),
    frame=row(lambda x: tf.signal.frame(x, 4, 2, pad_end=True), plain(2, 9), refused="PadV2"),
    stft=row(lambda x: tf.signal.stft(x, 8, 4), plain(2, 20)),
    overlap_and_add=row(lambda x: tf.signal.overlap_and_add(x, 2), plain(2, 5, 4)),
    hann=row(lambda x: x * tf.signal.hann_window(6, periodic=False), plain(4, 6)),
    mfcc=row(lambda x: tf.signal.mfccs_from_log_mel_spectrograms(x), plain(3, 6)),
    mel=row(lambda x: x @ tf.signal.linear_to_mel_weight_matrix(4, 6, 8000), plain(3, 6)),
    mdct=row(lambda x: tf.signal.mdct(x, 8), plain(32)),
)
# tf.image
add(
    "image",
    **{
        f"resize_{method}": row(
            lambda x, m=method: tf.image.resize(x, [3, 8], method=m),
            IMAGE,
            refused=op,
            tolerance=1e-4,
            why="TensorFlow rounds places between pixels",
        )
        for method, op in {
            "bilinear": "",
            "nearest": "",
            "bicubic": "",
            "area": "ResizeArea",
            "lanczos3": "ScaleAndTranslate",
            "gaussian": "ScaleAndTranslate",
            "mitchellcubic": "ScaleAndTranslate",
        }.items()
    },
    resize_v1=row(
        lambda x: tf.compat.v1.image.resize_bilinear(x, [4, 9], align_corners=True), IMAGE
    ),
    resize_nearest_v1=row(lambda x: tf.compat.v1.image.resize_nearest_neighbor(x, [4, 9]), IMAGE),
    resize_antialias=row(
        lambda x: tf.image.resize(x, [3, 3], antialias=True), IMAGE, refused="ScaleAndTranslate"
    ),
    crop_and_resize=row(
        lambda x, b: tf.image.crop_and_resize(x, b, [0, 1], [3, 3]),
        IMAGE,
        plain(2, 4, low=0, high=1),
        refused="CropAndResize",
    ),
    flip=row(lambda x: tf.image.flip_left_right(x), IMAGE),
    rot90=row(lambda x: tf.image.rot90(x, 3), IMAGE),
    central_crop=row(lambda x: tf.image.central_crop(x, 0.5), IMAGE),
    pad=row(lambda x: tf.image.pad_to_bounding_box(x, 1, 2, 9, 8), IMAGE),
    rgb_to_grayscale=row(tf.image.rgb_to_grayscale, plain(2, 4, 5, 3)),
    rgb_to_hsv=row(tf.image.rgb_to_hsv, plain(2, 4, 5, 3, low=0.0, high=1.0), refused="RGBToHSV"),
    hsv_to_rgb=row(tf.image.hsv_to_rgb, plain(2, 4, 5, 3, low=0.0, high=1.0), refused="HSVToRGB"),
    rgb_to_yuv=row(tf.image.rgb_to_yuv, plain(2, 4, 5, 3, low=0.0, high=1.0)),
    adjust_contrast=row(
        lambda x: tf.image.adjust_contrast(x, 1.5), IMAGE, gradient=False, why=NO_GRADIENT
    ),
    adjust_hue=row(
        lambda x: tf.image.adjust_hue(x, 0.1),
        plain(2, 4, 5, 3, low=0.0, high=1.0),
        refused="AdjustHue",
    ),
    adjust_saturation=row(
        lambda x: tf.image.adjust_saturation(x, 0.7),
        plain(2, 4, 5, 3, low=0.0, high=1.0),
        refused="AdjustSaturation",
    ),
    adjust_gamma=row(
        lambda x: tf.image.adjust_gamma(x, 0.8, 1.2), plain(2, 4, 5, 3, low=0.1, high=1.0)
    ),
    standardization=row(tf.image.per_image_standardization, IMAGE),
    ssim=row(
        lambda x, y: tf.image.ssim(x, y, 1.0, filter_size=3),
        plain(1, 6, 5, 2, low=0, high=1),
        plain(1, 6, 5, 2, low=0, high=1),
        tolerance=1e-4,
    ),
    psnr=row(lambda x, y: tf.image.psnr(x, y, 1.0), IMAGE, IMAGE),
    total_variation=row(tf.image.total_variation, IMAGE),
    sobel=row(tf.image.sobel_edges, IMAGE),
    gradients=row(tf.image.image_gradients, IMAGE),
    extract_patches=row(
        lambda x: tf.image.extract_patches(x, [1, 2, 2, 1], [1, 2, 1, 1], [1, 1, 1, 1], "VALID"),
        IMAGE,
        refused="ExtractImagePatches",
    ),
    nms=row(
        lambda b, s: tf.image.non_max_suppression(b, s, 3),
        plain(5, 4, low=0, high=1),
        plain(5),
        refused="NonMaxSuppressionV3",
    ),
    convert=row(
        lambda x: tf.image.convert_image_dtype(x, "float32"),
        whole(2, 3, 3, 1, high=255, dtype="uint8"),
    ),
    transpose=row(tf.image.transpose, IMAGE),
)

REASONS = {
    "rounding is multiplied by the condition of the matrices": (
        "linalg.lstsq linalg.qr linalg.expm linalg.pinv"
    ),
    "TensorFlow has no derivative of the absolute numbers of vectors": "linalg.svd_vectors",
    "TensorFlow has no derivative by the order": "math.zeta math.polygamma",
    "variances are differences of means": "image.ssim",
    "the shape depends on the data": "tf.boolean_mask",
    "float16": "math.cast_half",
}
for why, names in REASONS.items():
    for name in names.split():
        ROWS[name] = replace(ROWS[name], why=why)
