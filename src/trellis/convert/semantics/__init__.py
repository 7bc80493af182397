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
from .lax import dynamic_slice as dynamic_slice
from .lax import dynamic_update_slice as dynamic_update_slice
from .lax import gather_slices as gather_slices
from .lax import scatter_slices as scatter_slices
from .lax import take_within as take_within
from .matrices import lu as lu
from .matrices import pivots_to_permutation as pivots_to_permutation
from .matrices import symmetric_from as symmetric_from
from .matrices import triangular_solve as triangular_solve
from .numbers import accumulate as accumulate
from .numbers import bitcast as bitcast
from .numbers import complex_of as complex_of
from .numbers import equal_with_nan as equal_with_nan
from .numbers import less_equal_with_nan as less_equal_with_nan
from .numbers import less_with_nan as less_with_nan
from .shapes import columns as columns
from .shapes import count as count
from .shapes import size as size
from .shapes import strided as strided
from .special import digamma as digamma
from .special import erf_inv as erf_inv
from .special import erfc as erfc
from .special import lgamma as lgamma
from .special import polygamma as polygamma
from .special import regularized_incomplete_beta as regularized_incomplete_beta
from .upsampling import resize_like_torch as resize_like_torch
from .windows import batch_groups_to_channels as batch_groups_to_channels
from .windows import pad_dilated as pad_dilated
from .windows import reduce_window as reduce_window
from .windows import select_and_scatter_add as select_and_scatter_add
