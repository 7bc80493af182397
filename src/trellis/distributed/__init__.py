"""Distributed training: collectives over the frameworks' own communication libraries, called
engines here. `init` joins the processes that a launcher started (`trellis run`, torchrun, mpiexec,
srun). After that, `all_reduce` and the other collectives take pytrees of native arrays, and
`train.fit(distributed=True)` trains one model on all of them.
"""

from .._core.exports import public_names as _public_names
from ._agreement import check_same as check_same
from ._collectives import all_gather as all_gather
from ._collectives import all_reduce as all_reduce
from ._collectives import barrier as barrier
from ._collectives import broadcast as broadcast
from ._collectives import compile as compile
from ._collectives import reduce_scatter as reduce_scatter
from ._group import init as init
from ._group import is_initialized as is_initialized
from ._group import rank as rank
from ._group import shutdown as shutdown
from ._group import size as size
from ._spmd import shard as shard


def __dir__() -> list[str]:
    return _public_names(__name__)
