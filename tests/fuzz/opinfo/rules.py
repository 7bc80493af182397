"""An op of torch by its OpInfo name, written with public functions of Trellis.

A rule takes what the op of torch takes. A sample with arguments that a rule does not name is left
out: Trellis has no word for them.
"""

import trellis as T
from trellis import functional as F
from trellis import linalg as L


class BesideError(Exception):
    """The sample asks for something that Trellis leaves out; the text says what."""


def same(fn):
    return lambda x, *others: fn(x, *others)


UNARY = (
    "abs acos acosh asin asinh atan atanh ceil conj cos cosh erf exp expm1 floor imag isfinite "
    "isinf isnan log log10 log1p log2 logical_not positive real reciprocal sign signbit sin sinh "
    "rsqrt sqrt square tan tanh trunc"
)
BINARY = (
    "floor_divide fmod remainder maximum minimum atan2 hypot logaddexp copysign nextafter "
    "logical_and logical_or logical_xor bitwise_and bitwise_or bitwise_xor bitwise_left_shift "
    "bitwise_right_shift pow matmul"
)
RULES = {name: same(getattr(T, name)) for name in (UNARY + " " + BINARY).split()}
RENAMED = {
    "neg": T.negative,
    "bitwise_not": T.bitwise_invert,
    "sgn": T.sign,
    "eq": T.equal,
    "ne": T.not_equal,
    "gt": T.greater,
    "ge": T.greater_equal,
    "lt": T.less,
    "le": T.less_equal,
    "true_divide": T.divide,
    "mul": T.multiply,
    "mm": T.matmul,
    "bmm": T.matmul,
    "mv": T.matmul,
    "outer": L.outer,
    "conj_physical": T.conj,
    "t": T.matrix_transpose,
    "mT": T.matrix_transpose,
    "nn.functional.relu": F.relu,
    "nn.functional.relu6": F.relu6,
    "nn.functional.hardsigmoid": F.hard_sigmoid,
    "nn.functional.hardswish": F.hard_swish,
    "nn.functional.logsigmoid": F.log_sigmoid,
    "nn.functional.mish": F.mish,
    "nn.functional.selu": F.selu,
    "nn.functional.silu": F.silu,
    "nn.functional.softsign": F.softsign,
    "sigmoid": F.sigmoid,
}
RULES |= {name: same(fn) for name, fn in RENAMED.items()}


def rule(*names):
    """The function that follows is the rule of these ops."""

    def register(fn):
        for name in names:
            RULES[name] = fn
        return fn

    return register


# Arithmetic ------------------------------------------------------------------------------


@rule("add")
def add(x, y, *, alpha=1):
    return T.add(x, y if alpha == 1 else T.multiply(y, alpha))


@rule("sub")
def sub(x, y, *, alpha=1):
    return T.subtract(x, y if alpha == 1 else T.multiply(y, alpha))


@rule("rsub")
def rsub(x, y, *, alpha=1):
    return T.subtract(y, x if alpha == 1 else T.multiply(x, alpha))


@rule("div")
def div(x, y, *, rounding_mode=None):
    if rounding_mode == "trunc":
        return T.truncate_divide(x, y)
    return T.floor_divide(x, y) if rounding_mode == "floor" else T.divide(x, y)


REVERSED = {"__radd__": T.add, "__rmul__": T.multiply, "__rsub__": T.subtract}
REVERSED |= {"__rdiv__": T.divide, "__rpow__": T.pow, "__rmod__": T.remainder}
REVERSED |= {"__rand__": T.bitwise_and, "__ror__": T.bitwise_or, "__rxor__": T.bitwise_xor}
REVERSED |= {"__rmatmul__": T.matmul}
for _name, _fn in REVERSED.items():
    RULES[_name] = lambda x, y, fn=_fn: fn(y, x)


@rule("round")
def round_(x):
    return T.round(x)


@rule("clamp")
def clamp(x, min=None, max=None):
    return T.clip(x, min, max)


@rule("nan_to_num")
def nan_to_num(x, nan=0.0, posinf=None, neginf=None):
    return T.nan_to_num(x, nan=0.0 if nan is None else nan, posinf=posinf, neginf=neginf)


@rule("where")
def where(x, condition, y):
    return T.where(condition, x, y)


@rule("isclose")
def isclose(x, y, rtol=1e-5, atol=1e-8, equal_nan=False):
    return T.isclose(x, y, rtol=rtol, atol=atol, equal_nan=equal_nan)


# Reductions ------------------------------------------------------------------------------


def axes(dim):
    return tuple(dim) if isinstance(dim, (list, tuple)) else dim


def reduced(fn):
    def of(x, dim=None, keepdim=False, **options):
        if not len(x.shape) and dim is not None:
            raise BesideError("an array without axes has no axis 0")
        return fn(x, axis=axes(dim), keepdims=keepdim, **options)

    return of


RULES |= {"amax": reduced(T.max), "amin": reduced(T.min), "logsumexp": reduced(T.logsumexp)}
RULES |= {"all": reduced(T.all), "any": reduced(T.any), "mean": reduced(T.mean)}
RULES |= {"argmax": reduced(T.argmax), "argmin": reduced(T.argmin)}
RULES |= {"sum": reduced(T.sum), "prod": reduced(T.prod), "count_nonzero": reduced(T.count_nonzero)}


def spread(fn):
    def of(x, dim=None, unbiased=True, keepdim=False, *, correction=None):
        if not len(x.shape) and dim is not None:
            raise BesideError("an array without axes has no axis 0")
        if isinstance(dim, bool):
            dim, unbiased = None, dim
        given = (1 if unbiased else 0) if correction is None else correction
        return fn(x, axis=axes(dim), keepdims=keepdim, correction=given)

    return of


RULES |= {"std": spread(T.std), "var": spread(T.var)}


@rule("cumsum")
def cumsum(x, dim):
    return T.cumulative_sum(need_axes(x), axis=dim)


@rule("cumprod")
def cumprod(x, dim):
    return T.cumulative_prod(need_axes(x), axis=dim)


def need_axes(x):
    if not len(x.shape):
        raise BesideError("an array without axes has no axis 0")
    return x


@rule("diff")
def diff(x, n=1, dim=-1, prepend=None, append=None):
    if n == 0:
        raise BesideError("what is joined to x and not subtracted, which torch drops")
    return T.diff(x, n=n, axis=dim, prepend=prepend, append=append)


@rule("sort")
def sort(x, dim=-1, descending=False, stable=False):
    options = {"axis": dim, "descending": descending}
    return T.sort(need_axes(x), **options), T.argsort(x, **options)


@rule("topk")
def topk(x, k, dim=-1, largest=True, sorted=True):
    if not str(T.dtype(x)).startswith("float"):
        raise BesideError("the order of equal elements, which torch leaves open")
    return T.topk(need_axes(x), k, axis=dim, largest=largest)


@rule("searchsorted")
def searchsorted(x, values, *, sorter=None, side="left", right=False, out_int32=False):
    if len(x.shape) != 1 or out_int32:
        raise BesideError("stacks of sorted vectors")
    side = "right" if right or side == "right" else "left"
    return T.searchsorted(x, values, sorter=sorter, side=side)


# Shapes ----------------------------------------------------------------------------------


@rule("permute")
def permute(x, dims):
    return T.permute_dims(x, tuple(dims))


@rule("reshape", "view")
def reshape(x, shape):
    return T.reshape(x, tuple(shape))


@rule("broadcast_to")
def broadcast_to(x, shape):
    return T.broadcast_to(x, tuple(shape))


@rule("flip")
def flip(x, dims):
    return T.flip(x, axis=tuple(dims))


@rule("roll")
def roll(x, shifts, dims=None):
    dims = axes(dims)
    return T.roll(x, axes(shifts), axis=dims if dims != () else None)


@rule("movedim")
def movedim(x, source, destination):
    return T.moveaxis(x, axes(source), axes(destination))


@rule("unsqueeze")
def unsqueeze(x, dim):
    return T.expand_dims(x, dim)


@rule("cat")
def cat(xs, dim=0):
    if any(tuple(x.shape) == (0,) for x in xs) and any(len(x.shape) != 1 for x in xs):
        raise BesideError("torch skips empty vectors of another rank")
    return T.concat(xs, axis=dim)


@rule("stack")
def stack(xs, dim=0):
    return T.stack(xs, axis=dim)


@rule("unbind")
def unbind(x, dim=0):
    return T.unstack(need_axes(x), axis=dim)


@rule("tile")
def tile(x, dims):
    return T.tile(x, tuple(dims))


@rule("repeat_interleave")
def repeat_interleave(x, repeats, dim=None):
    return T.repeat(x if len(x.shape) else T.reshape(x, (1,)), repeats, axis=dim)


@rule("tril")
def tril(x, diagonal=0):
    return T.tril(x, k=diagonal)


@rule("triu")
def triu(x, diagonal=0):
    return T.triu(x, k=diagonal)


@rule("meshgrid")
def meshgrid(*xs, indexing="ij"):
    xs = xs[0] if isinstance(xs[0], (list, tuple)) else xs
    return T.meshgrid(*xs, indexing=indexing)


@rule("nn.functional.one_hot")
def one_hot(x, num_classes=-1):
    if num_classes < 0:
        raise BesideError("the number of classes out of the values")
    return T.one_hot(x, num_classes, dtype="int64")


MODES = {"constant": "constant", "reflect": "reflect", "replicate": "edge", "circular": "wrap"}


@rule("nn.functional.pad", "constant_pad_nd")
def pad(x, pad, mode="constant", value=None):
    if isinstance(mode, (int, float, complex)):
        mode, value = "constant", mode
    pairs = [(pad[i], pad[i + 1]) for i in range(0, len(pad), 2)][::-1]
    pairs = [(0, 0)] * (len(x.shape) - len(pairs)) + pairs
    if any(n < 0 for pair in pairs for n in pair):
        raise BesideError("negative padding")
    if mode == "constant":
        return T.pad(x, pairs, constant_values=0 if value is None else value)
    return T.pad(x, pairs, mode=MODES[mode])


# Indexing --------------------------------------------------------------------------------


@rule("gather")
def gather(x, dim, index):
    sizes = [n for i, n in enumerate(x.shape) if i != dim % max(len(x.shape), 1)]
    others = [n for i, n in enumerate(index.shape) if i != dim % max(len(x.shape), 1)]
    if sizes != others:
        raise BesideError("indices for a part of the rows")
    return T.take_along_axis(need_axes(x), index, axis=dim)


@rule("index_select")
def index_select(x, dim, index):
    return T.take(need_axes(x), need_axes(index), axis=dim)


@rule("take_along_dim")
def take_along_dim(x, index, dim=None):
    if dim is None or len(x.shape) != len(index.shape):
        raise BesideError("indices of the flattened array")
    return T.take_along_axis(x, index, axis=dim)


@rule("index_add")
def index_add(x, dim, index, source, *, alpha=1):
    source = source if alpha == 1 else T.multiply(source, alpha)
    return T.scatter(need_axes(x), need_axes(index), source, axis=dim, reduce="add")


@rule("index_copy")
def index_copy(x, dim, index, source):
    return T.scatter(need_axes(x), need_axes(index), source, axis=dim, reduce="set")


@rule("index_fill")
def index_fill(x, dim, index, value):
    return T.scatter(need_axes(x), need_axes(index), value, axis=dim, reduce="set")


@rule("masked_fill")
def masked_fill(x, mask, value):
    return T.where(mask, value, x)


@rule("nn.functional.embedding")
def embedding(indices, weight, padding_idx=None):
    if padding_idx is not None and padding_idx < 0:
        padding_idx += weight.shape[0]
    return F.embedding(indices, weight, padding_index=padding_idx)


# Linear algebra --------------------------------------------------------------------------


@rule("einsum")
def einsum(xs, subscripts):
    return T.einsum(subscripts, *xs)


@rule("tensordot")
def tensordot(x, y, dims=2):
    return T.tensordot(x, y, axes=dims if isinstance(dims, int) else tuple(dims))


@rule("linalg.vecdot")
def vecdot(x, y, *, dim=-1):
    return T.vecdot(x, y, axis=dim)


@rule("dot")
def dot(x, y):
    return T.matmul(x, y)


@rule("linalg.cross")
def cross(x, y, *, dim=-1):
    return L.cross(x, y, axis=dim)


RULES |= {f"linalg.{n}": same(getattr(L, n)) for n in ("det", "inv", "svdvals", "slogdet")}


@rule("linalg.cholesky")
def cholesky(x, *, upper=False):
    return L.cholesky(x, upper=upper)


@rule("linalg.solve")
def solve(a, b):
    if len(b.shape) == len(a.shape) - 1 and len(b.shape) > 1:
        raise BesideError("stacks of vectors")
    return L.solve(a, b)


@rule("linalg.matrix_power")
def matrix_power(x, n):
    return L.matrix_power(x, n)


@rule("linalg.matrix_norm")
def matrix_norm(x, ord="fro", dim=(-2, -1), keepdim=False):
    if tuple(dim) != (-2, -1):
        raise BesideError("other axes")
    return L.matrix_norm(x, ord=ord, keepdims=keepdim)


@rule("linalg.vector_norm")
def vector_norm(x, ord=2, dim=None, keepdim=False):
    if not len(x.shape) and dim is not None:
        raise BesideError("an array without axes has no axis 0")
    return L.vector_norm(x, ord=ord, axis=axes(dim), keepdims=keepdim)


@rule("linalg.matrix_rank")
def matrix_rank(x, *, rtol=None):
    return L.matrix_rank(x, rtol=rtol)


@rule("linalg.pinv")
def pinv(x, *, rtol=None):
    return L.pinv(x, rtol=rtol)


@rule("linalg.diagonal")
def diagonal(x, *, offset=0):
    return L.diagonal(x, offset=offset)


@rule("trace")
def trace(x):
    return L.trace(x)


# Fourier transforms ------------------------------------------------------------------------


def transform(name):
    fn = getattr(T.fft, name)

    def of(x, n=None, dim=-1, norm=None):
        return fn(x, n=n, axis=dim, norm=norm or "backward")

    def of_many(x, s=None, dim=None, norm=None):
        if s is not None and dim is None:
            raise BesideError("lengths without axes")
        if isinstance(dim, int):
            raise BesideError("one axis where several are expected")
        return fn(x, s=s, axes=dim, norm=norm or "backward")

    return of_many if name.endswith("n") else of


for _name in "fft ifft rfft irfft hfft ihfft fftn ifftn rfftn irfftn".split():
    RULES[f"fft.{_name}"] = transform(_name)


@rule("fft.fftshift")
def fftshift(x, dim=None):
    return T.fft.fftshift(x, axes=dim)


@rule("fft.ifftshift")
def ifftshift(x, dim=None):
    return T.fft.ifftshift(x, axes=dim)
