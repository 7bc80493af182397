"""Which worker runs what: the tests of a file on one framework stay together, and each worker keeps
to one framework for as long as there is work for it.

Imports, the functions that AutoGraph converted and the programs that JAX compiled are then paid for
by one worker, not by all, and no worker holds four frameworks' programs in memory.
"""

import re

from xdist.scheduler import LoadScopeScheduling

# The most expensive first, so that no long group starts when the others are done.
ORDER = ("jax", "tensorflow", "all", "torch", "numpy")


class ByBackend(LoadScopeScheduling):
    """The next group of a worker has the backend of its last, while there is one."""

    def __init__(self, config, log=None):
        super().__init__(config, log)
        self.now = {}  # worker: the backend it runs

    def _split_scope(self, nodeid):
        # From the name: pytest 9 does not let xdist write groups into it any more.
        return group_of(nodeid)

    def _assign_work_unit(self, node):
        left = {}
        for scope in self.workqueue:
            left.setdefault(backend_of(scope), scope)
        elsewhere = {backend for other, backend in self.now.items() if other is not node}
        if self.now.get(node) not in left:
            waiting = [backend for backend in ORDER if backend in left]
            self.now[node] = min(waiting, key=lambda backend: backend in elsewhere)
        self.workqueue.move_to_end(left[self.now[node]], last=False)
        super()._assign_work_unit(node)

    def mark_test_complete(self, node, item_index, duration=0):
        """Forget a group when it is done: xdist counts again and again what is left in all that a
        worker was ever given."""
        scope = self._split_scope(self.registered_collections[node][item_index])
        super().mark_test_complete(node, item_index, duration)
        given = self.assigned_work[node]
        if scope in given and all(given[scope].values()):
            del given[scope]


def group_of(nodeid):
    """The file of a test, and the backend among its parameters.

    >>> group_of("tests/array/test_cases.py::test_value[jax-abs: of -0.0]")
    'tests/array/test_cases.py@jax'
    >>> group_of("tests/core/test_tree.py::test_order")
    'tests/core/test_tree.py@all'
    """
    file, _, rest = nodeid.partition("::")
    named = [word for word in re.split(r"[\[\]-]", rest) if word in ORDER]
    return f"{file}@{named[0] if named else 'all'}"


def backend_of(scope):
    """The backend that a group's name ends with.

    >>> backend_of("tests/array/test_cases.py@jax"), backend_of("tests/core/test_tree.py@all")
    ('jax', 'all')
    """
    return scope.rpartition("@")[2]
