"""Sums, extremes, orders."""

from typing import Any

from ...graph import Value
from .builder import Dims, Operand, Size, Tensor, TorchBuilder
from .rules_elementwise import as_bool
from .rules_shapes import axes_of
from .table import rule


def _axes(x: Tensor, dim: Dims | None) -> Any:
    """torch's `dim` as `axis`: no axis at all means all of them."""
    if dim is None or dim == [] or dim == ():
        return None
    axes = axes_of(dim, len(x.shape))
    return axes[0] if len(axes) == 1 else axes


# Everywhere here `dtype` is the type of the recorded result.


def _reduced(name: str) -> Any:
    def convert(g: TorchBuilder, x: Tensor, dim: Dims | None = None, keepdim: bool = False,
                dtype: object = None) -> Any:  # fmt: skip
        return _call(g, name, g.cast(x, g.out.dtype), dim, keepdim)

    return convert


def _call(
    g: TorchBuilder, name: str, x: Tensor, dim: Dims | None, keepdim: bool, **options: Any
) -> Any:
    if not x.shape:
        dim = None
    if keepdim:
        options["keepdims"] = True
    axis = _axes(x, dim)
    if axis is not None:
        options["axis"] = axis
    return getattr(g.t, name)(x, **options)


for _source, _name in {
    "sum": "sum", "mean": "mean", "amax": "max", "amin": "min", "prod": "prod",
    "logsumexp": "logsumexp", "special_logsumexp": "logsumexp",
}.items():  # fmt: skip
    rule(f"aten.{_source}")(_reduced(_name))


@rule("aten.nansum")
def nansum(g: TorchBuilder, x: Tensor, dim: Dims | None = None, keepdim: bool = False,
           dtype: object = None) -> Any:  # fmt: skip
    x = g.cast(x, g.out.dtype)
    kept = g.noted(g.t.where(g.t.isnan(x), 0, x), x.shape, x.dtype)
    return _call(g, "sum", kept, dim, keepdim)


@rule("aten.any", "aten.all")
def any_or_all(g: TorchBuilder, x: Tensor, dim: Dims | None = None, keepdim: bool = False) -> Any:
    return _call(g, "any" if "any" in g.source else "all", as_bool(g, x), dim, keepdim)


@rule("aten.argmax", "aten.argmin")
def arg_extreme(g: TorchBuilder, x: Tensor, dim: Dims | None = None, keepdim: bool = False) -> Any:
    return _call(g, "argmax" if "argmax" in g.source else "argmin", x, dim, keepdim)


@rule("aten.max", "aten.min")
def extreme(g: TorchBuilder, x: Tensor, dim: Dims | None = None, keepdim: bool = False) -> Any:
    name = "max" if "aten.max" in g.source else "min"
    values = _call(g, name, x, dim, keepdim)
    if dim is None:
        return values
    return values, _call(g, f"arg{name}", x, dim, keepdim)


@rule("aten.aminmax")
def aminmax(g: TorchBuilder, x: Tensor, dim: Dims | None = None, keepdim: bool = False) -> Any:
    return _call(g, "min", x, dim, keepdim), _call(g, "max", x, dim, keepdim)


@rule("aten.var", "aten.std", "aten.var_mean", "aten.std_mean")
def variance(g: TorchBuilder, x: Tensor, dim: Dims | bool | None = None, unbiased: bool = True,
             keepdim: bool = False, correction: float | None = None) -> Any:  # fmt: skip
    if isinstance(dim, bool):  # var(x, unbiased)
        unbiased, dim = dim, None
    correction = (1 if unbiased else 0) if correction is None else correction
    name = "std" if "std" in g.source else "var"
    found = _call(g, name, x, dim, keepdim, correction=float(correction))
    return (found, _call(g, "mean", x, dim, keepdim)) if "_mean" in g.source else found


@rule("aten.frobenius_norm")
def frobenius_norm(g: TorchBuilder, x: Tensor, dim: Dims = (), keepdim: bool = False) -> Any:
    return norm(g, x, 2, dim, keepdim)


def _summed(x: Tensor, axis: int | tuple[int, ...] | None) -> tuple[int, ...]:
    if axis is None:
        return tuple(range(len(x.shape)))
    return axis if isinstance(axis, tuple) else (axis,)


@rule("aten.norm", "aten.linalg_vector_norm")
def norm(g: TorchBuilder, x: Tensor, ord: float | str | None = 2, dim: Dims | None = None,
         keepdim: bool = False, dtype: object = None) -> Any:  # fmt: skip
    if "complex" in (x.dtype or "") and "complex" not in g.out.dtype:
        x = g.noted(g.t.abs(x), x.shape, None)
    x = g.cast(x, g.out.dtype)
    options: dict[str, Any] = {"keepdims": True} if keepdim else {}
    axis = _axes(x, dim)
    if axis is not None:
        options["axis"] = axis
    if ord not in (None, 0) and all([x.shape[i] == 1 for i in _summed(x, axis)]):
        ord = 1  # of one number its size, whose powers would be too large or small
    if ord is not None and ord != 2:
        options["ord"] = float(ord)
    return g.linalg.vector_norm(x, **options)


@rule("aten.linalg_norm", "aten.linalg_matrix_norm")
def linalg_norm(g: TorchBuilder, x: Tensor, ord: float | str | None = None,
                dim: Dims | None = None, keepdim: bool = False,
                dtype: object = None) -> Any:  # fmt: skip
    x = x if dtype is None else g.cast(x, str(dtype))
    is_of_matrices = "matrix_norm" in g.source
    dim = (-2, -1) if dim is None and is_of_matrices else dim
    ord = "fro" if ord is None and is_of_matrices else ord
    dims = axes_of(dim, len(x.shape)) if dim is not None else tuple(range(len(x.shape)))
    if ord is None or len(dims) == 1:
        return norm(g, x, ord, dim, keepdim)
    are_last = dims == (len(x.shape) - 2, len(x.shape) - 1)
    moved = x if are_last else g.t.moveaxis(x, dims, (-2, -1))
    y = g.linalg.matrix_norm(moved, ord=ord, keepdims=keepdim)
    return g.t.moveaxis(y, (-2, -1), dims) if keepdim else y


@rule("aten.cumsum", "aten.cumprod")
def cumulative(g: TorchBuilder, x: Tensor, dim: int, dtype: object = None) -> Any:
    x = g.cast(x, g.out.dtype)
    if not x.shape:
        return x
    call = g.t.cumulative_sum if "cumsum" in g.source else g.t.cumulative_prod
    return call(x, axis=dim)


@rule("aten.logcumsumexp")
def logcumsumexp(g: TorchBuilder, x: Tensor, dim: int) -> Any:
    return g.s.accumulate(x, axis=dim, by="logsumexp") if x.shape else x


@rule("aten.cummax", "aten.cummin")
def cummax(g: TorchBuilder, x: Tensor, dim: int) -> Any:
    found = g.s.running_extreme(x, axis=dim, is_largest="max" in g.source)
    return g.items(found, 2)


@rule("aten.diff")
def diff(g: TorchBuilder, x: Tensor, n: int = 1, dim: int = -1, prepend: Tensor | None = None,
         append: Tensor | None = None) -> Any:  # fmt: skip
    options = {"prepend": prepend, "append": append}
    return g.t.diff(x, n=n, axis=dim, **{k: v for k, v in options.items() if v is not None})


@rule("aten.sort")
def sort(g: TorchBuilder, x: Tensor, dim: int = -1, descending: bool = False,
         stable: bool | None = False) -> Any:  # fmt: skip
    order = argsort(g, x, dim, descending, stable)
    return (g.t.take_along_axis(x, order, axis=dim) if x.shape else x), order


@rule("aten.argsort")
def argsort(g: TorchBuilder, x: Tensor, dim: int = -1, descending: bool = False,
            stable: bool | None = False) -> Any:  # fmt: skip
    """Always stable, which is right where torch asks for less."""
    if not x.shape:
        return g.t.zeros((), **g.created())
    return g.t.argsort(x, axis=dim, descending=descending)


@rule("aten.topk")
def topk(
    g: TorchBuilder, x: Tensor, k: Size, dim: int = -1, largest: bool = True, sorted: bool = True
) -> Any:
    found = g.t.topk(x, k, axis=dim, largest=largest)
    return g.items(found, 2)


@rule("aten.median", "aten.nanmedian")
def median(g: TorchBuilder, x: Tensor, dim: int | None = None, keepdim: bool = False) -> Any:
    options: dict[str, Any] = {"ignore_nan": True} if "nanmedian" in g.source else {}
    if dim is None:
        found = g.s.median(g.t.reshape(x, (-1,)), axis=0, **options)
        return g.t.reshape(g.item(found, 0), ())
    found = g.s.median(x, axis=dim, **options)
    pair = g.items(found, 2)
    return pair if keepdim else tuple([g.t.squeeze(y, axis=dim) for y in pair])


@rule("aten.kthvalue")
def kthvalue(g: TorchBuilder, x: Tensor, k: int, dim: int = -1, keepdim: bool = False) -> Any:
    keep = keepdim
    order = g.t.argsort(x, axis=dim)
    place = (slice(None),) * (dim % len(x.shape)) + (slice(k - 1, k),)
    index = g.item(order, place)
    value = g.t.take_along_axis(x, index, axis=dim)
    return (value, index) if keep else (g.t.squeeze(value, axis=dim), g.t.squeeze(index, axis=dim))


@rule("aten.count_nonzero")
def count_nonzero(g: TorchBuilder, x: Tensor, dim: Dims | None = None) -> Any:
    return _call(g, "count_nonzero", x, dim, False)


@rule("aten.histc")
def histc(g: TorchBuilder, x: Tensor, bins: int = 100, min: float = 0, max: float = 0) -> Any:
    options = {} if min == max == 0 else {"range": (float(min), float(max))}
    counts = g.item(g.t.histogram(g.t.stop_gradient(x), bins, **options), 0)
    return g.t.astype(counts, g.dtype(g.out.dtype))


@rule("aten.bincount")
def bincount(g: TorchBuilder, x: Tensor, weights: Tensor | None = None, minlength: int = 0) -> Any:
    return g.s.bincount(x, weights, minlength=minlength, dtype=g.dtype(g.out.dtype))


@rule("aten.searchsorted", "aten.bucketize")
def searchsorted(
    g: TorchBuilder, x: Tensor, y: Operand, *, out_int32: bool = False, right: bool = False,
    side: str | None = None, sorter: Tensor | None = None,
) -> Any:  # fmt: skip
    edges, values = (y, x) if "bucketize" in g.source else (x, y)
    if isinstance(values, Value) and values.dtype != getattr(edges, "dtype", values.dtype):
        kind = g.promoted(edges, values)
        edges, values = g.cast(edges, kind), g.cast(values, kind)
    if isinstance(edges, Value) and not isinstance(values, Value):
        values = g.t.asarray(values, dtype=g.dtype(edges.dtype), backend=g.to)
    chosen = side or ("right" if right else "left")
    if isinstance(edges, Value) and len(edges.shape or ()) > 1:
        rows = edges if sorter is None else g.t.take_along_axis(edges, sorter, axis=-1)
        found = g.s.searchsorted_rows(rows, values, side=chosen)
        return g.t.astype(found, g.dtype(g.out.dtype))
    options = {} if sorter is None else {"sorter": sorter}
    found = g.t.searchsorted(edges, values, side=chosen, **options)
    return g.t.astype(found, g.dtype(g.out.dtype)) if out_int32 else found


@rule("aten.unique_consecutive")
def unique_consecutive(g: TorchBuilder, x: Tensor, return_inverse: bool = False,
                       return_counts: bool = False) -> Any:  # fmt: skip
    """With all three results: unused ones fall away."""
    return g.items(g.s.runs(x), 3)


@rule("aten._unique2")
def unique(g: TorchBuilder, x: Tensor, sorted: bool = True, return_inverse: bool = False,
           return_counts: bool = False) -> Any:  # fmt: skip
    """Always sorted, and with all three results: unused ones fall away."""
    found = g.t.unique_all(x)
    return g.item(found, 0), g.item(found, 2), g.item(found, 3)
