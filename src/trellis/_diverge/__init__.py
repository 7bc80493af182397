"""Finding the first call in which two runs of one program differ."""

from .finding import diverge as diverge
from .recording import Recording as Recording
from .recording import load_recording as load_recording
from .recording import record as record
from .report import Difference as Difference
from .report import Report as Report
from .report import compare as compare
