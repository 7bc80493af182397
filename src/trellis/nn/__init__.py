"""Modules and layers, written once over the public functions; they never see a framework."""

from . import init as init
from ._linear import Bilinear as Bilinear
from ._linear import Linear as Linear
from ._module import Module as Module
