"""The exception tree. Every member also inherits the builtin it refines.

TrellisError
├── ShapeError                (ValueError)           sizes, ranks, axes, structures that do not fit
│   └── AxisError             (IndexError)           an axis that the array does not have
├── ArgumentError             (ValueError)           a value outside what the function accepts
├── ArgumentTypeError         (TypeError)            an argument of a kind the function cannot take
│   └── MixedBackendsError                           arrays of two frameworks in one call
├── DtypeError                (TypeError)            a data type that cannot be used here
├── PrecisionError            (ValueError)           a data type the framework would silently narrow
├── DeviceError               (ValueError)           arrays on several devices, or an unknown one
├── CopyError                 (ValueError)           `copy=False` where only a copy is possible
├── OutOfMemoryError          (MemoryError)          more memory than there is
├── KeyChainError             (KeyError)             a missing key or key path of a pytree
├── BackendNotInstalledError  (ImportError)          a framework that was named but is not installed
├── NotSupportedError         (NotImplementedError)  what a framework truly cannot do
├── ConversionError           (ValueError)           a converted model that differs from its source
├── NonFiniteError            (FloatingPointError)   a loss that became nan or inf in training
├── DataError                 (RuntimeError)         an example that cannot be read or mapped
├── DistributedError          (RuntimeError)         other processes that fail, differ or hang
└── TracingError              (RuntimeError)         what compiled code would do wrong in silence
"""


class TrellisError(Exception):
    """Base of all errors that Trellis raises on purpose."""

    # TensorFlow's AutoGraph rewrites errors raised inside tf.function; it keeps the type of those
    # that have exactly this constructor, and makes all others a StagingError that no one can catch
    # by name.
    __init__ = Exception.__init__


class ShapeError(TrellisError, ValueError):
    """Shapes, axes or structures that do not fit together."""


class AxisError(ShapeError, IndexError):
    """An axis that the array does not have."""


class ArgumentError(TrellisError, ValueError):
    """A value outside what the function accepts."""


class ArgumentTypeError(TrellisError, TypeError):
    """An argument of a kind the function cannot take."""


class MixedBackendsError(ArgumentTypeError):
    """Arrays of two frameworks in one call."""


class DtypeError(TrellisError, TypeError):
    """A data type that cannot be used here."""


class PrecisionError(TrellisError, ValueError):
    """A data type that the framework, as it is set up, would silently narrow."""


class DeviceError(TrellisError, ValueError):
    """Arrays on different devices, or a device that does not exist."""


class CopyError(TrellisError, ValueError):
    """`copy=False` was passed where only a copy is possible."""


class OutOfMemoryError(TrellisError, MemoryError):
    """More memory than there is, or than any machine has."""


class KeyChainError(TrellisError, KeyError):
    """A missing key or key path."""

    # KeyError shows its argument's repr, which hides line breaks of a helpful message.
    __str__ = Exception.__str__


class BackendNotInstalledError(TrellisError, ImportError):
    """A framework that was named but is not installed."""


class NotSupportedError(TrellisError, NotImplementedError):
    """Something that the framework cannot do."""


class ConversionError(TrellisError, ValueError):
    """A converted model that does not compute what its source does."""


class NonFiniteError(TrellisError, FloatingPointError):
    """A loss that became nan or infinite while a model was trained."""


class DataError(TrellisError, RuntimeError):
    """An example that could not be read or mapped, or a worker process that ended."""


class DistributedError(TrellisError, RuntimeError):
    """Other processes that cannot be reached, differ, or do not answer."""


class TracingError(TrellisError, RuntimeError):
    """What would go wrong silently inside a compiled function."""
