"""The rows `scaled_dot_product_attention` and `multi_head_attention` on all four backends."""

import numpy as np
import pytest

import trellis
from trellis.testing import assert_close, check_gradients

from .layer_checks import (
    check_compiled,
    check_mixed,
    check_nests,
    check_raises,
    check_types,
    check_vectors,
)

sdpa = trellis.scaled_dot_product_attention
mha = trellis.multi_head_attention


def loop_weights(q, k, scale, mask=None, is_causal=False):
    """The weights row by row, in float64; bool masks keep, float masks are added."""
    batch = np.broadcast_shapes(q.shape[:-2], k.shape[:-2])
    q, k = np.broadcast_to(q, (*batch, *q.shape[-2:])), np.broadcast_to(k, (*batch, *k.shape[-2:]))
    shape = (*batch, q.shape[-2], k.shape[-2])
    added = np.zeros(shape)
    if mask is not None:
        added = np.broadcast_to(np.where(mask, 0.0, -np.inf) if mask.dtype == bool else mask, shape)
    weights = np.zeros(shape)
    for at in np.ndindex(*shape[:-1]):
        logits = scale * k[at[:-1]] @ q[at] + added[at]
        if is_causal:
            logits = np.where(np.arange(shape[-1]) <= at[-1], logits, -np.inf)
        if np.isfinite(logits).any():
            e = np.exp(logits - logits.max())
            weights[at] = e / e.sum()
    return weights


def loop_attention(q, k, v, scale=None, mask=None, is_causal=False):
    scale = 1 / np.sqrt(q.shape[-1]) if scale is None else scale
    return loop_weights(q, k, scale, mask, is_causal) @ v


def arrays(batch=(2,), n=4, m=3, width=2, out=5, seed=0):
    rng = np.random.default_rng(seed)
    return [
        rng.standard_normal(s) for s in ((*batch, n, width), (*batch, m, width), (*batch, m, out))
    ]


BOOL = np.array(
    [[True, False, True], [False, False, False], [True, True, True], [False, True, False]]
)
FLOAT = np.where(BOOL, np.arange(12).reshape(4, 3) / 5, -np.inf)


def test_scaled_dot_product_attention(backend, xp, array, x64):
    check_vectors("scaled_dot_product_attention", xp, x64)
    for batch in ((), (2,), (2, 3)):
        given = arrays(batch)
        for mask in (None, BOOL, FLOAT, np.where(BOOL, 0.5, -1.0)):
            for is_causal in (False, True):
                for scale in (None, 0.7, 0):
                    for dtype in ("float32", "float64"):
                        with x64():
                            native = (
                                None
                                if mask is None
                                else array(mask, "bool" if mask is BOOL else dtype)
                            )
                            got = sdpa(
                                *[array(a, dtype) for a in given],
                                mask=native,
                                is_causal=is_causal,
                                scale=scale,
                            )
                            wanted = loop_attention(*given, scale, mask, is_causal)
                            assert_close(got, wanted.astype(dtype), backend=backend)
    q, k, v = arrays((2, 1)), arrays((3,), seed=1), arrays((1, 3), seed=2)
    got = sdpa(array(q[0], "float32"), array(k[1], "float32"), array(v[2], "float32"))
    assert_close(got, loop_attention(q[0], k[1], v[2]).astype("float32"), backend=backend)
    bool_mask = sdpa(*[array(a, "float32") for a in arrays()], mask=array(BOOL))
    inf_mask = np.where(BOOL, 0, -np.inf)
    assert_close(sdpa(*[array(a, "float32") for a in arrays()], mask=array(inf_mask, "float32")),
                 trellis.to_numpy(bool_mask), backend=backend)  # fmt: skip
    # Logits of +-1e4 stay finite in float32.
    large = [
        array(a, "float32")
        for a in (np.eye(4, 2) * 1e4, np.array([[1.0, -1], [-1, 1], [0, 1]]), arrays(())[2])
    ]
    assert np.isfinite(trellis.to_numpy(sdpa(*large, scale=1))).all()
    check_attention_gradients(backend, array, x64)

    def make(dtype):
        return [array(a, dtype) for a in arrays()]

    check_types(sdpa, make, backend, x64)
    check_compiled(sdpa, make("float32"), backend)
    check_compiled(
        lambda q, k, v, m: sdpa(q, k, v, mask=m, is_causal=True),
        [*make("float32"), array(BOOL)],
        backend,
    )
    q, k, v = make("float32")
    check_nests(sdpa, q, q * 2, (k, v), backend)
    check_mixed(sdpa, [q, k, v], backend)
    ints = sdpa(array([[1, 0]], "int32"), array([[1, 2]], "int32"), array([[3, 4]], "int32"))
    assert_close(ints, np.array([[3, 4]], "float32"), backend=backend)
    check_attention_dropout(q, k, v)

    def zeros(*shape):
        return array(np.zeros(shape), "float32")

    check_raises(ValueError, [
        (r"\(2,\)", lambda: sdpa(zeros(2), k, v)),
        (r"width F.*\(2, 4, 3\)", lambda: sdpa(zeros(2, 4, 3), k, v)),
        (r"values as keys.*\(2, 5, 5\)", lambda: sdpa(q, k, zeros(2, 5, 5))),
        ("broadcast", lambda: sdpa(zeros(3, 4, 2), k, v)),
        (r"mask.*\(4, 4\)|broadcast", lambda: sdpa(q, k, v, mask=zeros(4, 4))),
        ("from 0 to 1, got 2", lambda: sdpa(q, k, v, dropout_p=2)),
    ])  # fmt: skip
    check_raises(
        TypeError, [("int32", lambda: sdpa(q, k, v, mask=array(np.ones((4, 3)), "int32")))]
    )


def check_attention_gradients(backend, array, x64):
    with x64():
        natives = [array(a, "float64") for a in arrays((), n=4, m=3, out=2)]
        check_gradients(sdpa, natives)
        check_gradients(lambda q, k, v: sdpa(q, k, v, mask=array(BOOL), is_causal=True), natives)
        check_gradients(lambda q, k, v: sdpa(q, k, v, is_causal=True), natives, order=1)
        soft = array(np.where(BOOL, 0.5, -1.0), "float64")
        check_gradients(lambda q, k, v, m: sdpa(q, k, v, mask=m), [*natives, soft], order=1)
    for dtype in ("float32", "float64"):
        with x64():
            natives = [array(a, dtype) for a in arrays()]
            for mask in (array(BOOL), array(FLOAT, dtype)):
                y, pull = trellis.vjp(lambda q, k, v: sdpa(q, k, v, mask=mask), *natives)
                gradients = [trellis.to_numpy(g) for g in pull(trellis.ones_like(y))]
                assert all(np.isfinite(g).all() for g in gradients)
                assert (trellis.to_numpy(y)[:, 1] == 0).all() and (gradients[0][:, 1] == 0).all()


def check_attention_dropout(q, k, v):
    def drop(seed, **kw):
        return trellis.to_numpy(sdpa(q, k, v, dropout_p=0.5, training=True, seed=seed, **kw))

    plain = trellis.to_numpy(sdpa(q, k, v))
    np.testing.assert_array_equal(drop(0), drop(0))
    assert (drop(0) != drop(1)).any() and (drop(0) != plain).any()
    np.testing.assert_array_equal(trellis.to_numpy(sdpa(q, k, v, dropout_p=0.5, seed=0)), plain)
    assert (trellis.to_numpy(sdpa(q, k, v, dropout_p=1.0, training=True, seed=0)) == 0).all()
    # With values of one the result is the sum of the weights that were kept: its mean stays one.
    many = trellis.concat([q] * 200, axis=1)
    sums = trellis.to_numpy(
        sdpa(many, k, trellis.ones_like(v), dropout_p=0.5, training=True, seed=3)
    )
    assert abs(sums.mean() - 1) < 0.05 and sums.std() > 0.1
    nested = sdpa({"a": q, "b": q}, k, v, dropout_p=0.5, training=True, seed=0)
    assert (trellis.to_numpy(nested["a"]) != trellis.to_numpy(nested["b"])).any()


# Heads that share keys
# --------------------------------------------------------------------------------


def repeated(x, heads):
    """Each head of x (axis -3) as often as it takes to make `heads` of them, one at a time."""
    return np.stack([x[..., h * x.shape[-3] // heads, :, :] for h in range(heads)], axis=-3)


GROUPED_MASKS = {
    "none": (None, None),
    "one for all": (BOOL, "bool"),
    "added": (FLOAT, None),
    "shared by heads": (np.stack([BOOL, ~BOOL])[:, None], "bool"),
    "each head's own": (np.random.default_rng(5).random((2, 6, 4, 3)) < 0.6, "bool"),
    "each head's, added": (np.random.default_rng(6).standard_normal((6, 4, 3)), None),
}


@pytest.mark.parametrize("kind", GROUPED_MASKS)
def test_grouped_query_attention(backend, array, x64, kind):
    """6 query heads over 1, 2, 3 and 6 heads of keys: equal to a loop over keys repeated head by
    head."""
    mask, mask_dtype = GROUPED_MASKS[kind]
    q = arrays((2, 6))[0]
    for kv_heads in (1, 2, 3, 6):
        _, k, v = arrays((2, kv_heads), seed=kv_heads)
        full = [q, repeated(k, 6), repeated(v, 6)]
        for is_causal in (False, True):
            for dtype in ("float32", "float64"):
                with x64():
                    native = None if mask is None else array(mask, mask_dtype or dtype)
                    got = sdpa(
                        *[array(a, dtype) for a in (q, k, v)], mask=native, is_causal=is_causal
                    )
                    wanted = loop_attention(*full, None, mask, is_causal)
                    assert_close(got, wanted.astype(dtype), backend=backend)


def test_grouped_query_attention_otherwise(backend, array, x64):
    """Gradients, compilation, dropout, other ranks, and heads that do not divide."""
    q, k, v = arrays((4,))[0], *arrays((2,), seed=1)[1:]
    own = np.random.default_rng(2).random((4, 4, 3)) < 0.7
    with x64():
        natives = [array(a, "float64") for a in (q, k, v)]
        check_gradients(sdpa, natives)
        check_gradients(
            lambda q, k, v: sdpa(q, k, v, mask=array(own), is_causal=True), natives, order=1
        )
        soft = array(np.where(own, 0.5, -1.0), "float64")
        check_gradients(lambda q, k, v, m: sdpa(q, k, v, mask=m), [*natives, soft], order=1)
    natives = [array(a, "float32") for a in (q, k, v)]
    full = [q, repeated(k, 4), repeated(v, 4)]
    check_compiled(sdpa, natives, backend)
    check_compiled(
        lambda q, k, v, m: sdpa(q, k, v, mask=m, is_causal=True), [*natives, array(own)], backend
    )
    # Of four and five axes; a batch that broadcasts, and one key head beside two value heads.
    for lead in ((2, 4), (3, 1, 4)):
        many, few = arrays(lead)[0], arrays((2,), seed=1)[1:]
        got = sdpa(*[array(a, "float32") for a in (many, *few)])
        wanted = loop_attention(many, *[repeated(a, 4) for a in few])
        assert_close(got, wanted.astype("float32"), backend=backend)
    got = sdpa(natives[0], natives[1][:1, ...], natives[2])
    wanted = loop_attention(q, k[:1], full[2])
    assert_close(got, wanted.astype("float32"), backend=backend)
    # The same draws as with repeated keys.
    drop = {"dropout_p": 0.5, "training": True, "seed": 3}
    wanted = trellis.to_numpy(sdpa(*[array(a, "float32") for a in full], **drop))
    assert_close(sdpa(*natives, **drop), wanted, backend=backend)

    def zeros(*shape):
        return array(np.zeros(shape), "float32")

    check_raises(ValueError, [
        (r"6 heads .* 4 in key .*divide",
         lambda: sdpa(zeros(6, 4, 2), zeros(4, 3, 2), zeros(4, 3, 5))),
        (r"2 heads .* 4 in key", lambda: sdpa(zeros(2, 4, 2), zeros(4, 3, 2), zeros(4, 3, 5))),
        (r"2 in key and 3 in value", lambda: sdpa(zeros(6, 4, 2), zeros(2, 3, 2), zeros(3, 3, 5))),
        ("mask|broadcast", lambda: sdpa(*natives, mask=zeros(2, 4, 3))),
    ])  # fmt: skip


def test_multi_head_attention_with_shared_keys(backend, array, x64):
    """num_kv_heads: equal to ordinary heads whose key and value weights repeat, in every form of
    the weights."""
    rng = np.random.default_rng(0)
    x, mask = rng.standard_normal((2, 3, 5)), np.tri(3, dtype=bool)
    heads, size = 4, 2

    def give(a, dtype="float32"):
        return array(np.ascontiguousarray(a), dtype)

    def widened(w, kv):
        return repeated(w.reshape(kv, size, -1), heads).reshape(heads * size, -1)

    for kv in (1, 2, 4):
        width = kv * size
        w = [rng.standard_normal((rows, 5)) for rows in (heads * size, width, width)]
        b = rng.standard_normal(heads * size + 2 * width)
        extra = rng.standard_normal((2, width))
        full_w = [w[0], widened(w[1], kv), widened(w[2], kv)]
        parts = np.split(b, [heads * size, heads * size + width])
        full_b = np.concatenate(
            [parts[0], widened(parts[1], kv)[:, 0], widened(parts[2], kv)[:, 0]]
        )
        full_extra = [widened(row, kv).T for row in extra]
        wanted, weights = loop_mha(x, x, x, heads, full_w, full_b,
                                   mask=np.broadcast_to(mask, (2, heads, 3, 3)),
                                   extra_k=full_extra[0], extra_v=full_extra[1])  # fmt: skip
        options = {"num_heads": heads, "num_kv_heads": kv, "in_proj_bias": give(b),
                   "bias_k": give(extra[0]),
                   "bias_v": give(extra[1]), "attention_mask": give(mask, "bool")}  # fmt: skip
        for form in ({"in_proj_weights": give(np.concatenate(w))},
                     {f"{name}_proj_weights": give(part)
                      for name, part in zip("qkv", w, strict=True)}):  # fmt: skip
            got = mha(give(x), **form, **options)
            assert_close(got, wanted.astype("float32"), backend=backend)
            pair = mha(
                give(x),
                return_attention_weights=True,
                average_attention_weights=False,
                **form,
                **options,
            )
            assert_close(
                pair, (wanted.astype("float32"), weights.astype("float32")), backend=backend
            )
        layer = trellis.nn.MultiHeadAttention(8, num_heads=heads, num_kv_heads=kv, backend=backend)
        y = layer(give(rng.standard_normal((2, 3, 8))), is_causal=True)
        assert tuple(y.shape) == (2, 3, 8)
        assert tuple(layer.v.in_proj_weights.shape) == (8 + 2 * width, 8)
    with x64():
        natives = [give(x, "float64"), *[give(part, "float64") for part in w[:1]],
                   give(w[1][:4], "float64"), give(w[2][:4], "float64")]  # fmt: skip
        check_gradients(
            lambda x, q, k, v: mha(
                x, num_heads=4, num_kv_heads=2, q_proj_weights=q, k_proj_weights=k, v_proj_weights=v
            ),
            natives, order=1,
        )  # fmt: skip
    given = give(rng.standard_normal((2, 3, 8)))
    check_raises(ValueError, [
        ("num_kv_heads=3 and num_heads=4", lambda: mha(given, num_heads=4, num_kv_heads=3)),
        ("num_kv_heads=0", lambda: mha(given, num_heads=4, num_kv_heads=0)),
        (r"multiple of 8 rows, got \(12, 8\)", lambda: mha(given, num_heads=4, num_kv_heads=2,
                                                          in_proj_weights=give(np.ones((12, 8))))),
        (r"k_proj_weights of shape \(4, 8\)", lambda: mha(given, num_heads=4, num_kv_heads=2,
                                                          q_proj_weights=give(np.ones((8, 8))))),
        ("num_kv_heads=3", lambda: trellis.nn.MultiHeadAttention(8, num_heads=4, num_kv_heads=3)),
    ])  # fmt: skip


# Multi-head
# -------------------------------------------------------------------------------------------


def loop_mha(q, k, v, heads, w=None, b=None, out_w=None, out_b=None, scale=None, mask=None,
             is_causal=False, padding=None,
             extra_k=None, extra_v=None):  # fmt: skip
    """One batch element and one head at a time; w holds the three projections, mask is (N, heads,
    L, S)."""
    n, length = q.shape[:2]
    width = q.shape[-1] if w is None else w[0].shape[0]
    if w is not None:
        q, k, v = q @ w[0].T, k @ w[1].T, v @ w[2].T
    if b is not None:
        q, k, v = q + b[:width], k + b[width : 2 * width], v + b[2 * width :]
    size = width // heads
    out, weights = np.zeros((n, length, width)), []
    for i in range(n):
        for h in range(heads):
            part = slice(h * size, (h + 1) * size)
            keys, values, m = k[i][:, part], v[i][:, part], np.zeros((length, k.shape[1]))
            if mask is not None:
                m = m + (np.where(mask[i, h], 0.0, -np.inf) if mask.dtype == bool else mask[i, h])
            if padding is not None:
                m = np.where(np.broadcast_to(padding, (n, k.shape[1]))[i], -np.inf, m)
            if is_causal:
                m = np.where(np.tri(*m.shape, dtype=bool), m, -np.inf)
            if extra_k is not None:
                keys = np.concatenate([keys, extra_k[:, part]])
                values = np.concatenate([values, extra_v[:, part]])
                m = np.concatenate([m, np.zeros((length, len(extra_k)))], axis=1)
            each = loop_weights(
                q[i][:, part], keys, 1 / np.sqrt(size) if scale is None else scale, m
            )
            weights.append(each)
            out[i, :, part] = each @ values
    out = out if out_w is None else out @ out_w.T
    out = out if out_b is None else out + out_b
    return out, np.stack(weights).reshape(n, heads, length, -1)


def test_multi_head_attention(backend, xp, array, x64):
    check_vectors("multi_head_attention", xp, x64)
    rng = np.random.default_rng(0)
    w = [rng.standard_normal((4, width)) for width in (6, 6, 6)]
    b, out_w, out_b = rng.standard_normal(12), rng.standard_normal((5, 4)), rng.standard_normal(5)
    joint = np.concatenate(w)

    def give(a, dtype="float32"):
        return None if a is None else array(np.ascontiguousarray(a), dtype)

    for n in (1, 2, 3):
        x = rng.standard_normal((n, 3, 6))
        for heads in (1, 2, 4):
            wanted, weights = loop_mha(x, x, x, heads, w, b, out_w, out_b)
            options = {"in_proj_bias": give(b), "out_proj_weights": give(out_w),
                       "out_proj_bias": give(out_b),
                       "num_heads": heads, "return_attention_weights": True}  # fmt: skip
            for form in ({"in_proj_weights": give(joint)},
                         {f"{name}_proj_weights": give(part)
                          for name, part in zip("qkv", w, strict=True)}):  # fmt: skip
                got, mean = mha(give(x), **form, **options)
                assert_close(got, wanted.astype("float32"), backend=backend)
                assert_close(mean, weights.mean(axis=1).astype("float32"), backend=backend)
            each = mha(
                give(x), average_attention_weights=False, in_proj_weights=give(joint), **options
            )[1]
            assert_close(each, weights.astype("float32"), backend=backend)
            np.testing.assert_allclose(trellis.to_numpy(each).sum(-1), 1, rtol=1e-5)
            turned = mha(
                give(np.swapaxes(x, 0, 1)),
                batch_first=False,
                in_proj_weights=give(joint),
                **options,
            )[0]
            assert_close(turned, np.swapaxes(wanted, 0, 1).astype("float32"), backend=backend)
            for i in range(n):  # each batch element equals its own unbatched call
                alone, its_weights = mha(give(x[i]), in_proj_weights=give(joint), **options)
                assert_close(alone, wanted[i].astype("float32"), backend=backend)
                assert_close(
                    its_weights, weights[i].mean(axis=0).astype("float32"), backend=backend
                )
    with x64():
        x = rng.standard_normal((2, 3, 6))
        exact = mha(give(x, "float64"), in_proj_weights=give(joint, "float64"), num_heads=2)
        assert_close(exact, loop_mha(x, x, x, 2, w)[0], backend=backend)
    check_masks(backend, give, rng)
    check_other_keys(backend, give, rng)
    check_multi_head_rest(backend, array, x64)


def check_masks(backend, give, rng):
    """Each kind of mask alone and together, for a batch of two."""
    q, k, v = (rng.standard_normal((2, length, 4)) for length in (4, 3, 3))
    per_head = rng.random((2, 2, 4, 3)) < 0.6
    added = rng.standard_normal((4, 3))
    padding = np.array([[False, True, False], [True, True, True]])
    for mask, given in (
        (None, None),
        (np.broadcast_to(BOOL, (2, 2, 4, 3)), BOOL),
        (per_head, per_head.reshape(4, 4, 3)),
        (per_head, per_head),
        (np.broadcast_to(added, (2, 2, 4, 3)), added),
    ):
        for pad in (None, padding, padding[0]):
            for is_causal in (False, True):
                native = (
                    None
                    if given is None
                    else give(given, "bool" if given.dtype == bool else "float32")
                )
                options = {"key": give(k), "value": give(v), "num_heads": 2,
                           "attention_mask": native,
                           "key_padding_mask": give(pad, "bool"),
                           "is_causal": is_causal}  # fmt: skip
                wanted, weights = loop_mha(q, k, v, 2, mask=mask, padding=pad, is_causal=is_causal)
                assert_close(mha(give(q), **options), wanted.astype("float32"), backend=backend)
                pair = mha(
                    give(q),
                    return_attention_weights=True,
                    average_attention_weights=False,
                    **options,
                )
                assert_close(
                    pair, (wanted.astype("float32"), weights.astype("float32")), backend=backend
                )
    # A query that sees nothing: only the output bias remains.
    bias = rng.standard_normal(4)
    got = mha(
        give(q),
        key=give(k),
        num_heads=2,
        key_padding_mask=give(padding, "bool"),
        out_proj_bias=give(bias),
    )
    assert_close(got[1, ...], np.broadcast_to(bias, (4, 4)).astype("float32"), backend=backend)


def check_other_keys(backend, give, rng):
    """bias_k, add_zero_attn, static keys, and widths of key and value of their own."""
    q, k, v = (rng.standard_normal((2, length, 4)) for length in (4, 3, 3))
    bias_k, bias_v = rng.standard_normal((1, 4)), rng.standard_normal((1, 4))
    zero = np.zeros((1, 4))
    mask = np.broadcast_to(BOOL, (2, 2, 4, 3))
    for add_zero in (False, True):
        for bias in (False, True):
            rows = [([bias_k] if bias else []) + ([zero] if add_zero else []),
                    ([bias_v] if bias else []) + ([zero] if add_zero else [])]  # fmt: skip
            extra = [np.concatenate(r) if r else None for r in rows]
            for is_causal in (False, True):
                wanted, weights = loop_mha(
                    q, k, v, 2, mask=mask, is_causal=is_causal, extra_k=extra[0], extra_v=extra[1]
                )
                got = mha(give(q), key=give(k), value=give(v), num_heads=2,
                          attention_mask=give(BOOL, "bool"),
                          is_causal=is_causal, add_zero_attn=add_zero,
                          return_attention_weights=True,
                          bias_k=give(bias_k[0]) if bias else None,
                          bias_v=give(bias_v.reshape(1, 1, 4)) if bias else None)  # fmt: skip
                assert_close(
                    got,
                    (wanted.astype("float32"), weights.mean(1).astype("float32")),
                    backend=backend,
                )
    heads_first = [a.reshape(2, 3, 2, 2).transpose(0, 2, 1, 3).reshape(4, 3, 2) for a in (k, v)]
    got = mha(give(q), num_heads=2, static_k=give(heads_first[0]), static_v=give(heads_first[1]))
    assert_close(got, loop_mha(q, k, v, 2)[0].astype("float32"), backend=backend)
    wide_k, wide_v = rng.standard_normal((2, 3, 5)), rng.standard_normal((2, 3, 7))
    w = [rng.standard_normal((6, width)) for width in (4, 5, 7)]
    got = mha(give(q), key=give(wide_k), value=give(wide_v), num_heads=3, q_proj_weights=give(w[0]),
              k_proj_weights=give(w[1]), v_proj_weights=give(w[2]))  # fmt: skip
    assert_close(got, loop_mha(q, wide_k, wide_v, 3, w)[0].astype("float32"), backend=backend)


def check_multi_head_rest(backend, array, x64):
    rng = np.random.default_rng(1)
    shapes = ((2, 2, 4), (2, 3, 4), (2, 3, 4), (12, 4), (12,), (3, 4), (3,))

    def full(q, k, v, w, b, out_w, out_b, **options):
        return mha(q, key=k, value=v, num_heads=2, in_proj_weights=w, in_proj_bias=b,
                   out_proj_weights=out_w,
                   out_proj_bias=out_b, **options)  # fmt: skip

    values = [rng.standard_normal(shape) for shape in shapes]

    def make(dtype):
        return [array(a, dtype) for a in values]

    mask = np.array([[True, False, True], [False, False, False]])
    with x64():
        natives = make("float64")
        check_gradients(full, natives, order=1)
        check_gradients(
            lambda *xs: full(*xs, attention_mask=array(mask)), natives, order=1, modes=("rev",)
        )
        check_gradients(
            lambda x, bk, bv, sk, sv: mha(
                x, num_heads=2, bias_k=bk, bias_v=bv, static_k=sk, static_v=sv
            ),
            [
                array(rng.standard_normal(s), "float64")
                for s in ((1, 2, 4), (4,), (4,), (2, 2, 2), (2, 2, 2))
            ],
        )
    check_types(full, make, backend, x64)
    check_compiled(full, make("float32"), backend)
    check_compiled(
        lambda *xs: full(*xs, is_causal=True, return_attention_weights=True),
        make("float32"),
        backend,
    )
    q, *rest = make("float32")
    check_nests(lambda q, k, *xs: full(q, k, *xs), q, q * 2, tuple(rest), backend)
    check_mixed(full, [q, *rest], backend)

    def drop(seed):
        return trellis.to_numpy(mha(q, num_heads=2, dropout=0.5, training=True, seed=seed))

    np.testing.assert_array_equal(drop(0), drop(0))
    assert (drop(0) != drop(1)).any()
    out, weights = mha(
        q, num_heads=2, dropout=0.5, training=True, seed=0, return_attention_weights=True
    )
    np.testing.assert_array_equal(trellis.to_numpy(out), drop(0))
    assert (trellis.to_numpy(weights) == 0).any()

    def zeros(*shape):
        return array(np.zeros(shape), "float32")

    check_raises(ValueError, [
        (r"\(2, 2, 2, 4\)", lambda: mha(zeros(2, 2, 2, 4))),
        ("width of 4 into 3 heads", lambda: mha(q, num_heads=3)),
        (r"in_proj_weights.*\(10, 4\)", lambda: mha(q, num_heads=2, in_proj_weights=zeros(10, 4))),
        (r"\(4, 4\).*\(4, 5\)", lambda: mha(q, num_heads=2, q_proj_weights=zeros(4, 5))),
        ("not both",
         lambda: mha(q, num_heads=2, q_proj_weights=zeros(4, 4), in_proj_weights=zeros(12, 4))),
        (r"in_proj_bias.*\(12,\)", lambda: mha(q, num_heads=2, in_proj_bias=zeros(4))),
        (r"out_proj_weights.*\(3, 5\)", lambda: mha(q, num_heads=2, out_proj_weights=zeros(3, 5))),
        (r"out_proj_bias.*\(9,\)", lambda: mha(q, num_heads=2, out_proj_bias=zeros(9))),
        ("batch size", lambda: mha(q, key=zeros(3, 2, 4), num_heads=2)),
        ("together", lambda: mha(q, num_heads=2, bias_k=zeros(4))),
        (r"static_k.*\(4, S, 2\)", lambda: mha(q, num_heads=2, static_k=zeros(3, 3, 2))),
        (r"attention_mask.*\(3, 2, 2\)",
         lambda: mha(q, num_heads=2, attention_mask=zeros(3, 2, 2))),
        ("key_padding_mask.*", lambda: mha(q, num_heads=2, key_padding_mask=array([True]))),
        ("from 0 to 1", lambda: mha(q, num_heads=2, dropout=-1.0, training=True)),
    ])  # fmt: skip
    check_raises(TypeError, [
        ("int32", lambda: mha(q, num_heads=2, attention_mask=array(np.ones((2, 2)), "int32"))),
        ("float32", lambda: mha(q, num_heads=2, key_padding_mask=zeros(2))),
    ])  # fmt: skip
