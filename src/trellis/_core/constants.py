"""The constants of the Array API standard."""

import math

e = math.e
pi = math.pi
inf = math.inf
nan = math.nan
newaxis = None
