"""What counts as an array of some framework."""


def is_array(x: object) -> bool:
    """Whether `x` has a data type, rather than being one (NumPy's scalar types have the attribute
    too).

    >>> import numpy as np
    >>> is_array(np.zeros(2)), is_array(2.5), is_array(np.float32)
    (True, False, False)
    """
    return hasattr(x, "dtype") and not isinstance(x, type)
