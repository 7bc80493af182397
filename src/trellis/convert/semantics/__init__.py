"""What foreign operations mean, written over public functions; converted models call these.

Each is an ordinary function of arrays, for any framework, compiled or not.
"""

from .attention import matmul_by_group as matmul_by_group
from .indexing import bincount as bincount
from .indexing import diagonal_matrix as diagonal_matrix
from .indexing import histogram as histogram
from .indexing import index as index
from .indexing import reduced_along_axis as reduced_along_axis
from .indexing import with_diagonal as with_diagonal
from .indexing import with_indexed as with_indexed
from .indexing import with_masked as with_masked
from .indexing import with_slice as with_slice
from .shapes import columns as columns
from .shapes import count as count
from .shapes import size as size
from .shapes import strided as strided
from .upsampling import resize_like_torch as resize_like_torch
