"""Functions of jax.numpy, jax.lax, jax.nn and jax.scipy with unusual options, as programs."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import jax.scipy as jsp
import numpy as np
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
from jax import lax

E = each(5, 7)
P = each(5, 7, low=0.1, high=3.0)
U = each(5, 7, low=-0.9, high=0.9)
R = real(4, 6)
I32 = whole(4, 6, low=-9, high=9, hard=HARD_INTEGERS)
B = truth(4, 6)

ROWS = Table()
NO_GRADIENT = "JAX has no derivative for it"
CANCELS = "what is left of 1 + tanh or 1 + erf comes from rounding"
OF_BETA = "what is left of logarithms of large numbers comes from rounding"
LARGE = "JAX stops after 2000 terms, which large numbers need more of"


def is_large(*inputs):
    return any([np.nanmax(np.abs(x), initial=0, where=np.isfinite(x)) > 1e4 for x in inputs])


add, unary, binary = ROWS.add, ROWS.unary, ROWS.binary


# jax.numpy, element by element
unary(
    "jnp",
    "abs sign floor ceil trunc rint exp exp2 expm1 square reciprocal sin cos tan arctan",
    E,
    jnp,
)
unary("jnp", "sinh cosh tanh arcsinh deg2rad rad2deg sinc cbrt", E, jnp)
unary("jnp", "isnan isinf isfinite isposinf isneginf signbit", E, jnp)
unary("jnp", "angle real imag nan_to_num positive negative", E, jnp)
unary("jnp", "log log2 log10 log1p sqrt", P, jnp)
unary("jnp", "arcsin arccos arctanh", U, jnp)
ROWS["jnp.arccosh"] = row(jnp.arccosh, each(5, 7, low=1.1, high=4.0))
binary("jnp", "add subtract multiply divide arctan2 hypot logaddexp", E, jnp)
binary("jnp", "logaddexp2 maximum minimum fmax fmin copysign heaviside", E, jnp)
ROWS["jnp.nextafter"] = row(jnp.nextafter, E, E, gradient=False, why=NO_GRADIENT)
binary("jnp", "greater less_equal equal not_equal logical_xor logical_and", E, jnp)
MIDDLE = each(5, 7, only=lambda x: not 0 < abs(x) < 1e-3 and not 1e9 < abs(x) < 1e39)
binary(
    "jnp", "floor_divide mod fmod divmod", MIDDLE, jnp, why="torch has nan where x / y overflows"
)
ROWS["jnp.power"] = row(jnp.power, P, E)
ROWS["jnp.float_power"] = row(jnp.float_power, P, E)
add(
    "jnp",
    round=row(lambda x: jnp.round(x, 1), E),
    round_negative=row(lambda x: jnp.round(x, -1), E),
    modf=row(lambda x: jnp.modf(x), E),
    frexp=row(lambda x: jnp.frexp(x), E),
    ldexp=row(lambda x, n: jnp.ldexp(x, n), E, whole(5, 7, low=-20, high=20)),
    nan_to_num_options=row(lambda x: jnp.nan_to_num(x, nan=1.0, posinf=2.0, neginf=-2.0), E),
    isclose=row(lambda x, y: jnp.isclose(x, y, rtol=0.1, equal_nan=True), E, E),
    allclose=row(lambda x, y: jnp.allclose(x, y, equal_nan=True), R, R),
    array_equal=row(lambda x: jnp.array_equal(x, x, equal_nan=True), R),
    clip=row(lambda x: jnp.clip(x, -0.5, 1.0), E),
    clip_arrays=row(lambda x, y: jnp.clip(x, min=y), E, E),
    i0=row(jnp.i0, E),
    spacing=row(jnp.spacing, plain(5, 7, low=0.1), gradient=False, why="it is constant"),
    polyval=row(lambda p, x: jnp.polyval(p, x), plain(4), plain(5)),
    piecewise=row(
        lambda x: jnp.piecewise(x, [x < 0, x > 1], [lambda z: -z, lambda z: z * z, 7.0]), E
    ),
    unwrap=row(lambda x: jnp.unwrap(x * 3, axis=0), plain(6, 3)),
    conj=row(lambda x: jnp.conj(x) * 2, cplx(3, 4)),
    abs_complex=row(jnp.abs, cplx(3, 4)),
    angle_complex=row(lambda x: jnp.angle(x, deg=True), cplx(3, 4)),
    exp_complex=row(jnp.exp, cplx(3, 4)),
    log_complex=row(jnp.log, cplx(3, 4)),
    sqrt_complex=row(jnp.sqrt, cplx(3, 4)),
    mul_complex=row(lambda x, y: x * y + x / y, cplx(3, 4), cplx(3, 4)),
)
# integers
binary("jnp", "gcd lcm bitwise_and bitwise_or bitwise_xor", whole(4, 6, low=-30, high=30), jnp)
add(
    "jnp",
    floor_divide_int=row(jnp.floor_divide, I32, whole(4, 6, low=1, high=5)),
    mod_int=row(jnp.mod, I32, whole(4, 6, low=1, high=5)),
    fmod_int=row(jnp.fmod, I32, whole(4, 6, low=1, high=5)),
    power_int=row(lambda x: jnp.power(x, 3), I32),
    left_shift=row(jnp.left_shift, I32, whole(4, 6, high=31)),
    right_shift=row(jnp.right_shift, I32, whole(4, 6, high=31)),
    bitwise_count=row(jnp.bitwise_count, I32),
    invert=row(jnp.invert, I32),
    abs_int=row(jnp.abs, I32),
    sign_int=row(jnp.sign, I32),
    mean_int=row(lambda x: jnp.mean(x, axis=0), whole(4, 6, high=100)),
    sum_int8=row(lambda x: jnp.sum(x, axis=0, dtype="int8"), whole(4, 6, high=100, dtype="int8")),
    sum_bool=row(lambda x: jnp.sum(x, axis=1), B),
    prod_int=row(lambda x: jnp.prod(x, axis=1), whole(4, 6, high=9)),
    max_uint=row(lambda x: jnp.max(x, axis=1), whole(4, 6, high=200, dtype="uint8")),
    divide_int=row(jnp.true_divide, I32, whole(4, 6, low=1, high=5)),
    packbits=row(lambda x: jnp.packbits(x, axis=1), whole(4, 6, high=2, dtype="uint8")),
    unpackbits=row(
        lambda x: jnp.unpackbits(x, axis=1, bitorder="little"),
        whole(4, 2, high=256, dtype="uint8"),
    ),
    astype_int=row(
        lambda x: x.astype("int32"),
        plain(4, 6, low=-9, high=9),
        why="numbers outside of the type differ by processor",
    ),
    astype_bool=row(lambda x: x.astype(bool), E),
    astype_half=row(lambda x: x.astype("float16"), each(4, 6), tolerance=1e-3),
    view=row(lambda x: x.view("int32"), E),
    view_float=row(lambda x: x.view("float32"), whole(4, 6, low=0, high=2**30)),
)
# reductions
unary("jnp", "sum prod max min mean std var any all ptp median count_nonzero", R, jnp)
unary("jnp", "nansum nanprod nanmax nanmin nanmean nanstd nanvar nanmedian", R, jnp)
unary("jnp", "cumsum cumprod nancumsum nancumprod argmax argmin", R, jnp)
add(
    "jnp",
    sum_options=row(lambda x, m: jnp.sum(x, axis=(0,), keepdims=True, where=m, initial=3.0), R, B),
    max_options=row(lambda x, m: jnp.max(x, axis=1, where=m, initial=-1.0), R, B),
    min_options=row(lambda x, m: jnp.min(x, axis=1, where=m, initial=1.0), R, B),
    mean_where=row(lambda x, m: jnp.mean(x, axis=0, where=m), R, B),
    var_ddof=row(lambda x: jnp.var(x, axis=1, ddof=1), R),
    std_keep=row(lambda x: jnp.std(x, axis=0, keepdims=True, ddof=2), R),
    argmax_axis=row(lambda x: jnp.argmax(x, axis=1, keepdims=True), R),
    argmin_axis=row(lambda x: jnp.argmin(x, axis=0), R),
    nanargmax=row(lambda x: jnp.nanargmax(x, axis=0), R),
    nanargmin=row(lambda x: jnp.nanargmin(x, axis=0), R),
    average=row(
        lambda x, w: jnp.average(x, axis=1, weights=w, returned=True), R, real(4, 6, low=0.5)
    ),
    cumsum_axis=row(lambda x: jnp.cumsum(x, axis=1), R),
    quantile=row(lambda x: jnp.quantile(x, jnp.array([0.1, 0.7]), axis=1), R),
    quantile_lower=row(lambda x: jnp.quantile(x, 0.3, axis=0, method="lower"), R),
    quantile_nearest=row(lambda x: jnp.quantile(x, 0.4, axis=0, method="nearest"), R),
    quantile_midpoint=row(lambda x: jnp.quantile(x, 0.4, axis=0, method="midpoint"), R),
    nanquantile=row(lambda x: jnp.nanquantile(x, 0.6, axis=1), R),
    percentile=row(lambda x: jnp.percentile(x, 35.0, axis=1, keepdims=True), R),
    trapezoid=row(lambda x: jnp.trapezoid(x, dx=0.5, axis=0), R),
    cov=row(lambda x: jnp.cov(x, ddof=0), plain(3, 6)),
    corrcoef=row(lambda x: jnp.corrcoef(x), plain(3, 6)),
    diff=row(lambda x: jnp.diff(x, n=2, axis=1, prepend=0.0), R),
    ediff1d=row(lambda x: jnp.ediff1d(x, to_begin=1.0, to_end=2.0), R),
    gradient=row(lambda x: jnp.gradient(x, 0.5, axis=1), R),
    norm_2=row(lambda x: jnp.linalg.norm(x, axis=1), R),
    norm_1=row(lambda x: jnp.linalg.norm(x, ord=1, axis=0, keepdims=True), R),
    norm_inf=row(lambda x: jnp.linalg.norm(x, ord=-jnp.inf, axis=1), R),
    norm_3=row(lambda x: jnp.linalg.norm(x, ord=3, axis=1), plain(4, 6)),
    norm_0=row(lambda x: jnp.linalg.norm(x, ord=0, axis=1), R),
    norm_fro=row(lambda x: jnp.linalg.norm(x, ord="fro"), R),
    norm_nuc=row(lambda x: jnp.linalg.norm(x, ord="nuc"), matrix(3, 4)),
)
# order
add(
    "jnp",
    sort=row(lambda x: jnp.sort(x, axis=0), R),
    sort_descending=row(lambda x: jnp.sort(x, axis=1, descending=True), R),
    argsort=row(lambda x: jnp.argsort(x, axis=1), R),
    argsort_descending=row(lambda x: jnp.argsort(x, axis=1, descending=True), R),
    lexsort=row(lambda a, b: jnp.lexsort((a, b)), whole(9, high=3), real(9)),
    partition=row(lambda x: jnp.sort(jnp.partition(x, 2, axis=1)[:, :3], axis=1), R),
    argpartition=row(lambda x: jnp.argpartition(x, 2, axis=1)[:, 2], plain(4, 6)),
    sort_complex=row(jnp.sort_complex, cplx(6)),
    searchsorted=row(lambda a, v: jnp.searchsorted(jnp.sort(a), v, side="right"), real(8), real(5)),
    searchsorted_sorter=row(
        lambda a, v: jnp.searchsorted(a, v, sorter=jnp.argsort(a), side="left"), real(8), real(5)
    ),
    searchsorted_sort=row(
        lambda a, v: jnp.searchsorted(jnp.sort(a), v, method="sort"), real(8), real(5)
    ),
    digitize=row(lambda x: jnp.digitize(x, jnp.array([-1.0, 0.0, 1.0]), right=True), E),
    unique=row(lambda x: jnp.unique(x, size=8, fill_value=-1, return_counts=True), whole(12)),
    unique_inverse=row(
        lambda x: jnp.unique(x, size=6, return_inverse=True, return_index=True), whole(12)
    ),
    histogram=row(
        lambda x: jnp.histogram(x, bins=5, range=(-1.0, 1.0)),
        plain(20),
        gradient=False,
        why="numbers outside of the range of int32 have no bin",
    ),
    bincount=row(lambda x, w: jnp.bincount(x, weights=w, length=4), whole(12), real(12)),
    isin=row(lambda x, y: jnp.isin(x, y, invert=True), whole(12), whole(3)),
    union1d=row(lambda x, y: jnp.union1d(x, y, size=9), whole(5), whole(6)),
    intersect1d=row(lambda x, y: jnp.intersect1d(x, y, size=5), whole(5), whole(6)),
    setdiff1d=row(lambda x, y: jnp.setdiff1d(x, y, size=5, fill_value=9), whole(5), whole(6)),
    nonzero=row(lambda x: jnp.nonzero(x, size=9, fill_value=-1), B),
    argwhere=row(lambda x: jnp.argwhere(x, size=9), B),
    compress=row(lambda x: jnp.compress(np.array([True, False, True]), x, axis=1, size=2), R),
    select=row(lambda x: jnp.select([x > 1, x < -1], [x * 2, -x], default=0.5), E),
    where=row(lambda c, x: jnp.where(c, x, 0.0), B, R),
    choose=row(
        lambda i, x, y: jnp.choose(i, [x, y], mode="wrap"), whole(4, 6, low=-3, high=5), R, R
    ),
    interp=row(
        lambda x, y: jnp.interp(x, jnp.array([-1.0, 0.0, 2.0]), y, left=-7.0, right=8.0),
        plain(9),
        plain(3),
    ),
    interp_period=row(
        lambda x, y: jnp.interp(x, jnp.array([0.5, 1.0, 2.0]), y, period=3.0), plain(9), plain(3)
    ),
)
# shapes and products
add(
    "jnp",
    **{
        f"pad_{mode}": row(lambda x, mode=mode: jnp.pad(x, ((1, 2), (2, 0)), mode=mode), R)
        for mode in "edge reflect symmetric wrap maximum minimum mean linear_ramp".split()
    },
    pad_constant=row(lambda x: jnp.pad(x, ((1, 2), (0, 1)), constant_values=((1, 2), (3, 4))), R),
    pad_odd=row(lambda x: jnp.pad(x, 2, mode="reflect", reflect_type="odd"), R),
    roll=row(lambda x: jnp.roll(x, (1, -8), axis=(0, 1)), R),
    rot90=row(lambda x: jnp.rot90(x, 3), R),
    flip=row(lambda x: jnp.flip(x, axis=(0, 1)), R),
    repeat=row(lambda x: jnp.repeat(x, jnp.array([1, 0, 3, 2]), axis=0, total_repeat_length=6), R),
    take_clip=row(lambda x, i: jnp.take(x, i, axis=1, mode="clip"), R, whole(5, low=-8, high=9)),
    take_wrap=row(lambda x, i: jnp.take(x, i, axis=1, mode="wrap"), R, whole(5, low=-8, high=9)),
    take_fill=row(
        lambda x, i: jnp.take(x, i, axis=0, mode="fill", fill_value=-3.0),
        R,
        whole(5, low=-8, high=9),
    ),
    take_default=row(lambda x, i: jnp.take(x, i, axis=0), R, whole(5, low=-8, high=9)),
    take_along_axis=row(
        lambda x, i: jnp.take_along_axis(x, i, axis=1), R, whole(4, 3, low=-8, high=9)
    ),
    index_ints=row(lambda x, i: x[i, 1:], R, whole(5, low=-4, high=4)),
    index_two=row(lambda x, i, j: x[i, :, j], real(3, 4, 5), whole(2, high=3), whole(2)),
    index_far=row(
        lambda x, i: x[i],
        R,
        whole(5, low=-9, high=9),
        gradient=False,
        why="JAX clips an index beyond the end, and gives what it reads there no derivative",
    ),
    at_add=row(lambda x, i: x.at[i].add(2.0), R, whole(5, low=-8, high=8)),
    at_set=row(lambda x, i, y: x.at[:, i].set(y), R, whole(1, low=-8, high=8), real(4, 1)),
    at_max=row(lambda x, i, y: x.at[i].max(y, mode="drop"), real(6), whole(4, high=9), real(4)),
    at_min=row(lambda x, i, y: x.at[i].min(y), real(6), whole(4), real(4)),
    at_multiply=row(
        lambda x, i, y: x.at[i].multiply(y),
        real(6),
        whole(4),
        real(4),
        gradient=False,
        why=NO_GRADIENT,
    ),
    at_divide=row(lambda x, i: x.at[i].divide(2.0), real(6), whole(1)),
    at_power=row(lambda x, i: x.at[i].power(2.0), plain(6, low=0.1), whole(1)),
    at_apply=row(lambda x, i: x.at[i].apply(jnp.exp), plain(6), whole(1), refused="scatter"),
    at_get=row(lambda x, i: x.at[i].get(mode="fill", fill_value=7.0), real(6), whole(4, high=9)),
    insert=row(lambda x: jnp.insert(x, 2, 5.0, axis=1), R),
    delete=row(lambda x: jnp.delete(x, 2, axis=1), R),
    diag=row(lambda x: jnp.diag(x, k=-1), real(4)),
    diagonal=row(lambda x: jnp.diagonal(x, offset=1, axis1=2, axis2=0), real(3, 4, 5)),
    trace=row(lambda x: jnp.trace(x, offset=-1), R),
    tril=row(lambda x: jnp.tril(x, k=-1), R),
    triu=row(lambda x: jnp.triu(x, k=1), R),
    vander=row(lambda x: jnp.vander(x, 4, increasing=True), plain(5)),
    meshgrid=row(lambda x, y: jnp.meshgrid(x, y, indexing="ij"), real(3), real(4)),
    array_split=row(lambda x: jnp.array_split(x, 4, axis=1), R),
    block=row(lambda x: jnp.block([[x, x], [x, x * 2]]), R),
    resize=row(lambda x: jnp.resize(x, (5, 7)), R),
    kron=row(jnp.kron, plain(2, 3), plain(3, 2)),
    outer=row(jnp.outer, real(3), real(4)),
    inner=row(jnp.inner, plain(3, 4), plain(2, 4)),
    cross=row(lambda x, y: jnp.cross(x, y, axis=0), plain(3, 4), plain(3, 4)),
    dot=row(jnp.dot, plain(2, 3, 4), plain(4, 5)),
    vdot=row(jnp.vdot, cplx(3, 4), cplx(3, 4)),
    tensordot=row(
        lambda x, y: jnp.tensordot(x, y, axes=((0, 2), (1, 0))), plain(3, 2, 4), plain(4, 3, 2)
    ),
    einsum=row(lambda x, y: jnp.einsum("bij,bkj->ik", x, y), plain(2, 3, 4), plain(2, 5, 4)),
    einsum_diagonal=row(lambda x: jnp.einsum("iij->j", x), plain(3, 3, 4)),
    matmul_batched=row(jnp.matmul, plain(2, 1, 3, 4), plain(5, 4, 2)),
    matmul_int=row(jnp.matmul, whole(3, 4, high=100), whole(4, 2, high=100)),
    matmul_half=row(
        lambda x, y: jnp.matmul(
            x.astype("float16"), y.astype("float16"), preferred_element_type="float32"
        ),
        plain(3, 4),
        plain(4, 2),
        tolerance=1e-3,
        gradient_tolerance=5e-3,
        why="float16",
    ),
    convolve=row(lambda x, y: jnp.convolve(x, y, mode="same"), plain(8), plain(3)),
    correlate=row(lambda x, y: jnp.correlate(x, y, mode="full"), plain(8), plain(3)),
    apply_along_axis=row(lambda x: jnp.apply_along_axis(jnp.sort, 0, x), R),
    fft=row(lambda x: jnp.fft.fft(x, n=8, axis=0), plain(6, 3)),
    ifft=row(lambda x: jnp.fft.ifft(x, norm="ortho"), cplx(3, 6)),
    rfft=row(lambda x: jnp.fft.rfft(x, n=5), plain(3, 6)),
    irfft=row(lambda x: jnp.fft.irfft(x, n=7), cplx(3, 4)),
    rfft2=row(lambda x: jnp.fft.rfft2(x, norm="forward"), plain(2, 4, 6)),
    fftshift=row(lambda x: jnp.fft.fftshift(x, axes=1), R),
    hfft=row(lambda x: jnp.fft.hfft(x), cplx(3, 4)),
)
# jax.nn
unary("nn", "relu relu6 elu celu selu leaky_relu hard_tanh hard_sigmoid hard_swish", E, jax.nn)
unary("nn", "gelu silu mish squareplus", E, jax.nn, floor=1.0, why=CANCELS)
unary("nn", "soft_sign softplus sparse_plus sparse_sigmoid log_sigmoid sigmoid", E, jax.nn)
add(
    "nn",
    elu_alpha=row(lambda x: jax.nn.elu(x, alpha=0.3), E),
    celu_alpha=row(lambda x: jax.nn.celu(x, alpha=2.0), E),
    gelu_exact=row(
        lambda x: jax.nn.gelu(x, approximate=False),
        each(5, 7, only=np.isfinite),
        floor=1.0,
        why=f"{CANCELS}; torch's own is nan at infinity",
    ),
    leaky_slope=row(lambda x: jax.nn.leaky_relu(x, 0.3), E),
    glu=row(lambda x: jax.nn.glu(x, axis=0), R),
    softmax=row(lambda x: jax.nn.softmax(x, axis=0), R),
    softmax_where=row(lambda x, m: jax.nn.softmax(x, where=m), R, B),
    log_softmax=row(lambda x: jax.nn.log_softmax(x, axis=0), R),
    logsumexp=row(lambda x, b: jax.nn.logsumexp(x, axis=1, b=b, return_sign=True), R, real(4, 6)),
    standardize=row(lambda x: jax.nn.standardize(x, axis=0, epsilon=1e-3), R),
    one_hot=row(lambda i: jax.nn.one_hot(i, 4, axis=0), whole(6, low=-2, high=6)),
    attention=row(
        lambda q, k: jax.nn.dot_product_attention(q, k, k, is_causal=True, scale=0.3),
        plain(2, 5, 2, 4),
        plain(2, 5, 2, 4),
    ),
)
# jax.lax
binary("lax", "atan2 max min pow", E, lax)
binary("lax", "rem", MIDDLE, lax, why="torch has nan where x / y overflows")
ROWS["lax.nextafter"] = row(lax.nextafter, E, E, gradient=False, why=NO_GRADIENT)
unary("lax", "erf erfc rsqrt is_finite logistic cbrt round sign", E, lax)
unary(
    "lax", "lgamma digamma", E, lax, floor=1.0, why="JAX itself is as exact as that near its zeros"
)
unary("lax", "bessel_i0e bessel_i1e", E, lax)
add(
    "lax",
    erf_inv=row(lax.erf_inv, U),
    round_even=row(lambda x: lax.round(x, lax.RoundingMethod.TO_NEAREST_EVEN), E),
    integer_pow=row(lambda x: lax.integer_pow(x, -3), E),
    integer_pow_5=row(lambda x: lax.integer_pow(x, 5), E),
    clamp=row(lambda x: lax.clamp(-0.5, x, 0.25), E),
    clz=row(lax.clz, I32),
    population_count=row(lax.population_count, I32),
    population_count_8=row(lax.population_count, whole(4, 6, low=0, high=256, dtype="uint8")),
    shift_right_logical=row(lax.shift_right_logical, I32, whole(4, 6, high=31)),
    shift_far=row(lax.shift_left, I32, whole(4, 6, low=30, high=40)),
    div_int=row(lax.div, I32, whole(4, 6, low=1, high=5)),
    div_zero=row(lax.div, I32, whole(4, 6, low=0, high=3)),
    rem_int=row(lax.rem, I32, whole(4, 6, low=1, high=5)),
    rem_zero=row(lax.rem, I32, whole(4, 6, low=0, high=3)),
    reduce_precision=row(
        lambda x: lax.reduce_precision(x, 8, 7),
        E,
        gradient_tolerance=5e-3,
        why="JAX shortens the derivative too",
    ),
    bitcast=row(lambda x: lax.bitcast_convert_type(x, "uint32"), E),
    bitcast_16=row(
        lambda x: lax.bitcast_convert_type(x, "uint16"), E, refused="bitcast_convert_type"
    ),
    igamma=row(lax.igamma, P, P, gradient=False, is_left_out=is_large, why=LARGE, tolerance=2e-4),
    igammac=row(lax.igammac, P, P, gradient=False, is_left_out=is_large, why=LARGE),
    betainc=row(lax.betainc, P, P, U, gradient=False, is_left_out=is_large, why=LARGE),
    zeta=row(lax.zeta, plain(5, low=1.1, high=5.0), plain(5, low=0.1, high=9.0), gradient=False),
    polygamma=row(
        lax.polygamma,
        whole(5, high=3, dtype="float32"),
        plain(5, low=0.1, high=9.0),
        gradient=False,
        why="by the order, which is whole",
    ),
    top_k=row(lambda x: lax.top_k(x, 3), R),
    sort_two_keys=row(lambda a, b: lax.sort((a, b), num_keys=2), whole(9, high=3), real(9)),
    sort_stable=row(
        lambda a, b: lax.sort((a, b), num_keys=1, is_stable=True), real(9), whole(9, high=90)
    ),
    sort_key_val=row(lambda a, b: lax.sort_key_val(a, b), real(9), whole(9, high=90)),
    argmax=row(lambda x: lax.argmax(x, 1, "int8"), R),
    cummax=row(lambda x: lax.cummax(x, axis=1, reverse=True), R),
    cummin=row(lambda x: lax.cummin(x, axis=0), R),
    cumlogsumexp=row(lambda x: lax.cumlogsumexp(x, axis=1), R),
    cumprod_reverse=row(lambda x: lax.cumprod(x, axis=0, reverse=True), R),
    reduce_max=row(lambda x: lax.reduce_max(x, (0,)), R),
    reduce_custom=row(
        lambda x: lax.reduce(x, 0.0, lambda a, b: a + 2 * b, (0,)), plain(4, 6), refused="reduce"
    ),
    reduce_and=row(lambda x: lax.reduce_and(x, (1,)), B),
    reduce_and_int=row(lambda x: lax.reduce_and(x, (1,)), I32),
    reduce_or_int=row(lambda x: lax.reduce_or(x, (0,)), I32),
    reduce_xor_int=row(lambda x: lax.reduce_xor(x, (0,)), I32),
    max_window=row(
        lambda x: lax.reduce_window(x, -jnp.inf, lax.max, (1, 3, 2, 1), (1, 2, 1, 1), "SAME"),
        real(2, 5, 4, 3),
    ),
    max_window_dilated=row(
        lambda x: lax.reduce_window(
            x, -jnp.inf, lax.max, (2, 3), (1, 2), "VALID", window_dilation=(2, 1)
        ),
        real(5, 6),
        gradient=False,
        why=NO_GRADIENT,
    ),
    min_window=row(
        lambda x: lax.reduce_window(x, jnp.inf, lax.min, (2, 3), (1, 1), "SAME"), real(5, 6)
    ),
    sum_window=row(
        lambda x: lax.reduce_window(x, 0.0, lax.add, (2, 3), (2, 1), ((1, 0), (0, 2))),
        plain(5, 6),
    ),
    sum_window_init=row(
        lambda x: lax.reduce_window(x, 1.0, lax.add, (2, 3), (1, 1), "VALID"),
        plain(5, 6),
        refused="reduce_window",
    ),
    max_window_init=row(
        lambda x: lax.reduce_window(x, 0.0, lax.max, (2, 3), (1, 1), "VALID"),
        real(5, 6),
        refused="reduce_window",
    ),
    max_window_int=row(
        lambda x: lax.reduce_window(x, np.int32(-(2**31)), lax.max, (2, 3), (1, 1), "VALID"),
        whole(5, 6, low=2**30, high=2**31 - 1),
    ),
    conv=row(
        lambda x, w: lax.conv_general_dilated(
            x,
            w,
            (2, 1),
            ((1, 2), (0, -1)),
            lhs_dilation=(1, 2),
            rhs_dilation=(2, 1),
            feature_group_count=2,
        ),
        plain(2, 4, 6, 5),
        plain(6, 2, 2, 3),
    ),
    conv_int=row(
        lambda x, w: lax.conv_general_dilated(x, w, (1,), "SAME"),
        whole(1, 2, 6, low=2**20, high=2**21),
        whole(3, 2, 3, low=1, high=9),
        refused="conv_general_dilated",
    ),
    conv_int8=row(
        lambda x, w: lax.conv_general_dilated(x, w, (1,), "SAME", preferred_element_type="int32"),
        whole(1, 2, 6, low=-128, high=128, dtype="int8"),
        whole(3, 2, 3, low=-128, high=128, dtype="int8"),
    ),
    conv_batch_groups=row(
        lambda x, w: lax.conv_general_dilated(x, w, (1, 1), "SAME", batch_group_count=2),
        plain(4, 3, 5, 5),
        plain(6, 3, 2, 2),
    ),
    conv_transpose=row(
        lambda x, w: lax.conv_transpose(x, w, (2, 2), "SAME", transpose_kernel=True),
        plain(1, 4, 4, 2),
        plain(3, 3, 3, 2),
    ),
    dot_general=row(
        lambda x, y: lax.dot_general(x, y, (((2,), (1,)), ((0,), (2,)))),
        plain(3, 4, 5),
        plain(2, 5, 3),
    ),
    dynamic_slice=row(
        lambda x, i: lax.dynamic_slice(x, (i[0], i[1]), (2, 3)), R, whole(2, low=-9, high=9)
    ),
    dynamic_update=row(
        lambda x, y, i: lax.dynamic_update_slice(x, y, (i[0], i[1])),
        R,
        real(2, 2),
        whole(2, low=-9, high=9),
    ),
    pad_negative=row(lambda x: lax.pad(x, 1.5, ((-1, 2, 1), (0, -2, 0))), R),
    select_n=row(lambda i, x, y: lax.select_n(i, x, y, x + y), whole(4, 6, high=3), R, R),
    associative_scan=row(lambda x: lax.associative_scan(jnp.maximum, x, axis=1, reverse=True), R),
    scan=row(lambda x: lax.scan(lambda c, r: (c * 0.5 + r, c.sum()), x[0], x, reverse=True), R),
    while_loop=row(
        lambda x: lax.while_loop(lambda s: s[0] < 4, lambda s: (s[0] + 1, s[1] * 1.5), (0, x))[1],
        R,
        gradient=False,
        why="JAX itself has no reverse derivative of a while loop",
    ),
    fori_loop=row(lambda x: lax.fori_loop(0, 3, lambda i, y: y + i * x, x), R),
    switch=row(
        lambda i, x: lax.switch(i, [jnp.sin, jnp.cos, jnp.negative], x), whole(low=-2, high=5), R
    ),
    map=row(lambda x: lax.map(jnp.sort, x), R),
    approx_max_k=row(lambda x: lax.approx_max_k(x, 3), plain(2, 9)),
    approx_min_k=row(lambda x: lax.approx_min_k(x, 3), plain(2, 9)),
    top_k_axis=row(lambda x: lax.top_k(x.T, 2), R),
    split=row(lambda x: lax.split(x, (1, 2, 3), axis=1), R),
    full_like=row(lambda x: lax.full_like(x, 3, dtype="int32"), R),
    iota=row(lambda x: x + lax.broadcasted_iota("float32", (4, 6), 0), R),
    rng_uniform=row(lambda x: x + lax.rng_uniform(0.0, 1.0, (4, 6)), R, refused="rng_uniform"),
    custom_root=row(
        lambda x: lax.custom_root(
            lambda y: y**3 - x,
            x,
            lambda f, y: lax.fori_loop(0, 30, lambda i, z: z - f(z) / (3 * z * z + 1e-6), y),
            lambda g, y: y / g(1.0),
        ),
        plain(low=1.0, high=3.0),
    ),
    reduce_prod_half=row(
        lambda x: lax.reduce_prod(x.astype("bfloat16"), (0,)),
        plain(3, 4),
        tolerance=2e-2,
        gradient_tolerance=5e-2,
        why="bfloat16",
    ),
)
# jax.lax.linalg and jax.numpy.linalg, jax.scipy.linalg
S = matrix(2, 3, 3, kind="definite")
G = matrix(2, 3, 3)
add(
    "linalg",
    cholesky=row(lambda x: jnp.linalg.cholesky(x, upper=True), S),
    lax_cholesky=row(
        lambda x: lax.linalg.cholesky(x, symmetrize_input=False),
        S,
        gradient=False,
        why="of a symmetric matrix: JAX lets the derivative be any of many",
    ),
    lax_cholesky_whole=row(lambda x: lax.linalg.cholesky(x), S),
    det=row(jnp.linalg.det, G),
    slogdet=row(jnp.linalg.slogdet, G),
    inv=row(jnp.linalg.inv, G),
    pinv=row(lambda x: jnp.linalg.pinv(x, rtol=1e-5), matrix(3, 4), gradient_tolerance=1e-3),
    solve=row(jnp.linalg.solve, G, matrix(2, 3, 2)),
    solve_vector=row(
        lambda a, b: jsp.linalg.solve(a, b, assume_a="pos"), matrix(3, 3, kind="definite"), plain(3)
    ),
    triangular=row(
        lambda a, b: jsp.linalg.solve_triangular(a, b, trans=1, lower=True, unit_diagonal=True),
        matrix(3, 3, kind="lower"),
        plain(3, 2),
    ),
    eigvals=row(lambda x: jnp.sum(jnp.exp(jnp.linalg.eigvals(x)).real), matrix(3, 3)),
    eig=row(
        lambda x: jnp.sum(jnp.abs(jnp.linalg.eig(x)[1]), 1),
        matrix(3, 3),
        gradient=False,
        why="JAX has none",
    ),
    eigh=row(lambda x: jnp.linalg.eigvalsh(x, UPLO="U"), S),
    eigh_vectors=row(
        lambda x: (lambda w, v: (w, jnp.abs(v)))(*jnp.linalg.eigh(x)),
        S,
        gradient_tolerance=1e-3,
        tolerance=2e-4,
    ),
    svdvals=row(jnp.linalg.svdvals, matrix(3, 4)),
    svd=row(
        lambda x: (lambda u, s, v: (jnp.abs(u), s, jnp.abs(v)))(
            *jnp.linalg.svd(x, full_matrices=False)
        ),
        matrix(3, 4),
        tolerance=2e-4,
        gradient_tolerance=2e-3,
    ),
    qr=row(
        lambda x: (lambda q, r: (jnp.abs(q), jnp.abs(r)))(*jnp.linalg.qr(x)),
        matrix(4, 3),
        tolerance=1e-4,
        gradient_tolerance=1e-3,
    ),
    lu=row(lambda x: jsp.linalg.lu(x), matrix(3, 3), gradient_tolerance=1e-3),
    matrix_power=row(
        lambda x: jnp.linalg.matrix_power(x, -3), G, tolerance=2e-4, gradient_tolerance=1e-3
    ),
    matrix_rank=row(lambda x: jnp.linalg.matrix_rank(x), matrix(3, 4)),
    multi_dot=row(lambda x, y: jnp.linalg.multi_dot([x, y, x]), plain(3, 4), plain(4, 3)),
    lstsq=row(
        lambda a, b: jnp.linalg.lstsq(a, b)[0],
        matrix(5, 3),
        plain(5, 2),
        tolerance=2e-4,
        gradient_tolerance=2e-3,
    ),
    expm=row(jsp.linalg.expm, plain(3, 3), tolerance=2e-4, gradient_tolerance=1e-3),
    block_diag=row(lambda x, y: jsp.linalg.block_diag(x, y), real(2, 3), real(3, 2)),
    toeplitz=row(lambda x: jsp.linalg.toeplitz(x), real(4)),
    cho_solve=row(
        lambda x, b: jsp.linalg.cho_solve((jnp.linalg.cholesky(x), True), b),
        matrix(3, 3, kind="definite"),
        plain(3),
    ),
    tridiagonal_solve=row(
        lambda d, b: lax.linalg.tridiagonal_solve(d[0], d[1] + 5, d[2], b),
        plain(3, 4),
        plain(4, 2),
        refused="tridiagonal_solve",
    ),
    householder=row(
        lambda x, t: lax.linalg.householder_product(x, t),
        plain(4, 3),
        plain(3),
        refused="householder_product",
    ),
    schur=row(lambda x: jsp.linalg.schur(x), matrix(3, 3), refused="schur"),
    hessenberg=row(lambda x: jsp.linalg.hessenberg(x), matrix(3, 3), refused="hessenberg"),
    sqrtm=row(lambda x: jsp.linalg.sqrtm(x), matrix(3, 3, kind="definite"), refused="schur"),
    cond=row(lambda x: jnp.linalg.cond(x, p=2), matrix(3, 3), gradient_tolerance=1e-3),
)
# jax.scipy
unary(
    "special",
    "gammaln digamma gamma",
    E,
    jsp.special,
    floor=1.0,
    tolerance=1e-4,
    why="JAX itself is as exact as that near its zeros",
)
unary("special", "expit i0 i0e i1 i1e ndtr log_ndtr entr erfc spence gammasgn", E, jsp.special)
binary("special", "xlogy xlog1py rel_entr", P, jsp.special)
binary("special", "kl_div", P, jsp.special, floor=1.0, why="x log(x / y) - x + y cancels")
binary(
    "special", "gammainc gammaincc", P, jsp.special, is_left_out=is_large, why=LARGE, tolerance=2e-4
)
binary("special", "betaln", plain(5, 7, low=0.1, high=9.0), jsp.special, floor=1.0, why=OF_BETA)
add(
    "special",
    exp1=row(jsp.special.exp1, plain(5, low=0.1, high=5.0), gradient=False),
    expi=row(jsp.special.expi, plain(5, low=0.1, high=5.0), gradient=False),
    logit=row(jsp.special.logit, each(5, 7, low=0.05, high=0.95)),
    ndtri=row(jsp.special.ndtri, each(5, 7, low=0.05, high=0.95)),
    erfinv=row(jsp.special.erfinv, U),
    betainc=row(jsp.special.betainc, P, P, U, gradient=False, is_left_out=is_large, why=LARGE),
    beta=row(
        jsp.special.beta,
        plain(5, 7, low=0.1, high=9.0),
        plain(5, 7, low=0.1, high=9.0),
        why=OF_BETA,
    ),
    factorial=row(jsp.special.factorial, plain(5, low=0, high=9)),
    poch=row(jsp.special.poch, plain(5, low=0.5, high=4), plain(5, low=0.5, high=3)),
    zeta=row(
        jsp.special.zeta, plain(5, low=1.1, high=5.0), plain(5, low=0.1, high=9.0), gradient=False
    ),
    polygamma=row(lambda x: jsp.special.polygamma(1, x), plain(5, low=0.1, high=9.0)),
    multigammaln=row(lambda x: jsp.special.multigammaln(x, 3), plain(5, low=2.0, high=9.0)),
    expn=row(
        lambda x: jsp.special.expn(2, x),
        plain(5, low=0.1, high=3.0),
        gradient=False,
        why="of a while loop: JAX differentiates it by hand",
    ),
    hyp1f1=row(
        lambda x: jsp.special.hyp1f1(1.5, 2.5, x), plain(5, low=0.1, high=2.0), gradient=False
    ),
    logsumexp=row(lambda x: jsp.special.logsumexp(x, axis=0, keepdims=True), R),
    log_softmax=row(lambda x: jsp.special.log_softmax(x, axis=0), R),
    bernoulli=row(lambda x: x + jsp.special.bernoulli(4), plain(5)),
    norm_logpdf=row(lambda x: jsp.stats.norm.logpdf(x, loc=0.5, scale=2.0), E),
    norm_cdf=row(lambda x: jsp.stats.norm.cdf(x, loc=0.5, scale=2.0), E),
    norm_ppf=row(lambda x: jsp.stats.norm.ppf(x), each(5, 7, low=0.05, high=0.95)),
    t_logpdf=row(lambda x: jsp.stats.t.logpdf(x, 3.0), E),
    gamma_logpdf=row(lambda x: jsp.stats.gamma.logpdf(x, 2.0, scale=1.5), P),
    gamma_cdf=row(lambda x: jsp.stats.gamma.cdf(x, 2.0), P),
    beta_logpdf=row(
        lambda x: jsp.stats.beta.logpdf(x, 2.0, 3.0),
        each(5, 7, low=0.1, high=0.9),
        floor=1.0,
        why=OF_BETA,
    ),
    poisson=row(lambda k: jsp.stats.poisson.logpmf(k, 2.5), whole(6, low=-1, high=9)),
    binom=row(lambda k: jsp.stats.binom.logpmf(k, 8, 0.3), whole(6, low=-1, high=10)),
    laplace=row(lambda x: jsp.stats.laplace.cdf(x, 0.5, 2.0), E),
    cauchy=row(lambda x: jsp.stats.cauchy.logpdf(x, 0.5, 2.0), E),
    expon=row(lambda x: jsp.stats.expon.logpdf(x, 0.5, 2.0), E),
    uniform=row(lambda x: jsp.stats.uniform.logpdf(x, 0.5, 2.0), E),
    logistic=row(lambda x: jsp.stats.logistic.logpdf(x), E),
    multivariate=row(
        lambda x, c: jsp.stats.multivariate_normal.logpdf(x, jnp.zeros(3), c),
        plain(2, 3),
        matrix(3, 3, kind="definite"),
    ),
    rankdata=row(lambda x: jsp.stats.rankdata(x, method="dense"), whole(9)),
    mode=row(lambda x: jsp.stats.mode(x, axis=1), whole(4, 6, high=3)),
    convolve=row(lambda x, y: jsp.signal.convolve(x, y, mode="same"), plain(4, 5), plain(2, 3)),
    correlate2d=row(
        lambda x, y: jsp.signal.correlate2d(x, y, mode="valid"), plain(4, 5), plain(2, 3)
    ),
    fftconvolve=row(lambda x, y: jsp.signal.fftconvolve(x, y), plain(6), plain(3)),
    detrend=row(lambda x: jsp.signal.detrend(x, type="constant"), plain(3, 6)),
    stft=row(lambda x: jsp.signal.stft(x, nperseg=4)[2], plain(16)),
    map_coordinates=row(
        lambda x, c: jsp.ndimage.map_coordinates(x, list(c), order=1, mode="nearest"),
        plain(4, 5),
        plain(2, 6, low=-1, high=5),
    ),
    map_coordinates_0=row(
        lambda x, c: jsp.ndimage.map_coordinates(x, list(c), order=0, mode="reflect"),
        plain(4, 5),
        plain(2, 6, low=-1, high=5),
    ),
)
add(
    "image",
    **{
        f"resize_{method}": row(lambda x, m=method: jax.image.resize(x, (5, 3), m), plain(4, 6))
        for method in ("nearest", "linear", "cubic", "lanczos3")
    },
    resize_plain=row(lambda x: jax.image.resize(x, (8, 9), "linear", antialias=False), plain(4, 6)),
    scale_and_translate=row(
        lambda x: jax.image.scale_and_translate(
            x, (5, 5), (0, 1), jnp.array([1.2, 0.7]), jnp.array([0.3, -0.2]), "linear"
        ),
        plain(4, 6),
    ),
)
add(
    "ops",
    segment_sum=row(
        lambda x, i: jax.ops.segment_sum(x, i, 4), plain(9, 2), whole(9, low=-1, high=6)
    ),
    segment_max=row(lambda x, i: jax.ops.segment_max(x, i, 6), real(9, 2), whole(9)),
    segment_min=row(lambda x, i: jax.ops.segment_min(x, i, 6), real(9, 2), whole(9)),
    segment_prod=row(
        lambda x, i: jax.ops.segment_prod(x, i, 4),
        plain(9),
        whole(9, high=4),
        gradient=False,
        why=NO_GRADIENT,
    ),
    segment_max_int=row(lambda x, i: jax.ops.segment_max(x, i, 6), whole(9, high=99), whole(9)),
)

REASONS = {
    "rounding is multiplied by the condition of the matrices": (
        "linalg.pinv linalg.eigh_vectors linalg.svd linalg.qr linalg.lu linalg.matrix_power "
        "linalg.lstsq linalg.expm linalg.cond"
    ),
    "JAX has no derivative by the order": "lax.zeta special.zeta",
    "JAX differentiates by hand what a while loop computes": (
        "special.exp1 special.expi special.hyp1f1"
    ),
    "float16": "jnp.astype_half",
}
for why, names in REASONS.items():
    for name in names.split():
        ROWS[name] = replace(ROWS[name], why=why)
