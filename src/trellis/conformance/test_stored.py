"""What the last release computed, on this backend: draws bit by bit, initial weights, layers,
optimizers, schedules, files of weights, checkpoints.

The vectors are those of `trellis verify`, which also says how far a result may be off. Calls of
array functions are left to `test_rows`, which knows what they should be.
"""

import numpy as np
import pytest

from .._golden import release, replay

DRAWS = ("random", "randint", "multinomial", "shuffle", "functional.dropout")
FILES = ("exported file", "read file")  # other programs run or wrote them
RELEASE = release.read_release(release.releases()[-1])
ENTRIES = {
    f"{entry['kind']}: {entry['name']}": entry
    for entry in RELEASE.entries
    if entry["kind"] not in ("call", *FILES) or entry["name"].startswith(DRAWS)
}


@pytest.mark.parametrize("name", ENTRIES)
def test_stored(name, backend):
    with np.errstate(all="ignore"):  # draws at the edge of a distribution
        assert replay.check(ENTRIES[name], RELEASE, backend) is None
