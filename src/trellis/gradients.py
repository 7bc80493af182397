"""Derivatives of functions of arrays: the same transforms on four frameworks, NumPy included.

Every function here takes pytrees wherever it takes arrays. Derivatives keep the dtype and device of
what they belong to; inputs that do not influence the output get zeros; inf and nan are kept. The
conventions at kinks and ties are in the documentation's table of gradient conventions.
"""

from typing import TYPE_CHECKING

from ._gradients.checkpoint import checkpoint as checkpoint
from ._gradients.execute_with_gradients import execute_with_gradients as execute_with_gradients
from ._gradients.transforms import bind_custom_gradient_function as bind_custom_gradient_function
from ._gradients.transforms import grad as grad
from ._gradients.transforms import hessian as hessian
from ._gradients.transforms import jac as jac
from ._gradients.transforms import jvp as jvp
from ._gradients.transforms import stop_gradient as stop_gradient
from ._gradients.transforms import value_and_grad as value_and_grad
from ._gradients.transforms import vjp as vjp
from ._gradients.transforms import vmap as vmap
from ._gradients.with_grads import no_grads as no_grads
from ._gradients.with_grads import set_with_grads as set_with_grads
from ._gradients.with_grads import unset_with_grads as unset_with_grads
from ._gradients.with_grads import with_grads as with_grads
from ._testing.gradients import check_gradients as check_gradients

if TYPE_CHECKING:
    from .optim.functions import adam_step as adam_step
    from .optim.functions import adam_update as adam_update
    from .optim.functions import gradient_descent_update as gradient_descent_update
    from .optim.functions import lamb_update as lamb_update
    from .optim.functions import lars_update as lars_update
    from .optim.functions import optimizer_update as optimizer_update


# They live in `optim`, which `import trellis` does not load.
_STEPS = (
    "adam_step",
    "adam_update",
    "gradient_descent_update",
    "lamb_update",
    "lars_update",
    "optimizer_update",
)


def __getattr__(name: str) -> object:
    if name not in _STEPS:
        raise AttributeError(f"module 'trellis.gradients' has no attribute {name!r}")
    from .optim import functions

    return getattr(functions, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_STEPS} - {"TYPE_CHECKING"})
