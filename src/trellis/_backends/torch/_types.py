"""The array type of this backend, as signatures name it."""

from typing import TypeAlias

import torch

Tensor: TypeAlias = torch.Tensor
