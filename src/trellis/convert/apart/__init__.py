"""Models of files run in a separate process, with limits of time and memory.

Frameworks and onnxruntime are native code: a file can make them crash, never end, or take all
memory. Here that ends a child, and is an error that says so.
"""

from .process import INSTEAD as INSTEAD
from .process import Apart as Apart
from .process import rehearse as rehearse
