"""Pytrees of arrays: dicts, Containers, lists and tuples, to any depth. `optree` does the walking.

`None` is an empty pytree: it has no leaves.

>>> from trellis import tree
>>> tree.map(lambda x, y: x * y, {"a": 1, "b": [2, 3]}, 10)
{'a': 10, 'b': [20, 30]}
"""

from ._core.leafwise import call_leafwise as call_leafwise
from ._core.tree import align as align
from ._core.tree import flatten as flatten
from ._core.tree import from_key_chains as from_key_chains
from ._core.tree import get as get
from ._core.tree import is_nest as is_nest
from ._core.tree import key_chains as key_chains
from ._core.tree import leaves as leaves
from ._core.tree import map as map
from ._core.tree import map_with_key_chains as map_with_key_chains
from ._core.tree import paths as paths
from ._core.tree import structure as structure
from ._core.tree import unflatten as unflatten
