"""Whether a result is the recorded one, and by how much it may differ.

Integers, bools, bits and everything made of them without rounding (keys, uniforms, permutations)
must be equal. Floats are measured in steps of their type at the largest number of the recorded
array: frameworks sum in another order, and their exp, log and tanh differ in the last bit.
"""

from typing import Any

import numpy as np

from .values import narrowed

# Measured with tools/golden.py on the four frameworks: 4 for a call, but for those below. The
# processors and libraries of others get as much again.
STEPS = 8
# What is made of random bits by exact arithmetic.
EXACT = {"random.uniform", "random_uniform"}
# What may be further off, and why.
WIDER = {
    "cbrt": (16, "a power with a rounded exponent: the error grows with the number"),
    "linalg": (16, "decompositions iterate, or add up in blocks"),
    "distributions.RelaxedOneHotCategorical": (64, "a power of shares, whose logarithms cancel"),
    "linalg.logm": (64, "a series of square roots, each of the one before"),
    "mcmc.sample": (256, "steps adapt to the draws before them, and to their rounding"),
    "optimize.minimize": (64, "products with second derivatives, of which large terms cancel"),
    "optim.scale_by_muon": (64, "five polynomials of a matrix after each other"),
    "optim.scale_by_shampoo": (16, "roots of matrices"),
    "train": (64, "the rounding of each of the steps goes into all that follow"),
}
# The same for gradients.
WIDER_GRADIENTS = {
    "functional.rnn_update": (256, "that of the first state: terms a hundred times larger cancel"),
    "linalg.pinv": (64, "a sum of products of inverses, whose rounding does not cancel"),
    **dict.fromkeys(
        ["nn.Transformer", "nn.TransformerDecoder", "nn.TransformerEncoder"],
        (64, "attentions and normalisations, layer after layer"),
    ),
    "nn.TransformerDecoderLayer": (32, "two attentions and three normalisations after each other"),
}


def steps_for(name: str, kind: str = "call") -> int:
    """How many steps the floats of an entry may be off; the name begins with a public one."""
    path = name.partition(":")[0]
    if kind in ("gradient", "layer gradient") and path in WIDER_GRADIENTS:
        return WIDER_GRADIENTS[path][0]
    if path in EXACT and kind == "call":
        return 0
    return WIDER.get(path, WIDER.get(path.partition(".")[0], (STEPS, "")))[0]


def difference(got: Any, want: Any, steps: float, xp: Any, where: str = "") -> str | None:
    """What differs, in one line; None if nothing does. Both are plain (`values.plain`)."""
    place = f"at {where}: " if where else ""
    if type(got) is not type(want):
        return f"{place}got {_kind(got)}, recorded was {_kind(want)}"
    if isinstance(want, dict):
        if list(got) != list(want):
            return f"{place}got the keys {list(got)}, recorded were {list(want)}"
        return _first([difference(got[k], want[k], steps, xp, _join(where, k)) for k in want])
    if isinstance(want, list):
        if len(got) != len(want):
            return f"{place}got {len(got)} items, recorded were {len(want)}"
        parts = [
            difference(g, w, steps, xp, _join(where, str(i)))
            for i, (g, w) in enumerate(zip(got, want, strict=True))
        ]
        return _first(parts)
    if not isinstance(want, (np.ndarray, float, complex)):
        return None if got == want else f"{place}got {got!r}, recorded was {want!r}"
    if isinstance(want, np.ndarray):
        if got.dtype not in (want.dtype, narrowed(want, xp).dtype):
            return f"{place}got dtype {got.dtype}, recorded was {want.dtype}"
        if got.shape != want.shape:
            return f"{place}got shape {got.shape}, recorded was {want.shape}"
    off = distance(got, want)
    if off <= steps:
        return None
    return f"{place}{_worst(got, want)}; off by {off:.3g} steps, at most {steps:g} are allowed"


def distance(got: Any, want: Any) -> float:
    """The largest difference of two arrays in steps of the narrower type at their scale."""
    got, want = np.asarray(got), np.asarray(want)
    if want.dtype.kind not in "fc" and want.dtype.name != "bfloat16":
        return 0.0 if np.array_equal(got, want) else float("inf")
    kind = np.complex128 if want.dtype.kind == "c" else np.float64
    step = max(_step(got.dtype), _step(want.dtype))
    got, want = got.astype(kind), want.astype(kind)
    is_finite = np.isfinite(want)
    same = np.array_equal(got[~is_finite], want[~is_finite], equal_nan=True)
    if not same or not np.isfinite(got[is_finite]).all():
        return float("inf")
    scale = np.max(np.abs(want[is_finite]), initial=0.0)
    largest = np.max(np.abs(got[is_finite] - want[is_finite]), initial=0.0)
    if largest == 0:
        return 0.0
    return float(largest / (scale * step)) if scale > 0 else float("inf")


def _step(dtype: Any) -> float:
    if dtype.name == "bfloat16":
        return 2.0**-7
    return float(np.finfo(dtype).eps) if dtype.kind in "fc" else 0.0


def _worst(got: Any, want: Any) -> str:
    got, want = np.asarray(got), np.asarray(want)
    with np.errstate(invalid="ignore"):
        far = np.where(got == want, 0.0, np.abs(got.astype(complex) - want.astype(complex)))
    index = np.unravel_index(int(np.argmax(np.nan_to_num(far, nan=np.inf))), far.shape)
    place = f" at index {tuple([int(i) for i in index])}" if index else ""
    return f"got {got[index]}{place}, recorded was {want[index]}"


def _first(parts: list[str | None]) -> str | None:
    found = [part for part in parts if part is not None]
    return found[0] if found else None


def _join(where: str, key: str) -> str:
    return f"{where}/{key}" if where else key


def _kind(x: Any) -> str:
    return f"an array of {x.dtype}" if isinstance(x, np.ndarray) else f"{type(x).__name__} {x!r}"
