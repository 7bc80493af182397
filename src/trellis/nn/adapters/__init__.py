"""Adapters: few numbers beside the matrices of a model, which are trained in their place.

`trellis.nn.lora` adds them. Everything here changes the model in place.

>>> import numpy as np
>>> from trellis import nn
>>> model = nn.lora(nn.Linear(4, 3), rank=2, name="french")
>>> model = nn.lora(model, rank=2, name="german")
>>> nn.adapters.activate(model, "french")
>>> nn.adapters.names(model), nn.adapters.active(model)
(['french', 'german'], ['french'])
"""

from ..._core.exports import public_names as _public_names
from .files import load as load
from .files import save as save
from .managing import activate as activate
from .managing import active as active
from .managing import merge as merge
from .managing import names as names
from .managing import remove as remove
from .managing import unmerge as unmerge


def __dir__() -> list[str]:
    return _public_names(__name__)
