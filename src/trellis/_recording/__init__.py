"""Recording every call of a function: a recording backend is in the dispatch table while it
runs."""

from .array import RecordedArray as RecordedArray
from .place import Place as Place
from .session import Recorder as Recorder
from .session import is_function as is_function
from .session import recording as recording
from .session import refuse_compilers as refuse_compilers
