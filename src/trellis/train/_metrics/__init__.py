"""Metrics that are exact over an epoch; `base.py` says what a metric is."""

from .base import Mean as Mean
from .base import Metric as Metric
from .base import WholeEpoch as WholeEpoch
from .base import as_host as as_host
from .classes import Accuracy as Accuracy
from .classes import ConfusionMatrix as ConfusionMatrix
from .classes import F1Score as F1Score
from .classes import IoU as IoU
from .classes import Precision as Precision
from .classes import Recall as Recall
from .classes import TopKAccuracy as TopKAccuracy
from .probability import LogLoss as LogLoss
from .probability import Perplexity as Perplexity
from .ranking import AUC as AUC
from .ranking import AveragePrecision as AveragePrecision
from .regression import MeanAbsoluteError as MeanAbsoluteError
from .regression import MeanSquaredError as MeanSquaredError
from .regression import PearsonCorrelation as PearsonCorrelation
from .regression import R2Score as R2Score
from .text import BLEU as BLEU
