"""Arrays for libraries that are written for the Array API standard: SciPy, scikit-learn and others.

Native arrays are what Trellis takes and returns. `wrap` is for the border to other people's code
only: an object around a native array of any backend with everything that the standard asks of an
array, and the same behaviour on all of them. `unwrap` returns the native array.

>>> import numpy as np
>>> from trellis import array_api
>>> x = array_api.wrap(np.array([1.0, 2.0, 3.0]))
>>> x[::-1] * 2
WrappedArray(array([6., 4., 2.]))
>>> array_api.unwrap(x)
array([1., 2., 3.])
"""

from .array import WrappedArray as WrappedArray
from .array import unwrap as unwrap
from .array import wrap as wrap
