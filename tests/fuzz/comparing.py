"""What differs between the answers of four frameworks, and from the one of NumPy or SciPy."""

import warnings
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from frameworks import BACKENDS

from .call import Call, replaced
from .running import Answer, Leaf, Refusal, outcome

EPSILON = {
    "float16": 2.0**-10,
    "bfloat16": 2.0**-7,
    "float32": 2.0**-23,
    "float64": 2.0**-52,
    "complex64": 2.0**-23,
    "complex128": 2.0**-52,
}
# Functions whose oracle once had no answer itself: a fault of the draw, or of NumPy.
SILENT: dict[str, str] = {}


@dataclass(frozen=True)
class Difference:
    """Backends of which each gives something else than the reference, and in what."""

    call: Call = field(compare=False)
    mode: str
    # divided (one refuses, one answers), form, dtype, shape, home (array of another framework),
    # values
    kind: str
    backends: tuple[str, ...]
    # Backends by name, or "NumPy in 64 bits".
    reference: str
    text: str = field(compare=False)

    @property
    def key(self) -> tuple[Any, ...]:
        """What makes two findings one: shrinking may not wander from one fault to another."""
        return (self.call.op, self.mode, self.kind, self.backends)

    def __str__(self) -> str:
        return (
            f"{self.call!r} [{self.mode}] {self.kind}: {', '.join(self.backends)} differ from "
            f"{self.reference}; {self.text[:400]}"
        )


def differences(call: Call, mode: str) -> list[Difference]:
    """All differences of one call; none if all frameworks refuse it."""
    wide = None
    if call.expected is not None and mode != "gradient" and _has_float(call):
        wide = _oracle(call)
    return differences_from(call, mode, wide and ("NumPy in 64 bits", wide))[0]


def differences_from(
    call: Call, mode: str, oracle: tuple[str, Answer] | None
) -> tuple[list[Difference], list[Refusal]]:
    """The differences from an oracle if there is one, else from each other; and who refused."""
    outcomes = {backend: outcome(call, backend, mode) for backend in BACKENDS}
    refusals = {b: r for b, r in outcomes.items() if isinstance(r, Refusal)}
    if refusals:
        if len(refusals) == len(BACKENDS):
            return [], list(refusals.values())
        # The larger side is right, for a start; of two halves the one that answers.
        odd = set(refusals) if len(refusals) <= 2 else set(BACKENDS) - set(refusals)
        others = ", ".join(b for b in BACKENDS if b not in odd)
        text = "; ".join(f"{b}: {r}" for b, r in refusals.items())
        divided = Difference(call, mode, "divided", tuple(sorted(odd)), others, text)
        return [divided], list(refusals.values())
    found: list[Difference] = []
    references = [oracle] if oracle else []
    for name, reference in [*references, _leader(call, mode, outcomes)]:
        by_kind: dict[str, dict[str, str]] = {}
        for backend, answer in outcomes.items():
            kind, text = _first_difference(call, mode, answer, reference, backend)
            if kind:
                by_kind.setdefault(kind, {})[backend] = text
        for kind, texts in by_kind.items():
            odd, first = tuple(sorted(texts)), next(iter(texts.values()))
            found.append(Difference(call, mode, kind, odd, name, first))
        if found:
            break
    return found, []


def _leader(call: Call, mode: str, outcomes: dict[str, Any]) -> tuple[str, Answer]:
    """The backend that most others follow."""
    votes = {
        name: sum(
            not _first_difference(call, mode, other, answer, backend)[0]
            for backend, other in outcomes.items()
        )
        for name, answer in outcomes.items()
    }
    best = max(votes, key=lambda name: votes[name])
    return best, outcomes[best]


def _has_float(call: Call) -> bool:
    return any(x.values.dtype.name in EPSILON for x in call.given())


def _oracle(call: Call) -> Answer | None:
    wide = []
    for given in call.given():
        x = given.values
        if x.dtype.name in EPSILON:
            x = x.astype(np.complex128 if x.dtype.kind == "c" else np.float64)
        wide.append(x)
    args, kwargs = replaced((call.args, call.kwargs), wide)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            result = call.expected(*args, **kwargs)
        except (ArithmeticError, LookupError, TypeError, ValueError) as error:
            SILENT[call.op] = f"{type(error).__name__}: {error}"
            return None
    results = result if isinstance(result, (tuple, list)) else [result]
    leaves = [Leaf(np.asarray(x), "", "") for x in results]
    return Answer(leaves, "")


def _first_difference(
    call: Call, mode: str, answer: Answer, reference: Answer, backend: str
) -> tuple[str, str]:
    if reference.form and answer.form != reference.form:
        return "form", f"{answer.form} instead of {reference.form}"
    if len(answer.leaves) != len(reference.leaves):
        return "form", f"{len(answer.leaves)} arrays instead of {len(reference.leaves)}"
    for leaf, wanted in zip(answer.leaves, reference.leaves, strict=True):
        if leaf.backend != backend:
            return "home", f"an array of {leaf.backend}"
        if wanted.dtype and leaf.dtype != wanted.dtype:
            return "dtype", f"{leaf.dtype} instead of {wanted.dtype}"
        if leaf.values.shape != wanted.values.shape:
            return "shape", f"{leaf.values.shape} instead of {wanted.values.shape}"
        text = _far(call, mode, leaf, wanted)
        if text:
            return "values", text
    return "", ""


def _far(call: Call, mode: str, leaf: Leaf, wanted: Leaf) -> str:
    got, want = leaf.values, wanted.values
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        if leaf.dtype not in EPSILON:
            same = got == want if want.dtype.kind in "biu" else got == want.astype(got.dtype)
            return "" if np.all(same) else f"{got.tolist()} instead of {want.tolist()}"
        want = want.astype(got.dtype)  # what overflows does so in both
        wide = np.complex128 if got.dtype.kind == "c" else np.float64
        got, want = got.astype(wide), want.astype(wide)
        if got.dtype.kind == "c":  # infinite parts and nan parts by themselves
            got, want = np.stack([got.real, got.imag]), np.stack([want.real, want.imag])
        same = (got == want) | (np.isnan(got) & np.isnan(want))
        sizes = np.abs(np.where(np.isfinite(want), want, 0))
        largest = sizes.max(initial=0.0)
        if not call.elementwise or mode == "gradient" or leaf.dtype.startswith("complex"):
            sizes = np.maximum(sizes, largest)
        sizes = np.maximum(sizes, call.floor)
        # A derivative is made of several steps, each of which rounds.
        units = call.units * (4 if mode == "gradient" else 1)
        near = np.abs(got - want) <= units * EPSILON[leaf.dtype] * sizes
        if np.all(same | near):
            return ""
    return f"{got.tolist()} instead of {want.tolist()} ({leaf.dtype})"
