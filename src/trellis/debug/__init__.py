"""Looking into a model while it runs: statistics of activations and gradients, module by module.

>>> import numpy as np, trellis
>>> model = trellis.nn.Sequential({"first": trellis.nn.Linear(2, 3), "last": trellis.nn.ReLU()})
>>> with np.errstate(all="ignore"), trellis.debug.watch(model, show=False) as seen:
...     y = model(np.full((4, 2), np.inf, "float32"))
>>> seen.first_nonfinite
'first (Linear), call 1: the output is not finite, because its input is not'
"""

from .._core.exports import public_names as _public_names
from .statistics import Statistics as Statistics
from .watching import Watch as Watch
from .watching import watch as watch


def __dir__() -> list[str]:
    return _public_names(__name__)
