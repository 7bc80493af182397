"""Every error that Trellis raises on purpose; each is also the builtin error that it refines."""

from ._errors import ArgumentError as ArgumentError
from ._errors import ArgumentTypeError as ArgumentTypeError
from ._errors import BackendNotInstalledError as BackendNotInstalledError
from ._errors import CopyError as CopyError
from ._errors import DeviceError as DeviceError
from ._errors import DtypeError as DtypeError
from ._errors import KeyChainError as KeyChainError
from ._errors import MixedBackendsError as MixedBackendsError
from ._errors import NotSupportedError as NotSupportedError
from ._errors import PrecisionError as PrecisionError
from ._errors import ShapeError as ShapeError
from ._errors import TracingError as TracingError
from ._errors import TrellisError as TrellisError
