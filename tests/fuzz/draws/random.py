"""Draws: the same key gives the same numbers on every framework.

Those made with a logarithm or a root differ by 1e-6 of their spread, which is what the units say.
"""

import numpy as np
from hypothesis import strategies as st

import trellis

from ..call import Call, Given
from ..drawing import (
    ANY,
    FLOATING,
    INTEGER,
    array,
    axis_of,
    broadcast,
    drawn,
    indices,
    options,
    shapes,
)

TYPES = ("float32", "float64", "float16", "bfloat16")


def key(draw):
    words = trellis.random.key(draw(st.integers(0, 2**31 - 1)), backend="numpy")
    return Given(np.asarray(words))


@drawn("random.key")
def from_seed(draw, op):
    seed = draw(st.one_of(st.integers(0, 9), st.integers(0, 2**64 - 1)))
    return Call(op, (seed,), gradient=False, compiled=False)


@drawn("random.split")
def split(draw, op):
    return Call(op, (key(draw), draw(st.sampled_from((2, 1, 0, 3, (2, 2))))), gradient=False)


@drawn("random.fold_in")
def fold_in(draw, op):
    number = draw(st.sampled_from((0, 1, 2**32 - 1)))
    data = draw(st.sampled_from((number, indices(draw, 9, ()))))
    return Call(op, (key(draw), data), gradient=False)


@drawn("random.bits")
def bits(draw, op):
    chosen = options(draw, dtype=("uint8", "uint16", "uint32", "uint64"))
    return Call(op, (key(draw), draw(shapes())), chosen, gradient=False)


@drawn("random.uniform", "random.exponential", "random.gumbel", "random.normal")
def of_shape(draw, op):
    chosen = options(draw, dtype=TYPES)
    if op == "random.uniform":
        chosen |= options(draw, minval=(-1.0, 0.5), maxval=(2.0, 1.0))
    return Call(op, (key(draw), draw(shapes())), chosen, gradient=False, units=64)


@drawn("random.truncated_normal")
def truncated(draw, op):
    low = draw(st.sampled_from((-2.0, 0.0, 3.0, array(draw, FLOATING, draw(shapes(0, 1))))))
    chosen = {} if isinstance(low, Given) else options(draw, shape=((2,), (2, 3)), dtype=TYPES)
    high = 7.0
    return Call(op, (key(draw), low, high), chosen, gradient=False, units=512)


@drawn("random.bernoulli")
def bernoulli(draw, op):
    p = draw(st.sampled_from((0.5, 0.25, array(draw, FLOATING, kind="share"))))
    return Call(op, (key(draw), p), gradient=False)


@drawn("random.gamma", "random.beta", "random.dirichlet", "random.poisson")
def by_parameters(draw, op):
    name = draw(st.sampled_from(("float32", "float64")))
    least = 1 if op == "random.dirichlet" else 0
    shape = draw(shapes(least, 2, empty=least == 0))
    args = [array(draw, name, shape, "positive")]
    if op == "random.beta":
        args.append(array(draw, name, broadcast(draw, shape), "positive"))
    chosen = {} if op == "random.poisson" else options(draw, dtype=TYPES)
    # A derivative by the shape parameter is a quotient of small numbers.
    return Call(op, (key(draw), *args), chosen, gradient=False, units=2048)


@drawn("random.multivariate_normal")
def multivariate(draw, op):
    name, n = draw(st.sampled_from(("float32", "float64"))), draw(st.integers(1, 3))
    mean = array(draw, name, (n,))
    root = array(draw, name, (n, n), "unit").values
    cov = Given(root @ root.T + np.eye(n, dtype=name))
    return Call(op, (key(draw), mean, cov), options(draw, shape=((2,), ())), units=512)


@drawn("random.orthogonal")
def orthogonal(draw, op):
    chosen = options(draw, shape=((2,), ()), m=(1, 2, 3))
    return Call(op, (key(draw), draw(st.integers(1, 3))), chosen, gradient=False, units=1024)


@drawn("random.randint")
def randint(draw, op):
    low = draw(st.sampled_from((0, -5, 3)))
    chosen = options(draw, dtype=("int32", "int64", "int8"))
    return Call(op, (key(draw), draw(shapes()), low, low + 7), chosen, gradient=False)


@drawn("random.permutation")
def permutation(draw, op):
    x = array(draw, ANY, draw(shapes(1)))
    if draw(st.booleans()):
        return Call(op, (key(draw), draw(st.integers(0, 5))), gradient=False)
    return Call(op, (key(draw), x), {"axis": axis_of(draw, x.values.ndim)})


@drawn("random.choice")
def choice(draw, op):
    n = draw(st.integers(1, 4))
    chosen = {"shape": draw(st.sampled_from(((), (1,), (2, 3))))}
    if draw(st.booleans()):
        chosen["p"] = array(draw, ("float32",), (n,), "positive")
    if draw(st.booleans()):
        chosen |= {"replace": False, "shape": (draw(st.integers(0, n)),)}
    population = n if draw(st.booleans()) else array(draw, FLOATING, (n, 2))
    return Call(op, (key(draw), population), chosen, gradient=False)


@drawn("random.categorical")
def categorical(draw, op):
    logits = array(draw, ("float32", "float64"), draw(shapes(1, empty=False)))
    return Call(op, (key(draw), logits), {"axis": axis_of(draw, logits.values.ndim)})


# Functions with a seed -----------------------------------------------------------------------


@drawn("random_uniform", "random_normal")
def seeded(draw, op):
    chosen = {"seed": draw(st.integers(0, 99)), "shape": draw(shapes())}
    chosen |= options(draw, dtype=TYPES)
    if op == "random_uniform":
        chosen |= options(draw, low=(-1.0, 0.5), high=(2.0, 1.0))
    else:
        chosen |= options(draw, mean=(1.0, -2.0), std=(0.5, 2.0))
    return Call(op, (), chosen, gradient=False, compiled=False, units=64)


@drawn("randint")
def seeded_randint(draw, op):
    chosen = {"seed": draw(st.integers(0, 99)), "shape": draw(shapes())}
    low = draw(st.sampled_from((0, 2)))
    chosen |= options(draw, dtype=INTEGER)
    return Call(op, (low, low + 90), chosen, gradient=False, compiled=False)


@drawn("multinomial")
def multinomial(draw, op):
    n = draw(st.integers(1, 4))
    chosen = {"seed": draw(st.integers(0, 99)), "replace": draw(st.booleans())}
    if draw(st.booleans()):
        chosen["probs"] = array(draw, ("float32", "float64"), (2, n), "positive")
    return Call(op, (n, draw(st.integers(1, n))), chosen, gradient=False)


@drawn("shuffle")
def shuffle(draw, op):
    x = array(draw, ANY, draw(shapes(1)))
    return Call(op, (x,), {"axis": axis_of(draw, x.values.ndim), "seed": draw(st.integers(0, 9))})
