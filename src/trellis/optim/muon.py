"""Muon: momentum whose matrices are made orthogonal."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .._core import tree
from .._core.errors import ArgumentError, ArgumentTypeError
from .._core.typing import Array, Backend, Nest
from .arguments import count, explained, flag, fraction, non_negative, number, positive, rate
from .decay import Choice, Mask, add_decayed_weights, checked_mask, masked
from .engine import Leaves, Now, Rule, widened
from .moments import Momentum, scale_by_adam
from .optimizer import Optimizer
from .scaling import Rate, scale_by_learning_rate
from .transformation import Transformation, chain, counted, from_rules

# Of Keller Jordan's quintic polynomial, which brings singular values between 0 and 1 near 1.
COEFFICIENTS = (3.4445, -4.775, 2.0315)


@dataclass(frozen=True)
class MuonDirection(Rule[Momentum]):
    """The average of gradients, or a look ahead of it, with singular values near 1."""

    beta: float
    nesterov: bool
    steps: int
    coefficients: tuple[float, ...]
    epsilon: float
    match_adamw: bool

    slots = Momentum

    def apply(self, now: Now, g: Leaves, state: Momentum) -> tuple[Leaves, Momentum]:
        xp = now.xp
        m = xp.foreach_lerp(state.momentum, g, 1 - self.beta)
        direction = xp.foreach_lerp(g, m, self.beta) if self.nesterov else m
        return [self.scaled(xp, x) for x in direction], Momentum(m)

    def scaled(self, xp: Backend, x: Array) -> Any:
        """A leaf made orthogonal, times a number that depends on its shape."""
        shape = tuple([int(n) for n in x.shape])
        if len(shape) < 2:
            raise ArgumentError(
                f"scale_by_muon() is for matrices and got a leaf of shape {shape}: write "
                "optim.masked(optim.scale_by_muon(), optim.matrices_only), or use optim.Muon, "
                "which has AdamW for the others."
            )
        rows, columns = shape[0], math.prod(shape[1:])
        found = self.orthogonal(xp, xp.reshape(widened(xp, x), (rows, columns)))
        by = 0.2 * max(rows, columns) ** 0.5 if self.match_adamw else max(1, rows / columns) ** 0.5
        return xp.astype(xp.reshape(found * by, shape), x.dtype)

    def orthogonal(self, xp: Backend, x: Any) -> Any:
        """Newton and Schulz's iteration, on the side with fewer rows."""
        is_tall = int(x.shape[0]) > int(x.shape[1])
        if is_tall:
            x = xp.matrix_transpose(x)
        x = x / (xp.sqrt(xp.sum(x * x)) + self.epsilon)
        a, b, c = self.coefficients
        for _ in range(self.steps):
            square = xp.matmul(x, xp.matrix_transpose(x))
            x = a * x + xp.matmul(b * square + c * xp.matmul(square, square), x)
        return xp.matrix_transpose(x) if is_tall else x


@explained
def scale_by_muon(
    beta: float = 0.95,
    *,
    nesterov: bool = True,
    steps: int = 5,
    coefficients: Sequence[float] = COEFFICIENTS,
    epsilon: float = 1e-7,
    match_adamw: bool = False,
) -> Transformation:
    """Muon's direction (Jordan et al., 2024): momentum, made orthogonal.

        m = beta * m + (1 - beta) * g;    x = (1 - beta) * g + beta * m  if nesterov else  m
        x = x / (||x|| + epsilon), then `steps` times:  x = a*x + (b*x x' + c*(x x')**2) x
        direction = x * sqrt(max(1, rows / columns))

    It is for matrices; leaves with more axes, such as filters, are matrices with one row for each
    index of their first axis. In half precision the iteration runs in float32; torch.optim.Muon
    runs it in bfloat16.

    Args:
        beta: How much of the last m stays, in [0, 1).
        nesterov: Whether the direction looks one step of m ahead.
        steps: How many iterations there are.
        coefficients: a, b and c.
        epsilon: Added to the norm.
        match_adamw: Whether the last factor is `0.2 * sqrt(max(rows, columns))`, with which the
            learning rates of AdamW fit (Liu et al., 2025).

    >>> import numpy as np
    >>> from trellis import optim
    >>> muon = optim.scale_by_muon(nesterov=False)
    >>> direction, state = muon.update(np.diag([3.0, -2.0]), muon.init(np.zeros((2, 2))))
    >>> np.round(direction, 1)
    array([[ 1.1,  0. ],
           [ 0. , -0.7]])
    """
    if not isinstance(coefficients, (list, tuple)) or len(coefficients) != 3:
        raise ArgumentTypeError(f"coefficients must be three numbers, got {coefficients!r}.")
    rule = MuonDirection(
        fraction("beta", beta),
        flag("nesterov", nesterov),
        count("steps", steps),
        tuple([number("a coefficient", each) for each in coefficients]),
        positive("epsilon", epsilon),
        flag("match_adamw", match_adamw),
    )
    return from_rules(rule)


class Muon(Optimizer):
    """Momentum with orthogonal steps for matrices (Jordan et al., 2024), AdamW for other leaves.

        w = w - lr * (muon_direction + weight_decay * w)

    `optim.scale_by_muon` has the direction. Embeddings and the last layer of a classifier are
    better left to AdamW: say so with `where`.

    Args:
        lr: The learning rate: a number, an array of one number, or a schedule.
        beta: How much of the momentum stays, in [0, 1).
        weight_decay: The part of each weight that is subtracted, before the learning rate.
        nesterov: Whether the direction looks one step of the momentum ahead.
        steps: How many iterations make a matrix orthogonal.
        match_adamw: Whether steps have the size of those of AdamW, so that its learning rates fit.
        where: Which leaves are matrices of Muon: a pytree of bools or a function from the variables
            to one; None for those with two axes.
        adam_lr: The learning rate of AdamW, for the other leaves; None for `lr`.
        adam_beta1: Decay of AdamW's average of gradients, in [0, 1).
        adam_beta2: Decay of AdamW's average of their squares, in [0, 1).
        adam_epsilon: Keeps AdamW's division finite.

    >>> import numpy as np, trellis
    >>> opt = trellis.optim.Muon(lr=0.1, weight_decay=0)
    >>> v = {"w": np.zeros((2, 2)), "b": np.zeros(2)}
    >>> v = opt.step(v, {"w": np.diag([3.0, -2.0]), "b": np.array([0.5, -3.0])})
    >>> np.round(v["w"], 2), np.round(v["b"], 2)
    (array([[-0.11,  0.  ],
           [ 0.  ,  0.07]]), array([-0.1,  0.1]))
    """

    def __init__(
        self,
        lr: Rate = 0.02,
        beta: float = 0.95,
        weight_decay: float = 0.1,
        *,
        nesterov: bool = True,
        steps: int = 5,
        match_adamw: bool = False,
        where: Mask = None,
        adam_lr: Rate | None = None,
        adam_beta1: float = 0.9,
        adam_beta2: float = 0.999,
        adam_epsilon: float = 1e-8,
    ):
        chosen = OnlyMatrices() if where is None else checked_mask(where, "where")
        decay = add_decayed_weights(weight_decay)
        muon = scale_by_muon(beta, nesterov=nesterov, steps=steps, match_adamw=match_adamw)
        adam = scale_by_adam(
            fraction("adam_beta1", adam_beta1),
            fraction("adam_beta2", adam_beta2),
            non_negative("adam_epsilon", adam_epsilon),
        )
        other_lr = lr if adam_lr is None else rate("adam_lr", adam_lr)
        parts = chain(
            masked(chain(muon, decay, by_rate(lr)), chosen),
            masked(chain(adam, decay, by_rate(other_lr)), Others(chosen)),
        )
        super().__init__(counted(parts), 1.0)
        self.lr = rate("lr", lr)


def by_rate(lr: Rate) -> Transformation:
    return scale_by_learning_rate(lr, flip_sign=False)


@dataclass(frozen=True)
class OnlyMatrices:
    """The mask of the leaves with two axes; a class, so that it can be pickled."""

    def __call__(self, params: Nest) -> Choice:
        chosen: Choice = tree.map(lambda w: len(w.shape) == 2, params)
        return chosen


@dataclass(frozen=True)
class Others:
    """The mask of the leaves that another mask leaves out."""

    mask: Any

    def __call__(self, params: Nest) -> Choice:
        chosen = self.mask(params) if callable(self.mask) else self.mask
        others: Choice = tree.map(lambda is_chosen: not is_chosen, chosen)
        return others
