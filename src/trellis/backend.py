"""For authors of backends: all that the module of a backend needs of Trellis.

A backend is a module with the functions of the protocol `Backend`, or with some of them: `complete`
adds the rest. A package brings it by an entry point in the group `trellis.backends`, whose module
says `NAME`, `FRAMEWORK`, `DISTRIBUTION` and `TRELLIS_INTERFACE`, and has `load()`, which returns
the backend. See "Adding a backend" in the documentation.

    from trellis.backend import Abilities, complete, register

Names that are here stay; a function that is added to the interface has a default.
"""

# ruff: noqa: I001 (sorted by what they are for)

# What a backend may provide.
from ._backends.array_api import FFT as FFT
from ._backends.array_api import ArrayAPI as ArrayAPI
from ._backends.array_api import Linalg as Linalg
from ._backends.interface import Arrays as Arrays
from ._backends.interface import Backend as Backend
from ._backends.interface import Compilation as Compilation
from ._backends.interface import DataTypes as DataTypes
from ._backends.interface import Engine as Engine
from ._backends.interface import Foreach as Foreach
from ._backends.interface import Gradients as Gradients
from ._backends.interface import Interchange as Interchange
from ._backends.interface import Kernels as Kernels
from ._backends.interface import Processes as Processes
from ._backends.interface import Random as Random
from ._backends.shared.distributed import Place as Place
from ._core.abilities import Abilities as Abilities

# The binding of defaults, and the dispatch table.
from ._backends.complete import asked as asked
from ._backends.complete import complete as complete
from ._backends.complete import formulas_for as formulas_for
from ._backends.exports import keep_asked as keep_asked
from ._backends.host import on_host as on_host
from ._core.dispatch import register as register
from ._core.dispatch import unregister as unregister
from ._core.packages import INTERFACE as INTERFACE

# Descriptions of layers, as functions of a backend get them.
from ._backends.shared.convolution import ConvSpec as ConvSpec
from ._backends.shared.convolution import TransposedConvSpec as TransposedConvSpec
from ._backends.shared.windows import WindowSpec as WindowSpec
from ._backends.shared.inspection import Info as Info

# Data types and promotion: the names, and the library's one table.
from ._core.dtypes import COMPLEX as COMPLEX
from ._core.dtypes import FLOATING as FLOATING
from ._core.dtypes import INTEGER as INTEGER
from ._core.dtypes import KINDS as KINDS
from ._core.dtypes import NUMERIC as NUMERIC
from ._core.dtypes import SIGNED as SIGNED
from ._core.dtypes import UNSIGNED as UNSIGNED
from ._core.dtypes import FloatLimits as FloatLimits
from ._core.dtypes import IntLimits as IntLimits
from ._core.dtypes import default_complex as default_complex
from ._core.dtypes import default_dtype as default_dtype
from ._core.dtypes import fitted as fitted
from ._core.dtypes import is_kind as is_kind
from ._core.dtypes import name_of as name_of
from ._backends.shared.promoted import promoted as promoted
from ._core.dtypes import promote as promote
from ._core.dtypes import promote_or_raise as promote_or_raise
from ._core.dtypes import result_name as result_name
from ._core.dtypes import with_scalar as with_scalar

# Errors in the words of the library.
from ._core.dtypes import refuse_dropping as refuse_dropping
from ._core.guards import not_bools as not_bools
from ._core.guards import singular as singular
from ._core.guards import unordered as unordered
from ._core.shapes import broadcast_shapes as broadcast_shapes
from ._core.shapes import check_new_axis as check_new_axis
from ._core.shapes import check_order as check_order
from ._core.shapes import check_points as check_points
from ._core.shapes import check_squeezable as check_squeezable
from ._core.shapes import normal_axes as normal_axes
from ._core.shapes import normal_axis as normal_axis
from ._core.shapes import only_axis as only_axis
from ._core.shapes import permutation as permutation

# Functions that run again in a backward pass, and those that a compiler traces.
from ._core.donation import give_away as give_away
from ._core.repeating import Surroundings as Surroundings

# Threefry's numbers: the same seed gives the same bits everywhere.
from ._backends.shared.rejection import gamma as gamma
from ._backends.shared.rejection import poisson as poisson
from ._core.threefry import ERFINV_CENTRE_32 as ERFINV_CENTRE_32
from ._core.threefry import ERFINV_CENTRE_64 as ERFINV_CENTRE_64
from ._core.threefry import ERFINV_FAR_TAIL_64 as ERFINV_FAR_TAIL_64
from ._core.threefry import ERFINV_TAIL_32 as ERFINV_TAIL_32
from ._core.threefry import ERFINV_TAIL_64 as ERFINV_TAIL_64
from ._core.threefry import PARITY as PARITY
from ._core.threefry import ROTATIONS as ROTATIONS
from ._core.threefry import sorting_rounds as sorting_rounds

# How ejected programs are written (optional).
from ._ops.source import Dialect as Dialect
from ._ops.source import Source as Source
