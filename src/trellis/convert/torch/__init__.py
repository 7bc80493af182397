"""Models of PyTorch as modules of any framework."""

from .reader import from_torch as from_torch
