"""What is drawn for each public function: one file for each package of the library."""

from . import creation as creation
from . import elementwise as elementwise
from . import fft as fft
from . import images as images
from . import indexing as indexing
from . import layers as layers
from . import linalg as linalg
from . import losses as losses
from . import manipulation as manipulation
from . import random as random
from . import reduction as reduction
from . import sampled as sampled

# Public functions for which nothing is drawn, and why.
NOT_DRAWN = {
    "device": "there is one device here",
    "to_device": "there is one device here",
    "from_dlpack": "hands memory over: tests/array/test_interchange.py",
    "functional.KVCache": "a tuple of arrays; its functions have rows and tests of their own",
    "functional.init_cache": "no array goes in; its row compares every part",
    "functional.extend_cache": "takes a pytree of arrays: tests/functional/test_cache.py",
    "functional.cache_mask": "takes a pytree of arrays: tests/functional/test_cache.py",
    "functional.cache_positions": "takes a pytree of arrays: tests/functional/test_cache.py",
    "functional.pad_sequences": "takes lists of arrays: tests/functional/test_sequences.py",
    "lazy_apply": "takes a function: tests/array/test_lazy_apply.py",
    "broadcast_shapes": "no array goes in; its row compares the shape",
    "diag_indices": "no array goes in; its row compares both",
    "tril_indices": "no array goes in; its rows compare both",
    "triu_indices": "no array goes in; its row compares both",
    "empty": "its elements are not set",
    "empty_like": "its elements are not set",
    "finfo": "no array goes in; its row compares every type",
    "iinfo": "no array goes in; its row compares every type",
    "isdtype": "no array goes in; its row compares every type",
    "seed": "sets the stream; tests/random compares the streams",
}
