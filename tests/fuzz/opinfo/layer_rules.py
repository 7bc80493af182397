"""The rules of `torch.nn.functional`."""

from trellis import functional as F

from .rules import RULES, BesideError, rule


def along(fn):
    def of(x, dim, dtype=None):
        if not len(x.shape):
            raise BesideError("an array without axes has no axis 0")
        return fn(x, axis=dim)

    return of


RULES |= {"softmax": along(F.softmax), "log_softmax": along(F.log_softmax)}
RULES |= {"nn.functional.glu": lambda x, dim=-1: F.glu(x, axis=dim)}


@rule("nn.functional.leaky_relu")
def leaky_relu(x, negative_slope=0.01):
    return F.leaky_relu(x, negative_slope=negative_slope)


@rule("nn.functional.elu")
def elu(x, alpha=1.0):
    return F.elu(x, alpha=alpha)


@rule("nn.functional.hardtanh")
def hard_tanh(x, min_val=-1.0, max_val=1.0):
    return F.hard_tanh(x, low=min_val, high=max_val)


@rule("nn.functional.softplus")
def softplus(x, beta=1.0):
    return F.softplus(x, beta=beta)


@rule("nn.functional.gelu")
def gelu(x, *, approximate="none"):
    return F.gelu(x, approximate=approximate == "tanh")


@rule("nn.functional.prelu")
def prelu(x, weight):
    if len(x.shape) < 2 and weight.shape != (1,):
        raise BesideError("torch counts channels along axis 1")
    return F.prelu(x, weight, axis=1 if len(x.shape) > 1 else 0)


@rule("nn.functional.linear")
def linear(x, weight, bias=None):
    if len(weight.shape) < 2:
        raise BesideError("a vector for a matrix")
    return F.linear(x, weight, bias=bias)


# Norms ----------------------------------------------------------------------------------


def last_axes(shape):
    return tuple(range(-len(shape), 0))


@rule("nn.functional.layer_norm")
def layer_norm(x, shape, weight=None, bias=None, eps=1e-5):
    return F.layer_norm(x, axis=last_axes(shape), weight=weight, bias=bias, epsilon=eps)


@rule("nn.functional.rms_norm")
def rms_norm(x, shape, weight=None, eps=None):
    if eps is None:
        raise BesideError("torch takes the epsilon of the data type")
    return F.rms_norm(x, axis=last_axes(shape), weight=weight, epsilon=eps)


@rule("nn.functional.group_norm")
def group_norm(x, groups, weight=None, bias=None, eps=1e-5):
    return F.group_norm(x, groups, weight=weight, bias=bias, epsilon=eps, channel_axis=1)


@rule("nn.functional.local_response_norm")
def local_response_norm(x, size, alpha=1e-4, beta=0.75, k=1.0):
    return F.local_response_norm(x, size=size, alpha=alpha, beta=beta, k=k, channel_axis=1)


# Planes ---------------------------------------------------------------------------------


def per_axis(value, dims):
    return tuple(value) if isinstance(value, (list, tuple)) else (value,) * dims


def pairs(padding, dims):
    if isinstance(padding, str):
        return padding.upper()
    return [(n, n) for n in _full(padding, dims)]


def _full(value, dims):
    value = per_axis(value, dims)
    return value * dims if len(value) == 1 else value


def conv(dims):
    def of(x, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
        if len(x.shape) != dims + 2:
            raise BesideError("planes without a batch")
        return F.conv_general_dilated(
            x, weight, _full(stride, dims), pairs(padding, dims),
            dims=dims, data_format="channel_first", filter_format="channel_first",
            feature_group_count=groups, dilations=_full(dilation, dims), bias=bias,
        )  # fmt: skip

    return of


def conv_transpose(dims):
    def of(x, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1):
        if len(x.shape) != dims + 2:
            raise BesideError("planes without a batch")
        sizes = [
            (n - 1) * s - 2 * p + d * (w - 1) + o + 1
            for n, s, p, d, w, o in zip(
                x.shape[2:], _full(stride, dims), _full(padding, dims), _full(dilation, dims),
                weight.shape[2:], _full(output_padding, dims), strict=True,
            )
        ]  # fmt: skip
        if any(o >= s for o, s in zip(_full(output_padding, dims), _full(stride, dims))):
            raise BesideError("more output than a convolution has input")
        return F.conv_general_transpose(
            x, weight, _full(stride, dims), pairs(padding, dims),
            dims=dims, output_shape=tuple(sizes), data_format="channel_first",
            filter_format="channel_first", feature_group_count=groups,
            dilations=_full(dilation, dims), bias=bias,
        )  # fmt: skip

    return of


LETTERS = {1: "NCW", 2: "NCHW", 3: "NCDHW"}


def max_pool(dims):
    fn = getattr(F, f"max_pool{dims}d")

    def of(
        x, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False
    ):
        if ceil_mode or len(x.shape) != dims + 2:
            raise BesideError("ceil_mode, or planes without a batch")
        window = _full(kernel_size, dims)
        stride = window if stride is None else _full(stride, dims)
        result = fn(
            x, window, stride, pairs(padding, dims), data_format=LETTERS[dims],
            dilations=_full(dilation, dims), return_indices=return_indices,
        )  # fmt: skip
        return result

    return of


def avg_pool(dims):
    fn = getattr(F, f"avg_pool{dims}d")

    def of(
        x, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True,
        divisor_override=None,
    ):  # fmt: skip
        if ceil_mode or divisor_override or len(x.shape) != dims + 2:
            raise BesideError("ceil_mode, divisor_override, or planes without a batch")
        window = _full(kernel_size, dims)
        stride = window if stride in (None, ()) else _full(stride, dims)
        return fn(
            x, window, stride, pairs(padding, dims), data_format=LETTERS[dims],
            count_include_pad=count_include_pad,
        )  # fmt: skip

    return of


def adaptive(fn, dims):
    def of(x, output_size, return_indices=False):
        if len(x.shape) != dims + 2:
            raise BesideError("planes without a batch")
        sizes = tuple(
            n if size is None else size
            for n, size in zip(x.shape[2:], _full(output_size, dims), strict=True)
        )
        if 0 in sizes:
            raise BesideError("no window at all")
        more = {"return_indices": True} if return_indices else {}
        return fn(x, sizes, data_format="channel_first", **more)

    return of


for _dims in (1, 2, 3):
    _name = f"nn.functional.{{}}{_dims}d"
    RULES[_name.format("conv")] = conv(_dims)
    RULES[_name.format("conv_transpose")] = conv_transpose(_dims)
    RULES[_name.format("max_pool")] = max_pool(_dims)
    RULES[_name.format("avg_pool")] = avg_pool(_dims)
    RULES[_name.format("adaptive_avg_pool")] = adaptive(F.adaptive_avg_pool, _dims)
    RULES[_name.format("adaptive_max_pool")] = adaptive(F.adaptive_max_pool, _dims)


@rule("nn.functional.pixel_shuffle")
def pixel_shuffle(x, factor):
    return F.pixel_shuffle(_planes(x), factor, data_format="NCHW")


@rule("nn.functional.pixel_unshuffle")
def pixel_unshuffle(x, factor):
    return F.pixel_unshuffle(_planes(x), factor, data_format="NCHW")


def _planes(x):
    if len(x.shape) != 4:
        raise BesideError("planes without a batch, or with several")
    return x


@rule("nn.functional.unfold")
def unfold(x, kernel_size, dilation=1, padding=0, stride=1):
    return F.unfold(
        _planes(x), _full(kernel_size, 2), _full(stride, 2), pairs(padding, 2),
        dilations=_full(dilation, 2), data_format="channel_first",
    )  # fmt: skip


METHODS = {"nearest-exact", "linear", "bilinear", "trilinear", "bicubic"}


@rule("nn.functional.interpolate")
def interpolate(x, size=None, scale_factor=None, mode="nearest", align_corners=None):
    if size is None or mode not in METHODS:
        raise BesideError("scale factors, and torch's older 'nearest'")
    method = "nearest" if mode == "nearest-exact" else mode
    dims = len(x.shape) - 2
    more = {} if method == "nearest" else {"align_corners": bool(align_corners)}
    return F.resize(
        x, _full(tuple(size) if isinstance(size, (list, tuple)) else size, dims),
        method=method, data_format="channel_first", **more,
    )  # fmt: skip


# Losses ---------------------------------------------------------------------------------


def loss(fn):
    def of(x, y, *, reduction="mean", **more):
        if tuple(x.shape) != tuple(y.shape):
            raise BesideError("targets that broadcast")
        return fn(x, y, reduction=reduction, **more)

    return of


RULES["nn.functional.mse_loss"] = loss(F.mse_loss)
RULES["nn.functional.l1_loss"] = loss(F.mae_loss)
RULES["nn.functional.huber_loss"] = loss(F.huber_loss)


@rule("nn.functional.poisson_nll_loss")
def poisson_nll(x, y, log_input=True, full=False, eps=1e-8, reduction="mean"):
    return F.poisson_nll_loss(
        x, y, log_input=log_input, full=full, epsilon=eps, reduction=reduction
    )


@rule("nn.functional.binary_cross_entropy_with_logits")
def bce_logits(x, y, *, reduction="mean", pos_weight=None):
    return F.binary_cross_entropy(
        x, y, from_logits=True, positive_weight=pos_weight, reduction=reduction
    )


@rule("nn.functional.binary_cross_entropy")
def bce(x, y, *, reduction="mean"):
    return F.binary_cross_entropy(x, y, reduction=reduction)


def class_axis(x):
    return 1 if len(x.shape) > 1 else 0


@rule("nn.functional.cross_entropy")
def cross_entropy(
    x, y, weight=None, ignore_index=-100, reduction="mean", label_smoothing=0.0
):  # fmt: skip
    return F.cross_entropy(
        x, y, axis=class_axis(x), weight=weight, ignore_index=ignore_index,
        reduction=reduction, label_smoothing=label_smoothing,
    )  # fmt: skip


@rule("nn.functional.nll_loss")
def nll_loss(x, y, weight=None, ignore_index=-100, reduction="mean"):
    return F.nll_loss(
        x, y, axis=class_axis(x), weight=weight, ignore_index=ignore_index, reduction=reduction
    )


@rule("nn.functional.kl_div")
def kl_div(x, y, reduction="mean", log_target=False):
    if reduction not in ("batchmean", "sum") or len(x.shape) != 2:
        raise BesideError("a mean over the classes too")
    reduction = "mean" if reduction == "batchmean" else reduction
    return F.kl_divergence(x, y, axis=-1, log_targets=log_target, reduction=reduction)


@rule("nn.functional.cosine_similarity")
def cosine_similarity(x, y, dim=1, eps=1e-8):
    if tuple(x.shape) != tuple(y.shape) or not len(x.shape):
        raise BesideError("arrays that broadcast, or have no axis")
    return F.cosine_similarity(x, y, axis=dim, epsilon=eps)


@rule("nn.functional.triplet_margin_loss")
def triplet(a, p, n, *, margin=1.0, p_norm=2.0, eps=1e-6, reduction="mean"):
    return F.triplet_loss(a, p, n, margin=margin, p=p_norm, epsilon=eps, reduction=reduction)


@rule("nn.functional.scaled_dot_product_attention")
def attention(q, k, v, attn_mask=None, dropout_p=0.0, is_causal=False, enable_gqa=False):
    if dropout_p:
        raise BesideError("torch's own random numbers")
    return F.scaled_dot_product_attention(q, k, v, mask=attn_mask, is_causal=is_causal)


@rule("nn.functional.ctc_loss")
def ctc(log_probs, targets, input_lengths, target_lengths, blank=0, reduction="mean",
        zero_infinity=False):  # fmt: skip
    if len(log_probs.shape) != 3 or len(targets.shape) != 2:
        raise BesideError("targets joined in one vector")
    import numpy as np

    import trellis

    xp = trellis.namespace(log_probs)
    lengths = [xp.from_numpy(np.array(n)) for n in (input_lengths, target_lengths)]
    # torch takes the derivative by what went into the log_softmax, which its samples have been
    # through: a second one changes no value.
    log_probs = trellis.log_softmax(log_probs, axis=-1)
    return F.ctc_loss(
        log_probs, targets, *lengths, blank=blank, zero_infinity=zero_infinity, time_major=True,
        reduction=reduction,
    )  # fmt: skip
