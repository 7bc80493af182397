"""Trajectories that double until they turn back (Hoffman and Gelman 2014, Betancourt 2017).

A subtree of 2 ** d leaves is built leaf by leaf in a loop, so that it compiles; what is kept is one
leaf for each level, the first of the subtree that is open there.
"""

from typing import Any, NamedTuple

from .._array.control import while_loop
from .._core.dispatch import xp_of
from .._random.distributions import uniform
from ._dynamics import (
    DIVERGENT,
    MOST_ENERGY,
    Density,
    Metric,
    Point,
    chosen,
    energy,
    leapfrog,
    velocity,
)


class Tree(NamedTuple):
    """A trajectory: both ends, the draw chosen from it so far, and sums over its leaves."""

    left: Point
    right: Point
    proposal: Point
    log_weight: Any
    momentum: Any
    acceptance: Any
    steps: Any
    depth: Any
    is_turning: Any
    is_diverging: Any


class _Branch(NamedTuple):
    """A subtree while it is built, from one end on."""

    end: Point
    proposal: Point
    log_weight: Any
    momentum: Any
    acceptance: Any
    count: Any
    # For each level: the momentum of a first leaf, and the sum of momenta up to and with it.
    firsts: Any
    sums: Any
    is_turning: Any
    is_diverging: Any


def grown(
    density: Density, key: Any, metric: Metric, step: Any, start: Point, max_depth: int
) -> Tree:
    """The trajectory through a point: doubled in random directions until it turns or diverges."""
    xp = xp_of(start.position)
    zero = xp.zeros_like(start.log_density)
    kind = xp.dtype_name(start.position.dtype)
    no = zero > 0
    first_energy = energy(metric, start)
    # All random numbers at once, one for each leaf there can be: drawing them leaf by leaf takes
    # longer on every backend.
    luck = uniform(key, (2**max_depth + 2 * max_depth,), kind)
    tree = Tree(
        start, start, start, zero, start.momentum, zero, zero, xp.astype(zero, "int32"), no, no
    )

    def goes_on(tree: Tree) -> Any:
        return (tree.depth < max_depth) & ~(tree.is_turning | tree.is_diverging)

    def doubled(tree: Tree) -> Tree:
        is_right = _number(luck, 2**max_depth + tree.depth) < 0.5
        signed = xp.where(is_right, step, -step)
        from_end = chosen(is_right, tree.right, tree.left)
        branch = _branch(
            density, luck, metric, signed, from_end, tree.depth, first_energy, max_depth
        )
        is_whole = ~(branch.is_turning | branch.is_diverging)
        # Later halves are preferred: draws lie further from where the trajectory began.
        odds = xp.exp(xp.minimum(branch.log_weight - tree.log_weight, zero))
        is_taken = is_whole & (_number(luck, 2**max_depth + max_depth + tree.depth) < odds)
        left = chosen(is_right, tree.left, branch.end)
        right = chosen(is_right, branch.end, tree.right)
        momentum = tree.momentum + branch.momentum
        is_turning = branch.is_turning | _turns(metric, left.momentum, right.momentum, momentum)
        return Tree(
            left,
            right,
            chosen(is_taken, branch.proposal, tree.proposal),
            xp.logaddexp(tree.log_weight, branch.log_weight),
            momentum,
            tree.acceptance + branch.acceptance,
            tree.steps + xp.astype(branch.count, kind),
            tree.depth + 1,
            is_turning,
            branch.is_diverging,
        )

    return while_loop(goes_on, doubled, tree)


def _branch(
    density: Density,
    luck: Any,
    metric: Metric,
    step: Any,
    start: Point,
    depth: Any,
    first_energy: Any,
    max_depth: int,
) -> _Branch:
    """A subtree of 2 ** depth leaves beyond a point, or of as many as there are up to a U-turn."""
    xp = xp_of(start.position)
    zero = xp.zeros_like(start.log_density)
    kind = xp.dtype_name(start.position.dtype)
    levels = xp.arange(max_depth, dtype="int32", device=xp.device(start.position))
    kept = xp.zeros(
        (max_depth, start.position.shape[0]), dtype=kind, device=xp.device(start.position)
    )
    no = zero > 0
    count = xp.zeros_like(depth)
    size = xp.bitwise_left_shift(count + 1, depth)
    branch = _Branch(
        start,
        start,
        zero - MOST_ENERGY,
        xp.zeros_like(start.momentum),
        zero,
        count,
        kept,
        kept,
        no,
        no,
    )

    def goes_on(branch: _Branch) -> Any:
        return (branch.count < size) & ~(branch.is_turning | branch.is_diverging)

    def longer(branch: _Branch) -> _Branch:
        end = leapfrog(density, metric, branch.end, step)
        error = energy(metric, end) - first_energy
        log_weight = xp.logaddexp(branch.log_weight, -error)
        # A trajectory of depth d has size - 1 leaves before this subtree.
        is_taken = _number(luck, size - 1 + branch.count) < xp.exp(-error - log_weight)
        momentum = branch.momentum + end.momentum
        # The number of the leaf in binary says which subtrees begin and which end with it.
        bits = xp.bitwise_right_shift(branch.count, levels) & 1
        level = xp.sum(bits[1:], dtype="int32")
        closed = xp.sum(xp.cumulative_prod(bits, dtype="int32"), dtype="int32")
        is_even = bits[0] == 0
        begins = ((levels == level) & is_even)[:, None]
        firsts = xp.where(begins, end.momentum[None, :], branch.firsts)
        sums = xp.where(begins, momentum[None, :], branch.sums)
        between = momentum[None, :] - sums + firsts
        turns = _turns(metric, firsts, end.momentum[None, :], between)
        is_closed = (levels > level - closed) & (levels <= level) & ~is_even
        return _Branch(
            end,
            chosen(is_taken, end, branch.proposal),
            log_weight,
            momentum,
            branch.acceptance + xp.exp(xp.minimum(-error, zero)),
            branch.count + 1,
            firsts,
            sums,
            xp.any(turns & is_closed),
            error > DIVERGENT,
        )

    return while_loop(goes_on, longer, branch)


def _number(numbers: Any, i: Any) -> Any:
    xp = xp_of(numbers)
    return xp.take(numbers, xp.reshape(i, (1,)))[0]


def _turns(metric: Metric, left: Any, right: Any, total: Any) -> Any:
    """Whether the ends of a trajectory move towards each other; of many along axis 0 at once.

    `total` is the sum of the momenta of all its leaves.
    """
    xp = xp_of(total)
    between = total - 0.5 * (left + right)
    first = xp.sum(velocity(metric, left) * between, axis=-1)
    last = xp.sum(velocity(metric, right) * between, axis=-1)
    return (first <= 0) | (last <= 0)
