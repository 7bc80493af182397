"""Random numbers by key: pure functions with the numbers of `jax.random`, on every backend.

A key is a uint32 array of shape (2,). The same key gives the same numbers every time, so split it,
or fold a number into it, for every new draw. Bits, uniforms, integers and permutations are those of
`jax.random` bit for bit (its default Threefry stream, 64-bit types off); distributions computed
with a logarithm or a square root agree within 1e-6. A draw runs on the backend of its key.

>>> import trellis
>>> key = trellis.random.key(0)
>>> first, second = trellis.random.split(key)
>>> trellis.random.uniform(first, (3,))
array([0.8423141 , 0.18237865, 0.2271781 ], dtype=float32)
"""

from ._random.choosing import categorical as categorical
from ._random.choosing import choice as choice
from ._random.choosing import permutation as permutation
from ._random.choosing import randint as randint
from ._random.distributions import bernoulli as bernoulli
from ._random.distributions import beta as beta
from ._random.distributions import dirichlet as dirichlet
from ._random.distributions import exponential as exponential
from ._random.distributions import gamma as gamma
from ._random.distributions import gumbel as gumbel
from ._random.distributions import multivariate_normal as multivariate_normal
from ._random.distributions import normal as normal
from ._random.distributions import orthogonal as orthogonal
from ._random.distributions import poisson as poisson
from ._random.distributions import truncated_normal as truncated_normal
from ._random.distributions import uniform as uniform
from ._random.keys import bits as bits
from ._random.keys import fold_in as fold_in
from ._random.keys import key as key
from ._random.keys import split as split
from ._random.stream import stream as stream
