"""Optimizers: chains of pure transformations, and classes built on them.

>>> import numpy as np, trellis
>>> opt = trellis.optim.SGD(0.1)
>>> opt.step({"w": np.array([1.0])}, {"w": np.array([2.0])})
{'w': array([0.8])}
"""

from .._core.exports import public_names as _public_names
from . import schedules as schedules

# Over several steps
from .accumulation import ParameterAverage as ParameterAverage
from .accumulation import accumulate_gradients as accumulate_gradients

# Optimizers
from .adam_family import LAMB as LAMB
from .adam_family import Adam as Adam
from .adam_family import Adamax as Adamax
from .adam_family import AdamW as AdamW
from .adam_family import Lion as Lion
from .adam_family import NAdam as NAdam
from .adaptive import scale_by_adan as scale_by_adan
from .adaptive import scale_by_adopt as scale_by_adopt
from .adaptive import scale_by_amsgrad as scale_by_amsgrad
from .adaptive import scale_by_radam as scale_by_radam
from .adaptive_family import ADOPT as ADOPT
from .adaptive_family import Adan as Adan
from .adaptive_family import RAdam as RAdam

# Clipping
from .clipping import clip as clip
from .clipping import clip_by_global_norm as clip_by_global_norm
from .clipping import clip_by_norm as clip_by_norm
from .clipping import clip_by_rms as clip_by_rms
from .clipping import global_norm as global_norm

# Weight decay and masks
from .decay import add_decayed_weights as add_decayed_weights
from .decay import masked as masked
from .decay import matrices_only as matrices_only
from .descent import LARS as LARS
from .descent import SGD as SGD
from .grouping import groups as groups
from .lookahead import lookahead as lookahead

# Directions
from .moments import ema as ema
from .moments import scale_by_adam as scale_by_adam
from .moments import scale_by_adamax as scale_by_adamax
from .moments import scale_by_lion as scale_by_lion
from .moments import scale_by_nadam as scale_by_nadam
from .moments import trace as trace
from .muon import Muon as Muon
from .muon import scale_by_muon as scale_by_muon
from .optimizer import Optimizer as Optimizer
from .prodigy import Prodigy as Prodigy
from .prodigy import scale_by_prodigy as scale_by_prodigy
from .quasi_newton import LBFGS as LBFGS
from .quasi_newton import scale_by_lbfgs as scale_by_lbfgs
from .rms import scale_by_adadelta as scale_by_adadelta
from .rms import scale_by_adagrad as scale_by_adagrad
from .rms import scale_by_factored_rms as scale_by_factored_rms
from .rms import scale_by_rms as scale_by_rms
from .rms_family import Adadelta as Adadelta
from .rms_family import Adafactor as Adafactor
from .rms_family import Adagrad as Adagrad
from .rms_family import RMSprop as RMSprop

# Scaling
from .scaling import scale as scale
from .scaling import scale_by_learning_rate as scale_by_learning_rate
from .scaling import scale_by_param_rms as scale_by_param_rms
from .scaling import scale_by_schedule as scale_by_schedule
from .scaling import scale_by_trust_ratio as scale_by_trust_ratio
from .schedule_free import ScheduleFreeAdamW as ScheduleFreeAdamW
from .schedule_free import ScheduleFreeSGD as ScheduleFreeSGD
from .schedule_free import schedule_free as schedule_free
from .shampoo import Shampoo as Shampoo
from .shampoo import scale_by_shampoo as scale_by_shampoo
from .sharpness import sharpness_aware as sharpness_aware
from .sophia import Sophia as Sophia
from .sophia import hutchinson_diagonal as hutchinson_diagonal
from .sophia import scale_by_sophia as scale_by_sophia

# Pairs of functions, and functions that combine them
from .transformation import Transformation as Transformation
from .transformation import apply_updates as apply_updates
from .transformation import chain as chain
from .transformation import identity as identity


def __dir__() -> list[str]:
    return _public_names(__name__, "schedules")
