"""Seeing every call of a function: a recording backend in the dispatch table while it runs."""

from .array import RecordedArray as RecordedArray
from .place import Place as Place
from .session import Recorder as Recorder
from .session import recording as recording
