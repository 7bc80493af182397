"""What foreign operations mean, written over public functions; converted models call these.

Each is an ordinary function of arrays, for any framework, compiled or not.
"""

from .shapes import size as size
