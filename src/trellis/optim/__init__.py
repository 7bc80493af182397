"""Optimizers: pairs of pure functions that chain, and friendly classes over them.

>>> import numpy as np, trellis
>>> opt = trellis.optim.SGD(0.1)
>>> opt.step({"w": np.array([1.0])}, {"w": np.array([2.0])})
{'w': array([0.8])}
"""

# Pairs of functions and what makes larger ones of them
from . import schedules as schedules
from ._accumulation import accumulate_gradients as accumulate_gradients

# Classes
from ._adams import LAMB as LAMB
from ._adams import Adam as Adam
from ._adams import Adamax as Adamax
from ._adams import AdamW as AdamW
from ._adams import Lion as Lion
from ._adams import NAdam as NAdam
from ._average import ParameterAverage as ParameterAverage

# Clipping
from ._clipping import clip as clip
from ._clipping import clip_by_global_norm as clip_by_global_norm
from ._clipping import clip_by_norm as clip_by_norm
from ._clipping import global_norm as global_norm

# Weight decay and masks
from ._decay import add_decayed_weights as add_decayed_weights
from ._decay import masked as masked
from ._decay import matrices_only as matrices_only
from ._descent import LARS as LARS
from ._descent import SGD as SGD
from ._divided import Adadelta as Adadelta
from ._divided import Adafactor as Adafactor
from ._divided import Adagrad as Adagrad
from ._divided import RMSprop as RMSprop

# Directions
from ._factored import scale_by_factored_rms as scale_by_factored_rms
from ._moments import ema as ema
from ._moments import scale_by_adam as scale_by_adam
from ._moments import scale_by_adamax as scale_by_adamax
from ._moments import scale_by_lion as scale_by_lion
from ._moments import scale_by_nadam as scale_by_nadam
from ._moments import trace as trace
from ._optimizer import Optimizer as Optimizer
from ._pairs import Transformation as Transformation
from ._pairs import apply_updates as apply_updates
from ._pairs import chain as chain
from ._pairs import identity as identity
from ._rates import scale as scale
from ._rates import scale_by_learning_rate as scale_by_learning_rate
from ._rates import scale_by_schedule as scale_by_schedule
from ._ratios import clip_by_rms as clip_by_rms
from ._ratios import scale_by_param_rms as scale_by_param_rms
from ._ratios import scale_by_trust_ratio as scale_by_trust_ratio
from ._squares import scale_by_adadelta as scale_by_adadelta
from ._squares import scale_by_adagrad as scale_by_adagrad
from ._squares import scale_by_rms as scale_by_rms
