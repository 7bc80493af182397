"""Models and weights from other libraries, and models of ours inside theirs.

Importing this room loads no framework; a function loads the one that it is about.
"""

from .._core.exports import public_names as _public_names
from ..nn.module.loading import WeightsReport as WeightsReport
from .adapters import as_flax as as_flax
from .adapters import as_jax as as_jax
from .adapters import as_keras_layer as as_keras_layer
from .adapters import as_torch_module as as_torch_module
from .weights import load_keras_weights as load_keras_weights
from .weights import load_torch_weights as load_torch_weights
from .weights_back import state_dict as state_dict


def __dir__() -> list[str]:
    return _public_names(__name__)
