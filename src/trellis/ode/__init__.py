"""Ordinary differential equations: adaptive Runge-Kutta methods, and gradients of solutions.

>>> import numpy as np, trellis
>>> trellis.ode.odeint(lambda t, y: -y, np.array([1.0]), [0.0, 1.0]).round(4)
array([[1.    ],
       [0.3679]])
"""

from .._core.exports import public_names as _public_names
from .solving import Solution as Solution
from .solving import odeint as odeint
from .solving import solve as solve


def __dir__() -> list[str]:
    return _public_names(__name__)
