"""Training: the loop, data, metrics, checkpoints and loss curves."""

from .._core.exports import public_names as _public_names
from ..functional import accuracy as accuracy
from ._callbacks import AverageVariables as AverageVariables
from ._callbacks import Callback as Callback
from ._callbacks import Checkpoints as Checkpoints
from ._callbacks import CSVLogger as CSVLogger
from ._callbacks import EarlyStopping as EarlyStopping
from ._callbacks import JSONLinesLogger as JSONLinesLogger
from ._callbacks import MLflowLogger as MLflowLogger
from ._callbacks import Plateau as Plateau
from ._callbacks import ReduceOnPlateau as ReduceOnPlateau
from ._callbacks import StepTimer as StepTimer
from ._callbacks import StopOnNonFinite as StopOnNonFinite
from ._callbacks import TensorBoardLogger as TensorBoardLogger
from ._callbacks import WandbLogger as WandbLogger
from ._curves import draw_curves as draw_curves
from ._evaluate import evaluate as evaluate
from ._evaluate import predict as predict
from ._finder import RateFinding as RateFinding
from ._finder import find_learning_rate as find_learning_rate
from ._fit import fit as fit
from ._history import History as History
from ._metrics import AUC as AUC
from ._metrics import BLEU as BLEU
from ._metrics import Accuracy as Accuracy
from ._metrics import AveragePrecision as AveragePrecision
from ._metrics import ConfusionMatrix as ConfusionMatrix
from ._metrics import F1Score as F1Score
from ._metrics import IoU as IoU
from ._metrics import LogLoss as LogLoss
from ._metrics import Mean as Mean
from ._metrics import MeanAbsoluteError as MeanAbsoluteError
from ._metrics import MeanSquaredError as MeanSquaredError
from ._metrics import Metric as Metric
from ._metrics import PearsonCorrelation as PearsonCorrelation
from ._metrics import Perplexity as Perplexity
from ._metrics import Precision as Precision
from ._metrics import R2Score as R2Score
from ._metrics import Recall as Recall
from ._metrics import TopKAccuracy as TopKAccuracy
from ._metrics import WholeEpoch as WholeEpoch
from .checkpoint import load_checkpoint as load_checkpoint
from .checkpoint import read_checkpoint as read_checkpoint
from .checkpoint import read_extra as read_extra
from .checkpoint import save_checkpoint as save_checkpoint


def __dir__() -> list[str]:
    return _public_names(__name__)
