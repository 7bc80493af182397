"""Which frameworks a run may use, and which of them a test asked for by name."""

import sys
from pathlib import Path

from trellis._core.dispatch import backend_names
from trellis.errors import BackendNotInstalledError

# The four, and those that installed packages bring.
BACKENDS = backend_names()

# What only one framework brings along.
COMPANIONS = {"flax": "jax", "optax": "jax", "jaxlib": "jax", "keras": "tensorflow"}

TESTS = Path(__file__).parent


def framework_of(module):
    """The framework that a module belongs to, or None.

    >>> framework_of("torch.nn.functional"), framework_of("optax"), framework_of("numpy.linalg")
    ('torch', 'jax', None)
    """
    top = module.partition(".")[0]
    name = COMPANIONS.get(top, top)
    return name if name in BACKENDS[1:] else None


class _Without:
    """A finder of modules that does not see the other frameworks."""

    def __init__(self, finder, alone):
        self._finder, self._alone = finder, alone

    def find_spec(self, fullname, path=None, target=None):
        if framework_of(fullname) not in (None, self._alone):
            return None
        return self._finder.find_spec(fullname, path, target)

    def __getattr__(self, name):
        return getattr(self._finder, name)


def hide_others(alone):
    """From now on this process behaves as if no framework but `alone` were installed."""
    sys.meta_path[:] = [_Without(finder, alone) for finder in sys.meta_path]


def named_by_the_test(excinfo, alone):
    """The missing framework that a failed test itself asked for, or None.

    The test imported it, or passed its name to the library. A framework that the library wants of
    its own accord is a fault and stays one.
    """
    error = excinfo.value
    frames = list(excinfo.traceback)
    last = max([i for i, entry in enumerate(frames) if _is_test(entry)], default=None)
    if last is None:
        return None
    after = [entry for entry in frames[last + 1 :] if "importlib" not in str(entry.path)]
    if isinstance(error, ModuleNotFoundError) and not after:
        return framework_of(error.name or "")
    if isinstance(error, BackendNotInstalledError) and after:
        given = [x for x in after[0].frame.f_locals.values() if isinstance(x, str)]
        others = [x for x in given if x in BACKENDS[1:] and x != alone]
        return others[0] if others else None
    return None


def _is_test(entry):
    return Path(entry.path).is_relative_to(TESTS)
