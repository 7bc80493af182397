"""Training: the loop, data, metrics, checkpoints and loss curves."""

from .checkpoint import load_checkpoint as load_checkpoint
from .checkpoint import read_checkpoint as read_checkpoint
from .checkpoint import read_extra as read_extra
from .checkpoint import save_checkpoint as save_checkpoint
