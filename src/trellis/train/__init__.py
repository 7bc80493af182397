"""Training: the loop, data, metrics, checkpoints and loss curves."""

from ._callbacks import Callback as Callback
from ._callbacks import EarlyStopping as EarlyStopping
from ._curves import draw_curves as draw_curves
from ._fit import evaluate as evaluate
from ._fit import fit as fit
from ._fit import predict as predict
from ._history import History as History
from ._metrics import accuracy as accuracy
from ._metrics import mean_absolute_error as mean_absolute_error
from ._metrics import mean_squared_error as mean_squared_error
from .checkpoint import load_checkpoint as load_checkpoint
from .checkpoint import read_checkpoint as read_checkpoint
from .checkpoint import read_extra as read_extra
from .checkpoint import save_checkpoint as save_checkpoint
