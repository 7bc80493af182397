"""Linear algebra that is written once, over the functions of `_array/linalg.py`."""
