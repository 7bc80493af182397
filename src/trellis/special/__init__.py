"""Special functions, written once for all backends, with derivatives and SciPy's names.

`erf`, `erfc`, `erfinv` and `sinc` are those of `trellis`; `logsumexp` has weights and signs. Of the
others: arguments are broadcast; results have the dtype of the arguments; integers count as the
default float, and half precision is computed in float32 and rounded once.
"""

from .._array.elementwise import erf as erf
from .._array.elementwise import erfc as erfc
from .._array.elementwise import erfinv as erfinv
from .._array.signals import sinc as sinc
from .._core.exports import public_names as _public_names
from .bessel import j0 as j0
from .bessel import j1 as j1
from .bessel import y0 as y0
from .bessel import y1 as y1
from .bessel_orders import jn as jn
from .bessel_orders import yn as yn
from .beta import beta as beta
from .beta import betaln as betaln
from .error import erfcinv as erfcinv
from .error import erfcx as erfcx
from .error import log_ndtr as log_ndtr
from .error import ndtr as ndtr
from .error import ndtri as ndtri
from .exponential_integrals import exp1 as exp1
from .exponential_integrals import expi as expi
from .exponential_orders import expn as expn
from .gamma import digamma as digamma
from .gamma import gamma as gamma
from .gamma import gammaln as gammaln
from .gamma import gammasgn as gammasgn
from .incomplete_beta import betainc as betainc
from .incomplete_beta import betaincc as betaincc
from .incomplete_gamma import gammainc as gammainc
from .incomplete_gamma import gammaincc as gammaincc
from .incomplete_inverses import betainccinv as betainccinv
from .incomplete_inverses import betaincinv as betaincinv
from .incomplete_inverses import gammainccinv as gammainccinv
from .incomplete_inverses import gammaincinv as gammaincinv
from .information import entr as entr
from .information import kl_div as kl_div
from .information import rel_entr as rel_entr
from .information import xlog1py as xlog1py
from .information import xlogy as xlogy
from .legendre import eval_legendre as eval_legendre
from .logistic import expit as expit
from .logistic import log1mexp as log1mexp
from .logistic import log_expit as log_expit
from .logistic import logit as logit
from .logistic import softplus_inverse as softplus_inverse
from .modified_bessel import i0 as i0
from .modified_bessel import i0e as i0e
from .modified_bessel import i1 as i1
from .modified_bessel import i1e as i1e
from .modified_orders import iv as iv
from .owens import owens_t as owens_t
from .sums import logsumexp as logsumexp
from .zeta import polygamma as polygamma
from .zeta import zeta as zeta


def __dir__() -> list[str]:
    return _public_names(__name__)
