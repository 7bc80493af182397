"""The interface of a backend: everything that Trellis needs of a framework.

A backend is a module that is an Array API namespace (`array_api.py`) and has the functions below.
`tests/contract/test_contract.py` compares the names and signatures of the four backends with it.
How to add another one: `docs/new_backend.md`.

Arguments are checked already: the public functions have validated strings (modes, paddings,
reductions), have converted axes and sizes to tuples of ints, and have raised errors for arrays of
two frameworks. But users call the functions of the standard through `trellis.namespace(...)`, so
these take everything that the standard allows.

An array has `shape` (a tuple, or convertible to one), `dtype` and `ndim`; Python's operators, with
arrays and Python numbers on either side; and `x[...]` with integers, slices, None, `...` and
integer arrays. Data types can be hashed and compared.

A backend need not define all of this: `complete.py` adds the rest: a formula over the functions
that exist, else NumPy's function, else one that raises `NotSupportedError` and names the function
and the backend. Seven names are enough: `TYPES`, `ABILITIES`, `ARRAY_TYPES`, `from_numpy`,
`to_numpy`,
`vjp` and `custom_vjp`.
"""

from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeAlias

from .._core.abilities import Abilities
from .._core.typing import Device, DTypeLike, Scalar
from .._ops.source import Source
from .array_api import ArrayAPI, Axes, Ints, Native
from .shared.convolution import ConvSpec, TransposedConvSpec
from .shared.distributed import Place
from .shared.foreach import StepKernel
from .shared.windows import WindowSpec

Natives: TypeAlias = list[Native]
# A differentiable function over a flat list of arrays; the other form also returns values that are
# not differentiated.
ListFn: TypeAlias = Callable[[Natives], Natives]
AuxFn: TypeAlias = Callable[[Natives], tuple[Natives, Any]]
# One number for each spatial axis, and (low, high) for each of them.
Sizes: TypeAlias = Sequence[int]
Pairs: TypeAlias = Sequence[tuple[int, int]]


class DataTypes(Protocol):
    """Names of data types, and what there is beyond the standard's."""

    NAME: str
    """The name of the backend: "numpy", "mlx"."""

    TYPES: dict[str, Any]
    """The native types by their canonical names ("float32"), those that the framework has."""

    float16: Any
    """The half-precision type; there is also `bfloat16` if the framework has it.
    """

    FLOAT_DTYPES: frozenset[Any]
    """The native types whose arrays can be differentiated."""

    ABILITIES: Abilities
    """What the framework can do beyond single functions: a compiler, shardings, wide integers."""

    ARRAY_TYPES: tuple[type, ...]
    """The array types of the framework, tracers among them; set by `_core.dispatch.register`."""

    STEP_KERNELS: dict[str, StepKernel]
    """Whole steps of optimizers that are faster here than their rules, by name ("adam"); what is
    absent, and a step for which a kernel gives None, is done by the rules."""

    RECURRENCES: dict[str, Callable[..., Any]]
    """Recurrent layers over all their steps, by the name of one step ("gru_update"); what is
    absent, and a layer for which one gives None, is a scan over the step."""

    SPECIAL_KERNELS: dict[tuple[str, str], Callable[..., Any]]
    """Special functions that are as exact as their formulas here, and faster, by name and by the
    type of the arrays: ("ndtri", "float32"). What is absent is done by the formula."""

    SOURCE: Source | None
    """How ejected programs of the framework are written; without it `to_source` raises. The four
    built-in ones are in the op table."""

    MADE: dict[str, str]
    """How each function is made, by its dotted name: "native", "derived", "host", "missing"."""

    def as_dtype(self, dtype: DTypeLike | None, /) -> Any:
        """The native type for a canonical name or a type of any framework; None stays None."""

    def dtype_name(self, dtype: Any, /) -> str:
        """The canonical name ("float32") of a native type."""


class Gradients(Protocol):
    """Differentiation and vectorisation, over flat lists of arrays: the callers flatten pytrees."""

    def vjp(
        self, fn: AuxFn, xs: Natives, once: bool = False, sparse: bool = False
    ) -> tuple[Natives, Any, Callable[[list[Any]], Natives]]:
        """Run `fn(xs) -> (outputs, aux)`; return outputs, aux, and the map from cotangents to
        gradients.

        The cotangent of an output that is not differentiated is None. The map may be called several
        times, and inside another `vjp`, whose gradients then flow through it. With `once` it is
        called a single time, after which its memory may be freed. With
        `sparse` the gradients of arrays that no output depends on may be None; else they are zeros.
        """

    def value_and_grad(self, fn: AuxFn, xs: Natives) -> tuple[Natives, Any, list[Any]]:
        """Run `fn(xs) -> ([value], aux)`, whose value is one number; return [value], aux, and the
        gradients, None for arrays that the value does not depend on (all of them, if zeros cannot
        be told from a gradient of zeros).

        For frameworks that record nothing and must know the cotangents before they run a function.
        """

    def jvp(self, fn: AuxFn, xs: Natives, tangents: Natives) -> tuple[Natives, Natives, Any]:
        """The outputs of `fn`, their derivatives in the direction of `tangents`, and aux."""

    def jacobian(self, fn: ListFn, xs: Natives) -> list[Natives]:
        """For each output the list of its full derivatives by each input."""

    def vmap(
        self, fn: ListFn, xs: Natives, axes: list[int | None], out_axes: list[int], size: int
    ) -> Natives:
        """`fn` over the slices along `axes` (None: not sliced), the results stacked along
        `out_axes`.
        """

    def custom_vjp(
        self, fn: ListFn, rule: Callable[[Natives, Natives, list[Any]], list[Any]]
    ) -> ListFn:
        """`fn` with `rule(xs, ys, upstream) -> gradients` as its derivative."""

    def custom_jvp(
        self,
        fn: ListFn,
        rule: Callable[[Natives, Natives, list[Any]], list[Any]],
        push: Callable[[Natives, Natives, list[Any]], list[Any]],
    ) -> ListFn:
        """`custom_vjp` with `push(xs, ys, tangents) -> tangents` for forward mode, which is linear
        in the tangents and may replace `rule`.
        """

    def checkpoint(self, fn: ListFn) -> ListFn:
        """`fn` without keeping its intermediate values: the backward pass computes them again.
        Arrays that `fn` closes over get their gradients too.
        """

    def stop_gradient(self, x: Native, /) -> Native:
        """The values of `x` as a constant for every derivative."""


class Compilation(Protocol):
    """The framework's compiler, its control flow, and whether values can be read."""

    def compile_function(
        self,
        fn: Callable[..., Any],
        *,
        static_argnums: tuple[int, ...],
        static_argnames: tuple[str, ...],
        donate_argnums: tuple[int, ...] = (),
        strict: bool = False,
        carry: int | None = None,
    ) -> Callable[..., Any]:
        """`fn` compiled; it takes and returns Containers. Without a compiler it is `fn` itself;
        with `strict` it then raises where a compiler would. The arguments `donate_argnums` are
        donated: results may be written over their arrays, and their pytrees emptied. The argument
        number `carry` is returned, changed, as the last of several results. Its memory may be used
        for that result, and the caller must not use it again.
        """

    def for_many_calls(self, fn: Callable[..., Any], args: list[Any]) -> Callable[..., Any]:
        """`fn` in the form that is fastest for many calls with arrays like `args`."""

    def is_tracing(self) -> bool:
        """Whether a function is being traced for the compiler right now."""

    def is_concrete(self, x: Native) -> bool:
        """Whether the values of `x` can be read now; not, if reading them would cut a
        derivative that is being computed."""

    def lasts(self, x: Native) -> bool:
        """Whether `x` is still valid after the running function ends: not a compiler's tracer."""

    def callback(
        self,
        make: Callable[..., Callable[[list[Any]], list[Any]]],
        given: tuple[Any, ...],
        xs: Natives,
        shapes: Sequence[tuple[int | None, ...]],
        names: Sequence[str],
    ) -> Natives:
        """The results of `make(*given)`, a function of NumPy arrays, which a compiled program calls
        when it runs. Their shapes and data types are announced. It has no derivative, and raises
        where one is asked. The two come apart, so that a compiler can take them for constants.
        """

    def layer_types(self) -> tuple[type, ...]:
        """The framework's own classes of layers, as far as they are imported."""

    def cond(
        self,
        pred: Native,
        true_fn: Callable[..., Any],
        false_fn: Callable[..., Any],
        *operands: Any,
    ) -> Any:
        """One of two functions, by a condition that may be known only when the program runs."""

    def while_loop(
        self, cond_fn: Callable[[Any], Any], body_fn: Callable[[Any], Any], init: Any
    ) -> Any:
        """`body_fn` over a pytree of arrays while `cond_fn` is true."""

    def scan(
        self, fn: Callable[[Any, Any], tuple[Any, Any]], init: Any, xs: Any
    ) -> tuple[Any, Any]:
        """`carry, y = fn(carry, x)` over axis 0 of a pytree; the last carry and the stacked ys."""


class Interchange(Protocol):
    """Devices, and conversion to and from NumPy."""

    def from_numpy(
        self, x: Any, /, *, device: Device | None = None, copy: bool | None = None
    ) -> Native:
        """A NumPy array as a native one, sharing memory where possible; with `copy=False` it raises
        where it is not.
        """

    def to_numpy(self, x: Native, /) -> Any:
        """The values as a NumPy array, detached from gradients, sharing memory where possible."""

    def check_leaving(self, x: Native, /) -> None:
        """Raise for an array that is being differentiated or traced: converting it would lose
        that."""

    def device(self, x: Native, /) -> Any:
        """The device of an array, as the framework names it."""

    def to_device(self, x: Native, device: Device, /, *, stream: Any = None) -> Native:
        """The array on another device."""


class Arrays(Protocol):
    """Functions of arrays that the standard does not have."""

    def erf(self, x: Native, /) -> Native:
        """The error function."""

    def erfc(self, x: Native, /) -> Native:
        """1 - erf(x), precise also where it is small."""

    def erfinv(self, x: Native, /) -> Native:
        """The inverse of the error function, nan outside -1 to 1."""

    def exp2(self, x: Native, /) -> Native:
        """2 to the power of x."""

    def cbrt(self, x: Native, /) -> Native:
        """The real cube root, negative for negative numbers."""

    def rsqrt(self, x: Native, /) -> Native:
        """1 / sqrt(x)."""

    def fmod(self, x1: Native, x2: Native, /) -> Native:
        """The remainder with the sign of x1; integers by 0 give 0."""

    def truncate_divide(self, x1: Native, x2: Native, /) -> Native:
        """The quotient rounded towards zero; integers stay integers, and by 0 they give 0."""

    def isclose(
        self,
        x1: Native,
        x2: Native,
        /,
        *,
        rtol: float = 1e-5,
        atol: float = 1e-8,
        equal_nan: bool = False,
    ) -> Native:
        """|x1 - x2| <= atol + rtol * |x2|, element by element."""

    def nan_to_num(
        self,
        x: Native,
        /,
        *,
        nan: float = 0.0,
        posinf: float | None = None,
        neginf: float | None = None,
    ) -> Native:
        """Numbers in place of nan and infinities; None means the largest and lowest number of the
        type.
        """

    def logsumexp(self, x: Native, /, *, axis: Axes = None, keepdims: bool = False) -> Native:
        """log(sum(exp(x))) without overflow."""

    def einsum(self, subscripts: str, /, *xs: Native) -> Native:
        """Sums of products in Einstein's notation."""

    def pad(
        self,
        x: Native,
        pad_width: Pairs,
        /,
        *,
        mode: str = "constant",
        constant_values: Scalar = 0,
    ) -> Native:
        """Elements added at the ends: one (low, high) per axis; "constant", "reflect", "edge",
        "wrap".
        """

    def sliding_window(self, x: Native, window: int, /, *, axis: int = -1, step: int = 1) -> Native:
        """All windows along an axis, each in a new last axis."""

    def topk(
        self, x: Native, k: int, /, *, axis: int = -1, largest: bool = True
    ) -> tuple[Native, Native]:
        """The k best elements and their indices, best first; ties by the lower index."""

    def segment_sum(self, x: Native, segment_ids: Native, /, *, num_segments: int) -> Native:
        """Sums of the slices along axis 0 that share an id."""

    def index_set(self, x: Native, idx: Any, value: Native | Scalar) -> Native:
        """A new array, `value` at `x[idx]`."""

    def index_add(self, x: Native, idx: Any, value: Native | Scalar) -> Native:
        """A new array, `value` added at `x[idx]`; repeated indices add up."""

    def index_multiply(self, x: Native, idx: Any, value: Native | Scalar) -> Native:
        """A new array, multiplied by `value` at `x[idx]`; repeated indices multiply up."""

    def index_min(self, x: Native, idx: Any, value: Native | Scalar) -> Native:
        """A new array, the smaller of itself and `value` at `x[idx]`."""

    def index_max(self, x: Native, idx: Any, value: Native | Scalar) -> Native:
        """A new array, the larger of itself and `value` at `x[idx]`."""

    def update_slice(self, x: Native, values: Native, start: Native, /, *, axis: int) -> Native:
        """A new array, `values` along one axis from the index `start` on, an integer array without
        axes that need not be known while tracing; values that would not fit are moved back.
        """


class Kernels(Protocol):
    """Layers as the framework's own kernels, where a formula over the functions above would be
    slower.
    """

    def linear(self, x: Native, weight: Native, bias: Native | None) -> Native:
        """x @ weight.T + bias over the last axis; `weight` is (out, in)."""

    def grouped_matmul(self, x: Native, weights: Native, group_sizes: Native) -> Native:
        """Consecutive groups of rows, each times its own matrix; rows after the last are zero."""

    def conv(self, x: Native, filters: Native, bias: Native | None, spec: ConvSpec) -> Native:
        """Convolution over 1 to 3 spatial axes, as `spec` describes."""

    def conv_transpose(
        self, x: Native, filters: Native, bias: Native | None, spec: TransposedConvSpec
    ) -> Native:
        """The transpose of `conv`: the window of the full result that `spec` names."""

    def laid_out_filters(self, filters: Native, dims: int, channel_first: bool) -> Native:
        """The channel-last filters of a layer, in the order in memory that `conv` need not copy;
        without spatial axes the matrices of an LSTM.
        """

    def laid_like(self, x: Native, model: Native) -> Native:
        """The array, in the order in memory of another one of its shape."""

    def max_pool(self, x: Native, spec: WindowSpec, *, indices: bool) -> tuple[Native, Any]:
        """Maxima over windows, and their flat positions in the plane, or None if not asked for."""

    def attention(
        self,
        query: Native,
        key: Native,
        value: Native,
        mask: Native | None,
        *,
        scale: float,
        is_causal: bool,
    ) -> Native:
        """softmax(query @ key.T * scale) @ value; a bool mask keeps where True, another one is
        added.
        """

    def attention_weights(
        self, query: Native, key: Native, mask: Native | None, *, scale: float, is_causal: bool
    ) -> Native:
        """The softmax of `attention` itself."""

    def lstm(
        self, x: Native, h: Native, c: Native, kernel: Native, recurrent_kernel: Native, bias: Any
    ) -> tuple[Native, tuple[Native, Native]]:
        """A whole LSTM over (time, batch, features): all outputs, and the last (h, c). The columns
        of the kernels are the gates input, forget, cell, output.
        """

    def layer_norm(
        self,
        x: Native,
        weight: Native | None,
        bias: Native | None,
        /,
        *,
        axes: tuple[int, ...],
        epsilon: float,
    ) -> Native:
        """Normalisation over `axes`, times weight plus bias, which have those axes."""

    def batch_norm(
        self,
        x: Native,
        weight: Native | None,
        bias: Native | None,
        /,
        *,
        channel: int,
        epsilon: float,
    ) -> tuple[Native, Native, Native] | None:
        """Normalisation by the moments of this batch in one kernel, its mean and its unbiased
        variance, (channels,) each and without gradients; None where there is no such kernel.
        """

    def class_losses(
        self, logits: Native, targets: Native, /, *, axis: int, reduction: str
    ) -> Native | None:
        """Cross entropy with class indices in one kernel; None where there is none."""

    def relu(self, x: Native, /) -> Native:
        """max(x, 0), with the derivative 0 at 0."""

    def sigmoid(self, x: Native, /) -> Native:
        """1 / (1 + exp(-x))."""

    def silu(self, x: Native, /) -> Native:
        """x * sigmoid(x)."""

    def softplus(self, x: Native, /) -> Native:
        """log(1 + exp(x)), without overflow."""

    def gelu(self, x: Native, /, *, approximate: bool = False) -> Native:
        """x times the normal distribution function of x, or the approximation of it with tanh."""

    def elu(self, x: Native, /, *, alpha: float, scale: float) -> Native:
        """scale * x above 0, scale * alpha * (exp(x) - 1) below."""

    def leaky_relu(self, x: Native, /, *, negative_slope: float) -> Native:
        """x above 0, negative_slope * x below."""

    def hard_tanh(self, x: Native, /, *, low: float, high: float) -> Native:
        """x cut off at `low` and `high`."""

    def softmax(self, x: Native, /, *, axis: Ints) -> Native:
        """exp(x) over its sum along the axes."""

    def log_softmax(self, x: Native, /, *, axis: Ints) -> Native:
        """The logarithm of `softmax`."""


class Foreach(Protocol):
    """Arithmetic of optimizers over lists of arrays, in one call where the framework can.

    `ys` is a list, an array or a number. With `reuse` the first list may be overwritten: only the
    caller holds it.
    """

    def foreach_add(self, xs: Natives, ys: Any, alpha: Any = 1, *, reuse: bool = False) -> Natives:
        """xs + alpha * ys."""

    def foreach_mul(self, xs: Natives, ys: Any, *, reuse: bool = False) -> Natives:
        """xs * ys."""

    def foreach_div(self, xs: Natives, ys: Any, *, reuse: bool = False) -> Natives:
        """xs / ys."""

    def foreach_maximum(self, xs: Natives, ys: Any, *, reuse: bool = False) -> Natives:
        """The larger of each."""

    def foreach_sqrt(self, xs: Natives, *, reuse: bool = False) -> Natives:
        """Square roots."""

    def foreach_lerp(self, xs: Natives, ys: Natives, weight: float) -> Natives:
        """xs + weight * (ys - xs)."""

    def foreach_addcmul(
        self, xs: Natives, ys: Natives, zs: Natives, value: float = 1, *, reuse: bool = False
    ) -> Natives:
        """xs + value * ys * zs."""

    def foreach_addcdiv(
        self, xs: Natives, ys: Natives, zs: Natives, value: float = 1, *, reuse: bool = False
    ) -> Natives:
        """xs + value * ys / zs."""

    def foreach_norm(self, xs: Natives) -> Natives:
        """The Euclidean norm of each."""

    def foreach_cast(self, xs: Natives, dtype: Any) -> Natives:
        """All cast to one data type: a native one or its canonical name, "float32"."""

    def foreach_detach(self, xs: Natives) -> Natives:
        """The values without their history."""


class Random(Protocol):
    """Random numbers by key, the same bits everywhere: Threefry, as `jax.random` uses it.

    A key is a uint32 array of shape (..., 2). Words are the 32-bit digits of 64-bit integers, for
    frameworks that have no such integers.
    """

    def make_key(self, upper: int, lower: int, device: Device | None = None) -> Native:
        """The key of two words."""

    def key_of_seed(self, seed: Native) -> Native:
        """The key of an integer array."""

    def as_raw_key(self, key: Native) -> Native:
        """The words of a key, if the framework has a key type of its own."""

    def key_device(self, x: Native) -> Any:
        """The device for the key of a draw that is used with `x`; None lets the framework
        decide."""

    def split(self, key: Native, shape: tuple[int, ...]) -> Native:
        """Independent new keys."""

    def fold_in(self, key: Native, data: int | Native) -> Native:
        """A new key from a key and a number."""

    def bits(self, key: Native, shape: tuple[int, ...], dtype: Any) -> Native:
        """Random bits as unsigned integers."""

    def keep(
        self, key: Native, shape: tuple[int | None, ...], threshold: int, like: Native
    ) -> Native:
        """A mask, True with the probability 1 - threshold / 2**32; a size that is None is that of
        `like`.
        """

    def uniform(self, key: Native, shape: tuple[int, ...], dtype: Any) -> Native:
        """Floats in [0, 1)."""

    def normal(self, key: Native, shape: tuple[int, ...], dtype: Any) -> Native:
        """Standard normal floats."""

    def randint(
        self,
        key: Native,
        shape: tuple[int, ...],
        minval: Any,
        maxval: Any,
        beyond: bool,
        dtype: Any,
    ) -> Native:
        """Integers in [minval, maxval); if `beyond`, up to the largest of the type."""

    def permutation(self, key: Native, length: int) -> Native:
        """The numbers 0 to length - 1 in random order."""

    def gamma(self, key: Native, a: Native, log_space: bool) -> Native:
        """Draws of the gamma distribution, or their logarithms."""

    def poisson(self, key: Native, lam: Native, dtype: Any) -> Native:
        """Draws of the Poisson distribution."""

    def erfinv(self, x: Native) -> Native:
        """The inverse of the error function."""

    def words(self, key: Native, shape: tuple[int, ...]) -> tuple[Native, Native]:
        """64 random bits as an upper and a lower word."""

    def to_words(self, x: Any) -> tuple[Native, Native]:
        """Integers as an upper and a lower word, in two's complement."""

    def from_words(self, upper: Native, lower: Native, dtype: Any) -> Native:
        """The inverse of `to_words`."""

    def add_words(self, x: Native, y: Native) -> tuple[Native, Native]:
        """The carry and the sum of words."""

    def multiply_words(self, x: Native, y: Native) -> tuple[Native, Native]:
        """The upper and the lower word of a product."""

    def log2_fraction(self, y: Native) -> Native:
        """log2(y / 2**30) of words in [2**30, 2**31), times 2**23."""


class Engine(Protocol):
    """A framework's communication between processes, of one-dimensional arrays; all ranks make the
    same calls."""

    def all_reduce(self, buffer: Native, op: str) -> Native:
        """The "sum", "max" or "min" over all ranks, the same bits on each; the sum can be
        differentiated.
        """

    def broadcast(self, buffer: Native, root: int) -> Native:
        """The array of the rank `root`."""

    def all_gather(self, buffer: Native) -> Native:
        """The arrays of all ranks, one in each row."""

    def reduce_scatter(self, buffer: Native, op: str) -> Native:
        """This rank's part of the reduced array, which is split into one part for each rank."""

    def barrier(self) -> None:
        """Wait until all ranks have called it."""

    def compile(self, fn: Callable[..., Any], keep: bool = False) -> Callable[..., Any]:
        """`fn` compiled, with collectives in it; with `keep`, results may be in a form that only
        other compiled functions and `local` understand.
        """

    def local(self, x: Native) -> Native:
        """An array of this process."""

    def close(self) -> None:
        """Leave the group."""


class Processes(Protocol):
    """Many processes."""

    def connect_ranks(self, place: Place) -> Engine:
        """Join the other processes; raises if that is not possible."""


class Beyond(
    DataTypes,
    Gradients,
    Compilation,
    Interchange,
    Arrays,
    Kernels,
    Foreach,
    Processes,
    Protocol,
):
    """All that a backend provides beyond the standard."""

    @property
    def random(self) -> Random: ...


class Backend(ArrayAPI, Beyond, Protocol):
    """A backend as the rest of the library sees it: what `xp_of(x)` returns."""
