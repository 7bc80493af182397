"""Distributions as pytrees: draws, probabilities, moments, transformations and divergences.

>>> import trellis
>>> from trellis.distributions import Normal
>>> d = Normal(trellis.asarray([0.0, 1.0]), 2.0)
>>> d.sample(trellis.random.key(0), (3,)).shape
(3, 2)
"""

from .._core.exports import public_names as _public_names
from . import bijections as bijections
from . import constraints as constraints
from .beta_family import Beta as Beta
from .beta_family import BetaProportion as BetaProportion
from .beta_family import FisherSnedecor as FisherSnedecor
from .beta_family import Kumaraswamy as Kumaraswamy
from .beta_family import StudentT as StudentT
from .bounded import Censored as Censored
from .bounded import Truncated as Truncated
from .categorical import Categorical as Categorical
from .categorical import OneHotCategorical as OneHotCategorical
from .categorical import RelaxedBernoulli as RelaxedBernoulli
from .categorical import RelaxedOneHotCategorical as RelaxedOneHotCategorical
from .circular import VonMises as VonMises
from .compound import Delta as Delta
from .compound import Independent as Independent
from .compound import Transformed as Transformed
from .discrete import Bernoulli as Bernoulli
from .discrete import BetaBinomial as BetaBinomial
from .discrete import Binomial as Binomial
from .discrete import DiscreteUniform as DiscreteUniform
from .discrete import GammaPoisson as GammaPoisson
from .discrete import Geometric as Geometric
from .discrete import NegativeBinomial as NegativeBinomial
from .discrete import Poisson as Poisson
from .distribution import Distribution as Distribution
from .expanded import Expanded as Expanded
from .extremes import GeneralizedPareto as GeneralizedPareto
from .extremes import InverseGaussian as InverseGaussian
from .extremes import Pareto as Pareto
from .extremes import Weibull as Weibull
from .gamma_family import Chi2 as Chi2
from .gamma_family import Exponential as Exponential
from .gamma_family import Gamma as Gamma
from .gamma_family import InverseGamma as InverseGamma
from .kl import kl_divergence as kl_divergence
from .kl import register_kl as register_kl
from .location_scale import Cauchy as Cauchy
from .location_scale import Gumbel as Gumbel
from .location_scale import HalfCauchy as HalfCauchy
from .location_scale import Laplace as Laplace
from .location_scale import Logistic as Logistic
from .location_scale import Uniform as Uniform
from .matrices import LKJ as LKJ
from .matrices import LKJCholesky as LKJCholesky
from .matrices import MatrixNormal as MatrixNormal
from .matrices import Wishart as Wishart
from .mixtures import Mixture as Mixture
from .mixtures import MixtureSameFamily as MixtureSameFamily
from .mixtures import ZeroInflated as ZeroInflated
from .mixtures import ZeroInflatedNegativeBinomial as ZeroInflatedNegativeBinomial
from .mixtures import ZeroInflatedPoisson as ZeroInflatedPoisson
from .more_lines import AsymmetricLaplace as AsymmetricLaplace
from .more_lines import Levy as Levy
from .more_lines import LogUniform as LogUniform
from .more_lines import Triangular as Triangular
from .multivariate import LowRankMultivariateNormal as LowRankMultivariateNormal
from .multivariate import MultivariateNormal as MultivariateNormal
from .multivariate import MultivariateStudentT as MultivariateStudentT
from .normal import HalfNormal as HalfNormal
from .normal import LogNormal as LogNormal
from .normal import Normal as Normal
from .parametric import Parametric as Parametric
from .simplex import Dirichlet as Dirichlet
from .simplex import DirichletMultinomial as DirichletMultinomial
from .simplex import Multinomial as Multinomial
from .truncated_normal import TruncatedNormal as TruncatedNormal


def __dir__() -> list[str]:
    return _public_names(__name__, "bijections", "constraints")
