"""The nine convolution rows of the contract, each on all four backends, against a direct loop.

Each row runs 36 seeded random configurations (324 in all) over kernel, stride, dilation, input
dilation, padding, groups, both layouts of data and filters, batch and channels.
"""

import itertools
import os
import random
import subprocess
import sys
from dataclasses import dataclass, replace

import numpy as np
import pytest

import trellis
from trellis import Container, errors
from trellis.testing import assert_close, check_gradients

from . import vectors
from .compilers import compile_with, forget_programs
from .strangers import other_of

FORMATS = {1: ("NWC", "NCW"), 2: ("NHWC", "NCHW"), 3: ("NDHWC", "NCDHW")}
GENERAL = ("channel_last", "channel_first")
SWEEP = 36


@pytest.fixture(autouse=True)
def _one_thread(backend):
    """The arrays here are tiny: PyTorch's threads would spend the time waiting for each other."""
    if backend != "torch":
        yield
        return
    framework = sys.modules[backend]
    before = framework.get_num_threads()
    framework.set_num_threads(1)
    yield
    framework.set_num_threads(before)


# The reference: loops in float64, channel-last
# --------------------------------------------------------


def out_sizes(sizes, spans, strides, pairs):
    rows = zip(sizes, spans, strides, pairs, strict=True)
    return [(n + low + high - span) // s + 1 for n, span, s, (low, high) in rows]


def resolve(padding, sizes, spans, strides):
    """Padding as (low, high) pairs, from the rule for forward sizes."""
    if padding == "VALID":
        return [(0, 0)] * len(sizes)
    if padding == "SAME":
        totals = [
            max((-(-n // s) - 1) * s + span - n, 0)
            for n, span, s in zip(sizes, spans, strides, strict=True)
        ]
        return [(total // 2, total - total // 2) for total in totals]
    return [(padding, padding)] * len(sizes) if isinstance(padding, int) else list(padding)


def loop_forward(x, w, strides, pairs, x_dilations, dilations, groups):
    dims, in_group, out_channels = len(strides), w.shape[-2], w.shape[-1]
    out_group = out_channels // groups
    sizes = [(n - 1) * d + 1 for n, d in zip(x.shape[1:-1], x_dilations, strict=True)]
    padded = np.zeros(
        (x.shape[0], *[n + a + b for n, (a, b) in zip(sizes, pairs, strict=True)], x.shape[-1])
    )
    places = [slice(a, a + n, d) for (a, _), n, d in zip(pairs, sizes, x_dilations, strict=True)]
    padded[(slice(None), *places)] = x
    spans = [(k - 1) * d + 1 for k, d in zip(w.shape[:dims], dilations, strict=True)]
    outs = out_sizes(sizes, spans, strides, pairs)
    y = np.zeros((x.shape[0], *outs, out_channels))
    for at in itertools.product(*map(range, outs)):
        for offset in itertools.product(*map(range, w.shape[:dims])):
            place = [
                i * s + a * d for i, s, a, d in zip(at, strides, offset, dilations, strict=True)
            ]
            for g in range(groups):
                block = slice(g * out_group, (g + 1) * out_group)
                seen = padded[(slice(None), *place, slice(g * in_group, (g + 1) * in_group))]
                y[(slice(None), *at, block)] += seen @ w[(*offset, slice(None), block)]
    return y


def loop_transposed(x, w, strides, starts, outs, dilations, groups):
    """full[i*s + j*d] += x[i] * w[j], then `outs` elements from `starts` on, zeros beyond the
    end."""
    dims, out_group, channels = len(strides), w.shape[-2], w.shape[-1]
    in_group = channels // groups
    spans = [(k - 1) * d + 1 for k, d in zip(w.shape[:dims], dilations, strict=True)]
    ends = [(n - 1) * s + span for n, s, span in zip(x.shape[1:-1], strides, spans, strict=True)]
    room = [max(end, a + out) for end, a, out in zip(ends, starts, outs, strict=True)]
    full = np.zeros((x.shape[0], *room, out_group * groups))
    for at in itertools.product(*map(range, x.shape[1:-1])):
        for offset in itertools.product(*map(range, w.shape[:dims])):
            place = [
                i * s + a * d for i, s, a, d in zip(at, strides, offset, dilations, strict=True)
            ]
            for g in range(groups):
                seen = slice(g * in_group, (g + 1) * in_group)
                target = (slice(None), *place, slice(g * out_group, (g + 1) * out_group))
                full[target] += x[(slice(None), *at, seen)] @ w[(*offset, slice(None), seen)].T
    taken = [slice(a, a + out) for a, out in zip(starts, outs, strict=True)]
    return full[(slice(None), *taken)]


def transposed_range(padding, n, span, s):
    """The legal sizes of one axis, and the default one."""
    full = (n - 1) * s + span
    if padding == "SAME":
        return range((n - 1) * s + 1, n * s + 1), n * s
    if padding == "VALID":
        return range(full, full + s), n * s + max(span - s, 0)
    low, high = padding
    return range(max(full - low - high, 1), full - low - high + s), full - low - high


# Configurations
# ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Row:
    name: str
    dims: tuple
    transposed: bool = False
    grouped: bool = False
    x_dilated: bool = True
    depthwise: bool = False


ROWS = {
    row.name: row
    for row in (
        Row("conv1d", (1,)),
        Row("conv2d", (2,)),
        Row("conv3d", (3,)),
        Row("depthwise_conv2d", (2,), x_dilated=False, depthwise=True),
        Row("conv1d_transpose", (1,), transposed=True, x_dilated=False),
        Row("conv2d_transpose", (2,), transposed=True, x_dilated=False),
        Row("conv3d_transpose", (3,), transposed=True, x_dilated=False),
        Row("conv_general_dilated", (1, 2, 3), grouped=True),
        Row("conv_general_transpose", (1, 2, 3), transposed=True, grouped=True, x_dilated=False),
    )
}


@dataclass(frozen=True)
class Config:
    row: Row
    dims: int
    sizes: tuple
    kernel: tuple
    strides: tuple
    padding: object
    dilations: tuple
    x_dilations: tuple
    groups: int
    batch: int
    channels: int
    out_channels: int
    channel_first: bool = False
    filter_first: bool = False
    with_bias: bool = True
    output_shape: object = None

    @property
    def spans(self):
        return [(k - 1) * d + 1 for k, d in zip(self.kernel, self.dilations, strict=True)]

    def arrays(self, seed=0):
        """x, filters and bias in float64 and channel-last order."""
        rng = np.random.default_rng(seed)
        shape = (self.channels // self.groups, self.out_channels)
        if self.row.transposed:
            shape = (self.out_channels // self.groups, self.channels)
        bias = rng.standard_normal(self.out_channels)
        return (
            rng.standard_normal((self.batch, *self.sizes, self.channels)),
            rng.standard_normal((*self.kernel, *shape)),
            bias if self.with_bias and not self.row.depthwise else None,
        )

    def expected(self, x, w, b):
        bias = 0 if b is None else b
        if not self.row.transposed:
            spread = [(n - 1) * d + 1 for n, d in zip(self.sizes, self.x_dilations, strict=True)]
            pairs = resolve(self.padding, spread, self.spans, self.strides)
            y = loop_forward(
                x, w, self.strides, pairs, self.x_dilations, self.dilations, self.groups
            )
            return y + bias
        starts, outs = [], []
        for axis, (n, span, s) in enumerate(zip(self.sizes, self.spans, self.strides, strict=True)):
            kind = self.kind(axis)
            out = transposed_range(kind, n, span, s)[1]
            out = out if self.output_shape is None else self.output_shape[axis]
            outs.append(out)
            total = max((n - 1) * s + span - out, 0)
            starts.append({"SAME": total // 2, "VALID": 0}.get(kind, kind[0]))
        y = loop_transposed(x, w, self.strides, starts, outs, self.dilations, self.groups)
        return y + bias

    def kind(self, axis):
        """The padding of one axis: a name or a pair."""
        if isinstance(self.padding, str):
            return self.padding
        return (self.padding,) * 2 if isinstance(self.padding, int) else self.padding[axis]

    def is_legal(self):
        for axis, (n, span, s) in enumerate(zip(self.sizes, self.spans, self.strides, strict=True)):
            kind = self.kind(axis)
            if self.row.transposed:
                if transposed_range(kind, n, span, s)[1] < 1:
                    return False
            elif kind != "SAME":
                low, high = (0, 0) if kind == "VALID" else kind
                if (n - 1) * self.x_dilations[axis] + 1 + low + high < span:
                    return False
        return True

    def to_layout(self, x):
        return np.moveaxis(x, -1, 1) if self.channel_first else x

    def filters_to_layout(self, w):
        if self.row.depthwise:
            return w[..., 0, :]
        axes = (self.dims + 1, self.dims, *range(self.dims))
        return np.transpose(w, axes) if self.filter_first else w

    def options(self):
        names = GENERAL if self.row.grouped else FORMATS[self.dims]
        options = {"data_format": names[self.channel_first], "dilations": self.dilations}
        if not self.row.depthwise:
            options["filter_format"] = GENERAL[self.filter_first]
        if self.row.x_dilated:
            options["x_dilations"] = self.x_dilations
        if self.row.grouped:
            options |= {"dims": self.dims, "feature_group_count": self.groups}
        if self.output_shape is not None:
            options["output_shape"] = self.output_shape
        return options

    def call(self, x, w, b=None):
        fn, options = getattr(trellis, self.row.name), self.options()
        if b is not None:
            options["bias"] = b
        return fn(x, w, self.strides, self.padding, **options)

    def native(self, array, dtype, seed=0):
        """x, filters and maybe bias as arrays of the backend, in the layout of the
        configuration."""
        x, w, b = self.arrays(seed)
        made = [self.to_layout(x), self.filters_to_layout(w), *([] if b is None else [b])]
        return [array(np.ascontiguousarray(a, dtype=dtype)) for a in made]


def draw(row, rng, number):
    """A legal configuration; what matters most goes in turn, the rest by chance."""
    while True:
        dims = rng.choice(row.dims)
        longest = 4 if dims < 3 else 3
        groups = rng.choice((1, 2, 3)) if row.grouped else 1
        in_group, out_group = rng.choice((1, 2, 3)), rng.choice((1, 2, 3))
        channels, out_channels = in_group * groups, out_group * groups
        if row.depthwise or (row.grouped and number % 5 == 0):
            channels = groups = rng.choice((1, 2, 3, 5))
            out_channels = groups * (1 if row.depthwise else out_group)
        padding = ("SAME", "VALID", rng.randint(0, 3), None)[number % 4]
        if padding is None:
            padding = [(rng.randint(0, 3), rng.randint(0, 3)) for _ in range(dims)]
        equal = rng.randint(1, 3)
        config = Config(
            row=row,
            dims=dims,
            sizes=tuple(rng.randint(1, 7 if dims < 3 else 4) for _ in range(dims)),
            kernel=tuple(rng.randint(1, longest) for _ in range(dims)),
            strides=tuple(equal if number % 3 else rng.randint(1, 3) for _ in range(dims)),
            padding=padding,
            dilations=tuple(rng.choice((1, 1, 2, 3)) for _ in range(dims)),
            x_dilations=tuple(
                rng.choice((1, 1, 2, 3)) if row.x_dilated else 1 for _ in range(dims)
            ),
            groups=groups,
            batch=rng.choice((1, 3)),
            channels=channels,
            out_channels=out_channels,
            channel_first=rng.random() < 0.5,
            filter_first=rng.random() < 0.5 and not row.depthwise,
            with_bias=rng.random() < 0.5,
        )
        if config.is_legal():
            return config


def base(row, dims=None, **changes):
    """A plain configuration to start from; channels differ between input and output."""
    dims = dims or row.dims[-1]
    config = Config(
        row=row,
        dims=dims,
        sizes=(4, 3, 3)[:dims],
        kernel=(2, 3, 2)[:dims] if dims < 3 else (2, 2, 1),
        strides=(1,) * dims,
        padding="SAME",
        dilations=(1,) * dims,
        x_dilations=(1,) * dims,
        groups=2 if row.grouped else 2 if row.depthwise else 1,
        batch=1,
        channels=2,
        out_channels=2 if row.depthwise else 4 if row.grouped else 3,
    )
    return replace(config, **changes)


# What every row shows
# ---------------------------------------------------------------------------------


def check_row(name, backend, xp, array, x64):
    row = ROWS[name]
    for vector in vectors.of(name):
        vectors.check(vector, xp, "float32")
        with x64(), trellis.using_default_dtype("float64"):
            vectors.check(vector, xp, "float64")
    check_sweep(row, backend, array, x64)
    check_gradients_of(row, array, x64)
    check_types(row, backend, array, x64)
    check_compiled(row, backend, array)
    check_nests(row, backend, array)
    check_errors(row, array)
    check_mixed(row, backend, array)


def check_sweep(row, backend, array, x64):
    rng = random.Random(row.name)
    for number in range(SWEEP):
        config = draw(row, rng, number)
        dtype = "float64" if number % 6 == 5 else "float32"
        x, w, b = config.arrays(number)
        with x64():
            result = config.call(*config.native(array, dtype, number))
            wanted = np.ascontiguousarray(config.to_layout(config.expected(x, w, b)))
            try:
                assert_close(result, wanted.astype(dtype), backend=backend)
            except AssertionError as error:
                raise AssertionError(f"{config}: {error}") from None


def check_gradients_of(row, array, x64):
    """By x, filters and bias, with every kind of padding, with stride and dilation, twice in one
    case."""
    for dims in row.dims:
        plain = base(row, dims)
        uneven = tuple((0, 1, 1)[:dims]), tuple((1, 2, 0)[:dims])
        cases = [
            plain,
            replace(plain, padding="VALID", strides=(2, 1, 2)[:dims]),
            replace(plain, padding=2, channel_first=True, strides=(2,) * dims),
            replace(plain, padding=list(zip(*uneven, strict=True)), dilations=(2, 1, 2)[:dims]),
            replace(plain, padding=1, strides=(2,) * dims, dilations=(2,) * dims,
                    filter_first=not row.depthwise),
        ]  # fmt: skip
        if row.x_dilated:
            cases.append(replace(plain, x_dilations=(2,) * dims, strides=(2, 1, 1)[:dims]))
        if dims != row.dims[0]:
            cases = cases[-2:]  # the plain ones of more dimensions have rows of their own
        with x64():
            for number, config in enumerate(cases):
                assert config.is_legal()
                modes = ("rev",) if number else ("rev", "fwd")
                check_gradients(config.call, config.native(array, "float64"), order=1, modes=modes)
    small = base(row, row.dims[0], sizes=(3, 2, 2)[: row.dims[0]], kernel=(2,) * row.dims[0])
    small = replace(small, strides=(2,) * small.dims, padding=1)
    with x64():
        check_gradients(small.call, small.native(array, "float64"), order=2, modes=("rev",))


def check_types(row, backend, array, x64):
    config = base(row, row.dims[0])
    for dtype in ("float32", "float64"):
        with x64():
            xs = config.native(array, dtype)
            y, pull = trellis.vjp(config.call, *xs)
            for part in (y, *pull(xp_ones(y))):
                assert trellis.dtype(part) == dtype
                assert trellis.backend_of(part) == backend
    # Integers are computed in the default float; a float beside them decides.
    xs = config.native(array, "float32")
    whole = [array(np.arange(np.prod(x.shape)).reshape(x.shape) % 5, "int32") for x in xs]
    assert trellis.dtype(config.call(*whole)) == "float32"
    wanted = config.call(*[trellis.astype(x, "float32") for x in whole])
    assert_close(config.call(*whole), trellis.to_numpy(wanted), backend=backend)
    # Half precision is accumulated in single: 2 * 512 ones are 1024, where float16 sums would stop
    # short.
    if row.name == "conv1d":
        halves = trellis.conv1d(
            array(np.full((1, 4, 1024), 1.001), "float16"),
            array(np.ones((1, 1024, 1)), "float16"),
            1,
            "VALID",
        )
        assert trellis.dtype(halves) == "float16"
        exact = 1024 * float(np.float16(1.001))
        np.testing.assert_allclose(trellis.to_numpy(halves).astype(float), exact, rtol=1e-3)
    empty = replace(config, batch=0)
    result = empty.call(*empty.native(array, "float32"))
    assert tuple(result.shape) == empty.to_layout(empty.expected(*empty.arrays())).shape
    x, *others = empty.native(array, "float32")
    by_x = trellis.grad(lambda x: trellis.sum(empty.call(x, *others)))(x)
    assert tuple(by_x.shape) == tuple(x.shape)


def xp_ones(y):
    return trellis.ones_like(y)


def check_compiled(row, backend, array):
    rng = random.Random(row.name + " compiled")
    for number in range(2):
        config = draw(row, rng, number)
        xs = config.native(array, "float32")
        # all configurations share one code object, and its count of recompilations
        forget_programs(backend)
        eager, compiled = config.call(*xs), compile_with(backend, config.call)(*xs)
        assert_close(compiled, trellis.to_numpy(eager), backend=backend)


def check_nests(row, backend, array):
    config = base(row, row.dims[0])
    x, w, *b = config.native(array, "float32")
    other = config.native(array, "float32", seed=1)[0]
    alone = [trellis.to_numpy(config.call(part, w, *b)) for part in (x, other)]
    for kind in (dict, Container):
        nested = config.call(kind(a=x, b=kind(c=other)), w, *b)
        assert type(nested) is kind and type(nested["b"]) is kind
        assert_close(nested["a"], alone[0], backend=backend)
        assert_close(nested["b"]["c"], alone[1], backend=backend)
    with pytest.raises(errors.ShapeError, match="Pytrees differ"):
        config.call({"a": x}, {"b": w}, *b)


def check_errors(row, array):
    config = base(row, row.dims[-1])
    dims = config.dims
    x, w, *b = config.native(array, "float32")
    fn, good = getattr(trellis, row.name), config.options()
    bad = [
        ("axes", lambda: fn(x[0, ...], w, 1, "SAME", **good)),
        ("filters", lambda: fn(x, w[0, 0, ...], 1, "SAME", **good)),
        ("'NXC'", lambda: fn(x, w, 1, "SAME", **{**good, "data_format": "NXC"})),
        ("'HALF'", lambda: fn(x, w, 1, "HALF", **good)),
        (r"\(1, 1, 1, 1\)", lambda: fn(x, w, (1, 1, 1, 1), "SAME", **good)),
        ("strides of at least 1.*0", lambda: fn(x, w, 0, "SAME", **good)),
        ("dilations of at least 1", lambda: fn(x, w, 1, "SAME", **{**good, "dilations": -2})),
        ("padding of at least 0.*-1", lambda: fn(x, w, 1, -1, **good)),
        ("pair", lambda: fn(x, w, 1, [(1, 1)] * (dims + 1), **good)),
        ("pair", lambda: fn(x, w, 1, [1] * dims, **good)),
        ("channel", lambda: fn(trellis.concat([x, x], axis=-1), w, 1, "SAME", **good)),
    ]
    if not row.depthwise:
        bad += [
            ("'first'", lambda: fn(x, w, 1, "SAME", **{**good, "filter_format": "first"})),
            (r"bias of shape .*\(7,\)",
             lambda: fn(x, w, 1, "SAME", bias=array(np.zeros(7), "float32"), **good)),
        ]  # fmt: skip
    if row.transposed:
        bad += [
            ("output_shape", lambda: fn(x, w, 1, "SAME", **{**good, "output_shape": (9,) * dims})),
            ("output_shape",
             lambda: fn(x, w, 1, "SAME", **{**good, "output_shape": (1, 1, 1, 1)[: dims + 1]})),
            ("no output", lambda: fn(x, w, 1, 9, **good)),
        ]  # fmt: skip
    else:
        bad.append(("no output.*9", lambda: fn(x, w, 1, "VALID", **{**good, "dilations": 8})))
        if row.x_dilated:
            bad.append(("x_dilations", lambda: fn(x, w, 1, "SAME", **{**good, "x_dilations": 0})))
    if row.grouped:
        # x has 2 channels, the filters 4: 3 groups divide neither.
        bad.append(("3 groups", lambda: fn(x, w, 1, "SAME", **{**good, "feature_group_count": 3})))
        bad.append(("0", lambda: fn(x, w, 1, "SAME", **{**good, "feature_group_count": 0})))
        bad.append(("dims=4", lambda: fn(x, w, 1, "SAME", **{**good, "dims": 4})))
    for message, call in bad:
        with pytest.raises(ValueError, match=message) as raised:
            call()
        assert isinstance(raised.value, errors.TrellisError)


def check_mixed(row, backend, array):
    config = base(row, row.dims[0])
    x, w, *b = config.native(array, "float32")
    foreign = trellis.namespace(other_of(backend)).asarray(np.zeros(tuple(w.shape), "float32"))
    with pytest.raises(errors.MixedBackendsError, match=other_of(backend)):
        config.call(x, foreign, *b)


def check_output_shapes(row, backend, array):
    """Every legal output_shape gives the formula's values; the nearest illegal ones raise."""
    dims = row.dims[0]
    for padding in ("SAME", "VALID", [(1, 0)] * dims):
        config = base(row, dims, padding=padding, strides=(3, 2, 2)[:dims], sizes=(2,) * dims)
        ranges = [
            transposed_range(config.kind(i), 2, config.spans[i], config.strides[i])[0]
            for i in range(dims)
        ]
        for number in range(max(map(len, ranges))):
            shape = tuple(legal[min(number, len(legal) - 1)] for legal in ranges)
            wanted = replace(config, output_shape=shape)
            y = wanted.expected(*wanted.arrays())
            if number % 2:  # the whole shape in place of the spatial sizes
                asked = replace(wanted, output_shape=y.shape)
            else:
                asked = wanted
            result = asked.call(*config.native(array, "float32"))
            assert_close(result, y.astype("float32"), backend=backend)
        for axis, legal in enumerate(ranges):
            for size in (legal[0] - 1, legal[-1] + 1):
                shape = [r[0] for r in ranges]
                shape[axis] = size
                with pytest.raises(errors.ShapeError, match=str(size)):
                    replace(config, output_shape=tuple(shape)).call(
                        *config.native(array, "float32")
                    )
    wrong = (2, *[6] * dims, config.out_channels)
    with pytest.raises(errors.ShapeError, match="contradicts"):
        replace(config, output_shape=wrong).call(*config.native(array, "float32"))


def check_is_gradient(row, forward, backend, array):
    """The transposed convolution is the vjp of the forward one with the same padding."""
    for dims in row.dims:
        for padding in ("SAME", "VALID", 1)[dims - row.dims[0] :]:
            config = base(
                row, dims, padding=padding, strides=(2,) * dims, sizes=(3,) * dims, with_bias=False
            )
            x, w = config.native(array, "float32")
            y = config.call(x, w)
            options = {k: v for k, v in config.options().items() if k != "output_shape"}
            primal = trellis.zeros_like(y)
            _, pull = trellis.vjp(
                lambda z: forward(z, w, config.strides, padding, **options), primal
            )
            assert_close(y, trellis.to_numpy(pull(x)[0]), backend=backend)


# The rows
# ---------------------------------------------------------------------------------------------


def test_conv1d(backend, xp, array, x64):
    check_row("conv1d", backend, xp, array, x64)
    for x_dilation in (1, 2, 3):
        for number in range(4):
            config = base(
                ROWS["conv1d"],
                x_dilations=(x_dilation,),
                strides=(1 + number % 3,),
                kernel=(1 + number,),
            )
            wanted = config.expected(*config.arrays()).astype("float32")
            assert_close(config.call(*config.native(array, "float32")), wanted, backend=backend)


def test_conv2d(backend, xp, array, x64):
    check_row("conv2d", backend, xp, array, x64)
    check_no_abort(backend)


def long_kernels(backend):
    """Gradients of convolutions over which XLA's CPU compiler can abort the process."""
    rng = np.random.default_rng(0)
    xp = trellis.namespace(backend)
    cases = (((6, 4), (3, 2), (3, 2)), ((4, 7), (2, 3), (2, 4)), ((6, 6), (2, 5), (2, 6)))
    for sizes, kernel, strides in cases:
        x = rng.standard_normal((1, *sizes, 1)).astype("float32")
        w = rng.standard_normal((*kernel, 1, 1)).astype("float32")
        y, pull = trellis.vjp(
            lambda x, w: trellis.conv2d(x, w, strides, 1), xp.asarray(x), xp.asarray(w)
        )
        g = (np.arange(np.prod(y.shape)).reshape(y.shape) % 5 - 2).astype("float32")
        got = trellis.to_numpy(pull(xp.asarray(g))[0])
        padded = np.zeros((sizes[0] + 2 + strides[0], sizes[1] + 2 + strides[1]))
        for i in range(y.shape[1]):
            for j in range(y.shape[2]):
                a, b = i * strides[0], j * strides[1]
                padded[a : a + kernel[0], b : b + kernel[1]] += g[0, i, j, 0] * w[:, :, 0, 0]
        wanted = padded[1 : 1 + sizes[0], 1 : 1 + sizes[1]]
        np.testing.assert_allclose(got[0, :, :, 0], wanted, rtol=1e-5, atol=1e-5)
        squares = lambda x: trellis.sum(trellis.conv2d(x, xp.asarray(w), strides, 1) ** 2)  # noqa: E731
        loss = lambda x: trellis.sum(trellis.grad(squares)(x) ** 2)  # noqa: E731
        assert np.isfinite(trellis.to_numpy(trellis.grad(loss)(xp.asarray(x)))).all()


def check_no_abort(backend):
    if backend != "jax":
        long_kernels(backend)
        return
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    script = f"from {__name__} import long_kernels; long_kernels('jax'); print('alive')"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, env=environment, check=False
    )
    assert done.returncode == 0 and done.stdout.strip() == "alive", done.stderr[-2000:]


def test_conv3d(backend, xp, array, x64):
    check_row("conv3d", backend, xp, array, x64)
    # Dilation in both layouts, with gradients: TensorFlow has neither of its own.
    for first in (False, True):
        config = base(
            ROWS["conv3d"],
            sizes=(3, 3, 3),
            kernel=(2, 1, 2),
            dilations=(2, 1, 2),
            channel_first=first,
        )
        wanted = config.to_layout(config.expected(*config.arrays())).astype("float32")
        assert_close(config.call(*config.native(array, "float32")), wanted, backend=backend)
        with x64():
            check_gradients(config.call, config.native(array, "float64"), order=1, modes=("rev",))


def test_depthwise_conv2d(backend, xp, array, x64):
    check_row("depthwise_conv2d", backend, xp, array, x64)
    row = ROWS["depthwise_conv2d"]
    for strides, dilations in (
        ((2, 2), (2, 2)),
        ((1, 2), (1, 1)),
        ((3, 1), (1, 2)),
        ((2, 3), (3, 2)),
    ):
        config = base(row, sizes=(6, 5), kernel=(3, 2), strides=strides, dilations=dilations,
                      channels=3,
                      out_channels=3, groups=3)  # fmt: skip
        wanted = config.expected(*config.arrays()).astype("float32")
        x, w = config.native(array, "float32")
        assert_close(config.call(x, w), wanted, backend=backend)
        assert_close(config.call(x, trellis.expand_dims(w, axis=-1)), wanted, backend=backend)
        small = replace(config, sizes=(4, 3), channels=2, out_channels=2, groups=2, padding=2)
        with x64():
            check_gradients(small.call, small.native(array, "float64"), order=1, modes=("rev",))
    for shape in ((3, 2, 4), (3, 2, 3, 2), (3, 2)):
        with pytest.raises(errors.ShapeError, match=r"\(3, 2"):
            config.call(x, array(np.zeros(shape), "float32"))


def test_conv1d_transpose(backend, xp, array, x64):
    check_row("conv1d_transpose", backend, xp, array, x64)
    check_output_shapes(ROWS["conv1d_transpose"], backend, array)
    check_is_gradient(ROWS["conv1d_transpose"], trellis.conv1d, backend, array)


def test_conv2d_transpose(backend, xp, array, x64):
    check_row("conv2d_transpose", backend, xp, array, x64)
    check_output_shapes(ROWS["conv2d_transpose"], backend, array)
    check_is_gradient(ROWS["conv2d_transpose"], trellis.conv2d, backend, array)


def test_conv3d_transpose(backend, xp, array, x64):
    check_row("conv3d_transpose", backend, xp, array, x64)
    check_output_shapes(ROWS["conv3d_transpose"], backend, array)
    check_is_gradient(ROWS["conv3d_transpose"], trellis.conv3d, backend, array)


def test_conv_general_dilated(backend, xp, array, x64):
    check_row("conv_general_dilated", backend, xp, array, x64)
    row = ROWS["conv_general_dilated"]
    for dims in row.dims:
        for groups in (1, 2, 3, 6):  # the divisors of six input channels
            config = base(row, dims, channels=6, out_channels=6, groups=groups)
            wanted = config.expected(*config.arrays()).astype("float32")
            x, w, b = config.native(array, "float32")
            result = config.call(x, w, b)
            assert_close(result, wanted, backend=backend)
            if groups == 1:
                same = getattr(trellis, f"conv{dims}d")(x, w, 1, "SAME", bias=b)
                assert_close(result, trellis.to_numpy(same), backend=backend)
            if groups == 6 and dims == 2:
                same = (
                    trellis.depthwise_conv2d(x, trellis.reshape(w, (*config.kernel, 6)), 1, "SAME")
                    + b
                )
                assert_close(result, trellis.to_numpy(same), backend=backend)


def test_conv_general_transpose(backend, xp, array, x64):
    check_row("conv_general_transpose", backend, xp, array, x64)
    row = ROWS["conv_general_transpose"]
    check_output_shapes(row, backend, array)
    for dims in row.dims:
        for groups in (2, 6):
            config = base(row, dims, channels=6, out_channels=6, groups=groups, strides=(2,) * dims)
            wanted = config.expected(*config.arrays()).astype("float32")
            assert_close(config.call(*config.native(array, "float32")), wanted, backend=backend)
    check_is_gradient(row, trellis.conv_general_dilated, backend, array)
