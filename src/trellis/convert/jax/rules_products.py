"""Primitives of JAX for products, convolutions and linear algebra."""

import string
from collections.abc import Sequence
from math import prod
from typing import Any

import jax

from ..._core.errors import NotSupportedError
from ...graph import Value
from ..rules import Rules
from .builder import JaxBuilder

product_rules = Rules()


@product_rules("dot_general")
def dot_general(
    g: JaxBuilder,
    x: Value,
    y: Value,
    *,
    dimension_numbers: Sequence[Any],
) -> Value:
    """A matrix product where it is one, else a tensordot or an einsum."""
    (x_axes, y_axes), (x_batch, y_batch) = [(tuple(a), tuple(b)) for a, b in dimension_numbers]
    kind = g.out[0].dtype
    x, y = g.cast(x, kind), g.cast(y, kind)
    x_rank, y_rank = len(x.shape or ()), len(y.shape or ())
    n = len(x_batch)
    if n == 0:
        if len(x_axes) == 1 and x_axes[0] == x_rank - 1:
            if y_axes == (0,) and y_rank <= 2:
                return g.t.matmul(x, y)
            if y_axes == (1,) and y_rank == 2:
                return g.F.linear(x, y)
        if len(x_axes) == 0 and (x_rank == 0 or y_rank == 0):
            return g.t.multiply(x, y)
        return g.t.tensordot(x, y, axes=(x_axes, y_axes))
    leading = tuple(range(n))
    if x_batch == y_batch == leading and len(x_axes) == 1:
        if x_rank == y_rank == n + 2 and x_axes == (n + 1,):
            if y_axes == (n,):
                return g.t.matmul(x, y)
            return g.t.matmul(x, g.t.matrix_transpose(y))
    return g.t.einsum(_subscripts(x_rank, y_rank, x_axes, y_axes, x_batch, y_batch), x, y)


def _subscripts(
    x_rank: int,
    y_rank: int,
    x_axes: tuple[int, ...],
    y_axes: tuple[int, ...],
    x_batch: tuple[int, ...],
    y_batch: tuple[int, ...],
) -> str:
    letters = iter(string.ascii_lowercase)
    x_names = [next(letters) for _ in range(x_rank)]
    y_names = [""] * y_rank
    for i, j in (*zip(x_axes, y_axes), *zip(x_batch, y_batch)):
        y_names[j] = x_names[i]
    y_names = [name or next(letters) for name in y_names]
    out = [x_names[i] for i in x_batch]
    out += [x_names[i] for i in range(x_rank) if i not in (*x_axes, *x_batch)]
    out += [y_names[i] for i in range(y_rank) if i not in (*y_axes, *y_batch)]
    return f"{''.join(x_names)},{''.join(y_names)}->{''.join(out)}"


@product_rules("conv_general_dilated")
def conv_general_dilated(
    g: JaxBuilder,
    x: Value,
    filters: Value,
    *,
    window_strides: Sequence[int],
    padding: Sequence[Any],
    lhs_dilation: Sequence[int],
    rhs_dilation: Sequence[int],
    dimension_numbers: jax.lax.ConvDimensionNumbers,
    feature_group_count: int,
    batch_group_count: int,
) -> Value:
    """Axes are brought into one of Trellis' layouts; cutting (padding below zero) comes before."""
    kind = g.out[0].dtype
    if "int" in kind:
        _refuse_wide_integers(x, filters)
        x, filters = g.cast(x, "float32"), g.cast(filters, "float32")
    else:
        x, filters = g.cast(x, kind), g.cast(filters, kind)
    n = len(window_strides)
    x_spec, filter_spec, out_spec = dimension_numbers
    first, last = (0, 1, *range(2, n + 2)), (0, n + 1, *range(1, n + 1))
    filter_last = (n + 1, n, *range(n))
    is_first = tuple(x_spec) == first and tuple(out_spec) == first and batch_group_count == 1
    if not is_first:
        x = _permuted(g, x, (x_spec[0], *x_spec[2:], x_spec[1]))
    is_filter_first = tuple(filter_spec) == first
    if not is_filter_first and tuple(filter_spec) != filter_last:
        axes = (*filter_spec[2:], filter_spec[1], filter_spec[0])
        filters = _permuted(g, filters, axes)
    pads = tuple([tuple(pair) for pair in padding])
    spread = tuple(lhs_dilation)
    if any([p < 0 for pair in pads for p in pair]):
        inner = [(low, high, step - 1) for (low, high), step in zip(pads, spread)]
        outer = [(0, 0, 0)]
        config = [*outer, *outer, *inner] if is_first else [*outer, *inner, *outer]
        x = g.s.pad_dilated(x, 0.0, tuple(config))
        pads, spread = ((0, 0),) * n, (1,) * n
    groups = feature_group_count
    if batch_group_count > 1:
        x, groups = g.s.batch_groups_to_channels(x, batch_group_count), batch_group_count
    options: dict[str, Any] = {}
    if set(spread) != {1}:
        options["x_dilations"] = spread
    if set(rhs_dilation) != {1}:
        options["dilations"] = tuple(rhs_dilation)
    if is_filter_first:
        options["filter_format"] = "channel_first"
    around: Any = "VALID" if not any([any(pair) for pair in pads]) else pads
    strides = tuple(window_strides)
    if groups == 1 and n in (1, 2, 3):
        if is_first:
            options["data_format"] = {1: "NCW", 2: "NCHW", 3: "NCDHW"}[n]
        y = getattr(g.F, f"conv{n}d")(x, filters, strides, around, **options)
    else:
        if is_first:
            options["data_format"] = "channel_first"
        y = g.F.conv_general_dilated(
            x, filters, strides, around, dims=n, feature_group_count=groups, **options
        )
    if "int" in kind:
        y = g.t.astype(g.t.round(y), g.dtype(kind))
    if is_first or tuple(out_spec) == last:
        return y  # type: ignore[no-any-return]
    order = (out_spec[0], *out_spec[2:], out_spec[1])
    back = [order.index(i) for i in range(n + 2)]
    return _permuted(g, y, tuple(back))


def _refuse_wide_integers(x: Value, filters: Value) -> None:
    """Products of 8 bits are added in float32 without a loss while there are below 1024."""
    sizes: Any = filters.shape
    is_small = all(["int8" in str(y.dtype) for y in (x, filters)])
    if not is_small or any([not isinstance(n, int) for n in sizes]) or prod(sizes) >= 1024:
        raise NotSupportedError(
            f"conv_general_dilated of {x.dtype} and {filters.dtype} with filters of {sizes} is not "
            "read: integers of 8 bits are, with fewer than 1024 weights, or cast to float32."
        )


def _permuted(g: JaxBuilder, x: Value, axes: tuple[int, ...]) -> Value:
    if tuple(axes) == tuple(range(len(axes))):
        return x
    return g.t.permute_dims(x, tuple([int(i) for i in axes]))


@product_rules("cholesky")
def cholesky(g: JaxBuilder, x: Value, *, symmetrize_input: bool = True) -> Value:
    if symmetrize_input:
        x = g.t.divide(g.t.add(x, g.t.conj(g.t.matrix_transpose(x))), 2.0)
    return g.linalg.cholesky(x)


@product_rules("triangular_solve")
def triangular_solve(
    g: JaxBuilder,
    a: Value,
    b: Value,
    *,
    left_side: bool,
    lower: bool,
    transpose_a: bool,
    conjugate_a: bool,
    unit_diagonal: bool,
) -> Value:
    return g.s.triangular_solve(
        a, b, left_side=left_side, lower=lower, transpose=transpose_a, conjugate=conjugate_a,
        unit_diagonal=unit_diagonal,
    )  # fmt: skip


@product_rules("lu")
def lu(g: JaxBuilder, x: Value) -> Any:
    return g.items(g.s.lu(x), 3)


@product_rules("lu_pivots_to_permutation")
def lu_pivots(g: JaxBuilder, pivots: Value, *, permutation_size: int) -> Value:
    return g.s.pivots_to_permutation(pivots, permutation_size)


@product_rules("qr")
def qr(g: JaxBuilder, x: Value, *, full_matrices: bool) -> Any:
    return g.items(g.linalg.qr(x, mode="complete" if full_matrices else "reduced"), 2)


@product_rules("svd")
def svd(g: JaxBuilder, x: Value, *, full_matrices: bool, compute_uv: bool) -> Any:
    """JAX gives the singular values first."""
    if not compute_uv:
        return (g.linalg.svdvals(x),)
    u, s, vh = g.items(g.linalg.svd(x, full_matrices=full_matrices), 3)
    return s, u, vh


@product_rules("eig")
def eig(
    g: JaxBuilder,
    x: Value,
    *,
    compute_left_eigenvectors: bool,
    compute_right_eigenvectors: bool,
    enable_eigvec_derivs: bool = False,
    implementation: object = None,
) -> Any:
    """The permission for derivatives and the kernel's library do not change the values."""
    if compute_left_eigenvectors:
        raise NotSupportedError(f"{g.source}: there are right eigenvectors only.")
    if not compute_right_eigenvectors:
        return (g.linalg.eigvals(x),)
    return g.items(g.linalg.eig(x), 2)


@product_rules("eigh")
def eigh(g: JaxBuilder, x: Value, *, lower: bool = True) -> Any:
    """JAX gives the vectors first; only one triangle of the matrix is read."""
    half = g.s.symmetric_from(x, lower=lower)
    values, vectors = g.items(g.linalg.eigh(half), 2)
    return vectors, values


@product_rules("fft")
def fft(g: JaxBuilder, x: Value, *, fft_type: object, fft_lengths: Sequence[int]) -> Value:
    name = str(getattr(fft_type, "name", fft_type)).lower().split(".")[-1]
    lengths = tuple(fft_lengths)
    axes = tuple(range(-len(lengths), 0))
    fn = getattr(g.fft, f"{name}n")
    return fn(x, s=lengths, axes=axes) if name == "irfft" else fn(x, axes=axes)  # type: ignore[no-any-return]
