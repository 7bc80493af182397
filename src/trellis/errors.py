"""Every error that Trellis raises on purpose; each is also the builtin error that it refines."""

from ._core.errors import ArgumentError as ArgumentError
from ._core.errors import ArgumentTypeError as ArgumentTypeError
from ._core.errors import AxisError as AxisError
from ._core.errors import BackendNotInstalledError as BackendNotInstalledError
from ._core.errors import ConversionError as ConversionError
from ._core.errors import CopyError as CopyError
from ._core.errors import DataError as DataError
from ._core.errors import DeviceError as DeviceError
from ._core.errors import DistributedError as DistributedError
from ._core.errors import DtypeError as DtypeError
from ._core.errors import KeyChainError as KeyChainError
from ._core.errors import MixedBackendsError as MixedBackendsError
from ._core.errors import NonFiniteError as NonFiniteError
from ._core.errors import NotSupportedError as NotSupportedError
from ._core.errors import OutOfMemoryError as OutOfMemoryError
from ._core.errors import PrecisionError as PrecisionError
from ._core.errors import ShapeError as ShapeError
from ._core.errors import TracingError as TracingError
from ._core.errors import TrellisError as TrellisError
