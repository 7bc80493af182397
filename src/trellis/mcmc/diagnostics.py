"""Whether chains agree, and what their draws are worth (Vehtari et al. 2021)."""

import math
from dataclasses import dataclass
from typing import Any

from .._array.control import associative_scan
from .._array.searching import searchsorted
from .._array.statistics import quantile
from .._core import tree
from .._core.dispatch import xp_of_any
from .._core.errors import ArgumentError, ShapeError
from .._core.html import table
from .._core.kinds import shown
from .._core.typing import Backend
from ..special.error import ndtri
from .sampling import Chains

KINDS = ("bulk", "tail", "mean")


def rhat(draws: Any, /) -> Any:
    """How far chains are from agreeing, for each number of the draws: near 1 when they do.

    The larger of the split R-hats of the draws' ranks and of the ranks of their distances from
    the median. Above 1.01 the chains have not converged.

    Arguments:
        draws: Arrays with the chain as first axis and the draw as second one, or a pytree of them;
            also what `sample` returns.

    >>> import trellis
    >>> draws = trellis.random.normal(trellis.random.key(0), (4, 500), "float64")
    >>> trellis.mcmc.rhat(draws).round(2).item()
    1.0
    """
    return tree.map(_rhat, _draws_of(draws))


def ess(draws: Any, /, *, kind: str = "bulk") -> Any:
    """The effective sample size, for each number of the draws: how many independent draws would
    tell as much.

    Arguments:
        draws: As for `rhat`.
        kind: "bulk" for means and medians (of normalised ranks), "tail" for the quantiles of 5 and
            95 %, "mean" for the mean of the draws as they are.

    >>> import trellis
    >>> draws = trellis.random.normal(trellis.random.key(0), (4, 500), "float64")
    >>> 1500 < trellis.mcmc.ess(draws) < 2600
    np.True_
    """
    if kind not in KINDS:
        raise ArgumentError(f"kind is one of {', '.join(KINDS)}, got {kind!r}.")
    return tree.map(lambda x: _ess_of_kind(x, kind), _draws_of(draws))


@dataclass(frozen=True)
class Summary:
    """Mean, deviation, quantiles and diagnostics of each number; what `summary` returns."""

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    divergences: int

    def __str__(self) -> str:
        lines = [self.head, *self.rows]
        widths = [max([len(line[i]) for line in lines]) for i in range(len(self.head))]
        text = [
            "  ".join([cell.rjust(width) for cell, width in zip(line, widths, strict=True)])
            for line in lines
        ]
        return "\n".join([*text, f"divergences: {self.divergences}"])

    def _repr_html_(self) -> str:
        return table(self.head, self.rows, f"divergences: {self.divergences}")


def summary(chains: Chains, /) -> Summary:
    """A table of the draws: a row for each number.

    >>> import numpy as np, trellis
    >>> from trellis import mcmc
    >>> chains = mcmc.sample(
    ...     lambda x: -0.5 * x * x, np.array(0.0), key=trellis.random.key(0), draws=50, tune=50
    ... )
    >>> mcmc.summary(chains).head
    ('', 'mean', 'sd', '5%', '50%', '95%', 'ess', 'rhat')
    """
    rows = []
    for chain, x in zip(tree.key_chains(chains.draws), tree.leaves(chains.draws), strict=True):
        xp = xp_of_any(x)
        flat = xp.reshape(x, (x.shape[0] * x.shape[1], -1))
        columns = [
            xp.mean(flat, axis=0),
            xp.std(flat, axis=0, correction=1),
            *[quantile(flat, q, axis=0) for q in (0.05, 0.5, 0.95)],
            xp.reshape(_ess_of_kind(x, "bulk"), (-1,)),
            xp.reshape(_rhat(x), (-1,)),
        ]
        table_of = [xp.to_numpy(column) for column in columns]
        for i in range(flat.shape[1]):
            name = chain or "x"
            label = name if len(x.shape) == 2 else f"{name}[{_index(i, tuple(x.shape)[2:])}]"
            *numbers, size, ratio = [float(column[i]) for column in table_of]
            cells = [f"{number:.4g}" for number in numbers]
            rows.append((label, *cells, f"{size:.0f}", f"{ratio:.3f}"))
    head = ("", "mean", "sd", "5%", "50%", "95%", "ess", "rhat")
    return Summary(head, tuple(rows), chains.divergences)


def _index(i: int, shape: tuple[int, ...]) -> str:
    parts: list[str] = []
    for size in reversed(shape):
        i, rest = divmod(i, size)
        parts.insert(0, str(rest))
    return ",".join(parts)


def _draws_of(draws: Any) -> Any:
    if isinstance(draws, Chains):
        draws = draws.draws
    for x in tree.leaves(draws):
        if len(getattr(x, "shape", ())) < 2 or x.shape[1] < 4:
            raise ShapeError(
                "Draws are arrays with the chain as first axis and at least 4 draws along the "
                f"second one, got {shown(x)}."
            )
    return draws


def _split(xp: Backend, x: Any) -> Any:
    """Each chain as two: one that drifts does not agree with itself."""
    half = x.shape[1] // 2
    return xp.concat([x[:, :half], x[:, x.shape[1] - half :]], axis=0)


def _normal_scores(xp: Backend, x: Any) -> Any:
    """Each draw's rank among those of all chains, as a quantile of the normal distribution."""
    count = x.shape[0] * x.shape[1]
    columns = xp.matrix_transpose(xp.reshape(x, (count, -1)))
    in_order = xp.sort(columns, axis=-1)
    below = searchsorted(in_order, columns, side="left")
    up_to = searchsorted(in_order, columns, side="right")
    ranks = (xp.astype(below + up_to, xp.dtype_name(x.dtype)) + 1.0) / 2.0
    scores = ndtri((ranks - 0.375) / (count + 0.25))
    return xp.reshape(xp.matrix_transpose(scores), tuple(x.shape))


def _rhat(x: Any) -> Any:
    xp = xp_of_any(x)
    halves = _split(xp, x)
    flat = xp.reshape(halves, (-1, *tuple(halves.shape)[2:]))
    folded = xp.abs(halves - quantile(flat, 0.5, axis=0))
    return xp.maximum(
        _plain_rhat(xp, _normal_scores(xp, halves)), _plain_rhat(xp, _normal_scores(xp, folded))
    )


def _plain_rhat(xp: Backend, x: Any) -> Any:
    length = x.shape[1]
    within = xp.mean(xp.var(x, axis=1, correction=1), axis=0)
    between = xp.var(xp.mean(x, axis=1), axis=0, correction=1)
    return xp.sqrt((length - 1) / length + between / within)


def _ess_of_kind(x: Any, kind: str) -> Any:
    xp = xp_of_any(x)
    halves = _split(xp, x)
    if kind == "mean":
        return _ess(xp, halves)
    if kind == "bulk":
        return _ess(xp, _normal_scores(xp, halves))
    flat = xp.reshape(halves, (-1, *tuple(halves.shape)[2:]))
    sizes = [
        _ess(xp, xp.astype(halves <= quantile(flat, q, axis=0), xp.dtype_name(x.dtype)))
        for q in (0.05, 0.95)
    ]
    return xp.minimum(*sizes)


def _ess(xp: Backend, x: Any) -> Any:
    """Draws over their autocorrelation time, whose sum ends where pairs of its terms are no longer
    positive, and never grows (Geyer 1992)."""
    chains, length = x.shape[0], x.shape[1]
    away = x - xp.mean(x, axis=1, keepdims=True)
    size = 1 << (2 * length - 1).bit_length()
    spectrum = xp.fft.rfft(away, n=size, axis=1)
    power = xp.real(spectrum * xp.conj(spectrum))
    covariances = (
        xp.fft.irfft(xp.astype(power, spectrum.dtype), n=size, axis=1)[:, :length] / length
    )
    mean_of = xp.mean(covariances, axis=0)
    within = mean_of[0] * (length / (length - 1.0))
    total = within * ((length - 1.0) / length)
    if chains > 1:
        total = total + xp.var(xp.mean(x, axis=1), axis=0, correction=1)
    correlations = 1.0 - (within - mean_of) / total
    count = length // 2
    first = xp.ones_like(correlations[:1])
    correlations = xp.concat([first, correlations[1 : 2 * count]], axis=0)
    pairs = correlations[0::2] + correlations[1::2]
    is_open = xp.cumulative_prod(xp.astype(pairs > 0, "int32"), axis=0)
    shrinking = associative_scan(xp.minimum, pairs)
    kept = xp.where(is_open == 1, shrinking, xp.zeros_like(pairs))
    time = 2.0 * xp.sum(kept, axis=0) - 1.0
    # Alternating chains can beat independent draws, but not by more than the logarithm of their
    # number.
    draws = chains * length
    least = 1.0 / math.log10(draws)
    return draws / xp.maximum(time, xp.zeros_like(time) + least)
