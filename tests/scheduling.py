"""Which worker runs what: each keeps to one framework for as long as there is work for it.

Imports, the functions that AutoGraph converted and the programs that JAX compiled are then paid for
by one worker, not by all, and no worker holds four frameworks' programs in memory.
"""

from xdist.scheduler import LoadGroupScheduling

# The most expensive first, so that no long group starts when the others are done.
ORDER = ("jax", "tensorflow", "all", "torch", "numpy")


class ByBackend(LoadGroupScheduling):
    """The next group of a worker has the backend of its last, while there is one."""

    def __init__(self, config, log=None):
        super().__init__(config, log)
        self.now = {}  # worker: the backend it runs

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
        """Forget a group when it is done: after each event xdist counts what is left in all that a
        worker was ever given, which for 25,000 tests took half a core."""
        scope = self._split_scope(self.registered_collections[node][item_index])
        super().mark_test_complete(node, item_index, duration)
        given = self.assigned_work[node]
        if scope in given and all(given[scope].values()):
            del given[scope]


def backend_of(scope):
    """The backend that a group's name ends with.

    >>> backend_of("test_cases-jax"), backend_of("test_tree-all")
    ('jax', 'all')
    """
    return next((backend for backend in ORDER if scope.endswith(backend)), "all")
