"""Callbacks of `fit`; `base.py` says what a callback is."""

from .average import AverageVariables as AverageVariables
from .base import Callback as Callback
from .base import as_callbacks as as_callbacks
from .checkpoints import Checkpoints as Checkpoints
from .loggers import CSVLogger as CSVLogger
from .loggers import JSONLinesLogger as JSONLinesLogger
from .plateau import Plateau as Plateau
from .plateau import ReduceOnPlateau as ReduceOnPlateau
from .services import MLflowLogger as MLflowLogger
from .services import TensorBoardLogger as TensorBoardLogger
from .services import WandbLogger as WandbLogger
from .stopping import EarlyStopping as EarlyStopping
from .stopping import StopOnNonFinite as StopOnNonFinite
from .timer import StepTimer as StepTimer
