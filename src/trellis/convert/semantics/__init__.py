"""What foreign operations mean, written over public functions; converted models call these.

Each is an ordinary function of arrays, for any framework, compiled or not.
"""

from .convolution import convolution as convolution
from .convolution import transposed_convolution as transposed_convolution
from .pooling import avg_pool as avg_pool
from .pooling import max_pool as max_pool
from .shapes import size as size
