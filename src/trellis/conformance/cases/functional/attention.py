import numpy as np
from scipy.special import softmax

from trellis import functional as F

from ..case import Case, numbers

q, k, v = numbers(2, 3, 4), numbers(2, 5, 4, seed=1), numbers(2, 5, 3, seed=2)
tokens = numbers(2, 3, 4, seed=3)
joint, out = numbers(12, 4, seed=4), numbers(4, 4, seed=5)


def attended(q, k, v, keep=None, scale=None):
    logits = q @ np.swapaxes(k, -1, -2) * (1 / np.sqrt(q.shape[-1]) if scale is None else scale)
    return softmax(logits if keep is None else np.where(keep, logits, -np.inf), axis=-1) @ v


def in_heads(q, k, v, heads):
    parts = [np.split(x, heads, axis=-1) for x in (q, k, v)]
    return np.concatenate([attended(*part) for part in zip(*parts, strict=True)], axis=-1)


def projected(x, joint, out):
    return in_heads(*np.split(x @ joint.T, 3, axis=-1), 2) @ out.T


def case(name, args, expected, **more):
    return Case(f"functional.{name}", args, expected, **more)


CASES = [
    case("scaled_dot_product_attention", (q, k, v), attended),
    case(
        "scaled_dot_product_attention",
        (q, k, v),
        lambda q, k, v: attended(q, k, v, np.tri(3, 5, dtype=bool)),
        about="causal",
        kwargs={"is_causal": True},
    ),
    case(
        "multi_head_attention",
        (tokens,),
        lambda x: in_heads(x, x, x, 2),
        kwargs={"num_heads": 2},
    ),
    case(
        "multi_head_attention",
        (tokens, joint, out),
        projected,
        about="projections",
        call=lambda x, joint, out: F.multi_head_attention(
            x, num_heads=2, in_proj_weights=joint, out_proj_weights=out
        ),
    ),
]
