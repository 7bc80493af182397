"""scikit-learn estimators over modules: for Pipeline, GridSearchCV, cross_val_score and the rest.

It needs scikit-learn, which `import trellis` neither asks for nor loads.

>>> from sklearn.datasets import load_iris
>>> from trellis.sklearn import TrellisClassifier
>>> x, y = load_iris(return_X_y=True)
>>> model = TrellisClassifier(epochs=30, random_state=0).fit(x, y)
>>> bool(model.score(x, y) > 0.9)
True
"""

from importlib.util import find_spec as _find_spec

if _find_spec("sklearn") is None:
    raise ModuleNotFoundError(
        "trellis.sklearn needs scikit-learn, which is not installed. Run: pip install scikit-learn",
        name="sklearn",
    )

from .._core.exports import public_names as _public_names
from ._modules import Build as Build
from ._modules import mlp as mlp
from .classifier import TrellisClassifier as TrellisClassifier
from .regressor import TrellisRegressor as TrellisRegressor
from .transformer import TrellisTransformer as TrellisTransformer


def __dir__() -> list[str]:
    return _public_names(__name__)
